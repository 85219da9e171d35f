"""The benchmark's tables: given or fetched, checked by content, kept; a missing one says whence."""

import gzip
import io
import urllib.error
import urllib.request
from email.message import Message
from urllib.response import addinfourl

import numpy as np
import pandas as pd
import pytest

from bench.tables import content, data, fetch, raw
from made_archives import (
    FOREIGN,
    census_archive,
    census_tables,
    census_text,
    coil_archive,
    coil_tables,
    credit_table,
    put_openml,
    tarred,
    zipped,
)

pytest.importorskip("pyarrow")


class Web(urllib.request.HTTPSHandler):
    """A network of a few pages; whatever else is asked for cannot be reached."""

    def __init__(self):
        super().__init__()
        self.pages, self.asked = {}, []

    def https_open(self, request):
        self.asked.append(request.full_url)
        if request.full_url not in self.pages:
            raise urllib.error.URLError("no route to host")
        page = io.BytesIO(self.pages[request.full_url])
        answer = addinfourl(page, Message(), request.full_url, 200)
        answer.msg = "OK"
        return answer


@pytest.fixture
def web(monkeypatch):
    web = Web()
    monkeypatch.setattr(urllib.request, "_opener", urllib.request.build_opener(web))
    return web


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SASANET_DATA", str(tmp_path / "tables"))
    monkeypatch.setenv("SASANET_FETCH", "1")
    return tmp_path / "tables"


@pytest.fixture
def expect(tmp_path, monkeypatch):
    """Make tables the ones the results were measured on."""

    def write(tables):
        lines = [f"{content.checksum(table)}  {name}" for name, table in tables.items()]
        monkeypatch.setattr(content, "CHECKSUMS", tmp_path / "sums")
        content.CHECKSUMS.write_text("\n".join(lines))

    return write


def test_census_income_is_read_out_of_uci_s_archive_as_it_was(web, expect, folder):
    web.pages[fetch.ADDRESSES["census_income"]] = census_archive()
    expect(census_tables())
    for name, table in census_tables().items():
        pd.testing.assert_frame_equal(data.read(name), table)
    assert data.read("census_income_train")["citizenship"][0] == FOREIGN
    assert len(web.asked) == 1, "both parts come with one download, and are kept"
    assert sorted(p.name for p in folder.iterdir()) == [
        "census_income_test.parquet",
        "census_income_train.parquet",
    ]


def test_files_are_found_however_they_are_packed():
    text = {name: census_text(table) for name, table in census_tables().items()}
    train, test = text["census_income_train"], text["census_income_test"]
    archive = zipped(
        {"a/census-income.data.gz": gzip.compress(train), "b/census-income.test": test}
    )
    for name, table in raw.census_income(archive).items():
        pd.testing.assert_frame_equal(table, census_tables()[name])


def test_coil_is_read_with_the_targets_beside_the_evaluation_rows(web, expect):
    web.pages[fetch.ADDRESSES["coil2000"]] = coil_archive()
    expect(coil_tables())
    for name, table in coil_tables().items():
        pd.testing.assert_frame_equal(data.read(name), table)
    assert len(web.asked) == 1


def test_credit_card_comes_from_openml_with_its_time_and_exact_numbers(web, expect):
    put_openml(web)
    expect({"creditcard": credit_table()})
    pd.testing.assert_frame_equal(data.read("creditcard"), credit_table(), check_exact=True)
    n_asked = len(web.asked)
    data.read("creditcard")
    assert len(web.asked) == n_asked, "a second reading downloads nothing"


def test_credit_card_without_time_is_refused_in_a_sentence(web, expect):
    put_openml(web, raw.CREDIT[1:])
    expect({"creditcard": credit_table()})
    with pytest.raises(SystemExit, match=r"d/1597 does not serve creditcard as expected: .*Time"):
        data.read("creditcard")


def test_other_content_is_refused_and_not_kept(web, expect, folder):
    changed = census_tables()
    changed["census_income_test"] = changed["census_income_test"].assign(age=3)
    web.pages[fetch.ADDRESSES["census_income"]] = census_archive(changed)
    expect(census_tables())
    with pytest.raises(SystemExit, match=r"serves a census_income_test that is not the one .*not"):
        data.read("census_income_train")
    assert not folder.exists()


