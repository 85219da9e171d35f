"""Files are written whole or not at all, and drafts of the dead are removed."""

import os
import subprocess
import sys

import pytest

from sasanet import whole_files
from sasanet.errors import InvalidInputError
from sasanet.whole_files import check_can_make, check_can_write, replacing, write_whole


def test_an_error_leaves_the_old_file_and_no_draft(tmp_path):
    path = tmp_path / "a.txt"
    write_whole(path, b"old")

    def fail():
        with replacing(path) as draft:
            draft.write_bytes(b"ne")
            raise OSError("disk full")

    with pytest.raises(OSError, match="full"):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_two_drafts_of_one_file_do_not_meet(tmp_path):
    path = tmp_path / "a.txt"
    with replacing(path) as first, replacing(path) as second:
        assert first != second
        first.write_bytes(b"first")
        second.write_bytes(b"second")
    assert path.read_bytes() == b"first"  # the outer block ends last


def test_drafts_of_dead_processes_are_removed_and_those_of_the_living_kept(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True
    )
    host, dead = whole_files.HOST, int(done.stdout)
    names = {
        "dead": f".draft-{host}-{dead}-0a.a.txt",
        "alive": f".draft-{host}-{os.getpid()}-0b.a.txt",
        "other file": f".draft-{host}-{dead}-0c.b.txt",
        "other machine": f".draft-elsewhere-{dead}-0d.a.txt",
        "user's": ".draft-notes.txt",
    }
    for name in names.values():
        (tmp_path / name).write_bytes(b"")
    write_whole(tmp_path / "a.txt", b"new")
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {*names.values(), "a.txt"} - {names["dead"]}


@pytest.mark.parametrize("given", [5, None, b"x", "", "a\0b", [], "."])
def test_what_names_no_file_is_refused_in_a_sentence(given):
    with pytest.raises(InvalidInputError, match=r"path must be|must have a name"):
        write_whole(given, b"")
    with pytest.raises(InvalidInputError, match=r"path must be|must have a name"):
        check_can_write(given)
    if given != ".":
        with pytest.raises(InvalidInputError, match="path must be"):
            check_can_make(given)
