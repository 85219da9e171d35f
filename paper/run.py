"""``make paper``: run what is missing of every experiment, then write docs/paper.md.

``SASANET_PAPER=quick`` runs the same on small samples, in minutes, and leaves the docs alone.
"""

from __future__ import annotations

from bench import runner

from paper import figures, masking, prediction, timing, values
from paper.page import write_page
from paper.settings import is_quick, results_folder


def all_jobs() -> dict[str, runner.Job]:
    """Return the jobs of all experiments."""
    rooms = (prediction, masking, timing, values, figures)
    return {name: job for room in rooms for name, job in room.jobs().items()}


if __name__ == "__main__":
    # Starting a process takes longer than most of the quick jobs.
    runner.main(
        "paper.run", results_folder(), all_jobs(), write_page, not is_quick(), prediction.is_done
    )
