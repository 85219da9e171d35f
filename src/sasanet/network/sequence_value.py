"""The paper's marginal contribution module: causal attention along an order (Section 3.1).

Sizes: B rows, N features, D units of a cell's vector, K outputs.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sasanet.network.architecture import AttentionSizes
from sasanet.network.coalitions import by_feature, reverse_orders
from sasanet.network.embedding.cells import CellEmbedding
from sasanet.network.layers import feed_forward


class SequenceValue(nn.Module):
    """The paper's module: strictly causal multi-head attention along the order.

    The query at position k is the cell O_k; its keys are O_1..O_{k−1} only. They are shifted right
    by a learned start vector, so that one causal pass gives all N contributions.
    """

    def __init__(
        self,
        embedding: CellEmbedding,
        sizes: AttentionSizes,
        n_features: int,
        n_outputs: int,
        activation: nn.Module,
        dropout: float,
    ) -> None:
        super().__init__()
        self.embedding, self.heads = embedding, sizes.heads
        self.start = nn.Parameter(torch.randn(1, 1, sizes.width))
        self.places = nn.Parameter(0.1 * torch.randn(n_features + 1, sizes.width))
        self.query = nn.Linear(sizes.width, sizes.inner)
        self.key_value = nn.Linear(sizes.width, 2 * sizes.inner)
        layers = [sizes.width + sizes.inner, *sizes.layers, n_outputs]
        self.head = feed_forward(layers, activation, dropout)

    def cell_vectors(self, cells: Tensor, present: Tensor) -> Tensor:
        """Return the vector of every cell: [B, N, D]."""
        del present  # absent cells come last, where causal attention does not look
        return self.embedding(cells)

    def contributions(self, vectors: Tensor, present: Tensor, orders: Tensor) -> Tensor:
        """Return Δ(x_{O_k}, x_{O_{1:k−1}}) along each order, Section 3.1."""
        index = orders[..., None].expand(-1, -1, vectors.shape[2])
        along = torch.gather(vectors, 1, index)
        # Query k has position k; key k is the cell at position k − 1, key 0 the start.
        queries = self.query(along + self.places[1:])
        prefix = torch.cat([self.start.expand(len(along), -1, -1), along[:, :-1]], 1)
        keys, values = self.key_value(prefix + self.places[:-1]).chunk(2, dim=-1)
        split = [
            part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in (queries, keys, values)
        ]
        seen = F.scaled_dot_product_attention(split[0], split[1], split[2], is_causal=True)
        delta = self.head(torch.cat([along, seen.transpose(1, 2).flatten(2)], 2))
        return delta * torch.gather(present, 1, orders)[..., None]

    def contributions_both_ways(
        self, vectors: Tensor, present: Tensor, orders: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return Δ along each order and its reverse, both in the sequence of the order."""
        reverse = reverse_orders(orders, present.sum(1))
        back = by_feature(self.contributions(vectors, present, reverse), reverse)
        index = orders[..., None].expand_as(back)
        return self.contributions(vectors, present, orders), torch.gather(back, 1, index)
