"""Models in MLflow: logged with signature, audit and card; served with their explanations.

- ``signature``: columns → MLflow's schema of inputs, outputs and params
- ``flavor``: ``save_model``, ``log_model`` and ``load_model``
- ``pyfunc``: what MLflow calls to predict, and to explain with ``params={"explain": True}``

No pickle: what MLflow stores is the folder that ``model.save`` writes. Needs
``pip install "sasanet[mlflow]"``; MLflow's own package is imported when one of these is called.
"""

from sasanet.mlflow.flavor import load_model, log_model, save_model

__all__ = ["load_model", "log_model", "save_model"]
