"""All commands under one name."""

from __future__ import annotations

from typing import Annotated

import typer

import sasanet
from sasanet.cli.commands.audit import audit
from sasanet.cli.commands.compare import compare
from sasanet.cli.commands.deciding import reasons, recourse
from sasanet.cli.commands.demo import demo
from sasanet.cli.commands.deployment import explore, export, serve
from sasanet.cli.commands.drift import cohorts, drift
from sasanet.cli.commands.explain import explain
from sasanet.cli.commands.fit import fit
from sasanet.cli.commands.inspect import inspect
from sasanet.cli.commands.interactions import interactions
from sasanet.cli.commands.predict import predict
from sasanet.cli.commands.report import report

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
_COMMANDS = (
    fit,
    predict,
    explain,
    interactions,
    reasons,
    recourse,
    audit,
    drift,
    cohorts,
    report,
    inspect,
    export,
    serve,
    explore,
    demo,
    compare,
)
for command in _COMMANDS:
    app.command()(command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sasanet {sasanet.__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Fit and use a tabular model that is its own explanation."""
    del version  # handled by its callback
