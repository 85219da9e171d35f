"""The live page of three small models, in a real browser, from a real server."""

from __future__ import annotations

import threading
import time

import pytest
import uvicorn

from browsers import opened_browser
from sasanet.serve import Explored, Keys, make_app, make_key
from sasanet.serve.process import free_port

GROUPS = {"loan": ["months", "credit_amount"]}


class Running:
    """A server in a thread of this process."""

    def __init__(self, app):
        self.port = free_port()
        config = uvicorn.Config(app, port=self.port, log_config=None, ws="none")
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run)
        self.thread.start()
        end = time.monotonic() + 30
        while not self.server.started:
            assert time.monotonic() < end
            time.sleep(0.01)
        self.address = f"http://127.0.0.1:{self.port}/"

    def stop(self):
        self.server.should_exit = True
        self.thread.join(20)


@pytest.fixture(scope="session")
def explored(models):
    """Return rows to choose from, of two models."""
    return {
        "credit": Explored(models["credit"][1][:60], GROUPS),
        "birds": Explored(models["birds"][1]),
    }


@pytest.fixture(scope="module")
def address(folders, explored):
    """Give the address of a server that everybody may ask."""
    running = Running(make_app(folders, explored=explored, reload_seconds=3600))
    yield running.address
    running.stop()


@pytest.fixture(scope="module")
def locked(folders):
    """Give the address of a server with keys, and a key."""
    key, line = make_key("web", per_minute=6000)
    running = Running(make_app(folders[:1], keys=Keys([line]), reload_seconds=3600))
    yield running.address, key
    running.stop()


@pytest.fixture(scope="module")
def browser():
    with opened_browser() as opened:
        yield opened


@pytest.fixture
def open_page(browser, address):
    """Return a function that opens the page; at the end nothing failed and all came from there."""
    trouble, pages = [], []

    def opened(url=address, expected=(), **options):
        page = browser.new_page(**{"viewport": {"width": 1280, "height": 900}} | options)
        pages.append(page)
        page.on("pageerror", lambda error: trouble.append(str(error)))

        def heard(message):
            if not any(word in message.text for word in expected):
                trouble.append(message.text)

        page.on("console", heard)
        page.on("request", lambda r: None if r.url.startswith((url, "blob:", "data:"))
                else trouble.append(r.url))  # fmt: skip
        page.goto(url)
        return page

    yield opened
    for page in pages:
        page.close()
    assert trouble == []
