"""One local cluster of two workers for all tests of this room."""

from __future__ import annotations

import os
import sys

import pytest


@pytest.fixture(scope="session")
def cluster():
    """Start Ray, and stop it; its processes find what this one can import."""
    if "SASANET_TEST_RAY" not in os.environ:
        pytest.skip("a cluster takes minutes where cores are busy: set SASANET_TEST_RAY=1")
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    os.environ["RAY_AUTH_MODE"] = "disabled"  # else a token is written to the home directory
    os.environ["RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S"] = "600"  # where all cores are busy
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"  # the default to come, without a warning
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.update(RAY_worker_niceness="0")  # not 15: they starve beside other tests
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    try:
        _start(ray)
        yield ray
    finally:
        ray.shutdown()
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def _start(ray, tries: int = 3) -> None:
    """Start a node; Ray waits for half a minute only, too little where all cores are busy."""
    for left in reversed(range(tries)):
        try:
            ray.init(
                num_cpus=2,
                include_dashboard=False,
                log_to_driver=False,
                configure_logging=False,
                object_store_memory=200 * 2**20,
            )
        except Exception:
            ray.shutdown()
            if not left:
                raise
        else:
            return
