"""Random tables through fit, predict, explain, value, save and load.

A table of legal columns with legal labels and weights must be learned; one with something illegal
must be refused in one sentence, without a trace in the model.
"""

from __future__ import annotations

import pickle
import tempfile
from typing import Any

import numpy as np
import pandas as pd

from sasanet import SASANetClassifier, SASANetRegressor, load
from sasanet.errors import SasanetError
from sasanet.objectives import OBJECTIVES, POWERS, UNSOFTENED
from torture.case import REFUSED, RIGHT, Outcome, check_sentence, expect, watched_warnings
from torture.draw import Draw
from torture.inputs import labels
from torture.inputs.tables import Table, convert, draw_table, with_holes
from torture.models import TINY, Answers, check_sums, check_values, raw, tiny

_TEACHER_SHARE = 0.01  # of the cases: trees take a hundred times as long as such a network
_PICKLED_SHARE = 0.1


def run(seed: int) -> Outcome:
    """Fit one random table and check everything that must hold of the model."""
    draw = Draw("tables", seed)
    with_teacher = draw.happens(_TEACHER_SHARE)
    n_train, n_other = 60 if with_teacher else draw.between(6, 40), draw.between(2, 8)
    trouble = draw.one_of(("", "", "", "", "", "column", "y", "weights"))
    table = draw_table(draw, n_train, n_other, illegal=trouble == "column")
    classes = draw.happens(0.6)
    y = _draw_labels(draw, n_train, classes, trouble == "y")
    weights = (labels.draw_bad_weights if trouble == "weights" else labels.draw_weights)(
        draw, n_train
    )
    model = tiny(SASANetClassifier if classes else SASANetRegressor, draw.between(0, 99))
    if with_teacher:
        model.set_params(teacher_weight=0.5)
    elif draw.happens(0.3):
        model.set_params(**_other_settings(draw))
    if not trouble and draw.happens(0.2):
        y = _give_another_loss(draw, model, y, with_teacher)
    with watched_warnings():
        try:
            model.fit(table.train, y.y, sample_weight=weights.y)
        except SasanetError as error:
            check_sentence(error)
            expect(trouble, f"a legal table was refused: {error}")
            expect(not hasattr(model, "n_features_in_"), "a refused fit left a trace")
            return Outcome.of(REFUSED)
        expect(not trouble, f"fit accepted {table.illegal or trouble}")
        _check(draw, model, table)
    return Outcome.of(RIGHT)


def _draw_labels(draw: Draw, n: int, classes: bool, bad: bool) -> labels.Labels:
    if classes:
        return (labels.draw_bad_classes if bad else labels.draw_classes)(draw, n)
    return (labels.draw_bad_quantities if bad else labels.draw_quantities)(draw, n)


def _give_another_loss(
    draw: Draw, model: Any, y: labels.Labels, with_teacher: bool
) -> labels.Labels:
    """Let a model be fitted to another loss, and return labels that it is meant for."""
    if isinstance(model, SASANetClassifier):
        model.set_params(class_weight="balanced")
        return y
    allowed = [name for name in OBJECTIVES if not with_teacher or name not in UNSOFTENED]
    model.set_params(objective=(objective := draw.one_of(allowed)))
    if objective == "quantile":
        model.set_params(quantile=draw.one_of((0.9, (0.1, 0.5, 0.9))))
    if objective not in POWERS:
        return y
    rates = np.abs(np.asarray(y.y, dtype=np.float64).ravel())
    rates[0] = max(rates[0], 1.0)  # one that counts must be above 0
    return labels.Labels(np.maximum(rates, 1e-3) if objective == "gamma" else rates)


def _other_settings(draw: Draw) -> dict[str, Any]:
    """Return other settings that are as fast."""
    fields = vars(TINY)
    shapes = (
        {"members": 2},
        {"attribution": "none"},
        {"activation": "leaky_relu"},
        {"attribution": "context", "attribution_layers": (4,), "attribution_steps": 1},
        {"numbers": "mlp", "number_layers": (4,)},
    )
    # An ablation that cannot explain has nothing to check here.
    shape = draw.one_of([shape for shape in shapes if shape.get("attribution") != "none"])
    return {
        "network": type(TINY)(**fields | shape | {"dropout": draw.one_of((0.0, 0.5))}),
        "validation_fraction": draw.one_of((0.0, 0.2, "auto")),
        "min_level_count": draw.one_of((1, 1, 2, 5, 1000)),
    }


def _check(draw: Draw, model: Any, table: Table) -> None:
    """Check a fitted model on rows it has seen and on others."""
    X, seen = _readable(model, table)
    check_values(model, X, seen.raw)
    if isinstance(X, pd.DataFrame):
        holes = with_holes(draw, X)
        _check_rearranged(draw, model, holes, check_sums(model, holes).raw)
        _check_other_containers(draw, model, X)
    _check_rows_alone(draw, model, X)
    _check_saved(model, X, seen)
    if draw.happens(_PICKLED_SHARE):
        again = Answers.of(pickle.loads(pickle.dumps(model)), X)
        expect(again.equal(seen), "the unpickled model answers otherwise")


def _readable(model: Any, table: Table) -> tuple[Any, Answers]:
    """Return the other rows and what the model says of them, sums checked.

    Where the others have words among numbers, it is the rows of training.
    """
    try:
        return table.other, check_sums(model, table.other)
    except SasanetError as error:
        check_sentence(error)
        expect("must hold numbers as in training" in str(error), f"rows were refused: {error}")
        return table.train, check_sums(model, table.train)


def _check_rearranged(draw: Draw, model: Any, X: pd.DataFrame, answer: Any) -> None:
    """Expect the same answers when columns or rows stand in another order."""
    columns = draw.random.sample(range(X.shape[1]), X.shape[1])
    expect((raw(model, X.iloc[:, columns]) == answer).all(), "the order of the columns matters")
    rows = draw.random.sample(range(len(X)), len(X))
    expect(np.allclose(raw(model, X.iloc[rows]), answer[rows], 1e-5, 1e-5 * model.target_.scale),
           "the order of the rows matters")  # fmt: skip


def _check_other_containers(draw: Draw, model: Any, X: pd.DataFrame) -> None:
    """Expect the same cells from the same table of another library."""
    container = draw.one_of(("polars", "arrow", "objects", "list"))
    other = convert(X, container)
    if other is None or (container in ("objects", "list") and model.encoder_._has_names):
        return
    mine, theirs = (model.encoder_.transform(part, warn=False) for part in (X, other))
    expect(np.array_equal(mine, theirs, equal_nan=True), f"{container}: other cells are read")


def _check_rows_alone(draw: Draw, model: Any, X: Any) -> None:
    """Expect that a row is read alike alone and among others."""
    together = model.encoder_.transform(X, warn=False)
    row = draw.between(0, len(together) - 1)
    alone = model.encoder_.transform(X[row : row + 1], warn=False)
    expect(np.array_equal(alone[0], together[row], equal_nan=True), "a row's cells need others")


def _check_saved(model: Any, X: Any, seen: Answers) -> None:
    """Expect the same model from a file."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        again = load(folder)
    expect(Answers.of(again, X).equal(seen), "the loaded model answers otherwise")
    expect(again.get_params(deep=False).keys() == model.get_params(deep=False).keys(), "settings")
