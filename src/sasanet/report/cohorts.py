"""Why the rows of one group score higher than others; and what is asked elsewhere, and why."""

from __future__ import annotations

from typing import Any

import pandas as pd

from sasanet.errors import InvalidInputError
from sasanet.estimator.sasanet import SASANetModel
from sasanet.explanation.cohorts import against_others
from sasanet.explanation.explanation import Explanation
from sasanet.explanation.wording import shorten
from sasanet.report.row_data import page_text

_MOST, _FEATURES, _LONGEST = 12, 3, 60


def cohort_reasons(e: Explanation, group: pd.Series | None) -> dict[str, Any]:
    """Return the features that set each of the largest cohorts apart from other rows; or why not.

    ``group`` holds a label for each row of the explanation.
    """
    if group is None:
        return {"why": "no column to group rows by was given"}
    if e.values.ndim != 2:
        return {"why": "the model has several outputs, which are compared one at a time"}
    try:
        found = against_others(e, group)
    except InvalidInputError as error:
        return {"why": str(error).rstrip(".")}
    parts = list(found.groupby("cohort", sort=False))[:_MOST]
    return {
        "why": "",
        "units": e.units,
        "parts": [
            {
                "name": _text(name),
                "rows": int(part["rows"].iloc[0]),
                "features": [
                    (_text(line["feature"]), line["difference"], line["low"], line["high"])
                    for line in part.head(_FEATURES).to_dict("records")
                ],
            }
            for name, part in parts
        ],
    }


def elsewhere(
    model: SASANetModel, why_no_cohorts: str, with_groups: bool
) -> list[tuple[str, str, str]]:
    """Return what the page leaves out: what it is, why, and the command that shows it."""
    target, found = model.target_, []
    if with_groups:
        why = "the page has whole groups, and columns that come and go alone"
        what, how = "Columns within groups", "sasanet explain … --groups FILE --within"
    else:
        why, how = "none were given", "sasanet report … --groups FILE"
        what = "Groups of columns as one player"
    found += [(what, why, how)]
    if why_no_cohorts:
        found += [("Why groups of rows differ", why_no_cohorts, "sasanet cohorts … --by COLUMN")]
    if target.task != "regression" or target.has_log_link:
        what = "the probability" if target.task != "regression" else "the rate"
        units = "probability" if target.task != "regression" else "response"
        why = f"the numbers of this page stay in {target.units}, on which evidence adds"
        found += [(f"Attributions of {what} itself", why, f"sasanet explain … --units {units}")]
    several = len(target.quantiles) > 1
    why = "of one score alone: fit one quantile" if several else "a decision needs a threshold"
    return [
        *found,
        ("Reasons for a refusal", why, "sasanet reasons … --threshold 0.5"),
        ("What would have to change", why, "sasanet recourse … --threshold 0.5"),
        ("Drift", "it is seen between two tables", "sasanet drift MODEL BEFORE LATER"),
        ("Importances in training", "the page has those of its own rows", "sasanet inspect MODEL"),
        ("The model card", "it is kept beside the model", "README.md in the model's folder"),
        ("Other models beside this one", "they are fitted for it", "sasanet compare …"),
    ]


def _text(name: object) -> str:
    return shorten(page_text(name), _LONGEST)
