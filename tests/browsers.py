"""The system's Chromium, for tests of pages; without one they are skipped."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def opened_browser() -> Iterator[Any]:
    """Give a browser, or skip the test; on continuous integration there must be one."""
    if os.environ.get("NO_BROWSER") == "1":
        pytest.skip("NO_BROWSER=1 refuses a browser")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        what = "no Chromium on PATH; install it with: make browser"
        pytest.fail(what) if os.environ.get("CI") == "true" else pytest.skip(what)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # As root, as in containers, Chromium does not start with its sandbox.
        opened = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()
