"""Forked processes that compute: what torch keeps for its threads does not survive a fork.

A process that has computed with several threads leaves a forked child a pool of threads that are
not there: its first large sum would wait for them for ever. And torch makes its other pool again at
the first use in the child: two threads that come there at once end the process. So a child uses
that pool once before it has threads of its own, and computes with one thread where its parent has
computed with several. ``torch.set_num_threads`` changes nothing of that: a child that is to use
more must be spawned.
"""

from __future__ import annotations

import os
import sys

_parent_computed = False  # with several threads, so that a child must not


def note_computing() -> None:
    """Remember that this process computes, if it does so with several threads.

    Examples
    --------
    >>> note_computing()
    """
    global _parent_computed
    if not _parent_computed:
        import torch

        _parent_computed = torch.get_num_threads() > 1


def _begin_child() -> None:
    """Make torch usable in a forked child, while it has one thread of Python."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1 if _parent_computed else torch.get_num_threads())


if hasattr(os, "register_at_fork"):  # not on Windows, which has no forks
    os.register_at_fork(after_in_child=_begin_child)
