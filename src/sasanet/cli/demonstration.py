"""The whole job on real credit applications, from table to report.

``sasanet demo`` runs it, and so does ``python -m sasanet.cli.demonstration``.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from sasanet import Explanation, SASANetClassifier, load
from sasanet.datasets import load_german_credit
from sasanet.errors import need_package
from sasanet.report import write_report

_OUTPUT = Path("demo-output")


def main(output: Path = _OUTPUT, verbose: bool = True) -> None:
    """Fit, compare, audit, explain, save, load, and write a report to open in ``output``."""
    X, y = load_german_credit()
    parts = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    X_train, X_test, y_train, y_test = parts
    print(f"German credit: {len(X_train)} applications for training, {len(X_test)} for testing.\n")

    start = time.perf_counter()
    model = SASANetClassifier(random_state=0, verbose=verbose).fit(X_train, y_train)
    ours = roc_auc_score(y_test, model.predict_proba(X_test)[:, 1])
    quality = [("SASANet", ours, time.perf_counter() - start), _lightgbm(*parts)]
    print("\nQuality on the same split (area under the ROC curve):")
    for name, auc, seconds in quality:
        print(f"  {name:<10} {auc:.3f}   fitted in {seconds:.1f} s")

    print(f"\n{model.audit(X_test, y_test)}\n")

    explanation = model.explain(X_test)
    applicant = int(explanation.prediction.argmax())
    print(_in_words(explanation, applicant))

    model.save(output / "model")
    again = load(output / "model")
    same = bool((again.predict_proba(X_test) == model.predict_proba(X_test)).all())
    print(f"\nSaved to {output / 'model'}, loaded again: predictions identical: {same}.")
    write_report(model, X_test, output / "index.html", target=y_test, group="housing")
    print(f"Open {output / 'index.html'} to see it.")


def _lightgbm(
    X_train: pd.DataFrame, X_test: pd.DataFrame, y_train: Any, y_test: Any
) -> tuple[str, float, float]:
    """Return name, quality and time of LightGBM with default settings and native categories."""
    lightgbm = need_package("lightgbm", "demo")
    texts = [column for column in X_train if not pd.api.types.is_numeric_dtype(X_train[column])]
    kinds = {c: pd.CategoricalDtype(sorted(X_train[c].unique())) for c in texts}
    start = time.perf_counter()
    model = lightgbm.LGBMClassifier(verbose=-1).fit(X_train.astype(kinds), y_train)
    auc = roc_auc_score(y_test, model.predict_proba(X_test.astype(kinds))[:, 1])
    return "LightGBM", auc, time.perf_counter() - start


def _in_words(explanation: Explanation, row: int) -> str:
    base, total = explanation.base_values[row], explanation.prediction[row]
    lines = [
        f"Why is applicant {explanation.data.index[row]} the riskiest? On the log-odds scale of a "
        f"bad credit: {base:.2f} for everybody,",
        *(f"  {reason}" for reason in explanation.reasons(row, k=6)),
        f"and so on for {len(explanation.feature_names)} features, which add up to {total:.2f}.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
