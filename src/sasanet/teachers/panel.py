"""Labels mixed with out-of-fold predictions of a panel of teachers.

A label is one noisy draw; a network that learns from labels alone spends its rows on averaging the
noise away. So every row's label becomes a mixture,

    (1 − w) · label  +  w · prediction of models fitted without this row

Teachers are boosted trees, linear models of splines and products, and a kernel machine: rough
tables are foreseen best by the first, smooth ones by the others. Estimators of the user's own may
join them or take their place (:mod:`~sasanet.teachers.own`). Each is fitted once per fold on the
other folds, and out-of-fold predictions weigh them (:mod:`~sasanet.teachers.stacking`). Together
they estimate E[y | x], so for any coalition S the mixture has the conditional expectation
E[y | x_S] that the labels have, as far as the teachers are right; where they are wrong, the labels'
own share corrects the network. Predictions and explanations are the network's alone: no teacher is
kept.

Small tables also get rows mixed from two of theirs, with predictions of teachers fitted on all rows
as labels (:mod:`~sasanet.teachers.augmentation`).

Where the teachers' learning curve chooses w, a few rows are *judges*: their label is the prediction
alone, so the network never learns their own label, and that label can tell whether the network
foresees as much as its teachers do (:mod:`sasanet.training.yardstick`).

Sizes: n rows, N features, C classes.
"""

# NOTE[DIFF]: the paper trains on labels alone (``teacher_weight=0``), as the sequence module does.

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sasanet.arrays import Floats, Masks
from sasanet.malloc import steady_heap
from sasanet.objectives import POWERS
from sasanet.progress import Progress
from sasanet.teachers.augmentation import by_row, how_many, mix_rows, with_rows
from sasanet.teachers.data import Teacher, TeacherData
from sasanet.teachers.kernel import Kernel
from sasanet.teachers.linear import Linear
from sasanet.teachers.stacking import combine, mean_loss, spread, stack
from sasanet.teachers.trees import make_detailed_trees, make_trees
from sasanet.threads import one_thread_per_product

_FOLDS = 5
_LARGE = 30_000  # rows from which trees of one kind are enough
_WIDE = 500  # cells of a row beyond which splines of all of them would take gigabytes
_FEWEST_ROWS = 40  # with fewer there is nothing to learn from
_FEWEST_IN_TIME = 500  # rows that a time limit must allow: teachers of fewer know too little
_TRIAL_ROWS = 5_000  # what a first, timed fit learns from under a time limit
_CLEAREST = 0.99
_CURVE_FOLDS = 2  # on which the teachers learn from half of the rows as well
_ERROR_OF_GAIN = 1 / 0.6  # a teacher's error by what twice the rows gain: it falls like n^−0.7
_ROWS_PER_LABEL = 1_300  # for every so many rows the network averages one more label
_LEAST_WEIGHT, _MOST_WEIGHT = 0.4, 0.9  # of the teachers, whatever the curve says
_JUDGES = 0.1  # of the rows: those that judge the network
_FEWEST_JUDGES, _MOST_JUDGES = 100, 2_000  # fewer cannot tell chance apart; more are not needed


@dataclass(frozen=True)
class TeacherSettings:
    """How labels are softened: the weight w (``None``: by the curve), seconds, threads, seed.

    ``own`` are teachers of the user's, beside the panel or, without ``with_panel``, in its place;
    ``directions`` are those of monotone columns, for teachers that can keep them; ``owners`` the
    columns of the further cells that some columns have; ``verbose`` shows bars of progress.
    """

    task: str
    weight: float | None
    time_limit: float
    n_threads: int
    seed: int
    own: tuple[Teacher, ...] = ()
    with_panel: bool = True
    directions: tuple[int, ...] = ()
    owners: tuple[int, ...] = ()
    verbose: bool = False


