"""Models by name, each with its version; a changed folder is loaded again while the old one serves.

A request keeps the model that it began with, so a change drops nothing. A folder that cannot be
loaded leaves the model that was there.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sasanet.errors import InvalidInputError, SasanetError
from sasanet.estimator.sasanet import SASANetModel
from sasanet.persistence import load
from sasanet.serve.limits import Refusal
from sasanet.serve.metrics import Metrics
from sasanet.serve.reading import shown
from sasanet.table.columns import Column
from sasanet.table.one_row import RowReader
from sasanet.whole_files import read_path

_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)
_DESCRIPTION = "model.json"  # replaced in one step when a model is saved
_LOG = logging.getLogger("sasanet.serve")


@dataclass(frozen=True, eq=False)
class Served:
    """One version of a model, under its name."""

    name: str
    version: str  # the first digits of its description's SHA-256, which names the weights too
    model: SASANetModel

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns of training."""
        return self.model.encoder_.columns

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def labels(self) -> tuple[object, ...]:
        """The classes; none of a regressor."""
        return self.model.target_.labels

    @cached_property
    def reader(self) -> RowReader | None:
        """What reads rows without a table around them; none where cells are bags."""
        if any(column.parts for column in self.columns):
            return None
        return RowReader(self.columns, self.model.encoder_.numbers)


class Registry:
    """The models of one application."""

    def __init__(self, folders: Mapping[str, Path], metrics: Metrics) -> None:
        self._folders, self._metrics = dict(folders), metrics
        self._served: dict[str, Served] = {}
        self._refused: dict[str, str] = {}  # versions that could not be loaded: tried once
        for name in folders:
            self._put(self._load(name))

    def __iter__(self) -> Iterator[Served]:
        return iter(self._served.values())

    def __len__(self) -> int:
        return len(self._served)

    def find(self, name: str | None) -> Served:
        """Return a model by name; without one, the only model."""
        if name is None and len(self._served) == 1:
            return next(iter(self._served.values()))
        if name is None:
            raise Refusal(422, f"Name one of the models in '?model=': {sorted(self._served)}.")
        if name not in self._served:
            raise Refusal(404, f"There is no model {shown(name)}; GET /models lists them.")
        return self._served[name]

    def reload(self) -> None:
        """Load every model whose folder has changed; one that cannot be read stays as it was."""
        for name, folder in self._folders.items():
            version = _version(folder)
            if version in (self._served[name].version, self._refused.get(name)):
                continue
            try:
                self._put(self._load(name))
                outcome = "loaded"
            except (SasanetError, OSError):
                self._refused[name] = version
                outcome = "refused"
            self._metrics.reloads.labels(name, outcome).inc()
            _LOG.info("reload", extra={"fields": {"model": name, "outcome": outcome}})

    async def watch(self, seconds: float) -> None:
        """Look for changes for ever, in a thread of its own."""
        while True:
            await asyncio.sleep(seconds)
            await asyncio.to_thread(self.reload)

    def _load(self, name: str) -> Served:
        folder = self._folders[name]
        while True:  # until no saver has replaced the model in between
            version = _version(folder)
            served = Served(name, version, load(folder))
            if version == _version(folder):
                return served

    def _put(self, served: Served) -> None:
        self._metrics.observe_model(served, self._served.get(served.name))
        self._served[served.name] = served


def _version(folder: Path) -> str:
    """Return the digits that name the model in a folder; none where there is no model."""
    try:
        return hashlib.sha256((folder / _DESCRIPTION).read_bytes()).hexdigest()[:12]
    except OSError:
        return ""


def read_folders(given: Sequence[str | Path]) -> dict[str, Path]:
    """Return folders by name: each is ``PATH``, named as its folder is, or ``NAME=PATH``.

    Examples
    --------
    >>> [*read_folders(["models/credit", "risk=models/v2"])]
    ['credit', 'risk']
    """
    found: dict[str, Path] = {}
    for one in given:
        name, equals, path = str(one).partition("=")
        folder = read_path(path if equals else one)
        name = name if equals else folder.resolve().name
        if not _NAME.fullmatch(name):
            raise InvalidInputError(
                "A model's name must be of letters, digits, '.', '_' and '-', at most 64, got "
                f"{name!r}; name it with NAME=PATH"
            )
        if name in found:
            raise InvalidInputError(
                f"Models must have different names, got {name!r} twice; name one with NAME=PATH"
            )
        found[name] = folder
    if not found:
        raise InvalidInputError("At least one model must be given, got none")
    return found
