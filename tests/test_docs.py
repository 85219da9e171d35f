"""What the README and the pages show is true: blocks run, links lead somewhere, names exist."""

import ast
import re
from collections import Counter

import pytest
import typer

from cli_run import done
from pages import BLOCK, DOCS, LINK, PAGES, ROOT, SOURCE, WRITTEN, dead_links, name_of
from sasanet.cli.app import app
from shared_fits import shared_fits

GUIDE = DOCS / "guides" / "command_line.md"
HOW = DOCS / "how_it_works.md"

SAID = re.compile(r"^print\((.*)\)  # (True|False)\b", re.MULTILINE)
COMMAND = re.compile(r"(?:^\$ |`)sasanet ([a-z][^`\n]*)", re.MULTILINE)
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
HOP = re.compile(r"`([\w/]+\.py):([\w.]+)`")
NOTE = "NOTE[DIFF]"
CITED = re.compile(
    r"(Eq\.|Lemma|Proposition|Theorem|Definition|Section|Appendix) \(?(\d[\d.]*|H)\b"
)


def blocks(text, language):
    """Yield the blocks of a language, each with the number of lines before its first."""
    for found in BLOCK.finditer(text):
        if found[1] == language:
            yield text.count("\n", 0, found.start(2)), found[2]


def run_blocks(text, name):
    """Run a page's Python blocks in one namespace; a traceback shows the lines of the page."""
    namespace = {"__name__": "__page__"}
    for line, code in blocks(text, "python"):
        exec(compile("\n" * line + code, name, "exec"), namespace)
        for expression, said in SAID.findall(code):
            assert str(eval(expression, namespace)) == said, expression
    return namespace


def with_python():
    return [page for page in PAGES if "```python" in page.read_text("utf-8")]


# --- blocks ----------------------------------------------------------------------------------


@pytest.mark.parametrize("page", with_python(), ids=name_of)
def test_its_python_blocks_run(page, tmp_path, monkeypatch):
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    with shared_fits():
        run_blocks(page.read_text("utf-8"), page.name)
    pyplot.close("all")


def test_most_pages_have_python_blocks():
    guides = {"quickstart", "fitting", "explaining", "speed", "auditing", "missing", "posthoc",
              "objectives", "deciding", "scale", "serving", "onnx", "mlflow",
              "coming_from_shap", "README"}  # fmt: skip
    assert guides <= {page.stem for page in with_python()}


def test_blocks_share_names_keep_their_word_and_break_at_the_line_of_the_page():
    page = "# A page\n\n```python\na = 1\n```\n\n```{note}\n-\n```\n\n"
    page += "```bash\nfalse\n```\n\n```python\nb = a + 1\n```\n"
    assert run_blocks(page, "page.md")["b"] == 2
    with pytest.raises(AssertionError, match="b == 2"):
        run_blocks(page.replace("b = a + 1", "b = a\nprint(b == 2)  # True"), "page.md")
    with pytest.raises(ZeroDivisionError) as error:
        run_blocks(page.replace("a + 1", "a / 0"), "page.md")
    assert error.traceback[-1].lineno + 1 == 16


# --- links -----------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_its_links_lead_to_files_and_headings(page):
    assert list(dead_links(page.read_text("utf-8"), page.parent)) == []


def test_dead_links_are_noticed():
    page = (
        "[a](no.md) [b](how_it_works.md#nowhere) [c](#here) [d](https://x.org) [e](#gone)\n# Here\n"
    )
    assert list(dead_links(page, DOCS)) == ["no.md", "how_it_works.md#nowhere", "#gone"]


def test_the_readme_or_the_index_links_every_page():
    linked = {(page.parent / link.split("#")[0]).resolve()
              for page in (ROOT / "README.md", DOCS / "index.md")
              for link in LINK.findall(page.read_text("utf-8"))}  # fmt: skip
    assert {*WRITTEN} - linked == {DOCS / "index.md"}


# --- the command line ------------------------------------------------------------------------


def options(command):
    """Return the options a command has, those of every command included."""
    of_all = {"--help"}
    return of_all | {
        name for param in command.params for name in (*param.opts, *param.secondary_opts)
    }


