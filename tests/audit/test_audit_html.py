"""What a notebook shows of an audit: true numbers, bounded, and nothing that runs."""

import math
from dataclasses import replace

import numpy as np
import pytest

from parsed_html import Parsed, is_harmless
from sasanet.audit import Audit, Bin, Finding, SizeCalibration
from sasanet.audit.certificate import SAME_AS_SELF_GAME
from sasanet.explanation import notebook
from sasanet.explanation.wording import measured, wide_minus

POISON = "<script>alert(1)</script>\"'></table>"
SELF_GAME = (
    Finding("self-game RMSE", 0.0213, 0.018, 0.0251, noise=0.007, n_orders=400),
    Finding("self-game RMSE share", 0.0123, 0.01, 0.015, noise=0.004, n_orders=400),
    Finding("self-game R²", 0.99871, 0.997, 0.9992, noise=0.001, n_orders=400),
    Finding("self-game rank agreement", 0.97, 0.95, 0.98, noise=0.01, n_orders=400),
    Finding("self-game top-3 overlap", math.nan, math.nan, math.nan),
)


def size(features, loss):
    numbers = dict.fromkeys(("slope", "slope_low", "slope_high"), 1.0)
    numbers |= {"gain": 0.693 - loss, "gain_low": 0.01, "gain_high": 0.6}
    numbers |= {"error": 0.031, "error_low": 0.02, "error_high": 0.044, "noise": 0.0287}
    numbers["noise_high"] = 0.0371
    numbers |= {"loss": loss, "loss_low": loss / 2, "loss_high": loss + 0.1, "base_loss": 0.693}
    return SizeCalibration(features, 500, bins=(Bin(0.5, 0.5, 0.4, 0.6, 50),), **numbers)


@pytest.fixture
def certificate():
    copies = [
        replace(f, name=f.name.replace("self-game", "distillation"), note=SAME_AS_SELF_GAME)
        for f in SELF_GAME
    ]
    others = (
        Finding("additivity gap", 8.9e-16, 8.9e-16, 8.9e-16),
        Finding("order gap", -1e-8, -2e-8, 5e-8, n_orders=16, note="a note"),
        Finding("value calibration error", 0.0855, 0.0331, 0.138, noise=0.0129, noise_high=0.0214),
    )
    sizes = (size(0, 0.693), size(3, 0.41), size(7, 0.018))
    facts = {"units": "log-odds", "model": "SASANetClassifier", "network": "set", "n_features": 7}
    findings = (*others, *SELF_GAME, *copies)
    return Audit(findings, sizes, 64, 400, 1.5, task="binary", weights="ab" * 32, **facts)


def shown(number):
    return wide_minus(measured(number))


def test_every_finding_stands_there_with_value_interval_noise_and_meaning(certificate):
    lines = {line[0]: line[1:] for line in Parsed(certificate._repr_html_()).lines}
    for finding in certificate.findings:
        repeated = finding.note == SAME_AS_SELF_GAME and finding.name != "distillation RMSE"
        found = [name for name in lines if name.startswith(f"{finding.name} ")]
        found = [name for name in found if not name.startswith(f"{finding.name} share")]
        assert len(found) == (0 if repeated else 1)
        if repeated:
            continue
        value, interval, noise = lines[found[0]]
        assert value == shown(finding.value)
        if not math.isnan(finding.value):
            assert interval == f"{shown(finding.low)} to {shown(finding.high)}"
        assert noise == (shown(finding.noise) if finding.noise else "–")
        assert len(found[0]) > len(finding.name) + 20  # it says what it means
    assert "undefined" in Parsed(certificate._repr_html_()).text


def test_calibration_is_shown_by_size(certificate):
    lines = Parsed(certificate._repr_html_()).lines
    for c in certificate.calibration:
        (line,) = (line for line in lines if len(line) == 7 and line[0] == str(c.features))
        assert line[1] == f"{shown(c.loss)} {shown(c.loss_low)} to {shown(c.loss_high)}"
        assert line[3] == f"{shown(c.gain)} {shown(c.gain_low)} to {shown(c.gain_high)}"
        assert line[4] == f"{shown(c.error)} {shown(c.error_low)} to {shown(c.error_high)}"
        assert line[5] == shown(c.noise)
        assert line[6] == shown(c.noise_high)
    bars = [given["style"] for _, given in Parsed(certificate._repr_html_()).elements
            if given.get("class") == "sasanet-even"]  # fmt: skip
    widths = [float(style.rpartition(":")[2].removesuffix("%")) for style in bars]
    np.testing.assert_allclose(widths, [100, 100 * 0.41 / 0.693, 100 * 0.018 / 0.693], atol=0.0051)


def test_the_conclusion_and_the_facts_stand_first(certificate):
    text = Parsed(certificate._repr_html_()).text
    assert text.startswith("Audit of a SASANetClassifier with the set network, 7 features")
    assert "by 0.0213 log-odds (root mean square; 95 %: 0.018 to 0.0251), 1.2 %" in text
    for part in ("rows 64; calibration 500 rows", "abababab", "400 random orders", "1.5 s"):
        assert part in text


def test_the_verdict_on_calibration_stands_there(certificate):
    text = Parsed(certificate._repr_html_()).text
    assert "v(S) is not calibrated: its error over all sizes (0.0855) is above what chance" in text
    assert "19 times out of 20 (0.0214)." in text


def test_an_audit_without_labels_or_findings_is_shown(certificate):
    bare = replace(certificate, findings=(), calibration=(), units="", weights="")
    assert is_harmless(bare._repr_html_())
    assert "Nothing was compared" in Parsed(bare._repr_html_()).text


def test_it_is_well_formed_and_needs_nothing_from_elsewhere(certificate):
    assert is_harmless(certificate._repr_html_())


def poisoned(certificate):
    """Return an audit as an edited file might hold it."""
    bad = Finding(f"self-game {POISON}", 1.0, 1.0, 1.0, note=POISON)
    words = dict.fromkeys(("units", "model", "network", "weights"), POISON)
    return replace(certificate, findings=(*certificate.findings, bad), **words)


def test_whatever_a_file_says_is_escaped(certificate):
    assert is_harmless(poisoned(certificate)._repr_html_())
    assert "<script>" in Parsed(poisoned(certificate)._repr_html_()).text


def test_the_check_of_escaping_notices_a_page_that_does_not(certificate, monkeypatch):
    monkeypatch.setattr(notebook, "escape", notebook.Html)
    with pytest.raises(AssertionError):
        assert is_harmless(poisoned(certificate)._repr_html_())


def test_it_is_bounded_whatever_a_file_holds(certificate):
    many = tuple(Finding(f"self-game {i}", 1.0, 1.0, 1.0, note="x" * 9999) for i in range(999))
    big = replace(certificate, findings=many, calibration=certificate.calibration * 99)
    assert len(big._repr_html_()) < 60_000
    big = replace(big, model="x" * 9999, units="y" * 9999, network="z" * 9999)
    assert len(big._repr_html_()) < 60_000
