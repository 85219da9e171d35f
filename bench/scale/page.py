"""Result files in, docs/measured/scale.md out: every figure on the page comes from a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from bench.page import table
from bench.scale import cost

PAGE = Path(__file__).parents[2] / "docs" / "measured" / "scale.md"
Found = dict[str, Any]
_HEAD = """# Large tables

Time, memory and truth by the number of rows, limits of time, kills, and what a fit costs. Written
by `make bench-scale` from `bench/results/scale/*.json`: two cores, no GPU. Every fit has one
thread, and other work ran beside it, beside some of them on the same core too: seconds of the
processor stand beside those of the clock, and ratios are of the processor's. The known table has 28
normal columns, any two correlated by 0.3, and a target that is linear in them with noise of their
size. Higgs has 48,000 rows, drawn with replacement; every draw has noise of 2 % of a column's
standard deviation, but for the tags of jets, which have three values. Both are read from Parquet
files written in parts. LightGBM has 500 trees of 31 leaves at a rate of 0.05. What is not in a
table was not run.
"""
_BILLION, _MACHINES, _NETWORK = 10**9, 32, 10e9 / 8
_COLUMNS = 28  # columns of the examples


def write_page(results: Path) -> None:
    """Write the page from what has been measured so far."""
    found = {path.stem: json.loads(path.read_text()) for path in sorted(results.glob("*.json"))}
    makers = [_fits, _truth, _explain, _limits, _wide, _ids, _kills, _ray, _cost]
    sections = [_HEAD, *(make(found) for make in makers)]
    PAGE.write_text("\n".join(part for part in sections if part), encoding="utf-8")


def _of(found: Found, prefix: str) -> list[Any]:
    """Return the results whose names begin so, by rows."""
    runs = [run for name, run in found.items() if name.startswith(prefix)]
    return sorted(runs, key=lambda run: (run["rows"], run.get("time_limit") or 0))


def _fits(found: Found) -> str:
    rows = []
    for kind, title in (("known", "known"), ("higgs", "Higgs, drawn and jittered")):
        ours = {run["rows"]: run for run in _of(found, f"{kind}-ours-")}
        rivals = {run["rows"]: run for run in _of(found, f"{kind}-lightgbm-")}
        for size in sorted(ours.keys() | rivals.keys()):
            cells = _fit_cells(ours.get(size), rivals.get(size))
            rows.append([title, f"{size:,}", *cells])
    if not rows:
        return ""
    return (
        "\n## Fits beside LightGBM\n\nSeconds by the clock (by the processor), peak memory of the "
        "process, and R² on rows never seen, of Higgs AUC on test rows that were never drawn.\n\n"
        + table(
            ["table", "rows", "seconds", "LightGBM's", "ratio", "GiB", "LightGBM's", "score",
             "LightGBM's"], rows
        )
        + _drawn(found)
    )  # fmt: skip


def _drawn(found: Found) -> str:
    """Say how well further draws are foreseen: rows like those of the table, with its labels."""
    said = [
        f"{ours['score_drawn']:.4f} beside {rival['score_drawn']:.4f} at {ours['rows']:,} rows"
        for ours in _of(found, "higgs-ours-")
        for rival in _of(found, "higgs-lightgbm-")
        if ours["rows"] == rival["rows"]
    ]
    if not said:
        return ""
    return (
        "\nAUC on further draws from the same rows, ours beside LightGBM's: "
        + "; ".join(said)
        + ". A table of so many draws shows each row and its label again and again: what is "
        "learned by heart counts here, and misleads on the test rows.\n"
    )


def _fit_cells(ours: Any, rival: Any) -> list[str]:
    """Return time, memory and score, ours and the rival's in turn."""
    both = ours is not None and rival is not None
    ratio = f"{ours['fit_cpu_seconds'] / rival['fit_cpu_seconds']:.1f}" if both else "–"
    seconds, memory, scores = (
        [shown(run) if run else "not run" for run in (ours, rival)]
        for shown in (
            lambda run: f"{run['fit_seconds']:,.0f} ({run['fit_cpu_seconds']:,.0f})",
            lambda run: f"{run['fit_peak_gib']:.2f}",
            lambda run: f"{run['score']:.4f}",
        )
    )
    return [*seconds, ratio, *memory, *scores]


