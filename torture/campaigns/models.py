"""Saved models with changed bytes, or with changed fields whose checksums were made anew.

A change of bytes must be noticed, or change nothing. Somebody who makes the checksums anew may make
another model of it, which must then work like any other; everything else is a ``SavedFileError``.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors.torch import load as read_tensors
from safetensors.torch import save as write_tensors

from sasanet import load
from sasanet.checksums import sealed
from sasanet.errors import SasanetError, SavedFileError
from torture.case import REFUSED, Outcome, check_sentence, expect, watched_warnings
from torture.draw import Draw
from torture.models import check_sums, models_of_every_kind, raw, same_answers

SAME, ANOTHER = "the same model", "another model that works"
OVERFLOWING = "another model, of huge numbers that were put in"
_LARGE = 1e9  # standard deviations, beyond which float32 cannot add up
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 0.5, 1e308, -1e308, 1e-300, 10**9, 10**18, 10**400, "", "x",
    "set", "relu", [], [0], [1, 2], [40_000, 40_000], [10**9], ["a"], [[]], {}, {"a": 1}, "\ud800",
    "../../etc/passwd", "0" * 64, [0.5, 0.5], [None], "number", "category", 2**53 + 1, -0.0,
)  # fmt: skip


@functools.cache
def _saved() -> tuple[tuple[Path, Any, pd.DataFrame], ...]:
    """Return models of every kind, each with its directory and rows to ask it about."""
    kept: list[tuple[Path, Any, pd.DataFrame]] = []
    for model, X in models_of_every_kind():
        folder = Path(tempfile.mkdtemp(prefix="torture-models-"))
        model.save(folder)
        kept.append((folder, model, X[:5]))
    return tuple(kept)


def run(seed: int) -> Outcome:
    """Change one saved model and load it."""
    draw = Draw("models", seed)
    source, model, X = draw.one_of(_saved())
    with tempfile.TemporaryDirectory() as place, watched_warnings():
        folder = Path(place) / "model"
        shutil.copytree(source, folder)
        resealed = draw.happens(0.6)
        (_change_and_seal if resealed else _change_bytes)(draw, folder)
        try:
            loaded = load(folder)
        except SavedFileError as error:
            check_sentence(error)
            return Outcome.of(REFUSED)
        if same_answers(loaded, model, X) if _same_columns(loaded, model) else False:
            return Outcome.of(SAME)
        expect(resealed, "changed bytes went unnoticed")
        return Outcome.of(_use(loaded, X))


def _same_columns(one: Any, other: Any) -> bool:
    return type(one) is type(other) and vars(one.encoder_) == vars(other.encoder_)


def _use(model: Any, X: pd.DataFrame) -> str:
    """Use a model that somebody made: it works, or refuses rows in one sentence."""
    try:
        with np.errstate(all="ignore"):
            sizes = np.abs(raw(model, X)).max(), np.abs(model.explain(X).values).max()
        if not np.max(sizes) < _LARGE * model.target_.scale:  # huge numbers were put in
            return OVERFLOWING
        check_sums(model, X)
    except SasanetError as error:
        check_sentence(error)
        return "another model, which refuses these rows"
    return ANOTHER


def _change_bytes(draw: Draw, folder: Path) -> None:
    """Damage one file, or remove it, or put a file of another model in its place."""
    path = draw.one_of(sorted(folder.iterdir()))
    content = bytearray(path.read_bytes())
    what = draw.one_of(("flip", "flip", "cut", "insert", "zeros", "double", "remove", "other"))
    place = draw.between(0, max(0, len(content) - 1))
    if what == "flip" and content:
        content[place] ^= 1 << draw.between(0, 7)
    elif what == "cut":
        del content[place:]
    elif what == "insert":
        content[place:place] = draw.random.randbytes(draw.between(1, 50))
    elif what == "zeros":
        content[place : place + 20] = bytes(20)
    elif what == "double":
        content = content * 2
    if what == "remove":
        path.unlink()
        return
    if what == "other":
        others = sorted(draw.one_of(_saved())[0].iterdir())
        content = bytearray(draw.one_of(others).read_bytes())
    path.write_bytes(bytes(content))


def _change_and_seal(draw: Draw, folder: Path) -> None:
    """Change fields or weights, and make every checksum anew."""
    description = json.loads((folder / "model.json").read_text("utf-8"))
    del description["seal"]
    if draw.happens(0.2):
        _change_weights(draw, folder, description)
    for _ in range(draw.between(1, 2)):
        _change_field(draw, description)
    if draw.happens(0.02):
        text = '{"format": 1, "seal": ' + "[" * 10**5 + "]" * 10**5 + "}"
    else:
        try:
            text = json.dumps(sealed(description))
        except ValueError:
            text = json.dumps(description | {"seal": "0" * 64})  # with NaN there is no checksum
    (folder / "model.json").write_text(text, "utf-8", errors="surrogatepass")


def _place(draw: Draw, inside: Any) -> tuple[Any, Any]:
    """Return a place in nested data: a list or dictionary, and a key of it."""
    while True:
        key = draw.one_of(list(inside) if isinstance(inside, dict) else range(len(inside)))
        if not (isinstance(inside[key], dict | list) and inside[key]) or draw.happens(0.05):
            return inside, key
        inside = inside[key]


def _change_field(draw: Draw, description: dict[str, Any]) -> None:
    """Replace, remove, add or copy one value somewhere inside."""
    inside, key = _place(draw, description)
    what = draw.one_of(("replace", "replace", "replace", "replace", "remove", "add", "near", "nan"))
    if what == "remove":
        del inside[key]
    elif what == "add" and isinstance(inside, dict):
        inside["strange"] = draw.one_of(_VALUES)
    elif what == "add":
        inside.append(copy.deepcopy(inside[key]))
    elif what == "near" and isinstance(inside[key], int | float):
        inside[key] = inside[key] * draw.one_of((2, -1, 1.5)) + draw.one_of((0, 1))
    elif what == "nan":
        inside[key] = draw.one_of((float("nan"), float("inf")))
    else:
        inside[key] = copy.deepcopy(draw.one_of(_VALUES))


def _change_weights(draw: Draw, folder: Path, description: dict[str, Any]) -> None:
    """Write other weights under their right SHA-256."""
    path = next(folder.glob("weights-*"))
    tensors = read_tensors(path.read_bytes())
    name = draw.one_of(sorted(tensors))
    what = draw.one_of(("remove", "rename", "shape", "dtype", "huge", "nan", "other values"))
    tensor = tensors.pop(name)
    if what == "rename":
        tensors["strange"] = tensor
    elif what == "shape":
        tensors[name] = tensor.reshape(-1)[: max(1, tensor.numel() // 2)].clone()
    elif what == "dtype":
        tensors[name] = tensor.double() if draw.happens(0.5) else tensor.int()
    elif what == "huge":
        tensors[name] = tensor * 1e37
    elif what == "nan":
        tensors[name] = tensor * float("nan")
    elif what == "other values":
        tensors[name] = tensor + 0.1
    content = write_tensors(tensors)
    digest = hashlib.sha256(content).hexdigest()
    path.unlink()
    (folder / f"weights-{digest[:16]}.safetensors").write_bytes(content)
    description["weights"] = digest
