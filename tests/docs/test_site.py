"""The site: a reference of every public name, pages made from sources, a gallery, no warning."""

import ast
import re
import shutil
import subprocess
import sys
from importlib import import_module

import pytest

import sasanet
from bench import page
from bench.accuracy import page as accuracy_page
from bench.faithful import page as faithful_page
from pages import BLOCK, DOCS, ROOT, SOURCE, WRITTEN, dead_links
from paper import page as paper_page
from paper.sections import subsets

sys.path.insert(0, str(DOCS))  # the scripts that make pages

import make_api
import make_llms

GALLERY = sorted((DOCS / "gallery").glob("*.py"))


# --- the API reference, llms.txt, the measured pages -----------------------------------------


def documented(folder):
    """Return what the pages of the reference document, by module, with its members."""
    found = {}
    for path in folder.glob("sasanet*.rst"):
        entries = re.findall(
            r"^\.\. (?:auto|py:)\w+:: (\w+)\n(?:   :members: (.*))?", path.read_text(), re.M
        )
        found[path.stem] = {name: members.split(", ") for name, members in entries}
    return found


def test_the_reference_has_every_public_name_and_no_private_one(tmp_path):
    make_api.write_pages(tmp_path / "api")
    found = documented(tmp_path / "api")
    rooms = [
        name
        for name in sasanet.__all__
        if (SOURCE / name).exists() or (SOURCE / f"{name}.py").exists()
    ]
    assert set(found) == {"sasanet", *(f"sasanet.{name}" for name in rooms)}
    for module, names in found.items():
        public = import_module(module).__all__
        assert set(names) == set(public) - ({*rooms} if module == "sasanet" else set())
        members = [member for inner in names.values() for member in inner]
        assert not [name for name in (*names, *members) if name.startswith("_")]


def test_the_reference_has_the_members_users_call(tmp_path):
    make_api.write_pages(tmp_path / "api")
    names = documented(tmp_path / "api")["sasanet"]
    wanted = {"fit", "predict", "predict_proba", "explain", "value", "audit", "save", "load"}
    assert wanted <= set(names["SASANetClassifier"])
    assert {"reasons", "to_frame", "importance"} <= set(names["Explanation"])


def test_a_new_public_name_comes_into_the_reference(tmp_path, monkeypatch):
    from sasanet import datasets

    monkeypatch.setattr(datasets, "newcomer", len, raising=False)
    monkeypatch.setattr(datasets, "__all__", [*datasets.__all__, "newcomer"])
    make_api.write_pages(tmp_path / "api")
    assert "newcomer" in documented(tmp_path / "api")["sasanet.datasets"]


def test_llms_txt_is_up_to_date():
    told = "python docs/make_llms.py writes it anew"
    assert make_llms.FILE.read_text("utf-8") == make_llms.make_text(), told


def test_llms_txt_names_every_page_and_public_name():
    text = make_llms.FILE.read_text("utf-8")
    for path in WRITTEN:
        assert path.name == "index.md" or f"({path.relative_to(ROOT)})" in text
    for module in make_api.public_modules():
        assert all(f"- `{name}" in text for name in make_api.public_names(module))
    assert list(dead_links(BLOCK.sub("", text), ROOT)) == []


@pytest.mark.parametrize(
    ("maker", "results"),
    [(accuracy_page, "accuracy"), (faithful_page, "faithful"), (page, "core")],
    ids=["accuracy", "faithful", "benchmarks"],
)
def test_measured_pages_come_from_their_results(maker, results, tmp_path, monkeypatch):
    kept = maker.PAGE.read_text("utf-8")
    monkeypatch.setattr(maker, "PAGE", tmp_path / "page.md")
    maker.write_page(ROOT / "bench" / "results" / results)
    assert (tmp_path / "page.md").read_text("utf-8") == kept


def test_the_papers_page_comes_from_its_results(tmp_path, monkeypatch):
    (tmp_path / "docs" / "measured").mkdir(parents=True)
    monkeypatch.setattr(paper_page, "FOLDER", tmp_path / "paper")
    monkeypatch.setattr(subsets, "picture_folder", lambda: tmp_path)
    paper_page.write_page(ROOT / "paper" / "results")
    made, kept = (folder / "docs" / "measured" / "paper.md" for folder in (tmp_path, ROOT))
    assert made.read_text("utf-8") == kept.read_text("utf-8")


# --- the gallery and the site ----------------------------------------------------------------


@pytest.mark.parametrize("script", GALLERY, ids=lambda script: script.stem)
def test_an_example_is_well_formed_and_imports_public_names_only(script):
    tree = ast.parse(script.read_text("utf-8"))
    title, line = ast.get_docstring(tree).split("\n")[:2]
    assert line == "=" * len(title)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("sasanet"):
            public = set(import_module(node.module).__all__)
            assert {alias.name for alias in node.names} <= public


def test_there_are_examples_enough():
    assert len(GALLERY) >= 6


@pytest.mark.slow
def test_the_site_builds_without_warnings_and_has_every_public_name(tmp_path):
    """Without running the gallery, which `make docs` does."""
    pytest.importorskip("sphinx", reason="the site's own packages are not installed")
    from sphinx.util.inventory import InventoryFile

    made = shutil.ignore_patterns("_build", "api", "examples")
    sources = shutil.copytree(DOCS, tmp_path / "docs", ignore=made)
    command = [sys.executable, "-m", "sphinx", "-q", "--fail-on-warning", "--keep-going"]
    command += ["-D", "plot_gallery=0", sources, tmp_path / "html"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found = InventoryFile.loads((tmp_path / "html" / "objects.inv").read_bytes(), uri="").data
    names = {name for kind, entries in found.items() if kind.startswith("py:") for name in entries}
    for module in make_api.public_modules():
        wanted = {f"{module.__name__}.{name}" for name in make_api.public_names(module)}
        assert wanted - names == set()
    assert [name for name in names if "._" in name] == []
