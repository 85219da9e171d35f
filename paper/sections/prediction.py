"""The prediction table of every data set, and what the paper claims of its rankings."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean, mode

from bench.page import paired_difference, spread, table
from paper import prediction as measured
from paper.sections import words
from paper.sections.results import SETS, TITLES, Found, Run, by_data, by_system, of, verdict
from paper.settings import read_printed, read_settings
from paper.systems import LONG, WHOLE

_HEAD = """## Prediction

Every network, the paper's included, has {limit} for a fit (and at
most 40 epochs), and every system {search} settings to try, judged on held-out rows of the first
split's training part (networks: {trial} each; the chosen ones are in
the result files). On Higgs and Fraud some of these rows are test rows of later splits, for every
system alike but our default, which chooses nothing. SHAPNet has two settings on Insurance, whose
pairs of features are too many for the other two; the ablations -p and -d take the settings chosen
for the whole. Two systems ran at a time, each with one core; "seconds" are those of a fit, not all
on the same machine. "Fits" are splits, or seeds where the split is official (Income, Insurance):
{splits}, and at least {slow} where one takes more than a minute.

"SASANet (paper)" is the paper's architecture with the sizes of Appendix H on Fraud and Insurance.
On Higgs and Income, where they want a GPU, it is our `"sequence"` network: smaller, numbers between
knots instead of through a small network, ReLU, λ_s = 1 and a larger share of the loss for complete
rows. "SASANet (paper long)" is the same with more time, {long}.

Our default, "SASANet", runs as it is, with out-of-fold predictions of trees as half of its labels;
it and EBM on Income, Higgs and Fraud are those of [accuracy](accuracy.md), where LightGBM has
twelve settings to try and is a little better on Income.
"""
_CLAIMS = """## What the paper claims of its rankings

Mean paired difference over splits with its 95 % interval (Nadeau and Bengio's, which knows that
training parts overlap; on official splits it covers seeds, and test rows where they were resampled,
which they were for AUC and RMSE). Insurance: RMSE, lower is better.

"""
_LATE = """
Measured with another limit or search than stated above, and to be measured again: {}.
"""
MEASURES = {"insurance": ("rmse", "mae", "r2", "auc")}
_OURS, _PAPERS, _LONG = "SASANet", WHOLE, LONG
_PRINTED = dict.fromkeys((_OURS, _LONG), _PAPERS)  # all are held against the paper's one
_RIVALS = {
    "SASANet matches black boxes": ("LightGBM", "MLP"),
    "it beats other self-attributing networks": ("NAM", "SITE", "SENN"),
}
_PAIRS = (
    *(
        (paper, one, claim)
        for claim, rivals in _RIVALS.items()
        for one in rivals
        for paper in (_PAPERS, _LONG)
    ),
    (_PAPERS, "SASANet-d", "the Shapley module makes predictions better"),
    (_PAPERS, "SASANet-p", "positions make predictions better"),
    (_LONG, _PAPERS, "more time makes the paper's configuration better"),
    (_OURS, _LONG, "our default against the paper's configuration"),
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
        long=seconds(settings["long_limit"]),
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
            splits = runs[system]["splits"]
            fit = f"{mean(split['fit_seconds'] for split in splits):.0f}"
            cells = _cells(runs[system], measures, theirs)
            rows.append([system, str(len(splits)), fit, *cells])
    header = ["system", "fits", "seconds"]
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
    runs = by_system(found)
    rows = []
    for better, worse, claim in _PAIRS:
        for name, title in SETS.items():
            if (name, better) in runs and (name, worse) in runs:
                pair = runs[name, better], runs[name, worse]
                rows.append([claim, title, f"{better} − {worse}", *_verdicts(name, *pair)])
    header = [
        "claim",
        "data",
        "difference",
        "AUC or RMSE [95 %]",
        "better?",
        "AP [95 %]",
        "better?",
    ]
    return _CLAIMS + table(header, rows) + words.CLAIMS if rows else ""


def _verdicts(name: str, better: Run, worse: Run) -> list[str]:
    """Judge AUC and AP; of Insurance RMSE alone, and of Income's AP no test rows were redrawn."""
    if name == "insurance":
        return [*verdict(*paired_difference(better, worse, "rmse"), -1), "–", "–"]
    found = list(verdict(*paired_difference(better, worse, "auc"), 1))
    centre, half = paired_difference(better, worse, "ap")
    return [*found, *((f"{centre:+.4f}", "–") if name == "income" else verdict(centre, half, 1))]
