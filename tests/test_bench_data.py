"""The benchmark's tables: given or fetched, checked by content, kept; a missing one says whence."""

import gzip
import hashlib
import io
import json
import tarfile
import urllib.error
import urllib.request
import zipfile
from email.message import Message
from urllib.response import addinfourl

import numpy as np
import pandas as pd
import pytest
from bench import content, data, fetch, raw

pytest.importorskip("pyarrow")

OPENML = "https://www.openml.org"
FOREIGN = "Foreign born- Not a citizen of U S "


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


def zipped(files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


def tarred(files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        folder = tarfile.TarInfo("census")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, text in files.items():
            member = tarfile.TarInfo(f"census/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return packed.getvalue()


def census_tables():
    """Return made-up people, in all the kinds of cells that are hard to keep."""
    cells = {c: [1, 2] if c in raw.CENSUS_NUMBERS else ["Not in universe", "?"] for c in raw.CENSUS}
    cells |= {"instance_weight": [1700.09, 0.1], "hispanic_origin": ["NA", "All other"]}
    cells |= {"citizenship": [FOREIGN, '"quoted" word'], "income": [0, 1]}
    train = pd.DataFrame(cells).astype({"income": "int8"})
    return {"census_income_train": train, "census_income_test": train[:1]}


def census_text(table):
    """Write rows as UCI has them: a blank after each comma, the label with a full stop."""
    table = table.assign(income=table["income"].map({0: "- 50000.", 1: "50000+."}))
    rows = (", ".join(map(str, row)) for row in table.itertuples(index=False))
    return "".join(f"{row}\n" for row in rows).encode()


def census_archive(tables=None):
    train, test = (census_text(table) for table in (tables or census_tables()).values())
    packed = tarred({"census-income.data": train, "census-income.test": test})
    return zipped({"census.tar.gz": packed, "Index": b"117"})


def coil_tables():
    random = np.random.RandomState(0)
    train = pd.DataFrame(random.randint(0, 42, (3, 86)), columns=raw.COIL).astype("int8")
    return {"coil2000_train": train, "coil2000_test": train[1:].reset_index(drop=True)}


def coil_archive(n_targets=2):
    train, test = (table.to_numpy() for table in coil_tables().values())
    files = {
        "ticdata2000": train,
        "ticeval2000": test[:, :-1],
        "tictgts2000": test[:n_targets, -1:],
    }
    texts = {
        f"{name}.txt": "\r\n".join("\t".join(map(str, row)) for row in rows)
        for name, rows in files.items()
    }
    return zipped(texts | {"tic.html": "<html>"})


def credit_table():
    random = np.random.RandomState(0)
    table = pd.DataFrame(random.randn(4, 31), columns=raw.CREDIT)
    return table.assign(
        Time=np.array([0, 0, 1, 172792], "int32"), Class=np.array([0, 1, 0, 0], "int8")
    )


def put_openml(web, columns=raw.CREDIT):
    """Serve the credit card table as OpenML does: Time marked as no feature, the label quoted."""
    kinds = dict.fromkeys(columns, "numeric") | {"Class": "nominal"}
    header = "".join(
        f"@ATTRIBUTE {column} {'REAL' if kind == 'numeric' else '{0,1}'}\n"
        for column, kind in kinds.items()
    )
    rows = credit_table()[columns].assign(Class=["'0'", "'1'", "'0'", "'0'"])
    arff = f"@RELATION creditcard\n{header}@DATA\n{rows.to_csv(index=False, header=False)}".encode()
    features = [
        {
            "index": str(place),
            "name": column,
            "data_type": kind,
            "is_target": str(column == "Class").lower(),
            "is_ignore": "false",
            "is_row_identifier": str(column == "Time").lower(),
            "number_of_missing_values": "0",
        }
        for place, (column, kind) in enumerate(kinds.items())
    ]
    about = {
        "status": "active",
        "format": "ARFF",
        "url": f"{OPENML}/data/v1/download/1/creditcard.arff",
        "md5_checksum": hashlib.md5(arff).hexdigest(),
        "description": "fraud",
    }
    quality = [{"name": "NumberOfInstances", "value": "4"}]
    pages = {
        "1597": {"data_set_description": about},
        "features/1597": {"data_features": {"feature": features}},
        "qualities/1597": {"data_qualities": {"quality": quality}},
    }
    for page, answer in pages.items():
        web.pages[f"{OPENML}/api/v1/json/data/{page}"] = json.dumps(answer).encode()
    web.pages[about["url"]] = arff


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
            "must have 42 cells, however: ''",
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
    with pytest.raises(ValueError, match=r"an income must be .* however: .*60000\+"):
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
