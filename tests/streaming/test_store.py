"""Encoded rows on disk: what is read back, in which order, and what a full disk says."""

import errno
import os

import numpy as np
import pytest
import torch

from sasanet.errors import FileWriteError
from sasanet.streaming import scratch, store
from sasanet.streaming.scratch import scratch_folder
from sasanet.streaming.store import StoreWriter
from sasanet.table.columns import Columns

COLUMNS = Columns((128, 5, 300, 70_000, 1), (True, False, False, False, True))
CPU = torch.device("cpu")


@pytest.fixture
def cells():
    random = np.random.default_rng(0)
    found = np.stack([random.random(5_000) * (p - 1) for p in COLUMNS.places], 1)
    found[:, 1:4] = np.rint(found[:, 1:4])
    found[::2, 0] = np.rint(found[::2, 0])
    found[random.random(found.shape) < 0.1] = np.nan
    return found.astype(np.float32)


def stored(folder, cells, knots=True):
    labels = np.arange(len(cells), dtype=float)
    with StoreWriter(folder, COLUMNS, knots) as writer:
        writer.open(len(cells))
        for part in np.array_split(np.arange(len(cells)), 3):
            writer.write(cells[part], labels[part], np.full(len(part), 2.0))
        return writer, writer.finish(CPU)


def test_cells_come_back_levels_and_knots_exactly(tmp_path, cells):
    writer, rows = stored(tmp_path, cells)
    found = rows[slice(0, len(cells))]
    assert writer.bytes_per_row == 2 + 1 + 2 + 4 + 2 + 8
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) == 19 * len(cells)
    np.testing.assert_array_equal(found.cells[:, 1:4], cells[:, 1:4])
    np.testing.assert_array_equal(found.cells[::2], cells[::2].round())
    np.testing.assert_allclose(found.cells, cells, atol=0.5 / 516 + 1e-5)
    assert np.nanmax(np.abs(found.cells.numpy() - cells)) > 1e-5  # 16 bits are not all bits
    assert (found.weights == 1).all()


def test_cells_that_are_no_places_are_stored_as_they_are(tmp_path, cells):
    _, rows = stored(tmp_path, cells, knots=False)
    np.testing.assert_array_equal(rows[slice(0, 10)].cells, cells[:10])


@pytest.mark.parametrize("buffer", [2**24, 2_000 * 5])
def test_every_row_comes_once_and_the_order_can_be_found_again(
    tmp_path, cells, monkeypatch, buffer
):
    monkeypatch.setattr(store, "_BUFFER_CELLS", buffer)
    monkeypatch.setattr(store, "_BLOCK", 100)
    _, rows = stored(tmp_path, cells)

    def order(seed, skip=0):
        batches = list(rows.batches(64, torch.Generator().manual_seed(seed), skip))
        assert {len(batch) for batch in batches[:-1]} <= {64}
        return torch.cat([batch.targets for batch in batches]).long().numpy()

    first = order(0)
    assert np.array_equal(np.sort(first), np.arange(5_000))
    assert not np.array_equal(first, order(1))
    for skip in (1, 33, 78):
        assert np.array_equal(order(0, skip), first[64 * skip :])
    # Neighbours in the store are not neighbours in the order.
    assert np.mean(np.abs(np.diff(first)) < 5) < 0.05


def test_a_disk_without_room_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    usage = type("usage", (), {"free": 100})
    monkeypatch.setattr(scratch.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(FileWriteError, match=r"needs 1 MB of disk .* scratch"):
        StoreWriter(tmp_path, COLUMNS, True).open(1_000)
    assert not list(tmp_path.iterdir())


def test_a_disk_that_fills_up_is_one_sentence(tmp_path, cells):
    writer = StoreWriter(tmp_path, COLUMNS, True)
    writer.open(10)

    class Full:
        def write(self, _):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for file in writer.files:
        file.close()
    writer.files = [Full()] * len(writer.files)
    with pytest.raises(FileWriteError, match="No space left on device; make room"):
        writer.write(cells, cells[:, 0], cells[:, 0])


def test_the_temporary_folder_goes_also_after_an_error_and_a_kill(tmp_path):
    with pytest.raises(ZeroDivisionError), scratch_folder(tmp_path) as folder:
        (folder / "a").write_text(str(1 / 0))
    assert not list(tmp_path.iterdir())
    left = tmp_path / f"{scratch._PREFIX}-999999999-abc"  # of a process that is gone
    left.mkdir()
    alive = tmp_path / f"{scratch._PREFIX}-{os.getpid()}-abc"
    alive.mkdir()
    with scratch_folder(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == [alive]
