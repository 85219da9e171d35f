"""Print the lowest versions that ``pyproject.toml`` allows, one requirement per line.

``make test-lowest`` installs them: a lower bound that nobody tries is a guess.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Older CPU builds of torch are not on every index, and the others bring gigabytes of CUDA.
AS_PINNED = ("torch",)
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[(?P<extras>[\w,\s-]+)\])?(?P<bound>.*)")


def expand(requirements: list[str], extras: dict[str, list[str]], project: str) -> Iterator[str]:
    """Yield requirements on other packages, with the project's own extras spelled out."""
    for requirement in requirements:
        found = REQUIREMENT.fullmatch(requirement)
        if found is None:
            raise ValueError(f"a requirement must be a name and a bound, got {requirement!r}")
        if found["name"] != project:
            yield requirement
            continue
        for extra in found["extras"].split(","):
            yield from expand(extras[extra.strip()], extras, project)


def lowest(requirement: str, pinned: dict[str, str]) -> str:
    """Return a requirement at its lower bound, or as pinned where that is the rule."""
    name, bound, version = requirement.partition(">=")
    if name in AS_PINNED:
        return pinned[name]
    if not bound:
        return requirement  # no bound is claimed, so none is tried
    return f"{name}=={version.partition(',')[0]}"


def lowest_versions(extra: str) -> list[str]:
    """Return what the project and one of its extras need, at the lowest versions."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pinned = {line.partition("==")[0]: line for line in lines if "==" in line}
    asked = project["dependencies"] + project["optional-dependencies"][extra]
    everything = expand(asked, project["optional-dependencies"], project["name"])
    return sorted({lowest(requirement, pinned) for requirement in everything})


if __name__ == "__main__":
    sys.stdout.write("\n".join(lowest_versions(sys.argv[1])) + "\n")
