"""Reports of tables with poisoned names, levels, labels and row labels, opened in a real browser.

No script of theirs runs and no element of theirs is made, nothing is fetched, the browser complains
about nothing, and the numbers of the first row are shown and add up to the model's prediction.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sasanet import SASANetClassifier, SASANetRegressor
from sasanet.report import write_report
from torture.case import Outcome, expect, watched_warnings
from torture.draw import Draw
from torture.models import raw, tiny

SHOWN = "shown, nothing ran"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_RUN = "window.POISONED=1;alert(1)"
ELEMENTS = (  # text that makes elements, attributes or requests where it is not escaped
    f"<script>{_RUN}</script>", f"</script><script>{_RUN}</script>",
    f"<img src=x onerror='{_RUN}'>", f"\"'><img src=x onerror={_RUN}>", f"<svg onload='{_RUN}'>",
    "<iframe src='https://a.example'>",
    "<link rel=stylesheet href=https://a.example/a.css>", "<base href=https://a.example/>",
    "<meta http-equiv=refresh content='0;url=https://a.example'>", f"javascript:{_RUN}",
    f"' onmouseover='{_RUN}", f"\" autofocus onfocus=\"{_RUN}",
    "</style><style>*{display:none}</style>", "</title></head><img src=x>", "<plaintext>",
    "</table></div></body></html><iframe>", "</script><img src=x>",
)  # fmt: skip
ODD = (
    "<!--", "-->", "]]>", "<![CDATA[",
    "url(https://a.example/x.png)", "<textarea>", "{{ 7 * 7 }}", "{% raw %}",
    "${alert(1)}", "`${1}`", "\\u003cscript\\u003e", "&lt;b&gt;", "&#60;b&#62;", "&", "%3Cb%3E",
    "__proto__", "constructor", "toString", "hasOwnProperty", "null", "undefined", "NaN", "", " ",
    "\u2028", "\u2029", "\u202eabc", "\ufeff", "\x00", "\x1b[31m", "a\nb", "\r", "\\", "'", '"',
    "*/", "//", "#", "é", "日本", "👩‍👩‍👧", "x" * 5_000, "word " * 800, "_" * 300,
)  # fmt: skip
POISONS = ELEMENTS + ODD
_LABELS = tuple(text for text in POISONS if not text.endswith("\0"))  # such are refused
_MADE = (
    "iframe, object, embed, link, base, form:not(#controls), plaintext, [src], [href^=http], "
    "meta[http-equiv=refresh]"
)
_HANDLERS = "[onerror], [onload], [onmouseover], [onfocus], [autofocus]"


@functools.cache
def _browser() -> Any:
    """Return one browser for all cases of a process."""
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, _BROWSERS)), None)
    expect(found, "there is no Chromium; install it with: make browser")
    playwright = sync_playwright().start()
    browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
    atexit.register(playwright.stop)
    atexit.register(browser.close)
    return browser


def run(seed: int) -> Outcome:
    """Report on one poisoned table and look at the page."""
    draw = Draw("pages", seed)
    model, table, target, group = _draw_report(draw)
    with tempfile.TemporaryDirectory(prefix="torture-") as place, watched_warnings():
        path = Path(place) / "report.html"
        write_report(model, table, path, target, group)
        trouble: list[str] = []
        context = _browser().new_context(offline=False)
        try:
            page = context.new_page()
            _watch(page, path.as_uri(), trouble)
            page.goto(path.as_uri())
            _check_elements(page)
            _check_numbers(page, model, table)
            _use(draw, page)
            _check_elements(page)
            expect(page.evaluate("window.POISONED === undefined"), "a script of the table ran")
        finally:
            context.close()
    expect(not trouble, f"{len(trouble)} complaints, the first: {trouble[:1]}")
    return Outcome.of(SHOWN)


def _watch(page: Any, address: str, trouble: list[str]) -> None:
    """Note every error, message, dialog and request but the page itself."""
    page.set_default_timeout(20_000)
    page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
    page.on("console", lambda message: trouble.append(f"console: {message.text}"))

    def dismiss(dialog: Any) -> None:
        trouble.append("a dialog")
        dialog.dismiss()

    def note(asked: Any) -> None:
        if asked.url != address:
            trouble.append(f"fetches {asked.url}")

    page.on("dialog", dismiss)
    page.on("request", note)


def _draw_report(draw: Draw) -> tuple[Any, pd.DataFrame, str, str | None]:
    """Return a model, a table of rows it has not seen, and the names of target and group."""
    n, n_train = 48, 30
    names = [*draw.random.sample(ELEMENTS, 2), *draw.random.sample(ODD, draw.between(1, 4))]
    *features, target = draw.random.sample(names, len(names))
    columns: dict[str, Any] = {}
    for name in features:
        numbers = draw.numbers.normal(size=n) * draw.one_of((1.0, 1e-9, 1e12))
        numbers[draw.numbers.random(n) < 0.1] = np.nan
        levels = [draw.one_of(ELEMENTS), *draw.some_of(ODD, 5)]
        columns[name] = numbers if draw.happens(0.3) else [draw.one_of(levels) for _ in range(n)]
    table = pd.DataFrame(columns)
    n_classes = draw.one_of((0, 2, 3))
    kind: Any = SASANetClassifier if n_classes else SASANetRegressor
    y: Any = draw.numbers.normal(size=n)
    if n_classes:
        y = np.array(draw.random.sample(_LABELS, n_classes), dtype=object)[np.arange(n) % n_classes]
    if draw.happens(0.7):
        table.index = pd.Index([f"{draw.one_of(POISONS)}{i}" for i in range(n)])
    model = tiny(kind, draw.between(0, 9)).fit(table[:n_train], y[:n_train])
    group = draw.one_of((None, features[0], target if n_classes else None))
    return model, table.assign(**{target: y})[n_train:], target, group


def _check_elements(page: Any) -> None:
    """Expect no element that only the table's text can have made."""
    for what in (_MADE, _HANDLERS):
        n_found = page.locator(what).count()
        expect(n_found == 0, f"{n_found} elements of {what.split(',')[0]} and the like")
    scripts = page.locator("script").count()
    expect(scripts == 2, f"{scripts} scripts instead of 2")


