"""What "auto" means at each size, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sasanet.errors import InvalidInputError
from sasanet.network.architecture import ARCHITECTURES, Architecture
from sasanet.training.hyperparameters import resolve

PARAMETERS = {
    "network": "set",
    "preset": "default",
    "learning_rate": 2e-3,
    "batch_size": "auto",
    "max_epochs": "auto",
    "patience": "auto",
    "validation_fraction": 0.1,
    "teacher_weight": 0.0,
    "time_limit": math.inf,
    "verbose": False,
}


def resolved(n_rows=300, clarity=0.0, **changes):
    return resolve(PARAMETERS | changes, n_rows, clarity)


# --- auto --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_rows", "batch_size", "epochs", "attribution_steps"),
    [
        (1, 64, 40, 469),
        (300, 64, 40, 469),
        (5_000, 64, 40, 782),
        (5_120, 128, 40, 800),
        (10_000, 128, 60, 1563),
        (50_000, 512, 12, 1954),
        (300_000, 512, 8, 1954),
    ],
)
def test_auto_follows_the_number_of_rows(n_rows, batch_size, epochs, attribution_steps):
    found = resolved(n_rows)
    assert found.batch_size == batch_size
    assert found.epochs == epochs
    assert found.attribution_steps == attribution_steps


def check_auto(batch_of, n_rows, share=40, least=64):
    """The batch is the largest power of two within a share of the rows, inside its bounds."""
    batch = batch_of(n_rows)
    assert least <= batch <= 512
    assert batch & (batch - 1) == 0
    assert batch <= n_rows / share or batch == least
    assert 2 * batch > n_rows / share or batch == 512


SIZES = [1, 2_559, 2_560, 5_119, 5_120, 10_240, 20_479, 20_480, 10**6]


@pytest.mark.parametrize(
    ("n_rows", "batch_size", "epochs"),
    [
        (10**6, 512, 8),
        (1_999_999, 512, 5),
        (2 * 10**6, 1_024, 8),
        (4 * 10**6, 2_048, 8),
        (10**7, 2_048, 4),
        (10**9, 2_048, 2),
    ],
)
def test_very_many_rows_are_seen_in_larger_batches_and_less_often(n_rows, batch_size, epochs):
    found = resolved(n_rows, clarity=0.5, teacher_weight=0.5)
    assert (found.batch_size, found.epochs) == (batch_size, epochs)
    assert found.steps(n_rows) >= resolved(10**6, clarity=0.5, teacher_weight=0.5).steps(10**6)
    best = resolved(n_rows, preset="best", clarity=0.5, teacher_weight=0.5)
    assert (best.batch_size, best.epochs) == (512, 12)
    assert resolved(n_rows, network="sequence").batch_size == 128


@pytest.mark.parametrize("n_rows", SIZES)
def test_the_batch_is_a_power_of_two_within_its_bounds(n_rows):
    check_auto(lambda n: resolved(n).batch_size, n_rows)
    check_auto(lambda n: resolved(n, preset="best", teacher_weight=0.5).batch_size, n_rows)
    share, least = (25, 128) if n_rows < 20_000 else (40, 64)
    check_auto(lambda n: resolved(n, teacher_weight=0.5).batch_size, n_rows, share, least)


@pytest.mark.parametrize("n_rows", SIZES)
def test_the_sequence_module_takes_small_batches(n_rows):
    assert resolved(n_rows, network="sequence").batch_size == min(128, resolved(n_rows).batch_size)
    assert resolved(n_rows, network="sequence", batch_size=300).batch_size == 300


def test_another_rule_for_the_batch_is_noticed():
    with pytest.raises(AssertionError):
        check_auto(lambda n: n // 40, 12_000)
    with pytest.raises(AssertionError):
        check_auto(lambda n: resolved(n).batch_size // 2, 10_240)


def test_given_numbers_replace_auto():
    learned = Architecture(attribution="context", attribution_steps=0)
    settings = {"batch_size": 32, "max_epochs": 3, "time_limit": 9, "verbose": 1}
    found = resolved(50_000, network=learned, **settings)
    assert (found.batch_size, found.epochs, found.attribution_steps) == (32, 3, 0)
    assert found.time_limit == 9.0
    assert found.verbose is True


AUTO = {"validation_fraction": "auto", "teacher_weight": "auto"}


@pytest.mark.parametrize(("n_rows", "dropout", "held_out"), [(9_999, 0.3, 0.2), (10_000, 0.1, 0.1)])
def test_small_tables_are_held_back_more(n_rows, dropout, held_out):
    found = resolved(n_rows, **AUTO | {"teacher_weight": 0})
    assert (found.dropout, found.validation_fraction) == (dropout, held_out)


@pytest.mark.parametrize("n_rows", [300, 20_000, 50_000])
def test_labels_that_nobody_softens_have_dropout_by_their_clarity_and_nothing_else(n_rows):
    settings = AUTO | {"teacher_weight": 0.0}
    noisy, clear = (resolved(n_rows, clarity, **settings) for clarity in (0.0, 0.9))
    assert clear.dropout == pytest.approx(noisy.dropout / 10)
    assert replace(clear, dropout=noisy.dropout) == noisy
    taught = (resolved(n_rows, clarity, **AUTO) for clarity in (0.1, 0.9))
    assert len({(one.epochs, one.architecture.n_knots) for one in taught}) == 2  # the twin


@pytest.mark.parametrize("n_rows", [300, 50_000])
def test_a_shape_of_ones_own_says_how_it_is_regularised(n_rows):
    found = resolved(n_rows, network=Architecture(dropout=0.4, weight_decay=0.0))
    assert (found.dropout, found.weight_decay) == (0.4, 0.0)
    found = resolved(n_rows, network=Architecture())
    assert (found.dropout, found.weight_decay) == (resolved(n_rows).dropout, 0.01)


@pytest.mark.parametrize(("n_rows", "held_out"), [(9_999, 0.2), (10_000, 0.1)])
def test_with_a_teacher_nothing_is_held_out_unless_it_is_asked_for(n_rows, held_out):
    assert resolved(n_rows, **AUTO).validation_fraction == 0
    assert resolved(n_rows, **AUTO | {"validation_fraction": 0.3}).validation_fraction == 0.3
    # Whoever wants to stop early needs rows to stop by.
    assert resolved(n_rows, **AUTO | {"patience": 5}).validation_fraction == held_out


@pytest.mark.parametrize(("clarity", "epochs"), [(0.0, 4), (0.02, 51), (0.2, 60), (0.9, 95)])
def test_labels_that_nobody_foresees_are_not_learned_by_heart(clarity, epochs):
    assert resolved(12_000, clarity, **AUTO).epochs == epochs
    untaught = resolved(12_000, clarity, **AUTO | {"teacher_weight": 0})
    assert untaught.epochs == 50  # held-out rows choose one


@pytest.mark.parametrize(
    ("n_rows", "clarity", "roughness", "n_knots"),
    [
        (1_000, 0.0, 1.0, 128),  # nothing is known: as many as the architecture has
        (1_000, 0.5, 1.0, 32),
        (5_000, 0.5, 1.0, 32),
        (20_000, 0.5, 1.0, 97),
        (20_000, 0.5, 0.0, 32),  # smooth teachers foresee as much
        (200_000, 0.5, 1.0, 128),
    ],
)
def test_knots_follow_what_labels_can_tell_apart(n_rows, clarity, roughness, n_knots):
    found = resolve(PARAMETERS | AUTO, n_rows, clarity, roughness).architecture
    assert found.n_knots == n_knots


def test_the_knots_of_an_architecture_of_ones_own_stay():
    own = Architecture(n_knots=100)
    assert resolve(PARAMETERS | {"network": own}, 1_000, 0.5).architecture.n_knots == 100


@pytest.mark.parametrize(
    ("n_rows", "clarity", "batch_size", "epochs", "dropout"),
    [
        (1_000, 0.0, 128, 4, 0.3),
        (1_000, 0.5, 128, 56, 0.15),  # 450 steps of 8 an epoch
        (1_000, 0.99, 128, 100, 0.003),
        (2_500, 0.5, 128, 38, 0.15),  # 750 steps of 20 an epoch
        (2_500, 0.9, 128, 100, 0.03),
        (9_999, 0.9, 256, 60, 0.03),  # 2,400 steps, not 4,500
        (5_822, 0.1, 128, 11, 0.27),
        (50_000, 0.2, 512, 14, 0.08),
        (50_000, 0.5, 512, 16, 0.05),  # clear labels need no more than 800,000 rows
        (19_999, 0.8, 512, 54, 0.02),
        (20_000, 0.8, 256, 54, 0.02),
    ],
)
def test_clear_labels_allow_more_steps(n_rows, clarity, batch_size, epochs, dropout):
    found = resolved(n_rows, clarity, **AUTO)
    assert (found.batch_size, found.epochs) == (batch_size, epochs)
    assert found.dropout == pytest.approx(dropout)


@pytest.mark.parametrize(
    ("n_rows", "settings", "rate"),
    [
        (300, {}, 4e-3),
        (19_999, {}, 4e-3),
        (20_000, {}, 2e-3),
        (300, {"preset": "best"}, 2e-3),
        (300, {"teacher_weight": 0}, 2e-3),
        (300, {"network": "sequence"}, 2e-3),
        (300, {"learning_rate": 0.5}, 0.5),
    ],
)
def test_few_rows_are_learned_in_large_steps(n_rows, settings, rate):
    found = resolved(n_rows, **AUTO | {"learning_rate": "auto"} | settings)
    assert found.learning_rate == rate
    assert found.attribution_rate == settings.get("learning_rate", 2e-3)


def test_the_best_preset_takes_more_steps_on_small_tables():
    taught = {**AUTO, "clarity": 0.5}
    assert resolved(1_000, preset="best", **taught).steps(1_000) == 56 * 16
    assert resolved(1_000, **taught).steps(1_000) == 56 * 8


def test_the_teacher_is_for_set_networks_unless_asked_for():
    assert resolved(teacher_weight="auto").teacher_weight is None
    assert resolved(teacher_weight="auto", network="sequence").teacher_weight == 0
    assert resolved(teacher_weight=0.25, network="sequence").teacher_weight == 0.25


def test_numbers_of_numpy_are_numbers():
    found = resolved(batch_size=np.int64(32), patience=np.int8(3), learning_rate=np.float32(0.5))
    assert (found.batch_size, found.patience, found.learning_rate) == (32, 3, 0.5)
    assert type(found.batch_size) is int
    assert type(found.learning_rate) is float


def test_the_network_may_be_a_name_or_an_architecture():
    mine = Architecture(width=9)
    assert resolved(network="paper-income").architecture is ARCHITECTURES["paper-income"]
    assert resolved(network=mine).architecture is mine


def test_the_best_preset_sees_the_rows_of_a_large_table_more_often():
    taught = {"teacher_weight": "auto", "clarity": 0.4}
    assert resolved(300_000, **taught).epochs == 8
    assert resolved(300_000, preset="best", **taught).epochs == 12
    assert resolved(40_000, **taught).epochs == 20
    assert resolved(40_000, preset="best", **taught).epochs == 21
    assert resolved(300_000, preset="best", max_epochs=3, **taught).epochs == 3


def test_the_best_preset_has_members_unless_the_shape_is_given():
    assert resolved().architecture.members == 1
    assert resolved(preset="best").architecture.members == 2
    assert resolved(100_000, preset="best").architecture.members == 4
    mine = Architecture(width=8)
    assert resolved(preset="best", network=mine).architecture is mine
    sequence = ARCHITECTURES["sequence"]  # by its name it is refused, as a shape it is taken
    assert resolved(preset="best", network=sequence).architecture is sequence


# --- what is refused ---------------------------------------------------------------------------

BAD = [
    ("network", "trees"),
    ("preset", "worst"),
    ("preset", None),
    ("learning_rate", 0),
    ("learning_rate", -1.0),
    ("learning_rate", math.nan),
    ("teacher_weight", -0.1),
    ("teacher_weight", 1),
    ("teacher_weight", "trees"),
    ("batch_size", 0),
    ("batch_size", 2.5),
    ("batch_size", "big"),
    ("batch_size", True),
    ("max_epochs", 0),
    ("max_epochs", "many"),
    ("patience", 0),
    ("patience", "long"),
    ("validation_fraction", -0.1),
    ("validation_fraction", 1.0),
    ("time_limit", 0),
    ("time_limit", -3),
    ("time_limit", math.nan),
]
BUGS = [
    ("learning_rate", "fast"),
    ("learning_rate", None),
    ("learning_rate", math.inf),
    ("time_limit", "1h"),
    ("batch_size", None),
    ("batch_size", math.nan),
    ("batch_size", math.inf),
    ("max_epochs", [3]),
]


def check_sentence(name, value):
    """One sentence: the parameter, what must hold, and the value that came."""
    with pytest.raises(InvalidInputError) as info:
        resolved(**{name: value})
    text = str(info.value)
    assert text.startswith(f"{name} must be ")
    assert text.endswith(f", got {value!r}")
    assert "\n" not in text


@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_bad_parameter_gets_one_sentence(name, value):
    check_sentence(name, value)


@pytest.mark.parametrize(("name", "value"), BUGS)
def test_a_parameter_of_another_kind_gets_one_sentence(name, value):
    check_sentence(name, value)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("learning_rate", 0, "learning_rate must be 'auto' or a number above 0, got 0"),
        (
            "teacher_weight",
            1,
            "teacher_weight must be 'auto' or a number at least 0 and below 1, got 1",
        ),
        ("patience", 0, "patience must be 'auto' or a whole number of at least 1, got 0"),
    ],
)
def test_the_sentence_says_what_must_hold(name, value, sentence):
    with pytest.raises(InvalidInputError) as info:
        resolved(**{name: value})
    assert str(info.value) == sentence


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("validation_fraction", 0),
        ("batch_size", 1),
        ("time_limit", math.inf),
    ],
)
def test_the_edge_of_what_is_allowed_is_allowed(name, value):
    assert getattr(resolved(**{name: value}), name) == value


@pytest.mark.parametrize("network", sorted(set(ARCHITECTURES) - {"set"}))
def test_the_best_preset_is_refused_where_it_would_do_nothing(network):
    assert resolved(network=network).architecture is ARCHITECTURES[network]
    with pytest.raises(InvalidInputError) as info:
        resolved(network=network, preset="best")
    assert str(info.value) == (
        "preset='best' must go with network='set', whose members it trains, "
        f"got {network!r}; leave preset out, or give an Architecture of your own"
    )


def test_training_goes_on_until_the_learning_rate_is_zero_unless_told_otherwise():
    assert resolved(max_epochs=23).patience == 23
    assert resolved(max_epochs=23, patience=5).patience == 5
