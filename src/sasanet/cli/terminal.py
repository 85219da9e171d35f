"""What a command says, and the one place where errors become a sentence and an exit code.

Results go to standard output; progress, notes and errors go to standard error. Exit codes: 0 fine,
1 the input or the model cannot be used, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import functools
import inspect
import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from sasanet import errors

FAILED, INTERRUPTED = 1, 130
_OURS = (errors.UnknownLevelWarning, errors.RefinementWarning, errors.InterruptedFitWarning)
_MOST_NOTES = 3  # of one kind: every chunk of a file may have its own


@dataclass(frozen=True)
class Terminal:
    """How much a command says, and in which form."""

    quiet: bool = False
    as_json: bool = False
    debug: bool = False

    @property
    def is_watched(self) -> bool:
        """Whether somebody sees progress bars."""
        return not self.quiet and not self.as_json and Console(stderr=True).is_terminal

    def say(self, what: RenderableType) -> None:
        """Print text or a table for people."""
        if not self.quiet and not self.as_json:
            Console().print(what, markup=False, highlight=False, soft_wrap=isinstance(what, str))

    def note(self, text: str) -> None:
        """Print a remark beside the result."""
        if not self.quiet:
            _to_stderr(text)

    def result(self, found: dict[str, Any]) -> None:
        """Print what was found as one JSON object, for scripts."""
        if self.as_json:
            typer.echo(json.dumps(found, ensure_ascii=False, default=_plain))

    @contextmanager
    def progress(self, text: str) -> Iterator[Callable[[float], None]]:
        """Show a bar while the block runs; the block calls what it gets with the share done.

        A block that cannot tell its share leaves a bar that only moves.
        """
        if not self.is_watched:
            yield lambda _: None
            return
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
        bar = Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
        with bar:
            task = bar.add_task(text, total=None)
            yield lambda share: bar.update(task, total=1.0, completed=share)


def _to_stderr(text: str) -> None:
    Console(stderr=True).print(text, markup=False, highlight=False, soft_wrap=True)


def _plain(value: Any) -> Any:
    """Turn NumPy's numbers and paths into what JSON has."""
    return value.item() if hasattr(value, "item") else str(value)


def sentence(error: BaseException) -> str:
    """Return what went wrong in one line.

    Examples
    --------
    >>> sentence(errors.InvalidInputError("X must be a table"))
    'X must be a table.'
    """
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror and error.filename:
        text = f"{error.filename} cannot be used: {error.strerror}"
    elif isinstance(error, MemoryError):
        text = "The table does not fit into memory; fit on fewer rows or columns"
    elif not isinstance(error, errors.SasanetError):
        where = "add --debug to see where"
        text = f"This did not work, {type(error).__name__}: {text.rstrip('.')}; {where}"
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
    """Say each warning once, and of one kind only the first few."""
    for kind in _OURS:
        texts = dict.fromkeys(str(note.message) for note in caught if note.category is kind)
        for text in [*texts][:_MOST_NOTES]:
            terminal.note(f"Note: {text}")
        if len(texts) > _MOST_NOTES:
            terminal.note(f"Note: {len(texts) - _MOST_NOTES} more of this kind.")


_COMMON = {
    "quiet": Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")],
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
        terminal = Terminal(quiet, as_json, debug)
        with _in_sentences(terminal):
            function(terminal=terminal, **options)

    run.__signature__ = written.replace(parameters=[*own, *shared])  # type: ignore[attr-defined]
    run.__annotations__ = {part.name: part.annotation for part in (*own, *shared)}
    return run
