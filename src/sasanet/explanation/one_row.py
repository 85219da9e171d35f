"""The explanation of a single row, for services: plain numbers and names, no table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from sasanet.arrays import Floats
from sasanet.explanation.explanation import Explanation
from sasanet.explanation.words import Words


@dataclass(frozen=True, eq=False, repr=False)
class RowExplanation:
    """One attribution per feature of one row.

    Parameters
    ----------
    values : ndarray (d,) or (d, C)
        Attributions; C classes for multiclass.
    base_value : ndarray () or (C,)
        Output for the empty coalition; ``base_value + values.sum(axis=0)`` is the raw prediction.
    data : sequence
        The cells as given, in the order of ``feature_names``.
    feature_names : tuple of str
        The columns, in order.
    output_names : tuple of str
        Class names for multiclass; empty for one output.
    units : str
        The units of ``values``.
    words : dict of str to list of dict
        What the words of a text add: see :class:`~sasanet.Explanation`.

    Examples
    --------
    >>> names = ("job", "age")
    >>> e = RowExplanation(np.array([0.5, -0.25]), np.float64(-1), ["clerk", 31], names)
    >>> e
    <RowExplanation: 2 features, one output, in log-odds>
    >>> e.to_dict()
    {'base_value': -1.0, 'prediction': -0.75, 'attributions': {'job': 0.5, 'age': -0.25}}
    """

    values: Floats
    base_value: Any
    data: Sequence[Any]
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...] = ()
    units: str = "log-odds"
    words: Words = field(default_factory=dict)

    def __repr__(self) -> str:
        outputs = f"{len(self.output_names)} outputs" if self.output_names else "one output"
        return f"<RowExplanation: {len(self.values)} features, {outputs}, in {self.units}>"

    @property
    def prediction(self) -> Any:
        """Raw prediction, a number or (C,): base value plus all attributions."""
        return self.base_value + self.values.sum(axis=0)

    def to_dict(self) -> dict[str, Any]:
        """Return base value, prediction and attributions by name, as JSON can write them.

        For multiclass each of them is a list in the order of ``output_names``.
        """
        values = dict(zip(self.feature_names, self.values.tolist(), strict=True))
        base, prediction = (np.asarray(a).tolist() for a in (self.base_value, self.prediction))
        return {"base_value": base, "prediction": prediction, "attributions": values}

    def reasons(self, k: int = 5) -> list[str]:
        """Return sentences on the ``k`` strongest attributions: see :meth:`Explanation.reasons`."""
        return self.to_explanation().reasons(0, k)

    def to_explanation(self) -> Explanation:
        """Return the same as an :class:`~sasanet.Explanation` of one row, to plot or to save."""
        columns = {name: [cell] for name, cell in zip(self.feature_names, self.data, strict=True)}
        return Explanation(
            values=self.values[None],
            base_values=np.asarray(self.base_value)[None],
            data=pd.DataFrame(columns),
            feature_names=self.feature_names,
            output_names=self.output_names,
            units=self.units,
            words=self.words,
        )
