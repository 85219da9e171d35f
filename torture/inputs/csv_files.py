"""Random table files of one model: plain and odd ones that must be read, broken ones, damage."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from torture.draw import Draw

TARGET, ID = "bad", "id"
IDS = (
    "a", "=1+1", "-5", "+49 30", "@SUM(A1)", "-1+cmd|' /C calc'!A0", "1e5", "007", "nan", "NA",
    str(2**53 + 1), str(10**30), "a,b", 'q"q', "'", "x\ny", "x\ry", "\tx", " pad ", "<b>", "{{7}}",
    "\x1b[31m", "é", "日本", "\u202eabc", "0x1F", "1_000", "None", "=", "-",
)  # fmt: skip
_FEW = 11  # different numbers; one of them has become a word
_MANY = 140_000  # characters: more than Python's csv module takes by itself


@dataclass(frozen=True)
class TableFile:
    """A file, what must come of it, and what it holds.

    ``legal`` is None where both a table and a refusal are right, as after damage;
    ``can_be_learned`` says that `fit` may take what a model of other columns must refuse.
    """

    content: bytes
    X: pd.DataFrame
    ids: list[Any]
    what: str
    legal: bool | None = True
    name: str = "table.csv"
    words: tuple[str, ...] = field(default=())
    can_be_learned: bool = False


Make = Callable[[Draw, pd.DataFrame, list[Any]], TableFile]


def draw_ids(draw: Draw, n: int) -> list[Any]:
    """Return names of rows, as text."""
    return [draw.one_of(IDS) for _ in range(n)]


def rows_of(X: pd.DataFrame, ids: list[Any]) -> list[list[str]]:
    """Return header and rows as text: the features, the name of the row, and labels."""
    cells = X.astype(object).where(X.notna(), "")
    pairs = enumerate(zip(cells.to_numpy().tolist(), ids, strict=True))
    rows = [[*map(str, row), str(one), str(i % 2)] for i, (row, one) in pairs]
    return [[*map(str, X.columns), ID, TARGET], *rows]


def to_text(rows: list[list[str]], **form: Any) -> str:
    """Return rows as CSV."""
    text = io.StringIO(newline="")
    # Python before 3.13 leaves carriage returns unquoted.
    csv.writer(text, **{"quoting": csv.QUOTE_ALL} | form).writerows(rows)
    return text.getvalue()


def plain(draw: Draw, X: pd.DataFrame, ids: list[Any]) -> TableFile:
    """Return a file in one of the usual dialects."""
    mark = draw.one_of((",", ";", "\t", "|"))
    end = draw.one_of(("\n", "\r\n"))
    text = to_text(rows_of(X, ids), delimiter=mark, lineterminator=end)
    return TableFile(text.encode(), X, ids, "plain")


def _marked(draw: Draw, X: pd.DataFrame, ids: list[Any]) -> TableFile:
    found = plain(draw, X, ids)
    return replace(found, content=b"\xef\xbb\xbf" + found.content, what="byte order mark")


def _encoded(draw: Draw, X: pd.DataFrame, ids: list[Any]) -> TableFile:
    """Return a file in another encoding, which is named."""
    encoding, sign = draw.one_of((("utf-16", "日本"), ("latin-1", "é"), ("cp1252", "€"),
                                  ("shift_jis", "日本"), ("utf-32", "é"), ("utf-7", "é"),
                                  ("gb18030", "日本"), ("cp037", "a")))  # fmt: skip
    ids = [one if one.isascii() and one.isprintable() else sign for one in ids]
    found = plain(draw, X, ids)
    content = found.content.decode().encode(encoding)
    return replace(found, content=content, what=encoding, words=("--encoding", encoding))


def _blank_lines(draw: Draw, X: pd.DataFrame, ids: list[Any]) -> TableFile:
    lines = [to_text([row], lineterminator="\n") for row in rows_of(X, ids)]
    text = "".join(draw.one_of(("", "", "\n", "\n\n")) + line for line in lines)
    return TableFile(text.encode(), X, ids, "blank lines")


def _long_header(draw: Draw, X: pd.DataFrame, ids: list[Any]) -> TableFile:
    """Return a header of very many characters: in many names, or in one."""
    head, *rest = rows_of(X, ids)
    many = draw.happens(0.5)
    names = [f"extra {j} " + "x" * 300 for j in range(_MANY // 300)] if many else ["y" * _MANY]
    cells = ["0"] * len(names)
    text = to_text([[*head, *names], *([*row, *cells] for row in rest)])
    return TableFile(text.encode(), X, ids, "long header")


def _extra_column(draw: Draw, X: pd.DataFrame, ids: list[Any]) -> TableFile:
    """Return a column that nobody needs, with an odd name and odd cells."""
    head, *rest = rows_of(X, ids)
    name = draw.one_of(("line\nbreak", "a,b", 'q"q', "=1+1", "é", "\x1b[31m", "<b>", "", " ", "NA"))
    cell = draw.one_of(("", "x", "l" * _MANY, "a\nb", '"', "inf", "=1+1"))
    place = draw.between(0, len(head))
    rows = [[*head[:place], name, *head[place:]]]
    rows += [[*row[:place], cell, *row[place:]] for row in rest]
    return TableFile(to_text(rows).encode(), X, ids, "odd extra column")


def _shuffled(draw: Draw, X: pd.DataFrame, ids: list[Any]) -> TableFile:
    rows = rows_of(X, ids)
    order = draw.random.sample(range(len(rows[0])), len(rows[0]))
    text = to_text([[row[j] for j in order] for row in rows])
    return TableFile(text.encode(), X, ids, "other order of columns")


def _gzipped(draw: Draw, X: pd.DataFrame, ids: list[Any]) -> TableFile:
    """Return a gzip file, of one part or two."""
    found = plain(draw, X, ids)
    cut = draw.between(0, len(found.content))
    parts = [found.content] if draw.happens(0.5) else [found.content[:cut], found.content[cut:]]
    content = b"".join(gzip.compress(part, 1) for part in parts)
    return replace(found, content=content, what="gzip", name=draw.one_of(("t.csv.gz", "t.csv")))


LEGAL: tuple[Make, ...] = (
    plain, plain, _marked, _encoded, _blank_lines, _long_header, _extra_column, _extra_column,
    _shuffled, _gzipped,
)  # fmt: skip


def broken(draw: Draw, X: pd.DataFrame, ids: list[Any]) -> TableFile:
    """Return a file that must be refused."""
    what = draw.one_of(sorted(_BROKEN))
    rows = rows_of(X, ids)
    content = _BROKEN[what](draw, rows)
    if isinstance(content, list):
        content = to_text(content)
    content = content.encode() if isinstance(content, str) else content
    words = ("--encoding", draw.one_of(_NO_ENCODINGS)) if what == "no encoding" else ()
    # Whatever columns there are can be learned, and a few different numbers among words as levels.
    few = what == "a word among numbers" and X.iloc[:, 0].nunique() <= _FEW
    learned = what == "a column is missing" or few
    return TableFile(content, X, ids, what, legal=False, words=words, can_be_learned=learned)


_NO_ENCODINGS = ("klingon", "", "utf-8\0", "rot13", "hex", "base64", "idna", "undefined", "\ud800")


def _with_cell(text: str) -> Callable[[Draw, list[list[str]]], list[list[str]]]:
    """Return a breaker that puts text into a number."""

    def make(draw: Draw, rows: list[list[str]]) -> list[list[str]]:
        rows[draw.between(1, len(rows) - 1)][0] = text
        return rows

    return make


def _huge_line(draw: Draw, rows: list[list[str]]) -> bytes:
    """Return a small gzip file with one line of half a gigabyte."""
    head = to_text(rows[:1]).encode() if draw.happens(0.5) else b""
    return gzip.compress(head, 1) + _zeros()


def _zeros() -> bytes:
    if not _MADE:
        packed = io.BytesIO()
        with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as file:
            for _ in range(512):
                file.write(b"0" * 2**20)
        _MADE.append(packed.getvalue())
    return _MADE[0]


_MADE: list[bytes] = []
_BROKEN: dict[str, Callable[[Draw, list[list[str]]], Any]] = {
    "empty": lambda _, rows: b"",  # noqa: ARG005 - every breaker takes both
    "blank": lambda draw, _: b"\n" * draw.between(1, 50),
    "header only": lambda _, rows: rows[:1],
    "one name twice": lambda _, rows: [[*rows[0][:-2], TARGET, TARGET], *rows[1:]],
    "a feature twice": lambda _, rows: [[*row, row[0]] for row in rows],
    "a column is missing": lambda _, rows: [row[1:] for row in rows],
    "a cell too many": lambda draw, rows: [*rows, [*rows[1], draw.one_of(("", "x"))]],
    "a cell too few": lambda _, rows: [*rows, rows[1][:-1]],
    "a word among numbers": _with_cell("about 30"),
    "infinity": _with_cell("inf"),
    "beyond float64": _with_cell("-1e999"),
    "a zero byte": _with_cell("3\0"),
    "an open quotation mark": lambda _, rows: to_text(rows) + '"open,',
    "text after a quotation mark": lambda _, rows: to_text(rows) + '"a"b,1\n',
    "not UTF-8": lambda _, rows: to_text(rows).encode() + b"\xe9\xff,1\n",
    "UTF-16 unnamed": lambda _, rows: to_text(rows).encode("utf-16"),
    "half a gzip file": lambda _, rows: gzip.compress(to_text(rows).encode())[:-9],
    "a huge line": _huge_line,
    "a spreadsheet": lambda draw, _: b"PK\x03\x04" + draw.numbers.bytes(60),
    "no encoding": lambda _, rows: rows,
    "no names": lambda _, rows: [[str(j) for j in range(len(rows[0]))], *rows[1:]],
    "noise": lambda draw, _: draw.numbers.bytes(draw.between(8, 300)) + b"\0",
}


def damaged(draw: Draw, file: TableFile) -> TableFile:
    """Return a file with some bytes changed, cut or repeated."""
    content = bytearray(file.content)
    for _ in range(draw.between(1, 3)):
        place = draw.between(0, max(0, len(content) - 1))
        end = place + draw.between(1, 20)
        what = draw.one_of(("change", "change", "cut", "end", "repeat", "insert"))
        if what == "change":
            content[place : place + 1] = draw.numbers.bytes(1)
        elif what == "cut":
            del content[place:end]
        elif what == "end":
            del content[place:]
        elif what == "repeat":
            content[end:end] = content[place:end]
        else:
            content[place:place] = draw.one_of((b'"', b"\n", b",", b"\0", b"\xff", b"\r", b";"))
    return replace(file, content=bytes(content), legal=None, what=f"damaged {file.what}")


def write(file: TableFile, folder: Path) -> Path:
    """Put a file into a directory."""
    path = folder / file.name
    path.write_bytes(file.content)
    return path
