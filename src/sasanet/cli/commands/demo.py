"""``sasanet demo``: everything on real credit applications, from table to report."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Annotated

import typer

from sasanet.cli import options
from sasanet.cli.terminal import Terminal, command
from sasanet.errors import InvalidInputError
from sasanet.whole_files import check_can_make


@command
def demo(
    terminal: Terminal,
    out: Annotated[Path, typer.Option(help="Directory to write.")] = Path("demo-output"),
    force: options.Force = False,
) -> None:
    """Fit German credit, compare with LightGBM, audit, explain, and write a report to open."""
    if out.exists() and not force:
        raise InvalidInputError(
            f"{out} exists already; choose another --out, or add --force to replace it."
        )
    check_can_make(out)
    from sasanet.cli.demonstration import main

    silent = terminal.quiet or terminal.as_json
    with contextlib.redirect_stdout(io.StringIO()) if silent else contextlib.nullcontext():
        main(out, verbose=terminal.is_watched)
    terminal.result({"out": str(out), "page": str(out / "index.html")})
