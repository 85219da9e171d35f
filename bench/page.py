"""Result files in, docs/measured/benchmarks.md out: every figure on the page comes from a file."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Run = dict[str, Any]  # one system on one table: bench/accuracy/measure.py
PAGE = Path(__file__).parent.parent / "docs" / "measured" / "benchmarks.md"


def write_page(results: Path) -> None:
    """Write the page from what has been measured so far."""
    paths = [*sorted(results.glob("*.json")), *sorted((results.parent / "stream").glob("*.json"))]
    found = {path.stem: json.loads(path.read_text()) for path in paths}
    makers = [_census, _modules, _promises, _scaling, _stream]
    sections = [_head(), *(make(found) for make in makers)]
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text("\n".join(part for part in sections if part), encoding="utf-8")


def _head() -> str:
    return (
        "# Time, memory and invariants\n\n"
        "Seconds and memory of fitting and explaining, and what must hold exactly. Written by "
        "`make bench-core` from `bench/results/core/*.json`, its last part by `make bench-stream` "
        "from `bench/results/stream/*.json`; two CPU cores, no GPU. "
        "Spreads are standard deviations over seeds; ratios compare fits of one run. "
        "See also [accuracy](accuracy.md) and [faithfulness](faithful.md).\n"
    )


def spread(values: list[float], digits: int = 4) -> str:
    """Return mean ± standard deviation."""
    extra = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{mean(values):.{digits}f}{extra}"


def paired_interval(gaps: NDArray[np.float64], test_share: float) -> tuple[float, float]:
    """Return the mean of paired differences over splits and half its 95 % interval.

    Splits of one table share training rows, so the interval is Nadeau and Bengio's: the variance of
    the mean is (1/n + test/train) times that of the differences. One split: no interval, NaN.
    """
    if len(gaps) < 2:
        return float(gaps.mean()), float("nan")
    error = np.sqrt((1 / len(gaps) + test_share) * gaps.var(ddof=1))
    return float(gaps.mean()), float(stats.t.ppf(0.975, len(gaps) - 1) * error)


def paired_difference(one: Run, other: Run, key: str) -> tuple[float, float]:
    """Return how much higher one system's measure is, on the splits both have, and half its 95 %.

    On an official split the splits are seeds and share their test rows; there the interval adds
    what the seeds change to what other test rows would, which resampling them for some of the seeds
    tells.
    """
    pairs = list(zip(one["splits"], other["splits"], strict=False))
    gaps = np.array([a[key] - b[key] for a, b in pairs])
    centre, half = paired_interval(gaps, one["test_share"])
    redrawn = [(a.get("resampled", {}), b.get("resampled", {})) for a, b in pairs]
    drawn = [np.subtract(a[key], b[key]) for a, b in redrawn if key in a and key in b]
    if len(gaps) < 2 or not drawn:
        return centre, half
    seeds = paired_interval(gaps, test_share=0)[1]
    return centre, float(np.hypot(seeds, stats.norm.ppf(0.975) * np.mean(drawn, 0).std(ddof=1)))


def with_interval(centre: float, half: float) -> str:
    """Return a difference with its interval; alone where there is none (NaN)."""
    if np.isnan(half):
        return f"{centre:+.4f}"
    return f"{centre:+.4f} [{centre - half:+.4f}, {centre + half:+.4f}]"


def table(header: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [" | ".join(header), " | ".join("---" for _ in header)]
    return "\n".join(f"| {line} |" for line in lines + [" | ".join(row) for row in rows]) + "\n"


def _census(found: dict[str, Any]) -> str:
    runs = [found[key] for key in found if key.startswith("census-")]
    if not runs:
        return ""

    def over(key: str, digits: int = 4) -> str:
        return spread([run[key] for run in runs], digits)

    audits = [{f["name"]: f for f in run["audit"]["findings"]} for run in runs]
    r2 = [audit["self-game R²"]["value"] for audit in audits]
    rmse = [audit["self-game RMSE"]["value"] for audit in audits]
    rows = [
        [
            "fit, seconds",
            over("fit_seconds", 1),
            over("lightgbm_fit_seconds", 1),
            f"{over('fit_ratio', 1)} times as long",
        ],
        [
            "explain, rows per second",
            over("explain_rate", 0),
            over("lightgbm_explain_rate", 0),
            f"{over('explain_ratio', 1)} times as many",
        ],
        ["peak memory, GiB", f"{max(run['peak_gib'] for run in runs):.2f}", "", "both models"],
        ["self-game R²", spread(r2, 5), "", "256 rows, 1,000 orders each"],
        ["self-game RMSE, log-odds", spread(rmse), "", ""],
    ]
    return (
        f"\n## Census income, official split, {len(runs)} seed{'s' if len(runs) > 1 else ''}\n\n"
        + table(["", "SASANet, defaults", "LightGBM, tuned", ""], rows)
        + f"\nLightGBM with the settings that its search for [accuracy](accuracy.md) chose, "
        f"`{runs[0]['lightgbm_settings']}`, {runs[0]['trees']} trees; its explanations are "
        "`pred_contrib`.\n"
    )


def _modules(found: dict[str, Any]) -> str:
    rows = []
    for name, what in (
        ("closed_form", "set value network, Shapley values by formula (default)"),
        ("context", "set value network, context Shapley module"),
        ("attention", "set value network, attention Shapley module"),
        ("sequence", "the paper's sequence and attention modules"),
    ):
        if run := found.get(f"module-{name}"):
            fields = ["ap", "auc", "self_game_r2", "order_gap"]
            rows.append([what, *(f"{run[f]:.4f}" for f in fields), f"{run['explain_rate']:,.0f}"])
    if not rows:
        return ""
    header = ["modules", "AP", "AUC", "self-game R²", "order gap", "explained rows per second"]
    older = "" if "module-closed_form" in found else " Measured before formula and soft labels."
    return (
        "\n## Modules in equal time\n\nCensus income, 45 seconds of training each (30 for the "
        "value network, 15 for the Shapley module), one seed."
        + older
        + "\n\n"
        + table(header, rows)
    )


def _promises(found: dict[str, Any]) -> str:
    rows = []
    for key, run in found.items():
        if key.startswith("promises-"):
            name = key.removeprefix("promises-").replace("-", " ")
            gaps = [f"{gap:.1e}" for gap in run["additivity"]["largest_gap"].values()]
            changes = [f"{change:.1e}" for change in run["invariance"].values()]
            count = f"{run['additivity']['rows']:,}"
            rows.append([name, count, *gaps, *changes, f"{run['self_game_r2']:.4f}"])
    if not rows:
        return ""
    header = ["table", "rows", "gap, as given", "gap, 30 % of the cells removed"]
    header += ["rows permuted", "columns permuted", "a row alone", "self-game R²"]
    return (
        "\n## What must hold on every table\n\nThe gap is the largest |φ0 + Σφ − raw prediction| "
        "/ max(1, |raw prediction|) over up to 50,000 rows. The next three are the largest "
        "changes of an attribution where nothing may change (raw scale). "
        "Self-game R²: up to 64 test rows, 1,000 orders.\n\n" + table(header, rows)
    )


def _scaling(found: dict[str, Any]) -> str:
    runs = {int(key.split("-")[1]): found[key] for key in found if key.startswith("scaling-")}
    text = ""
    if runs:
        fields = ["value_us_per_row", "explain_us_per_row"]
        rows = [
            [str(n), *(f"{runs[n][field]:.0f}" for field in fields), f"{runs[n]['peak_gib']:.2f}"]
            for n in sorted(runs)
        ]
        header = [
            "features",
            "fit, µs per row and epoch",
            "explain, µs per row",
            "peak memory, GiB",
        ]
        text += "\n## Cost as features grow\n\n" + table(header, rows)
    if "explain-million" in found:
        run = found["explain-million"]
        text += (
            f"\nExplaining {run['rows']:,} census rows at once: {run['explain_rate']:,.0f} rows "
            f"per second; the process had peaked at {run['peak_gib_before']:.2f} GiB with the "
            f"table read and the model fitted, and at {run['peak_gib']:.2f} GiB afterwards, of "
            f"which the returned attributions are {run['rows'] * 40 * 8 / 2**30:.2f} GiB.\n"
        )
    return text


def _stream(found: dict[str, Any]) -> str:
    """Say how fast and in how much memory the command line explains a long file."""
    text = ""
    for ending in ("csv", "parquet"):
        if run := found.get(f"explain-{ending}"):
            text += (
                f"- `sasanet explain` of a CSV file of {run['rows']:,} rows and "
                f"{run['features']} features ({run['table_gib']:.2f} GiB) to `.{ending}` "
                f"({run['out_gib']:.2f} GiB): {run['rows_per_second']:,.0f} rows per second "
                "including start-up and reading, in at most "
                f"{run['explain_peak_gib']:.2f} GiB of memory\n"
            )
    if run := found.get("report-census"):
        text += (
            f"- `sasanet report` on {run['rows']:,} rows: {run['seconds']:.0f} s including "
            f"start-up, a page of {run['page_mib']:.1f} MiB, which Chromium opens in "
            f"{spread(run['open_seconds'], 2)} s (three times)\n"
        )
    return f"\n## From the shell\n\nCensus income.\n\n{text}" if text else ""
