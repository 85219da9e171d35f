"""Fits that survive being killed: what has been done is in a folder, and the same call goes on.

Two things take time and are kept: the soft labels, and the state of training. Reading and encoding
are done again. A folder belongs to one fit: other data, parameters or versions are refused.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import sasanet
from sasanet.checksums import seal
from sasanet.errors import InvalidInputError
from sasanet.teachers import SoftLabels
from sasanet.training.checkpoint import Checkpoint, read_state, write_state
from sasanet.training.shared.fellows import Alone
from sasanet.whole_files import check_can_make, read_path, remove_stale_drafts

if TYPE_CHECKING:
    from sasanet.estimator.fitting.data import FitData

_SOFT_LABELS = "soft_labels.safetensors"


class Survival:
    """The folder of one fit, which its workers share."""

    def __init__(self, folder: Path, identity: str, fellows: Alone) -> None:
        self.folder, self.identity, self.fellows = folder, identity, fellows

    def checkpoint(self, stage: int) -> Checkpoint:
        """Return the file of one stage of training: the first, or a further round."""
        return Checkpoint(self.folder, f"training-{stage}", self.identity, self.fellows)

    @classmethod
    def begin(
        cls, folder: str | Path, kind: str, parameters: Mapping[str, Any], data: FitData
    ) -> Survival:
        """Make the folder, or find what a fit of these data and parameters has left there."""
        place = read_path(folder)
        if place.exists() and not place.is_dir():
            raise InvalidInputError(f"checkpoint must be a folder, got the file {place}.")
        check_can_make(place)
        place.mkdir(parents=True, exist_ok=True)
        data.fellows.once(lambda: remove_stale_drafts(place))
        found = cls(place, _identity(kind, parameters, data), data.fellows)
        found.checkpoint(0).load()  # of another fit: refused before teachers begin
        return found

    def soft_labels(self, soften: Callable[[], SoftLabels]) -> SoftLabels:
        """Return the soft labels that were kept, or make and keep them."""
        path = self.folder / _SOFT_LABELS
        if (kept := read_state(path, self.identity)) is not None:
            arrays = {name: tensor.numpy() for name, tensor in kept[0].items()}
            record = kept[1]["soft"]
            return SoftLabels(**record | arrays | {"panel": tuple(map(tuple, record["panel"]))})
        soft = soften()
        fields = {field.name: getattr(soft, field.name) for field in dataclasses.fields(soft)}
        tensors = {
            name: torch.from_numpy(np.ascontiguousarray(value))
            for name, value in fields.items()
            if isinstance(value, np.ndarray)
        }
        record = {name: value for name, value in fields.items() if name not in tensors}
        write_state(path, tensors, {"identity": self.identity, "soft": record})
        return soft


def check_seed(random_state: Any) -> None:
    """Refuse a fit whose same call would be another fit."""
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        raise InvalidInputError(
            "random_state must be a whole number with a checkpoint, so that the same call is the "
            f"same fit, got {random_state!r}"
        )


def _identity(kind: str, parameters: Mapping[str, Any], data: FitData) -> str:
    """Return a checksum of everything that a fit depends on."""
    stop = data.validation
    arrays = [data.cells, data.labels, data.weights, data.kept]
    arrays += [] if stop is None else [stop.cells.cpu().numpy(), stop.targets.cpu().numpy()]
    # How much is said while it runs changes nothing.
    settings = {name: repr(value) for name, value in parameters.items() if name != "verbose"}
    record = {
        "version": sasanet.__version__,
        "torch": torch.__version__,
        "kind": kind,
        "parameters": settings,
        "columns": data.encoder.to_dict(),
        "target": repr(data.target),
        "rows": [data.n_rows, data.seed, data.fellows.size],
        "arrays": [hashlib.sha256(np.ascontiguousarray(a).data).hexdigest() for a in arrays],
    }
    return seal(record)
