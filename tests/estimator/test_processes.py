"""Other processes, as joblib starts them, explain as one process does."""

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import GridSearchCV

from sasanet import Architecture, SASANetClassifier

X = np.random.RandomState(0).randn(60, 3)


def attributions(model):
    return model.explain(X).values


def test_joblibs_processes_explain_alike():
    model = SASANetClassifier(random_state=0, max_epochs=2, teacher_weight=0).fit(X, X[:, 0] > 0)
    alone = attributions(model)
    for found in Parallel(n_jobs=2)(delayed(attributions)(model) for _ in range(2)):
        np.testing.assert_allclose(found, alone, atol=1e-6)
        assert not np.allclose(found, alone[::-1], atol=1e-6)  # other rows'


def test_a_search_fits_in_joblibs_processes():
    """The processes are those of the test above: each takes seconds to import what it needs."""
    small = {"random_state": 0, "max_epochs": 1, "teacher_weight": 0}
    tried = {"network": ["set", Architecture(width=32)], "learning_rate": [1e-3]}
    search = GridSearchCV(SASANetClassifier(**small), tried, cv=2, n_jobs=2, error_score="raise")
    assert search.fit(X, X[:, 0] > 0).best_estimator_.predict(X).shape == (60,)
