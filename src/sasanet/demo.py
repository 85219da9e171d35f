"""``python -m sasanet.demo``: the main job on real credit applications, from table to page."""

from __future__ import annotations

import base64
import html
import io
import time
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from sasanet import Explanation, SASANetClassifier, load
from sasanet.audit import Audit
from sasanet.datasets import load_german_credit
from sasanet.errors import MissingPackageError

_OUTPUT = Path("demo-output")


def main(output: Path = _OUTPUT, verbose: bool = True) -> None:
    """Fit, compare, audit, explain, save, load, and leave a page to open in ``output``."""
    X, y = load_german_credit()
    parts = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    X_train, X_test, y_train, y_test = parts
    print(f"German credit: {len(X_train)} applications to learn from, {len(X_test)} to judge by.\n")

    start = time.perf_counter()
    model = SASANetClassifier(random_state=0, verbose=verbose).fit(X_train, y_train)
    ours = roc_auc_score(y_test, model.predict_proba(X_test)[:, 1])
    quality = [("SASANet", ours, time.perf_counter() - start), _lightgbm(*parts)]
    print("\nQuality on the same split (area under the ROC curve):")
    for name, auc, seconds in quality:
        print(f"  {name:<10} {auc:.3f}   fitted in {seconds:.1f} s")

    report = model.audit(X_test, y_test)
    print(f"\n{report}\n")

    explanation = model.explain(X_test)
    applicant = int(explanation.prediction.argmax())
    words = _in_words(explanation, applicant)
    print(words)

    model.save(output / "model")
    again = load(output / "model")
    same = bool((again.predict_proba(X_test) == model.predict_proba(X_test)).all())
    print(f"\nSaved to {output / 'model'}, loaded again: predictions identical: {same}.")
    page = _page(quality, report, explanation, applicant, words)
    (output / "index.html").write_text(page, encoding="utf-8")
    print(f"Open {output / 'index.html'} to see it.")


def _lightgbm(
    X_train: pd.DataFrame, X_test: pd.DataFrame, y_train: Any, y_test: Any
) -> tuple[str, float, float]:
    """Return name, quality and time of LightGBM with its defaults and native categories."""
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        raise MissingPackageError("lightgbm", "demo") from None
    texts = [column for column in X_train if not pd.api.types.is_numeric_dtype(X_train[column])]
    kinds = {c: pd.CategoricalDtype(sorted(X_train[c].unique())) for c in texts}
    start = time.perf_counter()
    model = LGBMClassifier(verbose=-1).fit(X_train.astype(kinds), y_train)
    auc = roc_auc_score(y_test, model.predict_proba(X_test.astype(kinds))[:, 1])
    return "LightGBM", auc, time.perf_counter() - start


def _in_words(explanation: Explanation, row: int) -> str:
    base, total = explanation.base_values[row], explanation.prediction[row]
    lines = [
        f"Why is applicant {explanation.data.index[row]} the riskiest? On the log-odds scale of a "
        f"bad credit: {base:.2f} for anybody,",
        *(f"  {reason}" for reason in explanation.reasons(row, k=6)),
        f"and so on for {len(explanation.feature_names)} features, which add up to {total:.2f}.",
    ]
    return "\n".join(lines)


def _page(
    quality: list[tuple[str, float, float]],
    report: Audit,
    explanation: Explanation,
    row: int,
    words: str,
) -> str:
    """Return one self-contained HTML page: no network, no scripts."""
    rows = "".join(
        f"<tr><td>{name}</td><td>{auc:.3f}</td><td>{seconds:.1f} s</td></tr>"
        for name, auc, seconds in quality
    )
    importance = "".join(
        f"<tr><td>{html.escape(str(name))}</td><td>{value:.3f}</td></tr>"
        for name, value in explanation.importance().head(10).items()
    )
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>SASANet on German credit</title><style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 1rem }}
table {{ border-collapse: collapse; }} td, th {{ padding: .2rem .8rem .2rem 0; text-align: left; }}
pre {{ white-space: pre-wrap; background: #f5f5f5; padding: 1rem; }} img {{ max-width: 100%; }}
</style></head><body>
<h1>SASANet on German credit</h1>
<p>A model that is its own explanation: each prediction is a base value plus one number per feature,
and those numbers are the Shapley values of the model's own output.</p>
<h2>How good</h2><table><tr><th>Model</th><th>AUC</th><th>Fit</th></tr>{rows}</table>
<h2>How faithful</h2><pre>{html.escape(str(report))}</pre>
<h2>One applicant</h2><pre>{html.escape(words)}</pre>
<img alt="Waterfall of the applicant's attributions"
 src="data:image/png;base64,{_picture(explanation, row)}">
<h2>What matters overall</h2>
<table><tr><th>Feature</th><th>mean |attribution|</th></tr>{importance}</table>
<p>Data: Statlog (German Credit Data), Hans Hofmann, UCI Machine Learning Repository, CC BY 4.0.</p>
</body></html>
"""


def _picture(explanation: Explanation, row: int) -> str:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from sasanet.plots import waterfall

    figure = Figure(figsize=(9, 4.8), layout="constrained")
    FigureCanvasAgg(figure)
    waterfall(explanation, row, ax=figure.subplots())
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    return base64.b64encode(buffer.getvalue()).decode()


if __name__ == "__main__":
    main()
