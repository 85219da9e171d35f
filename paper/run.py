"""``make paper``: run what is missing of every experiment, then write docs/measured/paper.md.

``SASANET_PAPER=quick`` runs the same on small samples, in minutes, and leaves the docs alone.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from bench import runner
from paper import figures, masking, prediction, timing, values
from paper.page import write_page
from paper.settings import digest, is_quick, results_folder

_OTHERS = {"masking": masking, "timing": timing, "values": values, "figures": figures}


def all_jobs() -> dict[str, runner.Job]:
    """Return the jobs of all experiments."""
    found = prediction.jobs()
    for experiment, room in _OTHERS.items():
        for name, job in room.jobs().items():
            found[name] = partial(_stamped, experiment, job)
    return found


def _stamped(experiment: str, job: runner.Job) -> dict[str, Any]:
    """Return a result with the settings it was measured with."""
    return job() | {"settings": digest(experiment)}


def is_done(file: Path) -> bool:
    """Tell whether a result is there, and is what the settings ask for."""
    if not file.exists():
        return False
    found, experiment = json.loads(file.read_text()), file.stem.split("-")[0]
    if experiment == "prediction":
        return prediction.is_current(found)
    return found.get("settings") == digest(experiment)


if __name__ == "__main__":
    # Starting a process takes longer than most of the quick jobs.
    runner.main("paper.run", results_folder(), all_jobs(), write_page, not is_quick(), is_done)
