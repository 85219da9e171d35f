"""Cell vectors: both kinds against a slow loop, missing cells, and where gradients arrive."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from sasanet.network.embedding.cells import MLPEmbedding, TableEmbedding, make_embedding
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
    """Return the maker of table embedding in double precision, no parameter at its start."""

    def make(columns):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            embedding = TableEmbedding(columns.places, columns.is_number, WIDTH, scale=1.0)
        reserved = embedding.levels.detach().clone()
        stir(embedding)
        with torch.no_grad():  # the reserved levels are zero, and stay so in training
            embedding.levels[(reserved == 0).all(1)] = 0
        return embedding.double()

    return make


@pytest.fixture
def mlp(stir):
    """Return the maker of the paper's embedding in double precision."""

    def make(columns, hidden=(3, 5)):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            embedding = MLPEmbedding(
                columns.places, columns.is_number, WIDTH, hidden, nn.LeakyReLU()
            )
        return stir(embedding).double()

    return make


def slow_table(embedding, columns, cells):
    """Return the embedding by a loop over cells, from the definition."""
    found = torch.zeros(*cells.shape, WIDTH, dtype=torch.float64)
    for row in range(len(cells)):
        number, level = 0, 0
        for column, (places, is_number) in enumerate(
            zip(columns.places, columns.is_number, strict=True)
        ):
            cell = cells[row, column].item()
            cell = 0.0 if math.isnan(cell) else cell
            if not is_number:
                found[row, column] = embedding.scales[column] * embedding.levels[level + int(cell)]
                level += places
                continue
            steps = embedding.steps[embedding.block_columns == number].flatten(0, 1)
            knots = [
                (math.sqrt(3) * (2 * k / (places - 1) - 1) if places > 1 else 1.0)
                * embedding.slopes[number, 0]
                + steps[: k + 1].sum(0)
                for k in range(places)
            ]
            low = min(int(cell), places - 1)
            high = min(low + 1, places - 1)
            between = knots[low] + (cell - low) * (knots[high] - knots[low])
            found[row, column] = embedding.scales[column] * between
            number += 1
    return found


def slow_mlp(embedding, columns, cells):
    """Return the paper's embedding column by column: an embedding, or a small MLP of one input."""
    found = torch.zeros(*cells.shape, WIDTH, dtype=torch.float64)
    number, level = 0, 0
    for column, (places, is_number) in enumerate(
        zip(columns.places, columns.is_number, strict=True)
    ):
        cell = cells[:, column].nan_to_num()
        if is_number:
            hidden = cell[:, None]
            for depth, (weight, bias) in enumerate(
                zip(embedding.weights, embedding.biases, strict=True)
            ):
                hidden = nn.functional.leaky_relu(hidden) if depth else hidden
                hidden = hidden @ weight[number] + bias[number]
            found[:, column] = hidden
            number += 1
        else:
            found[:, column] = embedding.levels[level + cell.long()]
            level += places
    return found


def check_equal(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-7)


# --- embedding of tables --------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_table_tokens_interpolate_between_the_rows_of_a_table(columns, table, make_cells, missing):
    embedding, cells = table(columns), make_cells(columns, 20, missing).double()
    check_equal(embedding(cells), slow_table(embedding, columns, cells))


@pytest.mark.parametrize("name", ["mixed", "numbers", "category first"])
def test_rounding_a_number_to_its_knot_is_noticed(name, table, make_cells):
    columns = TABLES[name]
    embedding, cells = table(columns), make_cells(columns, 20).double()
    with pytest.raises(AssertionError):
        check_equal(embedding(cells.floor()), slow_table(embedding, columns, cells))


@pytest.mark.parametrize("name", ["mixed", "categories", "category first"])
def test_reading_the_level_of_another_column_is_noticed(name, table, make_cells):
    columns = TABLES[name]
    embedding, cells = table(columns), make_cells(columns, 20).double()
    expected = slow_table(embedding, columns, cells)
    with torch.no_grad():
        embedding.levels.copy_(embedding.levels.roll(1, 0))
    with pytest.raises(AssertionError):
        check_equal(embedding(cells), expected)


def test_any_table_of_as_many_rows_can_be_read_like_the_embedding(columns, table, make_cells):
    embedding, cells = table(columns), make_cells(columns, 20).double()
    assert embedding.rows().shape == (embedding.n_rows, WIDTH)
    check_equal(embedding.read(2 * embedding.rows()[:, :1], cells), 2 * embedding(cells)[..., :1])


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_sums_over_a_row_are_bit_by_bit_those_over_its_coalition(
    columns, table, make_cells, missing
):
    embedding, cells = table(columns), make_cells(columns, 20, missing).double()
    present = ~cells.isnan()
    expected = embedding.coalition_sums(cells, present[:, None])  # with gradients: cell by cell
    with torch.no_grad():
        assert torch.equal(embedding.coalition_sums(cells, present[:, None]), expected)
        found = embedding.look_ups(cells, present)
        each = embedding.read_each(embedding.rows(), found)
        assert (each[~present] == 0).all()
        others = embedding.read_sums(embedding.rows(), embedding.look_ups(cells, ~present))
    assert not torch.equal(others[:, None], expected)


