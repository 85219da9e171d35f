"""The rooms keep their order: imports go downward, files stay readable."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "sasanet"
ROOMS = [  # from the ground up: a room may import only what stands before it
    "errors",
    "heap",
    "table",
    "encoder",
    "explanation",
    "posthoc",
    "explanation_file",
    "architecture",
    "coalitions",
    "contract",
    "bags",
    "ladders",
    "tokens",
    "marginal",
    "expectation",
    "closed_form",
    "attribution",
    "network",
    "portable",
    "sealing",
    "losses",
    "optimizer",
    "training",
    "recipe",
    "inference",
    "refinement",
    "fastshap",
    "targets",
    "teacher",
    "fitting",
    "tasks",
    "estimator",
    "models",
    "baselines",
    "audit",
    "persistence",
    "datasets",
    "plots",
    "report",
    "demo",
    "cli",
]
MATHEMATICS = (
    "coalitions",
    "contract",
    "bags",
    "ladders",
    "tokens",
    "marginal",
    "expectation",
    "closed_form",
    "attribution",
    "network",
    "losses",
    "optimizer",
    "training",
)
FORBIDDEN = {
    **dict.fromkeys(MATHEMATICS, ("pandas", "sklearn", "matplotlib")),
    "explanation": ("torch",),
    "posthoc": ("torch", "sklearn"),
    "fastshap": ("sklearn",),  # an explainer too, but trained: it stands above the networks
    "plots": ("torch",),
    "report": ("torch", "matplotlib"),
    "encoder": ("torch",),
    "datasets": ("torch",),
    "baselines": ("matplotlib",),
    "cli": ("torch",),
}


def room_of(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(tree):
    """Yield what a module imports when it is read; imports inside functions come later."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            if node.module == "sasanet":
                yield from (f"sasanet.{alias.name}" for alias in node.names)


def files():
    return [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__init__.py"]


def violations(room, found):
    position = ROOMS.index(room)
    for name in found:
        parts = name.split(".")
        if parts[0] in FORBIDDEN.get(room, ()):
            yield f"{room} must not know {name}"
        inside = parts[1] if parts[0] == "sasanet" and len(parts) > 1 else room
        if inside in ROOMS and ROOMS.index(inside) > position:
            yield f"{room} imports upward: {name}"


@pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)
def test_imports_go_downward(path):
    tree = ast.parse(path.read_text("utf-8"))
    assert list(violations(room_of(path), imports(tree))) == []


def test_the_check_notices_an_upward_and_a_forbidden_import():
    assert list(violations("network", ["pandas", "sasanet.estimator.sasanet"]))
    assert len(list(violations("network", ["pandas", "sasanet.estimator.sasanet"]))) == 2


def test_every_room_is_named_in_the_packages_docstring():
    text = ast.get_docstring(ast.parse((SOURCE / "__init__.py").read_text("utf-8")))
    missing = {room_of(path) for path in files()} - set(
        text.replace("``", " ").replace(",", " ").split()
    )
    assert missing - {"errors", "heap", "explanation_file", "plots"} == set()


@pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)
def test_files_stay_below_four_hundred_lines(path):
    assert len(path.read_text("utf-8").splitlines()) <= 400
    assert path.stem not in {"utils", "misc", "common", "base", "helpers"}
