"""The model card: what a saved model is, was taught and is worth, as one short Markdown page.

It says what the model itself knows; columns are summarised, and no training row is in it. Names and
levels come from tables of strangers, so everything that Markdown or HTML would read is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sasanet.audit import Audit
from sasanet.audit.text import calibration_verdict, conclusion, facts, loss_name, units_of
from sasanet.checksums import pack_weights
from sasanet.estimator.sasanet import SASANetModel
from sasanet.explanation.wording import cell_text, measured, shorten
from sasanet.table.bags.parts import training_range
from sasanet.table.columns import Column

MARK = "<!-- written by sasanet: remove this line to keep the page when the model is saved -->"
_MOST_COLUMNS, _MOST_LEVELS, _MOST_SETTINGS = 60, 6, 24
_LONGEST_NAME, _LONGEST_LEVEL = 60, 24
_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_GAME = (
    "Every prediction is a base value plus one number per feature: the Shapley values of the "
    "model's own output v(S), its estimate of E[y | x_S] from any part S of the features."
)
_CODE = """```python
import sasanet

model = sasanet.load("this folder")
e = model.explain(X)  # e.base_values + e.values.sum(axis=1) == e.prediction
```"""


def model_card(model: SASANetModel) -> str:
    """Return the card of a fitted model; see ``model.card``."""
    parts = [
        MARK,
        f"# {type(model).__name__}: {_predicts(model)}",
        _GAME,
        _CODE,
        "## Data",
        *_data(model),
        "## Quality",
        *_quality(model),
        "## Faithfulness",
        *_faithfulness(model),
        "## Training",
        *_training(model),
        "## Limits",
        *_limits(model),
    ]
    return "\n\n".join(parts) + "\n"


def escaped(given: Any, length: int = _LONGEST_NAME) -> str:
    r"""Return text of any origin as one line that Markdown shows as it is.

    Examples
    --------
    >>> escaped("a|b <i>\n# c")
    'a\\|b &lt;i&gt; # c'
    """
    text = shorten(" ".join(_UNSEEN.sub(" ", str(given)).split()), length)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", text).replace("://", ":&#47;/")  # no links either


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _predicts(model: SASANetModel) -> str:
    """Return what is predicted: the name of the target is not known to the model."""
    target = model.target_
    if target.task == "regression":
        return "a number"
    if target.task == "binary":
        return f"the probability of {escaped(target.labels[1])}"
    return f"which of {len(target.labels)} classes"


# --- data ------------------------------------------------------------------------------------


def _data(model: SASANetModel) -> Iterator[str]:
    columns, target = model.encoder_.columns, model.target_
    base = ", ".join(measured(float(value)) for value in model.base_value_)
    yield f"{len(columns)} columns. Base value, when nothing is known: {base} ({target.units})."
    if target.labels:
        named = [escaped(label, _LONGEST_LEVEL) for label in target.labels[:_MOST_COLUMNS]]
        yield f"Classes: {' · '.join(named)}{_more(len(target.labels), _MOST_COLUMNS)}."
    # The ablation without attributions has no importances.
    importances = getattr(model, "feature_importances_", np.zeros(len(columns)))
    strongest = np.argsort(-importances, kind="stable")[:_MOST_COLUMNS]
    rows = [_column(columns[j], float(importances[j])) for j in strongest]
    yield _table(["column", "kind", "values in training", "importance"], rows)
    if more := _more(len(columns), _MOST_COLUMNS):
        yield f"The strongest {_MOST_COLUMNS}{more}."
    yield (
        "Importance is the mean absolute attribution over some training rows. Cells may be missing "
        "in every column."
    )


def _column(column: Column, importance: float) -> list[str]:
    if column.kind == "number":
        low, high = column.knots[0], column.knots[-1]
        values = f"{cell_text(low)} to {cell_text(high)}" if column.seen else "none"
    elif column.parts:
        ends = training_range(column)
        parts = f"{len(column.parts)} parts"
        values = f"{cell_text(ends[0])} to {cell_text(ends[1])}" if ends else parts
    else:
        shown = [escaped(level, _LONGEST_LEVEL) for level in column.levels[:_MOST_LEVELS]]
        values = " · ".join(shown) + _more(len(column.levels), _MOST_LEVELS)
    return [escaped(column.name), column.kind, values or "–", measured(importance)]


def _more(n: int, shown: int) -> str:
    return f" … ({n:,} in all)" if n > shown else ""


# --- how good, how faithful ------------------------------------------------------------------


def _certificate(model: SASANetModel) -> Audit | None:
    """Return the certificate of these weights, if there is one."""
    audit: Audit | None = getattr(model, "audit_", None)
    same = audit is not None and audit.weights == pack_weights(model.network_)[1]
    return audit if same else None


def _quality(model: SASANetModel) -> Iterator[str]:
    audit = _certificate(model)
    if audit is None or not audit.calibration:
        yield (
            "Not measured on rows with labels. `model.audit(X, y)` before `model.save` does it; "
            "use rows the model has not seen."
        )
        return
    whole, name = audit.calibration[-1], loss_name(audit)
    rows = [
        [name, measured(whole.loss), _interval(whole.loss_low, whole.loss_high)],
        [f"{name} of the base value alone", measured(whole.base_loss), ""],
        [
            "gain over the base value",
            measured(whole.gain),
            _interval(whole.gain_low, whole.gain_high),
        ],
        ["calibration error", measured(whole.error), _interval(whole.error_low, whole.error_high)],
    ]
    yield f"On the {whole.n_rows:,} labelled rows of the audit, with all features known:"
    yield _table(["measure", "value", "95 % interval"], rows)
    yield from calibration_verdict(audit)


def _interval(low: float, high: float) -> str:
    return f"{measured(low)} to {measured(high)}"


def _faithfulness(model: SASANetModel) -> Iterator[str]:
    audit = _certificate(model)
    if audit is None:
        yield (
            "Not audited. `model.audit(X)` compares the attributions with Shapley values by "
            "enumeration or sampling."
        )
        return
    yield conclusion(audit)
    yield _list([f"{label}: {words}" for label, words in facts(audit) if label != "time"])
    rows = [
        [escaped(f.name), measured(f.value), _interval(f.low, f.high)]
        for f in audit.findings
        if not f.name.startswith("distillation")
    ]
    yield _table(["measure", "value", "95 % interval"], rows)
    yield f"RMSE is in {units_of(audit)}. `model.audit_` prints all of it."


# --- training and limits ---------------------------------------------------------------------


def _training(model: SASANetModel) -> Iterator[str]:
    last = model.history_[-1] if model.history_ else {}
    epochs = f"{len(model.history_):,} epochs" if last else "No record of epochs"
    seconds = f" in {measured(last['seconds'])} s" if "seconds" in last else ""
    weights = sum(parameter.numel() for parameter in model.network_.parameters())
    shape = model.network_.architecture
    members = f", {shape.members} members" if shape.members > 1 else ""
    yield f"{epochs}{seconds}; {shape.marginal} network of {weights:,} weights{members}."
    changed = _changed(model)
    yield f"Settings that differ from the defaults: {', '.join(changed) or 'none'}."


def _changed(model: SASANetModel) -> list[str]:
    """Return the settings that are not the defaults, as text."""
    given, usual = model.get_params(deep=False), type(model)().get_params(deep=False)
    shown = {name: value for name, value in given.items() if repr(value) != repr(usual[name])}
    return [
        f"{escaped(name)} = {escaped(repr(v))}" for name, v in [*shown.items()][:_MOST_SETTINGS]
    ]


def _limits(model: SASANetModel) -> Iterator[str]:
    lines = [
        "Attributions say what each feature *tells this model*, given what else is known. They are "
        "no causes, and a feature may stand in for another one.",
        "Numbers beyond the range of training are read as its ends; unknown levels share a place.",
        "Nothing here was checked for fairness: quality by group is in `sasanet report --group`.",
        "The figures above are of the rows they were measured on. Other rows, or later ones, need "
        "an audit of their own; `sasanet drift` compares two tables.",
    ]
    if len(model.encoder_.columns) > 9 and model.network_.is_set:
        lines.append(
            "Rows with more than nine present features are explained by a close approximation, "
            "whose error the audit measures."
        )
    if getattr(model, "class_weight", None) is not None:
        lines.append(
            "Classes were weighted in training: probabilities are those of the weighted classes, "
            "not of the table."
        )
    if model.network_.distilled is not None:
        lines.append("A learned module explains where it came close enough to the formula.")
    yield _list(lines)
