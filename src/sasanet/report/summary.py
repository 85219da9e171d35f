"""Everything the page shows, gathered from a model and a table as one dict of plain data.

``facts`` of the dict are written into the page as text; ``data`` is what its script works with. The
table is encoded once: whatever asks the model uses the same cells.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sasanet.arrays import Floats
from sasanet.audit import Audit, audit
from sasanet.audit.text import conclusion
from sasanet.errors import UnknownLevelWarning
from sasanet.estimator.explaining import Groups
from sasanet.estimator.sasanet import SASANetModel
from sasanet.explanation.explanation import Explanation
from sasanet.explanation.wording import directions_text
from sasanet.network.export import PortableNetwork, export
from sasanet.plots.dependence import dependence_data
from sasanet.report.caveats import Caveat, find_caveats
from sasanet.report.cohorts import cohort_reasons, elsewhere
from sasanet.report.inputs import ReportInputs, read_inputs
from sasanet.report.metrics import Judged, by_group, measure
from sasanet.report.packing import pack, pack_network, pack_reals
from sasanet.report.pairs import group_importance, strongest_pairs
from sasanet.report.predictions import (
    base_prediction,
    describe_target,
    errors,
    judged_as,
    predict,
)
from sasanet.report.row_data import (
    MOST_ROWS,
    cell_bytes,
    fits,
    pack_rows,
    page_text,
    row_limit,
    text_bytes,
    used_places,
)
from sasanet.table.columns import count_kinds
from sasanet.table.encoder import EncodedTable

_AUDITED_ROWS, _AUDIT_ORDERS = 128, 200
_DEPENDENCE = 24  # features, the most important ones; fewer where there are many classes
_FEWEST_DEPENDENCE, _DEPENDENCE_TABLES = 3, 240
_TIMES_NAMED = 4  # in the page, each column and class


@dataclass(frozen=True)
class ShownRows:
    """The rows of the page, why not more of them, and the network that evaluates them there."""

    positions: NDArray[np.intp]
    why: str
    encoded: EncodedTable
    network: PortableNetwork | None


@dataclass(frozen=True)
class Results:
    """What the model computed: predictions of all rows, explanations of the shown ones."""

    model: SASANetModel
    inputs: ReportInputs
    shown: ShownRows
    explanation: Explanation
    predicted: Floats
    certificate: Audit | None
    without: Floats | None  # v(N∖i) of the shown rows, where the page cannot compute it
    caveats: list[Caveat]


def gather(
    model: SASANetModel,
    table: Any,
    target: Any,
    group: str | None,
    groups: Groups | None = None,
    exposure: Any = None,
) -> Any:
    """Ask the model everything the report needs to know."""
    with warnings.catch_warnings():  # the page itself lists the unseen levels
        warnings.simplefilter("ignore", UnknownLevelWarning)
        inputs = read_inputs(model, table, target, group, exposure)
        results = _compute(model, inputs)
        rows = results.shown.encoded
        together: dict[str, Any] = {
            "groups": group_importance(model, rows, groups),
            "pairs": strongest_pairs(model, rows, results.explanation),
            "cohorts": cohort_reasons(results.explanation, _group_of_shown(results)),
        }
        together["elsewhere"] = elsewhere(model, together["cohorts"]["why"], bool(groups))
    return {"facts": _facts(results, group) | together, "data": _data(results)}


def _group_of_shown(results: Results) -> pd.Series | None:
    group = results.inputs.group
    return None if group is None else group.iloc[results.shown.positions]


def _compute(model: SASANetModel, inputs: ReportInputs) -> Results:
    rows, cells = model._encode(inputs.X)
    encoded = EncodedTable(rows, cells.numpy())
    shown = _choose_rows(model, encoded)
    explanation = model.explain(shown.encoded)
    predicted, missed = predict(model, encoded), None
    if inputs.labels is not None:
        known = inputs.labels[shown.positions]
        missed = errors(model.target_, known, predicted[shown.positions])
    return Results(
        model,
        inputs,
        shown,
        explanation,
        predicted,
        certificate=_certify(model, encoded, inputs),
        without=None if shown.network else _without_each(model, shown.encoded),
        caveats=find_caveats(explanation.data, shown.encoded.cells, model.encoder_.columns, missed),
    )


def _choose_rows(model: SASANetModel, encoded: EncodedTable) -> ShownRows:
    """Draw the rows that fit into the page, beside the network where that fits too."""
    drawn = np.random.default_rng(0).permutation(len(encoded))[:MOST_ROWS]
    columns, whole = model.encoder_.columns, export(model.network_)
    some = encoded.take(drawn)
    network = None if whole is None else whole.keep(used_places(some.cells, columns))
    if network is not None and not fits(network):
        network = None
    named = (*(column.name for column in columns), *map(str, model.target_.labels))
    names = _TIMES_NAMED * text_bytes(named)
    per_row = cell_bytes(some.table, columns)
    limit, why = row_limit(network, len(columns), len(model.base_value_), per_row, names)
    positions = np.sort(drawn[:limit])  # in the table's own order
    rows = encoded.take(positions)
    if network is not None and whole is not None:  # fewer rows have fewer levels
        network = whole.keep(used_places(rows.cells, columns))
    why = why or "more would make the page slow to open"
    return ShownRows(positions, why if len(encoded) > len(rows) else "", rows, network)


def _certify(model: SASANetModel, encoded: EncodedTable, inputs: ReportInputs) -> Audit | None:
    if len(encoded) < 2:
        return None
    return audit(
        model,
        encoded,
        inputs.y,
        n_rows=_AUDITED_ROWS,
        n_orders=_AUDIT_ORDERS,
        exposure=inputs.exposure,
    )


def _without_each(model: SASANetModel, encoded: EncodedTable) -> Floats:
    """Return v(N∖i) of every row and feature, raw: (n, d, K)."""
    n, d = len(encoded), len(model.encoder_.names)
    masks = np.broadcast_to(~np.eye(d, dtype=bool), (n, d, d))
    return model.value(encoded, masks).reshape(n, d, -1)


# --- what is written as text -----------------------------------------------------------------


def _facts(results: Results, group: str | None) -> dict[str, Any]:
    inputs, shown = results.inputs, results.shown
    return {
        "title": f"Model report: {inputs.target}",
        "model": _describe(results.model, inputs.target),
        "quality": _quality(results, group),
        "audit": None if results.certificate is None else _audit(results.certificate),
        "importance": _importance(results.explanation),
        "caveats": [caveat.to_dict() for caveat in results.caveats],
        "rows": {"shown": len(shown.positions), "all": len(inputs.X), "why": shown.why},
        "exact_values": shown.network is not None,
        "labels": [page_text(label) for label in results.explanation.data.index],
    }


def _describe(model: SASANetModel, target: str) -> list[tuple[str, str]]:
    """Return what the model is, as pairs of a term and its description."""
    columns, shape = model.encoder_.columns, model.network_.architecture
    members = f" of {shape.members} members" if shape.members > 1 else ""
    weights = sum(parameter.numel() for parameter in model.network_.parameters())
    predicts, base = describe_target(model, target)
    directions = directions_text(model.encoder_.names, model.monotonic_cst_)
    return [
        ("Kind", f"{type(model).__name__}, a {shape.marginal} network{members}"),
        ("Predicts", predicts),
        ("From", f"{len(columns)} features: {count_kinds(columns)}"),
        *([("Monotone", f"by construction the prediction {directions}")] if directions else []),
        *([("Class weights", _weights_text(model))] if _class_weight(model) is not None else []),
        ("Base value", base),
        ("Size", f"{weights:,} weights; {_describe_training(model.history_)}"),
    ]


def _class_weight(model: SASANetModel) -> Any:
    return getattr(model, "class_weight", None)


def _weights_text(model: SASANetModel) -> str:
    """Return what the rows of each class counted, and what follows for the numbers here."""
    given = _class_weight(model)
    named = given if isinstance(given, str) else f"{given}"
    return f"{named}: probabilities and base value are those of the weighted classes"


def _describe_training(history: list[dict[str, Any]]) -> str:
    last = history[-1] if history else {}
    seconds = f" in {last['seconds']:.0f} s" if "seconds" in last else ""
    epochs = "1 epoch" if len(history) == 1 else f"{len(history):,} epochs"
    return f"trained for {epochs}{seconds}"


def _quality(results: Results, group: str | None) -> dict[str, Any] | None:
    """Return how good the predictions of all rows are; None without labels."""
    model, inputs = results.model, results.inputs
    if inputs.labels is None:
        return None
    task, weights = judged_as(model.target_), inputs.exposure
    judged = Judged(inputs.labels, results.predicted, base_prediction(model), weights)
    levels = model.target_.quantiles
    return {
        "rows": len(inputs.X),
        "measures": measure(task, judged, levels),
        "group": group,
        "groups": [] if inputs.group is None else by_group(task, judged, inputs.group, levels),
    }


def _audit(certificate: Audit) -> dict[str, Any]:
    """Return the certificate's findings; of a set network distillation repeats the self-game."""
    findings = [
        finding
        for finding in certificate.to_dict()["findings"]
        if not finding["name"].startswith("distillation") or certificate.network != "set"
    ]
    return {
        "findings": findings,
        "closing": conclusion(certificate),
        "rows": certificate.n_rows,
    }


