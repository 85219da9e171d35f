"""Cell vectors: both kinds against a slow loop, missing cells, and where gradients arrive."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from sasanet.network.embedding.cells import MLPTokens, TableTokens, make_tokens
from sasanet.table.columns import Columns

WIDTH = 4
TABLES = {
    "mixed": Columns((5, 4, 1, 3, 6), (True, False, True, False, True)),
    "category first": Columns((3, 4, 2), (False, True, True)),
    "numbers": Columns((5, 2, 7), (True, True, True)),
    "categories": Columns((3, 5, 2), (False, False, False)),
    "one-knot numbers": Columns((1, 1, 3), (True, True, False)),
    "one number": Columns((4,), (True,)),
    "one knot": Columns((1,), (True,)),
    "only unseen levels": Columns((1, 3), (False, True)),
}


@pytest.fixture(params=TABLES)
def columns(request):
    """Return every kind of table in turn."""
    return TABLES[request.param]


@pytest.fixture
def table(stir):
    """Return the maker of table tokens in double precision, no parameter at its start."""

    def make(columns):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            tokens = TableTokens(columns.places, columns.is_number, WIDTH, scale=1.0)
        reserved = tokens.levels.detach().clone()
        stir(tokens)
        with torch.no_grad():  # the reserved levels are zero, and stay so in training
            tokens.levels[(reserved == 0).all(1)] = 0
        return tokens.double()

    return make


@pytest.fixture
def mlp(stir):
    """Return the maker of the paper's tokens in double precision."""

    def make(columns, hidden=(3, 5)):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            tokens = MLPTokens(columns.places, columns.is_number, WIDTH, hidden, nn.LeakyReLU())
        return stir(tokens).double()

    return make


def slow_table(tokens, columns, cells):
    """Return the tokens by a loop over cells, from the definition."""
    found = torch.zeros(*cells.shape, WIDTH, dtype=torch.float64)
    for row in range(len(cells)):
        number, level = 0, 0
        for column, (places, is_number) in enumerate(
            zip(columns.places, columns.is_number, strict=True)
        ):
            cell = cells[row, column].item()
            cell = 0.0 if math.isnan(cell) else cell
            if not is_number:
                found[row, column] = tokens.scales[column] * tokens.levels[level + int(cell)]
                level += places
                continue
            steps = tokens.steps[tokens.block_columns == number].flatten(0, 1)
            knots = [
                (math.sqrt(3) * (2 * k / (places - 1) - 1) if places > 1 else 1.0)
                * tokens.slopes[number, 0]
                + steps[: k + 1].sum(0)
                for k in range(places)
            ]
            low = min(int(cell), places - 1)
            high = min(low + 1, places - 1)
            between = knots[low] + (cell - low) * (knots[high] - knots[low])
            found[row, column] = tokens.scales[column] * between
            number += 1
    return found


def slow_mlp(tokens, columns, cells):
    """Return the paper's tokens column by column: an embedding, or a small MLP of one input."""
    found = torch.zeros(*cells.shape, WIDTH, dtype=torch.float64)
    number, level = 0, 0
    for column, (places, is_number) in enumerate(
        zip(columns.places, columns.is_number, strict=True)
    ):
        cell = cells[:, column].nan_to_num()
        if is_number:
            hidden = cell[:, None]
            for depth, (weight, bias) in enumerate(zip(tokens.weights, tokens.biases, strict=True)):
                hidden = nn.functional.leaky_relu(hidden) if depth else hidden
                hidden = hidden @ weight[number] + bias[number]
            found[:, column] = hidden
            number += 1
        else:
            found[:, column] = tokens.levels[level + cell.long()]
            level += places
    return found


def check_equal(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-7)


# --- tokens of tables --------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_table_tokens_interpolate_between_the_rows_of_a_table(columns, table, make_cells, missing):
    tokens, cells = table(columns), make_cells(columns, 20, missing).double()
    check_equal(tokens(cells), slow_table(tokens, columns, cells))


@pytest.mark.parametrize("name", ["mixed", "numbers", "category first"])
def test_rounding_a_number_to_its_knot_is_noticed(name, table, make_cells):
    columns = TABLES[name]
    tokens, cells = table(columns), make_cells(columns, 20).double()
    with pytest.raises(AssertionError):
        check_equal(tokens(cells.floor()), slow_table(tokens, columns, cells))


@pytest.mark.parametrize("name", ["mixed", "categories", "category first"])
def test_reading_the_level_of_another_column_is_noticed(name, table, make_cells):
    columns = TABLES[name]
    tokens, cells = table(columns), make_cells(columns, 20).double()
    expected = slow_table(tokens, columns, cells)
    with torch.no_grad():
        tokens.levels.copy_(tokens.levels.roll(1, 0))
    with pytest.raises(AssertionError):
        check_equal(tokens(cells), expected)


def test_any_table_of_as_many_rows_can_be_read_like_the_tokens(columns, table, make_cells):
    tokens, cells = table(columns), make_cells(columns, 20).double()
    assert tokens.rows().shape == (tokens.n_rows, WIDTH)
    check_equal(tokens.read(2 * tokens.rows()[:, :1], cells), 2 * tokens(cells)[..., :1])


