"""A saver that tidies up before its own description is in place: the twin of the real one."""

from __future__ import annotations

import time
from pathlib import Path

from sasanet.persistence import folder as model_folder


def write_files(
    folder: Path, description: bytes, weights: bytes, digest: str, audit: object, card: object
) -> None:
    """Write a model as nobody should."""
    del audit, card
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("weights-*"):
        old.unlink(missing_ok=True)
    time.sleep(0.002)
    (folder / model_folder.weights_name(digest)).write_bytes(weights)
    (folder / "model.json").write_bytes(description)