def _importance(explanation: Explanation) -> list[dict[str, Any]]:
    found = explanation.importance()
    largest = float(found.iloc[0]) or 1.0
    return [
        {"name": str(name), "value": float(value), "share": 100 * float(value) / largest}
        for name, value in found.items()
    ]


# --- what the script works with --------------------------------------------------------------


def _data(results: Results) -> dict[str, Any]:
    model, inputs, shown = results.model, results.inputs, results.shown
    target, explanation, without = model.target_, results.explanation, results.without
    labels = None if inputs.labels is None else inputs.labels[shown.positions]
    return {
        "task": target.task,
        "link": "log" if target.has_log_link else "",
        "quantiles": list(target.quantiles) if len(target.quantiles) > 1 else [],
        "target": inputs.target,
        "units": target.units,
        "outputs": list(explanation.output_names) or [_single_output(model, inputs.target)],
        "classes": [str(label) for label in target.labels],
        "base": [float(value) for value in model.base_value_],
        "scale": target.scale,
        **_decimals(model),
        "rows": pack_rows(explanation, shown.encoded.cells, model.encoder_.columns),
        "actual": None if labels is None else pack(labels, "f8"),
        "caveats": _pack_caveats(results.caveats, len(explanation)),
        "dependence": _dependence(explanation, model),
        "calibration": _calibration(results.certificate),
        "network": None if shown.network is None else pack_network(shown.network),
        "without": None if without is None else pack_reals(without),
    }