@pytest.mark.parametrize(
    ("archive", "reason"),
    [
        (b"<html>moved</html>", r"archive is broken \(File is not a zip file\)"),
        (zipped({"census.tar.gz": tarred({})[:20]}), "archive is broken"),
        (zipped({"Index": b""}), r"must hold census-income.data, .*absent="),
        (zipped({"census-income.data": b"1, 2\n", "census-income.test": b""}), "42 cells"),
        (
            zipped(dict.fromkeys(("census-income.data", "census-income.test"), b"")),
            "must have 42 cells, got ''",
        ),
    ],
)
def test_what_is_not_the_archive_is_refused_in_a_sentence(web, archive, reason, folder):
    web.pages[fetch.ADDRESSES["census_income"]] = archive
    with pytest.raises(SystemExit, match=f"does not serve census_income_test as .*{reason}"):
        data.read("census_income_test")
    assert not folder.exists()


def test_an_unknown_label_and_a_missing_target_are_refused():
    text = census_text(census_tables()["census_income_train"]).replace(b"50000+", b"60000+")
    with pytest.raises(ValueError, match=r"an income must be .* got .*60000\+"):
        raw.census_income(zipped({"census-income.data": text, "census-income.test": text}))
    with pytest.raises(ValueError, match="every row must have a target"):
        raw.coil2000(coil_archive(n_targets=1))


def test_a_failed_download_is_one_sentence(web, folder):
    with pytest.raises(SystemExit, match=r"coil2000_test could not be downloaded from .*no route"):
        data.read("coil2000_test")
    assert web.asked
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_is_one_sentence(web, expect, folder):
    web.pages[fetch.ADDRESSES["coil2000"]] = coil_archive()
    expect(coil_tables())
    folder.write_text("a file where the folder should be")
    with pytest.raises(SystemExit, match=r"coil2000_train.parquet could not be written"):
        data.read("coil2000_train")


def test_nothing_is_downloaded_unless_it_is_asked_for(web, monkeypatch):
    monkeypatch.delenv("SASANET_FETCH")
    with pytest.raises(SystemExit, match=r"is missing: SASANET_DATA .*SASANET_FETCH=1 .*UCI, Cen"):
        data.read("census_income_train")
    assert not web.asked


@pytest.mark.parametrize(
    ("name", "source"), [("higgs_64k", "OpenML 23512"), ("diamonds", "ggplot2's diamonds")]
)
def test_what_cannot_be_fetched_says_so_and_whence_it_comes(web, name, source):
    with pytest.raises(SystemExit, match=rf"{name}.parquet is missing.*cannot.*{source}"):
        data.read(name)
    assert not web.asked


def test_without_a_directory_tables_are_kept_in_the_cache(web, expect, monkeypatch, tmp_path):
    web.pages[fetch.ADDRESSES["coil2000"]] = coil_archive()
    expect(coil_tables())
    monkeypatch.delenv("SASANET_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    data.read("coil2000_train")
    assert (tmp_path / "cache" / "sasanet" / "coil2000_train.parquet").exists()
    monkeypatch.delenv("SASANET_FETCH")
    data.read("coil2000_test")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with pytest.raises(SystemExit, match=r"home/.cache/sasanet/coil2000_test.parquet is missing"):
        data.read("coil2000_test")


def test_a_given_file_is_used_and_warned_of_when_it_is_another(web, expect, folder):
    given = coil_tables()["coil2000_train"]
    folder.mkdir()
    given.to_parquet(folder / "coil2000_train.parquet", compression=None)  # not our writer's bytes
    expect(coil_tables())
    pd.testing.assert_frame_equal(data.read("coil2000_train"), given)
    expect(census_tables() | {"coil2000_train": given[::-1]})
    data._load.cache_clear()  # a file is read and checked once
    with pytest.warns(UserWarning, match=r"not hold the rows of the committed results .*differ"):
        data.read("coil2000_train")
    assert not web.asked


def test_a_given_file_is_not_overwritten_by_its_other_part(web, expect, folder):
    web.pages[fetch.ADDRESSES["coil2000"]] = coil_archive()
    expect(coil_tables())
    folder.mkdir()
    given = folder / "coil2000_train.parquet"
    given.write_bytes(b"mine")
    data.read("coil2000_test")
    assert given.read_bytes() == b"mine"


def test_another_sample_of_higgs_serves_without_the_column_of_ours(folder):
    folder.mkdir()
    sample = pd.DataFrame({"label": np.arange(16_000) % 2, "m_bb": np.arange(16_000.0)})
    sample.to_parquet(folder / "higgs_64k.parquet")
    with pytest.warns(UserWarning, match="not hold the rows"):
        (split,) = data.splits("higgs_64k", 1)
    assert list(split.X_train) == ["m_bb"]
