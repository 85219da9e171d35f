"""Every public name is exported, documented, and shown in an example."""

import inspect

import pytest

import sasanet
from sasanet import audit, baselines, datasets, mlflow, plots, posthoc, report, serve, shapley
from sasanet.explanation import explanation
from sasanet.table import encoder, reading

ROOMS = (baselines, mlflow, plots, posthoc, serve, shapley)
PUBLIC = [getattr(sasanet, name) for name in sasanet.__all__] + [
    *(getattr(room, name) for room in ROOMS for name in room.__all__),
    audit.audit,
    audit.Audit,
    audit.Finding,
    datasets.load_german_credit,
    datasets.load_penguins,
    encoder.TableEncoder,
    explanation.Explanation,
    reading.read_table,
    report.write_report,
]


@pytest.mark.parametrize("thing", [t for t in PUBLIC if callable(t)], ids=lambda t: t.__name__)
def test_it_has_a_docstring_with_an_example(thing):
    assert ">>>" in inspect.getdoc(thing)


def test_all_names_the_public_names():
    assert all(hasattr(sasanet, name) for name in sasanet.__all__)


def test_no_estimator_has_more_than_eighteen_parameters():
    estimators = [thing for thing in PUBLIC if hasattr(thing, "get_params")]
    counts = {e.__name__: len(inspect.signature(e.__init__).parameters) - 1 for e in estimators}
    assert counts["SASANetRegressor"] == max(counts.values()) == 18