def _single_output(model: SASANetModel, target: str) -> str:
    return target if model.target_.task == "regression" else str(model.target_.labels[1])


def _decimals(model: SASANetModel) -> dict[str, int]:
    """Return how many decimals raw predictions, and rates, are shown with: enough for the scale.

    Below 0: so many of a power of ten.
    """
    target = model.target_
    of_raw = target.task == "regression" and not target.has_log_link
    scale = target.scale if of_raw else 1.0
    rate = float(base_prediction(model)) if target.has_log_link else 1.0
    powers = [math.floor(math.log10(size)) for size in (scale, rate)]
    shown = [max(3 - power, 0) if -6 < power < 15 else -3 for power in powers]
    return {"decimals": shown[0], "rate_decimals": shown[1]}


def _pack_caveats(caveats: list[Caveat], n_rows: int) -> dict[str, Any]:
    """Return the caveats of every row as the bits of one number."""
    codes = np.zeros(n_rows, dtype=np.uint8)
    for bit, caveat in enumerate(caveats):
        codes |= (caveat.rows << bit).astype(np.uint8)
    return {"keys": [caveat.key for caveat in caveats], "codes": pack(codes, "u1")}


def _calibration(certificate: Audit | None) -> Any:
    """Return predicted against observed with every feature known; None without labels."""
    if certificate is None or not certificate.calibration:
        return None
    return certificate.to_dict()["calibration"][-1]


def _dependence(explanation: Explanation, model: SASANetModel) -> list[dict[str, Any]]:
    """Return one table of lines per output for each of the most important features."""
    kinds = {column.name: column.kind for column in model.encoder_.columns}
    parts = [explanation.output(name) for name in explanation.output_names] or [explanation]
    found = []
    most = max(_FEWEST_DEPENDENCE, min(_DEPENDENCE, _DEPENDENCE_TABLES // len(parts)))
    for name in map(str, explanation.importance().index[:most]):
        levels = kinds[name] == "category"
        plain = levels if kinds[name] in ("number", "category") else None
        tables = [dependence_data(part, name, as_levels=plain) for part in parts]
        lines = [[_rounded(line) for line in table.itertuples(index=False)] for table in tables]
        found.append({"name": name, "levels": levels or plain is None, "outputs": lines})
    return found


def _rounded(line: Any) -> list[Any]:
    """Return a line with six significant digits and without NaN, which JSON lacks."""
    return [
        page_text(part)
        if isinstance(part, str)
        else None
        if math.isnan(part)
        else float(f"{part:.6g}")
        for part in line
    ]
