"""All commands under one name."""

from __future__ import annotations

from typing import Annotated

import typer

import sasanet
from sasanet.cli.audit import audit
from sasanet.cli.compare import compare
from sasanet.cli.demo import demo
from sasanet.cli.explain import explain
from sasanet.cli.fit import fit
from sasanet.cli.inspect import inspect
from sasanet.cli.predict import predict
from sasanet.cli.report import report

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
for command in (fit, predict, explain, audit, report, inspect, demo, compare):
    app.command()(command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sasanet {sasanet.__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which it is.")
    ] = False,
) -> None:
    """Fit and use a tabular model that is its own explanation."""
    del version  # the callback has answered