@dataclass(frozen=True)
class SoftLabels:
    """Mixed labels, [n] or for more than two classes [n, C]; and how clear the labels are.

    The clarity is the share of the labels' spread that the out-of-fold predictions explain: R², or
    for classes the share of the entropy. It is 0 without a teacher.
    """

    labels: Floats
    clarity: float = 0.0
    n_rows: int = 0  # that the teachers learned from
    weight: float = 0.0  # of their prediction in each label
    panel: tuple[tuple[str, float], ...] = ()  # the teachers and their weights in the stack
    roughness: float = 1.0  # the trees' share of these weights: near 0 on a smooth table
    foreseen: Floats | None = None  # the teachers' prediction of each row; NaN where there is none
    judges: NDArray[np.intp] | None = None  # rows whose label is the prediction alone
    mixed_cells: NDArray[np.float32] | None = None  # augmented rows [n, k, N] …
    mixed_labels: Floats | None = None  # … and the teachers' predictions, [n, k] or [n, k, C]


def soften_labels(
    cells: NDArray[np.floating[Any]],
    labels: Floats,
    weights: Floats,
    levels: Sequence[int | None],
    settings: TeacherSettings,
    knots: Sequence[Sequence[float]] = (),
) -> SoftLabels:
    """Return labels mixed with the panel's out-of-fold predictions.

    ``levels`` holds the number of levels of every category column, ``None`` for a number; ``knots``
    the values at the places of numbers, empty where cells are values. Rows without a prediction in
    time keep their label; all do where the teachers explain nothing.

    Shape: cells [n, N] (NaN absent), labels (class index or number), weights [n].
    """
    is_class = settings.task in ("binary", "multiclass")
    n_classes = max(2, int(labels.max()) + 1) if is_class else 0
    directions = settings.directions
    data = TeacherData(cells, labels, weights, levels, n_classes, knots, directions, settings.task)
    start = time.monotonic()
    if settings.weight == 0 or not _enough(data, weights > 0):
        return SoftLabels(labels)
    panel = _make_panel(data) if settings.with_panel else []
    # The panel's others take no longer than its first; of the user's nothing is known.
    used = _affordable_rows(data, [*panel[:1], *settings.own], settings)
    if used is None:
        return SoftLabels(labels)
    teachers = [*panel, *settings.own]
    rehearsal = _Rehearsal(data, used, teachers, settings, start + settings.time_limit)
    return _mix(rehearsal, rehearsal.out_of_fold())


def _mix(rehearsal: _Rehearsal, predictions: Sequence[Floats]) -> SoftLabels:
    """Weigh the teachers by what they foresee, and mix their prediction into the labels."""
    data, teachers = rehearsal.data, rehearsal.teachers
    plain, loss, n_used = data.expectations, data.loss, int(rehearsal.used.sum())
    complete = [_known_rows(p) for p in predictions]
    most = max(known.sum() for known in complete)
    kept = [t for t, known in enumerate(complete) if known.sum() == most]  # the others ran late
    known = np.all([complete[t] for t in kept], axis=0)
    if not data.weights[known].any():
        return SoftLabels(data.labels)
    found, mixed = stack(
        [predictions[t][known] for t in kept], plain[known], data.weights[known], loss
    )
    clarity = _clarity(plain[known], mixed, data.weights[known], loss)
    if clarity == 0:
        return SoftLabels(data.labels, 0.0, n_used)
    foreseen = np.full(data.shape, np.nan)
    foreseen[known] = mixed
    share, judges = rehearsal.settings.weight, None
    if share is None:
        share = rehearsal.weight(predictions, kept, found)
        judges = _judges(known & (data.weights > 0), rehearsal.settings.seed)
    soft = plain.astype(float)
    soft[known] += share * (mixed - plain[known])
    if judges is not None:
        soft[judges] = foreseen[judges]
    panel = tuple((teachers[t].name, float(w)) for t, w in zip(kept, found, strict=True))
    rough = sum(w for t, w in zip(kept, found, strict=True) if teachers[t].is_rough)
    roughness = float(rough / found.sum()) if found.any() else 0.0
    further = rehearsal.augmented(kept, found, known)
    soft_labels = SoftLabels(soft, clarity, n_used, share, panel, roughness, foreseen, judges)
    return replace(soft_labels, mixed_cells=further[0], mixed_labels=further[1])


def _judges(known: Masks, seed: int) -> NDArray[np.intp] | None:
    """Return the rows that judge the network, at random; ``None`` where they would be too few."""
    rows = np.random.RandomState(seed).permutation(np.flatnonzero(known))
    count = min(int(_JUDGES * len(rows)), _MOST_JUDGES)
    return np.sort(rows[:count]) if count >= _FEWEST_JUDGES else None


