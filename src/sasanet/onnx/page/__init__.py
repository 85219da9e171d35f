"""One HTML page that runs an ONNX file in plain JavaScript: no Python, no server, no network."""

from __future__ import annotations

import base64
import hashlib
import html
from importlib.resources import files
from pathlib import Path

from sasanet.whole_files import read_path, write_whole

_SCRIPTS = ("protobuf.js", "tensors.js", "operators.js", "page.js")


def write_page(model: str | Path, path: str | Path) -> None:
    """Write a page in which an exported file runs: a form, the prediction, and its attributions.

    Parameters
    ----------
    model : path
        A file that ``model.to_onnx`` has written.
    path : path
        The HTML file to write; it needs nothing beside it.

    Examples
    --------
    >>> import tempfile
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=1, teacher_weight=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = model.to_onnx(f"{folder}/model.onnx")
    ...     write_page(f"{folder}/model.onnx", f"{folder}/model.html")
    """
    file = read_path(model)
    write_whole(path, _page(file.read_bytes(), file.stem).encode())


def _page(model: bytes, title: str) -> str:
    folder = files("sasanet").joinpath("onnx", "page")
    read = {name: folder.joinpath(name).read_text("utf-8") for name in (*_SCRIPTS, "page.css")}
    script = "\n".join(read[name] for name in _SCRIPTS)
    style = read["page.css"]
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}"
    found = folder.joinpath("index.html").read_text("utf-8")
    for name, text in (
        ("policy", html.escape(policy)),
        ("title", html.escape(title)),
        ("style", style),
        ("model", base64.b64encode(model).decode()),
        ("script", script),
    ):
        found = found.replace(f"@@{name}", text)
    return found


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
