"""One local cluster of two workers for all tests of this room, as small as one can be."""

from __future__ import annotations

import os
import sys

import pytest

_SETTINGS = {
    "RAY_AUTH_MODE": "disabled",  # else a token is written to the home directory
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # the default to come, without a warning
    "RAY_worker_niceness": "0",  # not 15: workers would starve beside other tests
    # Where all cores are busy, processes need longer to begin than Ray expects …
    "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": "600",
    "RAY_worker_register_timeout_seconds": "600",
    "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "0.2",  # … and their ends are to be seen at once
}


@pytest.fixture(scope="session")
def cluster():
    """Start Ray, and stop it; its processes find what this one can import."""
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in _SETTINGS.items():
            patch.setenv(name, value)
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        try:
            _start(ray)
            yield ray
        finally:
            ray.shutdown()


def _start(ray, tries: int = 3) -> None:
    """Start a node; Ray waits for half a minute only, too little where all cores are busy."""
    for left in reversed(range(tries)):
        try:
            ray.init(
                num_cpus=2,
                include_dashboard=False,
                log_to_driver=False,
                configure_logging=False,
                object_store_memory=100 * 2**20,
            )
        except Exception:
            ray.shutdown()
            if not left:
                raise
        else:
            return
