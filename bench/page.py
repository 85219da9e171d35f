"""Result files in, docs/benchmarks.md out: every figure on the page comes from a file."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean, stdev
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def write_page(results: Path) -> None:
    """Write the page from what has been measured so far."""
    found = {path.stem: json.loads(path.read_text()) for path in sorted(results.glob("*.json"))}
    makers = [_census, _default, _modules, _additivity, _scaling]
    sections = [_head(), _of_which_module(found), *(make(found) for make in makers)]
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text("\n".join(part for part in sections if part), encoding="utf-8")


def _head() -> str:
    return (
        "# Benchmarks of the model\n\n"
        "Written by `make bench-core` from `bench/results/core/*.json`; two CPU cores, no GPU. "
        "Spreads are standard deviations over seeds or splits; ratios compare fits of one run.\n"
    )


def _of_which_module(found: dict[str, Any]) -> str:
    """Say which figures are older than the formula that is now the default."""
    older = [
        key
        for key, run in found.items()
        if "attribution" not in run and not key.startswith(("module-", "census-tuning"))
    ]
    if not older:
        return ""
    return (
        '**Measured with the distilled Shapley module** (`attribution="context"`), before the '
        "formula became the default, in their times, explanation rates and self-game R²; "
        "and before the teacher in their prediction quality: " + ", ".join(sorted(older)) + ". "
        "[accuracy.md](accuracy.md) has today's quality, "
        "[faithful.md](faithful.md) has the formula's fidelity.\n"
    )


def spread(values: list[float], digits: int = 4) -> str:
    """Return mean ± standard deviation."""
    extra = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{mean(values):.{digits}f}{extra}"


def table(header: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [" | ".join(header), " | ".join("---" for _ in header)]
    return "\n".join(f"| {line} |" for line in lines + [" | ".join(row) for row in rows]) + "\n"


def _census(found: dict[str, Any]) -> str:
    runs = [found[key] for key in found if key.startswith("census-") and key != "census-tuning"]
    if not runs:
        return ""

    def over(key: str, digits: int = 4) -> str:
        return spread([run[key] for run in runs], digits)

    audits = [{f["name"]: f for f in run["audit"]["findings"]} for run in runs]
    r2 = [audit["self-game R²"]["value"] for audit in audits]
    rmse = [audit["self-game RMSE"]["value"] for audit in audits]
    rows = [
        ["average precision", over("ap"), over("lightgbm_ap"), ""],
        ["AUC", over("auc"), over("lightgbm_auc"), ""],
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
    chosen = found["census-tuning"]["chosen"]
    return (
        f"\n## Census income, official split, {len(runs)} seeds\n\n"
        + table(["", "SASANet, defaults", "LightGBM, tuned", ""], rows)
        + f"\nLightGBM: best of {len(found['census-tuning']['tried'])} settings by average "
        f"precision on a tenth of the training rows, stopped early on it: `{chosen}`, "
        f"{runs[0]['trees']} trees; its explanations are `pred_contrib`.\n"
    )


def _default(found: dict[str, Any]) -> str:
    rows = []
    for key, run in found.items():
        if key.startswith("default-"):
            gap = [a - b for a, b in zip(run["ours"], run["lightgbm"], strict=True)]
            rows.append(
                [
                    key.removeprefix("default-").replace("-", " "),
                    run["metric"],
                    spread(run["ours"]),
                    spread(run["lightgbm"]),
                    f"{mean(gap):+.4f} ± {stdev(gap):.4f}",
                    f"{mean(run['fit_seconds']):.1f}",
                    spread(run["self_game_r2"]),
                    run.get("attribution", "context (distilled)"),
                ]
            )
    if not rows:
        return ""
    header = ["table", "metric", "SASANet", "LightGBM", "difference", "fit, s", "self-game R²"]
    header.append("attributions")
    return "\n## Default settings, five splits each\n\n" + table(header, rows)


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
    return (
        "\n## Modules in equal time\n\nCensus income, 45 seconds of training each (30 for the "
        "value network, 15 for the Shapley module), one seed.\n\n" + table(header, rows)
    )


def _additivity(found: dict[str, Any]) -> str:
    rows = []
    for key, run in found.items():
        if run.get("additivity"):
            gaps = run["additivity"]["largest_gap"].values()
            name = (
                key.removeprefix("default-").replace("-", " ").replace("census 0", "census income")
            )
            rows.append([name, f"{run['additivity']['rows']:,}", *(f"{gap:.1e}" for gap in gaps)])
    text = ""
    if rows:
        header = ["table", "rows", "as given", "30 % of the cells removed"]
        text += (
            "\n## Additivity\n\nLargest |φ0 + Σφ − raw prediction| / max(1, |raw prediction|) "
            "over every row of every table.\n\n" + table(header, rows)
        )
    if "census-0" in found:
        changes = found["census-0"]["invariance"]
        rows = [[name, f"{change:.1e}"] for name, change in changes.items()]
        text += "\nLargest change of an attribution (log-odds) where nothing may change:\n\n"
        text += table(["", "change"], rows)
    return text


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
            "fit, µs a row and epoch",
            "explain, µs a row",
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