def _known_rows(prediction: Floats) -> Masks:
    """Return which rows have a prediction."""
    return np.asarray(~np.isnan(prediction.reshape(len(prediction), -1)).any(1))


def _make_panel(data: TeacherData) -> list[Teacher]:
    """Return the teachers; those of a large table cost less and know as much."""
    if data.cells.shape[1] > _WIDE:
        return [make_trees(31, learning_rate=0.15)]
    splines = [Linear(with_products=False), Linear(with_products=True)]
    if len(data.labels) >= _LARGE:
        large = [make_trees(31, learning_rate=0.15), splines[0]]
        return [make_detailed_trees(), *large] if data.loss in POWERS else large
    return [
        make_trees(31, learning_rate=0.1),
        make_trees(12, learning_rate=0.06),
        *splines,
        Kernel(),
    ]


def _enough(data: TeacherData, counted: Masks) -> bool:
    """Tell whether there are rows enough: whatever fold is left out, two classes remain."""
    if counted.sum() < _FEWEST_ROWS:
        return False
    classes = data.classes
    return classes is None or (np.bincount(classes[counted]) >= _FOLDS).sum() > 1


def _affordable_rows(
    data: TeacherData, timed: Sequence[Teacher], settings: TeacherSettings
) -> Masks | None:
    """Return the rows that teachers learn from: those that count, or a sample that time allows.

    A row without weight says nothing. Under a time limit some teachers are timed on a few rows
    first. ``None`` where the time allows too few rows.
    """
    counted = data.weights > 0
    if settings.time_limit == math.inf:
        return counted
    order = np.random.RandomState(settings.seed).permutation(np.flatnonzero(counted))
    trial = np.zeros(len(counted), dtype=bool)
    trial[order[:_TRIAL_ROWS]] = True
    if not _enough(data, trial):
        return None
    start = time.monotonic()
    for teacher in timed:
        teacher.predict(data, trial, trial, settings.seed, start + settings.time_limit)
    a_row = (time.monotonic() - start) / trial.sum()
    n_fits = _FOLDS * 2 / min(settings.n_threads, _FOLDS)  # twice: the others, and the curve
    most = settings.time_limit / (a_row * n_fits)
    if most >= counted.sum():
        return counted
    if most < _FEWEST_IN_TIME:
        return None
    sample = np.zeros(len(counted), dtype=bool)
    sample[order[: int(most)]] = True
    return sample if _enough(data, sample) else None


