"""Compare the results of two commits: ``python -m bench.same_results OLD NEW [NAME …]``.

Both are checked out beside each other and fit every estimator, preset and baseline on small samples
of the nine benchmark tables with fixed seeds. What they return must be equal bit by bit: what
differs is listed with its largest absolute difference. Use it when code moves and behaviour must
not. Names choose tables, models or both: ``german_credit default``.
"""

from __future__ import annotations

import inspect
import math
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

_TRAIN, _TEST = 320, 24
_NINE = {  # file: target, columns that are no features
    "german_credit": ("credit", []),
    "penguins": ("species", []),
    "titanic": ("survived", ["alive"]),
    "diamonds": ("price", []),
    "california_housing": ("median_house_value", []),
    "creditcard": ("Class", []),
    "higgs_64k": ("label", ["source"]),
    "coil2000_train": ("CARAVAN", []),
    "census_income_train": ("income", ["instance_weight"]),
}
_REGRESSION = ("diamonds", "california_housing")
_NETWORKS = ("sequence", "paper-fraud", "paper-income", "paper-insurance")  # on one table each
_BASELINES = ("MLP", "NAM", "SENN", "SITE", "SSCN", "SHAPNet", "HarsanyiNet", "ViaSHAP")


def main() -> None:
    """Compare two commits, or (inside one of them) write what its code returns."""
    names = sys.argv[3:]
    if sys.argv[1] == "--write":
        np.savez(sys.argv[2], **_results(names))
        return
    old, new = (_run(commit, names) for commit in sys.argv[1:3])
    differing = [key for key in old if key in new and not _equal(old[key], new[key])]
    for key in differing:
        print(f"differs: {key}, by at most {_distance(old[key], new[key]):.3g}")
    for title, missing in (("only old", old.keys() - new.keys()), ("only new", new.keys() - old)):
        for key in sorted(missing):
            print(f"{title}: {key}")
    n_equal = len(old.keys() & new.keys()) - len(differing)
    print(f"{n_equal} of {len(old)} results of {sys.argv[1]} are equal bit by bit in {sys.argv[2]}")


def _run(commit: str, names: Sequence[str]) -> dict[str, Any]:
    """Run one commit's code on the samples, one thread, and read what it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        tree, out = Path(folder) / "tree", Path(folder) / "results.npz"
        subprocess.run(["git", "worktree", "add", "--detach", tree, commit], check=True)
        try:
            paths = os.pathsep.join([str(tree / "src"), str(Path(__file__).parent.parent)])
            command = [sys.executable, __file__, "--write", str(out), *names]
            settings = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
            subprocess.run(command, check=True, env=settings)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], check=True)
        with np.load(out, allow_pickle=False) as kept:
            return {key: kept[key] for key in kept}


def _equal(one: Any, other: Any) -> bool:
    equal_nan = one.dtype.kind == "f"
    return one.shape == other.shape and np.array_equal(one, other, equal_nan=equal_nan)


def _distance(one: Any, other: Any) -> float:
    if one.shape != other.shape or one.dtype.kind != "f":
        return math.nan
    return float(np.nanmax(np.abs(one - other), initial=0.0))


# --- what one commit returns -----------------------------------------------------------------


def _results(names: Sequence[str]) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    found: dict[str, Any] = {}
    tables = [name for name in _NINE if name in names] or list(_NINE)
    cases = set(names) - set(_NINE)
    for name in tables:
        X, y, rows = _sample(name)
        for case, model in _models(name):
            if cases and case not in cases:
                continue
            model.fit(X, y)
            for part, array in _returned(model, rows, y[-_TEST:]):
                found[f"{name} | {case} | {part}"] = array
        print(name, flush=True)
    return found


def _sample(name: str) -> tuple[pd.DataFrame, Any, pd.DataFrame]:
    target, dropped = _NINE[name]
    table = pd.read_parquet(Path(os.environ["SASANET_DATA"]) / f"{name}.parquet")
    table = table.drop(columns=dropped)
    if name not in _REGRESSION:  # rare classes too
        table = pd.concat([part.iloc[: _TRAIN // 2] for _, part in table.groupby(target)])
    table = table.sample(min(len(table), _TRAIN + _TEST), random_state=0).reset_index(drop=True)
    X, y = table.drop(columns=target), table[target]
    rows = X.iloc[-_TEST:].reset_index(drop=True)
    rows.iloc[::3, 1] = None
    return X, y.to_numpy(), rows


def _models(name: str) -> Iterator[tuple[str, Any]]:
    """Yield every estimator in the settings to compare; names that moved are found by signature."""
    import sasanet
    from sasanet import baselines

    kind = "Regressor" if name in _REGRESSION else "Classifier"
    make = getattr(sasanet, f"SASANet{kind}")
    teacher = "teacher" if "teacher" in inspect.signature(make).parameters else "teacher_weight"
    yield "default", make(random_state=0)
    yield "best", make(preset="best", random_state=0)
    yield "no teacher", make(random_state=0, max_epochs=5, **{teacher: 0.0})
    learned = sasanet.Architecture(attribution="context")
    yield "learned", _with_steps(make, learned, 20, max_epochs=3)
    if name in ("german_credit", "penguins", "diamonds"):
        for network in _NETWORKS:
            architecture = sasanet.ARCHITECTURES[network]
            yield network, _with_steps(make, architecture, 4, max_epochs=1)
    for baseline in _BASELINES:
        other = getattr(baselines, baseline + kind, None)
        wide = {"structure": "deep"} if baseline == "SHAPNet" and name == "coil2000_train" else {}
        if other is not None:
            yield baseline, other(random_state=0, max_epochs=2, **wide)


def _with_steps(make: Any, architecture: Any, steps: int, max_epochs: int) -> Any:
    """Return a model whose Shapley module learns for so many steps, wherever that is said."""
    if hasattr(architecture, "attribution_steps"):
        architecture = replace(architecture, attribution_steps=steps)
        return make(architecture, random_state=0, max_epochs=max_epochs)
    return make(architecture, random_state=0, max_epochs=max_epochs, attribution_steps=steps)


def _returned(model: Any, rows: pd.DataFrame, y: Any) -> Iterator[tuple[str, Any]]:
    predict = getattr(model, "predict_proba", model.predict)
    yield "prediction", predict(rows)
    if type(model).__name__.startswith("MLP"):
        return
    yield "attributions", model.explain(rows).values
    yield "base", model.explain(rows).base_values
    if not hasattr(model, "profiles"):
        return
    yield "profiles", model.profiles(rows)
    yield "value", model.value(rows, np.arange(rows.shape[1]) % 2 == 0)
    effort = "refine" if "refine" in inspect.signature(model.explain).parameters else "n_orders"
    refined = model.explain(rows, **{effort: 8})
    yield "refined attributions", refined.values
    yield "refined errors", refined.error_std
    audit = model.audit(rows, y, n_orders=20)
    for finding in audit.findings:
        yield f"audit, {finding.name}", np.array([finding.value, finding.low, finding.high])


if __name__ == "__main__":
    main()
