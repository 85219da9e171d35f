"""``sasanet audit``: measure how faithful the explanations of a model are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sasanet.cli import options
from sasanet.cli.files.writing import check_free
from sasanet.cli.terminal import Terminal, command
from sasanet.errors import InvalidInputError
from sasanet.whole_files import check_can_make, replacing

if TYPE_CHECKING:
    from sasanet.estimator.sasanet import SASANetModel


@command
def audit(
    terminal: Terminal,
    model: options.ModelPath,
    table: options.TablePath,
    target: options.LabelColumn = None,
    rows: Annotated[int, typer.Option(help="Rows to audit, drawn at random.", min=2)] = 256,
    orders: Annotated[int, typer.Option(help="Random orders per row.", min=4)] = 400,
    out: Annotated[
        Path | None, typer.Option(help="JSON file to write as well.", show_default=False)
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Save the certificate with the model.")
    ] = False,
    exposure: options.Exposure = None,
    groups: options.GroupsFile = None,
    within: options.Within = False,
    units: options.UnitsOfPhi = options.Units.raw,
    method: options.MethodOfPhi = options.Method.auto,
    interactions: Annotated[
        bool, typer.Option("--interactions", help="Audit the interactions of pairs too.")
    ] = False,
    encoding: options.Encoding = "utf-8",
    force: options.Force = False,
) -> None:
    """Measure how faithful the explanations are, on rows best not seen in training."""
    if out is not None:
        check_free(out, force, table)
    from sasanet.cli.files.json_objects import read_object
    from sasanet.cli.files.model_rows import load_model, read_rows

    grouped = read_object(groups, "--groups", '{"address": ["street", "zip"]}')
    plain = grouped is None and units == options.Units.raw and method == options.Method.auto
    if keep and not plain:
        raise InvalidInputError(
            "--keep saves the certificate of the plain explanation, got --groups, --units or "
            "--method beside it; leave one out"
        )
    fitted = load_model(model, terminal)
    if keep:
        _check_can_keep(fitted, model, force)
    if exposure and not target:
        raise InvalidInputError("--exposure goes with --target, got it alone; add --target.")
    read = read_rows(terminal, fitted, table, encoding, target, exposure=exposure)
    with terminal.progress(f"auditing {min(rows, len(read.X))} rows"):
        certificate = fitted.audit(
            read.X,
            read.y,
            n_rows=rows,
            n_orders=orders,
            groups=grouped,
            within=within,
            units=units,
            method=method,
            exposure=read.exposure,
            interactions=interactions,
        )
    if out is not None:
        with replacing(out) as draft:
            certificate.save(draft)
    if keep:
        fitted.save(model)
    terminal.say(str(certificate))
    terminal.result(certificate.to_dict())


def _check_can_keep(fitted: SASANetModel, folder: Path, force: bool) -> None:
    """Refuse ``--keep`` before the audit where it would fail or replace something after it."""
    if hasattr(fitted, "audit_") and not force:
        raise InvalidInputError(
            f"{folder} has a certificate already; leave out --keep, or add --force to replace it."
        )
    check_can_make(folder)
