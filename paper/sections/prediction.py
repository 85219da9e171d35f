"""The prediction table of every data set, and what the paper claims of its rankings."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean, mode

from bench.page import paired_difference, spread, table

from paper import prediction as measured
from paper.sections import words
from paper.sections.results import SETS, TITLES, Found, Run, by_data, of, verdict
from paper.settings import read_printed, read_settings

_HEAD = """## Prediction

Every network, the paper's included, has {limit} for a fit, and every
system {search} settings to try, judged on held-out rows of the first split's training part
(networks: {trial} each; the chosen ones are in the result files). The
ablations -p and -d take the settings chosen for the whole. Two systems ran at a time, each with one
core. "Fits" are splits, or seeds where the split is official (Income, Insurance): {splits}, and at
least {slow} where one takes more than a minute. "SASANet (paper)" is the paper's architecture, with
the sizes of Appendix H (on Higgs and Income smaller ones, those of our `"sequence"` network: the
paper's want a GPU). Our default, "SASANet", runs as it is; it and EBM on Income, Higgs and Fraud
are those of [accuracy](accuracy.md).
"""
_LATE = """
Measured with another limit or search than told above, and to be measured again: {}.
"""
MEASURES = {"insurance": ("rmse", "mae", "r2", "auc")}
_OURS, _PAPERS = "SASANet", "SASANet (paper)"
_PRINTED = {_OURS: _PAPERS}  # both are held against the paper's one
_PAIRS = (
    *((_PAPERS, one, "SASANet matches black boxes") for one in ("LightGBM", "MLP")),
    *(
        (_PAPERS, one, "it beats other self-attributing networks")
        for one in ("NAM", "SITE", "SENN")
    ),
    (_PAPERS, "SASANet-d", "the Shapley module makes predictions better"),
    (_PAPERS, "SASANet-p", "positions make predictions better"),
    (_OURS, _PAPERS, "our default against the paper's configuration"),
    *((_OURS, one, f"our default against {one}") for one in ("NAM", "SITE", "SENN", "EBM")),
    *((_OURS, one, f"our default against {one}") for one in ("MLP", "LightGBM")),
)


def prediction(found: Found) -> str:
    """Return a table for each data set: our figure, the paper's and the difference."""
    text = ""
    for name, runs in by_data(found, "prediction").items():
        text += f"\n### {SETS[name]}\n\n" + _table(name, {run["system"]: run for run in runs})
    return _head() + text + _late(of(found, "prediction")) + words.PREDICTION if text else ""


def _head() -> str:
    settings = read_settings("prediction")
    return _HEAD.format(
        limit=seconds(settings["time_limit"]),
        trial=seconds(settings["trial_limit"]),
        search=settings["search"],
        splits=settings["splits"],
        slow=settings["slow_splits"],
    )


def seconds(limits: dict[str, float]) -> str:
    """Return the limit of most data sets in words, and those of the others."""
    usual = mode(limits.values())
    others = [f"{SETS[name]} {limit:g}" for name, limit in limits.items() if limit != usual]
    return f"{usual:g} seconds" + (f" ({', '.join(others)})" if others else "")


def _late(runs: list[Run]) -> str:
    """Name the results that the head does not speak of; borrowed ones have no budget here."""
    own = [run for run in runs if "budget" in run and not measured.is_current(run)]
    late = [f"{run['system']} on {SETS[run['data']]}" for run in own]
    return _LATE.format(", ".join(late)) if late else ""


def _table(name: str, runs: Found) -> str:
    settings, printed = read_settings("prediction"), read_printed()["prediction"][name]
    measures = MEASURES.get(name, ("ap", "auc"))
    rows = []
    for system in settings["systems"]:
        if system in runs:
            theirs = printed.get(_PRINTED.get(system, system), {})
            fits = str(len(runs[system]["splits"]))
            rows.append([system, fits, *_cells(runs[system], measures, theirs)])
    header = ["system", "fits"]
    for key in measures:
        header += [TITLES[key], "paper", "difference"]
    return table(header, rows)


def _cells(run: Run, measures: Iterable[str], printed: dict[str, tuple[float, float]]) -> list[str]:
    cells = []
    for key in measures:
        ours = [one[key] for one in run["splits"] if key in one]
        cells.append(spread(ours) if ours else "–")
        if key in printed and ours:
            theirs, deviation = printed[key]
            cells += [f"{theirs:.4f} ± {deviation:.4f}", f"{mean(ours) - theirs:+.4f}"]
        else:
            cells += ["–", "–"]
    return cells


def claims(found: Found) -> str:
    """Hold what the paper says of its rankings against paired differences."""
    runs = {(run["data"], run["system"]): run for run in of(found, "prediction")}
    rows = []
    for better, worse, claim in _PAIRS:
        for name, title in SETS.items():
            if (name, better) in runs and (name, worse) in runs:
                key = "rmse" if name == "insurance" else "auc"
                gap = paired_difference(runs[name, better], runs[name, worse], key)
                which = f"{better} − {worse}, {TITLES[key]}"
                rows.append([claim, title, which, *verdict(*gap, -1 if key == "rmse" else 1)])
    if not rows:
        return ""
    return (
        "## What the paper claims of its rankings\n\nMean paired difference over splits with its "
        "95 % interval (Nadeau and Bengio's, which knows that training parts overlap; on official "
        "splits it covers seeds, and test rows where they were resampled). RMSE: lower is "
        "better.\n\n"
        + table(["claim", "data", "difference", "mean [95 %]", "better?"], rows)
        + words.CLAIMS
    )