def _truth(found: Found) -> str:
    runs = _of(found, "known-ours-")
    if len(runs) < 2:
        return ""
    rows = [
        [f"{run['rows']:,}", f"{run['value_rmse']:.4f}", f"{run['phi_rmse']:.4f}"] for run in runs
    ]
    sizes = np.log([run["rows"] for run in runs])
    slopes = [np.polyfit(sizes, np.log([r[k] for r in runs]), 1)[0] for k in _ERRORS]
    return (
        "\n## Truth by rows\n\nRoot mean squares of the errors of v(S), over random coalitions of "
        f"all sizes, and of φ against the closed forms of E[y | x_S]; their spreads are "
        f"{runs[0]['value_spread']:.2f} and {runs[0]['phi_spread']:.2f}. The slopes of their "
        f"logarithms by that of the rows are {slopes[0]:.2f} and {slopes[1]:.2f}.\n\n"
        + table(["rows", "v(S)", "φ"], rows)
    )


_ERRORS = ("value_rmse", "phi_rmse")


def _explain(found: Found) -> str:
    rows = [
        [
            f"{run['rows']:,}",
            str(run["n_jobs"]),
            *(f"{run['rows'] / run[f'{what}_seconds']:,.0f}" for what in ("predict", "explain")),
            *(
                f"{run['rows'] / run[f'{what}_cpu_seconds']:,.0f}" if run["n_jobs"] == 1 else "–"
                for what in ("predict", "explain")
            ),
            f"{run['explain_peak_gib']:.2f}" if run["n_jobs"] == 1 else "–",
        ]
        for run in _of(found, "explain-")
    ]
    if not rows:
        return ""
    heads = ["rows", "processes", "predicted a second", "explained a second",
             "predicted a second of the processor", "explained a second of the processor",
             "GiB"]  # fmt: skip
    return (
        "\n## From files into files\n\n`predict_batches` and `explain_batches`, 28 columns, from "
        "Parquet into Parquet, by processes of one thread each, their start included. Other "
        "commands took parts of both cores meanwhile.\n\n" + table(heads, rows)
    )


def _limits(found: Found) -> str:
    rows = [
        [
            f"{run['rows']:,}",
            f"{run['time_limit']:g}",
            f"{run['fit_seconds']:.1f}",
            f"{run['fit_cpu_seconds']:.1f}",
            f"{run['steps']:,}",
            f"{run['training_seconds'] / run['time_limit']:.0%}",
            f"{run['score']:.4f}",
            " ".join(run["warnings"]) or "none",
        ]
        for run in _of(found, "limit-")
    ]
    if not rows:
        return ""
    heads = ["rows", "asked, s", "taken, s", "of the processor", "steps", "the network's share",
             "R²", "warnings"]  # fmt: skip
    return (
        "\n## Time asked and taken\n\nReading included. Where other work had the cores, the "
        "processor's seconds are far fewer: the limit is one of the clock.\n\n" + table(heads, rows)
    )


def _wide(found: Found) -> str:
    rows = [
        [
            f"{run['rows']:,} × {run['columns']:,}",
            f"{run['time_limit']:g}",
            f"{run['fit_seconds']:.0f} ({run['fit_cpu_seconds']:.0f})",
            run.get("refused") or f"{run['fit_peak_gib']:.2f} GiB, R² {run['score']:.3f}",
            f"{1000 * run['explain_cpu_seconds'] / run['explained_rows']:,.0f}"
            if "explain_cpu_seconds" in run
            else "–",
        ]
        for run in _of(found, "wide-")
    ]
    if not rows:
        return ""
    heads = ["rows × columns", "asked, s", "taken, s (of the processor)", "what came of it",
             "ms of the processor to explain a row"]  # fmt: skip
    return "\n## Many columns\n\nThe same kind of table, in memory.\n\n" + table(heads, rows)


def _ids(found: Found) -> str:
    rows = [
        [
            f"{run['rows']:,}",
            f"{run['time_limit']:g}",
            f"{run['fit_seconds']:.0f} ({run['fit_cpu_seconds']:.0f})",
            f"{run['fit_peak_gib']:.2f}",
            f"{run['levels_kept']:,}",
            f"{run['score']:.4f}",
        ]
        for run in _of(found, "ids-")
    ]
    if not rows:
        return ""
    heads = ["rows", "asked, s", "taken, s (of the processor)", "GiB", "levels kept", "R²"]
    return "\n## A column of ids, none twice\n\nAnd two numbers.\n\n" + table(heads, rows)


