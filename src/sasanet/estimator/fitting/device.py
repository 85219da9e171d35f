"""Where a network is trained."""

from __future__ import annotations

import torch

from sasanet.errors import InvalidInputError


def pick_device(device: str) -> torch.device:
    """Return the named device, or the fastest one present."""
    if device != "auto":
        try:
            return torch.empty(0, device=device).device
        except (RuntimeError, AssertionError, TypeError, ValueError) as error:
            raise InvalidInputError(
                f"device must be 'auto' or one torch can use here, got {device!r} "
                f"({str(error).splitlines()[0]})"
            ) from None
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
