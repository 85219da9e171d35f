"""The command line ``sasanet``: files in, files and words out, by the package's public names.

One file per command. ``reading`` opens tables, whole or in chunks; ``columns`` turns their cells
into what a model learns from or expects; ``answers`` turns what it says into columns to write;
``writing`` keeps existing files safe; ``terminal`` talks.

Help and the shell's completion need only what commands are called and take, so every command's
module can be read without pandas and torch: what works with tables or models is imported inside the
function that does the work, after the checks that need neither.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; without its packages, say how to install them."""
    from sasanet.errors import MissingPackageError

    try:
        from sasanet.cli.app import app
    except ModuleNotFoundError as error:
        if (missing := error.name or "").split(".")[0] not in ("typer", "rich"):
            raise
        sys.stderr.write(f"{MissingPackageError(missing, 'cli')}\n")
        raise SystemExit(1) from None
    app(prog_name="sasanet")
