"""A certificate as a notebook shows it: the conclusion first, then every finding explained."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from sasanet.audit.certificate import SAME_AS_SELF_GAME, Audit, Finding, SizeCalibration
from sasanet.audit.text import (
    LEGEND,
    calibration_verdict,
    conclusion,
    facts,
    loss_name,
    sections,
    shown_sizes,
    title,
    units_of,
)
from sasanet.explanation.notebook import MOST_CHARACTERS, Html, element, framed
from sasanet.explanation.wording import measured, shorten, wide_minus

if TYPE_CHECKING:
    from sasanet.estimator.certified import CertifiedModel

_MOST_LINES = 24  # of each table: a file may hold any number
_MEANINGS = {  # of the findings, by how their names end
    "additivity gap": "largest difference between base value + attributions and the prediction",
    "RMSE": "typical error of one attribution, in {units}",
    "RMSE share": "that error divided by a row's largest attribution",
    "R²": "how much of the variation of the true values the attributions share; 1 is all of it",
    "rank agreement": "whether the features of a row rank alike; 1 is the same order",
    "top-3 overlap": "how many of a row's three strongest features are the right ones",
    "order gap": "spread of the output over orders of the same features; 0: order is irrelevant",
    "value calibration error": "mean difference between what v(S) predicts and what is observed",
}


def audit_html(audit: Audit) -> str:
    """Return a certificate as HTML without a script."""
    how = " · ".join(f"{label} {words}" for label, words in facts(audit))
    return framed(
        element("div", shorten(title(audit), MOST_CHARACTERS), css="title"),
        element("p", _conclusion(audit), css="line"),
        *(element("p", words, css="line") for words in calibration_verdict(audit)),
        element("p", shorten(how, 2 * MOST_CHARACTERS), css="line muted"),
        element("div", _findings(audit), css="scroll"),
        *([element("div", _calibration(audit), css="scroll")] if audit.calibration else []),
        element("p", LEGEND, css="line muted"),
    )


def model_note(model: CertifiedModel) -> str:
    """Return the line under a model's diagram: what its audit found, or how to get one."""
    audit: Audit | None = getattr(model, "audit_", None)
    if audit is None:
        start, words, call = (
            "Not audited.",
            " After fit, measure its faithfulness with ",
            "audit(X, y)",
        )
    else:
        start, call = "Audited", "audit_"
        words = f" on {audit.n_rows:,} rows. {_conclusion(audit)} The certificate is "
    parts = (element("b", start), words, element("code", f"model.{call}"), ".")
    return framed(element("p", *parts, css="line"))


def _conclusion(audit: Audit) -> str:
    """Return the main result; numbers are not broken at the sign of their exponent."""
    text = re.sub(r"(?<=\de)-(?=\d)", wide_minus("-"), conclusion(audit))
    return shorten(text, 2 * MOST_CHARACTERS)


def _findings(audit: Audit) -> Html:
    lines = []
    for number, (question, found) in enumerate(sections(audit)):
        heads = ("value", "95 % interval", "noise") if number == 0 else ("", "", "")
        cells = [element("th", head, css="number") for head in heads]
        lines.append(element("tr", element("th", question, css="name"), *cells, css="head"))
        lines += [_line(finding, audit) for finding in found[:_MOST_LINES]]
    return element("table", *lines, css="table findings")


def _line(finding: Finding, audit: Audit) -> Html:
    name = element("b", shorten(finding.name, MOST_CHARACTERS))
    meaning = element("span", f" {_meaning(finding, audit)}", css="muted")
    note = shorten(finding.note, MOST_CHARACTERS)
    spread = "–" if math.isnan(finding.low) else _interval(finding.low, finding.high)
    return element(
        "tr",
        element("td", name, meaning, css="name", title=note),
        element("td", _number(finding.value), css="number"),
        element("td", spread, css="number muted"),
        element("td", _number(finding.noise) if finding.noise else "–", css="number muted"),
    )


def _meaning(finding: Finding, audit: Audit) -> str:
    """Return one line on what a finding says; of a finding without one, its note."""
    if finding.note == SAME_AS_SELF_GAME:
        return finding.note
    kind = finding.name.removeprefix("self-game ").removeprefix("distillation ")
    text = _MEANINGS.get(kind, finding.note).replace("{units}", units_of(audit))
    return shorten(text, MOST_CHARACTERS)


def _calibration(audit: Audit) -> Html:
    loss = f"{loss_name(audit)} of v(S)"
    heads = ("known", loss, "", "gain over the base value", "calibration error", "noise", "to")
    cells = [element("th", head, css="number") for head in heads]
    sizes = shown_sizes(audit, _MOST_LINES)
    lines = [element("tr", *cells, css="head"), *map(_size_line, sizes)]
    return element("table", *lines, css="table")


def _size_line(c: SizeCalibration) -> Html:
    share = c.loss / c.base_loss if c.base_loss > 0 else math.nan
    width = 100 * min(1.0, share) if math.isfinite(share) else 0.0
    inside = element("span", css="even", style=f"left:0;width:{width:.2f}%")
    bar = element("span", inside, css="bar", title="loss beside that of the base value")
    return element(
        "tr",
        element("td", f"{c.features:,}", css="number"),
        element("td", *_with_interval(c.loss, c.loss_low, c.loss_high), css="number"),
        element("td", bar),
        element("td", *_with_interval(c.gain, c.gain_low, c.gain_high), css="number"),
        element("td", *_with_interval(c.error, c.error_low, c.error_high), css="number"),
        element("td", _number(c.noise), css="number muted"),
        element("td", _number(c.noise_high), css="number muted"),
    )


def _with_interval(value: float, low: float, high: float) -> tuple[Html, Html]:
    return _number(value), element("span", f" {_interval(low, high)}", css="muted")


def _interval(low: float, high: float) -> str:
    return wide_minus(f"{measured(low)} to {measured(high)}")


def _number(value: float) -> Html:
    """Return a number in a few digits, with all of them in the tooltip."""
    return element("span", wide_minus(measured(value)), title=repr(value))
