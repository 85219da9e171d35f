"""What a fitted model says about a decision that was taken by its score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import pandas as pd
from sklearn.utils.validation import check_is_fitted

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.estimator.explaining import ExplainingModel, Groups
from sasanet.explanation.decision import Codes, decision_reasons
from sasanet.explanation.explanation import Explanation
from sasanet.table.target import to_probability
from sasanet.validation import check_integer, read_choice


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

        Returns
        -------
        DataFrame
            One line per refused row and reason: ``row`` (its label), ``score``, ``rank`` from 1,
            ``feature``, ``code``, ``reason`` (a sentence), ``attribution`` and ``excluded``. A
            refused row without a reason to tell has one line of rank 0. Of more than two classes
            attributions are those of the probability.

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
        read_choice("refuse", refuse, ("above", "below"))
        if not isinstance(threshold, Real) or math.isnan(float(threshold)):
            raise InvalidInputError(f"threshold must be a number, got {threshold!r}.")
        explanation, score = self._explained_score(X, output, groups)
        above = score >= float(threshold)
        refused, towards = (above, 1) if refuse == "above" else (~above, -1)
        return decision_reasons(explanation, score, refused, towards, k, codes, exclude)

    def _explained_score(
        self, X: Any, output: str | None, groups: Groups | None
    ) -> tuple[Explanation, Floats]:
        """Return the explanation of one output, and the score of every row."""
        check_is_fitted(self)
        several = len(self.target_.base) > 1
        found = self.explain(X, groups=groups, units="probability" if several else "raw")
        if several and output is None:
            raise InvalidInputError(
                "A decision is about one score, got a model with the outputs "
                f"{list(found.output_names)}; choose one with output=…"
            )
        if not several and output is not None:
            raise InvalidInputError(
                f"output must be left out where a model has one score, got {output!r}."
            )
        if several:
            found = found.output(output)
            return found, found.prediction
        if self.target_.task == "regression":
            return found, found.prediction
        return found, to_probability(found.prediction[:, None])[:, 0]
