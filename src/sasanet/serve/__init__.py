"""Serve saved models over HTTP: predictions with their reasons, by four protocols.

- ``limits``: what one request may ask for, and how it is refused
- ``reading``: JSON in any protocol → cells by column
- ``inference``: the models' own ``predict`` and ``explain`` on the rows of several requests at once
- ``batching``: requests that arrive together are answered together, off the event loop
- ``registry``: models by name, reloaded when their folder changes
- ``keys``: who may ask, and how often
- ``metrics``: counters for Prometheus, drift among them
- ``guard``: what every request passes: identity, keys, headers, one line of log
- ``protocols``: answers in the words of each protocol
- ``live``: what the live page asks for besides, and its files, which are in ``page``
- ``routing``: the routes, and the columns of each model as OpenAPI
- ``app``: the application, all of it together
- ``process``: the server process

Needs ``pip install "sasanet[serve]"``. :func:`make_app` returns an ASGI application for any server;
``sasanet serve`` runs it.
"""

from sasanet.errors import need_package

for _package in ("fastapi", "uvicorn", "prometheus_client"):
    need_package(_package, "serve")

from sasanet.serve.app import make_app  # noqa: E402  (the packages come first)
from sasanet.serve.keys import Keys, make_key  # noqa: E402
from sasanet.serve.limits import Limits  # noqa: E402
from sasanet.serve.live.explored import Explored  # noqa: E402
from sasanet.serve.process import run  # noqa: E402

__all__ = ["Explored", "Keys", "Limits", "make_app", "make_key", "run"]
