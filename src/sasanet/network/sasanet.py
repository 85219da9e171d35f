"""The whole SASANet: a marginal module that predicts and a Shapley module that attributes.

    cells ─┬─► marginal module (along an order)  ─► Δ        trained on labels
           └─► Shapley module  (order-free)      ─► profile  by formula, or distilled ─mean─► φ

    f(x_S) = φ0 + Σ_{i∈S} φ(x_S)_i ,    v(S) = f(x_S)                (Definition 2.2)

Sizes: B rows, N features, K outputs, M coalitions, R profile points. All outputs here are relative
to the base value and, for regression, in standard deviations of the target; the estimator rescales
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from sasanet.network.architecture import Architecture
from sasanet.network.attribution.closed_form import ClosedFormAttribution
from sasanet.network.attribution.distilled import DistilledAttribution
from sasanet.network.attribution.learned import (
    AttentionAttribution,
    AttributionModule,
    ContextAttribution,
)
from sasanet.network.coalitions import add_up, mean_over_positions, positions, steps_both_ways
from sasanet.network.embedding.cells import CellEmbedding, make_embedding
from sasanet.network.interface import TabularNetwork
from sasanet.network.layers import Ladder
from sasanet.network.monotone import MonotoneBounds
from sasanet.network.sequence_value import SequenceValue
from sasanet.network.set_value import SetValue
from sasanet.table.columns import Columns

# Orders [B, N] → contributions along them and along their reverses, two [B, N, K].
Contributions = Callable[[Tensor], tuple[Tensor, Tensor]]
MarginalModule = SetValue | SequenceValue
_ACTIVATIONS = {"relu": nn.ReLU, "leaky_relu": nn.LeakyReLU, "gelu": nn.GELU}


class SASANet(TabularNetwork):
    """A marginal module and a Shapley module on the cells of a table.

    Parameters
    ----------
    columns : Columns
        The encoded table's columns.
    n_outputs : int
        1 for binary and regression, C for multiclass.
    architecture : Architecture
        Which modules, and their sizes.
    cap : float
        Bound of the output of the set module; infinite: no bound.
    dropout : float
        Dropout inside the marginal module.
    gaps : sequence of float
        Of several quantiles: their distances when nothing is known, see
        :class:`~sasanet.network.layers.Ladder`.
    """

    def __init__(
        self,
        columns: Columns,
        n_outputs: int,
        architecture: Architecture,
        cap: float,
        dropout: float,
        gaps: Sequence[float] = (),
    ) -> None:
        super().__init__()
        self.columns, self.n_outputs, self.architecture = columns, n_outputs, architecture
        self.points = architecture.positions or len(columns)
        self.marginal: MarginalModule = self._make_marginal(cap, dropout)
        if gaps:
            assert isinstance(self.marginal, SetValue)
            self.marginal.ladder = Ladder(gaps)
        self.bounds: MonotoneBounds | None = None
        if columns.directions:
            assert isinstance(self.marginal, SetValue)
            self.bounds = MonotoneBounds(self.marginal, columns.directions)
        self.attribution: AttributionModule | ClosedFormAttribution | None
        self.attribution = self._make_attribution()
        # Taught by the formula once the model is fitted, if at all: `learn_attributions`.
        self.distilled: DistilledAttribution | None = None

    def _embedding(self, width: int) -> CellEmbedding:
        arch = self.architecture
        layers = arch.number_layers if arch.numbers == "mlp" else None
        columns, activation = self.columns, _ACTIVATIONS[arch.activation]()
        return make_embedding(
            columns.places, columns.is_number, width, layers, activation, columns.owners
        )

    def _make_marginal(self, cap: float, dropout: float) -> MarginalModule:
        arch, activation = self.architecture, _ACTIVATIONS[self.architecture.activation]()
        embedding = self._embedding(arch.width)
        if arch.marginal == "set":
            sizes = [arch.width, *arch.marginal_layers, self.n_outputs]
            members, n_features = arch.members, len(self.columns)
            return SetValue(embedding, sizes, activation, dropout, cap, members, n_features)
        return SequenceValue(
            embedding,
            arch.marginal_attention,
            len(self.columns),
            self.n_outputs,
            activation,
            dropout,
        )

    def _make_attribution(self) -> AttributionModule | ClosedFormAttribution | None:
        arch, n_features = self.architecture, len(self.columns)
        if arch.attribution == "none":  # the ablation SASANet-d
            return None
        if arch.attribution == "closed_form":
            return ClosedFormAttribution(n_features, self.points)
        if arch.attribution == "context":
            return ContextAttribution(
                self._embedding(arch.attribution_layers[0]),
                self._embedding(arch.attribution_width),
                n_features,
                self.n_outputs,
                self.points,
                arch.attribution_layers,
                arch.attribution_width,
            )
        shared = self.marginal.embedding if arch.shared_embedding else None
        return AttentionAttribution(
            shared or self._embedding(arch.attribution_width),
            arch.attribution_attention,
            n_features,
            self.n_outputs,
            self.points,
            _ACTIVATIONS[arch.activation](),
        )

    @property
    def is_set(self) -> bool:
        """Whether the marginal module is a set function."""
        return isinstance(self.marginal, SetValue)

    @property
    def is_exact(self) -> bool:
        """Whether the attributions of every row are exact: all coalitions are enumerated."""
        return isinstance(self.attribution, ClosedFormAttribution) and self.attribution.is_exact

    def constrain(self) -> None:
        """Move the weights within the bounds that make the output monotone, if it is to be."""
        if self.bounds is not None:
            assert isinstance(self.marginal, SetValue)
            self.bounds.apply_to(self.marginal)

    def is_within_bounds(self) -> bool:
        """Tell whether the weights keep the bounds that make the output monotone, if any."""
        if self.bounds is None:
            return True
        assert isinstance(self.marginal, SetValue)
        return self.bounds.hold_for(self.marginal)

    def present(self, cells: Tensor) -> Tensor:
        """Return which players a row has: those columns whose first cell is not missing.

        Shape: cells [B, C] → [B, N] bool; C is N, and more where columns are bags.
        """
        return ~cells[:, : len(self.columns)].isnan()

    def profiles(
        self,
        cells: Tensor,
        present: Tensor,
        vectors: Tensor | None = None,
        value: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return position profiles that add up, and the output they add up to.

        With the set module the output is v(S), and profiles are shifted so that Σφ = v(S) (additive
        normalisation); with the sequence module the output *is* Σφ (Eq. 1).

        Shape: cells, present [B, N], vectors [B, N, D] and value [B, M, K] (of the marginal module,
        if already computed) → profiles [B, N, R, K], output [B, K].
        """
        assert self.attribution is not None
        if isinstance(self.marginal, SetValue):
            with torch.no_grad():  # distillation must not train the marginal module
                vectors = self.marginal.cell_vectors(cells, present) if vectors is None else vectors
                ends, value = self.marginal.ends(cells, present, vectors, value)
            if isinstance(self.attribution, ClosedFormAttribution):
                profile = self._mean_over_members(self.attribution, present, vectors, ends, value)
            else:
                profile = self.attribution(cells, present, ends[..., 0, :])
            output = value.mean(1)
            attributions = mean_over_positions(profile, present)
            shift = add_up(attributions, output, present) - attributions
            return (profile + shift[:, :, None]) * present[..., None, None], output
        profile = self.attribution(cells, present, None) * present[..., None, None]
        return profile, mean_over_positions(profile, present).sum(1)

    def _mean_over_members(
        self,
        formula: Callable[..., Tensor],
        present: Tensor,
        vectors: Tensor,
        ends: Tensor,
        value: Tensor,
    ) -> Tensor:
        """Return the mean of a formula over the members: the Shapley value is linear."""
        assert isinstance(self.marginal, SetValue)
        found = [
            formula(function, present, own, ends[..., m, :], value[:, m])
            for m, (function, own) in enumerate(self.marginal.members(vectors))
        ]
        return found[0] if len(found) == 1 else torch.stack(found).mean(0)

    def attribute(self, cells: Tensor, present: Tensor) -> tuple[Tensor, Tensor]:
        """Return the attributions and the output they add up to; v and φ are computed once.

        The output is bit-identical to that of :meth:`values` for the same rows.

        Shape: cells, present [B, N] → φ [B, N, K], output [B, K]; φ is 0 where absent.
        """
        value = None
        if isinstance(self.marginal, SetValue):
            value = self.marginal.member_values(cells, present[:, None])[:, 0]
        formula = self.attribution
        if value is None or not isinstance(formula, ClosedFormAttribution):
            profile, output = self.profiles(cells, present, value=value)
            return add_up(mean_over_positions(profile, present), output, present), output
        assert isinstance(self.marginal, SetValue)
        with torch.no_grad():
            vectors = self.marginal.cell_vectors(cells, present)
            ends, _ = self.marginal.ends(cells, present, vectors, value)
        found = self._mean_over_members(
            lambda *given: formula.attributions(*given)[0], present, vectors, ends, value
        )
        output = value.mean(1)
        return add_up(found, output, present), output

    def attribute_quickly(self, cells: Tensor, present: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return what :meth:`attribute` does, by the module that the formula taught.

        Rows unlike those it was taught belong to the formula; the last result tells which: bool
        [B].
        """
        assert self.distilled is not None
        assert isinstance(self.marginal, SetValue)
        return self.distilled.attribute(self.marginal, cells, present)

    def values(self, cells: Tensor, coalitions: Tensor) -> Tensor:
        """Return the model's output for every coalition, relative to the base value.

        Shape: cells [B, N], coalitions [B, M, N] bool (without absent cells) → [B, M, K].
        """
        if isinstance(self.marginal, SetValue):
            return self.marginal.values(cells, coalitions)
        flat = coalitions.flatten(0, 1)
        cells = cells.repeat_interleave(coalitions.shape[1], 0)
        if self.attribution is not None:
            return self.attribute(cells, flat)[1].unflatten(0, coalitions.shape[:2])
        # SASANet-d predicts with f_c, which depends on the order: that of the columns.
        orders = torch.argsort((~flat).to(torch.uint8), dim=1, stable=True)
        vectors = self.marginal.cell_vectors(cells, flat)
        total = self.marginal.contributions(vectors, flat, orders).sum(1)
        return total.unflatten(0, coalitions.shape[:2])

    def value_contributions(self, cells: Tensor, present: Tensor) -> Contributions:
        """Return a function of orders: the contributions of features to v(S) along each order.

        It returns those along the order and along its reverse, both in the sequence of the order;
        their mean over orders is the Shapley value (Eq. 2).

        Shape: cells, present [B, N]; orders [B, N] → two [B, N, K].
        """
        if isinstance(self.marginal, SetValue):  # whose Δ is the difference of v
            return self.module_contributions(cells, present)
        return contributions_of_prefixes(lambda chosen: self.values(cells, chosen), present)

    def module_contributions(self, cells: Tensor, present: Tensor) -> Contributions:
        """Return the same for Δ of the marginal module, which may depend on the whole order."""
        vectors = self.marginal.cell_vectors(cells, present)
        return lambda orders: self.marginal.contributions_both_ways(vectors, present, orders)

    def parts(self, names: Sequence[str]) -> list[nn.Parameter]:
        """Return the parameters of the named modules, each once.

        A shared embedding belongs to the marginal module: distillation must not change its own
        targets.
        """
        fixed = set() if "marginal" in names else set(self.marginal.parameters())
        return [p for p in super().parts(names) if p not in fixed]


def contributions_of_prefixes(values: Callable[[Tensor], Tensor], present: Tensor) -> Contributions:
    """Return a function of orders: what each player adds to those before it, by valuing prefixes.

    Shape: values [B, M, P] bool → [B, M, K]; present [B, P]; orders [B, P] → two [B, P, K].
    """
    steps = torch.arange(1, present.shape[1] + 1, device=present.device)[None, :, None]

    def contributions(orders: Tensor) -> tuple[Tensor, Tensor]:
        prefix = (positions(orders)[:, None] < steps) & present[:, None]  # the first k
        return steps_both_ways(values(prefix), values(present[:, None] & ~prefix))

    return contributions
