"""Facts of the project that stand in several files agree: versions, commands, hooks."""

import re
import tomllib
from pathlib import Path

import pytest

import sasanet

ROOT = Path(__file__).parent.parent
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def text(name):
    return (ROOT / name).read_text("utf-8")


def recipe(target):
    """Return the commands of one target of the Makefile."""
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)*)", MAKEFILE, re.MULTILINE)
    assert found, f"make {target} does not exist"
    return found[1]


def targets():
    """Return what `make` can be asked for, the paper's tables spelled out."""
    tables = re.search(r"TABLES := \$\(addprefix paper-,(.*)\)", MAKEFILE)[1].split()
    named = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[1].replace("$(TABLES)", "")
    return {*named.split(), *(f"paper-{table}" for table in tables)}


def commands(page):
    """Return the targets of `make` that a page names."""
    return set(re.findall(r"(?:`|^)(?:[A-Z_]+=\S+ )*make ([a-z][\w-]*)", page, re.MULTILINE))


def test_supported_versions_of_python_are_the_ones_tested():
    listed = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    matrix = re.search(r"python: \[(.*)\]", text(".github/workflows/test.yml"))[1]
    assert re.findall(r"[\d.]+", matrix) == listed
    assert PROJECT["requires-python"] == f">={listed[0]}"
    assert f"Python {listed[0]} to {listed[-1]}" in text("README.md")


@pytest.mark.parametrize("package", ["torch", "scikit-learn", "pandas", "NumPy"])
def test_the_readmes_lowest_versions_are_the_bounds(package):
    stated = re.search(rf"\b{package} ([\d.]+\d)", text("README.md"))[1]
    assert f"{package.lower()}>={stated}" in PROJECT["dependencies"]


def test_the_version_is_the_same_everywhere():
    assert f"version: {sasanet.__version__}" in text("CITATION.cff").splitlines()
    newest = re.search(r"^## (\S+)", text("CHANGELOG.md"), re.MULTILINE)[1]
    assert newest == sasanet.__version__
    assert f"| {sasanet.__version__.rpartition('.')[0]} " in text("SECURITY.md")


def test_the_hooks_run_what_make_check_runs():
    entries = re.findall(r"entry: make (\S+)", text(".pre-commit-config.yaml"))
    assert re.search(r"^check: (.*)$", MAKEFILE, re.MULTILINE)[1].split() == entries


def test_the_workflow_and_the_readme_run_the_same_command():
    assert "make browser test" in text(".ci/run").splitlines()
    assert "run: .ci/run" in text(".github/workflows/test.yml")
    assert "make test" in text("README.md")


def test_one_command_serves_the_model_that_the_demo_saves():
    folder = "demo-output/model"
    assert f"sasanet serve {folder}" in recipe("serve")
    assert f"`sasanet serve {folder}`" in text("README.md")
    made = re.search(r"^DEMO_MODEL := (.*)$", MAKEFILE, re.MULTILINE)[1]
    assert made == f"{folder}/model.json"
    assert '_OUTPUT = Path("demo-output")' in text("src/sasanet/cli/demonstration.py")


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_every_command_that_a_page_names_exists(page):
    assert commands(text(page)) - targets() == set()


def test_a_command_that_does_not_exist_would_be_noticed():
    assert commands("run `make nothing` or\nCI=true make checks\n") - targets() == {
        "nothing",
        "checks",
    }


def test_only_one_step_installs_a_browser_and_it_says_so():
    browser = MAKEFILE[MAKEFILE.index("\nbrowser:") : MAKEFILE.index("\nbrowser-on-ci:")]
    assert MAKEFILE.count("apt-get install") == browser.count("apt-get install") == 1
    assert browser.index("echo") < browser.index("apt-get install")
    assert "NO_BROWSER" in browser
    assert "apt-get" not in recipe("test")
