"""Large tables, measured: ``make bench-scale``, or ``python -m bench.scale.run known-ours-10000``.

Each job is a process of its own, so that its peak memory is its own, and is skipped when its file
exists. Those of ten million rows are run only where they are asked for (``large``): each takes the
better part of an hour.
"""

from __future__ import annotations

import sys
from functools import partial

from bench import runner
from bench.scale import cluster, cost, fits
from bench.scale.kills import kills
from bench.scale.page import write_page

ROWS = (10_000, 100_000, 1_000_000)
LIMITS = ((1_000, 2), (1_000, 10), (100_000, 5), (100_000, 60), (2_000_000, 60), (2_000_000, 240))
COLUMNS = (7, 28, 112)
_MILLION = 1_000_000


def _named(n_rows: int) -> dict[str, runner.Job]:
    """Return the jobs of one size of the known table."""
    return {
        f"known-ours-{n_rows}": partial(fits.fit_ours, "known", n_rows),
        f"known-lightgbm-{n_rows}": partial(fits.fit_lightgbm, "known", n_rows),
    }


JOBS: dict[str, runner.Job] = {
    **{name: job for n_rows in ROWS for name, job in _named(n_rows).items()},
    **{
        f"limit-{n_rows}-{limit}": partial(fits.fit_ours, "known", n_rows, limit)
        for n_rows, limit in LIMITS
    },
    "explain-one": partial(fits.explain, "known", _MILLION, 200_000, 1),
    "explain-two": partial(fits.explain, "known", _MILLION, 200_000, 2),
    "wide-1000x100000": partial(fits.wide, 100_000, 1_000, 120.0),
    "wide-30000x1000": partial(fits.wide, 1_000, 30_000, 120.0),
    "wide-100000x1000": partial(fits.wide, 1_000, 100_000, 120.0),
    "higgs-ours-1000000": partial(fits.fit_ours, "higgs", _MILLION),
    "higgs-lightgbm-1000000": partial(fits.fit_lightgbm, "higgs", _MILLION),
    "ids-1000000": partial(fits.many_ids, _MILLION, 60.0),
    "kills": partial(kills, 50),
    "ray-700000": partial(cluster.beside_threads, 700_000, 50_000, 2_048, 2),
    "ray-3000000": partial(cluster.beside_threads, 3_000_000, 200_000, 2_048, 2),
    **{f"cost-{d}": partial(cost.parts_of_a_fit, d) for d in COLUMNS},
}
LARGE: dict[str, runner.Job] = {
    **_named(10 * _MILLION),
    "limit-10000000-120": partial(fits.fit_ours, "known", 10 * _MILLION, 120),
    "explain-large": partial(fits.explain, "known", 10 * _MILLION, 200_000, 1),
    "ids-10000000": partial(fits.many_ids, 10 * _MILLION, 120.0),
    "higgs-ours-10000000": partial(fits.fit_ours, "higgs", 10 * _MILLION),
    "higgs-lightgbm-10000000": partial(fits.fit_lightgbm, "higgs", 10 * _MILLION),
}

if __name__ == "__main__":
    asked = sys.argv[1] if len(sys.argv) > 1 else ""
    if asked == "large":
        sys.argv.pop(1)
        chosen = LARGE
    else:
        chosen = JOBS | (LARGE if asked in LARGE else {})
    runner.main("bench.scale.run", runner.RESULTS / "scale", chosen, write_page)
