"""What one request may ask for, and how it is refused: a status and one sentence."""

from __future__ import annotations

from dataclasses import dataclass, fields

from sasanet.errors import InvalidInputError


@dataclass(frozen=True)
class Limits:
    """Bounds that keep one client from taking the server from the others.

    Attributes
    ----------
    body_bytes : int
        Size of a request's body; larger ones get status 413.
    rows : int
        Rows of a request; more get 422.
    text_length : int
        Characters of a cell; longer ones get 422.
    orders : int
        Largest ``n_orders`` that a request may ask for; more get 422.
    body_seconds : float
        How long a body may take to arrive; slower ones get 408.
    answer_seconds : float
        How long an answer may take; then 503.
    waiting_rows : int
        Rows that wait to be computed; with more in the queue a request gets 503.
    batch_rows : int
        Rows that are computed together.
    batch_seconds : float
        How long the first request of a batch waits for others.

    Examples
    --------
    >>> Limits(rows=100).rows
    100
    >>> Limits(rows=0)
    Traceback (most recent call last):
    sasanet.errors.InvalidInputError: Every limit must be above 0, got rows=0.
    """

    body_bytes: int = 8 * 2**20
    rows: int = 10_000
    text_length: int = 1_000
    orders: int = 64
    body_seconds: float = 10.0
    answer_seconds: float = 30.0
    waiting_rows: int = 20_000
    batch_rows: int = 1_024
    batch_seconds: float = 0.002

    def __post_init__(self) -> None:
        for field in fields(self):
            if not (value := getattr(self, field.name)) > 0:
                raise InvalidInputError(f"Every limit must be above 0, got {field.name}={value}.")


class Refusal(InvalidInputError):
    """A request that is not answered: its status, and one sentence for the client."""

    def __init__(self, status: int, sentence: str, retry_after: int | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.retry_after = retry_after

    @property
    def headers(self) -> dict[str, str]:
        """What the answer's head must say besides."""
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return headers | ({"WWW-Authenticate": "Bearer"} if self.status == 401 else {})


def unusable(sentence: str) -> Refusal:
    """Return the refusal of a request that does not say what it must."""
    return Refusal(422, sentence)
