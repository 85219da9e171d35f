"""The runner: which jobs a word asks for; result files lose nothing, and a diff can be read."""

from __future__ import annotations

import json

import pytest

from bench.runner import asked_for, written

JOBS = dict.fromkeys(["masking-fraud-0", "masking-fraud-1", "masking-higgs-0", "timing-fraud-0"])


def test_a_list_of_numbers_is_one_line_and_nothing_is_lost():
    result = {"auc": [0.5, -1e-7, 3], "words": ["a, b", "[ 1, 2 ]"], "runs": [{"n": [1]}], "no": []}
    text = written(result)
    assert json.loads(text) == result
    assert ' "auc": [0.5, -1e-07, 3],\n' in text
    assert json.dumps(result, indent=1).count("\n") > text.count("\n")


@pytest.mark.parametrize(
    ("asked", "count"), [("", 4), ("masking", 3), ("masking-fraud", 2), ("masking-fraud-1", 1)]
)
def test_jobs_are_asked_for_by_the_words_they_begin_with(asked, count):
    found = asked_for(asked, JOBS)
    assert len(found) == count
    assert all(name.startswith(asked) for name in found)


@pytest.mark.parametrize("asked", ["mask", "masking-fraud-", "fraud"])
def test_words_no_job_begins_with_are_refused(asked):
    with pytest.raises(SystemExit, match=r"got '.*; choose from masking, timing, or name a"):
        asked_for(asked, JOBS)
