"""Tables larger than memory: predictions and explanations from files into files.

- ``batches``: :func:`explain_batches` and :func:`predict_batches`
- ``work``: what is done with each batch of rows · ``output_columns``: what it is called
- ``mapping``: the same as a function of DataFrames, which Ray, Dask and Spark map over theirs
- ``parts``: a folder of files, written by all cores and finished where work stopped
"""

from sasanet.scale.batches import explain_batches, predict_batches
from sasanet.scale.mapping import FrameMap, explainer, predictor
from sasanet.scale.parts import WrittenParts

__all__ = [
    "FrameMap",
    "WrittenParts",
    "explain_batches",
    "explainer",
    "predict_batches",
    "predictor",
]
