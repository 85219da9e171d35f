"""Other processes, as joblib starts them, explain as one process does."""

import numpy as np
from joblib import Parallel, delayed

from sasanet import SASANetClassifier

X = np.random.RandomState(0).randn(60, 3)


def attributions(model):
    return model.explain(X).values


def test_joblibs_processes_explain_alike():
    model = SASANetClassifier(random_state=0, max_epochs=2, teacher_weight=0).fit(X, X[:, 0] > 0)
    alone = attributions(model)
    for found in Parallel(n_jobs=2)(delayed(attributions)(model) for _ in range(2)):
        np.testing.assert_allclose(found, alone, atol=1e-6)
        assert not np.allclose(found, alone[::-1], atol=1e-6)  # other rows'
