"""One model learned by several workers of Ray Train, each from rows of its own."""

from __future__ import annotations

import pickle
import shutil
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from sasanet.errors import SasanetError, need_package, warn_user
from sasanet.estimator.fitting.device import pick_device
from sasanet.estimator.fitting.streamed import StreamedTable
from sasanet.estimator.tabular import TabularModel
from sasanet.ray.blocks import Block, as_source, check_columns, shares
from sasanet.streaming.parts import Reader, Roles
from sasanet.streaming.scratch import scratch_folder
from sasanet.training.shared.fellows import Workers
from sasanet.validation import check_integer

Model = TypeVar("Model", bound=TabularModel)
_PATIENCE = 24 * 3600  # seconds that workers wait for each other: the first one asks the teachers
_REPLACED = 8  # workers, before a fit gives up


def fit(  # noqa: PLR0913 - the settings of a fit by several machines
    model: Model,
    dataset: Any,
    target: str,
    *,
    num_workers: int = 2,
    sample_weight: str | None = None,
    checkpoint: str | Path | None = None,
    scratch: str | Path | None = None,
    use_gpu: bool = False,
) -> Model:
    """Learn from a Ray Dataset with several workers.

    Every worker surveys and encodes its share of the rows; what they find is merged, and teachers
    soften the labels of a sample of all rows. In every step each worker takes its part of the
    batch, and their gradients are averaged: the step that one process makes from the whole batch.

    Parameters
    ----------
    model : SASANetClassifier or SASANetRegressor
        ``batch_size`` counts the rows of all workers together.
    dataset : ray.data.Dataset
        It is materialized, and must fit into Ray's object store or the disks it spills to.
    target : str
        The column that holds the labels.
    num_workers : int, default=2
        Processes, one CPU or one GPU each.
    sample_weight : str, optional
        The column that says how much each row counts.
    checkpoint : path, optional
        Folder for the state of the fit; on several machines one that all of them see. By default a
        temporary folder of this machine.
    scratch : path, optional
        Folder of every machine for the encoded rows of its workers, by default the system's for
        temporary files.
    use_gpu : bool, default=False
        Whether workers train on GPUs, and talk by NCCL; on CPUs they do by Gloo.

    Returns
    -------
    model
        The same estimator, fitted.

    Examples
    --------
    >>> import ray  # doctest: +SKIP
    >>> table = ray.data.read_parquet("s3://bucket/transactions/")  # doctest: +SKIP
    >>> model = sasanet.ray.fit(
    ...     SASANetClassifier(), table, "fraud", num_workers=8
    ... )  # doctest: +SKIP
    """
    need_package("ray", "ray")
    model._resolve(2)  # what is wrong with the settings is said before anything is read
    n_workers = check_integer("num_workers", num_workers, 1, None, "give how many share the rows")
    wanted = [name for name in (target, sample_weight) if name is not None]
    names = check_columns(dataset, wanted)
    seed = model.random_state
    if not isinstance(seed, int | np.integer):
        seed = check_random_state(seed).randint(2**31 - 1)
    share = shares(dataset, n_workers)
    with _Folder(checkpoint) as folder:
        job = Job(
            clone(model).set_params(random_state=int(seed)),
            Roles(target, sample_weight),
            tuple(names),
            str(folder / "state"),
            share,
            None if scratch is None else str(scratch),
        )
        model._keep(_run(job, folder, use_gpu))
    return model


@dataclass(frozen=True)
class Job:
    """What the workers are to do."""

    model: TabularModel
    roles: Roles
    names: tuple[str, ...]
    folder: str
    shares: Sequence[Sequence[Block]]
    scratch: str | None = None

    def run(self, fellows: Workers, start: float) -> dict[str, Any]:
        """Do one worker's part, and return what the fit leaves."""
        model, rank = clone(self.model), fellows.rank
        model.set_params(verbose=bool(model.verbose) and rank == 0)
        settings = model._resolve(2)
        source = as_source(self.shares[rank], self.names)
        with scratch_folder(self.scratch) as folder:
            seed = int(model.random_state) % 2**31 + rank
            reader = Reader(source, folder, seed, verbose=settings.verbose)
            encoder, limit = model._make_encoder(), settings.time_limit
            table = StreamedTable(reader, self.roles, encoder, limit, start, fellows)
            return model._learn(table, None, self.folder)


class _Folder:
    """A folder for the state of a fit, and for Ray's notes on it, which are removed afterwards."""

    def __init__(self, given: str | Path | None) -> None:
        self.temporary = given is None
        path = tempfile.mkdtemp(prefix="sasanet-ray-") if given is None else given
        self.path = Path(path).absolute()

    def __enter__(self) -> Path:
        self.path.mkdir(parents=True, exist_ok=True)
        return self.path

    def __exit__(self, *failure: object) -> None:
        shutil.rmtree(self.path if self.temporary else self.path / "ray", ignore_errors=True)


def _run(job: Job, folder: Path, use_gpu: bool) -> dict[str, Any]:
    """Let Ray's workers do a job; return what the first one found."""
    train, torch_ = need_package("ray.train", "ray"), need_package("ray.train.torch", "ray")
    trainer = torch_.TorchTrainer(
        _work,
        train_loop_config={"job": job},
        scaling_config=train.ScalingConfig(num_workers=len(job.shares), use_gpu=use_gpu),
        torch_config=torch_.TorchConfig(
            backend="cpu:gloo,cuda:nccl" if use_gpu else "gloo", timeout_s=_PATIENCE
        ),
        run_config=train.RunConfig(
            name=f"ray/{time.time_ns()}",
            storage_path=str(folder),
            failure_config=train.FailureConfig(max_failures=_REPLACED),
        ),
    )
    found, noted = pickle.loads(trainer.fit().return_value)  # of this very fit
    for kind, text in noted:
        warn_user(text, kind)
    if isinstance(found, SasanetError):
        raise found
    fitted: dict[str, Any] = found
    return fitted


def _work(config: dict[str, Any]) -> bytes:
    """Be one of the workers: return what the fit leaves, or why it cannot be, and our warnings."""
    start, job = time.monotonic(), config["job"]
    fellows = Workers(pick_device(job.model.device))
    found: dict[str, Any] | SasanetError
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = job.run(fellows, start)
        except SasanetError as error:  # of all workers alike: another try would end the same way
            found = error
    ours = [note for note in caught if note.category.__module__ == "sasanet.errors"]
    noted = [(note.category, str(note.message)) for note in ours]
    return pickle.dumps((found, noted))  # Ray refuses to return tensors as they are
