"""A fitted model in, a directory out, and back: safetensors and JSON, no pickle, no training data.

``model.json`` describes the model and names its weights file together with its SHA-256. Saving
writes the new weights beside the old ones and then replaces ``model.json`` in one step, so a killed
save leaves the old model or the new one, never half of one. Loading runs no code from the files
and checks everything it reads.

``audit.json`` is the certificate of ``model.audit``, if there is one. It names the weights it is
about and is written last: after a killed save it may be that of the old weights, and is not taken
for the new ones.

When the format changes, raise ``FORMAT`` and teach ``load_model`` to read the older number, or to
refuse it in one sentence.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import load as read_tensors

from sasanet.architecture import Architecture
from sasanet.audit import Audit
from sasanet.encoder import TableEncoder
from sasanet.errors import InvalidInputError, SasanetError, SavedFileError
from sasanet.estimator import SelfExplainingModel
from sasanet.models import SASANetClassifier, SASANetRegressor
from sasanet.network import SASANet
from sasanet.sealing import pack_weights, seal, sealed
from sasanet.targets import Target
from sasanet.tokens import TableTokens

# 1: the bias of the set module had no dimension for members; 2: columns had no learned scale;
# 3: the ladders of all numbers had one length.
FORMAT = 4
_READABLE = (1, 2, 3, FORMAT)
_DESCRIPTION, _AUDIT = "model.json", "audit.json"
_CLASSES: dict[str, type[SelfExplainingModel]] = {
    "SASANetClassifier": SASANetClassifier,
    "SASANetRegressor": SASANetRegressor,
}


def load(path: str | Path) -> SelfExplainingModel:
    """Read a model that ``model.save(path)`` wrote.

    Parameters
    ----------
    path : str or Path
        The model's directory.

    Returns
    -------
    SASANetClassifier or SASANetRegressor
        Predicts bit-identically to the model that was saved; its ``audit_`` is the certificate
        saved with it, if there was one.

    Examples
    --------
    >>> import tempfile
    >>> from sasanet import SASANetClassifier, load
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=1, attribution_steps=5).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(folder)
    ...     again = load(folder)
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    folder = Path(path)
    saved = _read_description(folder)
    try:
        model = _rebuild(saved, _read_weights(folder, saved["weights"]))
    except SavedFileError:
        raise
    except (SasanetError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise SavedFileError(
            f"{folder / _DESCRIPTION} does not describe a model this version can build: {error}"
        ) from error
    if (folder / _AUDIT).is_file():
        audit = Audit.load(folder / _AUDIT)
        if audit.weights == saved["weights"]["sha256"]:
            model.audit_ = audit
    return model


def save_model(model: SelfExplainingModel, path: str | Path) -> None:
    """Write a fitted model to a directory, atomically."""
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"save needs a directory, however: {folder} is a file")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / _DESCRIPTION).exists():
        raise InvalidInputError(
            f"save needs an empty directory or a saved model to replace, however: {folder} "
            "holds other files"
        )
    folder.mkdir(parents=True, exist_ok=True)
    weights, digest = pack_weights(model.network_)
    name = f"weights-{digest[:16]}.safetensors"
    _write(folder / name, weights)
    description = _describe(model) | {"weights": {"file": name, "sha256": digest}}
    _write(folder / _DESCRIPTION, json.dumps(sealed(description), indent=1).encode())
    for old in folder.glob("weights-*.safetensors"):
        if old.name != name:
            old.unlink()
    _write_audit(folder / _AUDIT, getattr(model, "audit_", None), digest)


def _write_audit(path: Path, audit: Audit | None, digest: str) -> None:
    """Write the certificate of these weights; one of other weights is not kept."""
    if audit is not None and audit.weights == digest:
        _write(path, audit.to_json().encode())
    else:
        path.unlink(missing_ok=True)


