"""Result files in, docs/measured/paper.md out: our figure, the paper's, and the difference."""

from __future__ import annotations

import json
from pathlib import Path

from paper import prediction as measured
from paper.sections.aims import aims
from paper.sections.pictures import pictures
from paper.sections.prediction import claims, prediction
from paper.sections.rankings import rankings
from paper.sections.subsets import subsets
from paper.sections.timing import timing
from paper.settings import FOLDER, is_quick

_HEAD = """# The paper's experiments

Every table and figure of the paper repeated, our figures beside the printed ones. Written by `make
paper` from `paper/results/*.json` and `paper/experiments/printed.toml`; two CPU cores, no GPU.

`make paper-prediction` (the paper's Table 1, Appendix J and ablations), `make paper-masking`
(Table 2 and Appendix L), `make paper-timing` (Table 3), `make paper-values` (Appendix K) and `make
paper-figures` (Figure 2 and Appendix M) run one experiment each; one TOML file in
`paper/experiments/` holds the settings of each.

Higgs here is 64,000 of the paper's 11 million rows: compare within the table only. Income has 40
features where the paper counts 39. Fraud is split at random, as in the paper, so its test part has
about a hundred positives and differences below 0.01 mean little.
"""


def write_page(results: Path) -> None:
    """Write the page from what has been measured so far; a quick run writes beside its results."""
    found = {path.stem: json.loads(path.read_text()) for path in sorted(results.glob("*.json"))}
    found |= measured.borrowed()
    sections = (prediction, aims, claims, rankings, timing, subsets, pictures)
    parts = [_HEAD, *(section(found) for section in sections)]
    page = results / "paper.md" if is_quick() else FOLDER.parent / "docs" / "measured" / "paper.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text("\n".join(part for part in parts if part), encoding="utf-8")
