"""``audit``: measure every quantity of the certificate on given rows, with the time it takes.

Sizes: n rows, N features, K outputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from sasanet import intervals
from sasanet.arrays import Floats
from sasanet.audit.calibration import calibrate
from sasanet.audit.certificate import SAME_AS_SELF_GAME, Audit, Finding, SizeCalibration
from sasanet.audit.comparison import compare
from sasanet.audit.pairs import compare_pairs
from sasanet.audit.reference import (
    ReferenceValues,
    distillation_targets,
    is_enumerated,
    own_game,
    within_groups,
)
from sasanet.audit.sampled import draw_rows
from sasanet.checksums import pack_weights
from sasanet.errors import InvalidInputError
from sasanet.estimator.explaining import Groups
from sasanet.estimator.sasanet import SASANetModel
from sasanet.explanation import Explanation
from sasanet.explanation.players import read_players
from sasanet.malloc import steady_heap
from sasanet.network import inference
from sasanet.network.coalitions import random_coalitions, random_orders
from sasanet.network.player_game import Game
from sasanet.network.sasanet import SASANet
from sasanet.table.quantities import per_exposure
from sasanet.table.sources import is_source
from sasanet.validation import check_integer, our_refusals

_GAP_ORDERS = 16
_CHUNK_ROWS = 16


def audit(  # noqa: PLR0913 - what to audit, and how much of it
    model: SASANetModel,
    X: Any,
    y: Any = None,
    *,
    n_rows: int = 256,
    n_orders: int = 400,
    random_state: int = 0,
    groups: Groups | None = None,
    units: str = "raw",
    method: str = "auto",
    exposure: Any = None,
    interactions: bool = False,
    within: bool = False,
    target: str | None = None,
) -> Audit:
    """Measure how faithful a fitted model's attributions are on given rows.

    Parameters
    ----------
    model : SASANetClassifier or SASANetRegressor
        A fitted model.
    X : table (n, d), or source
        Rows to audit, preferably not seen in training. Of a source that may be larger than memory
        (Parquet files, datasets, streams, as in ``fit``) 8 ``n_rows`` rows are drawn in one pass.
    y : array-like (n,), optional
        Their labels; with them the calibration of v(S) is measured, on at most 8 ``n_rows`` rows.
    n_rows : int
        Number of rows to audit, drawn at random from ``X``.
    n_orders : int
        Orders per row for the true Shapley values of rows with more than 12 present features (an
        order and its reverse count as two); other rows are enumerated exactly.
    random_state : int
        Seed for drawing rows and orders.
    groups : dict of str to list of str, optional
        Audit the attributions of ``explain(X, groups=groups)``.
    units : {"raw", "probability", "response"}
        Audit the attributions of ``explain(X, units=units)``.
    method : {"auto", "formula", "learned"}
        Audit the attributions of ``explain(X, method=method)``.
    exposure : array-like (n,), optional
        Of the labels, as in ``fit``: calibration is then that of rates, by exposure. Of a source
        the name of a column.
    interactions : bool, default=False
        Also compare ``interactions(X, groups=groups)`` of at most 16 rows with the Shapley
        interaction index of the model's own game, enumerated for at most ten players and sampled
        by ``n_orders`` random coalitions per pair for more. It takes its time.
    within : bool, default=False
        Audit the attributions of ``explain(X, groups=groups, within=True)``, by orders in which
        groups stand together.
    target : str, optional
        The column of X that holds the labels, in place of ``y``.

    Returns
    -------
    Audit
        The certificate: print it, or see ``to_dict``, ``to_frame``, ``save`` and ``plot``.

    Examples
    --------
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(X, y)
    >>> bool(audit(model, X, n_rows=16)["additivity gap"].value < 1e-9)
    True
    """
    start = time.perf_counter()
    n_orders, seed = _check_arguments(n_rows, n_orders, random_state)
    if target is not None or is_source(X):
        check_is_fitted(model)
        named = y, exposure, target
        X, y, exposure = draw_rows(X, model.encoder_.names, named, 8 * n_rows, seed)
    table, cells = _encode(model, X, y)
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.randperm(len(cells), generator=generator)[:n_rows]
    rows = table.iloc[chosen.numpy()]
    explanation = model.explain(rows, groups=groups, within=within, units=units, method=method)
    game = model._game(None if within else groups, units)
    given = explanation, units, cells[chosen]
    find = _owen_game(model, groups) if within else own_game
    findings = _faithfulness(model, game, given, find, n_orders, generator)
    if interactions:
        _check_raw(units)
        pairs = model._player_game(groups)
        scale = model.target_.scale
        findings += _timed(lambda: compare_pairs(pairs, cells[chosen], n_orders, scale, seed))
    sizes: tuple[SizeCalibration, ...] = ()
    if y is not None:
        y, weights = _read_rates(model, y, exposure)
        sizes, found = _calibration(model, cells, y, weights, 8 * n_rows, generator)
        findings += found
    seconds = time.perf_counter() - start
    about = _describe(model, game, cells[chosen], n_orders, explanation.units)
    plain = groups is None and units == "raw"
    by = "learned" if model._explains_quickly(method, plain) else ""
    return replace(about, findings=tuple(findings), calibration=sizes, seconds=seconds, method=by)


def _owen_game(model: SASANetModel, groups: Any) -> Callable[..., ReferenceValues]:
    """Return the function that finds the Owen values of the members of groups."""
    players = read_players(groups, model.encoder_.names)
    return partial(within_groups, membership=torch.from_numpy(players.membership))


def _check_raw(units: str) -> None:
    if units != "raw":
        raise InvalidInputError(
            f"interactions are those of the raw output, got units={units!r} beside them; audit "
            "them apart"
        )


def _check_arguments(n_rows: int, n_orders: int, random_state: int) -> tuple[int, int]:
    """Return an even number of orders, and the seed."""
    check_integer("n_rows", n_rows, 2, None, "an interval over rows needs at least two")
    remedy = "the noise is estimated from two pairs or more"
    n_orders = check_integer("n_orders", n_orders, 4, None, remedy)
    seed = check_integer("random_state", random_state, 0, 2**63 - 1, "give a fixed seed such as 0")
    return n_orders // 2 * 2, seed


def _encode(model: SASANetModel, X: Any, y: Any) -> tuple[pd.DataFrame, Tensor]:
    """Return the table and its encoded cells, once rows and labels are fit for an audit."""
    table, cells = model._encode(X)
    if len(cells) < 2:
        raise InvalidInputError(
            f"X must have at least 2 rows, got {len(cells)}; an interval over rows needs two"
        )
    if y is not None:
        with our_refusals():
            check_consistent_length(table, y)
    return table, cells


def _describe(model: SASANetModel, game: Game, cells: Tensor, n_orders: int, units: str) -> Audit:
    """Return a certificate without findings: what is audited, and how."""
    n_exact = int(is_enumerated(game, cells).sum())
    return Audit(
        findings=(),
        calibration=(),
        n_rows=len(cells),
        n_orders=0 if n_exact == len(cells) else n_orders,
        seconds=0.0,
        units=units,
        model=type(model).__name__,
        network=model.network_.architecture.marginal,
        task=model.target_.loss,
        n_features=game.present(cells).shape[1],
        n_exact=n_exact,
        weights=pack_weights(model.network_)[1],
    )


def _faithfulness(
    model: SASANetModel,
    game: Game,
    given: tuple[Explanation, str, Tensor],
    find: Callable[..., ReferenceValues],
    n_orders: int,
    generator: torch.Generator,
) -> list[Finding]:
    """Return the findings that need no labels.

    ``given`` are an explanation, its units and its cells; ``find`` tells what it should be.
    """
    explanation, units, cells = given
    network, scale, present = model.network_, model.target_.scale, game.present(cells).numpy()
    phi = explanation.values.reshape(*present.shape, -1) / scale

    def errors(name: str, find: Callable[..., ReferenceValues]) -> list[Finding]:
        reference = find(game, cells, n_orders, generator)
        return compare(name, phi, reference, present, scale)

    raw = model.target_.to_raw(inference.outputs(network, cells).numpy())
    raw = model._in_units(raw, units)
    additivity = _timed(lambda: _additivity(explanation.prediction, raw))
    own = _timed(lambda: errors("self-game", find))
    if network.is_set:
        distillation = [_as_distillation(finding) for finding in own]
    else:
        distillation = _timed(lambda: errors("distillation", distillation_targets))
    order_gap = _timed(lambda: _order_gap(network, cells, scale, generator))
    return additivity + own + distillation + order_gap


def _as_distillation(finding: Finding) -> Finding:
    """Return a self-game finding under its other name: a set module's Δ is the difference of v."""
    name = finding.name.replace("self-game", "distillation")
    return replace(finding, name=name, note=SAME_AS_SELF_GAME)


