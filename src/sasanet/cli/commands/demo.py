"""``sasanet demo``: the main job on real credit applications, from table to page."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Annotated

import typer

from sasanet.cli import options
from sasanet.cli.terminal import Terminal, command
from sasanet.errors import InvalidInputError


@command
def demo(
    terminal: Terminal,
    out: Annotated[Path, typer.Option(help="The directory to write.")] = Path("demo-output"),
    force: options.Force = False,
) -> None:
    """Fit German credit, compare with LightGBM, audit, explain, and leave a page to open."""
    if out.exists() and not force:
        raise InvalidInputError(
            f"{out} exists already; choose another --out, or add --force to replace it."
        )
    from sasanet.cli.demonstration import main

    silent = terminal.quiet or terminal.as_json
    with contextlib.redirect_stdout(io.StringIO()) if silent else contextlib.nullcontext():
        main(out, verbose=terminal.is_watched)
    terminal.result({"out": str(out), "page": str(out / "index.html")})
