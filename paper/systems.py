"""Every system of the paper's first table, behind the interface of bench/accuracy/rivals.py.

Each network, the paper's too, has the same time for a fit and for trying a setting, and each system
the same number of settings to try; the settings are below, the chosen ones in the results.
SASANet's default runs as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from bench.accuracy import rivals
from bench.accuracy.rivals import Settings, System, Task, grid, one_hot
from sasanet import ARCHITECTURES, Architecture, SASANetClassifier, SASANetRegressor, baselines
from sasanet.network.architecture import find_architecture

WHOLE, LONG = "SASANet (paper)", "SASANet (paper long)"
ABLATIONS = ("SASANet-p", "SASANet-d")
_EPOCHS = 40  # of the other networks at most: more than their defaults, so that time decides

# What the networks of ``sasanet.baselines`` may try.
_NETWORKS: dict[str, tuple[Settings, ...]] = {
    "MLP": grid(layers=((256, 128), (512, 256)), dropout=(0.1, 0.3)),
    "NAM": grid(activation=("exu", "relu"), output_penalty=(0.01, 0.1)),
    "SITE": grid(prototype_penalty=(0.5, 5.0), dropout=(0.1, 0.3)),
    "SENN": grid(layers=((64, 64), (256, 128)), gradient_penalty=(1e-2, 1e-4)),
    "SSCN": grid(width=(64, 32), dropout=(0.1, 0.3)),
    "SHAPNet": grid(structure=("shallow", "deep"), learning_rate=(2e-3, 5e-3)),
    "HarsanyiNet": grid(width=(100, 200), depth=(3, 2)),
    "ViaSHAP": grid(shapley_weight=(1.0, 0.1), learning_rate=(2e-3, 5e-4)),
}
# No larger rates: in a short trial on Higgs 4e-3 is best, in a long fit far behind 2e-3.
_PAPERS_SEARCH = grid(learning_rate=(2e-3, 1e-3), dropout=(0.1, 0.3))


@dataclass(frozen=True)
class Limits:
    """Seconds a network has for a fit, and for one that only judges a setting."""

    fit: float
    trial: float

    def of(self, task: Task) -> float:
        """Return the seconds for a fit of these rows."""
        return self.trial if task.trial else self.fit


def limits_of(system: str, data: str, settings: dict[str, Any]) -> Limits:
    """Return the seconds a system has; trees and lines take what they need, and so do we."""
    if system == LONG:
        return Limits(settings["long_limit"][data], settings["long_trial_limit"][data])
    if system in (*_NETWORKS, WHOLE, *ABLATIONS):
        return Limits(settings["time_limit"][data], settings["trial_limit"][data])
    return Limits(settings["default_limit"], settings["default_limit"])


def make_systems(data: str, settings: dict[str, Any]) -> dict[str, System]:
    """Return all systems with what they may try on one data set."""
    # Appendix H's networks for Higgs and Income want a GPU: a step of theirs takes a core seconds.
    large = data in ("higgs", "income")
    paper = ARCHITECTURES["sequence" if large else f"paper-{data}"]
    ours, limits, long = (limits_of(one, data, settings) for one in ("SASANet", WHOLE, LONG))
    found = {
        "constant": System(_constant),
        "LightGBM": System(
            rivals.SYSTEMS["lightgbm"].fit, grid(learning_rate=(0.03, 0.1), num_leaves=(15, 31))
        ),
        "EBM": rivals.SYSTEMS["ebm"],
        "decision tree": System(_tree, grid(max_depth=(6, 4, 8, 12))),
        "logistic regression": System(_linear, grid(C=(1.0, 0.01, 0.1, 10.0)), classes_only=True),
        **{name: _network(name, limits, wide=data == "insurance") for name in _NETWORKS},
        WHOLE: System(_sasanet(paper, limits), _PAPERS_SEARCH),
        LONG: System(_sasanet(paper, long), _PAPERS_SEARCH),
        "SASANet-p": System(_sasanet(replace(paper, positions=1), limits), _PAPERS_SEARCH),
        "SASANet-d": System(_sasanet(replace(paper, attribution="none"), limits), _PAPERS_SEARCH),
        "SASANet": System(_sasanet("set", ours)),
    }
    return {
        name: replace(one, search=one.search[: settings["search"]]) for name, one in found.items()
    }


Fit = Callable[[Task, Settings], Any]


def _network(name: str, limits: Limits, wide: bool) -> System:
    """Return a network of ``sasanet.baselines``; SHAPNet's pairs are too many in wide tables."""
    search = [one for one in _NETWORKS[name] if not (wide and one.get("structure") == "shallow")]

    def fit(task: Task, settings: Settings) -> Any:
        kind = getattr(baselines, f"{name}{'Regressor' if task.regression else 'Classifier'}")
        fixed = {"random_state": task.seed, "max_epochs": _EPOCHS, "time_limit": limits.of(task)}
        return kind(**fixed, **settings).fit(task.X, task.y)

    return System(fit, tuple(search), classes_only=not hasattr(baselines, f"{name}Regressor"))


def _sasanet(network: str | Architecture, limits: Limits) -> Fit:
    def fit(task: Task, settings: Settings) -> Any:
        kind = SASANetRegressor if task.regression else SASANetClassifier
        shape = {"dropout": settings["dropout"]} if "dropout" in settings else {}
        other = {name: value for name, value in settings.items() if name not in shape}
        ours = replace(find_architecture(network), **shape) if shape else network
        model = kind(ours, random_state=task.seed, time_limit=limits.of(task), **other)
        return model.fit(task.X, task.y)

    return fit


def _constant(task: Task, settings: Settings) -> Any:
    kind = DummyRegressor if task.regression else DummyClassifier
    return kind(**settings).fit(task.X, task.y)


def _tree(task: Task, settings: Settings) -> Any:
    kind = DecisionTreeRegressor if task.regression else DecisionTreeClassifier
    tree = kind(min_samples_leaf=20, random_state=task.seed, **settings)
    return make_pipeline(one_hot(), tree).fit(task.X, task.y)


def _linear(task: Task, settings: Settings) -> Any:
    line = LogisticRegression(max_iter=500, **settings)
    return make_pipeline(one_hot(), StandardScaler(), line).fit(task.X, task.y)