def strange_words(text, commands):
    """Yield the commands and options a page shows that do not exist."""
    for line in COMMAND.findall(text):
        name = line.split()[0]
        if name not in commands:
            yield name
            continue
        known = options(commands[name])
        yield from (f"{name} {word}" for word in OPTION.findall(line) if word not in known)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_commands_it_shows_exist(page):
    commands = typer.main.get_command(app).commands
    assert list(strange_words(page.read_text("utf-8"), commands)) == []


def test_the_guide_has_every_command_and_no_strange_option():
    root = typer.main.get_command(app)
    text = GUIDE.read_text("utf-8")
    assert len(COMMAND.findall(text)) > len(root.commands)
    prose = BLOCK.sub("", text)
    known = options(root).union(*map(options, root.commands.values()), {"--install-completion"})
    assert set(OPTION.findall(prose)) - known == set()
    for name in root.commands:
        assert f"## {name}" in text
        done(name, "--help")


def test_strange_commands_and_options_are_noticed():
    page = "$ sasanet guess m\n$ sasanet predict m t --colour red --out p\n`sasanet tell`"
    commands = typer.main.get_command(app).commands
    assert list(strange_words(page, commands)) == ["guess", "predict --colour", "tell"]


# --- how it works ----------------------------------------------------------------------------


def section(text, title):
    """Return what stands under a heading, up to the next of its kind."""
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows(table):
    """Return the cells of a table's rows, without its head."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def sources():
    return {str(path.relative_to(SOURCE)): path.read_text("utf-8") for path in SOURCE.rglob("*.py")}


def noted(texts):
    """Count the marked differences of every file."""
    return Counter({name: text.count(NOTE) for name, text in texts.items() if NOTE in text})


def listed(page):
    """Count the differences a page lists, by file; each must say what is different, and why."""
    table = rows(section(page, "Every difference from the papers"))
    assert all(len(cells) == 4 and all(cells) for cells in table)
    return Counter(cells[0].split("`")[1] for cells in table)


def test_every_difference_in_the_source_is_listed():
    assert listed(HOW.read_text("utf-8")) == noted(sources())


def test_a_difference_that_is_not_listed_is_noticed():
    texts = sources()
    texts["malloc.py"] += f"\n# {NOTE}: because\n"
    assert listed(HOW.read_text("utf-8")) != noted(texts)


def names_in(body):
    """Yield the dotted names that a body of code defines, those inside classes included."""
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        if isinstance(node, ast.ClassDef):
            yield from (f"{node.name}.{inner}" for inner in names_in(node.body))
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def lost_hops(text):
    """Yield the places ``file.py:name`` of a page that do not exist."""
    for file, name in HOP.findall(text):
        path = SOURCE / file
        if not path.exists() or name not in names_in(ast.parse(path.read_text("utf-8")).body):
            yield f"{file}:{name}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_place_in_the_code_it_names_exists(page):
    assert list(lost_hops(page.read_text("utf-8"))) == []


def test_lost_places_are_noticed():
    page = (
        "`estimator/tabular.py:TabularModel.fit` `estimator/gone.py:fit` `persistence/model.py:no`"
    )
    assert list(lost_hops(page)) == ["estimator/gone.py:fit", "persistence/model.py:no"]


def test_the_walk_names_a_place_on_every_hop():
    text = (DOCS / "architecture.md").read_text("utf-8")
    for walk in ("fit", "predict", "explain", "report", "serve"):
        hops = re.findall(
            r"^(?:\d+\.|   -) .*(?:\n {3,}(?!-).*)*", section(text, walk), re.MULTILINE
        )
        assert len(hops) >= 3
        assert [hop for hop in hops if not HOP.search(hop)] == []


def test_every_equation_has_a_place():
    table = rows(section(HOW.read_text("utf-8"), "Where the paper's equations live"))
    assert [paper for paper, here in table if "`" not in here] == []


def test_every_equation_the_source_cites_is_in_the_table():
    table = section(HOW.read_text("utf-8"), "Where the paper's equations live")
    known = {(kind, number.strip(".")) for kind, number in CITED.findall(table)}
    cited = {(kind, number.strip("."))
             for text in sources().values() for kind, number in CITED.findall(text)}  # fmt: skip
    assert cited - known == set()
