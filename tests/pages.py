"""The pages of the documentation, their blocks of code and their links."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS, SOURCE = ROOT / "docs", ROOT / "src" / "sasanet"
FOLDERS = (DOCS, DOCS / "guides", DOCS / "deploying", DOCS / "measured")
WRITTEN = [path for folder in FOLDERS for path in sorted(folder.glob("*.md"))]
PAGES = [ROOT / "README.md", *WRITTEN]
MADE = {DOCS / "api" / "index.rst", DOCS / "examples" / "index.rst"}  # by `make docs`

BLOCK = re.compile(r"^```([\w{}-]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def name_of(page):
    return page.name


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
