"""Result files in, docs/measured/accuracy.md out: every figure on the page comes from a file."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean
from typing import Any

from bench.accuracy.measure import TEACHERS
from bench.page import paired_difference, spread, table, with_interval

PAGE = Path(__file__).parents[2] / "docs" / "measured" / "accuracy.md"
TITLES = {"auc": "AUC", "r2": "R²"}
OURS = ("sasanet", "sasanet best")
SHORT = {"sasanet": "default", "sasanet best": "best"}
Found = dict[str, dict[str, Any]]  # table → system → result

_HEAD = """# Accuracy

SASANet's two presets beside tuned LightGBM, XGBoost, CatBoost, EBM, a linear model, an MLP, TabM
and RealMLP, as far as measured. Written by `make bench-accuracy` from
`bench/results/accuracy/*.json` and, for the times, `bench/results/fit_time/*.json`; two CPU cores,
no GPU, the same splits for all. Mean ± standard deviation over splits (census, coil2000 and bike
sharing by time, whose last six months are the test part: over seeds on the only split).

SASANet runs with its presets as they are, and RealMLP with its authors' tuned defaults. The search
of every other model may try twelve settings (`bench/accuracy/rivals`), evaluated on held-out rows
of the first split's training part. While a setting is evaluated, EBM has 2 bags instead of 14
(instead of 8 from 5,000 rows on), MLP at most 20 epochs instead of 200 (4 instead of 40 from
100,000 rows on). "tabm authors" is TabM as its authors run it: 32 members, piecewise-linear
embeddings, early stopping; "tabm" is an earlier, smaller one (16 members of width 256, no
embeddings, 60 seconds of one core for a setting and 300 for a fit, which is little for the largest
tables). All but LightGBM are fitted on the first three splits only (german credit and titanic ten,
penguins five). Where one class has less than a hundredth of the rows (creditcard), LightGBM and
XGBoost have `reg_lambda=10`: without it they are unstable there, and SASANet would look better than
it is.
"""


def write_page(results: Path) -> None:
    """Write the page from what has been measured so far, here and in the folders beside."""
    found: Found = {}
    for path in sorted((results.parent / "accuracy").glob("*.json")):
        name, system = path.stem.rsplit("-", 1)
        run = json.loads(path.read_text())
        found.setdefault(name.replace("_", " "), {})[system.replace("_", " ")] = run
    alone = {
        path.stem.replace("_", " "): json.loads(path.read_text())["fit_seconds"]
        for path in sorted((results.parent / "fit_time").glob("*.json"))
    }
    sections = [
        _HEAD,
        _budgets(found),
        _earlier(found),
        _quality(found),
        _paired(found),
        _paired_others(found),
    ]
    sections += [_others(found), _fit_times(found, alone), _all_times(found)]
    PAGE.write_text("\n".join(part for part in sections if part), encoding="utf-8")


def _budgets(found: Found) -> str:
    """Tell how many settings each search tried when it was measured."""
    tried: dict[str, set[int]] = {}
    for runs in found.values():
        for system, run in runs.items():
            if run["tuning"]["tried"]:
                tried.setdefault(system, set()).add(len(run["tuning"]["tried"]))
    words = [f"{s} {' or '.join(map(str, sorted(tried[s])))}" for s in sorted(tried)]
    return (
        f"Settings tried when these results were measured: {', '.join(words)}.\n" if words else ""
    )


def _earlier(found: Found) -> str:
    """Name the results of SASANet that were measured with earlier teachers."""
    earlier = [
        f"{name} ({SHORT[system]})"
        for system in OURS
        for name, runs in found.items()
        if system in runs and runs[system].get("teachers") != TEACHERS
    ]
    if not earlier:
        return ""
    return (
        "Measured with earlier teachers (boosted trees alone, or without the kernel machine) and "
        f"other lengths of training, and not yet measured anew: {', '.join(earlier)}.\n"
    )


def _systems(found: Found) -> list[str]:
    names = {system for runs in found.values() for system in runs}
    ours = [name for name in OURS if name in names]
    return ours + sorted(names - set(ours))


def _over(run: dict[str, Any] | None, key: str, digits: int = 4) -> str:
    if run is None or key not in run["splits"][0]:
        return "–"
    return spread([one[key] for one in run["splits"]], digits)


def _quality(found: Found) -> str:
    systems = _systems(found)
    rows = []
    for name, runs in found.items():
        most = max(runs.values(), key=lambda run: len(run["splits"]))
        key = most["metric"]
        cells = [_over(runs.get(system), key) for system in systems]
        rows.append([f"{name} ({TITLES[key]}, {len(most['splits'])})", *cells])
    return "## Quality\n\n" + table(["table (measure, splits)", *systems], rows)


def _paired(found: Found) -> str:
    """Show differences to LightGBM with intervals that know that training parts overlap."""
    rows = _differences(found, [(ours, "lightgbm") for ours in OURS])
    if not rows:
        return ""
    return (
        "## Against tuned LightGBM\n\nMean paired difference in AUC or R² with its 95 % interval. "
        "Splits of one table share training rows, so the interval is Nadeau and Bengio's: the "
        "variance of the mean is (1/n + test/train) times that of the differences. On the "
        "official splits (census, coil2000) it adds the variances over seeds and over bootstrap "
        "samples of the test rows.\n\n"
        + table(["table", "default − LightGBM", "best − LightGBM"], rows)
    )


def _paired_others(found: Found) -> str:
    """Show differences to the other rivals, on the splits both have."""
    others = [name for name in _systems(found) if name not in (*OURS, "lightgbm")]
    columns = [(ours, other) for other in others for ours in OURS]
    rows = _differences(found, columns)
    if not rows:
        return ""
    titles = [f"{SHORT[ours]} − {other}" for ours, other in columns]
    return (
        "## Against the other models\n\nThe same, over the splits both were measured on.\n\n"
        + table(["table", *titles], rows)
    )


def _differences(found: Found, columns: list[tuple[str, str]]) -> list[list[str]]:
    """Return a row for every table that has any of these pairs."""
    rows = []
    for name, runs in found.items():
        cells = [_difference(runs, ours, other) for ours, other in columns]
        if any(cell != "–" for cell in cells):
            rows.append([name, *cells])
    return rows


def _difference(runs: dict[str, Any], system: str, other: str) -> str:
    if system not in runs or other not in runs:
        return "–"
    return with_interval(*paired_difference(runs[system], runs[other], runs[system]["metric"]))


def _others(found: Found) -> str:
    systems, rows = _systems(found), []
    for name, key, title in (
        ("census", "ap", "average precision"),
        ("creditcard", "ap", "average precision"),
        ("coil2000", "rmse", "RMSE of the probability"),
    ):
        if runs := found.get(name):
            rows.append([f"{name}, {title}", *(_over(runs.get(s), key) for s in systems)])
    return "## Other measures\n\n" + table(["", *systems], rows) if rows else ""


def _fit_times(found: Found, alone: dict[str, dict[str, list[float]]]) -> str:
    """Show how many times as long our default fits, as one fit and as one fit with its search."""
    rows = []
    for name, seconds in alone.items():
        ours, theirs = mean(seconds["sasanet"]), mean(seconds["lightgbm"])
        run = found[name]["lightgbm"]
        search = sum(one["seconds"] for one in run["tuning"]["tried"])
        one_fit = mean(one["fit_seconds"] for one in run["splits"])
        searched = theirs * (1 + search / one_fit)
        cells = [spread(seconds[system], 2) for system in ("sasanet", "lightgbm")]
        rows.append([name, *cells, f"{ours / theirs:.0f}×", f"{ours / searched:.1f}×"])
    header = ["table", "sasanet", "lightgbm", "sasanet / lightgbm", "… with its search"]
    return (
        "## Seconds for a fit\n\nOur default and LightGBM with its chosen settings, one after the "
        "other, on the first split, alone on the machine with both cores; up to three fits. A user "
        "who tunes LightGBM also pays for the search (twelve settings, up to three fits each, of "
        "four fifths or nine tenths of the rows; its time, in fits, is from the run above); a user "
        "of SASANet does not search: hence the last column.\n\n" + table(header, rows)
        if rows
        else ""
    )


def _all_times(found: Found) -> str:
    systems, rows = _systems(found), []
    for name, runs in found.items():
        times = {s: mean(one["fit_seconds"] for one in run["splits"]) for s, run in runs.items()}
        rows.append([name, *(f"{times[s]:.1f}" if s in times else "–" for s in systems)])
    return (
        "## Seconds of all models\n\nOf a fit with the chosen settings while the figures above "
        "were measured, for a rough idea: most were taken with two models running in parallel, "
        "one thread each; LightGBM had the machine to itself, except on census and "
        "coil2000.\n\n" + table(["table", *systems], rows)
    )
