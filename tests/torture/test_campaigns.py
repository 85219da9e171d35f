"""A slice of every campaign finds nothing, and its twin, in which something is broken, is found."""

import contextlib
import json
import os
import shutil
import time
import warnings
from dataclasses import replace

import jinja2
import numpy as np
import pytest

import careless_saver
from sasanet.cli.files import writing
from sasanet.estimator.sasanet import SASANetModel
from sasanet.persistence import folder as model_folder
from sasanet.report import page as report_page
from sasanet.serve import batching
from sasanet.table import sources
from sasanet.training import loop
from torture.campaigns import faults, hostile, kills, pages, signals, survival
from torture.case import Defect, attempt
from torture.draw import Draw
from torture.registry import CAMPAIGNS


def defects(name, seeds):
    """Return what is found at some seeds, by seed."""
    found = {seed: attempt(CAMPAIGNS[name].run, seed).defect for seed in seeds}
    return {seed: what for seed, what in found.items() if what}


def first_defect(name, seeds):
    """Return the first thing found, without trying the rest."""
    return next((what for seed in seeds for what in defects(name, [seed]).values()), "")


def seeds_of(name, kinds, wanted, first=0, count=3):
    """Return seeds of a campaign that begin by drawing this one of its kinds."""
    found = (s for s in range(first, 10_000) if Draw(name, s).one_of(kinds) == wanted)
    return [next(found) for _ in range(count)]


# --- what comes in ---------------------------------------------------------------------------


def test_tables():
    assert defects("tables", range(12)) == {}


def test_tables_whose_attributions_do_not_add_up_are_noticed(monkeypatch):
    explain = SASANetModel.explain

    def shifted(self, X, **options):
        explanation = explain(self, X, **options)
        return replace(explanation, values=explanation.values + 0.01 * self.target_.scale)

    monkeypatch.setattr(SASANetModel, "explain", shifted)
    assert "miss by" in first_defect("tables", range(12))


def test_tables_whose_predictions_are_not_finite_are_noticed(monkeypatch):
    raw = SASANetModel._raw
    monkeypatch.setattr(SASANetModel, "_raw", lambda self, X: raw(self, X) * np.nan)
    assert "is not finite" in first_defect("tables", range(12))


def test_arguments():
    assert defects("arguments", range(30)) == {}


def test_arguments_that_are_not_checked_are_noticed(monkeypatch):
    monkeypatch.setattr(SASANetModel, "value", lambda *given: np.zeros(len(given[1])))
    assert first_defect("arguments", range(60)) == "illegal arguments were accepted"


def test_arguments_refused_by_other_errors_are_noticed(monkeypatch):
    def boom(*given):
        raise KeyError(f"boom {len(given)}")

    monkeypatch.setattr(SASANetModel, "value", boom)
    assert "KeyError" in first_defect("arguments", range(60))


# --- files and models ------------------------------------------------------------------------


def test_files():
    assert defects("files", range(20)) == {}


def test_files_with_formulas_are_noticed(monkeypatch):
    monkeypatch.setattr(writing, "escape_formula", lambda cell: cell)
    assert "the formula" in first_defect("files", range(60))


def test_files_with_changed_ids_are_noticed(monkeypatch):
    def plain(batch):
        return batch.to_pandas()

    monkeypatch.setattr(sources, "arrow_to_pandas", plain)
    assert "came back as" in first_defect("files", range(37, 137))


def test_models():
    assert defects("models", range(25)) == {}


def test_models_whose_weights_are_not_checked_are_noticed(monkeypatch):
    def unchecked(folder, digest):
        return (folder / model_folder.weights_name(digest)).read_bytes()

    monkeypatch.setattr(model_folder, "read_weights", unchecked)
    assert first_defect("models", range(300)) != ""


# --- processes and disks ---------------------------------------------------------------------


