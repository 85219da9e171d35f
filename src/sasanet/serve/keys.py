"""API keys: only their SHA-256 is kept, compared in constant time, each with its own rate.

Keys are random and long, so one round of SHA-256 is enough: there is nothing to guess.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sasanet.errors import InvalidInputError
from sasanet.serve.limits import Refusal
from sasanet.whole_files import read_path

_LINE = re.compile(r"([\w.-]{1,64}) ([0-9a-f]{64})(?: ([1-9]\d{0,8}))?")
_PER_MINUTE = 600  # of a key whose line says nothing else


def make_key(name: str, per_minute: int = _PER_MINUTE) -> tuple[str, str]:
    """Return a new random key and its line for the file of keys.

    The key goes to the client; the line, which does not tell it, to the server.

    Examples
    --------
    >>> key, line = make_key("web", per_minute=60)
    >>> Keys([line]).who(key)
    'web'
    """
    key = secrets.token_urlsafe(32)
    line = f"{name} {_digest(key)} {per_minute}"
    Keys([line])  # a name or a rate that cannot be read is refused now
    return key, line


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", errors="replace")).hexdigest()


@dataclass
class _Bucket:
    """Requests that a key may still make: refilled evenly, full for a minute's worth at most."""

    per_minute: int
    left: float
    since: float

    def take(self, now: float) -> float:
        """Take one request, or return the seconds until there is one."""
        refill = (now - self.since) * self.per_minute / 60
        self.left, self.since = min(self.per_minute, self.left + refill), now
        if self.left < 1:
            return (1 - self.left) * 60 / self.per_minute
        self.left -= 1
        return 0.0


class Keys:
    """Who may ask, and how often.

    Parameters
    ----------
    lines : sequence of str
        Each ``name sha256 [requests per minute]``, as :func:`make_key` makes them; empty lines and
        those that begin with ``#`` are skipped.
    clock : callable
        Seconds, for the rates.

    Examples
    --------
    >>> key, line = make_key("web", per_minute=1)
    >>> keys = Keys([line])
    >>> keys.admit(key)
    'web'
    >>> keys.admit(key)
    Traceback (most recent call last):
    sasanet.serve.limits.Refusal: The key 'web' may make 1 requests a minute; try again in 60 s.
    """

    def __init__(self, lines: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._digests: dict[str, str] = {}
        self._buckets: dict[str, _Bucket] = {}
        for number, line in enumerate(lines, start=1):
            if line.strip() and not line.startswith("#"):
                self._add(line.strip(), number)
        if not self._digests:
            raise InvalidInputError("A file of keys must have at least one, got none; use make_key")

    @classmethod
    def read(cls, path: str | Path) -> Keys:
        """Return the keys of a file."""
        return cls(read_path(path).read_text("utf-8").splitlines())

    def _add(self, line: str, number: int) -> None:
        found = _LINE.fullmatch(line)
        if found is None or found[1] in self._digests:
            raise InvalidInputError(
                "Each key must be a line 'name sha256 [requests per minute]' with a name of its "
                f"own, got something else in line {number}; make lines with make_key"
            )
        per_minute = int(found[3] or _PER_MINUTE)
        self._digests[found[1]] = found[2]
        self._buckets[found[1]] = _Bucket(per_minute, per_minute, self._clock())

    def who(self, key: str) -> str | None:
        """Return the name of a key, or None; the time it takes does not depend on the key."""
        given, found = _digest(key), None
        for name, digest in self._digests.items():
            if hmac.compare_digest(given, digest):
                found = name  # and go on: leaving here would tell the position
        return found

    def admit(self, key: str) -> str:
        """Return the name of a key that may make a request now, or refuse it."""
        name = self.who(key)
        if name is None:
            raise Refusal(
                401, "A request must carry a valid key in 'Authorization: Bearer KEY', got none."
            )
        with self._lock:
            seconds = self._buckets[name].take(self._clock())
        if seconds:
            wait, rate = int(seconds) + 1 if seconds % 1 else int(seconds), self._buckets[name]
            raise Refusal(
                429,
                f"The key {name!r} may make {rate.per_minute} requests a minute; "
                f"try again in {wait} s.",
                retry_after=wait,
            )
        return name
