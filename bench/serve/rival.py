"""The server a user would write: FastAPI, LightGBM and its ``pred_contrib``, a page of code.

``python -m bench.serve.rival MODEL PORT`` serves a model written by :func:`keep`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd


def keep(model: Any, X: pd.DataFrame, folder: Path) -> None:
    """Write a fitted LightGBM classifier and the levels of its columns."""
    folder.mkdir(parents=True, exist_ok=True)
    model.booster_.save_model(folder / "trees.txt")
    levels = {c: list(X[c].cat.categories) for c in X if X[c].dtype == "category"}
    text = json.dumps({"columns": list(X), "levels": levels}, default=str)
    (folder / "columns.json").write_text(text, encoding="utf-8")


def make_app(folder: Path) -> Any:
    """Return an application that answers a list of records with predictions and attributions."""
    import lightgbm
    from fastapi import FastAPI

    trees = lightgbm.Booster(model_file=folder / "trees.txt")
    told = json.loads((folder / "columns.json").read_text(encoding="utf-8"))
    kinds = {c: pd.CategoricalDtype(levels) for c, levels in told["levels"].items()}
    app = FastAPI()

    @app.post("/explain")
    def explain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        table = pd.DataFrame(rows).reindex(columns=told["columns"])
        table = table.astype(kinds | {c: float for c in table if c not in kinds})
        found = np.asarray(trees.predict(table, pred_contrib=True, num_threads=1))
        return [
            {
                "prediction": float(1 / (1 + np.exp(-row.sum()))),
                "base_value": float(row[-1]),
                "attributions": dict(zip(table, row[:-1].tolist(), strict=True)),
            }
            for row in found
        ]

    return app


if __name__ == "__main__":
    import uvicorn

    port = int(sys.argv[2])
    uvicorn.run(make_app(Path(sys.argv[1])), host="127.0.0.1", port=port, log_level="warning")
