"""A certificate in, its text out: at most 100 columns, to be read without this file."""

from __future__ import annotations

import math
import textwrap

from sasanet.audit.certificate import SAME_AS_SELF_GAME, Audit, Finding, SizeCalibration
from sasanet.explanation.wording import measured

_WIDTH = 98
_SECTIONS = (  # the question, and how the names of its findings begin
    ("Do the attributions add up to the prediction?", "additivity"),
    ("Are they the Shapley values of the model's own output v(S) = f(x_S)?", "self-game"),
    ("Are they what the marginal module taught the Shapley module?", "distillation"),
    ("Does the order in which features are read change the output?", "order"),
    ("Does v(S) predict the labels, whatever features are known?", "value"),
)


def describe(audit: Audit) -> str:
    """Return the whole certificate as text."""
    lines = [*_head(audit), ""]
    lines.append(
        f"{'':<29}{'value':>10}   {'95 % interval':<22}{'noise':>9}{'orders':>8}{'seconds':>9}"
    )
    for question, start in _SECTIONS:
        found = [f for f in audit.findings if f.name.startswith(start)]
        if found:
            lines.append(question)
        for finding in found:
            if finding.note != SAME_AS_SELF_GAME or finding.name.endswith("RMSE"):
                lines += _line(finding)
    if audit.calibration:
        lines += _calibration(audit)
    return "\n".join([*lines, "", *_legend(), "", *_closing(audit)])


def _head(audit: Audit) -> list[str]:
    features = f", {audit.n_features:,} features" if audit.n_features else ""
    network = f" with the {audit.network} network" if audit.network else ""
    lines = [f"Audit of a {audit.model or 'model'}{network}{features}"]
    if audit.weights:
        lines.append(f"  weights  {audit.weights[:16]}… (SHA-256)")
    labelled = f"; calibration {audit.calibration[0].n_rows:,} rows" if audit.calibration else ""
    lines.append(f"  rows     {audit.n_rows:,}{labelled}")
    units = f", in {_units(audit)}" if audit.units else ""
    lines += _wrap(f"  truth    {_how(audit)}{units}", 11)
    return [*lines, f"  time     {audit.seconds:.1f} s"]


def _how(audit: Audit) -> str:
    orders = f"{audit.n_orders:,} random orders a row (half are the reverse of the others)"
    if not audit.n_orders:
        return "exact enumeration of all coalitions of a row's present features"
    if not audit.n_exact:
        return orders
    return (
        f"exact enumeration for the {audit.n_exact:,} rows with few present features, {orders} "
        f"for the other {audit.n_rows - audit.n_exact:,}"
    )


def _line(f: Finding) -> list[str]:
    spread = f"[{_number(f.low)}, {_number(f.high)}]"
    orders = f"{f.n_orders:,}" if f.n_orders else "–"
    line = f"  {f.name:<27}{_number(f.value):>10}   {spread:<22}{_number(f.noise):>9}"
    line += f"{orders:>8}{f.seconds:>9.1f}"
    return [line, *(_wrap(f"      {f.note}", 6) if f.note else [])]


def _calibration(audit: Audit) -> list[str]:
    loss = "squared error" if audit.task == "regression" else "cross-entropy"
    heads = (f"{loss} of v(S)", "gain over the base value", "calibration error", "noise")
    return [_columns("known", *heads), *(_size_line(size) for size in audit.calibration)]


def _size_line(c: SizeCalibration) -> str:
    loss = _with_interval(c.loss, c.loss_low, c.loss_high)
    gain = _with_interval(c.gain, c.gain_low, c.gain_high)
    error = _with_interval(c.error, c.error_low, c.error_high)
    return _columns(str(c.features), loss, gain, error, _number(c.noise))


def _columns(known: str, loss: str, gain: str, error: str, noise: str) -> str:
    return f" {known:>5}  {loss:<27}{gain:<27}{error:<30}{noise:>8}"  # errors may be tiny


def _with_interval(value: float, low: float, high: float) -> str:
    return f"{_number(value)} [{_number(low)}, {_number(high)}]"


def _legend() -> list[str]:
    return _wrap(
        "Intervals are over rows. Noise is what the truth's own sampling error amounts to: it is "
        "taken out of RMSE and R², and still inside agreements and calibration errors.",
        0,
    )


def _closing(audit: Audit) -> list[str]:
    """Say the main result in one sentence."""
    if "self-game RMSE" not in audit or math.isnan(audit["self-game RMSE"].value):
        return ["Nothing was compared with Shapley values."]
    rmse = audit["self-game RMSE"]
    text = (
        "Attributions differ from the Shapley values of the model's own output by "
        f"{_number(rmse.value)} {_units(audit)} (root mean square; 95 %: {_number(rmse.low)} to "
        f"{_number(rmse.high)})"
    )
    if "self-game RMSE share" in audit:
        text += f", {100 * audit['self-game RMSE share'].value:.2g} % of a row's largest"
    return _wrap(f"{text}.", 0)


def _units(audit: Audit) -> str:
    return "units of the target" if audit.units == "target" else audit.units or "units"


def _wrap(text: str, indent: int) -> list[str]:
    return textwrap.wrap(text, _WIDTH, subsequent_indent=" " * indent, break_on_hyphens=False)


def _number(value: float) -> str:
    return measured(value, exponent_from=1e6)  # the columns are narrow
