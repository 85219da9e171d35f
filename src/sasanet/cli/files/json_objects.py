"""JSON files that name things: groups of columns, codes of reasons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sasanet.errors import InvalidInputError


def read_object(path: Path | None, option: str, example: str) -> dict[str, Any] | None:
    """Return the one object that a JSON file holds; None if there is no file.

    A name that stands twice is refused: the first of the two would be lost without a word.
    """
    if path is None:
        return None
    try:
        found = json.loads(path.read_text("utf-8"), object_pairs_hook=_once)
    except (OSError, ValueError, RecursionError) as error:  # ValueError: neither UTF-8 nor JSON
        raise InvalidInputError(
            f"{option} must be a JSON file such as {example}, got {path}: {error}"
        ) from None
    if not isinstance(found, dict):
        raise InvalidInputError(
            f"{option} must hold a JSON object such as {example}, got {path} with a "
            f"{type(found).__name__}"
        )
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(n for n in names if names.count(n) > 1)!r} stands there twice")
    return found
