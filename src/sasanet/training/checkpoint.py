"""Training that survives being killed: its whole state in one file, replaced in one step.

The file holds weights, the optimizer's moments, the generators and the place in the epoch's order,
so that training goes on as if nothing had happened. It is safetensors: no code is run to read it.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors
import torch
from safetensors.torch import save as write_tensors
from torch import Tensor

from sasanet.errors import SavedFileError
from sasanet.training.shared.fellows import Alone
from sasanet.whole_files import write_whole

FORMAT = 1
_SHARE = 0.05  # of the time may go into checkpoints
_OWN = ("generator.", "epoch_start", "losses")  # differ between the workers of one training


class Checkpoint:
    """A file with the state of one training, renewed as often as that is cheap.

    Parameters
    ----------
    folder : Path
        An existing folder.
    name : str
        Of the file.
    identity : str
        What is trained on what: a checkpoint of something else is refused.
    fellows : Alone, optional
        Workers who train the same network: the first one writes the file, which also holds what is
        each one's own, their generators and places in the order of their rows.
    """

    def __init__(
        self, folder: Path, name: str, identity: str, fellows: Alone | None = None
    ) -> None:
        self.fellows = fellows or Alone()
        self.path, self.identity = folder / f"{name}.safetensors", identity
        self.next = -math.inf  # by the clock of all workers

    def due(self) -> bool:
        """Tell whether the state should be written again."""
        return self.fellows.clock() >= self.next

    def save(self, tensors: Mapping[str, Tensor], record: Mapping[str, Any]) -> None:
        """Replace the file; what it held before stays until the new one is whole."""
        own = {name: value for name, value in tensors.items() if name.startswith(_OWN)}
        every = self.fellows.each(lambda: own)
        whole = {name: value for name, value in tensors.items() if name not in own}
        for rank, found in enumerate(every):
            whole |= {f"{rank}.{name}": value for name, value in found.items()}

        def write() -> float:
            start = time.monotonic()
            write_state(self.path, whole, {**record, "identity": self.identity})
            return time.monotonic() - start

        seconds = self.fellows.once(write)
        self.next = self.fellows.clock() + seconds / _SHARE

    def load(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Return the state that was saved last, if there is one, and refuse another training's."""
        found = self.fellows.once(lambda: read_state(self.path, self.identity))
        if found is None:
            return None
        tensors, record = found
        mine = part_of(tensors, f"{self.fellows.rank}.")
        return {n: t for n, t in tensors.items() if not n[0].isdigit()} | mine, record


def write_state(path: Path, tensors: Mapping[str, Tensor], record: Mapping[str, Any]) -> None:
    """Write tensors and a record that JSON can hold as one file, whole or not at all."""
    # Copies: an embedding that two modules share would be refused.
    kept = {name: tensor.detach().cpu().clone() for name, tensor in tensors.items()}
    text = json.dumps({**record, "format": FORMAT})
    write_whole(path, write_tensors(kept, metadata={"record": text}))


def read_state(path: Path, identity: str) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """Return what :func:`write_state` wrote, or None where there is nothing."""
    if not path.exists():
        return None
    try:
        with safetensors.safe_open(str(path), framework="pt") as file:
            record = json.loads((file.metadata() or {})["record"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        known, format_ = record["identity"], record["format"]
    except Exception as error:
        raise SavedFileError(
            f"{path} must be a checkpoint of this package, got {type(error).__name__}; delete it "
            "to begin anew."
        ) from None
    if (known, format_) != (identity, FORMAT):
        raise SavedFileError(
            f"{path} must be a checkpoint of the same data, parameters and version, got one of "
            "others; choose another folder, or delete it to begin anew."
        )
    return tensors, record


def pack_generators(generators: Mapping[str, torch.Generator]) -> dict[str, Tensor]:
    """Return the states of generators, by name."""
    return {f"generator.{name}": one.get_state() for name, one in generators.items()}


def unpack_generators(
    generators: Mapping[str, torch.Generator], tensors: Mapping[str, Tensor]
) -> None:
    """Put generators into the states that were packed."""
    for name, one in generators.items():
        one.set_state(tensors[f"generator.{name}"])


def part_of(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the tensors whose names begin so, without that beginning."""
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
