"""A strict reader of HTML fragments: elements must close in order, and nothing may run."""

from __future__ import annotations

from html.parser import HTMLParser


class Parsed(HTMLParser):
    """Elements, attributes and text of a fragment; raises where tags do not balance."""

    def __init__(self, fragment: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.lines: list[list[str]] = []  # the texts of each table row, cell by cell
        self.summaries: list[str] = []
        self._open: list[str] = []
        self._text: list[str] = []
        self.feed(fragment)
        self.close()
        assert self._open == [], f"never closed: {self._open}"

    @property
    def text(self) -> str:
        return "".join(self._text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))
        self._open.append(tag)
        if tag == "tr":
            self.lines.append([])
        elif tag in ("td", "th"):
            self.lines[-1].append("")
        elif tag == "summary":
            self.summaries.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "style":
            return
        self._text.append(data)
        if {"td", "th"} & {*self._open}:
            self.lines[-1][-1] += data
        elif "summary" in self._open:
            self.summaries[-1] += data

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)


def is_harmless(fragment: str) -> bool:
    """Whether a fragment holds none of what runs, fetches or leaves its own classes."""
    found = Parsed(fragment).elements
    allowed = {"style", "div", "p", "span", "b", "code", "details", "summary"}
    allowed |= {"table", "tr", "th", "td"}
    attributes = {key for _, given in found for key in given}
    classes = {name for _, given in found for name in given.get("class", "").split()}
    return (
        {tag for tag, _ in found} <= allowed
        and attributes <= {"class", "style", "title", "open"}
        and all(name.startswith("sasanet-") for name in classes)
        and "url(" not in fragment
        and "@import" not in fragment
    )