def _timed(measure: Callable[[], list[Finding]]) -> list[Finding]:
    """Measure, and record in every finding how long it took."""
    start = time.perf_counter()
    findings = measure()
    seconds = time.perf_counter() - start
    return [replace(finding, seconds=seconds) for finding in findings]


def _additivity(added: Floats, raw: Floats) -> list[Finding]:
    """Return the largest gap between φ0 + Σφ and the raw prediction.

    It is a fact about these rows, not an estimate, hence no interval around it. The note bounds
    other rows: if a share p of them exceeded it, n rows would all miss it with (1 − p)^n.
    """
    largest, share = float(np.abs(added.reshape(raw.shape) - raw).max()), 1 - 0.05 ** (1 / len(raw))
    note = f"largest of these rows; at most {100 * share:.2g} % of such rows exceed it (95 %)"
    return [Finding("additivity gap", largest, largest, largest, note=note)]


def _read_rates(model: SASANetModel, y: Any, exposure: Any) -> tuple[Any, Floats | None]:
    """Return labels, with an exposure as rates, and how much each of them counts."""
    if exposure is None:
        return y, None
    if not model.target_.has_log_link:
        raise InvalidInputError(
            "exposure must be left out unless a rate is predicted, got one with a model of "
            f"objective={model.target_.objective!r}"
        )
    return per_exposure(y, None, exposure)


