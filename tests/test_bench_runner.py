"""Result files: nothing of a result is lost, and a diff of them can be read."""

from __future__ import annotations

import json

from bench.runner import written


def test_a_list_of_numbers_is_one_line_and_nothing_is_lost():
    result = {"auc": [0.5, -1e-7, 3], "words": ["a, b", "[ 1, 2 ]"], "runs": [{"n": [1]}], "no": []}
    text = written(result)
    assert json.loads(text) == result
    assert ' "auc": [0.5, -1e-07, 3],\n' in text
    assert json.dumps(result, indent=1).count("\n") > text.count("\n")
