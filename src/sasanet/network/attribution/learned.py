"""Learned Shapley modules: the paper's attention, and a faster one.

Both have one interface (sizes: B rows, N features, R profile points, K outputs):

``forward(cells, present, ends) → profile [B, N, R, K]``: what a feature adds when it comes early
(first point) or late (last point); the mean over positions is the attribution. They see no order,
so they are permutation-invariant. ``ends`` [B, N, 2, K] are the exact ends of the profile, where
the marginal module can compute them: the module then learns what the straight line between them
misses.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sasanet.network.architecture import AttentionSizes
from sasanet.network.embedding.cells import CellEmbedding
from sasanet.network.layers import feed_forward


def straight_line(ends: Tensor, points: int) -> Tensor:
    """Return the profile that is a straight line between the ends.

    Shape: ends [B, N, 2, K] → [B, N, points, K].
    """
    if points == 1:
        return ends.mean(2, keepdim=True)
    share = torch.linspace(0, 1, points, device=ends.device)[:, None]
    return ends[:, :, :1] * (1 - share) + ends[:, :, 1:] * share


class ContextAttribution(nn.Module):
    """A cell's vector times a vector that describes the row: φ_{i,r} = ⟨a_i(x_i), c_r(x_S)⟩.

    The row is described by an MLP on the sum of the cell vectors of present features and on the
    ends of all profiles, so c depends on the whole row and on the size of the coalition; a_i
    selects what matters for this value of this column.
    """

    # NOTE[DIFF]: the paper uses attention here. In equal time this module comes several times
    # closer to the true Shapley values (docs/measured/benchmarks.md has the figures); attention
    # stays available as attribution="attention".

    def __init__(
        self,
        row_embedding: CellEmbedding,
        cell_embedding: CellEmbedding,
        n_features: int,
        n_outputs: int,
        points: int,
        layers: Sequence[int],
        width: int,
    ) -> None:
        super().__init__()
        self.row_embedding, self.cell_embedding = row_embedding, cell_embedding
        self.points, self.n_outputs = points, n_outputs
        self.from_ends = nn.Linear(3 * n_features * n_outputs, layers[0])
        # A smooth activation: the Shapley value is an average over coalitions, without kinks.
        sizes = [*layers, width * points * n_outputs]
        self.context = feed_forward(sizes, nn.GELU(), 0.0, activate_first=True)
        for start in self.context[-1].parameters():  # no correction to the straight line yet
            nn.init.zeros_(start)

    def forward(self, cells: Tensor, present: Tensor, ends: Tensor | None) -> Tensor:
        """Return position profiles [B, N, R, K]; those of absent features must be masked."""
        row = self.row_embedding.coalition_sums(cells, present[:, None])[:, 0]
        if ends is not None:
            both = torch.cat([ends, ends[:, :, :1] * ends[:, :, 1:]], 2)
            row = row + self.from_ends(both.flatten(1))
        context = self.context(row).unflatten(1, (-1, self.points * self.n_outputs))
        profile = (self.cell_embedding(cells) @ context).unflatten(2, (self.points, self.n_outputs))
        return profile if ends is None else profile + straight_line(ends, self.points)


class AttentionAttribution(nn.Module):
    """The paper's module: attention over all *present* features, without position embeddings.

    Softmax attention cannot count, so an embedding of the size of S is added to each cell vector.
    """

    def __init__(
        self,
        embedding: CellEmbedding,
        sizes: AttentionSizes,
        n_features: int,
        n_outputs: int,
        points: int,
        activation: nn.Module,
    ) -> None:
        super().__init__()
        self.embedding, self.heads = embedding, sizes.heads
        self.points, self.n_outputs = points, n_outputs
        self.size = nn.Embedding(n_features + 1, sizes.width)
        self.query_key_value = nn.Linear(sizes.width, 3 * sizes.inner)
        # The ends are further inputs; without them (sequence module) these are zero.
        inputs = sizes.width + sizes.inner + 2 * n_outputs
        self.head = feed_forward([inputs, *sizes.layers, points * n_outputs], activation, 0.0)

    def forward(self, cells: Tensor, present: Tensor, ends: Tensor | None) -> Tensor:
        """Return position profiles [B, N, R, K]; those of absent features must be masked."""
        vectors = self.embedding(cells)
        sized = vectors + self.size(present.sum(1))[:, None]
        parts = self.query_key_value(sized).chunk(3, dim=-1)
        query, key, value = (p.unflatten(2, (self.heads, -1)).transpose(1, 2) for p in parts)
        # A row without present features may attend to all: its attributions are masked anyway.
        visible = (present | ~present.any(1, keepdim=True))[:, None, None]
        seen = F.scaled_dot_product_attention(query, key, value, attn_mask=visible)
        known = vectors.new_zeros(*present.shape, 2, self.n_outputs) if ends is None else ends
        parts = (sized, seen.transpose(1, 2).flatten(2), known.flatten(2))
        profile = self.head(torch.cat(parts, 2)).unflatten(2, (self.points, self.n_outputs))
        return profile if ends is None else profile + straight_line(ends, self.points)


AttributionModule = ContextAttribution | AttentionAttribution