def _kills(found: Found) -> str:
    if "kills" not in found:
        return ""
    run = found["kills"]
    return (
        f"\n## kill −9\n\n{run['kills']} kills at random moments of {run['fits']} fits with a "
        f"checkpoint, teachers included, a fit being killed again and again before it ends: "
        f"{run['equal_models']} of the {run['fits']} models have weights equal to those of an "
        "undisturbed fit.\n"
    )


def _ray(found: Found) -> str:
    runs = _of(found, "ray-")
    if not runs:
        return ""
    parts = (("fit", "fit"), ("train", "of it the steps of training"), ("explain", "explain"))
    rows = []
    for run in runs:
        for what, named in parts:
            threads, ray = run[f"{what}_threads_seconds"], run[f"{what}_ray_seconds"]
            size = f"{run['explained' if what == 'explain' else 'rows']:,}"
            rows.append([named, size, f"{threads:.1f}", f"{ray:.1f}", f"{ray / threads:.2f}"])
    scores = " and ".join(
        f"{run['score_threads']:.4f} beside {run['score_ray']:.4f}" for run in runs
    )
    return (
        "\n## Two Ray workers beside two threads\n\nThe known table fitted (read, taught, "
        f"{runs[0]['epochs']} epochs in batches of {runs[0]['batch_size']:,}) and explained into "
        f"Parquet, on {runs[0]['cores']} cores. Seconds by the clock; those of Ray hold the "
        "beginning of its workers and actors, which import what one process has already imported. "
        f"{_overheads(runs)}{_steps(runs)} R² of the models, threads beside Ray: {scores}.\n\n"
        + table(["", "rows", "two threads of one process", "two Ray workers", "ratio"], rows)
    )


def _overheads(runs: list[Any]) -> str:
    """Say what Ray adds around the steps of training, and what it needs to begin."""
    around = [
        (run["fit_ray_seconds"] - run["train_ray_seconds"])
        - (run["fit_threads_seconds"] - run["train_threads_seconds"])
        for run in runs
    ]
    starts = [run["ray_start_seconds"] for run in runs]
    return (
        f"Around the steps of training a fit takes {' and '.join(f'{s:.1f}' for s in around)} s "
        f"longer; starting Ray itself took {' and '.join(f'{s:.1f}' for s in starts)} s more."
    )


def _steps(runs: list[Any]) -> str:
    """Say how long a step took, which shows where a run was disturbed."""
    each = {
        who: [
            1000 * run[f"train_{who}_seconds"] * run["batch_size"] / (run["epochs"] * run["rows"])
            for run in runs
        ]
        for who in ("threads", "ray")
    }
    said = {who: " and ".join(f"{ms:.0f}" for ms in found) for who, found in each.items()}
    text = f" A step takes two threads {said['threads']} ms, two workers {said['ray']} ms."
    if max(each["threads"]) < _DISTURBED * min(each["threads"]):
        return text
    return text + (
        " Steps of one size cost the same in every run: where the threads' were slower, other "
        "commands will have taken parts of their cores, from which threads that wait for each "
        "other in every layer suffer more than workers. The ratios of such a run are too low."
    )


_DISTURBED = 1.2  # times the quickest run


def _cost(found: Found) -> str:
    runs = [run for name, run in found.items() if name.startswith("cost-")]
    runs.sort(key=lambda run: run["columns"])
    if len(runs) < 2:
        return ""
    lines = cost.lines(runs)
    units = {
        "step": "a training step of 512 rows",
        "large_step": "a training step of 2,048 rows",
        "teachers": "teachers, a row of their sample",
    }
    rows = [
        [units.get(part, f"{part}, a row"), f"{1e6 * line.a:,.2f}", f"{1e6 * line.b:,.3f}"]
        for part, line in lines.items()
    ]
    n_rows, widths = runs[0]["rows"], ", ".join(str(run["columns"]) for run in runs)
    return (
        f"\n## What a fit costs\n\nEach part measured apart, {n_rows:,} rows of {widths} columns "
        "on one core, and fitted by a line in the columns (`bench/scale/cost.py`). Microseconds of "
        "the processor are `a + b · columns`:\n\n"
        + table(["part", "a", "b"], rows)
        + _disk(runs)
        + ("" if "large_step" in lines else _BOUND)
        + _checked(found, lines)
        + _carried(runs, lines)
    )


