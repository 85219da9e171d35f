"""Parquet tables into a folder of Parquet files: bounded memory, all cores, resumed if repeated."""

from __future__ import annotations

import time
from pathlib import Path

from sasanet.cli.terminal import Terminal
from sasanet.estimator.sasanet import SASANetModel
from sasanet.scale.batches import run
from sasanet.scale.parts import clear
from sasanet.scale.work import Work


def write_folder(
    terminal: Terminal,
    model: SASANetModel,
    table: Path,
    out: Path,
    work: Work,
    row_name: str | None,
    force: bool,
) -> None:
    """Do this work on every row: with ``--force`` anew, otherwise from where it stopped."""
    if force:
        clear(out)
    start = time.perf_counter()
    keep = () if row_name is None else (row_name,)
    with terminal.progress(f"working on {table.name}") as tick:
        written = run(model, table, out, work, keep, tick=tick)
    seconds = time.perf_counter() - start
    resumed = f", {written.n_resumed} of them were there already" if written.n_resumed else ""
    terminal.say(
        f"Wrote {written.n_rows:,} rows in {written.n_parts} files to {out} in {seconds:.1f} s"
        f"{resumed}."
    )
    terminal.result(
        {
            "out": str(out),
            "rows": written.n_rows,
            "files": written.n_parts,
            "resumed": written.n_resumed,
            "seconds": round(seconds, 3),
        }
    )
