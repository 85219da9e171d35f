"""Named jobs in, one small JSON file each out: the one runner of every benchmark.

Each job runs in a process of its own (its peak memory is its own), unless many small ones share
one, and is skipped when its file exists: a run that was stopped resumes. When all are done their
page is written.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
Job = Callable[[], dict[str, Any]]


def peak_gib() -> float:
    """Return the most memory this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def written(result: dict[str, Any]) -> str:
    """Return a result as JSON that reads well in a diff: a key a line, a list of numbers a line."""
    text = json.dumps(result, indent=1, default=float)
    numbers = re.compile(r"\[\n([-+.\deE,\s]+)\n\s*\]")
    return numbers.sub(lambda found: f"[{' '.join(found[1].split())}]", text) + "\n"


def _run(job: Job, file: Path) -> None:
    start = time.perf_counter()
    result = job()
    result |= {"peak_gib": peak_gib(), "job_seconds": time.perf_counter() - start}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(written(result))


def main(
    module: str,
    folder: Path,
    jobs: dict[str, Job],
    write_page: Callable[[Path], None],
    apart: bool = True,
    is_done: Callable[[Path], bool] = Path.exists,
) -> None:
    """Run the job named on the command line, or those that are not done, then write the page."""
    asked = sys.argv[1] if len(sys.argv) > 1 else ""
    if asked in jobs:
        _run(jobs[asked], folder / f"{asked}.json")
        return
    for name in asked_for(asked, jobs):
        if not is_done(file := folder / f"{name}.json"):
            print(f"{name} …", flush=True)
            if apart:
                subprocess.run([sys.executable, "-m", module, name], check=True)
            else:
                _run(jobs[name], file)
            write_page(folder)
    write_page(folder)


def asked_for(asked: str, jobs: dict[str, Job]) -> list[str]:
    """Return the jobs whose names begin with the words asked for; all, if there are none."""
    found = [name for name in jobs if f"{name}-".startswith(f"{asked}-") or not asked]
    if not found:
        known = sorted({name.split("-")[0] for name in jobs})
        raise SystemExit(
            f"A job's name, or the words some begin with, must be given, got {asked!r}; "
            f"choose from {', '.join(known)}, or name a job such as {next(iter(jobs))}."
        )
    return found
