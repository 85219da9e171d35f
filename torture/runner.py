"""Seeds in worker processes: a case that ends its process or hangs is a defect like any other."""

from __future__ import annotations

import math
import multiprocessing
import resource
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from torture.case import Result, attempt
from torture.clock import RunningClock
from torture.registry import CAMPAIGNS, Campaign
from torture.results import Found, load_found, state_of_code

_WRITE_EVERY = 10.0  # seconds
_TO_START, _TO_END = 60.0, 10.0  # seconds
_START_METHOD = "spawn"  # a fork would inherit locks of the runner's threads
_MEMORY = Path("/dev/shm")
_MOST_BYTES = 12 * 2**30  # of a worker's data: more is refused by the system, not swapped


def serve(name: str, connection: Connection) -> None:
    """Run the cases whose seeds come in, until None comes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the runner
    _limit_memory()
    import torch

    torch.set_num_threads(1)
    if CAMPAIGNS[name].in_memory and _MEMORY.is_dir():
        tempfile.tempdir = str(_MEMORY)
    CAMPAIGNS[name].prepare()
    run = CAMPAIGNS[name].run
    while (seed := connection.recv()) is not None:
        connection.send(attempt(run, seed))


def _limit_memory() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = _MOST_BYTES if hard == resource.RLIM_INFINITY else min(_MOST_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


@dataclass
class _Worker:
    """One process and the seed it works on."""

    campaign: Campaign
    clock: RunningClock
    process: Any = None
    connection: Any = None
    seed: int | None = None
    since: float = 0.0

    def start(self) -> None:
        context: Any = multiprocessing.get_context(_START_METHOD)
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(self.campaign.name, theirs))
        self.process.start()
        theirs.close()

    def give(self, seed: int) -> None:
        if self.process is None:
            self.start()
        self.seed, self.since = seed, self.clock.now()
        self.connection.send(seed)

    def take(self) -> Result:
        """Return the result of the present seed; of a process that is gone, how it ended."""
        assert self.seed is not None
        try:
            result: Result = self.connection.recv()
        except EOFError:
            self.process.join()
            what = f"the process ended with exit code {self.process.exitcode}"
            result = Result(self.seed, defect=what, seconds=math.inf)
            self.process = None
        self.seed = None
        # The worker's own clock goes on while the system has stopped all processes.
        return replace(result, seconds=min(result.seconds, self.clock.now() - self.since))

    def has_hung(self) -> bool:
        """Tell whether the case takes too long; starting a process takes time too."""
        return self.clock.now() - self.since > self.campaign.seconds + _TO_START

    def stop(self) -> None:
        if self.process is not None:
            if self.seed is None:  # it waits for a seed, and can tidy up after itself
                self.connection.send(None)
                self.process.join(_TO_END)
            self.process.kill()
            self.process.join()
            self.connection.close()
            self.process = None

    def abandon(self) -> Result:
        """End a case that hangs."""
        self.stop()
        assert self.seed is not None
        seconds = self.clock.now() - self.since
        result = Result(self.seed, defect=f"no answer in {seconds:.0f} s", seconds=seconds)
        self.seed = None
        return result


def results(campaign: Campaign, seeds: list[int], jobs: int) -> Iterator[Result]:
    """Yield what became of each seed, in the order of the seeds."""
    clock = RunningClock()
    workers = [_Worker(campaign, clock) for _ in range(max(1, min(jobs, len(seeds))))]
    waiting, early = iter(seeds), dict[int, Result]()
    try:
        for worker in workers:
            _give_next(worker, waiting)
        for seed in seeds:
            while seed not in early:
                for result in _collect(workers, waiting):
                    early[result.seed] = _judged(result, campaign)
            yield early.pop(seed)
    finally:
        for worker in workers:
            worker.stop()


def _give_next(worker: _Worker, waiting: Iterator[int]) -> None:
    seed = next(waiting, None)
    if seed is not None:
        worker.give(seed)


def _collect(workers: list[_Worker], waiting: Iterator[int]) -> Iterator[Result]:
    """Yield results that have come in, and give their workers new seeds."""
    busy = {worker.connection: worker for worker in workers if worker.seed is not None}
    ready = wait(list(busy), timeout=1.0)  # a second, so that the clock is looked at
    for connection, worker in busy.items():
        if connection in ready:
            yield worker.take()
        elif worker.has_hung():
            yield worker.abandon()
        else:
            continue
        _give_next(worker, waiting)


def _judged(result: Result, campaign: Campaign) -> Result:
    """Turn a case that took too much time or memory into a defect."""
    if result.defect:
        return result
    what = ""
    if result.seconds > campaign.seconds:
        what = f"a case took {result.seconds:.0f} s"
    elif result.memory_mib > campaign.memory_mib:
        what = f"a case held {result.memory_mib:.0f} MiB more than before"
    return replace(result, counts={}, defect=what) if what else result


def run_campaign(
    campaign: Campaign, cases: int, jobs: int, folder: Path, seconds: float = math.inf
) -> Found:
    """Go on with a campaign until it has so many cases; those that were defects are tried again.

    After ``seconds`` it stops earlier, and the next call goes on from there.
    """
    found, code = load_found(campaign.name, folder), state_of_code()
    clock = RunningClock()
    if found.defects:
        for result in results(campaign, sorted(found.defects), jobs):
            found.repeat(result)
        found.save(folder)
    written = time.monotonic()
    for result in results(campaign, list(range(found.cases, cases)), jobs):
        found.add(result, code)
        if result.defect:
            print(f"{campaign.name} {result.seed}: {result.defect}", flush=True)
        if time.monotonic() - written > _WRITE_EVERY:
            found.save(folder)
            written = time.monotonic()
        if clock.now() > seconds:
            break
    found.save(folder)
    return found
