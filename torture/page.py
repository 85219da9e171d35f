"""Result files in, docs/measured/reliability.md out: every figure on the page comes from a file."""

from __future__ import annotations

import re
from pathlib import Path

from torture.registry import CAMPAIGNS, TENTHS, Campaign
from torture.results import RESULTS, Found, load_found

PAGE = Path(__file__).parent.parent / "docs" / "measured" / "reliability.md"
_HEAD = """# Reliability

What happens to hostile input, damaged files, full disks, kills, signals and threads. `make torture`
runs these campaigns (`TORTURE=full` with as many cases as a release needs, `JOBS=4` in so many
processes) and writes `torture/results/*.json`, from which this page is made. Every case has a seed
and can be repeated alone: `python -m torture tables --seed 4711`. A small part of every campaign
runs with the tests, each beside a broken twin that must be noticed. Seconds are those of the clock,
on machines that had other work, and on which a campaign stood still at times.

A case ends well with a right answer or with one clear sentence (a `SasanetError`). Everything else
is a defect: another exception, NaN, a hang, memory beyond the bound, a lost or half-written file, a
script that runs.

Asked is what a release must have seen. The package grew while cases ran: states says over how many
versions of it, which the files name by their checksums.
"""
_TESTS = Path(__file__).parent.parent / "tests" / "torture"
_FINDING = re.compile(r"^def test_(\d\d)_(\w+)\(", re.MULTILINE)
_FINDINGS = """## Earlier defects

A first hostile trial, of commit `650105c`, found sixteen kinds of defects. Each has tests in
`tests/torture/test_findings.py` and `tests/torture/test_findings_files.py`, by its number. They use
what users use, so they run on that commit too, and fail there: copy them with
`torture/processes.py` and `torture/clock.py` into its tree, and put back four names that have
changed since (`teacher_weight` was `teacher`, `n_orders` was `refine`, `categorical_features` was
`categorical`, and `sasanet.checksums` was `sasanet.sealing`).
"""


def write_page(results: Path, page: Path = PAGE) -> None:
    """Write the page from what has been found so far."""
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(make_page(results), encoding="utf-8")


def make_page(results: Path) -> str:
    """Return the page's text."""
    found = {name: load_found(name, results) for name in CAMPAIGNS}
    known = {name: part for name, part in found.items() if part.cases}
    sections = [_section(CAMPAIGNS[name], known[name]) for name in known]
    return "\n".join([_HEAD, _overview(known), *sections, _findings()])


def _findings() -> str:
    """Return which tests stand for which defect of the first hostile trial."""
    lines = [_FINDINGS, "| finding | tests |", "|---|---|"]
    found: dict[int, dict[str, None]] = {}
    for path in sorted(_TESTS.glob("test_findings*.py")):
        for number, name in _FINDING.findall(path.read_text("utf-8")):
            found.setdefault(int(number), {})[name.replace("_", " ")] = None
    lines += [f"| {number} | {' · '.join(found[number])} |" for number in sorted(found)]
    return "\n".join(lines) + "\n"


def _overview(found: dict[str, Found]) -> str:
    header = ["campaign", "asked", "run", "defects", "states"]
    header += ["seconds of work", "slowest, s", "largest, MiB"]
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for name, part in found.items():
        campaign = CAMPAIGNS[name]
        lines.append(
            f"| [{name}](#{name}) | {campaign.asked or '–'} | {_run(campaign, part)} | "
            f"{len(part.defects)} | {len(part.code)} | {part.seconds:,.0f} | "
            f"{part.slowest_seconds:.1f} | {part.largest_case_mib:.0f} |"
        )
    return "\n".join(lines) + "\n"


def _run(campaign: Campaign, found: Found) -> str:
    """Return how much was run, in the unit of what was asked."""
    if campaign.unit == "rounds":
        return f"{sum(found.counts.values()):,} rounds"
    if campaign.unit == "seconds":
        return f"{found.counts[TENTHS] / 10:,.0f} s"
    return f"{found.cases:,}"


def _section(campaign: Campaign, found: Found) -> str:
    lines = [
        f"## {campaign.name}",
        "",
        f"{campaign.does[0].upper()}{campaign.does[1:]}. What must hold: {campaign.must}; at most "
        f"{campaign.seconds:.0f} s and {campaign.memory_mib:.0f} MiB for a case.",
        "",
        f"| outcome of {found.cases:,} cases | count |",
        "|---|---|",
        *(f"| {what} | {count:,} |" for what, count in sorted(found.counts.items())),
        f"| defect | {len(found.defects)} |",
    ]
    if found.defects:
        lines += ["", "Defects by seed:", ""]
        lines += [f"- {seed}: `{_code(what)}`" for seed, what in sorted(found.defects.items())[:20]]
        hidden = len(found.defects) - 20
        lines += [f"- … and {hidden} more"] if hidden > 0 else []
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    """Return text that stays inside its backquotes."""
    return "".join(sign if sign.isprintable() and sign != "`" else "·" for sign in text)


if __name__ == "__main__":
    write_page(RESULTS)
