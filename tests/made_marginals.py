"""Marginal modules to test in double precision, and what they are asked: shared by their tests."""

from __future__ import annotations

import math

import torch

from sasanet.table.columns import Columns

LONG = Columns((5, 4, 7, 3, 6), (True, False, True, False, True))  # every cell can be changed


def marginal_maker(make_network, kind, members=1):
    """Return the maker of marginal modules of one kind in double precision."""

    def make(columns, n_outputs=2, cap=math.inf, **fields):
        attribution = "none" if kind == "set" else "attention"
        fields |= {"marginal": kind, "members": members, "attribution": attribution}
        return make_network(columns, n_outputs, cap, **fields).marginal.double()

    return make


def along(marginal, cells, present, orders):
    """Return Δ [B, N, K] along the orders."""
    return marginal.contributions(marginal.cell_vectors(cells, present), present, orders)


def close(found, expected, atol=1e-9):
    torch.testing.assert_close(found, expected, rtol=0, atol=atol)


def forget_gradients(module):
    return module.requires_grad_(False)