def test_every_knot_itself_has_its_own_row(columns, table):
    tokens = table(columns)
    longest = max(columns.places)
    knots = torch.stack([torch.arange(longest).clamp_max(n - 1) for n in columns.places], 1)
    check_equal(tokens(knots.double()), slow_table(tokens, columns, knots.double()))


@pytest.mark.parametrize("kind", [TableTokens, MLPTokens])
def test_a_level_never_seen_starts_as_the_zero_vector(kind):
    columns = TABLES["mixed"]
    options = {"scale": 1.0} if kind is TableTokens else {"hidden": (3,), "activation": nn.ReLU()}
    tokens = kind(columns.places, columns.is_number, WIDTH, **options)
    found = tokens(torch.zeros(1, 5))[0]
    assert torch.equal(found[[1, 3]], torch.zeros(2, WIDTH))
    assert (tokens(torch.ones(1, 5))[0, [1, 3]] != 0).all()  # other levels are not


def check_continuous(tokens, cells, column):
    """A small step of a number, over a knot or not, is a small step of its vector."""
    step = 1e-6
    here, there = cells.clone(), cells.clone()
    here[:, column] -= step
    there[:, column] += step
    assert (tokens(here) - tokens(there)).abs().max() < 1e3 * step


def test_the_vector_of_a_number_is_continuous_at_and_between_knots(table):
    columns = TABLES["numbers"]
    tokens = table(columns)
    places = torch.tensor([0.5, 1.0, 1.7, 2.0, 3.0], dtype=torch.float64)
    cells = torch.ones(5, 3, dtype=torch.float64) * 0.5
    cells[:, 2] = places
    check_continuous(tokens, cells, 2)
    with pytest.raises(AssertionError):  # steps from knot to knot are not continuous
        check_continuous(lambda cells: tokens(cells.floor()), cells, 2)


def test_the_steps_of_a_number_move_every_knot_behind_them(table):
    columns = TABLES["one number"]
    tokens, knots = table(columns), torch.arange(4.0).double()[:, None]
    before = tokens(knots).detach()
    with torch.no_grad():
        tokens.steps[0, 2] += 1.0
    moved = (tokens(knots) - before)[:, 0] / tokens.scales
    check_equal(moved, torch.tensor([0.0, 0.0, 1.0, 1.0]).double()[:, None].expand(4, WIDTH))


def test_numbers_start_as_straight_lines_of_unit_variance():
    tokens = TableTokens((101,), (True,), WIDTH, scale=1.0)
    line = tokens(torch.arange(101.0)[:, None])[:, 0] / tokens.slopes[0]
    torch.testing.assert_close(line.diff(dim=0), line.diff(dim=0)[:1].expand(100, WIDTH))
    assert line.mean().abs() < 1e-5
    assert abs(line[:, 0].var().item() - 1) < 0.05


# --- the paper's tokens ------------------------------------------------------------------------


@pytest.mark.parametrize("hidden", [(), (3,), (3, 5)])
def test_mlp_tokens_are_one_small_network_per_column(columns, mlp, make_cells, hidden):
    tokens, cells = mlp(columns, hidden), make_cells(columns, 20).double()
    check_equal(tokens(cells), slow_mlp(tokens, columns, cells))


@pytest.mark.parametrize("name", ["mixed", "numbers"])
def test_mixing_up_the_columns_of_mlp_tokens_is_noticed(name, mlp, make_cells):
    columns = TABLES[name]
    tokens, cells = mlp(columns), make_cells(columns, 20).double()
    expected = slow_mlp(tokens, columns, cells)
    with torch.no_grad():
        tokens.weights[0].copy_(tokens.weights[0].roll(1, 0))
    with pytest.raises(AssertionError):
        check_equal(tokens(cells), expected)


def test_mlp_tokens_read_negative_numbers(mlp):
    columns = TABLES["one number"]
    tokens, cells = mlp(columns), torch.tensor([[-3.5], [0.0], [12.0]]).double()
    check_equal(tokens(cells), slow_mlp(tokens, columns, cells))


# --- sums over coalitions ----------------------------------------------------------------------


def check_sums(sums, vectors, coalitions):
    """Each sum is the sum of the vectors of the coalition's cells."""
    check_equal(sums, torch.einsum("bmn,bnd->bmd", coalitions.double(), vectors))


@pytest.fixture(params=["table", "mlp"])
def tokens_of(request):
    """Return the makers of both kinds of tokens in turn."""
    return request.getfixturevalue(request.param)


def random_masks(cells, seeded, count=4):
    masks = torch.rand(len(cells), count, cells.shape[1], generator=seeded(9)) < 0.5
    masks[:, 0], masks[:, 1] = True, False
    return masks


