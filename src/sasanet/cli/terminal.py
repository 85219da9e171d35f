"""What a command prints, and the one place where errors become a sentence and an exit code.

Results go to standard output; progress, notes and errors go to standard error. Exit codes: 0
success, 1 the input or the model cannot be used, 2 wrong usage, 130 interrupted, 143 ended.
"""

from __future__ import annotations

import codecs
import functools
import inspect
import io
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from sasanet import errors

FAILED, INTERRUPTED = 1, 130
_OURS = tuple(
    kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Warning)
)
_MOST_NOTES = 3  # of one kind: every chunk of a file may have its own
# Characters that command a terminal or change the direction of what follows, and half characters.
_CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True)
class Terminal:
    """How much a command prints, and in which form."""

    quiet: bool = False
    as_json: bool = False
    debug: bool = False

    @property
    def is_watched(self) -> bool:
        """Whether somebody sees progress bars."""
        return not self.quiet and not self.as_json and Console(stderr=True).is_terminal

    def say(self, text: str) -> None:
        """Print text for people."""
        if not self.quiet and not self.as_json:
            _console().print(visible(text), soft_wrap=True)

    def say_table(self, heads: Sequence[Column], rows: Iterable[Sequence[str]], title: str) -> None:
        """Print a table for people."""
        if self.quiet or self.as_json:
            return
        table = Table(*heads, title=title or None, title_justify="left")
        for row in rows:
            table.add_row(*map(visible, row))
        _console().print(table)

    def note(self, text: str) -> None:
        """Print a remark beside the result."""
        if not self.quiet:
            _to_stderr(text)

    def result(self, found: dict[str, Any]) -> None:
        """Print the result as one JSON object, for scripts."""
        if self.as_json:
            typer.echo(json.dumps(found, ensure_ascii=not _writes_unicode(), default=_plain))

    @contextmanager
    def progress(self, text: str) -> Iterator[Callable[[float], None]]:
        """Show a bar while the block runs; the block calls the yielded function with its progress.

        A block that cannot tell its progress leaves a bar that only moves.
        """
        if not self.is_watched:
            yield lambda _: None
            return
        label = TextColumn("{task.description}", markup=False)
        columns = (label, BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
        with Progress(*columns, console=_console(stderr=True), transient=True) as bar:
            task = bar.add_task(visible(text), total=None)
            yield lambda share: bar.update(task, total=1.0, completed=share)


def visible(text: str) -> str:
    r"""Return text whose control characters are shown, not obeyed; line breaks stay.

    Examples
    --------
    >>> visible("a\x1b[31m\nb")
    'a\\x1b[31m\nb'
    """
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def escape_unprintable() -> None:
    """Escape what the terminal's encoding cannot show, where Python would stop with an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _writes_unicode() -> bool:
    return codecs.lookup(sys.stdout.encoding or "ascii").name.startswith("utf")


def _console(stderr: bool = False) -> Console:
    """Return a console that prints text as it is: names may look like markup or emoji codes."""
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def _to_stderr(text: str) -> None:
    _console(stderr=True).print(visible(text), soft_wrap=True)


def _plain(value: Any) -> Any:
    """Turn NumPy's numbers and paths into what JSON has."""
    return value.item() if hasattr(value, "item") else str(value)


def sentence(error: BaseException) -> str:
    """Return an error in one line.

    Examples
    --------
    >>> sentence(errors.InvalidInputError("X must be a table"))
    'X must be a table.'
    """
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename or 'A file'} cannot be used: {error.strerror}"
    elif isinstance(error, MemoryError):
        text = "The table does not fit into memory; use fewer rows or columns"
    elif not isinstance(error, errors.SasanetError):
        where = "add --debug to see where"
        text = f"Unexpected {type(error).__name__}: {text.rstrip('.')}; {where}"
    return text if text.endswith((".", "?", "!")) else f"{text}."


@contextmanager
def _in_sentences(terminal: Terminal) -> Iterator[None]:
    """Turn errors into a sentence and an exit code, and warnings into notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        for kind in _OURS:
            warnings.simplefilter("always", kind)
        try:
            yield
        except typer.Exit:
            _note_warnings(terminal, caught)
            raise
        except KeyboardInterrupt:
            _to_stderr("Interrupted: nothing was written.")
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            if terminal.debug:
                raise
            _to_stderr(sentence(error))
            raise typer.Exit(FAILED) from None
    _note_warnings(terminal, caught)


def _note_warnings(terminal: Terminal, caught: list[warnings.WarningMessage]) -> None:
    """Print each warning once, and of one kind only the first few."""
    for kind in _OURS:
        texts = dict.fromkeys(str(note.message) for note in caught if note.category is kind)
        for text in [*texts][:_MOST_NOTES]:
            terminal.note(f"Note: {text}")
        if len(texts) > _MOST_NOTES:
            terminal.note(f"Note: {len(texts) - _MOST_NOTES} more of this kind.")


_COMMON = {
    "quiet": Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")],
    "as_json": Annotated[bool, typer.Option("--json", help="Print one JSON object, for scripts.")],
    "debug": Annotated[bool, typer.Option("--debug", help="Show where an error came from.")],
}


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command ``--quiet``, ``--json`` and ``--debug`` in place of its ``terminal``."""
    written = inspect.signature(function, eval_str=True)
    own = [part for name, part in written.parameters.items() if name != "terminal"]
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)
        for name, kind in _COMMON.items()
    ]

    @functools.wraps(function)
    def run(quiet: bool, as_json: bool, debug: bool, **options: Any) -> None:
        escape_unprintable()
        terminal = Terminal(quiet, as_json, debug)
        with _in_sentences(terminal):
            function(terminal=terminal, **options)

    run.__signature__ = written.replace(parameters=[*own, *shared])  # type: ignore[attr-defined]
    run.__annotations__ = {part.name: part.annotation for part in (*own, *shared)}
    return run