def test_every_knot_itself_has_its_own_row(columns, table):
    embedding = table(columns)
    longest = max(columns.places)
    knots = torch.stack([torch.arange(longest).clamp_max(n - 1) for n in columns.places], 1)
    check_equal(embedding(knots.double()), slow_table(embedding, columns, knots.double()))


@pytest.mark.parametrize("kind", [TableEmbedding, MLPEmbedding])
def test_a_level_never_seen_starts_as_the_zero_vector(kind):
    columns = TABLES["mixed"]
    options = (
        {"scale": 1.0} if kind is TableEmbedding else {"hidden": (3,), "activation": nn.ReLU()}
    )
    embedding = kind(columns.places, columns.is_number, WIDTH, **options)
    found = embedding(torch.zeros(1, 5))[0]
    assert torch.equal(found[[1, 3]], torch.zeros(2, WIDTH))
    assert (embedding(torch.ones(1, 5))[0, [1, 3]] != 0).all()  # other levels are not


def check_continuous(embedding, cells, column):
    """A small step of a number, over a knot or not, is a small step of its vector."""
    step = 1e-6
    here, there = cells.clone(), cells.clone()
    here[:, column] -= step
    there[:, column] += step
    assert (embedding(here) - embedding(there)).abs().max() < 1e3 * step


def test_the_vector_of_a_number_is_continuous_at_and_between_knots(table):
    columns = TABLES["numbers"]
    embedding = table(columns)
    places = torch.tensor([0.5, 1.0, 1.7, 2.0, 3.0], dtype=torch.float64)
    cells = torch.ones(5, 3, dtype=torch.float64) * 0.5
    cells[:, 2] = places
    check_continuous(embedding, cells, 2)
    with pytest.raises(AssertionError):  # steps from knot to knot are not continuous
        check_continuous(lambda cells: embedding(cells.floor()), cells, 2)


def test_the_steps_of_a_number_move_every_knot_behind_them(table):
    columns = TABLES["one number"]
    embedding, knots = table(columns), torch.arange(4.0).double()[:, None]
    before = embedding(knots).detach()
    with torch.no_grad():
        embedding.steps[0, 2] += 1.0
    moved = (embedding(knots) - before)[:, 0] / embedding.scales
    check_equal(moved, torch.tensor([0.0, 0.0, 1.0, 1.0]).double()[:, None].expand(4, WIDTH))


def test_numbers_start_as_straight_lines_of_unit_variance():
    embedding = TableEmbedding((101,), (True,), WIDTH, scale=1.0)
    line = embedding(torch.arange(101.0)[:, None])[:, 0] / embedding.slopes[0]
    torch.testing.assert_close(line.diff(dim=0), line.diff(dim=0)[:1].expand(100, WIDTH))
    assert line.mean().abs() < 1e-5
    assert abs(line[:, 0].var().item() - 1) < 0.05


# --- the paper's embedding ------------------------------------------------------------------------


@pytest.mark.parametrize("hidden", [(), (3,), (3, 5)])
def test_mlp_tokens_are_one_small_network_per_column(columns, mlp, make_cells, hidden):
    embedding, cells = mlp(columns, hidden), make_cells(columns, 20).double()
    check_equal(embedding(cells), slow_mlp(embedding, columns, cells))


@pytest.mark.parametrize("name", ["mixed", "numbers"])
def test_mixing_up_the_columns_of_mlp_tokens_is_noticed(name, mlp, make_cells):
    columns = TABLES[name]
    embedding, cells = mlp(columns), make_cells(columns, 20).double()
    expected = slow_mlp(embedding, columns, cells)
    with torch.no_grad():
        embedding.weights[0].copy_(embedding.weights[0].roll(1, 0))
    with pytest.raises(AssertionError):
        check_equal(embedding(cells), expected)


def test_mlp_tokens_read_negative_numbers(mlp):
    columns = TABLES["one number"]
    embedding, cells = mlp(columns), torch.tensor([[-3.5], [0.0], [12.0]]).double()
    check_equal(embedding(cells), slow_mlp(embedding, columns, cells))


# --- sums over coalitions ----------------------------------------------------------------------


def check_sums(sums, vectors, coalitions):
    """Each sum is the sum of the vectors of the coalition's cells."""
    check_equal(sums, torch.einsum("bmn,bnd->bmd", coalitions.double(), vectors))


@pytest.fixture(params=["table", "mlp"])
def embedding_of(request):
    """Return the makers of both kinds of embedding in turn."""
    return request.getfixturevalue(request.param)


def random_masks(cells, seeded, count=4):
    masks = torch.rand(len(cells), count, cells.shape[1], generator=seeded(9)) < 0.5
    masks[:, 0], masks[:, 1] = True, False
    return masks


def test_coalition_sums_are_sums_of_cell_vectors(columns, embedding_of, make_cells, seeded):
    embedding, cells = embedding_of(columns), make_cells(columns, 10).double()
    masks = random_masks(cells, seeded)
    check_sums(embedding.coalition_sums(cells, masks), embedding(cells), masks)
    assert embedding.coalition_sums(cells, masks).shape == (10, 4, WIDTH)


def test_sums_of_other_coalitions_are_noticed(columns, embedding_of, make_cells, seeded):
    embedding, cells = embedding_of(columns), make_cells(columns, 10).double()
    masks = random_masks(cells, seeded)
    with pytest.raises(AssertionError):
        check_sums(embedding.coalition_sums(cells, ~masks), embedding(cells), masks)


def test_the_sum_over_nothing_is_zero(columns, embedding_of, make_cells):
    embedding, cells = embedding_of(columns), make_cells(columns, 5).double()
    nothing = torch.zeros(5, 1, len(columns), dtype=torch.bool)
    assert (embedding.coalition_sums(cells, nothing) == 0).all()


# --- missing cells -----------------------------------------------------------------------------


def check_finite(embedding):
    assert embedding.isfinite().all()


def test_missing_cells_never_produce_nan(columns, embedding_of, seeded):
    embedding = embedding_of(columns)
    cells = torch.full((3, len(columns)), math.nan, dtype=torch.float64)
    check_finite(embedding(cells))
    check_finite(embedding.coalition_sums(cells, random_masks(cells, seeded)))
    with pytest.raises(AssertionError):
        check_finite(embedding(cells) * cells[..., None])


def test_missing_cells_leave_their_neighbours_alone(embedding_of, make_cells):
    columns = TABLES["mixed"]
    embedding, cells = embedding_of(columns), make_cells(columns, 8, missing=0.0).double()
    holes = cells.clone()
    holes[:, 2:4] = math.nan
    check_equal(embedding(holes)[:, [0, 1, 4]], embedding(cells)[:, [0, 1, 4]])


# --- gradients ---------------------------------------------------------------------------------


def check_gradients_arrive(parameters):
    for parameter in parameters:
        assert parameter.grad is not None
        assert parameter.grad.abs().sum() > 0


def learned(embedding):
    return [p for p in embedding.parameters() if p.numel()]


@pytest.mark.parametrize("name", ["mixed", "numbers", "categories", "category first"])
def test_gradients_reach_every_parameter_by_both_ways(name, embedding_of, make_cells):
    columns = TABLES[name]
    embedding, cells = embedding_of(columns), make_cells(columns, 30, missing=0.0).double()
    embedding(cells).square().sum().backward()
    check_gradients_arrive(learned(embedding))
    embedding.zero_grad()
    everything = torch.ones(30, 1, len(columns), dtype=torch.bool)
    embedding.coalition_sums(cells, everything).square().sum().backward()
    check_gradients_arrive(learned(embedding))


def test_a_frozen_parameter_is_noticed(table, make_cells):
    columns = TABLES["mixed"]
    embedding = table(columns)
    embedding.steps.requires_grad_(False)
    embedding(make_cells(columns, 30).double()).square().sum().backward()
    with pytest.raises(AssertionError):
        check_gradients_arrive(learned(embedding))


def test_both_ways_give_the_same_gradients(columns, table, make_cells, seeded):
    embedding, cells = table(columns), make_cells(columns, 10).double()
    masks = random_masks(cells, seeded)
    direct = torch.einsum("bmn,bnd->bmd", masks.double(), embedding(cells)).square().sum()
    expected = torch.autograd.grad(direct, learned(embedding))
    summed = embedding.coalition_sums(cells, masks).square().sum()
    for found, other in zip(torch.autograd.grad(summed, learned(embedding)), expected, strict=True):
        check_equal(found, other)


def test_a_level_never_seen_gets_no_gradient_from_missing_cells(table):
    columns = TABLES["categories"]
    embedding = table(columns)
    cells = torch.tensor([[1.0, math.nan, 1.0], [math.nan, 2.0, math.nan]]).double()
    masks = ~cells.isnan()[:, None]
    embedding.coalition_sums(cells, masks).square().sum().backward()
    reserved = torch.tensor([0, 3, 8])
    assert (embedding.levels.grad[reserved] == 0).all()
    assert (embedding.levels.grad[[1, 5, 9]] != 0).all()


# --- which kind --------------------------------------------------------------------------------


def test_number_layers_decide_the_kind_of_embedding():
    columns = TABLES["mixed"]
    by_table = make_embedding(columns.places, columns.is_number, WIDTH, None, nn.ReLU())
    by_mlp = make_embedding(columns.places, columns.is_number, WIDTH, (3,), nn.ReLU())
    assert isinstance(by_table, TableEmbedding)
    assert isinstance(by_mlp, MLPEmbedding)


def test_the_more_columns_the_smaller_the_tokens_of_a_table_start():
    def spread(count):
        embedding = make_embedding((3,) * count, (True,) * count, 200, None, nn.ReLU())
        return embedding.slopes.std().item()

    assert spread(100) == pytest.approx(spread(4) / 5, rel=0.2)
