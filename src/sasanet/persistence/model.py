"""Save a fitted model to a directory and load it again."""

from __future__ import annotations

import hmac
import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as read_tensors

from sasanet.audit import Audit
from sasanet.checksums import pack_weights, read_json, seal, sealed, signature
from sasanet.errors import FileWriteError, InvalidInputError, SasanetError, SavedFileError
from sasanet.estimator.sasanet import SASANetModel
from sasanet.network.sasanet import SASANet
from sasanet.persistence import folder as model_folder
from sasanet.persistence.card import model_card
from sasanet.persistence.description import (
    FORMAT,
    check_fields,
    describe,
    expect,
    read_architecture,
    read_cap,
    read_columns,
    read_learned,
    read_model,
)
from sasanet.whole_files import read_path


def save_model(model: SASANetModel, path: str | Path, key: bytes | None = None) -> None:
    """Write a fitted model to a directory: all of it is made and checked before any is written."""
    folder = read_path(path)
    _check_key(key)
    model_folder.check_free(folder)
    weights, digest = pack_weights(model.network_)
    record = describe(model, digest)
    try:
        record = sealed(record | ({} if key is None else {"signature": signature(record, key)}))
        description = json.dumps(record, indent=1, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"A model can be saved when JSON can hold its parameters and labels, got {error}; "
            "use plain numbers and text"
        ) from None
    audit: Audit | None = getattr(model, "audit_", None)
    certificate = None
    if audit is not None and audit.weights == digest:  # one of other weights is not kept
        certificate = audit.to_json().encode()
    card = model_card(model).encode("utf-8", errors="replace")
    try:
        model_folder.write_files(folder, description, weights, digest, certificate, card)
    except FileWriteError:
        raise
    except OSError as error:
        raise FileWriteError(
            f"{folder} must be a directory that can be written, got {error.strerror or error}; "
            "choose another place. A model that was saved there before is still whole."
        ) from error


def load(path: str | Path, key: bytes | None = None) -> SASANetModel:
    """Read a model that ``model.save(path)`` wrote.

    Parameters
    ----------
    path : str or Path
        The model's directory.
    key : bytes, optional
        The secret that the model was signed with; a model that was not signed with it is refused.

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
    >>> model = SASANetClassifier(random_state=0, max_epochs=1, teacher_weight=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(folder)
    ...     again = load(folder)
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    folder = read_path(path)
    _check_key(key)
    for _ in model_folder.attempts():
        saved = _read_description(folder, key)
        weights = model_folder.read_weights(folder, saved["weights"])
        if weights is not None:
            break
    else:
        name = model_folder.weights_name(saved["weights"])
        raise SavedFileError(f"The weights {folder / name} are missing; copy the whole directory")
    try:
        model = _rebuild(saved, _read_tensors(folder, weights))
    except SavedFileError:
        raise
    except (SasanetError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise SavedFileError(
            f"{folder} does not describe a model this version can build: "
            f"{' '.join(str(error).split())[:500]}"
        ) from error
    _add_audit(model, folder, saved["weights"])
    return model


def _check_key(key: Any) -> None:
    if key is not None and (not isinstance(key, bytes | bytearray) or len(key) < 16):
        raise InvalidInputError(
            f"key must be at least 16 bytes of secret, got {type(key).__name__}; make one with "
            "secrets.token_bytes(32)"
        )


def _read_description(folder: Path, key: bytes | None) -> dict[str, Any]:
    path = folder / model_folder.DESCRIPTION
    try:
        saved = read_json(path.read_text("utf-8"))
        noted, number = saved.pop("seal"), saved["format"]
    except FileNotFoundError:
        raise SavedFileError(
            f"A saved model must be a directory with {path.name}, got {folder} without it"
        ) from None
    except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
        raise SavedFileError(
            f"{path} must be the description of a SASANet model, got something else ({error}); "
            "copy the whole directory anew"
        ) from None
    if number != FORMAT:
        raise SavedFileError(
            f"{path} must have format {FORMAT}, got {number!r}; "
            "use the sasanet version that wrote it, or save the model anew"
        )
    if noted != seal(saved):
        raise SavedFileError(
            f"{path} must be as it was saved, got another content; save the model anew"
        )
    _check_signature(saved.pop("signature", None), saved, key, path)
    check_fields(saved)
    return dict(saved)


def _check_signature(found: Any, saved: dict[str, Any], key: bytes | None, path: Path) -> None:
    """Refuse a model that was not signed with the key; without a key nothing is asked."""
    if key is None:
        return
    if not isinstance(found, str) or not hmac.compare_digest(found, signature(saved, key)):
        raise SavedFileError(
            f"{path} must be signed with the given key, got "
            f"{'no signature' if found is None else 'another signature'}; do not use this model"
        )


def _read_tensors(folder: Path, content: bytes) -> dict[str, Any]:
    try:
        return read_tensors(content)
    except SafetensorError as error:
        raise SavedFileError(f"The weights in {folder} are no safetensors file: {error}") from None


def _rebuild(saved: dict[str, Any], weights: dict[str, Any]) -> SASANetModel:
    """Return the model; its network is built only when its size fits the weights."""
    model = read_model(saved)
    columns = read_columns(saved, model.encoder_)
    n_outputs, n_weights = len(model.target_.base), sum(t.numel() for t in weights.values())
    architecture = read_architecture(saved, columns, n_outputs, n_weights)
    cap, gaps = read_cap(saved), model.target_.gaps
    expect(not gaps or architecture.marginal == "set", "a set network of quantiles", gaps)
    network = SASANet(columns, n_outputs, architecture, cap, dropout=0.0, gaps=gaps)
    network.distilled = read_learned(saved, architecture, n_outputs, n_weights)
    if network.distilled is not None:
        model.learned_attributions_ = saved["learned_attributions"]["record"]
    missing, foreign = network.load_state_dict(weights, strict=False)
    shared = {name for name in missing if name.startswith("attribution.embedding.")}
    if foreign or set(missing) - (shared if architecture.shared_embedding else set()):
        raise SavedFileError(f"The weights do not fit: missing {missing}, foreign {foreign}")
    if not all(bool(part.isfinite().all()) for part in network.state_dict().values()):
        raise SavedFileError("The weights must be finite numbers, got others; fit the model anew")
    if not network.is_within_bounds():
        raise SavedFileError(
            "The weights must keep the directions of the saved model, got others; fit it anew"
        )
    model.network_ = network.eval()
    return model


def _add_audit(model: SASANetModel, folder: Path, weights: str) -> None:
    """Keep the certificate saved beside the model, if it is of these weights."""
    path = folder / model_folder.AUDIT
    try:
        audit = Audit.load(path)
    except SavedFileError:
        if not path.exists():  # never there, or removed meanwhile by who saved another model
            return
        raise
    if audit.weights == weights:
        model.audit_ = audit
