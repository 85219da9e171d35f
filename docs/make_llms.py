"""Write ``llms.txt`` at the root of the repository: the package on one page, for language models.

Made from the same sources as the site: the first paragraph and the code of ``index.md``, the titles
and first sentences of its pages, and the docstrings of the public names. ``make docs`` runs it, and
a test tells when the file is out of date.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import make_api

import sasanet

DOCS = Path(__file__).parent
FILE = DOCS.parent / "llms.txt"
_TOCTREE = re.compile(r"```\{toctree\}\n(.*?)```", re.DOTALL)
_NOT_TEXT = ("#", "```", "|", "!", "-")
_ROLE = re.compile(r":\w+:`~?([^`]*)`")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def make_text() -> str:
    """Return the whole file."""
    index = _read("index")
    summary, code = _first_paragraph(index), re.search(r"```python\n.*?```", index, re.DOTALL)
    assert code is not None
    parts = [f"# {sasanet.__name__} {sasanet.__version__}", f"> {summary}", code[0], *_pages(index)]
    return "\n\n".join([*parts, _examples(), *_api()]) + "\n"


def _read(page: str) -> str:
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


def _first_paragraph(page: str) -> str:
    """Return the first paragraph below the title as plain text, on one line."""
    blocks = [block for block in page.split("\n\n")[1:] if not block.startswith(_NOT_TEXT)]
    return _LINK.sub(r"\1", " ".join(blocks[0].split())).replace("**", "")


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.?]) (?=[A-Z`])", text)[0]


def _pages(index: str) -> list[str]:
    """Return a section for each group of pages that the site has, but for generated ones."""
    sections = []
    for group in _TOCTREE.findall(index):
        caption, names = re.search(r":caption: (.*)", group), re.findall(r"^[a-z]\S*$", group, re.M)
        lines = [_page_line(name) for name in names if (DOCS / f"{name}.md").exists()]
        if lines and caption:
            sections.append("\n".join([f"## {caption[1]}", "", *lines]))
    return sections


def _page_line(name: str) -> str:
    text = _read(name)
    title = text.split("\n", 1)[0].removeprefix("# ")
    return f"- [{title}](docs/{name}.md): {_first_sentence(_first_paragraph(text))}"


def _examples() -> str:
    """Return the section of runnable examples, by the headings of the gallery's scripts."""
    lines = []
    for path in sorted((DOCS / "gallery").glob("*.py")):
        title = path.read_text(encoding="utf-8").split("\n")[1]
        lines.append(f"- [{title}](docs/gallery/{path.name})")
    return "\n".join(["## Examples", "", *lines])


def _api() -> list[str]:
    """Return a section for each public module: every name with its signature and first line."""
    sections = []
    for module in make_api.public_modules():
        lines = [f"## API: {module.__name__}", ""]
        for name in make_api.public_names(module):
            thing = getattr(module, name)
            lines.append(f"- `{name}{_signature(thing)}`: {_about(thing)}")
            if inspect.isclass(thing):
                lines += [_member_line(thing, one) for one in make_api.public_members(thing)]
        sections.append("\n".join(lines))
    return sections


def _member_line(cls: type, name: str) -> str:
    member = getattr(cls, name)
    return f"  - `{name}{_signature(member)}`: {_about(member)}"


def _signature(thing: object) -> str:
    """Return the parameters' names and defaults; their types stand in the docstrings."""
    is_error = inspect.isclass(thing) and issubclass(thing, BaseException)
    is_protocol = getattr(thing, "_is_protocol", False)
    if is_error or is_protocol or not (inspect.isclass(thing) or inspect.isroutine(thing)):
        return ""
    parameters = inspect.signature(thing).parameters.values()
    bare = [
        one.replace(annotation=inspect.Parameter.empty) for one in parameters if one.name != "self"
    ]
    return str(inspect.Signature(bare))


def _about(thing: object) -> str:
    """Return the first line that the reference has of it, as plain text."""
    return _ROLE.sub(r"`\1`", make_api.first_line(thing)).replace("``", "`")


if __name__ == "__main__":
    FILE.write_text(make_text(), encoding="utf-8")
