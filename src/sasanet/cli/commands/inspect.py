"""``sasanet inspect``: what a model was fitted on, how it was trained, and its certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Column as Head

from sasanet.cli import options
from sasanet.cli.terminal import Terminal, command

if TYPE_CHECKING:
    from sasanet.estimator.sasanet import SASANetModel
    from sasanet.table.columns import Column

_MOST_LEVELS = 5  # shown of a column


@command
def inspect(terminal: Terminal, model: options.ModelPath) -> None:
    """Show what a model was fitted on: columns, levels, base value, training, certificate."""
    from sasanet.cli.files.model_rows import load_model
    from sasanet.explanation.wording import directions_text, measured

    fitted = load_model(model, terminal)
    about = describe(fitted)
    predicted = about["classes"] or about["quantiles"]
    kind = about["task"] if about["objective"] in ("", "squared") else about["objective"]
    task = f"{kind} ({', '.join(map(str, predicted))})" if predicted else kind
    terminal.say(f"{about['class']}, {about['network']} network, {about['preset']} preset: {task}.")
    base = ", ".join(f"{value:.4g}" for value in about["base_value"])
    terminal.say(f"Base value, in units of {about['units']}: {base}.")
    if directions := directions_text(fitted.encoder_.names, fitted.monotonic_cst_):
        terminal.say(f"By construction the prediction {directions}.")
    if (weights := getattr(fitted, "class_weight", None)) is not None:
        terminal.say(f"Class weights: {weights}; probabilities are those of the weighted classes.")
    for phase in about["training"]:
        terminal.say(
            f"Training, {phase['phase']}: {phase['epochs']} epochs, {phase['steps']:,} steps, "
            f"{phase['seconds']:.1f} s, last loss {phase['loss']:.4g}."
        )
    heads = [
        Head("column", overflow="fold"),
        Head("kind"),
        Head("values", overflow="fold"),
        Head("importance", justify="right"),
    ]
    rows = [
        (one["name"], one["kind"], _values(one), measured(one.get("importance"), exponent_from=1e6))
        for one in about["columns"]
    ]
    terminal.say_table(heads, rows, title="Columns")
    certificate = getattr(fitted, "audit_", None)
    terminal.say(str(certificate) if certificate else "No certificate: `sasanet audit --keep`.")
    terminal.result(about)


def describe(model: SASANetModel) -> dict[str, Any]:
    """Return what there is to know about a model, as plain data."""
    certificate = getattr(model, "audit_", None)
    target, columns = model.target_, [_describe_column(c) for c in model.encoder_.columns]
    # The ablation without attributions has no importances.
    for column, size in zip(columns, getattr(model, "feature_importances_", ()), strict=False):
        column["importance"] = float(size)
    return {
        "class": type(model).__name__,
        "task": target.task,
        "objective": target.objective if target.task == "regression" else "",
        "quantiles": list(target.quantiles),
        "classes": [_plain(label) for label in target.labels],
        "units": target.units,
        "base_value": model.base_value_.tolist(),
        "network": model.network_.architecture.marginal,
        "preset": model.preset,
        "columns": columns,
        "monotonic_cst": _directions(model),
        "training": _phases(model.history_),
        "audit": certificate.to_dict() if certificate else None,
    }


def _directions(model: SASANetModel) -> dict[str, int]:
    """Return the direction of every column in which the model is monotone."""
    pairs = zip(model.encoder_.names, model.monotonic_cst_.tolist(), strict=True)
    return {name: direction for name, direction in pairs if direction}


def _plain(label: Any) -> Any:
    """Turn NumPy's scalars into what Python has."""
    return label.item() if hasattr(label, "item") else label


def _describe_column(column: Column) -> dict[str, Any]:
    from sasanet.explanation.wording import cell_text
    from sasanet.table.bags.parts import training_range

    found: dict[str, Any] = {"name": column.name, "kind": column.kind}
    if column.kind == "number":
        low, high = column.knots[0], column.knots[-1]
        return found | {"lowest": low, "highest": high, "mean": column.mean}
    if column.parts:
        ends = training_range(column) or ("", "")
        names = [part.name for part in column.parts]
        found |= {"parts": names, "lowest": cell_text(ends[0]), "highest": cell_text(ends[1])}
        return found | ({"zone": column.zone} if column.zone else {})
    return found | {"levels": list(column.levels)}


def _phases(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one summary per phase of training; each record counts from the phase's start."""
    phases = []
    for name in dict.fromkeys(record["phase"] for record in history):
        records = [record for record in history if record["phase"] == name]
        last = records[-1]
        loss = last.get("validation_loss", last["train_loss"])
        numbers = {"steps": last["steps"], "seconds": last["seconds"], "loss": loss}
        phases.append({"phase": name, "epochs": len(records), **numbers})
    return phases


def _values(column: dict[str, Any]) -> str:
    """Return the range of a number, or the levels of a category."""
    from sasanet.explanation.wording import cell_text

    if "parts" in column:
        if column["kind"] != "dates":
            return f"{len(column['parts'])} parts"
        zone = f" {column['zone']}" if "zone" in column else ""
        parts = ", ".join(column["parts"])
        return f"{column['lowest']} to {column['highest']}{zone}, by {parts}"
    if column["kind"] == "number":
        low, high = cell_text(column["lowest"]), cell_text(column["highest"])
        return f"{low} to {high}, mean {column['mean']:.4g}"
    levels = [str(level) for level in column["levels"]]
    more = f" · … ({len(levels)} levels)" if len(levels) > _MOST_LEVELS else ""
    return " · ".join(levels[:_MOST_LEVELS]) + more