@dataclass(frozen=True)
class _Rehearsal:
    """Teachers who learn from some rows and predict the others, until the deadline."""

    data: TeacherData
    used: Masks  # rows to learn from
    teachers: Sequence[Teacher]
    settings: TeacherSettings
    deadline: float

    def out_of_fold(self) -> list[Floats]:
        """Return every teacher's out-of-fold predictions, [n] or [n, C]; NaN for want of time."""
        folds = [(self.used & ~unseen, unseen) for unseen in _folds(self.data, self.settings.seed)]
        return self._predict(range(len(self.teachers)), folds)

    def weight(self, predictions: Sequence[Floats], kept: Sequence[int], found: Floats) -> float:
        """Return w, by how much the teachers lose when they learn from half of the rows.

        The loss L of a prediction is the noise of the labels and the teachers' error e. What twice
        the rows gain tells e, as the error of such models falls like n^−0.7. A label of the
        network's own is as good as the teachers' prediction where the noise, averaged over the m
        labels that the network learns a place from, is as small as e:

            w = (L − e) / (L − e + m e),   m = n / 1300
        """
        data = self.data
        random = np.random.RandomState(self.settings.seed)
        half = self.used & (random.rand(len(self.used)) < 0.5)
        folds = list(_folds(data, self.settings.seed))[:_CURVE_FOLDS]
        fewer = self._predict(kept, [(half & ~unseen, unseen) for unseen in folds])
        rows = np.any(folds, axis=0) & np.all([_known_rows(p) for p in fewer], axis=0)
        if not data.weights[rows].any():
            return _LEAST_WEIGHT
        plain, weights = data.expectations[rows], data.weights[rows]

        def loss(parts: Sequence[Floats]) -> float:
            mixed = combine([part[rows] for part in parts], found, plain, weights, data.loss)
            return mean_loss(plain, mixed, weights, data.loss)

        whole = loss([predictions[t] for t in kept])
        error = np.clip((loss(fewer) - whole) * _ERROR_OF_GAIN, 0.0, whole)
        own = len(data.labels) / _ROWS_PER_LABEL
        share = (whole - error) / (whole - error + own * error) if whole > 0 else _LEAST_WEIGHT
        return float(np.clip(share, _LEAST_WEIGHT, _MOST_WEIGHT))

    def augmented(
        self, kept: Sequence[int], found: Floats, known: Masks
    ) -> tuple[NDArray[np.float32] | None, Floats | None]:
        """Return mixed rows and what the teachers, fitted on all rows, predict of them together.

        A large table has rows enough, and teachers of the user's own read no encoded rows.
        """
        n_rows = len(self.data.labels)
        count = how_many(self.data.cells)
        if self.settings.own or count == 0 or self.data.loss in POWERS:
            return None, None  # the factor of combined rates is known of labelled rows only
        cells = mix_rows(self.data.cells, count, self.settings.seed, self.settings.owners)
        more = replace(self, data=with_rows(self.data, cells))
        fresh = np.arange(len(more.data.labels)) >= n_rows
        seen = np.concatenate([self.used, np.zeros(len(cells), dtype=bool)])
        parts = [part[fresh] for part in more._predict(kept, [(seen, fresh)])]
        if not all(_known_rows(part).all() for part in parts):
            return None, None
        plain, weights = self.data.expectations[known], self.data.weights[known]
        labels = combine(parts, found, plain, weights, self.data.loss)
        return by_row(cells, n_rows), by_row(labels, n_rows)

    def _predict(self, chosen: Sequence[int], folds: Sequence[tuple[Masks, Masks]]) -> list[Floats]:
        """Return the predictions of some teachers in pairs of rows to learn from and to predict."""
        predictions = [np.full(self.data.shape, np.nan) for _ in chosen]
        jobs = [(place, fold) for place in range(len(chosen)) for fold in folds]
        n_threads = self.settings.n_threads
        late: set[int] = set()

        def predict(job: tuple[int, tuple[int, tuple[Masks, Masks]]]) -> int:
            number, (place, (seen, unseen)) = job
            left, n_rows = self.deadline - time.monotonic(), int(seen.sum())
            if left <= 0 or place in late:
                return n_rows
            # Each fit may take its share of what is left, so that the last ones get theirs.
            end = time.monotonic() + left / math.ceil((len(jobs) - number) / n_threads)
            teacher = self.teachers[chosen[place]]
            found = teacher.predict(self.data, seen, unseen, self.settings.seed, end)
            predictions[place][unseen] = found
            if np.isnan(found).all():
                late.add(place)  # its next fit would take as long
            return n_rows

        total = sum(int(seen.sum()) for _, (seen, _) in jobs)
        n_used, n_rows = int(self.used.sum()), len(self.used)
        some = f"{n_used:,} of " if n_used < n_rows else ""
        bar = Progress(f"teachers, {some}{n_rows:,} rows", total, self.settings.verbose)
        with steady_heap(), one_thread_per_product(), bar, ThreadPoolExecutor(n_threads) as pool:
            run = map if n_threads == 1 else pool.map
            for n_rows in run(predict, enumerate(jobs)):
                bar.add(n_rows)
        return predictions


def _folds(data: TeacherData, seed: int) -> Iterator[Masks]:
    """Yield which rows are left out, each row once; every fold has its share of each class."""
    n_rows, classes = len(data.labels), data.classes
    order = np.random.RandomState(seed).permutation(n_rows)
    if classes is not None:
        order = order[np.argsort(classes[order], kind="stable")]
    fold = np.empty(n_rows, dtype=int)
    fold[order] = np.arange(n_rows) % _FOLDS
    for number in range(_FOLDS):
        yield fold == number


def _clarity(labels: Floats, expected: Floats, weights: Floats, loss: str) -> float:
    """Return the share of the labels' spread that the expectations explain, between 0 and 0.99."""
    unknown = spread(labels, weights, loss)
    share = 1 - mean_loss(labels, expected, weights, loss) / unknown if unknown > 0 else 0.0
    return float(np.clip(share, 0, _CLEAREST))
