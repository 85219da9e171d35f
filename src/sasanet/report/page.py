"""One HTML file from template, style, script and the gathered data."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from sasanet.errors import need_package
from sasanet.estimator.explaining import Groups
from sasanet.estimator.sasanet import SASANetModel
from sasanet.explanation.wording import measured
from sasanet.report.summary import gather
from sasanet.whole_files import check_can_write, read_path, write_whole

_SCRIPTS = ("arrays.js", "network.js", "figures.js", "rows.js", "page.js")


def write_report(
    model: SASANetModel,
    table: Any,
    path: str | Path,
    target: Any = None,
    group: str | None = None,
    groups: Groups | None = None,
    exposure: Any = None,
) -> Path:
    """Write one self-contained HTML page about a model and a table.

    It shows what the model is, how good and how faithful it is, which features matter and how, and
    the rows (a searchable table: click a row for its reasons, switch features off and see the
    prediction from the rest), with caveats. It opens from a file, needs no network and prints.

    Parameters
    ----------
    model : SASANetClassifier or SASANetRegressor
        A fitted model.
    table : table (n, d)
        Rows to report on, best not seen in training; columns beyond the model's are ignored.
        The page shows up to 5,000 of them, drawn with a fixed seed.
    path : str or Path
        The file to write, whole or not at all: after an error an older file is as it was.
    target : str or array-like (n,), optional
        Labels, or the name of the column that holds them; without them no quality is shown.
    group : str, optional
        Column to group rows by: quality is shown for each of its levels, or quarters.
    groups : dict of str to list of str, optional
        Groups of columns, as in ``explain``: the page also shows how much each matters as one
        player. Rows, and what can be switched off, stay single features in raw units.
    exposure : str or array-like (n,), optional
        Of a model of rates: how much of each row was observed, or the column that says so.

    Returns
    -------
    Path
        The file written. Needs ``pip install "sasanet[report]"``.

    Examples
    --------
    >>> import tempfile
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(
    ...     X[::2], y[::2]
    ... )
    >>> folder = tempfile.TemporaryDirectory()
    >>> page = write_report(model, X[1::2], f"{folder.name}/report.html", y[1::2], group="island")
    >>> page.name, page.stat().st_size < 5_000_000
    ('report.html', True)
    >>> folder.cleanup()
    """
    jinja2 = need_package("jinja2", "report")
    path = read_path(path)
    check_can_write(path)
    text = render(gather(model, table, target, group, groups, exposure), jinja2)
    write_whole(path, text.encode("utf-8", errors="replace"))
    return path


def render(content: dict[str, Any], jinja2: Any) -> str:
    """Return the page's text; everything that comes from the table is escaped."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"number": _number, "breakable": _breakable}
    script, style = "\n".join(map(_read, _SCRIPTS)), _read("page.css")
    safe = environment.filters["safe"]
    filled = environment.from_string(_read("template.html")).render(
        **content["facts"],
        policy=_policy(script, style),
        script=safe(script),
        style=safe(style),
        data=safe(_as_json(content["data"])),
    )
    return str(filled)


def _number(value: float | None) -> str:
    return measured(value, separator=",")


def _breakable(name: str) -> Any:
    """Return an escaped name that may go on in the next line after an underscore."""
    markupsafe = need_package("markupsafe", "report")  # a dependency of jinja2
    return markupsafe.escape(name).replace("_", markupsafe.Markup("_<wbr>"))


def _read(name: str) -> str:
    return files("sasanet").joinpath("report", "template", name).read_text("utf-8")


def _as_json(data: Any) -> str:
    """Return JSON that no HTML parser can mistake for the end of its element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _policy(script: str, style: str) -> str:
    """Return a policy under which only this script and this style run, and nothing is fetched."""
    digests = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (script, style)
    ]
    return (
        f"default-src 'none'; script-src 'sha256-{digests[0]}'; style-src 'sha256-{digests[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )
