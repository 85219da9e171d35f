"""Seeds in worker processes: nothing a case does is lost; a campaign goes on where it stopped."""

import json
import os
import sys
import time
import types
from collections import Counter

import pytest

from torture import runner
from torture.case import Outcome, Result
from torture.clock import RunningClock
from torture.page import PAGE, make_page
from torture.registry import CAMPAIGNS, TENTHS, Campaign
from torture.results import RESULTS, Found, load_found

FINE, ENDS, HANGS, RAISES, HOLDS, LATE = range(6)
CAMPAIGN = Campaign("made", "cases of a test", "everything", 1, 6, seconds=1.2, memory_mib=100)


def misbehave(seed):
    if os.environ.get("MENDED") or seed == FINE:
        return Outcome.of("fine")
    if seed == ENDS:
        os._exit(9)
    if seed == HANGS:
        time.sleep(1_000)
    if seed == RAISES:
        raise ValueError("boom")
    if seed == HOLDS:
        bytearray(os.urandom(1)) * (200 * 2**20)
    if seed == LATE:
        time.sleep(1.3)
    return Outcome.of("fine")


@pytest.fixture(autouse=True)
def made(monkeypatch):
    """Let a campaign of this file be known to forked workers."""
    monkeypatch.setitem(sys.modules, "torture.campaigns.made", types.SimpleNamespace(run=misbehave))
    monkeypatch.setitem(CAMPAIGNS, "made", CAMPAIGN)
    monkeypatch.setattr(runner, "_START_METHOD", "fork")
    monkeypatch.setattr(runner, "_TO_START", 1.0)


def test_whatever_a_case_does_is_its_result_and_the_next_one_is_tried():
    found = list(runner.results(CAMPAIGN, list(range(6)), jobs=1))
    assert [result.seed for result in found] == list(range(6))
    defects = [result.defect for result in found]
    assert defects[FINE] == ""
    assert defects[ENDS] == "the process ended with exit code 9"
    assert defects[HANGS].startswith("no answer in")
    assert defects[RAISES] == "ValueError: boom"
    assert "MiB more than before" in defects[HOLDS]
    assert defects[LATE] == "a case took 1 s"
    assert [sum(result.counts.values()) for result in found] == [1, 0, 0, 0, 0, 0]


def test_what_all_cases_share_is_made_before_the_first_is_timed(monkeypatch):
    campaign = sys.modules["torture.campaigns.made"]
    monkeypatch.setattr(campaign, "prepare", lambda: time.sleep(1.3), raising=False)
    (found,) = runner.results(CAMPAIGN, [FINE], jobs=1)
    assert (found.defect, found.seconds < 1) == ("", True)
    monkeypatch.delattr(campaign, "prepare")
    monkeypatch.setattr(campaign, "run", lambda _: misbehave(LATE))  # the twin: in the first case
    (found,) = runner.results(CAMPAIGN, [FINE], jobs=1)
    assert found.defect == "a case took 1 s"


def test_two_workers_give_the_results_in_the_order_of_the_seeds():
    found = list(runner.results(CAMPAIGN, [RAISES, FINE, ENDS, FINE], jobs=2))
    assert [result.seed for result in found] == [RAISES, FINE, ENDS, FINE]
    assert [bool(result.defect) for result in found] == [True, False, True, False]


def test_a_campaign_goes_on_where_it_stopped_and_tries_defects_again(tmp_path, monkeypatch):
    first = runner.run_campaign(CAMPAIGN, 2, 1, tmp_path)
    assert (first.cases, first.counts, list(first.defects)) == (2, {"fine": 1}, [ENDS])
    monkeypatch.setenv("MENDED", "1")
    tried = []
    monkeypatch.setattr(
        runner, "results", lambda c, seeds, jobs: tried.append(seeds) or whole(c, seeds, jobs)
    )
    second = runner.run_campaign(CAMPAIGN, 4, 1, tmp_path)
    assert tried == [[ENDS], [2, 3]]
    assert (second.cases, second.counts, second.defects) == (4, {"fine": 4}, {})
    read = load_found("made", tmp_path)
    assert (read.cases, read.counts, read.defects) == (4, {"fine": 4}, {})


whole = runner.results


def test_a_repeated_defect_stays_one(tmp_path):
    found = Found("made")
    found.add(Result(0, defect="boom", seconds=2.0), "abc")
    found.repeat(Result(0, defect="bang"))
    found.save(tmp_path)
    saved = json.loads((tmp_path / "made.json").read_text())
    assert saved["defects"] == [{"seed": 0, "what": "bang"}]
    assert saved["cases"] == 1
    assert saved["code"] == {"abc": 1}


# --- the page --------------------------------------------------------------------------------


def test_the_page_is_what_the_result_files_say():
    assert PAGE.read_text("utf-8") == make_page(RESULTS)


def test_every_campaign_has_a_result_file_and_a_section():
    page = PAGE.read_text("utf-8")
    for name in set(CAMPAIGNS) - {"made"}:
        assert (RESULTS / f"{name}.json").exists()
        assert f"\n## {name}\n" in page


def test_a_page_shows_defects_and_their_seeds(tmp_path):
    found = Found("tables", cases=3)
    found.defects = {seed: f"boom `{seed}`\x1b" for seed in range(25)}
    found.save(tmp_path)
    page = make_page(tmp_path)
    assert "| defect | 25 |" in page
    assert "- 7: `boom ·7··`" in page
    assert "- … and 5 more" in page


def test_a_page_counts_what_was_asked_for(tmp_path):
    Found("concurrent", cases=2, counts=Counter(saved=300, loaded=1_000)).save(tmp_path)
    Found("threads", cases=4, counts=Counter({TENTHS: 305, "fit, as alone": 9})).save(tmp_path)
    code = Counter(abc=5, abd=1)
    Found("kills", cases=6, counts=Counter(old=6), code=code).save(tmp_path)
    page = make_page(tmp_path)
    assert "| 50,000 rounds | 1,300 rounds | 0 | 0 |" in page
    assert "| 300 s of eight threads | 30 s | 0 | 0 |" in page
    assert "| 1,000, with those of survival | 6 | 0 | 2 |" in page


def test_a_pause_of_the_whole_process_is_no_hang(monkeypatch):
    moments = iter([0.0, 1.0, 2.5, 500.0, 501.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(moments))
    watch = RunningClock()
    assert [watch.now() for _ in range(4)] == [1.0, 2.5, 4.5, 5.5]
