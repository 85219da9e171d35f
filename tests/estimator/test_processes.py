"""The usual ways of using several processes give what one process gives."""

import multiprocessing

import numpy as np
from joblib import Parallel, delayed

from sasanet import SASANetClassifier

X = np.random.RandomState(0).randn(60, 3)


def attributions(model):
    return model.explain(X).values


def test_joblib_and_spawned_processes_explain_alike():
    model = SASANetClassifier(random_state=0, max_epochs=2, teacher_weight=0).fit(X, X[:, 0] > 0)
    alone = attributions(model)
    ways = [Parallel(n_jobs=2)(delayed(attributions)(model) for _ in range(2))]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        ways.append(pool.map(attributions, [model]))
    for found in ways:
        assert all(np.allclose(one, alone, atol=1e-6) for one in found)
        assert not any(np.allclose(one, alone[::-1], atol=1e-6) for one in found)  # other rows'
