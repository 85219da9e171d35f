"""Pieces of HTML for notebooks: elements that escape their text, and one style sheet.

What a notebook shows must be readable offline, without a script, and on a light or a dark
background, so colours are inherited or clear on both. Every class begins with ``sasanet-``: nothing
else on the page is touched. Names and cells may hold HTML of their own; :func:`element` escapes
whatever is not :class:`Html` already.
"""

from __future__ import annotations

import html

MOST_CHARACTERS = 200  # of any one text: a cell may hold a whole document


class Html(str):
    """Text that is HTML and is not escaped again."""

    __slots__ = ()


def element(
    name: str, *parts: str, css: str = "", style: str = "", title: str = "", is_open: bool = False
) -> Html:
    """Return an HTML element; parts that are plain text are escaped.

    Examples
    --------
    >>> element("p", "a < b ", element("b", "c"), css="note")
    '<p class="sasanet-note">a &lt; b <b>c</b></p>'
    """
    classes = " ".join(f"sasanet-{part}" for part in css.split())
    attributes = {"class": classes, "style": style, "title": title}
    given = "".join(f' {key}="{escape(text)}"' for key, text in attributes.items() if text)
    content = "".join(map(escape, parts))
    return Html(f"<{name}{given}{' open' if is_open else ''}>{content}</{name}>")


def escape(text: str) -> Html:
    """Return text as HTML; half of a surrogate pair, which no encoding can hold, becomes "?"."""
    if isinstance(text, Html):
        return text
    return Html(html.escape(text.encode("utf-8", errors="replace").decode("utf-8")))


def framed(*parts: Html) -> str:
    """Return what a notebook shows: the parts in one frame, with the style sheet."""
    return f"<style>{STYLE}</style>{element('div', *parts, css='frame')}"


# Each rule names two classes: notebooks style bare tables, and one class would lose against that.
STYLE = """
.sasanet-frame { font: 13px/1.45 system-ui, -apple-system, "Segoe UI", sans-serif; color: inherit;
  max-width: 68rem; padding: 2px 1px; container-type: inline-size; }
.sasanet-frame .sasanet-title { font-size: 15px; font-weight: 600; margin: 0 0 2px; }
.sasanet-frame .sasanet-muted { opacity: .72; font-weight: 400; }
.sasanet-frame p.sasanet-line { margin: 0 0 8px; max-width: 56rem; }
.sasanet-frame .sasanet-rows { display: grid; gap: 8px; align-items: start;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr)); margin: 4px 0 8px; }
.sasanet-frame .sasanet-row { border: 1px solid rgba(128, 128, 128, .38); border-radius: 6px;
  padding: 6px 10px; min-width: 0; }
.sasanet-frame .sasanet-row > summary { cursor: pointer; overflow-wrap: anywhere; }
.sasanet-frame .sasanet-row[open] > summary { margin-bottom: 4px; }
.sasanet-frame table.sasanet-table { border-collapse: collapse; border: 0; width: 100%; margin: 0;
  font-size: inherit; color: inherit; table-layout: auto; background: none; }
.sasanet-frame table.sasanet-table tr, .sasanet-frame table.sasanet-table tr:nth-child(n) {
  background: none; border: 0; }
.sasanet-frame table.sasanet-table :is(td, th) { text-align: left; vertical-align: baseline;
  padding: 2px 8px 2px 0; border: 0; font-weight: 400; background: none; color: inherit;
  white-space: normal; max-width: none; }
.sasanet-frame table.sasanet-table .sasanet-number { text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
.sasanet-frame table.sasanet-table :is(td, th).sasanet-name { overflow-wrap: anywhere;
  width: 100%; }
.sasanet-frame table.sasanet-table :is(td, th):last-child { padding-right: 0; }
.sasanet-frame table.sasanet-table tr.sasanet-head > * { font-weight: 600; padding-top: 10px;
  border-bottom: 1px solid rgba(128, 128, 128, .38); }
.sasanet-frame table.sasanet-findings :is(td, th) { padding-top: 4px; }
.sasanet-frame .sasanet-bar { display: block; position: relative; height: 11px; width: 72px;
  background: rgba(128, 128, 128, .16); }
.sasanet-frame .sasanet-from-middle { background: linear-gradient(to right,
  rgba(128, 128, 128, .16) 36px, rgba(128, 128, 128, .8) 36px 37px,
  rgba(128, 128, 128, .16) 37px); }
.sasanet-frame .sasanet-bar > * { position: absolute; top: 0; bottom: 0; min-width: 1px; }
.sasanet-frame .sasanet-up { background: #d6455d; }
.sasanet-frame .sasanet-down { background: #3b8ed0; }
.sasanet-frame .sasanet-even { background: #8a8f98; }
.sasanet-frame .sasanet-missing { font-style: italic; opacity: .72; }
.sasanet-frame .sasanet-scroll { overflow-x: auto; margin-bottom: 10px; }
@container (max-width: 36rem) {
  .sasanet-frame table.sasanet-findings tr { display: grid;
    grid-template-columns: 5.5rem 1fr 4.5rem; }
  .sasanet-frame table.sasanet-findings .sasanet-name { grid-column: 1 / -1; }
  .sasanet-frame table.sasanet-findings tr > .sasanet-number { padding-top: 0; border: 0; }
}
"""
