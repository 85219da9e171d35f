"""The lowest versions: every bound is tried, none is invented."""

import re
import tomllib

import pytest

from tools.lowest_versions import AS_PINNED, ROOT, expand, lowest, lowest_versions

EXTRAS = {"plots": ["matplotlib>=3.8"], "all": ["own[plots,words]"], "words": ["rich>=13,<20"]}


def test_the_projects_own_extras_are_spelled_out():
    found = list(expand(["numpy>=1.26", "own[all]"], EXTRAS, "own"))
    assert found == ["numpy>=1.26", "matplotlib>=3.8", "rich>=13,<20"]


def test_an_unknown_extra_is_an_error():
    with pytest.raises(KeyError, match="nothing"):
        list(expand(["own[nothing]"], EXTRAS, "own"))


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ("numpy>=1.26", "numpy==1.26"),
        ("rich>=13,<20", "rich==13"),
        ("psutil", "psutil"),
        ("torch>=2.4", "torch==2.13.0"),
    ],
)
def test_a_lower_bound_becomes_the_version(requirement, expected):
    assert lowest(requirement, {"torch": "torch==2.13.0", "numpy": "numpy==2.4.6"}) == expected


def test_every_bound_that_users_get_is_tried():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    groups = [project["dependencies"], *(extras[name] for name in ("all", "compare", "demo"))]
    given = {r for group in groups for r in expand(group, extras, project["name"])}
    tried = set(lowest_versions("test"))
    for requirement in given:
        name, bound, version = requirement.partition(">=")
        assert bound, f"{requirement} has no lower bound"
        assert name in AS_PINNED or f"{name}=={version}" in tried
    assert not any(re.search("[<>]", line) for line in tried)
