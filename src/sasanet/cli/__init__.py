"""The command line ``sasanet``: tables in files to models, predictions, explanations and reports.

``commands`` has one file per command, ``files`` reads and writes tables, ``comparison`` fits and
evaluates other models; ``terminal`` prints, and turns errors into sentences and exit codes.

Help and shell completion need only the names and options of the commands, so every command's module
can be imported without pandas and torch: what works with tables or models is imported inside the
function that does the work, after the checks that need neither.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from types import FrameType

ENDED = 128 + signal.SIGTERM  # the exit code that shells give to a process ended by this signal


def _leave(number: int, frame: FrameType | None) -> None:
    """Leave by an exception: drafts of files are removed on the way out."""
    del number, frame
    raise SystemExit(ENDED)


def main() -> None:
    """Run the command line; without its packages, say how to install them."""
    from sasanet.errors import MissingPackageError

    try:
        from sasanet.cli.app import app
        from sasanet.cli.terminal import escape_unprintable
    except ModuleNotFoundError as error:
        if (missing := error.name or "").split(".")[0] not in ("typer", "rich"):
            raise
        sys.stderr.write(f"{MissingPackageError(missing, 'cli')}\n")
        raise SystemExit(1) from None
    escape_unprintable()
    with contextlib.suppress(ValueError):  # only a main thread takes signals
        signal.signal(signal.SIGTERM, _leave)
    app(prog_name="sasanet")
