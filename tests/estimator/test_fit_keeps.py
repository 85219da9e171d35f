"""A second fit that fails, is refused or is killed leaves the first model as it was, bit by bit."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import sys
import threading
import time
import traceback

import numpy as np
import pandas as pd
import pytest
import torch

from sasanet import Architecture, SASANetClassifier
from sasanet.baselines import NAMClassifier
from sasanet.errors import InterruptedFitWarning, InvalidInputError
from sasanet.estimator import tabular
from sasanet.estimator.fitting import in_memory
from sasanet.table.encoder import TableEncoder
from sasanet.training import loop
from sasanet.training.optimizer import clip_gradients

RANDOM = np.random.default_rng(0)
OLD = pd.DataFrame({"a": RANDOM.normal(size=60), "b": RANDOM.choice(["x", "y"], 60)})
OLD_LABELS = np.where(OLD["a"] > 0, "yes", "no")
NEW = pd.DataFrame(RANDOM.normal(size=(90, 3)), columns=["c", "a", "d"])  # nothing fits the old
NEW_LABELS = RANDOM.integers(0, 3, 90)
SETTINGS = {"max_epochs": 2, "batch_size": 16, "random_state": 0}
ERRORS = (ValueError, KeyboardInterrupt, SystemExit)


class CarelessClassifier(SASANetClassifier):
    """The twin: it keeps the new encoder before there is a network that can read it."""

    def _encode_training(self, *given):
        data = super()._encode_training(*given)
        self.encoder_ = data.encoder
        return data


class ForgetfulClassifier(SASANetClassifier):
    """Another twin: it forgets the certificate of the old model first."""

    def _read_target(self, y, weights):
        vars(self).pop("audit_", None)
        return super()._read_target(y, weights)


def make(kind):
    if kind is NAMClassifier:
        return kind(layers=(4,), **SETTINGS)
    shape = Architecture(width=4, marginal_layers=(3,))
    return kind(shape, teacher_weight=0, **SETTINGS)


@pytest.fixture(scope="module", params=[SASANetClassifier, NAMClassifier])
def first(request):
    """Return a model of the old table, with a certificate where it can have one."""
    return fit_old(request.param)


@pytest.fixture
def model(first):
    """Return an estimator of its own with the same attributes."""
    return copy.copy(first)


def fit_old(kind):
    model = make(kind).fit(OLD, OLD_LABELS)
    if kind is not NAMClassifier:
        model.audit(OLD, n_rows=4)
    return model


def answers(model, table):
    """Return all that a model says of a table, to the last bit."""
    explanation = model.explain(table)
    return [
        model.classes_.tolist(),
        model.predict_proba(table).tobytes(),
        explanation.values.tobytes(),
        explanation.base_values.tobytes(),
        model.n_features_in_,
        list(model.feature_names_in_),
        {name: value.numpy().tobytes() for name, value in model.network_.state_dict().items()},
    ]


class Before:
    """What a model was before the second fit."""

    def __init__(self, model):
        self.model, self.attributes = model, dict(vars(model))
        self.answers = answers(model, OLD)

    def check(self):
        """Every attribute is the very object it was, and all answers are the same."""
        now = vars(self.model)
        assert now.keys() == self.attributes.keys()
        assert all(now[name] is value for name, value in self.attributes.items())
        assert answers(self.model, OLD) == self.answers

    def check_either(self, new):
        """The model is wholly the old one or wholly the new one."""
        if self.model.n_features_in_ == OLD.shape[1]:
            self.check()
        else:
            assert answers(self.model, NEW) == new


# --- every stage -------------------------------------------------------------------------------

STAGES = {
    "check": (in_memory, "check_table"),
    "resolve": ("kind", "_resolve"),
    "read target": ("kind", "_read_target"),
    "features": (in_memory, "features_in"),
    "learn the columns": (TableEncoder, "fit"),
    "encode": (TableEncoder, "transform"),
    "encode all": ("kind", "_encode_training"),
    "soften labels": ("kind", "_soften_labels"),
    "make network": ("kind", "_make_network"),
    "make phases": ("kind", "_make_phases"),
    "train": (tabular, "train"),
    "check weights": (tabular, "check_finite"),
    "finish": ("kind", "_finish"),
}


def failing_after(function, error):
    """Return a function that does its work and then fails."""

    def fail(*given, **named):
        function(*given, **named)
        raise error("a failure on purpose")

    return fail


@pytest.mark.parametrize("stage", STAGES)
def test_a_failure_at_any_stage_leaves_the_first_model(model, stage, monkeypatch):
    place, name = STAGES[stage]
    place = type(model) if place == "kind" else place
    before, function = Before(model), getattr(place, name)
    for error in ERRORS:
        with monkeypatch.context() as patched:
            patched.setattr(place, name, failing_after(function, error))
            with pytest.raises(error, match="on purpose"):
                model.fit(NEW, NEW_LABELS)
        before.check()


@pytest.mark.parametrize("error", ERRORS)
def test_a_failure_just_before_keeping_leaves_the_first_model(model, error, monkeypatch):
    before = Before(model)

    def fail(self, fitted):
        del self, fitted
        raise error("a failure on purpose")

    monkeypatch.setattr(type(model), "_keep", fail)
    with pytest.raises(error, match="on purpose"):
        model.fit(NEW, NEW_LABELS)
    before.check()


@pytest.mark.parametrize(
    ("careless", "stage"), [(CarelessClassifier, "make network"), (ForgetfulClassifier, "finish")]
)
def test_a_model_that_assigns_early_is_noticed(careless, stage, monkeypatch):
    model = fit_old(careless)
    before, (_, name) = Before(model), STAGES[stage]
    monkeypatch.setattr(careless, name, failing_after(getattr(careless, name), ValueError))
    with pytest.raises(ValueError, match="on purpose"):
        model.fit(NEW, NEW_LABELS)
    with pytest.raises((AssertionError, InvalidInputError)):
        before.check()


def failing_in_step(number, error):
    """Return the clipping of gradients, which fails in one step of the training."""
    steps = []

    def fail(*given):
        steps.append(1)
        if len(steps) == number:
            raise error("a failure on purpose")
        return clip_gradients(*given)

    return fail


@pytest.mark.parametrize("error", [ValueError, SystemExit, MemoryError])
@pytest.mark.parametrize("number", [1, 7])
def test_a_failure_in_a_training_step_leaves_the_first_model(model, number, error, monkeypatch):
    before = Before(model)
    monkeypatch.setattr(loop, "clip_gradients", failing_in_step(number, error))
    with pytest.raises(error, match="on purpose"):
        model.fit(NEW, NEW_LABELS)
    before.check()


def test_control_c_in_a_training_step_keeps_the_best_state_so_far(model, monkeypatch):
    monkeypatch.setattr(loop, "clip_gradients", failing_in_step(7, KeyboardInterrupt))
    with pytest.warns(InterruptedFitWarning, match="best state so far") as caught:
        model.fit(NEW, NEW_LABELS)
    assert caught[0].filename == __file__
    assert len(model.history_) == 1  # of two epochs
    assert list(model.feature_names_in_) == ["c", "a", "d"]
    assert not hasattr(model, "audit_")
    explanation = model.explain(NEW)
    np.testing.assert_allclose(explanation.prediction, model.decision_function(NEW), atol=1e-5)
    # The first of two epochs is the last one that ended, wherever in the second one it was stopped.
    for number, same in ((6, True), (3, False)):
        other = make(type(model))
        monkeypatch.setattr(loop, "clip_gradients", failing_in_step(number, KeyboardInterrupt))
        with pytest.warns(InterruptedFitWarning):
            other.fit(NEW, NEW_LABELS)
        assert (answers(other, NEW) == answers(model, NEW)) is same


# --- what is refused ---------------------------------------------------------------------------

REFUSED = {
    "requires y": lambda m: m.fit(NEW, None),
    "NaN": lambda m: m.fit(NEW, np.where(NEW_LABELS == 1, np.nan, NEW_LABELS)),
    "two classes": lambda m: m.fit(NEW, np.zeros(90)),
    "inconsistent numbers of samples": lambda m: m.fit(NEW, NEW_LABELS[:-1]),
    "0 sample": lambda m: m.fit(NEW[:0], NEW_LABELS[:0]),
    "infinity": lambda m: m.fit(NEW.assign(c=np.inf), NEW_LABELS),
    "unique": lambda m: m.fit(NEW.set_axis(["a", "a", "b"], axis=1), NEW_LABELS),
    "sample_weight": lambda m: m.fit(NEW, NEW_LABELS, sample_weight=-np.ones(90)),
    "classes": lambda m: m.fit(NEW, NEW_LABELS, validation=(NEW, NEW_LABELS + 5)),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_a_refused_fit_leaves_the_first_model(model, sentence):
    before = Before(model)
    with pytest.raises(ValueError, match=sentence):
        REFUSED[sentence](model)
    before.check()


@pytest.mark.parametrize("bad", [{"learning_rate": 0}, {"device": "abacus"}, {"batch_size": "?"}])
def test_a_bad_parameter_leaves_the_first_model(model, bad):
    before = Before(model)
    good = {name: getattr(model, name) for name in bad}
    with pytest.raises(InvalidInputError):
        model.set_params(**bad).fit(NEW, NEW_LABELS)
    model.set_params(**good)
    before.check()


def test_a_fit_that_ends_replaces_everything(model):
    """The other side: nothing of the first model is left."""
    old = {name: value for name, value in vars(model).items() if name.endswith("_")}
    fresh = make(type(model)).fit(NEW, NEW_LABELS)
    model.fit(NEW, NEW_LABELS)
    assert vars(model).keys() == vars(fresh).keys()
    assert all(vars(model).get(name) is not value for name, value in old.items())
    assert answers(model, NEW) == answers(fresh, NEW)


# --- any moment --------------------------------------------------------------------------------


class Killed(BaseException):
    """What nothing inside a fit would catch."""


def calls_of_a_fit(model, stop_at=None):
    """Fit while every call is counted; at one of them the fit is killed. Return the count."""
    count = 0

    def count_calls(frame, event, argument):
        nonlocal count
        del frame, argument
        if event in ("call", "c_call"):
            count += 1
            if count == stop_at:
                sys.setprofile(None)
                raise Killed

    sys.setprofile(count_calls)
    try:
        model.fit(NEW, NEW_LABELS)
    except Killed:
        pass
    finally:
        sys.setprofile(None)
    return count


# Killed inside the clean-up of an object, Python says so and goes on: nothing of ours is to blame.
UNRAISABLE = "ignore::pytest.PytestUnraisableExceptionWarning"
UNHANDLED = "ignore::pytest.PytestUnhandledThreadExceptionWarning"
MOMENTS = 25


@pytest.fixture
def restored(monkeypatch):
    """Leave malloc alone; put gradients back: killed where torch.no_grad ends, they stay off."""
    monkeypatch.setenv("SASANET_MALLOC", "0")  # likewise: who changes it would not set it back
    with torch.enable_grad():
        yield
    torch.set_grad_enabled(True)


@pytest.mark.usefixtures("restored")
@pytest.mark.filterwarnings(UNRAISABLE)
def test_a_fit_killed_at_any_call_leaves_the_first_model_or_the_second(model):
    make(type(model)).fit(NEW, NEW_LABELS)  # imports of the first fit are no calls of every fit
    fresh = make(type(model))
    n_calls = calls_of_a_fit(fresh)
    new, n_old = answers(fresh, NEW), 0
    for moment in np.linspace(1, n_calls, MOMENTS).astype(int):
        again = copy.copy(model)  # what one moment lets through must not count for the next ones
        before = Before(again)
        calls_of_a_fit(again, stop_at=moment)
        before.check_either(new)
        n_old += again.n_features_in_ == OLD.shape[1]
    assert n_old >= MOMENTS - 2  # only the last moments may come too late


@pytest.mark.usefixtures("restored")
@pytest.mark.filterwarnings(UNRAISABLE)
def test_a_careless_model_killed_in_between_is_noticed():
    model = fit_old(CarelessClassifier)
    n_calls = calls_of_a_fit(make(CarelessClassifier))
    before = Before(model)
    calls_of_a_fit(model, stop_at=n_calls // 2)
    with pytest.raises((AssertionError, InvalidInputError)):
        before.check_either(None)


def kill_after(model, seconds):
    """Fit in a thread and raise an exception in it from outside, as some servers stop a job."""

    def fit():
        with contextlib.suppress(Killed):
            model.fit(NEW, NEW_LABELS)

    thread = threading.Thread(target=fit, daemon=True)
    thread.start()
    time.sleep(seconds)
    raise_in(thread.ident)
    for _ in range(600):  # waits of a tenth of a second: a machine may stand still for a minute
        thread.join(timeout=0.1)
    stuck = sys._current_frames().get(thread.ident)
    assert not thread.is_alive(), "".join(traceback.format_stack(stuck))
    take_what_was_not_delivered()


def raise_in(thread_id):
    """Let CPython raise in a thread, at its next instruction."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread_id), ctypes.py_object(Killed))


def take_what_was_not_delivered():
    """Take an exception here, which clears CPython's flag that one waits for some thread.

    Where a thread ended before its exception came, the flag stays, and CPython 3.11 begins the next
    profiled call again and again.
    """
    with contextlib.suppress(Killed):
        raise_in(threading.get_ident())
        while True:
            time.sleep(0)


@pytest.mark.usefixtures("restored")
@pytest.mark.filterwarnings(UNRAISABLE, UNHANDLED)
def test_a_killed_thread_leaves_the_first_model_or_the_second(model):
    started, fresh = time.monotonic(), make(type(model)).fit(NEW, NEW_LABELS)
    duration, new = time.monotonic() - started, answers(fresh, NEW)
    random = np.random.default_rng(1)
    for _ in range(6):
        again = copy.copy(model)
        before = Before(again)
        kill_after(again, random.uniform(0, duration))
        before.check_either(new)
