"""What a fitted model says about a decision that was taken by its score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.utils.validation import check_is_fitted

from sasanet.arrays import Floats, Masks
from sasanet.errors import InvalidInputError
from sasanet.estimator.explaining import ExplainingModel, Groups
from sasanet.estimator.recourse import (
    Candidates,
    Cells,
    Changes,
    State,
    find_changes,
    read_candidates,
)
from sasanet.explanation.decision import Codes, decision_reasons
from sasanet.explanation.explanation import Explanation
from sasanet.network import inference
from sasanet.table.target import to_probability
from sasanet.validation import check_integer, read_choice

RECOURSE_COLUMNS = ("row", "score", "new_score", "feature", "from", "to")


class DecidingModel(ExplainingModel):
    """A model whose score is compared with a threshold, and that gives reasons for the outcome."""

    def reasons(  # noqa: PLR0913 - a decision and what may be told about it
        self,
        X: Any,
        threshold: float,
        *,
        refuse: str = "above",
        k: int = 4,
        codes: Codes | None = None,
        exclude: Sequence[str] = (),
        output: str | None = None,
        groups: Groups | None = None,
        units: str = "raw",
    ) -> pd.DataFrame:
        """Return the reasons why rows were refused, as adverse-action notices ask for them.

        Only features that moved the score to the refused side are told, compared with the base
        value, that is with knowing nothing. Missing cells are never a reason.

        Parameters
        ----------
        X : table (n, d)
            Rows.
        threshold : float
            What the score is compared with: the probability of the second class (or of ``output``),
            or the prediction of a regressor.
        refuse : {"above", "below"}, default="above"
            Refused is who has a score of at least the threshold, or a score below it.
        k : int, default=4
            How many reasons at most.
        codes : dict, optional
            The code of each feature, ``{"months": "R01"}``, or its code and the sentence to write,
            ``{"months": ["R01", "The loan runs too long"]}``.
        exclude : sequence of str, default=()
            Protected features that must not be told. That they moved a score is said in the column
            ``excluded``.
        output : str, optional
            Which class the decision is about, of more than two.
        groups : dict of str to list of str, optional
            As in :meth:`explain`; codes and exclusions then name its players.
        units : {"raw", "probability", "response"}, default="raw"
            As in :meth:`explain`: the units of attributions, and so their order. Of more than two
            classes they are always those of the probability. The score of a model of log rates is
            the log rate, with ``"response"`` the rate.

        Returns
        -------
        DataFrame
            One line per refused row and reason: ``row`` (its label), ``score``, ``rank`` from 1,
            ``feature``, ``code``, ``reason`` (a sentence), ``attribution`` and ``excluded``. A
            refused row without a reason to tell has one line of rank 0.

        Examples
        --------
        >>> from sasanet import SASANetClassifier
        >>> from sasanet.datasets import load_penguins
        >>> X, y = load_penguins()
        >>> model = SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(
        ...     X, y == "Gentoo"
        ... )
        >>> model.reasons(X[-1:], 0.0, k=1, exclude=["sex"])["rank"].tolist()
        [1]
        """
        k = check_integer("k", k, 1, None, "four are usual")
        explanation, score = self._explained_score(X, output, groups, units)
        refused, towards = self._refused(threshold, refuse, score)
        return decision_reasons(explanation, score, refused, towards, k, codes, exclude)

    def recourse(
        self,
        X: Any,
        threshold: float,
        change: Changes,
        *,
        refuse: str = "above",
        max_changes: int = 3,
        output: str | None = None,
    ) -> pd.DataFrame:
        """Return small changes that carry the score of refused rows across the threshold.

        Parameters
        ----------
        X : table (n, d)
            Rows.
        threshold, refuse, output
            As in :meth:`reasons`.
        change : dict
            The features that may change, and to what: ``(lowest, highest)`` for a number, a list
            of values, or None for all values the model knows. Missing cells stay missing.
        max_changes : int, default=3
            How many features may change at once.

        Returns
        -------
        DataFrame
            One line per refused row and changed feature: ``row`` (its label), ``score``,
            ``new_score`` (of the changed row, as the model predicts it), ``feature``, ``from`` and
            ``to``. A row for which no change was found has one line without a feature. One change
            is searched completely; with more, a better one may exist.

        Examples
        --------
        >>> from sasanet import SASANetRegressor
        >>> X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0] * 9, "b": [1, 2] * 18})
        >>> model = SASANetRegressor(random_state=0, max_epochs=40).fit(X, X["a"])
        >>> model.recourse(X[3:4], 1.5, {"a": None})["feature"].tolist()
        ['a']
        """
        most = check_integer("max_changes", max_changes, 1, None, "one to three are usual")
        table, cells = self._encode(X)
        refused, sign = self._refused(threshold, refuse, self._scores(cells.numpy(), output))
        candidates = read_candidates(change, self.encoder_, table)
        bound = float(threshold) if sign > 0 else math.nextafter(-float(threshold), math.inf)

        def score(some: Cells) -> Floats:
            return sign * self._scores(some, output)

        lines: list[tuple[Any, ...]] = []
        for i in np.flatnonzero(refused).tolist():
            row = cells[i].numpy()
            before = float(sign * score(row[None])[0])
            found = find_changes(row, candidates, score, bound, most)
            label = table.index[i]
            if found is None:
                lines.append((label, before, math.nan, None, None, None))
                continue
            after = self._verified(table[i : i + 1], candidates, found, output)
            for feature, value in found.chosen:
                options = candidates[feature]
                old = table.iloc[i, options.position]
                name = self.encoder_.names[options.position]
                lines.append((label, before, after, name, old, options.values[value]))
        return pd.DataFrame(lines, columns=list(RECOURSE_COLUMNS)).astype({"feature": "string"})

    def _verified(
        self, row: pd.DataFrame, candidates: list[Candidates], found: State, output: str | None
    ) -> float:
        """Return the score that the model predicts for the changed row itself."""
        row = row.astype(object)
        for feature, value in found.chosen:
            row.iloc[0, candidates[feature].position] = candidates[feature].values[value]
        _, cells = self._encode(row.infer_objects())
        return float(self._scores(cells.numpy(), output)[0])

    def _refused(self, threshold: float, refuse: str, score: Floats) -> tuple[Masks, int]:
        """Return which rows are refused, and the sign of what moves a score to that side."""
        read_choice("refuse", refuse, ("above", "below"))
        if not isinstance(threshold, Real) or math.isnan(float(threshold)):
            raise InvalidInputError(f"threshold must be a number, got {threshold!r}.")
        above = score >= float(threshold)
        return (above, 1) if refuse == "above" else (~above, -1)

    def _scores(self, cells: Cells, output: str | None) -> Floats:
        """Return the score of every row: [n, N] → (n,)."""
        raw = inference.outputs(self.network_, torch.from_numpy(cells)).numpy()
        raw = self.target_.to_raw(raw)
        self._check_output(output)
        if self.target_.task == "regression":
            return np.asarray(raw[:, 0])
        names = [str(label) for label in self.target_.labels]
        return np.asarray(to_probability(raw)[:, 0 if output is None else names.index(output)])

    def _check_output(self, output: str | None) -> None:
        """Refuse a class where there is one score, and none of its classes where there are more."""
        if len(self.target_.quantiles) > 1:
            raise InvalidInputError(
                "A decision is about one score, got a model of several quantiles; fit one quantile"
            )
        names = [str(label) for label in self.target_.labels] if len(self.target_.base) > 1 else []
        if names and output not in names:
            raise InvalidInputError(
                f"A decision is about one score, got output={output!r} of a model with the outputs "
                f"{names}; choose one with output=…"
            )
        if not names and output is not None:
            raise InvalidInputError(
                f"output must be left out where a model has one score, got {output!r}."
            )

    def _explained_score(
        self, X: Any, output: str | None, groups: Groups | None, units: str
    ) -> tuple[Explanation, Floats]:
        """Return the explanation of one output, and the score of every row."""
        check_is_fitted(self)
        self._check_output(output)
        several = len(self.target_.base) > 1
        found = self.explain(X, groups=groups, units="probability" if several else units)
        if several:
            found = found.output(output)
        if several or units != "raw" or self.target_.task == "regression":
            return found, found.prediction
        return found, to_probability(found.prediction[:, None])[:, 0]
