"""Predictions and explanations of a Ray Dataset, by actors that load the model once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sasanet.errors import need_package
from sasanet.ray.blocks import check_columns
from sasanet.scale.mapping import FrameMap, explainer, predictor
from sasanet.scale.work import rows_at_once
from sasanet.table.reading import arrow_to_pandas
from sasanet.validation import check_integer

_MOST_ROWS = 4_096  # of a batch: seconds of work, so that no actor waits long for the last one


def predict(model: Any, dataset: Any, *, keep: Sequence[str] = (), num_workers: int = 2) -> Any:
    """Predict every row of a Ray Dataset.

    Parameters
    ----------
    model : fitted estimator, or path of a saved one
    dataset : ray.data.Dataset
    keep : sequence of str, default=()
        Columns to copy, such as the rows' ids.
    num_workers : int, default=2
        Actors at most, one CPU each.

    Returns
    -------
    ray.data.Dataset
        The columns of :func:`sasanet.scale.predict_batches` but for ``row``; it is computed when
        it is written or read.

    Examples
    --------
    >>> table = ray.data.read_parquet("transactions/")  # doctest: +SKIP
    >>> found = sasanet.ray.predict("model", table, keep=["id"])  # doctest: +SKIP
    >>> found.write_parquet("predicted/")  # doctest: +SKIP
    """
    return _mapped(predictor(model, keep=keep), dataset, num_workers)


def explain(
    model: Any,
    dataset: Any,
    *,
    keep: Sequence[str] = (),
    n_orders: int = 0,
    max_error: float | None = None,
    num_workers: int = 2,
) -> Any:
    """Explain every row of a Ray Dataset.

    When an actor dies, another one takes its place, and its batches are done again.

    Parameters
    ----------
    model : fitted estimator, or path of a saved one
    dataset : ray.data.Dataset
    keep : sequence of str, default=()
        Columns to copy, such as the rows' ids.
    n_orders : int, default=0
        As in ``model.explain``.
    max_error : float, optional
        As in ``model.explain``.
    num_workers : int, default=2
        Actors at most, one CPU each.

    Returns
    -------
    ray.data.Dataset
        The columns of :func:`sasanet.scale.explain_batches` but for ``row``; it is computed when
        it is written or read.

    Examples
    --------
    >>> table = ray.data.read_parquet("transactions/")  # doctest: +SKIP
    >>> found = sasanet.ray.explain("model", table, keep=["id"])  # doctest: +SKIP
    >>> found.write_parquet("explained/")  # doctest: +SKIP
    """
    work = explainer(model, keep=keep, n_orders=n_orders, max_error=max_error)
    return _mapped(work, dataset, num_workers)


class Actor:
    """A process that has the model, and maps batch after batch."""

    def __init__(self, work: Any) -> None:
        ray = need_package("ray", "ray")
        self.work: FrameMap = ray.get(work)

    def __call__(self, batch: Any) -> Any:
        """Return an Arrow table with a line for every row of another one."""
        pa = need_package("pyarrow", "parquet")
        frame = arrow_to_pandas(batch.replace_schema_metadata(None))
        return pa.Table.from_pandas(self.work(frame), preserve_index=False)


def _mapped(work: FrameMap, dataset: Any, num_workers: int) -> Any:
    ray, data = need_package("ray", "ray"), need_package("ray.data", "ray")
    n_workers = check_integer("num_workers", num_workers, 1, None, "give how many share the rows")
    check_columns(dataset, [*work.model.encoder_.names, *work.keep])
    return dataset.map_batches(
        Actor,
        fn_constructor_args=(ray.put(work),),
        # Fewer where tasks that read need the cores.
        compute=data.ActorPoolStrategy(min_size=1, max_size=n_workers),
        batch_size=min(rows_at_once(work.model), _MOST_ROWS),
        batch_format="pyarrow",
        zero_copy_batch=True,
    )
