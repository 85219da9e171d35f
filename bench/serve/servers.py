"""Servers to be measured, each in a process of its own, at a free port of this machine."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil

from bench.serve.load import HOST
from sasanet.serve.process import free_port

MODELS = Path(__file__).parents[1] / "models" / "serve"
_START = 90.0  # seconds that a server may take to start


def server_of(
    model: Path, *options: str
) -> contextlib.AbstractContextManager[tuple[int, psutil.Process]]:
    """Start ``sasanet serve``; yield its port and its process."""
    command = ["-m", "sasanet.cli", "serve", str(model), *options, "--port"]
    return _running(command, "/v2/health/ready")


def rival_of(folder: Path) -> contextlib.AbstractContextManager[tuple[int, psutil.Process]]:
    """Start the server of LightGBM."""
    return _running(["-m", "bench.serve.rival", str(folder)], "/docs")


@contextlib.contextmanager
def _running(command: list[str], ready: str) -> Iterator[tuple[int, psutil.Process]]:
    port = free_port()
    started = [sys.executable, *command, str(port)]
    with subprocess.Popen(started, stderr=subprocess.DEVNULL) as process:
        try:
            _wait(f"http://{HOST}:{port}{ready}", process)
            yield port, psutil.Process(process.pid)
        finally:
            process.terminate()


def _wait(address: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + _START
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=2):
            return
        time.sleep(0.2)
    raise SystemExit(f"The server at {address} did not start.")
