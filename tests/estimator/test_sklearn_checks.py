"""scikit-learn's official estimator checks, each exception with its reason."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sasanet import SASANetClassifier, SASANetRegressor

QUICK = {"max_epochs": 12, "random_state": 0}

NOT_OURS = {
    "check_dataframe_column_names_consistency": "a changed order of columns is repaired by name",
    "check_sample_weight_equivalence_on_dense_data": (
        "training is stochastic: a row of weight two is not drawn in the same batches as two rows"
    ),
}


# Passes or fails by the last bit: float32 matrix products round by batch size, about 2e-7, and the
# check allows 1e-7. test_invariance.py bounds what may change.
BY_ROUNDING = "check_methods_subset_invariance"


def expected_failures(estimator):
    del estimator
    return NOT_OURS


@pytest.mark.usefixtures("few_trees")
@pytest.mark.filterwarnings("ignore::sasanet.errors.UnknownLevelWarning")
@parametrize_with_checks(
    [SASANetClassifier(**QUICK), SASANetRegressor(**QUICK)],
    expected_failed_checks=expected_failures,
)
def test_the_estimator_keeps_scikit_learns_contract(estimator, check):
    if check.func.__name__ == BY_ROUNDING:
        pytest.skip("decided by float32 rounding; bounded in test_invariance.py")
    check(estimator)