def write_in_place(path, content):
    """Write as nobody should: half a file stands there for a while."""
    with open(path, "wb") as file:  # noqa: PTH123
        file.write(content[: len(content) // 2])
        file.flush()
        time.sleep(0.01)
        file.write(content[len(content) // 2 :])


def test_kills():
    assert defects("kills", range(4)) == {}


def test_kills_of_a_writer_in_place_are_noticed(monkeypatch):
    monkeypatch.setattr(model_folder, "write_whole", write_in_place)
    kinds = (kills._save, kills._save, kills._explain, kills._report, kills._batches)
    seeds = seeds_of("kills", kinds, kills._save, count=8)
    assert "SavedFileError" in first_defect("kills", seeds)


def test_survival():
    fits = seeds_of("survival", survival.TARGETS, survival.kill_a_fit, count=2)
    servers = seeds_of("survival", survival.TARGETS, survival.kill_a_server, count=1)
    assert defects("survival", [*fits, *servers]) == {}


def test_fits_that_go_on_from_other_random_numbers_are_noticed(monkeypatch):
    monkeypatch.setattr(loop, "unpack_generators", lambda *_: None)
    seeds = seeds_of("survival", survival.TARGETS, survival.kill_a_fit, count=8)
    what = first_defect("survival", seeds)  # of the last call, or of one that nobody killed in time
    assert "went on to another model" in what or "ended so" in what


def test_disks():
    assert defects("disks", range(6)) == {}


def test_disks_that_are_full_while_a_file_is_written_in_place_are_noticed(monkeypatch):
    monkeypatch.setattr(report_page, "write_whole", write_in_place)
    monkeypatch.setattr(model_folder, "write_whole", write_in_place)
    assert first_defect("disks", range(20)) != ""


@pytest.mark.slow
def test_signals():
    assert defects("signals", range(2)) == {}


def test_signals_that_leave_a_draft_are_noticed(monkeypatch):
    @contextlib.contextmanager
    def untidy(path):
        draft = path.with_name(f".draft-{path.name}")
        draft.write_bytes(b"")
        time.sleep(0.2)
        yield draft
        draft.replace(path)

    monkeypatch.setattr(writing, "replacing", untidy)
    kept = signals._explain
    monkeypatch.setattr(signals, "_fit", kept)
    monkeypatch.setattr(signals, "_report", kept)
    assert "drafts left by" in first_defect("signals", range(12))


# --- at once ---------------------------------------------------------------------------------


def test_concurrent():
    assert defects("concurrent", range(1)) == {}


def test_concurrent_savers_that_tidy_up_too_early_are_noticed(monkeypatch):
    monkeypatch.setattr(model_folder, "write_files", careless_saver.write_files)
    assert first_defect("concurrent", range(3)) != ""


def test_requests():
    assert defects("requests", range(40)) == {}


def test_requests_that_a_server_fails_on_are_noticed(monkeypatch):
    def boom(*given):
        raise KeyError(f"boom {len(given)}")

    monkeypatch.setattr(batching, "answer", boom)
    assert "status 500" in first_defect("requests", range(40)) or "refused a good request" in (
        first_defect("requests", range(40))
    )


def test_hostile_requests():
    assert defects("hostile", range(16)) == {}


def test_hostile_requests_that_a_server_fails_on_are_noticed(monkeypatch):
    monkeypatch.setattr(batching, "answer", lambda *_: {}["a row"])
    assert "status 500" in first_defect("hostile", range(24))


def test_answers_that_tell_too_much_are_noticed():
    for body in (b'{"error": "In app.py."}', b'{"error": "No sentence"}', b'{"error": "a\\nb."}'):
        with pytest.raises(Defect):
            hostile.check(422, b"content-type: application/json", body)


def test_threads():
    assert defects("threads", range(1)) == {}


def test_threads_that_share_a_generator_are_noticed(monkeypatch):
    dropout_from = loop.dropout_from
    monkeypatch.setattr(loop, "dropout_from", lambda network, _: dropout_from(network, None))
    assert "fit among other threads" in first_defect("threads", range(3))


def test_threads_that_share_a_buffer_are_noticed(monkeypatch):
    value, kept = SASANetModel.value, {}

    def shared(self, X, coalitions):
        kept["rows"] = X
        time.sleep(0.02)  # long enough for another thread to come in between
        return value(self, kept["rows"], coalitions)

    monkeypatch.setattr(SASANetModel, "value", shared)
    assert first_defect("threads", range(3)).startswith("value")


# --- inside ----------------------------------------------------------------------------------


# A fault between opening a file and entering its block leaves it to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_faults():
    assert defects("faults", range(8)) == {}


def test_faults_take_every_place_of_files_and_steps_in_turn(monkeypatch):
    counts = {("fit", faults.STEPS): 3, ("save", faults.FILES): 2}
    monkeypatch.setattr(faults, "_n_places", lambda *pair: counts.get(pair, 0))
    faults._in_turn.cache_clear()
    first = faults.N_RANDOM
    found = [faults._draw_place(Draw("faults", seed), seed) for seed in range(first, first + 5)]
    faults._in_turn.cache_clear()
    steps = [("fit", faults.STEPS, k) for k in (1, 2, 3)]
    assert found == [*steps, *(("save", faults.FILES, k) for k in (1, 2))]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_faults_that_find_the_old_model_gone_are_noticed(monkeypatch):
    write_files = model_folder.write_files

    def write_after_removing(folder, *content):
        (folder / "model.json").unlink(missing_ok=True)
        write_files(folder, *content)

    monkeypatch.setattr(model_folder, "write_files", write_after_removing)
    faults._n_places.cache_clear()
    seeds = seeds_of("faults", sorted(faults.JOBS), "save", count=30)
    assert "SavedFileError" in first_defect("faults", seeds)


# --- pages -----------------------------------------------------------------------------------


@pytest.fixture
def browser(monkeypatch):
    """Open a browser for one test: its driver's loop would disturb others in the same thread."""
    if os.environ.get("NO_BROWSER") == "1" or not any(map(shutil.which, pages._BROWSERS)):
        pytest.skip("no Chromium on PATH, or NO_BROWSER=1; install it with: make browser")
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, pages._BROWSERS)))
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        monkeypatch.setattr(pages, "_browser", lambda: opened)
        yield
        opened.close()


@pytest.mark.slow
@pytest.mark.usefixtures("browser")
def test_pages(monkeypatch):
    assert defects("pages", range(2)) == {}
    with monkeypatch.context() as patch:
        patch.setattr(report_page, "_breakable", lambda name: jinja2.utils.markupsafe.Markup(name))
        assert first_defect("pages", range(3)) != ""
    with monkeypatch.context() as patch:
        patch.setattr(report_page, "_as_json", lambda data: json.dumps(data, ensure_ascii=False))
        assert first_defect("pages", range(3)) != ""


# --- the checks themselves -------------------------------------------------------------------


def test_one_seed_is_one_case():
    draws = [Draw("tables", 7) for _ in range(2)]
    one, other = ((d.between(0, 10**9), d.numbers.random()) for d in draws)
    assert one == other
    assert Draw("files", 7).between(0, 10**9) != one[0]


def test_an_unknown_warning_is_a_defect(monkeypatch):
    value = SASANetModel.value

    def noisy(self, X, coalitions):
        warnings.warn("overflow", RuntimeWarning, stacklevel=1)
        return value(self, X, coalitions)

    monkeypatch.setattr(SASANetModel, "value", noisy)
    assert "RuntimeWarning" in first_defect("tables", range(12))
