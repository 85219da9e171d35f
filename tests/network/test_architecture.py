"""The architecture record: the paper's presets, what is refused, and the way to JSON and back."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from sasanet.errors import InvalidInputError
from sasanet.network.architecture import (
    ARCHITECTURES,
    Architecture,
    AttentionSizes,
    find_architecture,
)

# Appendix H, row by row: embedding dimension, continuous embedding without its output layer,
# (MLP, attention dimension, heads) of the marginal and of the Shapley module, λ_v, λ_s.
APPENDIX_H = {
    "paper-fraud": (64, (16, 16), ((128,) * 3, 8, 4), ((128,) * 3, 8, 8), 1, 1),
    "paper-higgs": (
        64,
        (128, 128, 512),
        ((512,) * 6 + (1024,), 128, 8),
        ((256,) * 6, 128, 8),
        1,
        1,
    ),
    "paper-income": (
        128,
        (128, 16),
        ((256, 128, 128), 128, 16),
        ((256, 128, 128), 128, 16),
        1,
        1e-4,
    ),
    "paper-insurance": (64, (16, 16), ((128,) * 3, 8, 4), ((128,) * 3, 8, 8), 1, 1),
}


def check_appendix(architecture, row):
    width, number_layers, marginal, attribution, value_weight, attribution_weight = row
    assert architecture.width == architecture.attribution_width == width
    assert architecture.number_layers == number_layers
    found = architecture.marginal_attention
    assert (found.layers, found.head_width, found.heads) == marginal
    found = architecture.attribution_attention
    assert (found.layers, found.head_width, found.heads) == attribution
    assert architecture.value_weight == value_weight
    assert architecture.attribution_weight == attribution_weight
    assert (architecture.marginal, architecture.attribution) == ("sequence", "attention")
    assert architecture.positions is None
    assert architecture.numbers == "mlp"
    assert architecture.shared_embedding
    assert architecture.full_share == 0


@pytest.mark.parametrize("name", APPENDIX_H)
def test_the_papers_presets_have_the_sizes_of_appendix_h(name):
    check_appendix(ARCHITECTURES[name], APPENDIX_H[name])


@pytest.mark.parametrize(
    "change",
    [
        {"width": 65, "attribution_width": 65},
        {"number_layers": (16,)},
        {"marginal_layers": (128,)},
        {"marginal_heads": 3},
        {"attribution_layers": (128,)},
        {"attribution_heads": 3},
        {"attribution_head_width": 5},
        {"attribution_weight": 0.5},
        {"value_weight": 0.5},
        {"positions": 8},
        {"numbers": "knots"},
        {"shared_embedding": False},
        {"full_share": 0.5},
    ],
)
@pytest.mark.parametrize("name", APPENDIX_H)
def test_a_preset_with_one_other_size_is_noticed(name, change):
    with pytest.raises(AssertionError):
        check_appendix(replace(ARCHITECTURES[name], **change), APPENDIX_H[name])


def test_the_default_is_the_set_network():
    assert ARCHITECTURES["set"] == Architecture()
    assert (Architecture().marginal, Architecture().attribution) == ("set", "closed_form")
    assert not Architecture().shared_embedding


def test_the_sequence_preset_is_the_papers_network_on_knots():
    sequence = ARCHITECTURES["sequence"]
    assert (sequence.marginal, sequence.attribution) == ("sequence", "attention")
    assert sequence.positions is None
    assert sequence.shared_embedding
    assert sequence.width == sequence.attribution_width


def test_all_heads_together_are_as_wide_as_heads_times_their_width():
    assert AttentionSizes(64, 4, 8, (128,)).inner == 32
    sizes = Architecture(
        width=7, marginal_heads=3, marginal_head_width=5, attribution_head_width=2
    ).marginal_attention
    assert (sizes.width, sizes.inner) == (7, 15)


# --- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("marginal", "graph"),
        ("attribution", "shap"),
        ("attribution", None),
        ("numbers", "raw"),
        ("activation", "tanh"),
    ],
)
def test_an_unknown_choice_is_refused_with_the_field_and_the_value(field, value):
    with pytest.raises(InvalidInputError, match=rf"^Architecture\.{field} must be one of") as info:
        Architecture(**{field: value})
    assert str(info.value).endswith(f"got {value!r}")


@pytest.mark.parametrize(
    "fields",
    [
        {"width": 0},
        {"attribution_width": 0},
        {"marginal_heads": 0},
        {"attribution_heads": 0},
        {"marginal_head_width": 0},
        {"attribution_head_width": -1},
        {"n_knots": 1},
        {"positions": 0},
        {"number_layers": (16, 0)},
        {"marginal_layers": (0,)},
        {"attribution_layers": (64, -2)},
    ],
)
def test_sizes_below_one_are_refused(fields):
    with pytest.raises(InvalidInputError, match="at least 1"):
        Architecture(**fields)


@pytest.mark.parametrize("fields", [{"n_knots": 2}, {"positions": 1}, {"positions": None}])
def test_the_smallest_sizes_are_accepted(fields):
    assert Architecture(**fields)


def test_the_set_module_cannot_share_its_embedding():
    with pytest.raises(InvalidInputError, match="shared_embedding=True needs marginal='sequence'"):
        Architecture(shared_embedding=True)


def test_a_shared_embedding_needs_one_width():
    with pytest.raises(InvalidInputError):
        Architecture(
            marginal="sequence",
            attribution="attention",
            shared_embedding=True,
            width=64,
            attribution_width=32,
        )


def test_the_context_module_needs_a_layer():
    with pytest.raises(InvalidInputError):
        Architecture(attribution="context", attribution_layers=())


@pytest.mark.parametrize("attribution", ["context", "attention"])
@pytest.mark.parametrize("steps", [None, 0, 7])
def test_modules_that_learn_may_be_told_how_long(attribution, steps):
    shape = Architecture(attribution=attribution, attribution_steps=steps)
    assert shape.attribution_steps == steps


@pytest.mark.parametrize("attribution", ["closed_form", "none"])
@pytest.mark.parametrize("steps", [0, 7])
def test_steps_are_refused_where_nothing_is_learned(attribution, steps):
    assert Architecture(attribution=attribution, attribution_steps=None)
    with pytest.raises(InvalidInputError) as caught:
        Architecture(attribution=attribution, attribution_steps=steps)
    assert str(caught.value) == (
        "Architecture.attribution_steps needs a Shapley module that learns (attribution='context' "
        f"or 'attention'), got attribution={attribution!r}; omit attribution_steps"
    )


@pytest.mark.parametrize("steps", [-1, 2.5, True, "auto", float("nan")])
def test_steps_must_be_a_whole_number(steps):
    with pytest.raises(InvalidInputError) as caught:
        Architecture(attribution="context", attribution_steps=steps)
    assert str(caught.value) == (
        "Architecture.attribution_steps must be None or a whole number of at least 0, "
        f"got {steps!r}"
    )


@pytest.mark.parametrize(
    ("field", "value", "must"),
    [
        ("dropout", 1, "'auto' or a number at least 0 and below 1"),
        ("dropout", -0.1, "'auto' or a number at least 0 and below 1"),
        ("dropout", float("nan"), "'auto' or a number at least 0 and below 1"),
        ("dropout", "some", "'auto' or a number at least 0 and below 1"),
        ("weight_decay", -0.1, "a number at least 0"),
        ("weight_decay", float("nan"), "a number at least 0"),
        ("weight_decay", float("inf"), "a number at least 0"),
        ("weight_decay", "auto", "a number at least 0"),
    ],
)
def test_regularisation_out_of_range_is_refused(field, value, must):
    with pytest.raises(InvalidInputError) as caught:
        Architecture(**{field: value})
    assert str(caught.value) == f"Architecture.{field} must be {must}, got {value!r}"


def test_numbers_of_numpy_become_pythons():
    found = Architecture(dropout=np.float32(0.5), weight_decay=np.float16(0))
    assert (type(found.dropout), type(found.weight_decay)) == (float, float)
    assert Architecture().dropout == "auto"


# --- plain data ------------------------------------------------------------------------------


def check_round_trip(architecture, expected):
    text = json.dumps(architecture.to_dict(), allow_nan=False)
    assert Architecture.from_dict(json.loads(text)) == expected


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_preset_survives_json(name):
    check_round_trip(ARCHITECTURES[name], ARCHITECTURES[name])


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_json_of_another_architecture_is_noticed(name):
    with pytest.raises(AssertionError):
        check_round_trip(replace(ARCHITECTURES[name], n_knots=17), ARCHITECTURES[name])


def test_lists_of_sizes_become_tuples():
    architecture = Architecture(
        number_layers=[4], marginal_layers=[8, 8], attribution_layers=[6, 7]
    )
    assert architecture.number_layers == (4,)
    assert (architecture.marginal_layers, architecture.attribution_layers) == ((8, 8), (6, 7))
    assert hash(architecture) == hash(replace(architecture))


@pytest.mark.parametrize(
    "fields",
    [
        {"depth": 3},
        {"width": "wide"},
        {"width": None},
        {"marginal_layers": 8},
        {"number_layers": "ab"},
        {"width": 16.5},
        {"full_share": 3.0},
    ],
)
def test_unknown_and_ill_typed_fields_are_our_error(fields):
    with pytest.raises(InvalidInputError, match="Architecture"):
        Architecture.from_dict(fields)


def test_an_architecture_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        Architecture().width = 3


# --- names -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_name_finds_its_architecture(name):
    assert find_architecture(name) is ARCHITECTURES[name]


def test_an_architecture_of_ones_own_is_passed_through():
    mine = Architecture(width=5)
    assert find_architecture(mine) is mine


@pytest.mark.parametrize(
    "network",
    [
        "lightgbm",
        None,
        3,
        ["set"],
    ],
)
def test_an_unknown_name_is_refused_with_the_names_there_are(network):
    with pytest.raises(InvalidInputError, match="network must be an Architecture or one of") as e:
        find_architecture(network)
    assert "'paper-income'" in str(e.value)
    assert str(e.value).endswith(f"got {network!r}")
