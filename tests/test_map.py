"""The map of rooms: imports go one way, folders and files stay readable, all maps agree."""

import ast
import re
import subprocess
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "sasanet"
MAP = ast.get_docstring(ast.parse((SOURCE / "__init__.py").read_text("utf-8")))
ROOMS = re.findall(r"^- ``(\w+)``: ", MAP, re.M)  # from the ground up: the one source of the map
UPWARD = {  # what a user finds as a method of an object, though its code stands higher
    ("sasanet.estimator.certified", "audit"): "model.audit(X) belongs to the model",
    ("sasanet.estimator.certified", "persistence"): "model.save(path) and load belong to the model",
    ("sasanet.estimator.certified", "onnx"): "model.to_onnx(path) belongs to the model",
    ("sasanet.audit.certificate", "plots"): "audit.plot() belongs to the certificate",
}
MATHEMATICS = ("network", "training")
FORBIDDEN = {  # packages that a room must not load when it is imported
    **dict.fromkeys(MATHEMATICS, ("pandas", "sklearn", "matplotlib")),
    "explanation": ("torch", "matplotlib", "sklearn"),
    "shapley": ("torch", "sklearn"),
    "posthoc": ("torch", "sklearn"),
    "plots": ("torch", "matplotlib"),
    "report": ("torch", "matplotlib"),
    "table": ("torch",),
    "datasets": ("torch",),
    "baselines": ("matplotlib",),
    "cli": ("torch",),
}
EXCEPT = {  # module or folder: what it may load all the same
    "sasanet.posthoc.fastshap": ("torch",),  # an explainer that is trained
}


def module_of(path):
    """Return the dotted name of a file of the package."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module):
    return module.split(".")[1]


def files():
    return [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__init__.py"]


def imported(nodes):
    """Yield the dotted names that these nodes import, relative ones excluded."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            if node.module.split(".")[0] == "sasanet":
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def everywhere(tree):
    """Return what a module imports, inside functions and for type checkers too."""
    return imported(ast.walk(tree))


def when_read(tree):
    """Return what a module imports as soon as it is read."""
    return imported(tree.body)


def upward(module, found):
    """Yield imports from a room that stands higher, but for those with a reason."""
    for name in found:
        parts = name.split(".")
        other = parts[1] if parts[0] == "sasanet" and len(parts) > 1 else None
        higher = other in ROOMS and ROOMS.index(other) > ROOMS.index(room_of(module))
        if higher and (module, other) not in UPWARD:
            yield f"{module} imports upward: {name}"


def forbidden(module, found):
    """Yield packages that a module must not load when it is read."""
    allowed = [names for part, names in EXCEPT.items() if module.startswith(part)]
    for name in found:
        package = name.split(".")[0]
        if package in FORBIDDEN.get(room_of(module), ()) and not any(
            package in names for names in allowed
        ):
            yield f"{module} must not load {name}"


@pytest.mark.parametrize("path", files(), ids=module_of)
def test_imports_go_one_way(path):
    tree, module = ast.parse(path.read_text("utf-8")), module_of(path)
    assert list(upward(module, everywhere(tree))) == []
    assert list(forbidden(module, when_read(tree))) == []


def test_the_check_notices_an_upward_and_a_forbidden_import():
    inside = ast.parse("def f():\n    from sasanet.estimator import tabular\n")
    assert list(upward("sasanet.network.sasanet", everywhere(inside)))
    assert not list(upward("sasanet.cli.app", everywhere(inside)))
    assert list(forbidden("sasanet.network.sasanet", ["pandas"]))
    assert list(forbidden("sasanet.posthoc.lime", ["torch"]))
    assert not list(forbidden("sasanet.posthoc.fastshap.model", ["torch"]))


def test_every_exception_is_needed():
    for module, other in UPWARD:
        path = SOURCE.parent / (module.replace(".", "/") + ".py")
        names = everywhere(ast.parse(path.read_text("utf-8")))
        assert any(name.startswith(f"sasanet.{other}") for name in names), (module, other)


def graph():
    """Return which modules each module imports when it is read."""
    modules = {module_of(path): path for path in files()}
    found = {}
    for module, path in modules.items():
        names = when_read(ast.parse(path.read_text("utf-8")))
        found[module] = {name for name in names if name in modules and name != module}
        found[module] = {name for name in found[module] if not module.startswith(name + ".")}
    return found


def test_no_module_imports_itself_in_a_circle():
    TopologicalSorter(graph()).prepare()
    with pytest.raises(CycleError):  # the twin
        TopologicalSorter(graph() | {"sasanet.arrays": {"sasanet.persistence"}}).prepare()


# --- the maps agree ------------------------------------------------------------------------------


def test_the_map_names_every_room_and_no_other():
    there = {p.stem if p.is_file() else p.name for p in SOURCE.iterdir() if is_room(p)}
    assert set(ROOMS) == there
    assert max(Counter(ROOMS).values()) == 1


def is_room(path):
    if path.is_dir():
        return (path / "__init__.py").exists()
    return path.suffix == ".py" and path.stem != "__init__"


def picture():
    """Return the README's picture of the rooms."""
    text = (ROOT / "README.md").read_text("utf-8")
    return re.search(r"```mermaid\n(.*?)```", text, re.S)[1]


def arrows(text):
    """Return the pairs of rooms that the picture joins, and the room on every box."""
    boxes = dict(re.findall(r"(\w+)\[\"?<b>(\w+)</b>", text))
    pairs = re.findall(r"(\w+) -->(?:\|[^|]*\|)? (\w+)", text)
    return boxes, [(boxes[a], boxes[b]) for a, b in pairs]


def test_the_readmes_picture_shows_rooms_of_the_map():
    boxes, pairs = arrows(picture())
    assert pairs
    assert set(boxes.values()) <= set(ROOMS)
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and is_room(path)}
    assert folders <= set(boxes.values()), "every folder has a box"
    for lower, higher in pairs:
        assert ROOMS.index(lower) < ROOMS.index(higher), (lower, higher)


def test_a_picture_with_an_arrow_back_would_be_noticed():
    _, pairs = arrows('a["<b>table</b>"] --> b["<b>errors</b>"]\na --> b\n')
    assert any(ROOMS.index(lower) > ROOMS.index(higher) for lower, higher in pairs)


def test_every_folder_of_the_tests_is_a_room():
    tests = ROOT / "tests"
    folders = [p for p in tests.rglob("*") if p.is_dir() and any(p.glob("test_*.py"))]
    for folder in folders:
        part = folder.relative_to(tests)
        assert (SOURCE / part).is_dir() or (ROOT / part).is_dir(), part


# --- everything stays readable -------------------------------------------------------------------


@pytest.mark.parametrize("path", files(), ids=module_of)
def test_files_stay_below_four_hundred_lines(path):
    assert len(path.read_text("utf-8").splitlines()) <= 400
    assert path.stem not in {"utils", "misc", "common", "base", "helpers"}


def test_no_folder_has_more_than_twelve_files():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    paths = [Path(line) for line in listed.stdout.splitlines() if (ROOT / line).exists()]
    if not paths:
        pytest.skip("not a checkout of the repository")
    own = [p for p in paths if p.parts[0] != "tests" and not {"results", "figures"} & set(p.parts)]
    counts = Counter(p.parent for p in own if p.name != "__init__.py" and len(p.parts) > 1)
    assert {folder: count for folder, count in counts.items() if count > 12} == {}
