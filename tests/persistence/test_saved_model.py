"""A saved model is the same model, an interrupted save harms nothing, a damaged file is noticed."""

import copy
import json
import os
import shutil

import numpy as np
import pytest

from sasanet import Architecture, SASANetClassifier, SASANetRegressor, load, whole_files
from sasanet.audit import Audit
from sasanet.checksums import sealed
from sasanet.datasets import load_penguins
from sasanet.errors import InvalidInputError, SavedFileError
from sasanet.persistence import folder as saving
from torture.processes import Child
from training_rows import briefly

QUICK = {"max_epochs": 1, "teacher_weight": 0, "random_state": 0}


@pytest.fixture(scope="module")
def model():
    return SASANetClassifier(**QUICK).fit(*load_penguins())


@pytest.fixture
def folder(model, tmp_path):
    model.save(tmp_path / "model")
    return tmp_path / "model"


def weights_file(folder):
    (path,) = folder.glob("weights-*.safetensors")
    return path


MEMBERS = Architecture(width=8, marginal_layers=(4,), members=3)


@pytest.mark.parametrize("network", ["set", "sequence", "paper-fraud", MEMBERS], ids=str)
def test_a_loaded_model_predicts_and_explains_bit_identically(network, tmp_path):
    X, y = load_penguins()
    for kind, target in ((SASANetClassifier, y), (SASANetRegressor, X["year"])):
        saved = kind(briefly(network), **QUICK).fit(X, target)
        saved.save(tmp_path / kind.__name__)
        loaded = load(tmp_path / kind.__name__)
        assert type(loaded) is type(kind.load(tmp_path / kind.__name__)) is kind
        assert loaded.get_params() == saved.get_params()
        assert (loaded.predict(X) == saved.predict(X)).all()
        assert (loaded.explain(X).values == saved.explain(X).values).all()
        assert loaded.history_ == saved.history_


def test_a_model_of_another_kind_is_refused(folder):
    with pytest.raises(InvalidInputError, match="must hold a SASANetRegressor"):
        SASANetRegressor.load(folder)


def test_a_saved_model_holds_no_pickle_and_no_training_rows(folder):
    assert sorted(path.suffix for path in folder.iterdir()) == [
        ".json", ".md", ".safetensors",
    ]  # fmt: skip
    description = json.loads((folder / "model.json").read_text())
    lengths = [len(column["knots"]) for column in description["encoder"]["columns"]]
    assert max(lengths) <= 128


def test_saving_over_a_model_replaces_it_and_leaves_no_old_weights(folder):
    X, y = load_penguins()
    other = SASANetClassifier(**{**QUICK, "random_state": 7}).fit(X, y)
    other.save(folder)
    assert len(list(folder.iterdir())) == 3
    assert (load(folder).predict_proba(X) == other.predict_proba(X)).all()


def test_saving_never_overwrites_what_is_not_a_model(model, tmp_path):
    (tmp_path / "thesis.txt").write_text("five years of work")
    with pytest.raises(InvalidInputError, match=r"a saved model to replace, got .*thesis"):
        model.save(tmp_path)
    with pytest.raises(InvalidInputError, match="is a file"):
        model.save(tmp_path / "thesis.txt")
    assert (tmp_path / "thesis.txt").read_text() == "five years of work"


