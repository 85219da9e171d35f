"""What happens to a fitted model: it is audited, described, saved and loaded.

The code of all of these stands in higher rooms; a user finds it as methods of the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sklearn.utils.validation import check_is_fitted

from sasanet.errors import InvalidInputError
from sasanet.estimator.tabular import TabularModel

if TYPE_CHECKING:
    from sasanet.audit import Audit


class CertifiedModel(TabularModel):
    """A model that can be audited against its own game, and kept in a file with its certificate."""

    audit_: Audit

    def audit(  # noqa: PLR0913 - what to audit, and how much of it
        self,
        X: Any,
        y: Any = None,
        *,
        n_rows: int = 256,
        n_orders: int = 400,
        random_state: int = 0,
        groups: Mapping[str, Sequence[str]] | None = None,
        units: str = "raw",
        method: str = "auto",
        exposure: Any = None,
        interactions: bool = False,
        within: bool = False,
        target: str | None = None,
    ) -> Audit:
        """Measure how true the attributions are on given rows: see :func:`sasanet.audit.audit`.

        The certificate is kept as ``audit_`` and saved with the model, until the next ``fit``. One
        of groups, of probabilities or of a method that is not the default is only returned: it
        speaks of other attributions than those of ``explain(X)``.
        """
        from sasanet.audit import audit  # a higher room: only this method needs it

        found = audit(
            self,
            X,
            y,
            n_rows=n_rows,
            n_orders=n_orders,
            random_state=random_state,
            groups=groups,
            units=units,
            method=method,
            exposure=exposure,
            interactions=interactions,
            within=within,
            target=target,
        )
        if groups is None and units == "raw" and method == "auto":
            self.audit_ = found
        return found

    def _repr_html_inner(self) -> str:
        """Return scikit-learn's diagram with a line on the audit under it."""
        from sasanet.audit.html import model_note  # a higher room: only this method needs it

        return str(super()._repr_html_inner()) + model_note(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return what notebooks ask for first; the diagram is the one of ``_repr_html_``."""
        bundle: dict[str, str] = super()._repr_mimebundle_(include=include, exclude=exclude)
        return bundle | ({"text/html": self._repr_html_inner()} if "text/html" in bundle else {})

    def save(self, path: str | Path, key: bytes | None = None) -> None:
        """Write the model to a directory: safetensors and JSON, no pickle, and its :meth:`card`.

        The directory holds the old model or the new one at any time. With a secret ``key`` the
        model is signed, and ``load(path, key)`` refuses one that was not.
        """
        from sasanet.persistence import save_model  # a higher room: only this method needs it

        check_is_fitted(self)
        save_model(self, path, key)

    def card(self) -> str:
        """Return the model card: what the model is, was taught and is worth, as plain Markdown.

        Columns with their ranges and levels, quality and faithfulness as the last audit measured
        them, settings, limits; no training rows. :meth:`save` writes it as ``README.md`` beside
        the model, unless that file is somebody's own: one whose first line is not the card's.

        Examples
        --------
        >>> from sasanet import SASANetClassifier
        >>> from sasanet.datasets import load_penguins
        >>> X, y = load_penguins()
        >>> model = SASANetClassifier(random_state=0, max_epochs=1, teacher_weight=0).fit(X, y)
        >>> print(model.card().splitlines()[2])
        # SASANetClassifier: which of 3 classes
        """
        from sasanet.persistence.card import model_card  # a higher room: only this method needs it

        check_is_fitted(self)
        return model_card(self)

    def to_onnx(self, path: str | Path, X: Any = None, attributions: bool = True) -> dict[str, Any]:
        """Write the model as one ONNX file, to predict and explain without Python.

        One input per column, each of shape (rows,): doubles, where NaN is a missing cell, or text
        for columns of text, where "" is. Outputs: ``prediction``, ``probabilities`` (classifiers),
        ``raw``, ``base_value`` and ``attributions`` (rows, d, K), which add up to ``raw``. Only the
        set network can be exported. Needs ``pip install "sasanet[onnx]"``.

        The file is run before it is written, on the rows ``X`` or on rows drawn from the columns'
        quantiles and levels. How far its answers are from the model's is returned, and written into
        its metadata. Without ``attributions`` it predicts only, in less time.
        """
        from sasanet.onnx import write_onnx  # a higher room: only this method needs it

        check_is_fitted(self)
        return write_onnx(self, path, X, attributions)

    @classmethod
    def load(cls, path: str | Path, key: bytes | None = None) -> Self:
        """Read a model that :meth:`save` wrote; :func:`sasanet.load` finds the class itself."""
        from sasanet.persistence import load  # a higher room: only this method needs it

        model = load(path, key)
        if not isinstance(model, cls):
            raise InvalidInputError(
                f"{path} must hold a {cls.__name__}, got a {type(model).__name__}; "
                "sasanet.load finds the class itself"
            )
        return model
