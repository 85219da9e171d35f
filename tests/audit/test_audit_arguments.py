"""Seeds of NumPy are seeds, and an audit's file is whole or the old one."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sasanet import Architecture, SASANetClassifier, SASANetRegressor
from sasanet.errors import FileWriteError, InvalidInputError

X = pd.DataFrame({"a": np.arange(40.0), "b": ["x", "y"] * 20})


@pytest.fixture(scope="module")
def model():
    small = Architecture(width=4, marginal_layers=(3,))
    fits = {"max_epochs": 1, "teacher_weight": 0, "random_state": 0}
    return SASANetClassifier(small, **fits).fit(X, np.arange(40) % 2)


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.int32])
def test_a_seed_may_be_of_any_integer_type(kind, model):
    found, expected = (model.audit(X, n_rows=4, n_orders=4, random_state=s) for s in (kind(3), 3))
    assert [f.value for f in found.findings] == [f.value for f in expected.findings]


def test_a_full_disk_keeps_the_old_audit(model, tmp_path, monkeypatch):
    certificate = model.audit(X, n_rows=4, n_orders=4)
    path = tmp_path / "audit.json"
    path.write_text("old")
    write = Path.write_bytes

    def full(self, content):
        write(self, content[:10])
        raise OSError(28, "No space left on device", str(self))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(FileWriteError, match="No space left on device"):
            certificate.save(path)
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]
    certificate.save(path)
    assert path.read_text() != "old"


@pytest.mark.parametrize("scale", [1e150, 1e300])
def test_labels_whose_squares_are_no_numbers_are_refused_in_a_sentence(scale):
    random = np.random.RandomState(0)
    X = pd.DataFrame(random.randn(60, 2), columns=["a", "b"])
    y = scale * X["a"].to_numpy()
    model = SASANetRegressor(max_epochs=1, teacher_weight=0, random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match="spread below"):
        model.audit(X, y, n_rows=5, n_orders=4)
    assert np.isfinite(model.audit(X, n_rows=5, n_orders=4)["self-game RMSE"].value)
