"""``sasanet export``: a model as one ONNX file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sasanet.cli import options
from sasanet.cli.files.writing import check_free
from sasanet.cli.terminal import Terminal, command


@command
def export(
    terminal: Terminal,
    model: options.ModelPath,
    out: Annotated[Path, typer.Argument(metavar="FILE", help="ONNX file to write.")],
    force: options.Force = False,
) -> None:
    """Write a model as one ONNX file, to predict without Python."""
    check_free(out, force)
    from sasanet.cli.files.model_rows import load_model

    load_model(model, terminal).to_onnx(out)
    terminal.say(f"Written to {out}.")
    terminal.result({"out": str(out)})