def _calibration(
    model: SASANetModel,
    cells: Tensor,
    y: Any,
    weights: Floats | None,
    most: int,
    generator: torch.Generator,
) -> tuple[tuple[SizeCalibration, ...], list[Finding]]:
    start = time.perf_counter()
    numbers = model.target_.read(y)
    chosen = torch.randperm(len(cells), generator=generator)[:most]
    rows = chosen.numpy()
    some = None if weights is None else weights[rows]
    sizes, found = calibrate(model, cells[chosen], numbers[rows], generator, some)
    found = replace(found, seconds=time.perf_counter() - start)
    inside = _coverage(model, cells[chosen], numbers[rows])
    return sizes, [found, *inside]


def _coverage(model: SASANetModel, cells: Tensor, numbers: Floats) -> list[Finding]:
    """Return the share of labels between the lowest and the highest quantile, if there are two."""
    levels = model.target_.quantiles
    if len(levels) < 2:
        return []
    raw = model.target_.to_raw(inference.outputs(model.network_, cells).numpy())
    y = model.target_.to_labels(numbers)
    inside = ((raw[:, 0] < y) & (y <= raw[:, -1])).astype(float)
    value, low, high = intervals.mean(inside)
    note = f"share of labels between q{levels[0]:g} and q{levels[-1]:g}, all features known"
    name = f"value coverage of {100 * (levels[-1] - levels[0]):.3g} %"
    return [Finding(name, value, low, high, note=note)]


def _order_gap(
    network: SASANet, cells: Tensor, scale: float, generator: torch.Generator
) -> list[Finding]:
    """Return the standard deviation of f_c(x_S, O) over orders of a random S, mean over rows."""
    found = []
    with torch.no_grad(), steady_heap():
        for part in cells.to(next(network.parameters()).device).split(_CHUNK_ROWS):
            kept = random_coalitions(network.present(part), generator)
            vectors = network.marginal.cell_vectors(part, kept)
            outputs = [
                network.marginal.contributions(vectors, kept, random_orders(kept, generator)).sum(1)
                for _ in range(_GAP_ORDERS)
            ]
            found.append(torch.stack(outputs).double().std(0).mean(1).cpu())
    value, low, high = intervals.mean(torch.cat(found).numpy() * scale)
    note = "standard deviation of the marginal module's output over orders of a random coalition"
    return [Finding("order gap", value, low, high, n_orders=_GAP_ORDERS, note=note)]
