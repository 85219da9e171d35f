"""What the README and the site show is true: blocks run, links lead somewhere, names exist."""

import ast
import re
import shutil
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest
import typer

import sasanet
from bench import accuracy_page, faithful_page, page
from cli_run import done
from paper import page as paper_page
from sasanet.cli.app import app

ROOT = Path(__file__).parent.parent
DOCS, SOURCE = ROOT / "docs", ROOT / "src" / "sasanet"
sys.path.insert(0, str(DOCS))  # the scripts that make pages

import make_api  # noqa: E402
import make_llms  # noqa: E402

FOLDERS = (DOCS, DOCS / "guides", DOCS / "measured")
WRITTEN = [path for folder in FOLDERS for path in sorted(folder.glob("*.md"))]
PAGES = [ROOT / "README.md", *WRITTEN]
GUIDE = DOCS / "guides" / "command_line.md"
HOW = DOCS / "how_it_works.md"
GALLERY = sorted((DOCS / "gallery").glob("*.py"))
MADE = {DOCS / "api" / "index.rst", DOCS / "examples" / "index.rst"}  # by `make docs`

BLOCK = re.compile(r"^```([\w{}-]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SAID = re.compile(r"^print\((.*)\)  # (True|False)\b", re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
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


@pytest.mark.parametrize("page", with_python(), ids=lambda page: page.name)
def test_its_python_blocks_run(page, tmp_path, monkeypatch):
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    run_blocks(page.read_text("utf-8"), page.name)
    pyplot.close("all")


def test_most_pages_have_python_blocks():
    guides = {"quickstart", "fitting", "explaining", "auditing", "missing", "posthoc",
              "coming_from_shap", "README"}  # fmt: skip
    assert guides <= {page.stem for page in with_python()}


def test_blocks_share_names_keep_their_word_and_break_at_the_line_of_the_page():
    page = "# A page\n\n```python\na = 1\n```\n\n```{note}\n-\n```\n\n```bash\nfalse\n```\n\n```python\nb = a + 1\n```\n"
    assert run_blocks(page, "page.md")["b"] == 2
    with pytest.raises(AssertionError, match="b == 2"):
        run_blocks(page.replace("b = a + 1", "b = a\nprint(b == 2)  # True"), "page.md")
    with pytest.raises(ZeroDivisionError) as error:
        run_blocks(page.replace("a + 1", "a / 0"), "page.md")
    assert error.traceback[-1].lineno + 1 == 16


# --- links -----------------------------------------------------------------------------------


def anchor(heading):
    """Return what GitHub calls a heading in an address."""
    words = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return words.replace(" ", "-")


def dead_links(text, folder):
    for link in LINK.findall(text):
        if "://" in link:
            continue
        name, _, place = link.partition("#")
        target = folder / name if name else None
        if target is not None and target.resolve() in MADE:
            continue
        if target is not None and not target.exists():
            yield link
        elif place:
            there = text if target is None else target.read_text("utf-8")
            if place not in map(anchor, re.findall(r"^#+ (.*)$", there, re.MULTILINE)):
                yield link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_place_in_the_code_it_names_exists(page):
    assert list(lost_hops(page.read_text("utf-8"))) == []


def test_lost_places_are_noticed():
    page = (
        "`estimator/tabular.py:TabularModel.fit` `estimator/gone.py:fit` `persistence/model.py:no`"
    )
    assert list(lost_hops(page)) == ["estimator/gone.py:fit", "persistence/model.py:no"]


def test_the_walk_names_a_place_on_every_hop():
    text = (DOCS / "architecture.md").read_text("utf-8")
    for walk in ("fit", "predict", "explain", "report"):
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


# --- the API reference, llms.txt, the measured pages -----------------------------------------


def documented(folder):
    """Return what the pages of the reference document, by module, with its members."""
    found = {}
    for path in folder.glob("sasanet*.rst"):
        entries = re.findall(
            r"^\.\. auto\w+:: (\w+)\n(?:   :members: (.*))?", path.read_text(), re.M
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
    for path in WRITTEN[1:]:
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
    pytest.importorskip("sphinx_gallery", reason="the site needs pip install '.[docs]'")
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
