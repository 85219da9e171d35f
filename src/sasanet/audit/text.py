"""The words of a certificate: its title, facts, questions and conclusion, and all of it as text.

The text has at most 100 columns. A notebook shows the same words (:mod:`sasanet.audit.html`).
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator

from sasanet.audit.certificate import SAME_AS_SELF_GAME, Audit, Finding, SizeCalibration
from sasanet.explanation.wording import measured

LEGEND = (
    "Intervals are over rows. Noise is what the sampling error of the truth alone would cause: it "
    "is subtracted from RMSE and R², but still part of agreements and calibration errors, which "
    "chance alone makes as large as noise on average, and larger than the second number once in 20."
)
_WIDTH = 98
_MOST_SIZES = 9  # lines of calibration: the data has all
_QUESTIONS = (  # and how the names of the findings that answer them begin
    ("Do the attributions add up to the prediction?", "additivity"),
    ("Are they the Shapley values of the model's own output v(S) = f(x_S)?", "self-game"),
    ("Are they the mean marginal contributions the Shapley module learned from?", "distillation"),
    ("Are the interactions those of pairs in that game?", "interactions"),
    ("Does the order in which features are read change the output?", "order"),
    ("Does v(S) predict the labels, whatever features are known?", "value"),
)


def describe(audit: Audit) -> str:
    """Return the whole certificate as text."""
    lines = [title(audit)]
    for label, words in facts(audit):
        lines += _wrap(f"  {label:<9}{words}", 11)
    lines += [
        "",
        f"{'':<29}{'value':>10}   {'95 % interval':<22}{'noise':>9}{'orders':>8}{'seconds':>9}",
    ]
    for question, findings in sections(audit):
        lines.append(question)
        for finding in findings:
            lines += _line(finding)
    if audit.calibration:
        lines += _calibration(audit)
    ends = [LEGEND, conclusion(audit), *calibration_verdict(audit)]
    return "\n".join([*lines, *(line for end in ends for line in ("", *_wrap(end, 0)))])


def title(audit: Audit) -> str:
    """Return what was audited."""
    features = f", {audit.n_features:,} features" if audit.n_features else ""
    network = f" with the {audit.network} network" if audit.network else ""
    return f"Audit of a {audit.model or 'model'}{network}{features}"


def facts(audit: Audit) -> list[tuple[str, str]]:
    """Return how it was audited, as pairs of a label and a description."""
    labelled = f"; calibration {audit.calibration[0].n_rows:,} rows" if audit.calibration else ""
    units = f", in {units_of(audit)}" if audit.units else ""
    weights = [("weights", f"{audit.weights[:16]}… (SHA-256)")] if audit.weights else []
    learned = [("method", "the learned Shapley module")] if audit.method else []
    return [
        *weights,
        *learned,
        ("rows", f"{audit.n_rows:,}{labelled}"),
        ("truth", f"{_how(audit)}{units}"),
        ("time", f"{audit.seconds:.1f} s"),
    ]


def sections(audit: Audit) -> Iterator[tuple[str, list[Finding]]]:
    """Yield every question with the findings that answer it; what repeats others stands once."""
    for question, start in _QUESTIONS:
        found = [
            finding
            for finding in audit.findings
            if finding.name.startswith(start)
            and (finding.note != SAME_AS_SELF_GAME or finding.name.endswith("RMSE"))
        ]
        if found:
            yield question, found


def conclusion(audit: Audit) -> str:
    """Return the main result in one sentence."""
    if "self-game RMSE" not in audit or math.isnan(audit["self-game RMSE"].value):
        return "Nothing was compared with Shapley values."
    rmse = audit["self-game RMSE"]
    text = (
        "Attributions differ from the Shapley values of the model's own output by "
        f"{_number(rmse.value)} {units_of(audit)} (root mean square; 95 %: {_number(rmse.low)} to "
        f"{_number(rmse.high)})"
    )
    if "self-game RMSE share" in audit:
        text += (
            f", {100 * audit['self-game RMSE share'].value:.2g} % of a row's largest attribution"
        )
    return f"{text}."


def calibration_verdict(audit: Audit) -> list[str]:
    """Return whether v(S) is calibrated as far as the labels can tell: a sentence, or none."""
    name = "value calibration error"
    if name not in audit or not audit[name].noise_high or not audit.calibration:
        return []
    found, n_rows = audit[name], audit.calibration[0].n_rows
    limit = f"what chance alone stays below 19 times out of 20 ({_number(found.noise_high)})"
    if found.value <= found.noise_high:
        text = (
            f"v(S) is calibrated as far as {n_rows:,} labels can tell: its error over all sizes "
            f"({_number(found.value)}) is not above {limit}."
        )
    else:
        text = (
            f"v(S) is not calibrated: its error over all sizes ({_number(found.value)}) is above "
            f"{limit}."
        )
    sizes = [str(size.features) for size in audit.calibration if size.is_beyond_chance]
    beyond = f" Beyond chance with {', '.join(sizes)} features known." if sizes else ""
    return [text + beyond]


def shown_sizes(audit: Audit, most: int) -> list[SizeCalibration]:
    """Return the calibration of at most so many sizes, evenly spaced from none to all features."""
    sizes = audit.calibration
    if len(sizes) <= most:
        return list(sizes)
    return [sizes[round(i * (len(sizes) - 1) / (most - 1))] for i in range(most)]


def loss_name(audit: Audit) -> str:
    """Return what the calibration calls the loss."""
    return "squared error" if audit.task == "regression" else "cross-entropy"


def units_of(audit: Audit) -> str:
    """Return the units of an attribution, to stand after a number."""
    return "units of the target" if audit.units == "target" else audit.units or "units"


def _how(audit: Audit) -> str:
    orders = f"{audit.n_orders:,} random orders per row (half are the reverse of the others)"
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
    heads = (loss_name(audit), "gain over the base value", "calibration error", "noise", "to")
    return [_columns("known", *heads), *(_size_line(c) for c in shown_sizes(audit, _MOST_SIZES))]


def _size_line(c: SizeCalibration) -> str:
    gain = _with_interval(c.gain, c.gain_low, c.gain_high)
    error = _with_interval(c.error, c.error_low, c.error_high)
    noise = _number(c.noise), _number(c.noise_high)
    return _columns(str(c.features), _number(c.loss), gain, error, *noise)


def _columns(known: str, loss: str, gain: str, error: str, noise: str, to: str) -> str:
    return f" {known:>5}  {loss:<15}{gain:<28}{error:<30}{noise:>8}{to:>10}"  # errors may be tiny


def _with_interval(value: float, low: float, high: float) -> str:
    return f"{_number(value)} [{_number(low)}, {_number(high)}]"


def _wrap(text: str, indent: int) -> list[str]:
    return textwrap.wrap(text, _WIDTH, subsequent_indent=" " * indent, break_on_hyphens=False)


def _number(value: float) -> str:
    return measured(value, exponent_from=1e6)  # the columns are narrow
