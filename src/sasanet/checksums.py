"""SHA-256 of records and weights: what was changed after it was saved is noticed.

A checksum notices accidents. It is no protection from somebody who edits a file on purpose and
computes it anew: for that a description can be signed with a key.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
from typing import Any

from safetensors.torch import save as write_tensors
from torch import Tensor, nn


def sealed(record: dict[str, Any]) -> dict[str, Any]:
    """Add a checksum over everything else, so that an edit is noticed."""
    return record | {"seal": seal(record)}


def seal(record: dict[str, Any]) -> str:
    """Return the checksum of a record that JSON can hold."""
    text = json.dumps(record, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def signature(record: dict[str, Any], key: bytes) -> str:
    """Return the HMAC-SHA256 of a record: only who has the key can make it."""
    text = json.dumps(record, sort_keys=True, allow_nan=False)
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def read_json(text: str) -> Any:
    """Parse JSON as its standard has it: no NaN, no infinity, no bottomless nesting."""
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse(constant: str) -> Any:
    raise ValueError(f"JSON has no {constant}")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large")
    return number


def pack_weights(network: nn.Module) -> tuple[bytes, str]:
    """Return a network's weights as safetensors, and their SHA-256: the name a fit has."""
    tensors = {k: v.detach().cpu().contiguous() for k, v in _unshared(network).items()}
    content = write_tensors(tensors)
    return content, hashlib.sha256(content).hexdigest()


def _unshared(network: nn.Module) -> dict[str, Tensor]:
    """Return the weights, each tensor once: an embedding shared by both modules has two names."""
    seen: set[int] = set()
    kept = {}
    for name, tensor in network.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            kept[name] = tensor
    return kept
