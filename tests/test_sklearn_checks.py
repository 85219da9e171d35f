"""scikit-learn's official estimator checks, each exception with its reason."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sasanet import SASANetClassifier, SASANetRegressor

QUICK = {"max_epochs": 12, "attribution_steps": 2, "random_state": 0}

NOT_OURS = {
    "check_dataframe_column_names_consistency": "a changed order of columns is repaired by name",
    "check_methods_subset_invariance": (
        "float32 matrix products round by batch size, about 2e-7; test_invariance.py bounds it"
    ),
    "check_sample_weight_equivalence_on_dense_data": (
        "training is stochastic: a row of weight two is not drawn in the same batches as two rows"
    ),
}


def expected_failures(estimator):
    del estimator
    return NOT_OURS


@pytest.mark.filterwarnings("ignore::sasanet.errors.UnknownLevelWarning")
@parametrize_with_checks(
    [SASANetClassifier(**QUICK), SASANetRegressor(**QUICK)],
    expected_failed_checks=expected_failures,
)
def test_the_estimator_keeps_scikit_learns_contract(estimator, check):
    check(estimator)