_BOUND = (
    "\nSteps of more than 512 rows, which two million rows and more take, were not measured apart: "
    "the formula counts their rows in steps of 512, which is more than they cost.\n"
)


def _disk(runs: list[Any]) -> str:
    run = max(runs, key=lambda run: run["columns"])
    per_cell = (run["store_bytes"] / run["rows"] - 8) / run["columns"]
    return (
        f"\nOn disk a number takes {per_cell:g} bytes while a fit from a source runs, and a row "
        "eight more for label and weight. Memory does not grow with the rows: it is that of the "
        "teachers' sample, of the blocks in hand and of the network. These runs held at most "
        f"{', '.join(format(run['peak_gib'], '.2f') for run in runs)} GiB. What several cores gain "
        "has not been measured here.\n"
    )


def _checked(found: Found, lines: dict[str, cost.Line]) -> str:
    """Compare the formula with whole fits that it was not fitted to."""
    clarity = found["cost-28"]["clarity"] if "cost-28" in found else 0.0
    rows = []
    for run in _of(found, "known-ours-"):
        parts = cost.seconds(lines, run["rows"], run["columns"], clarity)
        total, took = sum(parts.values()), run["fit_cpu_seconds"]
        rows.append([f"{run['rows']:,}", f"{total:,.0f}", f"{took:,.0f}", f"{took / total:.2f}"])
    if not rows:
        return ""
    return (
        "\nWhole fits of the known table, to which the formula was not fitted (smaller tables are "
        "read into memory, all their rows are taught, some mixed, and below 20,000 rows steps are "
        "smaller):\n\n" + table(["rows", "formula, s", "measured, s", "measured / formula"], rows)
    )


def _carried(runs: list[Any], lines: dict[str, cost.Line]) -> str:
    """Carry the formula on paper to sizes that nobody has run."""
    like = min(runs, key=lambda run: abs(run["columns"] - _COLUMNS))
    one = cost.seconds(lines, _BILLION, _COLUMNS, like["clarity"])
    cluster = cost.Cluster(_MACHINES, _NETWORK)
    many = cluster.seconds(lines, _BILLION, _COLUMNS, like["weights"])
    names = ["survey", "teachers", "store", "training", "gradients"]
    rows = [
        [name, f"{one.get(name, 0.0) / 3600:,.2f}", f"{many[name] / 3600:,.2f}"] for name in names
    ]
    rows.append(["all", f"{sum(one.values()) / 3600:,.1f}", f"{sum(many.values()) / 3600:,.1f}"])
    disk = _BILLION * (2 * _COLUMNS + 8) / 2**30
    explained = _BILLION * lines["explain"](_COLUMNS) / 3600
    return (
        f"\n### On paper: 10⁹ rows of {_COLUMNS} columns\n\nHours by the formula, on one core "
        f"and on {_MACHINES} machines with one worker of one core each, which average gradients "
        f"over a network of 10 Gbit/s, 512 rows a worker and step; rows are seen twice. This has "
        "not been run.\n\n"
        + table(["part", "one core", f"{_MACHINES} machines"], rows)
        + f"\nEncoded rows take {disk:,.0f} GiB of disk, {disk / _MACHINES:,.1f} on each machine; "
        f"explaining all rows takes {explained:,.0f} hours of one core, and divides by the "
        "machines. What breaks first: the time of training, which is most of it and not the "
        "reading; then the common step, since one batch of "
        f"{_MACHINES * cost.BATCH:,} rows is {_MACHINES * cost.BATCH // cost.LARGE_BATCH} times "
        "larger than the largest that was tried, and every one waits for the slowest worker; then "
        "Ray's object store, which must hold or spill the "
        f"{_BILLION * 8 * _COLUMNS / 2**30:,.0f} GiB of the table.\n"
    )
