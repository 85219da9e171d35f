"""The paper's pictures, with what can be counted of what it says about them."""

from __future__ import annotations

from paper.sections import words
from paper.sections.results import SETS, Found, of


def pictures(found: Found) -> str:
    """Return the pictures of every data set with their captions."""
    text = ""
    for run in of(found, "figures"):
        name, title, sizes = run["data"], SETS[run["data"]], run["sum_of_sizes"]
        centre, half = run["gap"]
        text += (
            f"\n### {title}\n\nThe sizes of a row's attributions add up to "
            f"{sizes['SASANet']:.2f} for SASANet and {sizes['KernelSHAP']:.2f} for KernelSHAP, on "
            f"average over {run['rows']} rows: a difference of {centre:+.2f} "
            f"[{centre - half:+.2f}, {centre + half:+.2f}].\n\n"
            f"![{title}, test rows](figures/{name}-overall.png)\n"
        )
        for kind, raw in run["prediction"].items():
            what = f"the {kind} row the model is surest of, log-odds {raw:.2f}"
            text += f"\n![{title}, one row](figures/{name}-{kind}.png)\n\n{title}: {what}.\n"
    return (
        f"## Pictures\n\nDark dots: high numbers, rare levels.\n{text}{words.PICTURES}"
        if text
        else ""
    )