def _number(page: Any, selector: str) -> float:
    return float(page.locator(selector).get_attribute("data-value"))


def _check_numbers(page: Any, model: Any, table: pd.DataFrame) -> None:
    """Expect the first row's numbers, which add up to one of the model's raw predictions."""
    everything = page.get_by_role("button", name="Show every feature")
    if everything.count() and everything.first.is_visible():
        everything.first.click()
    lines = page.locator("#waterfall tr.feature td.num")
    added = [float(line.get_attribute("data-value")) for line in lines.all()]
    expect(len(added) == model.n_features_in_, f"{len(added)} of {model.n_features_in_} features")
    base, total = _number(page, "#line-base td.num"), _number(page, "#line-prediction td.num")
    expect(abs(base + sum(added) - total) < 1e-4, "the numbers of a row do not add up")
    right = np.atleast_1d(raw(model, table[list(model.encoder_.names)])[0])
    expect(np.abs(right - total).min() < 1e-4, "the page shows another prediction")
    expect("−" in (text := page.locator("#waterfall").inner_text()) or "+" in text or "0" in text,
           "no number is written")  # fmt: skip


def _use(draw: Draw, page: Any) -> None:
    """Open another row, switch a feature off and search: what is made by script is text too."""
    buttons = page.locator("button[aria-label^='Show row'], #rows tbody tr button")
    if n_rows := buttons.count():
        buttons.nth(draw.between(0, n_rows - 1)).click()
    switches = page.locator("#waterfall tr.feature input:enabled")  # absent cells have no switch
    if switches.count():
        switches.nth(draw.between(0, switches.count() - 1)).click()
    search = page.locator("input[type=search]")
    if search.count():
        search.first.fill(draw.one_of(POISONS)[:200].replace("\x00", ""))
    page.mouse.move(draw.between(0, 800), draw.between(0, 600))
