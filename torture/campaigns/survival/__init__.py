"""SIGKILL at a random moment of a fit with a checkpoint, and of a server that answers.

The same call goes on to the weights that it would have had, and leaves nothing of the killed one
but its checkpoint. The next server answers at the same port, from the same files.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from torture.campaigns.survival.fits import kill_a_fit
from torture.campaigns.survival.servers import kill_a_server
from torture.case import Outcome
from torture.draw import Draw

TARGETS = (kill_a_fit, kill_a_fit, kill_a_fit, kill_a_server)


def run(seed: int) -> Outcome:
    """Kill one fit or one server, and let the next one take its place."""
    draw = Draw("survival", seed)
    target = draw.one_of(TARGETS)
    with tempfile.TemporaryDirectory(prefix="torture-") as place:
        return Outcome.of(target(draw, Path(place)))
