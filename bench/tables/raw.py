"""The bytes a public source serves in, the benchmark's tables out. Nothing here downloads.

Whatever is not in the source's format raises ValueError.
"""

from __future__ import annotations

import csv
import gzip
import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import pandas as pd

CENSUS_NUMBERS = {
    "age",
    "detailed_industry_recode",
    "detailed_occupation_recode",
    "wage_per_hour",
    "capital_gains",
    "capital_losses",
    "dividends_from_stocks",
    "num_persons_worked_for_employer",
    "own_business_or_self_employed",
    "veterans_benefits",
    "weeks_worked_in_year",
    "year",
}
_CENSUS = """
    age class_of_worker detailed_industry_recode detailed_occupation_recode education wage_per_hour
    enroll_in_edu_inst_last_wk marital_stat major_industry_code major_occupation_code race
    hispanic_origin sex member_of_a_labor_union reason_for_unemployment
    full_or_part_time_employment_stat capital_gains capital_losses dividends_from_stocks
    tax_filer_stat region_of_previous_residence state_of_previous_residence
    detailed_household_and_family_stat detailed_household_summary_in_household instance_weight
    migration_code_change_in_msa migration_code_change_in_reg migration_code_move_within_reg
    live_in_this_house_1_year_ago migration_prev_res_in_sunbelt num_persons_worked_for_employer
    family_members_under_18 country_of_birth_father country_of_birth_mother country_of_birth_self
    citizenship own_business_or_self_employed fill_inc_questionnaire_for_veterans_admin
    veterans_benefits weeks_worked_in_year year income
"""
_COIL = """
    MOSTYPE MAANTHUI MGEMOMV MGEMLEEF MOSHOOFD MGODRK MGODPR MGODOV MGODGE MRELGE MRELSA MRELOV
    MFALLEEN MFGEKIND MFWEKIND MOPLHOOG MOPLMIDD MOPLLAAG MBERHOOG MBERZELF MBERBOER MBERMIDD
    MBERARBG MBERARBO MSKA MSKB1 MSKB2 MSKC MSKD MHHUUR MHKOOP MAUT1 MAUT2 MAUT0 MZFONDS MZPART
    MINKM30 MINK3045 MINK4575 MINK7512 MINK123M MINKGEM MKOOPKLA PWAPART PWABEDR PWALAND PPERSAUT
    PBESAUT PMOTSCO PVRAAUT PAANHANG PTRACTOR PWERKT PBROM PLEVEN PPERSONG PGEZONG PWAOREG PBRAND
    PZEILPL PPLEZIER PFIETS PINBOED PBYSTAND AWAPART AWABEDR AWALAND APERSAUT ABESAUT AMOTSCO
    AVRAAUT AAANHANG ATRACTOR AWERKT ABROM ALEVEN APERSONG AGEZONG AWAOREG ABRAND AZEILPL APLEZIER
    AFIETS AINBOED ABYSTAND CARAVAN
"""
CENSUS, COIL = _CENSUS.split(), _COIL.split()
CREDIT = ["Time", *(f"V{number}" for number in range(1, 29)), "Amount", "Class"]
INCOMES = {"- 50000": 0, "50000+": 1}


def census_income(archive: bytes) -> dict[str, pd.DataFrame]:
    """Return the official training and test rows from UCI's archive."""
    data, test = _members(archive, "census-income.data", "census-income.test")
    return {"census_income_train": _census(data), "census_income_test": _census(test)}


def _census(text: bytes) -> pd.DataFrame:
    kinds: dict[str, Any] = {c: "int64" if c in CENSUS_NUMBERS else str for c in CENSUS}
    table = _columns(text, ",", CENSUS, kinds).astype({"instance_weight": "float64"})
    labels = table["income"].str.strip(" .")
    if not labels.isin(list(INCOMES)).all():
        raise ValueError(f"an income must be - 50000. or 50000+., got {set(labels)}")
    return table.assign(income=labels.map(INCOMES).astype("int8"))


def coil2000(archive: bytes) -> dict[str, pd.DataFrame]:
    """Return the training rows, and the evaluation rows with their targets beside them."""
    train, test, targets = _members(
        archive, "ticdata2000.txt", "ticeval2000.txt", "tictgts2000.txt"
    )
    features = _columns(test, "\t", COIL[:-1], "int8")
    target = _columns(targets, "\t", COIL[-1:], "int8")
    if len(features) != len(target):
        raise ValueError(f"every row must have a target, got {len(features)=} {len(target)=}")
    return {
        "coil2000_train": _columns(train, "\t", COIL, "int8"),
        "coil2000_test": pd.concat([features, target], axis=1),
    }


def credit_card(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return OpenML's frame with our columns and types; its label is a number, word or category."""
    absent = [column for column in CREDIT if column not in frame]
    if absent:
        raise ValueError(f"it must have Time, V1 … V28, Amount and Class, got {absent=}")
    table = frame[CREDIT].astype(dict.fromkeys(CREDIT[1:-1], "float64"))
    table["Time"] = frame["Time"].astype("int32")
    table["Class"] = frame["Class"].astype(str).str.strip("'").astype("int8")
    return {"creditcard": table}


def _columns(text: bytes, separator: str, names: list[str], kinds: Any) -> pd.DataFrame:
    """Read text without a header; cells lose the blanks before them and keep those behind them."""
    first = text.splitlines()[0].decode() if text.strip() else ""
    if first.count(separator) + 1 != len(names):
        raise ValueError(f"a row must have {len(names)} cells, got {first[:80]!r}")
    return pd.read_csv(
        io.BytesIO(text),
        sep=separator,
        header=None,
        names=names,
        dtype=kinds,
        skipinitialspace=True,
        keep_default_na=False,  # NA is a level
        quoting=csv.QUOTE_NONE,
    )


def _members(archive: bytes, *names: str) -> list[bytes]:
    """Return the named files of a zip archive, however deeply they are packed in it."""
    try:
        found = {name: text for name, text in _unpacked("source.zip", archive) if name in names}
    except (zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"the archive is broken ({error})") from error
    absent = [name for name in names if name not in found]
    if absent:
        raise ValueError(f"the archive must hold {', '.join(names)}, got {absent=}")
    return [found[name] for name in names]


def _unpacked(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the files in an archive, those of the archives in it too, named without folders."""
    if name.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for inner in archive.namelist():
                yield from _unpacked(inner, archive.read(inner))
    elif name.endswith((".tar.gz", ".tgz", ".tar")):
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            for member in archive:
                file = archive.extractfile(member)
                if file is not None:  # a folder
                    yield from _unpacked(member.name, file.read())
    elif name.endswith(".gz"):
        yield from _unpacked(name.removesuffix(".gz"), gzip.decompress(content))
    else:
        yield PurePosixPath(name).name, content
