"""Made-up tables of the benchmark, packed as their publishers pack the real ones."""

import hashlib
import io
import json
import tarfile
import zipfile

import numpy as np
import pandas as pd

from bench.tables import raw

OPENML = "https://www.openml.org"
OLD_OPENML = "https://api.openml.org"  # where older scikit-learn asks
FOREIGN = "Foreign born- Not a citizen of U S "


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
        "file_id": "1",
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
        for host in (OPENML, OLD_OPENML):
            web.pages[f"{host}/api/v1/json/data/{page}"] = json.dumps(answer).encode()
    web.pages[about["url"]] = web.pages[f"{OLD_OPENML}/data/v1/download/1"] = arff
