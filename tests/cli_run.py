"""One call of the command line, as a user makes it."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner, Result

from sasanet.cli.app import app


def run(*words: object) -> Result:
    """Run ``sasanet`` with some words and return its exit code and what it said."""
    return CliRunner().invoke(app, [str(word) for word in words])


def done(*words: object) -> Result:
    """Run ``sasanet`` and expect it to succeed."""
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result


def files(folder: Path) -> dict[str, bytes]:
    """Return everything below a directory, hidden files too."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}
