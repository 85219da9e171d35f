"""Ray Datasets: one model learned by several workers, explanations by actors.

- ``training``: :func:`fit`, by Ray Train's torch trainer
- ``blocks``: a dataset's blocks, shared out to workers
- ``mapping``: :func:`explain` and :func:`predict`, datasets to datasets

Needs ``pip install "sasanet[ray]"`` on every machine; Ray is imported when one of these is called.
"""

from sasanet.ray.mapping import explain, predict
from sasanet.ray.training import fit

__all__ = ["explain", "fit", "predict"]
