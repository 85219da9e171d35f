"""The result object of the package: attributions of rows, with tables and sentences about them.

An :class:`Explanation` holds arrays and names only, so that plots, the report and whatever else
reads it need neither the model nor torch.
"""

from __future__ import annotations

import math
import operator
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.explanation.cohorts import cohort_labels, difference, measure_drift
from sasanet.explanation.html import explanation_html
from sasanet.explanation.players import read_players
from sasanet.explanation.selection import by_name, find_name, positions
from sasanet.explanation.wording import Told, strongest_reasons
from sasanet.explanation.words import Words, driving_words, of_output, rows_of


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """One attribution per row and feature, with what is needed to read it.

    Arrays are copied and made read-only; ``data`` is copied. Select rows and features with
    ``e[rows]`` and ``e[rows, features]``: positions, slices, lists, masks and, for features, names.

    Parameters
    ----------
    values : array of shape (n, d) or (n, d, C)
        Attributions; C classes for multiclass.
    base_values : array of shape (n,) or (n, C)
        Output for the empty coalition; ``base_values + values.sum(axis=1)`` is the raw prediction.
    data : DataFrame of shape (n, d)
        The rows as given: original dtypes, missing cells as given.
    feature_names : tuple of str
        The columns of ``data``, in order.
    output_names : tuple of str
        Class names for multiclass; empty for one output.
    error_std : array shaped like ``values``, optional
        Standard error of each attribution, when it was refined.
    units : str
        The units of ``values``.
    complete : bool
        Whether every feature of the model is included; false after a selection of features.
    groups : dict of str to tuple of str
        The columns of every feature that is a group of columns; empty if none is.
    words : dict of str to list of dict
        Of every feature that is text, for each row: its strongest words and by how much each moves
        the raw prediction (one number per output), compared with the same text without it.

    Examples
    --------
    >>> rows = pd.DataFrame({"job": ["clerk", None], "age": [31, 58]})
    >>> e = Explanation([[0.5, -0.25], [0.0, 0.75]], [-1.0, -1.0], rows, ("job", "age"))
    >>> e
    <Explanation: 2 rows × 2 features, one output, in log-odds>
    >>> e.prediction
    array([-0.75, -0.25])
    >>> e[1, "age"].values
    array([[0.75]])
    >>> e.reasons(0)
    ["job = 'clerk' raises the log-odds by 0.5", 'age = 31 lowers the log-odds by 0.25']
    """

    values: Floats
    base_values: Floats
    data: pd.DataFrame
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...] = ()
    error_std: Floats | None = None
    units: str = "log-odds"
    complete: bool = True
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    words: Words = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("values", "base_values", "error_std"):
            if (array := getattr(self, name)) is not None:
                frozen = np.array(array, dtype=np.float64)
                frozen.setflags(write=False)
                object.__setattr__(self, name, frozen)
        for name in ("feature_names", "output_names"):
            object.__setattr__(self, name, tuple(map(str, getattr(self, name))))
        groups = {
            name: tuple(own) for name, own in self.groups.items() if name in self.feature_names
        }
        object.__setattr__(self, "groups", groups)
        kept = rows_of(self.words, self.feature_names, range(len(self.values)))
        object.__setattr__(self, "words", kept)
        _check(self)
        object.__setattr__(self, "data", self.data.set_axis([*self.feature_names], axis=1))

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        outputs = reprlib.repr(list(self.output_names)) if self.output_names else "one output"
        notes = ", with standard errors" if self.error_std is not None else ""
        notes += "" if self.complete else ", other features left out"
        n, d = self.shape[:2]
        return f"<Explanation: {n} rows × {d} features, {outputs}, in {self.units}{notes}>"

    def _repr_html_(self) -> str:
        return explanation_html(self)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of ``values``."""
        return self.values.shape

    @property
    def prediction(self) -> Floats:
        """Raw prediction of each row, (n,) or (n, C): base value plus all attributions."""
        if not self.complete:
            raise InvalidInputError(
                "A prediction needs all features of the model, got a selection of them; "
                "take it before selecting features"
            )
        return self.base_values + self.values.sum(axis=1)

    def __getitem__(self, key: Any) -> Explanation:
        rows, features = key if isinstance(key, tuple) and len(key) == 2 else (key, slice(None))
        i = positions(rows, len(self), "row")
        j = positions(by_name(features, self.feature_names), self.shape[1], "feature")
        return replace(
            self,
            values=self.values[i][:, j],
            base_values=self.base_values[i],
            data=self.data.iloc[i, j],
            feature_names=tuple(self.feature_names[column] for column in j),
            error_std=None if self.error_std is None else self.error_std[i][:, j],
            complete=self.complete and len(j) == self.shape[1],
            words=rows_of(self.words, self.feature_names, np.arange(len(self))[i].tolist()),
        )

    def output(self, name: object) -> Explanation:
        """Return one class of a multiclass explanation, as an explanation of shape (n, d)."""
        c = find_name(str(name), self.output_names, "output")
        return replace(
            self,
            values=self.values[:, :, c],
            base_values=self.base_values[:, c],
            output_names=(),
            error_std=None if self.error_std is None else self.error_std[:, :, c],
            units=f"{self.units} of {self.output_names[c]}",
            words=of_output(self.words, c),
        )

    def sum_of_members(self, groups: Mapping[str, Sequence[str]]) -> Explanation:
        """Return the attributions added up within groups of columns.

        A sum still adds up to the prediction, but it is *not* the Shapley value of the group as one
        player, which is ``model.explain(X, groups=groups)``. Its standard error is not known: the
        errors of its members depend on each other.

        Examples
        --------
        >>> rows = pd.DataFrame({"zip": [1234], "street": ["Main St"], "age": [31]})
        >>> e = Explanation([[0.5, 0.25, -1.0]], [0.0], rows, ("zip", "street", "age"))
        >>> e.sum_of_members({"address": ["zip", "street"]}).values
        array([[ 0.75, -1.  ]])
        """
        players = read_players(groups, self.feature_names)
        return replace(
            self,
            values=players.sums(self.values),
            data=players.frame(self.data),
            feature_names=players.names,
            error_std=None,
            units=f"{self.units} (sums of members)",
            groups=players.groups,
        )

    def cohorts(self, by: Any) -> dict[str, Explanation]:
        """Return the rows in cohorts, each an explanation of its own, the largest first.

        Parameters
        ----------
        by : str or array-like (n,)
            The name of a feature, or one label for each row. Many different numbers or dates
            are cut at their quartiles; missing cells are a cohort of their own.

        Examples
        --------
        >>> rows = pd.DataFrame({"job": ["cook", "clerk", "cook"]})
        >>> e = Explanation([[0.5], [-1.0], [0.25]], np.zeros(3), rows, ("job",))
        >>> {name: len(cohort) for name, cohort in e.cohorts("job").items()}
        {'cook': 2, 'clerk': 1}
        """
        labels = cohort_labels(self, by)
        return {
            str(name): self[(labels == name).to_numpy()] for name in labels.value_counts().index
        }

    def compare(self, other: Explanation) -> pd.DataFrame:
        """Return how the attributions of these rows differ from those of other rows.

        Of a complete explanation the differences sum to that of the mean predictions: they say
        which features make one set of rows score higher than another.

        Returns
        -------
        DataFrame
            One line per feature, the largest difference first: the ``mean`` attribution and
            ``other_mean``, their ``difference`` with its 95 % interval, ``low`` and ``high``, the
            mean absolute attribution, ``importance`` and ``other_importance``.

        Examples
        --------
        >>> rows = pd.DataFrame({"job": ["cook", "clerk", "cook", "clerk"]})
        >>> e = Explanation([[0.5], [-1.0], [0.25], [-0.5]], np.zeros(4), rows, ("job",))
        >>> found = e.cohorts("job")["cook"].compare(e.cohorts("job")["clerk"])
        >>> found.loc["job", ["mean", "other_mean", "difference"]].tolist()
        [0.375, -0.75, 1.125]
        """
        return difference(self, other)

    def drift(self, other: Explanation, level: float = 0.05) -> pd.DataFrame:
        """Return whether the attributions of other rows have another distribution, and by how much.

        Each feature is tested by the two-sample Kolmogorov–Smirnov test, adjusted for the number of
        features (Holm): where nothing changed, all are found unchanged with probability 1 − level.

        Returns
        -------
        DataFrame
            One line per feature, the largest shift first: the ``mean`` attribution and
            ``other_mean``, the ``shift`` (how far attributions moved on average, the Wasserstein
            distance, in their units), the test's ``statistic`` and ``p_value``, the p-value
            ``adjusted`` for the number of features, and ``drifted``: whether it is at most the
            level.

        Examples
        --------
        >>> rows = pd.DataFrame({"job": ["cook"] * 40})
        >>> e = Explanation(np.linspace(0, 1, 40)[:, None], np.zeros(40), rows, ("job",))
        >>> found = e[:20].drift(e[20:])
        >>> bool(found.loc["job", "drifted"]), float(found.loc["job", "shift"].round(3))
        (True, 0.513)
        """
        return measure_drift(self, other, level)

    def importance(self) -> pd.Series:
        """Return the mean absolute attribution of each feature over rows (and classes), sorted."""
        means = np.abs(self.values).mean(axis=(0, *range(2, self.values.ndim)))
        series = pd.Series(means, index=list(self.feature_names), name="importance")
        return series.sort_values(ascending=False, kind="stable")

    def reasons(self, row: int, k: int = 5) -> list[str]:
        """Return sentences on the ``k`` strongest attributions of the row at position ``row``.

        Missing cells and attributions of zero are skipped; ± is the standard error. Multiclass
        explains the class with the largest raw prediction; choose another with :meth:`output`.
        """
        return self[operator.index(row)].all_reasons(k)[0]

    def all_reasons(self, k: int = 5) -> list[list[str]]:
        """Return :meth:`reasons` of every row, much faster than row by row."""
        if k < 1:
            raise InvalidInputError(f"k must be at least 1, got {k=}.")
        told = Told(self.feature_names, self.units, self.output_names, self.driving_words)
        cells = [column.tolist() for _, column in self.data.items()]
        present = self.data.notna().to_numpy()
        raw = self.prediction if self.values.ndim == 3 else None
        return strongest_reasons(told, cells, present, self.values, raw, k, self.error_std)

    def driving_words(self, row: int, feature: str, value: float, output: int = 0) -> list[str]:
        """Return the words of a text that moved the prediction as its attribution did."""
        own = self.words.get(feature)
        return [] if own is None else driving_words(own[row], value, output)

    def to_frame(self, wide: bool = False) -> pd.DataFrame:
        """Return the attributions as a table: long and tidy, or ``wide`` with one line per row.

        Long: the columns ``row`` (its label in ``data``), ``feature``, ``data`` (the cell),
        ``attribution``, then ``output`` for multiclass and ``error_std`` if known. Wide: one column
        per feature (``"feature | class"``), ``base_value`` and, if complete, ``prediction``.
        """
        if wide:
            return self._wide_frame()
        n, d, c = *self.shape[:2], math.prod(self.shape[2:])
        cells = self.data.astype(object).to_numpy().reshape(n * d)
        columns: dict[str, Any] = {
            "row": self.data.index.repeat(d * c).to_flat_index(),
            "feature": list(np.repeat(self.feature_names, c)) * n,
            "data": pd.Series(np.repeat(cells, c), dtype=object),
            "attribution": self.values.ravel(),
        }
        if self.output_names:
            columns["output"] = list(self.output_names) * (n * d)
        if self.error_std is not None:
            columns["error_std"] = self.error_std.ravel()
        return pd.DataFrame(columns)

    def _wide_frame(self) -> pd.DataFrame:
        totals = {"base_value": self.base_values}
        totals |= {"prediction": self.prediction} if self.complete else {}
        array = np.concatenate([self.values, *(a[:, None] for a in totals.values())], axis=1)
        tails = [f" | {name}" for name in self.output_names] or [""]
        labels = [name + tail for name in (*self.feature_names, *totals) for tail in tails]
        if len({*labels}) < len(labels):
            raise InvalidInputError(
                f"Wide columns must have different names, got {labels}; use the long table"
            )
        return pd.DataFrame(flat(array), self.data.index, labels)

    def to_shap(self) -> Any:
        """Return a ``shap.Explanation`` to plot; needs ``pip install "sasanet[shap]"``.

        Columns that are not numbers become codes in ``data`` and keep their text in
        ``display_data``; missing cells are NaN. A selection of features has no base values, so that
        shap's waterfall cannot draw a sum which is not the model's prediction.
        """
        from sasanet.explanation.to_shap import to_shap  # it reads explanations

        return to_shap(self)

    def save(self, path: str | Path) -> None:
        """Write one Parquet file, whole or not at all; needs ``pip install "sasanet[parquet]"``.

        The file is read back before it replaces another: a column that would not survive unchanged
        is refused (None and NaN among Python objects count as the same missing cell).
        """
        from sasanet.explanation.parquet import save  # it builds explanations itself

        save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Explanation:
        """Read what :meth:`save` wrote; any other file raises a ``SavedFileError``."""
        from sasanet.explanation.parquet import load

        return load(path)


def _check(e: Explanation) -> None:
    shape = e.values.shape
    if len(shape) not in (2, 3):
        raise InvalidInputError(f"values must be (n, d) or (n, d, C), got shape {shape}.")
    columns = tuple(map(str, getattr(e.data, "columns", ())))
    for rule, wanted, came in (
        ("base_values must have shape", (shape[0], *shape[2:]), e.base_values.shape),
        ("error_std must have shape", shape, shape if e.error_std is None else e.error_std.shape),
        ("data must have shape", shape[:2], np.shape(e.data)),
        ("data must be a table whose columns are feature_names", e.feature_names, columns),
        ("different feature_names must number", shape[1], len({*e.feature_names})),
        ("output_names must number", sum(shape[2:]), len(e.output_names)),
        ("different output_names must number", sum(shape[2:]), len({*e.output_names})),
    ):
        if wanted != came:
            raise InvalidInputError(f"{rule} {wanted}, got {came}.")


def flat(array: Floats) -> Floats:
    """Return [n, ...] as [n, m], for no rows too."""
    return array.reshape(len(array), math.prod(array.shape[1:]))
