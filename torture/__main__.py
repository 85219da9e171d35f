"""``python -m torture [--size small|full] [CAMPAIGN …]``, or one case: ``CAMPAIGN --seed N``."""

from __future__ import annotations

import argparse
import math
import os
import sys

from torture.page import write_page
from torture.registry import CAMPAIGNS
from torture.results import RESULTS
from torture.runner import run_campaign


def main() -> int:
    """Run campaigns and write the page; the exit code is 1 where something does not hold."""
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument("campaigns", nargs="*", metavar="CAMPAIGN", help=", ".join(CAMPAIGNS))
    parser.add_argument("--size", choices=("small", "full"), default="small")
    parser.add_argument("--cases", type=int, help="so many, whatever the size says")
    parser.add_argument("--seed", type=int, help="one case alone, with its traceback")
    parser.add_argument("--seconds", type=float, default=math.inf, help="then stop, to go on later")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    names = asked.campaigns or list(CAMPAIGNS)
    if strange := [name for name in names if name not in CAMPAIGNS]:
        parser.error(f"a campaign must be one of {', '.join(CAMPAIGNS)}, got {strange[0]!r}")
    if asked.seed is not None:
        print(CAMPAIGNS[names[0]].run(asked.seed).counts)
        return 0
    defects = 0
    for name in names:
        campaign = CAMPAIGNS[name]
        cases = campaign.cases(asked.size) if asked.cases is None else asked.cases
        found = run_campaign(campaign, cases, asked.jobs, RESULTS, asked.seconds)
        print(f"{name}: {found.cases} cases, {dict(found.counts)}, {len(found.defects)} defects")
        defects += len(found.defects)
        write_page(RESULTS)
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