def dying_save(model, path, survived):
    """Return work that is killed in the middle of the file after so many."""

    def work():
        written, write = [], saving.write_whole

        def die(file, content):
            if len(written) == survived:
                with whole_files.replacing(file) as draft:
                    draft.write_bytes(content[: len(content) // 2])
                    os._exit(9)
            written.append(file)
            write(file, content)

        saving.write_whole = die  # in the child only
        next(model.network_.parameters()).data.add_(1.0)
        model.save(path)
        return "it was saved"

    return work


@pytest.mark.parametrize(("survived", "killed"), [(0, "weights"), (1, "description")])
def test_a_killed_save_leaves_the_old_model(survived, killed, model, tmp_path):
    X, _ = load_penguins()
    model.save(tmp_path / killed)
    assert Child(dying_save(model, tmp_path / killed, survived)).wait().code == 9
    assert (load(tmp_path / killed).predict_proba(X) == model.predict_proba(X)).all()


DAMAGE = {
    "weights truncated": lambda d: weights_file(d).write_bytes(weights_file(d).read_bytes()[:-9]),
    "one bit flipped": lambda d: weights_file(d).write_bytes(
        weights_file(d).read_bytes()[:-1] + bytes([weights_file(d).read_bytes()[-1] ^ 1])
    ),
    "weights missing": lambda d: weights_file(d).unlink(),
    "description truncated": lambda d: (d / "model.json").write_text(
        (d / "model.json").read_text()[:500]
    ),
    "description edited": lambda d: (d / "model.json").write_text(
        (d / "model.json").read_text().replace("Torgersen", "Elsewhere")
    ),
    "description missing": lambda d: (d / "model.json").unlink(),
    "foreign JSON": lambda d: (d / "model.json").write_text('{"hello": "world"}'),
    "not JSON": lambda d: (d / "model.json").write_bytes(b"\x80\x04pickle"),
    "a list": lambda d: (d / "model.json").write_text("[1, 2]"),
}


@pytest.mark.parametrize("damage", list(DAMAGE))
def test_a_damaged_model_gets_a_clear_error(folder, damage):
    DAMAGE[damage](folder)
    with pytest.raises(SavedFileError) as caught:
        load(folder)
    assert str(folder) in str(caught.value)


def reseal(folder, change):
    description = json.loads((folder / "model.json").read_text())
    del description["seal"]
    change(description)
    text = json.dumps(sealed(description))
    (folder / "model.json").write_text(text)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda d: d.update(format=99), "must have format 1, got 99"),
        (lambda d: d.update({"class": "os.system"}), "as class, got 'os.system'"),
        (lambda d: d.pop("encoder"), "must have the fields"),
        (lambda d: d["architecture"].update(width=3), "does not describe"),
        (lambda d: d["architecture"].update(marginal="evil"), "got 'evil'"),
        (lambda d: d["encoder"]["columns"].pop(), "6 finite importances"),
        (lambda d: d["encoder"].pop("named"), r"got \['categorical_features', "),
        (lambda d: d.update(weights="../../elsewhere"), "a SHA-256 as weights"),
        (lambda d: d.update(weights="0" * 64), "are missing"),
    ],
)
def test_even_a_resealed_description_is_checked(folder, change, sentence):
    reseal(folder, change)
    with pytest.raises(SavedFileError, match=sentence):
        load(folder)


def test_a_moved_directory_still_loads(model, folder, tmp_path):
    X, _ = load_penguins()
    shutil.move(folder, tmp_path / "elsewhere")
    loaded = load(tmp_path / "elsewhere")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.fixture
def audited(model, tmp_path):
    X, y = load_penguins()
    own = copy.copy(model)
    own.audit(X, y, n_rows=4)
    own.save(tmp_path / "audited")
    return own, tmp_path / "audited"


def test_the_audit_is_saved_with_the_model_and_restored(audited):
    model, folder = audited
    assert load(folder).audit_ == model.audit_
    assert Audit.load(folder / "audit.json") == model.audit_
    description = json.loads((folder / "model.json").read_text())
    assert model.audit_.weights == description["weights"]
    load(folder).save(folder)
    assert load(folder).audit_ == model.audit_


def test_a_model_without_an_audit_has_none(model, audited):
    _, folder = audited
    model.save(folder)  # over the audited one
    assert not (folder / "audit.json").exists()
    assert not hasattr(load(folder), "audit_")


def test_an_audit_of_other_weights_is_neither_saved_nor_restored(audited):
    _, folder = audited
    stale = (folder / "audit.json").read_bytes()
    changed = load(folder)
    next(changed.network_.parameters()).data.add_(1.0)
    changed.save(folder)
    assert not (folder / "audit.json").exists()
    (folder / "audit.json").write_bytes(stale)  # as a save killed before its last step leaves it
    assert not hasattr(load(folder), "audit_")


def test_an_audit_of_bottomless_json_is_refused(audited):
    _, folder = audited
    (folder / "audit.json").write_text("[" * 100_000)
    with pytest.raises(SavedFileError, match="is not a saved audit"):
        load(folder)


def test_an_edited_audit_is_noticed(audited):
    _, folder = audited
    text = (folder / "audit.json").read_text()
    (folder / "audit.json").write_text(text.replace('"n_rows": 4', '"n_rows": 4000'))
    with pytest.raises(SavedFileError, match=r"audit\.json was changed"):
        load(folder)
    (folder / "audit.json").write_text(text[:100])
    with pytest.raises(SavedFileError, match=r"audit\.json is not a saved audit"):
        load(folder)
