"""Weights of classes: how much the rows of each class count in training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import numpy as np

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.table.target import Target

ClassWeight = Mapping[Any, float] | str | None


def class_factors(
    class_weight: ClassWeight, target: Target, rows_of_class: Callable[[Target], Floats]
) -> Floats | None:
    """Return the factor of each class: (C,), or None if all count the same.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        A weight for each class, where a class that is not named counts 1; or, as in scikit-learn,
        n / (C · n_c) for a class with n_c of the n rows.
    target : Target
        The training labels.
    rows_of_class : callable
        Returns n_c of every class of a target: (C,).
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, Mapping):
        return _named_factors(class_weight, target.labels)
    if isinstance(class_weight, str) and class_weight == "balanced":
        counts = rows_of_class(target)
        return np.asarray(counts.sum() / (len(counts) * counts))
    raise InvalidInputError(
        f"class_weight must be None, 'balanced' or a dict of weights, got {class_weight!r}."
    )


def _named_factors(class_weight: Mapping[Any, float], labels: tuple[Any, ...]) -> Floats:
    if unknown := [label for label in class_weight if label not in labels]:
        raise InvalidInputError(
            f"class_weight must name classes of y, got {unknown}; choose from {list(labels)}"
        )
    for label, weight in class_weight.items():
        number = isinstance(weight, Real) and not isinstance(weight, bool)
        if not number or not 0 < float(weight) < np.inf:
            raise InvalidInputError(
                f"class_weight must hold finite numbers above 0, got {weight!r} for {label!r}; "
                "to leave a class out, leave out its rows"
            )
    found = np.array([float(class_weight.get(label, 1.0)) for label in labels])
    return np.asarray(found / found.max())  # only their ratios count
