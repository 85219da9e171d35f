"""A model and a table in, everything the page shows out, as one dict of plain data.

``facts`` of the dict are written into the page as text; ``data`` is what its script works with.
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
from sasanet.errors import UnknownLevelWarning
from sasanet.estimator.sasanet import SASANetModel
from sasanet.explanation.explanation import Explanation
from sasanet.network.export import PortableNetwork, export
from sasanet.plots.dependence import dependence_data
from sasanet.report.caveats import Doubt, find_doubts
from sasanet.report.inputs import Given, read_given
from sasanet.report.metrics import by_group, measure, surprise
from sasanet.report.packing import pack, pack_network
from sasanet.report.row_data import MOST_ROWS, cell_bytes, fits, pack_rows, row_limit, used_places

_AUDITED_ROWS, _AUDIT_ORDERS = 128, 200
_DEPENDENCE = 24  # features, the most important ones


@dataclass(frozen=True)
class Answers:
    """What the model said: of all given rows the predictions, of the shown ones the reasons."""

    model: SASANetModel
    given: Given
    shown: Shown
    explanation: Explanation
    predicted: Floats
    certificate: Audit | None
    without: Floats | None
    doubts: list[Doubt]


@dataclass(frozen=True)
class Shown:
    """The rows of the page: which, why not more, and the network that can value them."""

    rows: NDArray[np.intp]
    why: str
    cells: NDArray[np.float32]
    network: PortableNetwork | None


def gather(model: SASANetModel, table: Any, target: Any, group: str | None) -> Any:
    """Ask the model everything the report needs to know."""
    with warnings.catch_warnings():  # the page itself names the levels never seen
        warnings.simplefilter("ignore", UnknownLevelWarning)
        given = read_given(model, table, target, group)
        shown = _choose(model, given)
        X = given.X.iloc[shown.rows]
        explanation, predicted = model.explain(X), _predicted(model, given.X)
        certificate = _certify(model, given)
        without = None if shown.network else _without_each(model, X)
    errors = None
    if given.labels is not None:
        errors = _errors(given.labels[shown.rows], predicted[shown.rows])
    doubts = find_doubts(explanation.data, shown.cells, model.encoder_.columns, errors)
    found = Answers(model, given, shown, explanation, predicted, certificate, without, doubts)
    return {"facts": _facts(found, group), "data": _data(found)}


def _choose(model: SASANetModel, given: Given) -> Shown:
    """Draw the rows that fit into the page, beside the network where that fits too."""
    drawn = np.random.default_rng(0).permutation(len(given.X))[:MOST_ROWS]
    columns, whole = model.encoder_.columns, export(model.network_)
    cells = model.encoder_.transform(given.X.iloc[drawn], warn=False)
    network = None if whole is None else whole.keep(used_places(cells, columns))
    network = network if network is not None and fits(network) else None
    n_bytes = cell_bytes(given.X.iloc[drawn], columns)  # its columns stand as in training
    limit, why = row_limit(network, len(columns), len(model.base_value_), n_bytes)
    kept = np.argsort(drawn[:limit])  # in the table's own order
    rows, cells = drawn[kept], cells[kept]
    if network is not None and whole is not None:  # fewer rows have fewer levels
        network = whole.keep(used_places(cells, columns))
    why = why or "more would make the page slow to open"
    return Shown(rows, why if len(given.X) > len(rows) else "", cells, network)


def _certify(model: SASANetModel, given: Given) -> Audit | None:
    if len(given.X) < 2:
        return None
    return audit(model, given.X, given.y, n_rows=_AUDITED_ROWS, n_orders=_AUDIT_ORDERS)


def _facts(found: Answers, group: str | None) -> dict[str, Any]:
    """Return what is written into the page as text."""
    given, shown = found.given, found.shown
    return {
        "title": f"Model report: {given.target}",
        "model": _describe(found.model, given),
        "quality": _quality(found.model, given, found.predicted, group),
        "audit": None if found.certificate is None else _audit(found.certificate),
        "importance": _importance(found.explanation),
        "doubts": [doubt.to_dict() for doubt in found.doubts],
        "rows": {"shown": len(shown.rows), "all": len(given.X), "why": shown.why},
        "exact_values": shown.network is not None,
        "labels": [str(label) for label in found.explanation.data.index],
    }


def _predicted(model: Any, X: pd.DataFrame) -> Floats:
    """Return probabilities (n, C), or numbers (n,)."""
    found = model.predict(X) if model.target_.task == "regression" else model.predict_proba(X)
    return np.asarray(found, dtype=np.float64)


def _without_each(model: SASANetModel, X: pd.DataFrame) -> Floats:
    """Return v(N∖i) of every row and feature, raw: (n, d, K)."""
    d = X.shape[1]
    masks = np.broadcast_to(~np.eye(d, dtype=bool), (len(X), d, d))
    return model.value(X, masks).reshape(len(X), d, -1)


def _errors(labels: Floats, predicted: Floats) -> Floats:
    return surprise(labels, predicted) if predicted.ndim == 2 else np.abs(labels - predicted)


def _base_prediction(model: SASANetModel) -> Floats:
    """Return what is predicted when nothing is known, as probabilities (C,) or a number ()."""
    base = model.base_value_
    if model.target_.task == "regression":
        return base[0]
    raw = np.array([0.0, base[0]]) if len(base) == 1 else base
    shares = np.exp(raw - raw.max())
    return np.asarray(shares / shares.sum())


def _describe(model: SASANetModel, given: Given) -> list[tuple[str, str]]:
    """Return what the model is, as pairs of a term and its description."""
    task, columns = model.target_.task, model.encoder_.columns
    n_numbers = sum(column.kind == "number" for column in columns)
    kinds = f"{n_numbers} numbers, {len(columns) - n_numbers} categories"
    base, names = _base_prediction(model), [str(label) for label in model.target_.labels]
    if task == "regression":
        predicts, start = given.target, f"{float(base):.6g}, the mean of the training target"
    elif task == "binary":
        predicts = f"the probability that {given.target} is {names[1]} (otherwise {names[0]})"
        start = f"{100 * base[1]:.3g} %, log-odds {model.base_value_[0]:+.3f}"
    else:
        predicts = f"which of {len(names)} classes {given.target} is: {', '.join(names)}"
        shares = zip(names, base, strict=True)
        start = ", ".join(f"{name} {100 * share:.3g} %" for name, share in shares)
    weights = sum(parameter.numel() for parameter in model.network_.parameters())
    shape, last = model.network_.architecture, (model.history_ or [{}])[-1]
    members = f" of {shape.members} members" if shape.members > 1 else ""
    return [
        ("Kind", f"{type(model).__name__}, a {shape.marginal} network{members}"),
        ("Predicts", predicts),
        (
            "From",
            f"{len(columns)} features: {kinds}",
        ),
        ("Knowing nothing", start),
        ("Size", f"{weights:,} weights; {_training(model.history_, last)}"),
    ]


def _training(history: list[dict[str, Any]], last: dict[str, Any]) -> str:
    seconds = f" in {last['seconds']:.0f} s" if "seconds" in last else ""
    epochs = "1 epoch" if len(history) == 1 else f"{len(history):,} epochs"
    return f"trained for {epochs}{seconds}"


def _quality(
    model: SASANetModel, given: Given, predicted: Floats, group: str | None
) -> dict[str, Any] | None:
    """Return how good the predictions of all given rows are; none without labels."""
    if given.labels is None:
        return None
    judged = (model.target_.task, given.labels, predicted, _base_prediction(model))
    groups = [] if given.group is None else by_group(*judged, given.group)
    measures = measure(*judged)
    return {"rows": len(given.X), "measures": measures, "group": group, "groups": groups}


def _audit(certificate: Audit) -> dict[str, Any]:
    """Return the certificate's findings; what is said twice is left out."""
    findings = [
        finding
        for finding in certificate.to_dict()["findings"]
        if not finding["name"].startswith("distillation") or certificate.network != "set"
    ]
    closing = str(certificate).rsplit("\n\n", maxsplit=1)[-1].replace("\n", " ")
    return {"findings": findings, "closing": closing, "rows": certificate.n_rows}


