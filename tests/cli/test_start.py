"""Starting is quick: help, completion and `import sasanet` load neither torch nor pandas."""

import ast
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import sasanet
from sasanet.cli.app import app

HEAVY = {"torch", "sklearn", "scipy", "pandas", "numpy", "matplotlib"}
COMMANDS = [command.callback.__name__ for command in app.registered_commands]
TELL = "print(*{name.split('.')[0] for name in sys.modules}, file=sys.stderr)"

ASK_ALL = """
from sasanet.cli import main
for words in {asked}:
    sys.argv = ["sasanet", *words]
    print(end="\\f")
    try:
        main()
    except SystemExit as ended:
        assert not ended.code
"""


def python(code, **environment):
    """Run code in a new interpreter; return what it printed and which packages it loaded."""
    code = f"import atexit, sys\natexit.register(lambda: {TELL})\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=os.environ | environment
    )
    *complaints, loaded = done.stderr.decode("utf-8").splitlines()
    assert complaints == []
    return done.stdout.decode("utf-8"), set(loaded.split())


def command_line(*words, **environment):
    """Run ``sasanet`` in a new interpreter."""
    code = f"sys.argv = ['sasanet', *{words}]\nfrom sasanet.cli import main\nmain()"
    return python(code, **environment)


# --- the command line ------------------------------------------------------------------------


def test_help_loads_nothing_heavy():
    """One interpreter asks for all: what any of them loads is loaded at the end."""
    asked = [["--help"], ["--version"], *([command, "--help"] for command in COMMANDS)]
    said, loaded = python(ASK_ALL.format(asked=asked))
    for words, answer in zip(asked, said.split("\f")[1:], strict=True):
        assert "sasanet" in answer, words
    assert loaded.isdisjoint(HEAVY)


@pytest.fixture(scope="module")
def unpickled():
    """Return what a new interpreter says of a pickled model, and what it has loaded for it."""
    packed = pickle.dumps(sasanet.SASANetClassifier(max_epochs=7))
    return python(f"import pickle\nprint(pickle.loads({packed}).max_epochs)")


def test_the_check_notices_what_a_model_loads(unpickled):
    assert unpickled[1] >= {"torch", "sklearn", "pandas"}


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("sasanet fi", ["fit"]),
        ("sasanet fit --pre", ["--preset"]),
        ("sasanet fit --preset b", ["best"]),
    ],
)
def test_the_shell_completes_words_without_loading_anything_heavy(typed, found):
    """Ask the way bash does."""
    place = str(typed.count(" "))
    asked = {"_SASANET_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": place}
    said, loaded = command_line(**asked)
    assert said.split() == found
    assert loaded.isdisjoint(HEAVY)


def test_an_out_that_exists_is_refused_before_anything_heavy_is_loaded(tmp_path):
    (tmp_path / "love.txt").write_text("dear", "utf-8")
    words = ["fit", "table.csv", "--target", "y", "--out", str(tmp_path)]
    code = "from typer.testing import CliRunner\nfrom sasanet.cli.app import app"
    said, loaded = python(f"{code}\nprint(CliRunner().invoke(app, {words}).stderr)")
    assert "got other files in" in said
    assert loaded.isdisjoint(HEAVY)


# --- the package -----------------------------------------------------------------------------


def shown_to_type_checkers(source):
    """Return the public names and their rooms that ``if TYPE_CHECKING:`` imports."""
    [block] = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    return {
        alias.asname: node.module.removeprefix("sasanet.")
        for node in block.body
        for alias in node.names
    }


def test_type_checkers_see_the_names_there_are():
    source = Path(sasanet.__file__).read_text("utf-8")
    there = sasanet._HOMES | dict.fromkeys(sasanet._ROOMS, "sasanet")
    assert shown_to_type_checkers(source) == there
    for line in (
        "from sasanet.persistence import load as load",
        "from sasanet import plots as plots",
    ):
        assert shown_to_type_checkers(source.replace(f"    {line}\n", "")) != there


def test_a_star_imports_every_public_name():
    namespace = {}
    exec("from sasanet import *", namespace)
    assert namespace.keys() - {"__builtins__"} == set(sasanet.__all__)


def test_the_package_lists_its_public_names_before_they_are_used():
    said, loaded = python("import sasanet\nprint(*dir(sasanet))")
    assert {*sasanet.__all__, "__version__"} <= set(said.split())
    assert loaded.isdisjoint(HEAVY)


def test_rooms_are_reached_through_the_package():
    said, loaded = python("import sasanet\nprint(sasanet.errors.InvalidInputError.__name__)")
    assert said.split() == ["InvalidInputError"]
    assert loaded.isdisjoint(HEAVY)


def test_ray_is_loaded_only_where_it_is_asked_for():
    """Its own room begins without it; a missing one would go unnoticed, so look for it first."""
    pytest.importorskip("ray", reason="Ray is not installed")
    _, loaded = python(
        "import sasanet.ray, sasanet.scale\nsasanet.ray.fit, sasanet.scale.explainer"
    )
    assert "torch" in loaded
    assert "ray" not in loaded
    _, loaded = python("from sasanet.errors import need_package\nneed_package('ray', 'ray')")
    assert "ray" in loaded  # the check can fail


def test_a_name_that_is_not_there_is_refused_as_python_does():
    with pytest.raises(AttributeError, match="module 'sasanet' has no attribute 'SASANet'"):
        _ = sasanet.SASANet
    with pytest.raises(ImportError, match="cannot import name 'SASANet'"):
        exec("from sasanet import SASANet")


def test_a_pickled_model_is_read_by_a_new_interpreter(unpickled):
    assert unpickled[0].split() == ["7"]
