"""Save, log and load models in MLflow's format."""

from __future__ import annotations

import re
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sasanet
from sasanet.errors import InvalidInputError, need_package
from sasanet.mlflow.signature import make_signature
from sasanet.persistence import load

if TYPE_CHECKING:
    from sasanet.audit import Audit
    from sasanet.estimator.sasanet import SASANetModel

FLAVOR = "sasanet"
_LOADER = "sasanet.mlflow.pyfunc"


def save_model(
    model: SASANetModel, path: str | Path, input_example: Any = None, mlflow_model: Any = None
) -> None:
    """Write a fitted model to a new folder in MLflow's format.

    Parameters
    ----------
    model : SASANetClassifier or SASANetRegressor
        A fitted model; its audit is saved with it.
    path : str or Path
        A folder that does not exist yet.
    input_example : DataFrame, optional
        Rows that MLflow stores with the model, in plain text.
    mlflow_model : mlflow.models.Model, optional
        What MLflow passes when it logs.

    Examples
    --------
    >>> import sasanet.mlflow
    >>> sasanet.mlflow.save_model(model, "model")  # doctest: +SKIP
    """
    need_package("mlflow", "mlflow")
    from mlflow.models import Model

    from mlflow import pyfunc

    described = mlflow_model or Model()
    described.add_flavor(FLAVOR, sasanet_version=sasanet.__version__, data="data/model")
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        # MLflow asks for rows to infer a signature from; ours comes from the model's columns.
        warnings.filterwarnings("ignore", ".*An input example was not provided", UserWarning)
        saved = Path(folder) / "model"
        model.save(saved)
        pyfunc.save_model(
            path=str(path),
            loader_module=_LOADER,
            data_path=str(saved),
            mlflow_model=described,
            signature=make_signature(model),
            input_example=input_example,
            pip_requirements=[f"sasanet=={sasanet.__version__}"],
        )


def log_model(
    model: SASANetModel,
    name: str = "model",
    X: Any = None,
    y: Any = None,
    input_example: Any = None,
    registered_model_name: str | None = None,
) -> Any:
    """Log a fitted model to MLflow's active run: files, signature, audit metrics and model card.

    Parameters
    ----------
    model : SASANetClassifier or SASANetRegressor
        A fitted model.
    name : str, default="model"
        Name of the logged model.
    X, y : table and labels, optional
        Rows to audit the model on, best not seen in training; without them the audit that the model
        has already, if any, is logged.
    input_example : DataFrame, optional
        Rows that MLflow stores with the model, in plain text.
    registered_model_name : str, optional
        Also register it under this name.

    Returns
    -------
    mlflow.models.model.ModelInfo
        ``model_uri`` is where :func:`load_model` and ``mlflow.pyfunc.load_model`` find it.

    Examples
    --------
    >>> import mlflow, sasanet.mlflow
    >>> with mlflow.start_run():
    ...     info = sasanet.mlflow.log_model(model, X=X_test, y=y_test)  # doctest: +SKIP
    """
    mlflow = need_package("mlflow", "mlflow")
    from mlflow.models import Model

    audit = getattr(model, "audit_", None) if X is None else model.audit(X, y)
    info = Model.log(
        artifact_path=None,
        name=name,
        flavor=sys.modules[__name__],
        model=model,
        input_example=input_example,
        registered_model_name=registered_model_name,
    )
    if audit is not None:
        mlflow.log_metrics(_metrics(audit), model_id=info.model_id)
        mlflow.log_text(str(audit), "audit.txt")
    mlflow.log_text(model.card(), "model_card.md")
    return info


def load_model(model_uri: str, key: bytes | None = None) -> SASANetModel:
    """Return a model that :func:`log_model` or :func:`save_model` wrote.

    Parameters
    ----------
    model_uri : str
        A folder, ``runs:/…``, ``models:/…``, or whatever MLflow resolves.
    key : bytes, optional
        The key a signed model was saved with.

    Examples
    --------
    >>> import sasanet.mlflow
    >>> model = sasanet.mlflow.load_model("models:/credit/1")  # doctest: +SKIP
    """
    need_package("mlflow", "mlflow")
    from mlflow.artifacts import download_artifacts
    from mlflow.models import Model

    folder = Path(download_artifacts(artifact_uri=str(model_uri)))
    flavors = Model.load(str(folder)).flavors
    if FLAVOR not in flavors:
        raise InvalidInputError(
            f"{model_uri} must hold a model of sasanet.mlflow, got the flavors "
            f"{', '.join(flavors)}; mlflow.pyfunc.load_model reads any"
        )
    return load(folder / str(flavors[FLAVOR]["data"]), key)


def _metrics(audit: Audit) -> dict[str, float]:
    """Return what was measured, by names that MLflow takes: "self-game R²" is self_game_r2."""
    found = {}
    for finding in audit.findings:
        plain = finding.name.lower().replace("²", "2")
        found["audit_" + re.sub(r"[^a-z0-9]+", "_", plain).strip("_")] = float(finding.value)
    return found
