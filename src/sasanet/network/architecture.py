"""Which network to build: its modules and sizes, as plain data.

The four networks of the paper's Appendix H are named presets, and its ablations are values of the
same fields, not classes of their own.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from sasanet.errors import InvalidInputError
from sasanet.validation import read_choice, read_real, read_sizes

_CHOICES = {
    "marginal": ("set", "sequence"),
    "attribution": ("closed_form", "context", "attention", "none"),
    "numbers": ("knots", "mlp"),
    "activation": ("relu", "leaky_relu", "gelu"),
}
_REGULARISATION = ("dropout", "weight_decay")


@dataclass(frozen=True)
class AttentionSizes:
    """Sizes of an attention module and its feed-forward network (Appendix H)."""

    width: int
    heads: int
    head_width: int
    layers: tuple[int, ...]

    @property
    def inner(self) -> int:
        """Width of all heads together."""
        return self.heads * self.head_width


@dataclass(frozen=True)
class Architecture:
    """The modules of a SASANet and their sizes.

    Parameters
    ----------
    marginal : {"set", "sequence"}
        The marginal contribution module. ``"set"``: a value network that is a set function, so the
        order of the features cannot matter. ``"sequence"``: the paper's causal attention along an
        order.
    attribution : {"closed_form", "context", "attention", "none"}
        The Shapley module. ``"closed_form"``: computed from the set network; nothing is learned.
        ``"context"`` and ``"attention"`` are distilled from the marginal module: a cell's vector
        times a vector that describes the row, or the paper's attention over the present features.
        ``"none"``: the ablation SASANet-d, which predicts with the marginal module and cannot
        explain.
    positions : int or None
        Points on the position profile of each feature. ``None``: one per feature, as in the paper;
        ``1``: no positions, the ablation SASANet-p.
    numbers : {"knots", "mlp"}
        How a number becomes a vector: by interpolation between vectors at training quantiles, or by
        the paper's single-input MLP.
    n_knots : int
        Largest number of knots (quantiles) per number column, for ``"knots"``.
    number_layers : tuple of int
        Hidden sizes of the paper's "continuous embedding" MLP, for ``"mlp"``.
    width : int
        Length of a cell vector in the marginal module (the paper's embedding dimension).
    marginal_layers : tuple of int
        Hidden sizes of the feed-forward network of the marginal module.
    members : int
        Set networks that share cell vectors and layers and are averaged: more accurate, but
        explanations take as many times longer.
    marginal_heads, marginal_head_width : int
        Attention heads of the sequence module and their width.
    attribution_width : int
        Length of a cell vector in the Shapley module.
    attribution_layers : tuple of int
        Hidden sizes of the feed-forward network of the Shapley module.
    attribution_heads, attribution_head_width : int
        Attention heads of the Shapley module and their width.
    attribution_steps : int or None
        Steps in which only the Shapley module is trained; not for ``"closed_form"`` and ``"none"``.
        ``None``: by the number of rows (:mod:`sasanet.training.hyperparameters`).
    shared_embedding : bool
        Whether both modules use the same cell vectors, as in the paper.
    value_weight, attribution_weight : float
        The paper's λ_v and λ_s, used where both modules are trained together.
    full_share : float
        Share of the complete row in the prediction loss; the rest is for its coalitions. 0 is the
        paper's, where the complete row is one of N prefixes.
    activation : {"relu", "leaky_relu", "gelu"}
        Activation of every feed-forward network.
    dropout : float or "auto"
        Dropout inside the marginal module. ``"auto"``: by the number of rows and how clear their
        labels are (:mod:`sasanet.training.hyperparameters`).
    weight_decay : float
        Decay of the feed-forward matrices.

    Examples
    --------
    >>> Architecture(marginal="sequence", attribution="attention").positions
    8
    >>> ARCHITECTURES["paper-income"].attribution_weight
    0.0001
    """

    marginal: str = "set"
    attribution: str = "closed_form"
    positions: int | None = 8
    numbers: str = "knots"
    n_knots: int = 128
    number_layers: tuple[int, ...] = (16, 16)
    width: int = 256
    marginal_layers: tuple[int, ...] = (128,)
    members: int = 1
    marginal_heads: int = 4
    marginal_head_width: int = 16
    attribution_width: int = 64
    attribution_layers: tuple[int, ...] = (256, 256, 256)
    attribution_heads: int = 4
    attribution_head_width: int = 16
    attribution_steps: int | None = None
    shared_embedding: bool = False
    value_weight: float = 1.0
    attribution_weight: float = 1.0
    full_share: float = 0.65
    activation: str = "relu"
    dropout: float | str = "auto"
    weight_decay: float = 1e-2

    def __post_init__(self) -> None:
        self._check_choices()
        for field in ("number_layers", "marginal_layers", "attribution_layers"):
            sizes = read_sizes(f"Architecture.{field}", getattr(self, field), least=0)
            object.__setattr__(self, field, sizes)  # JSON has lists
        self._check_sizes()
        self._check_attribution_steps()
        self._check_full_share()
        self._check_regularisation()
        self._check_closed_form()
        self._check_members()
        self._check_shared_embedding()

    def _check_choices(self) -> None:
        for field, allowed in _CHOICES.items():
            read_choice(f"Architecture.{field}", getattr(self, field), allowed)

    def _check_sizes(self) -> None:
        sizes = [
            self.n_knots,
            *self.number_layers,
            self.width,
            *self.marginal_layers,
            self.members,
            self.marginal_heads,
            self.marginal_head_width,
            self.attribution_width,
            *self.attribution_layers,
            self.attribution_heads,
            self.attribution_head_width,
            *([] if self.positions is None else [self.positions]),
        ]
        whole = all(isinstance(size, int) and not isinstance(size, bool) for size in sizes)
        if not whole or min(sizes) < 1 or self.n_knots < 2 or not self.attribution_layers:
            raise InvalidInputError(
                "Every size of an Architecture must be a whole number of at least 1 (n_knots 2), "
                f"with at least one of attribution_layers, got {self}"
            )

    def _check_attribution_steps(self) -> None:
        steps = self.attribution_steps
        if steps is None:
            return
        if isinstance(steps, bool) or not isinstance(steps, int) or steps < 0:
            raise InvalidInputError(
                "Architecture.attribution_steps must be None or a whole number of at least 0, "
                f"got {steps!r}"
            )
        if self.attribution in ("closed_form", "none"):
            raise InvalidInputError(
                "Architecture.attribution_steps needs a Shapley module that learns "
                f"(attribution='context' or 'attention'), got attribution={self.attribution!r}; "
                "omit attribution_steps"
            )

    def _check_full_share(self) -> None:
        for field in ("value_weight", "attribution_weight", "full_share"):
            read_real({f"Architecture.{field}": getattr(self, field)}, f"Architecture.{field}")
        if self.full_share > 1:
            raise InvalidInputError(
                f"Architecture.full_share must be in [0, 1], got {self.full_share!r}"
            )

    def _check_regularisation(self) -> None:
        given = {f"Architecture.{field}": getattr(self, field) for field in _REGULARISATION}
        dropout = read_real(given, "Architecture.dropout", below=1, auto=math.nan)
        if not math.isnan(dropout):
            object.__setattr__(self, "dropout", dropout)  # NumPy's numbers become Python's
        decay = read_real(given, "Architecture.weight_decay")
        object.__setattr__(self, "weight_decay", decay)

    def _check_closed_form(self) -> None:
        possible = self.marginal == "set" and self.activation != "gelu"
        if self.attribution == "closed_form" and not possible:
            raise InvalidInputError(
                "attribution='closed_form' needs marginal='set' and activation 'relu' or "
                f"'leaky_relu', got marginal={self.marginal!r}, "
                f"activation={self.activation!r}; use attribution='context' or 'attention' there"
            )

    def _check_members(self) -> None:
        possible = self.marginal == "set" and self.attribution in ("closed_form", "none")
        if self.members > 1 and not possible:
            raise InvalidInputError(
                "members > 1 needs marginal='set' and attribution='closed_form' or 'none', "
                f"got marginal={self.marginal!r}, attribution={self.attribution!r}"
            )

    def _check_shared_embedding(self) -> None:
        # The ablation attribution="none" of a network that shares may keep the field.
        possible = self.marginal == "sequence" and self.attribution != "context"
        if self.shared_embedding and not (possible and self.width == self.attribution_width):
            raise InvalidInputError(
                "shared_embedding=True needs marginal='sequence', attribution='attention' and "
                f"attribution_width == width, got {self}"
            )

    @property
    def marginal_attention(self) -> AttentionSizes:
        """Sizes of the sequence module."""
        return AttentionSizes(
            self.width, self.marginal_heads, self.marginal_head_width, self.marginal_layers
        )

    @property
    def attribution_attention(self) -> AttentionSizes:
        """Sizes of the attention Shapley module."""
        return AttentionSizes(
            self.attribution_width,
            self.attribution_heads,
            self.attribution_head_width,
            self.attribution_layers,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as data that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Architecture:
        """Build from :meth:`to_dict`'s data; unknown or ill-typed fields raise."""
        try:
            return cls(**fields)
        except TypeError as error:
            raise InvalidInputError(
                f"These are not the fields of an Architecture: {error}"
            ) from None


def _paper(
    width: int, number_layers: tuple[int, ...], layers: tuple[int, ...], heads: int, head_width: int
) -> Architecture:
    """Return what the four columns of Appendix H share, with equal sizes for both modules."""
    # NOTE[DIFF]: the last "continuous embedding" number of Appendix H is the output size; for Higgs
    # it is 512 beside an embedding dimension of 64. There we read it as one more hidden layer,
    # because vectors of categories and numbers must have one length.
    return Architecture(
        marginal="sequence",
        attribution="attention",
        positions=None,
        numbers="mlp",
        number_layers=number_layers,
        width=width,
        marginal_layers=layers,
        marginal_heads=heads,
        marginal_head_width=head_width,
        attribution_width=width,
        attribution_layers=layers,
        attribution_heads=heads,
        attribution_head_width=head_width,
        shared_embedding=True,
        full_share=0.0,
        activation="leaky_relu",
    )


# The paper's "attention dimension" must be the width of one head: it is 8 with 8 heads.
ARCHITECTURES: dict[str, Architecture] = {
    "set": Architecture(),
    "sequence": Architecture(
        marginal="sequence",
        attribution="attention",
        positions=None,
        width=64,
        attribution_layers=(128, 128),
        marginal_layers=(128, 128),
        shared_embedding=True,
    ),
    "paper-fraud": replace(_paper(64, (16, 16), (128, 128, 128), 4, 8), attribution_heads=8),
    "paper-higgs": replace(
        _paper(64, (128, 128, 512), (512,) * 6 + (1024,), 8, 128), attribution_layers=(256,) * 6
    ),
    "paper-income": replace(
        _paper(128, (128, 16), (256, 128, 128), 16, 128), attribution_weight=1e-4
    ),
    "paper-insurance": replace(_paper(64, (16, 16), (128, 128, 128), 4, 8), attribution_heads=8),
}


def can_be_monotone(architecture: Architecture) -> bool:
    """Tell whether bounds on the weights can make a network's output monotone in columns."""
    is_table = architecture.marginal == "set" and architecture.numbers == "knots"
    return is_table and architecture.activation != "gelu"


def find_architecture(network: str | Architecture) -> Architecture:
    """Return the architecture of this name; an Architecture is returned as it is."""
    if isinstance(network, Architecture):
        return network
    if not isinstance(network, str) or network not in ARCHITECTURES:
        raise InvalidInputError(
            f"network must be an Architecture or one of {sorted(ARCHITECTURES)}, got {network!r}"
        )
    return ARCHITECTURES[network]
