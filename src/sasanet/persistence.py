"""A fitted model in, a directory out, and back: safetensors and JSON, no pickle, no training data.

``model.json`` describes the model and names its weights file together with its SHA-256. Saving
writes the new weights beside the old ones and then replaces ``model.json`` in one step, so a killed
save leaves the old model or the new one, never half of one. Loading runs no code from the files
and checks everything it reads.

``audit.json`` is the certificate of ``model.audit``, if there is one. It names the weights it is
about and is written last: after a killed save it may be that of the old weights, and is not taken
for the new ones.

When the format changes, raise ``FORMAT``; an older number is read, or refused in one sentence.
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

from sasanet.audit import Audit
from sasanet.checksums import pack_weights, seal, sealed
from sasanet.errors import InvalidInputError, SasanetError, SavedFileError
from sasanet.estimator.sasanet import SASANetClassifier, SASANetModel, SASANetRegressor
from sasanet.network.architecture import Architecture
from sasanet.network.sasanet import SASANet
from sasanet.table.columns import Columns
from sasanet.table.encoder import TableEncoder
from sasanet.table.target import Target

FORMAT = 1
_DESCRIPTION, _AUDIT = "model.json", "audit.json"
_CLASSES: dict[str, type[SASANetModel]] = {
    "SASANetClassifier": SASANetClassifier,
    "SASANetRegressor": SASANetRegressor,
}


def load(path: str | Path) -> SASANetModel:
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
    >>> model = SASANetClassifier(random_state=0, max_epochs=1).fit(X, y)
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


def save_model(model: SASANetModel, path: str | Path) -> None:
    """Write a fitted model to a directory, atomically."""
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"save needs a directory, got {folder} is a file")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / _DESCRIPTION).exists():
        raise InvalidInputError(
            f"save needs an empty directory or a saved model to replace, got {folder} "
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


def _describe(model: SASANetModel) -> dict[str, Any]:
    parameters = model.get_params(deep=False)
    if isinstance(parameters["network"], Architecture):
        parameters["network"] = parameters["network"].to_dict()
    if not isinstance(parameters["random_state"], int | None):
        parameters["random_state"] = None  # a generator's state is not part of a model
    if math.isinf(parameters["time_limit"]):
        parameters["time_limit"] = None  # JSON has no infinity
    parameters["categorical_features"] = list(parameters["categorical_features"])
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
        "importances": _importances(model),
    }


def _importances(model: SASANetModel) -> list[float] | None:
    """Return the importances; a network without attributions has none."""
    return model.feature_importances_.tolist() if hasattr(model, "feature_importances_") else None


def _read_description(folder: Path) -> dict[str, Any]:
    path = folder / _DESCRIPTION
    if not path.is_file():
        raise SavedFileError(f"A saved model is a directory with {_DESCRIPTION}, got {folder}")
    try:
        saved = json.loads(path.read_text("utf-8"))
        noted = saved.pop("seal")
        number = saved["format"]
    except (ValueError, AttributeError, KeyError, TypeError):
        raise SavedFileError(f"{path} is not the description of a SASANet model") from None
    if number != FORMAT:
        raise SavedFileError(
            f"{path} must have format {FORMAT}, got {number!r}; "
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


def _rebuild(saved: dict[str, Any], weights: dict[str, Any]) -> SASANetModel:
    parameters = dict(saved["parameters"])
    if isinstance(parameters["network"], dict):
        parameters["network"] = Architecture.from_dict(parameters["network"])
    if parameters["time_limit"] is None:
        parameters["time_limit"] = math.inf
    parameters["categorical_features"] = tuple(parameters["categorical_features"])
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
    if saved["importances"] is not None:
        model.feature_importances_ = np.array(saved["importances"], dtype=np.float64)
    model.n_features_in_ = len(model.encoder_.columns)
    if model.encoder_.named:
        model.feature_names_in_ = np.array(model.encoder_.names, dtype=object)
    cap = math.inf if saved["cap"] is None else saved["cap"]
    architecture = Architecture.from_dict(saved["architecture"])
    encoder = model.encoder_
    columns = Columns(encoder.places, encoder.is_number)
    network = SASANet(columns, len(model.target_.base), architecture, cap, dropout=0.0)
    missing, foreign = network.load_state_dict(weights, strict=False)
    shared = {name for name in missing if name.startswith("attribution.tokens.")}
    if foreign or set(missing) - (shared if architecture.shared_tokens else set()):
        raise SavedFileError(f"The weights do not fit: missing {missing}, foreign {foreign}")
    model.network_ = network.eval()
    return model
