"""The JSON that describes a model: made from a fitted one, and checked field by field when read.

Nothing of a file is trusted: every value is checked here before a network is built from it, and the
size of the network is compared with the size of the weights before memory is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np

from sasanet.errors import InvalidInputError, SavedFileError
from sasanet.estimator.sasanet import SASANetClassifier, SASANetModel, SASANetRegressor
from sasanet.network.architecture import Architecture, can_be_monotone
from sasanet.network.attribution.distilled import DistilledAttribution
from sasanet.objectives import OBJECTIVES, POWERS
from sasanet.table.columns import Columns
from sasanet.table.encoder import TableEncoder
from sasanet.table.target import LARGEST_LOG, SMALLEST_LOG, Target
from sasanet.training.distillation import KINDS

FORMAT = 1
CLASSES: dict[str, type[SASANetModel]] = {
    "SASANetClassifier": SASANetClassifier,
    "SASANetRegressor": SASANetRegressor,
}
_FIELDS = (
    "format",
    "class",
    "parameters",
    "architecture",
    "cap",
    "target",
    "encoder",
    "directions",
    "history",
    "importances",
    "learned_attributions",
    "weights",
)
_LARGEST = float(np.finfo(np.float64).max)
_MOST_POSITIONS = 4096  # of a profile: beyond it only memory is spent
_TASKS = {"SASANetClassifier": ("binary", "multiclass"), "SASANetRegressor": ("regression",)}
# The cap is log n: of one row to more rows than there are. Far outside, ratios to it overflow.
_SMALLEST_CAP, _LARGEST_CAP = 0.01, 1e6


# --- a fitted model as data ----------------------------------------------------------------------


def describe(model: SASANetModel, weights: str) -> dict[str, Any]:
    """Return all but the weights of a fitted model as data that JSON can hold."""
    network, target = model.network_, asdict(model.target_)
    del target["numbers"]
    if target["objective"] == "squared":  # as every target was before there were others
        del target["objective"], target["quantiles"]
    cap = getattr(network.marginal, "cap", math.inf)
    importances = getattr(model, "feature_importances_", None)
    return {
        "format": FORMAT,
        "class": type(model).__name__,
        "parameters": _plain_parameters(model),
        "architecture": network.architecture.to_dict(),
        "cap": cap if math.isfinite(cap) else None,
        "target": target,
        "encoder": model.encoder_.to_dict(),
        "directions": list(network.columns.directions),
        "history": model.history_,
        "importances": None if importances is None else importances.tolist(),
        "learned_attributions": _describe_learned(model),
        "weights": weights,
    }


def _describe_learned(model: SASANetModel) -> dict[str, Any] | None:
    """Return the sizes of the learned Shapley module and how close it came, if there is one."""
    module = model.network_.distilled
    if module is None:
        return None
    sizes = {"directions": module.directions, "hidden": module.hidden}
    return {**sizes, "record": model.learned_attributions_}


def _plain_parameters(model: SASANetModel) -> dict[str, Any]:
    """Return the constructor's parameters as JSON has them; NumPy's numbers become Python's."""
    parameters = model.get_params(deep=False)
    if isinstance(parameters["network"], Architecture):
        parameters["network"] = parameters["network"].to_dict()
    if not isinstance(parameters["random_state"], Integral | None):
        parameters["random_state"] = None  # a generator's state is not part of a model
    parameters["teachers"] = "auto"  # estimators of the user's own are not part of a model
    if math.isinf(parameters["time_limit"]):
        parameters["time_limit"] = None  # JSON has no infinity
    parameters["categorical_features"] = list(parameters["categorical_features"])
    if isinstance(weights := parameters.get("class_weight"), Mapping):
        parameters["class_weight"] = list(weights.items())  # JSON has only text as keys
    cst = parameters["monotonic_cst"]
    if isinstance(cst, Mapping):
        parameters["monotonic_cst"] = list(cst.items()) or None  # names may be positions
    elif cst is not None:
        parameters["monotonic_cst"] = list(cst)
    return {name: _plain(value) for name, value in parameters.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(part) for part in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    return str(value) if isinstance(value, str) else value


# --- data as everything but the network -----------------------------------------------------------


def expect(holds: Any, must: str, got: object) -> None:
    """Refuse a description in which something does not hold."""
    if not holds:
        raise SavedFileError(f"The description of a model must have {must}, got {got!r:.200}")


def check_fields(saved: Any) -> None:
    """Check that the description has the fields of this format, and of which types."""
    expect(isinstance(saved, dict), "an object", saved)
    expect(set(saved) == set(_FIELDS), f"the fields {', '.join(_FIELDS)}", sorted(saved))
    for name in ("parameters", "architecture", "target", "encoder"):
        expect(isinstance(saved[name], dict), f"an object as {name}", saved[name])
    expect(saved["class"] in [*CLASSES], f"one of {[*CLASSES]} as class", saved["class"])
    history = saved["history"]
    listed = isinstance(history, list) and all(isinstance(record, dict) for record in history)
    expect(listed, "a list of objects as history", history)
    digest = saved["weights"]
    named = isinstance(digest, str) and len(digest) == 64 and set(digest) <= set("0123456789abcdef")
    expect(named, "a SHA-256 as weights", digest)


def read_model(saved: Mapping[str, Any]) -> SASANetModel:
    """Return the estimator without its network: parameters, columns, target, history."""
    parameters = dict(saved["parameters"])
    if isinstance(parameters.get("network"), dict):
        parameters["network"] = Architecture.from_dict(parameters["network"])
    if parameters.get("time_limit", 0) is None:
        parameters["time_limit"] = math.inf
    try:
        parameters["categorical_features"] = tuple(parameters["categorical_features"])
        if isinstance(parameters.get("class_weight"), list):
            parameters["class_weight"] = dict(parameters["class_weight"])
        cst = parameters["monotonic_cst"]
        if cst and all(isinstance(pair, list) for pair in cst):
            parameters["monotonic_cst"] = dict(cst)
        model = CLASSES[saved["class"]](**parameters)
    except (TypeError, KeyError, ValueError) as error:
        raise SavedFileError(f"The parameters must be those of {saved['class']}: {error}") from None
    model.encoder_ = TableEncoder.from_dict(saved["encoder"])
    model.target_ = _read_target(saved["target"], saved["class"])
    model.history_ = saved["history"]
    model.n_features_in_ = len(model.encoder_.columns)
    if model.encoder_.named:
        model.feature_names_in_ = np.array(model.encoder_.names, dtype=object)
    if saved["importances"] is not None:
        model.feature_importances_ = _read_importances(saved["importances"], model.n_features_in_)
    return model


def _is_finite(value: object) -> bool:
    # Not math.isfinite: it stumbles over integers that no float can hold.
    return type(value) in (int, float) and abs(value) <= _LARGEST  # type: ignore[arg-type]


def _read_target(saved: Mapping[str, Any], kind: str) -> Target:
    objective, quantiles = saved.get("objective", "squared"), saved.get("quantiles", [])
    known = set(saved) - {"objective", "quantiles"} == {"task", "base", "scale", "labels"}
    expect(known, "a complete target", sorted(saved))
    task, base, scale, labels = (saved[name] for name in ("task", "base", "scale", "labels"))
    expect(task in _TASKS[kind], f"one of {_TASKS[kind]} as task", task)
    finite = isinstance(base, list) and all(map(_is_finite, base))
    expect(finite, "finite numbers as base", base)
    expect(_is_finite(scale) and scale > 0, "a scale above 0", scale)
    plain = isinstance(labels, list) and all(type(x) in (str, bool, int, float) for x in labels)
    expect(plain and len(set(labels)) == len(labels), "different plain labels", labels)
    n_labels = {"binary": 2, "regression": 0}.get(task, max(3, len(base)))
    expect(len(labels) == n_labels, f"{n_labels} labels", labels)
    expect(objective in OBJECTIVES, f"one of {OBJECTIVES} as objective", objective)
    right = objective == "squared" or task == "regression"
    expect(right, "an objective of its task", objective)
    listed = isinstance(quantiles, list) and all(map(_is_finite, quantiles))
    expect(listed and bool(quantiles) == (objective == "quantile"), "its quantiles", quantiles)
    rising = all(a < b for a, b in pairwise([0.0, *quantiles, 1.0]))
    expect(rising, "quantiles that rise between 0 and 1", quantiles)
    n_outputs = len(labels) if task == "multiclass" else max(1, len(quantiles))
    expect(len(base) == n_outputs, f"a base of {n_outputs} numbers", base)
    if objective in POWERS:
        rate = SMALLEST_LOG <= base[0] <= LARGEST_LOG
        expect(rate and scale == 1, "the logarithm of a rate as base", [base, scale])
    levels = tuple(map(float, quantiles))
    bases = tuple(map(float, base))
    rising = not quantiles or all(a < b for a, b in pairwise(bases))
    expect(rising, "a base that rises with the quantiles", base)
    return Target(task, bases, float(scale), tuple(labels), np.empty(0), objective, levels)


def read_columns(saved: Mapping[str, Any], encoder: TableEncoder) -> Columns:
    """Return what the network must know of the columns, with the directions of monotone ones."""
    listed = saved["directions"]
    is_number = [column.kind == "number" for column in encoder.columns]
    plain = isinstance(listed, list) and all(type(d) is int and d in (-1, 0, 1) for d in listed)
    expect(plain, "-1, 0 and 1 as directions", listed)
    fitting = not listed or (len(listed) == len(is_number) and any(listed))
    fitting = fitting and all(number for d, number in zip(listed, is_number, strict=False) if d)
    expect(fitting, "directions of its columns of numbers, or none", listed)
    return replace(encoder.layout, directions=tuple(listed))


def _read_importances(saved: Any, n_features: int) -> Any:
    finite = isinstance(saved, list) and all(map(_is_finite, saved))
    expect(finite and len(saved) == n_features, f"{n_features} finite importances", saved)
    return np.array(saved, dtype=np.float64)


def read_cap(saved: Mapping[str, Any]) -> float:
    """Return the bound of the network's output."""
    cap = saved["cap"]
    bounded = cap is None or (_is_finite(cap) and _SMALLEST_CAP <= cap <= _LARGEST_CAP)
    expect(bounded, f"a cap from {_SMALLEST_CAP} to {_LARGEST_CAP:g}, or none", cap)
    return math.inf if cap is None else float(cap)


def read_learned(
    saved: Mapping[str, Any], architecture: Architecture, n_outputs: int, n_weights: int
) -> DistilledAttribution | None:
    """Return the learned Shapley module without its weights; one too large for them is refused."""
    learned = saved["learned_attributions"]
    if learned is None:
        return None
    expect(isinstance(learned, dict), "an object as learned_attributions", learned)
    expect(set(learned) == {"directions", "hidden", "record"}, "a learned module", sorted(learned))
    _check_learned_record(learned["record"])
    directions, hidden = learned["directions"], learned["hidden"]
    whole = all(type(size) is int and size >= 1 for size in (directions, hidden))
    expect(whole, "whole numbers as sizes of the learned module", [directions, hidden])
    least = directions * (2 * architecture.width + hidden * n_outputs)
    expect(least <= n_weights, f"a learned module of at most {n_weights} weights", least)
    return DistilledAttribution(architecture.width, directions, hidden, n_outputs)


def _check_learned_record(record: Any) -> None:
    expect(isinstance(record, dict), "an object as the learned module's record", record)
    fields = {"r2", "rmse", "unlike", "rows", "seconds"}
    expect(set(record) == fields, f"a record with {sorted(fields)}", sorted(record))
    for name in ("r2", "rmse"):
        part = record[name]
        known = isinstance(part, dict) and set(part) == set(KINDS)
        expect(known and all(map(_is_finite, part.values())), f"finite {name} by kind", part)
    plain = all(_is_finite(record[name]) for name in ("unlike", "rows", "seconds"))
    expect(plain, "finite numbers in the learned module's record", record)


def read_architecture(
    saved: Mapping[str, Any], columns: Columns, n_outputs: int, n_weights: int
) -> Architecture:
    """Return the network's shape; one that needs more weights than the file has is refused."""
    try:
        architecture = Architecture.from_dict(saved["architecture"])
    except InvalidInputError as error:
        raise SavedFileError(f"The architecture of the saved model is no good: {error}") from None
    most = max(_MOST_POSITIONS, len(columns))
    points = architecture.positions
    expect(points is None or points <= most, f"at most {most} positions", points)
    monotone = not columns.directions or can_be_monotone(architecture)
    expect(monotone, "a network that can be monotone, or no directions", list(columns.directions))
    least = fewest_weights(architecture, columns, n_outputs)
    expect(least <= n_weights, f"an architecture of at most {n_weights} weights", least)
    return architecture


def fewest_weights(architecture: Architecture, columns: Columns, n_outputs: int) -> int:
    """Return how many weights a network of this shape has at least: all its larger matrices."""
    arch, n_levels = architecture, sum(columns.places)
    count = n_levels * arch.width if arch.numbers == "knots" else arch.width
    if arch.numbers == "mlp":
        n_numbers = sum(columns.is_number)
        sizes = [1, *arch.number_layers, arch.width]
        count += n_numbers * sum(a * b for a, b in pairwise(sizes))
    inner = arch.marginal_heads * arch.marginal_head_width if arch.marginal == "sequence" else 0
    sizes = [arch.width + inner, *arch.marginal_layers, n_outputs]
    count += sum(a * b for a, b in pairwise(sizes)) + 3 * inner * arch.width
    count += arch.members * arch.width if arch.marginal == "set" else 0
    if arch.attribution in ("context", "attention"):
        count += sum(a * b for a, b in pairwise(arch.attribution_layers))
    if arch.attribution == "attention":
        count += arch.attribution_heads * arch.attribution_head_width * arch.attribution_width
    return count