def _calibration(certificate: Audit | None) -> Any:
    """Return predicted against observed with every feature known; none without labels."""
    if certificate is None or not certificate.calibration:
        return None
    return certificate.to_dict()["calibration"][-1]


def _importance(explanation: Explanation) -> list[dict[str, Any]]:
    found = explanation.importance()
    most = float(found.iloc[0]) or 1.0
    return [
        {"name": str(name), "value": float(value), "share": 100 * float(value) / most}
        for name, value in found.items()
    ]


def _data(found: Answers) -> dict[str, Any]:
    """Return what the page's script works with."""
    model, given, shown, explanation = found.model, found.given, found.shown, found.explanation
    target, network, without = model.target_, shown.network, found.without
    digits = 3 - math.floor(math.log10(target.scale)) if target.task == "regression" else 3
    codes = np.zeros(len(explanation), dtype=np.uint8)
    for bit, doubt in enumerate(found.doubts):
        codes |= (doubt.rows << bit).astype(np.uint8)
    return {
        "task": target.task,
        "target": given.target,
        "units": target.units,
        "outputs": list(explanation.output_names) or [_single_output(model, given)],
        "classes": [str(label) for label in target.labels],
        "base": [float(value) for value in model.base_value_],
        "scale": target.scale,
        "decimals": min(max(digits, 0), 8),
        "rows": pack_rows(explanation, shown.cells, model.encoder_.columns),
        "actual": None if given.labels is None else pack(given.labels[shown.rows], "f8"),
        "doubts": {"keys": [doubt.key for doubt in found.doubts], "codes": pack(codes, "u1")},
        "dependence": _dependence(explanation, model),
        "calibration": _calibration(found.certificate),
        "network": None if network is None else pack_network(network),
        "without": None if without is None else pack(without, "f4"),
    }


def _single_output(model: SASANetModel, given: Given) -> str:
    return given.target if model.target_.task == "regression" else str(model.target_.labels[1])


def _dependence(explanation: Explanation, model: SASANetModel) -> list[dict[str, Any]]:
    """Return for the most important features one table of lines per output."""
    kinds = {column.name: column.kind for column in model.encoder_.columns}
    names = [str(name) for name in explanation.importance().index[:_DEPENDENCE]]
    single = explanation.values.ndim == 2
    parts = [explanation] if single else [*map(explanation.output, explanation.output_names)]
    found = []
    for name in names:
        levels = kinds[name] == "category"
        tables = [dependence_data(part, name, as_levels=levels) for part in parts]
        lines = [[_rounded(line) for line in table.itertuples(index=False)] for table in tables]
        found.append({"name": name, "levels": levels, "outputs": lines})
    return found


def _rounded(line: Any) -> list[Any]:
    """Return a line with six significant digits and without NaN, which JSON lacks."""
    return [
        part if isinstance(part, str) else None if math.isnan(part) else float(f"{part:.6g}")
        for part in line
    ]