def test_coalition_sums_are_sums_of_cell_vectors(columns, tokens_of, make_cells, seeded):
    tokens, cells = tokens_of(columns), make_cells(columns, 10).double()
    masks = random_masks(cells, seeded)
    check_sums(tokens.coalition_sums(cells, masks), tokens(cells), masks)
    assert tokens.coalition_sums(cells, masks).shape == (10, 4, WIDTH)


def test_sums_of_other_coalitions_are_noticed(columns, tokens_of, make_cells, seeded):
    tokens, cells = tokens_of(columns), make_cells(columns, 10).double()
    masks = random_masks(cells, seeded)
    with pytest.raises(AssertionError):
        check_sums(tokens.coalition_sums(cells, ~masks), tokens(cells), masks)


def test_the_sum_over_nothing_is_zero(columns, tokens_of, make_cells):
    tokens, cells = tokens_of(columns), make_cells(columns, 5).double()
    nothing = torch.zeros(5, 1, len(columns), dtype=torch.bool)
    assert (tokens.coalition_sums(cells, nothing) == 0).all()


# --- missing cells -----------------------------------------------------------------------------


def check_finite(tokens):
    assert tokens.isfinite().all()


def test_missing_cells_never_produce_nan(columns, tokens_of, seeded):
    tokens = tokens_of(columns)
    cells = torch.full((3, len(columns)), math.nan, dtype=torch.float64)
    check_finite(tokens(cells))
    check_finite(tokens.coalition_sums(cells, random_masks(cells, seeded)))
    with pytest.raises(AssertionError):
        check_finite(tokens(cells) * cells[..., None])


def test_missing_cells_leave_their_neighbours_alone(tokens_of, make_cells):
    columns = TABLES["mixed"]
    tokens, cells = tokens_of(columns), make_cells(columns, 8, missing=0.0).double()
    holes = cells.clone()
    holes[:, 2:4] = math.nan
    check_equal(tokens(holes)[:, [0, 1, 4]], tokens(cells)[:, [0, 1, 4]])


# --- gradients ---------------------------------------------------------------------------------


def check_gradients_arrive(parameters):
    for parameter in parameters:
        assert parameter.grad is not None
        assert parameter.grad.abs().sum() > 0


def learned(tokens):
    return [p for p in tokens.parameters() if p.numel()]


@pytest.mark.parametrize("name", ["mixed", "numbers", "categories", "category first"])
def test_gradients_reach_every_parameter_by_both_ways(name, tokens_of, make_cells):
    columns = TABLES[name]
    tokens, cells = tokens_of(columns), make_cells(columns, 30, missing=0.0).double()
    tokens(cells).square().sum().backward()
    check_gradients_arrive(learned(tokens))
    tokens.zero_grad()
    everything = torch.ones(30, 1, len(columns), dtype=torch.bool)
    tokens.coalition_sums(cells, everything).square().sum().backward()
    check_gradients_arrive(learned(tokens))


def test_a_frozen_parameter_is_noticed(table, make_cells):
    columns = TABLES["mixed"]
    tokens = table(columns)
    tokens.steps.requires_grad_(False)
    tokens(make_cells(columns, 30).double()).square().sum().backward()
    with pytest.raises(AssertionError):
        check_gradients_arrive(learned(tokens))


def test_both_ways_give_the_same_gradients(columns, table, make_cells, seeded):
    tokens, cells = table(columns), make_cells(columns, 10).double()
    masks = random_masks(cells, seeded)
    direct = torch.einsum("bmn,bnd->bmd", masks.double(), tokens(cells)).square().sum()
    expected = torch.autograd.grad(direct, learned(tokens))
    summed = tokens.coalition_sums(cells, masks).square().sum()
    for found, other in zip(torch.autograd.grad(summed, learned(tokens)), expected, strict=True):
        check_equal(found, other)


def test_a_level_never_seen_gets_no_gradient_from_missing_cells(table):
    columns = TABLES["categories"]
    tokens = table(columns)
    cells = torch.tensor([[1.0, math.nan, 1.0], [math.nan, 2.0, math.nan]]).double()
    masks = ~cells.isnan()[:, None]
    tokens.coalition_sums(cells, masks).square().sum().backward()
    reserved = torch.tensor([0, 3, 8])
    assert (tokens.levels.grad[reserved] == 0).all()
    assert (tokens.levels.grad[[1, 5, 9]] != 0).all()


# --- which kind --------------------------------------------------------------------------------


def test_number_layers_decide_the_kind_of_tokens():
    columns = TABLES["mixed"]
    by_table = make_tokens(columns.places, columns.is_number, WIDTH, None, nn.ReLU())
    by_mlp = make_tokens(columns.places, columns.is_number, WIDTH, (3,), nn.ReLU())
    assert isinstance(by_table, TableTokens)
    assert isinstance(by_mlp, MLPTokens)


def test_the_more_columns_the_smaller_the_tokens_of_a_table_start():
    def spread(count):
        tokens = make_tokens((3,) * count, (True,) * count, 200, None, nn.ReLU())
        return tokens.slopes.std().item()

    assert spread(100) == pytest.approx(spread(4) / 5, rel=0.2)
