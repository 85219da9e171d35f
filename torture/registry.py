"""The campaigns: how many cases each has, how long one may take, and what must hold of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

from torture.case import Outcome

TENTHS = "(tenths of a second of eight threads at work)"  # a count among outcomes


@dataclass(frozen=True)
class Campaign:
    """One campaign; ``small`` and ``full`` count its cases.

    What a release must have seen is said in ``asked`` and counted in ``unit``: cases, rounds (where
    a case tries several things) or seconds. A case that takes longer than ``seconds`` hangs; one
    that holds more than ``memory_mib`` beyond what the process held before is a defect.
    ``in_memory`` says where its files lie: a disk costs time, and is not what every campaign tries.
    """

    name: str
    does: str
    must: str
    small: int
    full: int
    asked: str = ""
    unit: Literal["cases", "rounds", "seconds"] = "cases"
    seconds: float = 60.0
    memory_mib: float = 512.0
    in_memory: bool = False

    @property
    def run(self) -> Callable[[int], Outcome]:
        """The function that runs the case of a seed."""
        found: Callable[[int], Outcome] = import_module(f"torture.campaigns.{self.name}").run
        return found

    def prepare(self) -> None:
        """Make in this process what all cases share, such as a server, before any is timed."""
        first: Callable[[], object] | None
        first = getattr(import_module(f"torture.campaigns.{self.name}"), "prepare", None)
        if first is not None:
            first()

    def cases(self, size: str) -> int:
        """Return how many cases a size asks for."""
        return self.full if size == "full" else self.small


CAMPAIGNS = {
    campaign.name: campaign
    for campaign in (
        Campaign(
            "tables",
            "random tables of every dtype through fit, predict, explain, value, save and load",
            "legal tables: finite, adding up, absent cells 0, loaded bit for bit, whatever the "
            "order of the columns; others refused without a trace",
            small=1_000,
            full=100_000,
            asked="100,000",
            in_memory=True,
        ),
        Campaign(
            "arguments",
            "random arguments of constructors, fit, explain, value, audit, save and load",
            "legal ones work, others are refused in one sentence",
            small=300,
            full=20_000,
            asked="20,000",
            in_memory=True,
        ),
        Campaign(
            "files",
            "damaged and odd CSV, gzip and Parquet files through the command line",
            "exit code 0 with every row, or 1 or 2 with one sentence and nothing written",
            small=300,
            full=20_000,
            asked="20,000",
            in_memory=True,
        ),
        Campaign(
            "models",
            "saved models with changed bytes, or with changed fields and checksums made anew",
            "the same model, another that works, or a SavedFileError",
            small=300,
            full=20_000,
            asked="20,000",
            in_memory=True,
            memory_mib=128.0,
        ),
        Campaign(
            "kills",
            "SIGKILL at a random moment of save, explain, report and explain_batches",
            "the old file or the new one, whole; the next writer cleans up",
            small=60,
            full=1_000,
            asked="1,000, with those of survival",
        ),
        Campaign(
            "survival",
            "SIGKILL at a random moment of fit with a checkpoint, and of a server that answers",
            "the same call goes on to the same weights; the next server answers at the same port, "
            "from untouched files",
            small=20,
            full=400,
            asked="with kills",
        ),
        Campaign(
            "disks",
            "save, report, audit and explanation files on a disk that is full after some bytes",
            "the file before is untouched, or the new one whole; one sentence; nothing left over",
            small=40,
            full=500,
            asked="500",
        ),
        Campaign(
            "signals",
            "SIGINT and SIGTERM at a random moment of the commands fit, explain and report",
            "the old file or the new one, whole; no draft left; the exit code of the manual",
            small=12,
            full=200,
            asked="200",
        ),
        Campaign(
            "concurrent",
            "several processes and threads save and load one path",
            "every load gives one of the saved models, never an error",
            small=10,
            full=360,
            asked="50,000 rounds",
            unit="rounds",
            seconds=120.0,
        ),
        Campaign(
            "threads",
            "eight threads fit, predict, explain and value at once",
            "every result is that of the same call alone; one seed, one model",
            small=4,
            full=600,
            asked="300 s of eight threads",
            unit="seconds",
            seconds=120.0,
        ),
        Campaign(
            "faults",
            "an exception at a random call inside fit with and without a checkpoint, partial_fit, "
            "save, load, report, explain and explain_batches, and once at each input or output of "
            "files and each function of a training step",
            "the state before or the state after, nothing between; where a call can go on, it does",
            small=100,
            full=5_000,
            asked="every stage",
        ),
        Campaign(
            "requests",
            "requests of four protocols to a server, as they should be and changed at random",
            "what the model says, or a refusal in one sentence; never a status of 500, nothing "
            "about files and code",
            small=500,
            full=10_000,
        ),
        Campaign(
            "hostile",
            "requests to every route of a real server, drawn from its OpenAPI schema, and tricks "
            "on its socket: paths, keys, heads, slow, huge, deep and doubled bodies",
            "an answer, or a refusal in one sentence; no status of 500, no hang, nothing about "
            "files and rows",
            small=100,
            full=3_000,  # more than ten thousand requests
        ),
        Campaign(
            "pages",
            "reports of tables with poisoned names and levels, opened in a browser",
            "no script of theirs runs, nothing is fetched, the numbers are shown",
            small=8,
            full=500,
            asked="500",
            seconds=120.0,
            memory_mib=1024.0,
        ),
    )
}
