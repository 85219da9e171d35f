"""A model's diagram says what its audit found, or how to get one."""

import re

import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_html_repr

from parsed_html import Parsed
from sasanet import SASANetClassifier
from sasanet.audit.html import model_note
from sasanet.datasets import load_penguins

HOW = "Not audited. After fit, measure its faithfulness with model.audit(X, y)."


@pytest.fixture(scope="module")
def model():
    X, y = load_penguins()
    return SASANetClassifier(random_state=0, max_epochs=1, teacher_weight=0).fit(X, y)


def shown(model):
    """Return the line under the diagram, the same in both pages that notebooks may ask for."""
    whole = without_ids(estimator_html_repr(model)) + model_note(model)
    assert without_ids(model._repr_html_()) == whole
    assert without_ids(model._repr_mimebundle_()["text/html"]) == whole
    return Parsed(model_note(model)).text


def without_ids(page):
    return re.sub(r"-id-\d+", "-id", page)  # scikit-learn counts the diagrams it makes


def test_a_model_without_an_audit_says_how_to_get_one(model):
    assert shown(SASANetClassifier()) == HOW
    assert shown(model) == HOW


def test_an_audited_model_shows_what_was_found(model):
    X, y = load_penguins()
    certificate = model.audit(X, y, n_rows=8)
    try:
        assert shown(model).startswith("Audited on 8 rows. Attributions differ")
        assert measured_value(certificate) in shown(model)
        assert shown(model).endswith("The certificate is model.audit_.")
    finally:
        del model.audit_


def measured_value(certificate):
    return f"{certificate['self-game RMSE'].value:.3g}".replace("-", "−")


def test_text_is_all_that_is_shown_where_text_is_wanted(model):
    with config_context(display="text"):
        assert set(model._repr_mimebundle_()) == {"text/plain"}
        assert not hasattr(model, "_repr_html_")


def test_the_line_comes_from_the_hooks_and_not_from_scikit_learn():
    class Twin(SASANetClassifier):
        _repr_html_inner = BaseEstimator._repr_html_inner

    assert "Not audited" in SASANetClassifier()._repr_html_()
    assert "Not audited" not in Twin()._repr_html_()


def test_diagrams_of_pipelines_are_scikit_learns_own(model):
    line = make_pipeline(FunctionTransformer(), model)
    assert "SASANetClassifier" in line._repr_html_()
    assert "FunctionTransformer" in line._repr_mimebundle_()["text/html"]
