"""Everything is checked before anything is written, and before anything is built."""

import datetime as dt
import json
import resource
import sys

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from sasanet import Architecture, SASANetClassifier, load
from sasanet.checksums import sealed
from sasanet.datasets import load_penguins
from sasanet.errors import InvalidInputError, SavedFileError
from sasanet.persistence.description import fewest_weights
from torture.processes import Child

SMALL = Architecture(width=4, marginal_layers=(3,))
QUICK = {"max_epochs": 1, "teacher_weight": 0, "random_state": 0}
KEY = b"sixteen bytes or more"


@pytest.fixture(scope="module")
def model():
    return SASANetClassifier(SMALL, **QUICK).fit(*load_penguins())


def changed(folder, change):
    """Change a description and seal it again, as somebody could who knows the format."""
    path = folder / "model.json"
    saved = json.loads(path.read_text())
    saved.pop("seal")
    change(saved)
    path.write_text(json.dumps(sealed(saved)))


def test_parameters_of_numpy_types_are_saved(tmp_path):
    X, y = load_penguins()
    search = GridSearchCV(
        SASANetClassifier(SMALL, **QUICK), {"batch_size": np.array([64, 128])}, cv=2
    ).fit(X, y)
    search.best_estimator_.save(tmp_path)
    assert load(tmp_path).batch_size == search.best_params_["batch_size"]


def test_a_model_that_cannot_be_saved_leaves_nothing_behind(model, tmp_path):
    strange = SASANetClassifier(SMALL, **QUICK).fit(*load_penguins())
    strange.verbose = object()
    with pytest.raises(InvalidInputError, match="JSON can hold"):
        strange.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
    model.save(tmp_path / "model")
    load(tmp_path / "model")


def test_dates_are_no_classes():
    X, _ = load_penguins()
    days = np.arange("2026-01-01", "2026-01-03", dtype="datetime64[D]")
    for y in (days, days.astype("datetime64[ns]"), np.array([dt.date(2026, 1, 1), None])):
        with pytest.raises(InvalidInputError, match=r"got dates .*astype\(str\)|missing labels"):
            SASANetClassifier(**QUICK).fit(X, np.resize(y, len(X)))


DEEP = "[" * 100_000 + "]" * 100_000


NO_DESCRIPTIONS = [DEEP, '{"format": NaN}', '{"format": 1e999}', "{", "[]", '{"seal": 1}', "\0"]


@pytest.mark.parametrize("text", NO_DESCRIPTIONS, ids=lambda text: text[:20])
def test_json_that_is_no_description_gets_one_sentence(text, model, tmp_path):
    model.save(tmp_path)
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(SavedFileError, match=r"must (be the description|have format)"):
        load(tmp_path)


CHANGES = {
    "scale": lambda saved: saved["target"].update(scale="wide"),
    "no scale": lambda saved: saved["target"].update(scale=0),
    "base": lambda saved: saved["target"].update(base=["high", 0.0, 0.0]),
    "bases": lambda saved: saved["target"].update(base=[0.0]),
    "labels": lambda saved: saved["target"].update(labels=["a", "a", "b"]),
    "nested labels": lambda saved: saved["target"].update(labels=[["a"], "b", "c"]),
    "task": lambda saved: saved["target"].update(task="regression"),
    "cap": lambda saved: saved.update(cap="high"),
    "negative cap": lambda saved: saved.update(cap=-1.0),
    "tiny cap": lambda saved: saved.update(cap=1e-300),
    "class": lambda saved: saved.update({"class": "os.system"}),
    "history": lambda saved: saved.update(history=[1]),
    "importances": lambda saved: saved.update(importances=[1.0]),
    "weights": lambda saved: saved.update(weights="../../etc/passwd"),
    "parameters": lambda saved: saved["parameters"].update(unknown=1),
    "no parameters": lambda saved: saved.update(parameters={}),
    "extra": lambda saved: saved.update(extra=1),
    "missing": lambda saved: saved.pop("cap"),
    "positions": lambda saved: saved["architecture"].update(positions=10**9),
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_value_of_a_resealed_description_is_checked(name, model, tmp_path):
    model.save(tmp_path)
    changed(tmp_path, CHANGES[name])
    with pytest.raises((SavedFileError, ValueError)) as caught:
        load(tmp_path)
    assert isinstance(caught.value, SavedFileError)
    assert "\n" not in str(caught.value)


def grown_by_refusing(path):
    """Return work that is refused a model, and says how many bytes of memory that took."""

    def work():
        unit = 1024 if sys.platform == "linux" else 1
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(SavedFileError, match="at most"):
            load(path)
        return str((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit)

    return work


@pytest.mark.parametrize(
    "sizes", [{"marginal_layers": [40_000, 40_000]}, {"width": 10**9}], ids=["layers", "width"]
)
def test_a_network_larger_than_its_weights_is_refused_before_it_is_built(sizes, model, tmp_path):
    model.save(tmp_path)
    changed(tmp_path, lambda saved: saved["architecture"].update(sizes))
    assert int(Child(grown_by_refusing(tmp_path)).wait().said) < 500e6


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"members": 3, "attribution": "closed_form"},
        {"attribution": "context"},
        {"attribution": "attention"},
        {"marginal": "sequence", "attribution": "attention"},
        {"marginal": "sequence", "attribution": "attention", "numbers": "mlp"},
        {"marginal_layers": (5, 4)},
    ],
    ids=str,
)
def test_the_bound_never_exceeds_what_a_network_has(fields, make_network, mixed):
    network = make_network(mixed, n_outputs=2, **fields)
    count = sum(parameter.numel() for parameter in network.parameters())
    least = fewest_weights(network.architecture, mixed, 2)
    assert 0.1 * count < least <= count  # columns with few knots are padded, hence the gap


def test_a_signed_model_loads_with_its_key_only(model, tmp_path):
    model.save(tmp_path, key=KEY)
    X, _ = load_penguins()
    assert np.array_equal(load(tmp_path, key=KEY).predict_proba(X), model.predict_proba(X))
    load(tmp_path)  # without a key nothing is asked
    with pytest.raises(SavedFileError, match="got another signature"):
        load(tmp_path, key=KEY[::-1])
    changed(tmp_path, lambda saved: saved.update(cap=99.0))  # somebody without the key
    with pytest.raises(SavedFileError, match="got another signature"):
        load(tmp_path, key=KEY)
    model.save(tmp_path)
    with pytest.raises(SavedFileError, match="got no signature"):
        load(tmp_path, key=KEY)
    with pytest.raises(InvalidInputError, match="16 bytes"):
        model.save(tmp_path, key=b"short")