def _write(path: Path, content: bytes) -> None:
    """Write to a temporary neighbour, flush to disk, then take the name in one step."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _describe(model: SelfExplainingModel) -> dict[str, Any]:
    parameters = model.get_params(deep=False)
    if isinstance(parameters["network"], Architecture):
        parameters["network"] = parameters["network"].to_dict()
    if not isinstance(parameters["random_state"], int | None):
        parameters["random_state"] = None  # a generator's state is not part of a model
    if math.isinf(parameters["time_limit"]):
        parameters["time_limit"] = None  # JSON has no infinity
    parameters["categorical"] = list(parameters["categorical"])
    network, target = model.network_, asdict(model.target_)
    del target["numbers"]
    cap = getattr(network.marginal, "cap", math.inf)
    return {
        "format": FORMAT,
        "class": type(model).__name__,
        "parameters": parameters,
        "architecture": network.architecture.to_dict(),
        "cap": cap if math.isfinite(cap) else None,
        "target": target,
        "encoder": model.encoder_.to_dict(),
        "history": model.history_,
    }


def _read_description(folder: Path) -> dict[str, Any]:
    path = folder / _DESCRIPTION
    if not path.is_file():
        raise SavedFileError(f"A saved model is a directory with {_DESCRIPTION}, however: {folder}")
    try:
        saved = json.loads(path.read_text("utf-8"))
        noted = saved.pop("seal")
        number = saved["format"]
    except (ValueError, AttributeError, KeyError, TypeError):
        raise SavedFileError(f"{path} is not the description of a SASANet model") from None
    if number not in _READABLE:
        raise SavedFileError(
            f"{path} has format {number!r}, however this version reads {_READABLE}; "
            "use the sasanet version that wrote it, or save the model anew"
        )
    if noted != seal(saved):
        raise SavedFileError(f"{path} was changed after it was saved; save the model anew")
    return saved


def _read_weights(folder: Path, noted: dict[str, str]) -> dict[str, Any]:
    path = folder / Path(noted["file"]).name
    if not path.is_file():
        raise SavedFileError(f"The weights {path} are missing; copy the whole directory")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != noted["sha256"]:
        raise SavedFileError(f"{path} is truncated or was changed after it was saved")
    try:
        return read_tensors(content)
    except SafetensorError as error:
        raise SavedFileError(f"{path} is not a safetensors file: {error}") from None


def _rebuild(saved: dict[str, Any], weights: dict[str, Any]) -> SelfExplainingModel:
    parameters = dict(saved["parameters"])
    if isinstance(parameters["network"], dict):
        parameters["network"] = Architecture.from_dict(parameters["network"])
    if parameters["time_limit"] is None:
        parameters["time_limit"] = math.inf
    parameters["categorical"] = tuple(parameters["categorical"])
    model = _CLASSES[saved["class"]](**parameters)
    model.encoder_ = TableEncoder.from_dict(saved["encoder"])
    noted = saved["target"]
    model.target_ = Target(
        noted["task"],
        tuple(noted["base"]),
        noted["scale"],
        tuple(noted["labels"]),
        np.empty(0),
    )
    model.history_ = saved["history"]
    model.n_features_in_ = len(model.encoder_.columns)
    if model.encoder_.named:
        model.feature_names_in_ = np.array(model.encoder_.names, dtype=object)
    cap = math.inf if saved["cap"] is None else saved["cap"]
    architecture = Architecture.from_dict(saved["architecture"])
    network = model._make_network(architecture, cap, dropout=0.0)  # no dropout outside training
    _read_older(weights, saved["format"], network)
    missing, foreign = network.load_state_dict(weights, strict=False)
    shared = {name for name in missing if name.startswith("attribution.tokens.")}
    if foreign or set(missing) - (shared if architecture.shared_tokens else set()):
        raise SavedFileError(f"The weights do not fit: missing {missing}, foreign {foreign}")
    model.network_ = network.eval()
    return model


def _read_older(weights: dict[str, Any], number: int, network: SASANet) -> None:
    """Bring the weights of an older format into the form of this one."""
    if number == 1 and network.architecture.marginal == "set":
        weights["marginal.bias"] = weights["marginal.bias"][None]
    if number <= 2:
        scales = {k: v for k, v in network.state_dict().items() if k.endswith("tokens.scales")}
        weights.update({name: scale for name, scale in scales.items() if name not in weights})
    if number <= 3:
        for name in [name for name in weights if name.endswith("tokens.steps")]:
            tokens = network.get_submodule(name.removesuffix(".steps"))
            if isinstance(tokens, TableTokens):
                weights[name] = tokens.cut_steps(weights[name])
