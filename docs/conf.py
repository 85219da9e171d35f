"""Sphinx's settings; ``make docs`` builds the site offline, with warnings as errors."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
os.environ.setdefault("MPLBACKEND", "agg")

import make_api

import sasanet

project = "sasanet"
author = "the authors of sasanet"
version = release = sasanet.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery", "examples/**.ipynb", "examples/**.py", "examples/**.json"]
nitpicky = True
nitpick_ignore_regex = [
    # Other projects are not fetched: the site builds offline, so their names stay plain text.
    (r"py:.*", r"(collections|typing|pathlib|types|np|npt|numpy|pd|pandas|torch|sklearn)\..*"),
    (r"py:.*", r"(Any|Self|Path|Sequence|Callable|Mapping|NDArray|ArrayLike|Axes|Tensor)"),
]

# --- Markdown ------------------------------------------------------------------------------------

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

# --- the API reference ---------------------------------------------------------------------------

autosummary_generate = False  # make_api.py writes the pages
autodoc_typehints = "none"  # numpydoc's sections say the types, in words
numpydoc_show_class_members = False  # make_api.py names them
make_api.write_pages()

# --- the gallery ---------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "filename_pattern": r"\.py",  # every example is run
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "capture_repr": ("_repr_html_",),  # tables; a plot shows itself
    "thumbnail_size": (440, 330),
    "min_reported_time": 1000,
    "remove_config_comments": True,
}
warnings.filterwarnings("error", category=DeprecationWarning, module="sasanet")

# --- the pages -----------------------------------------------------------------------------------

html_theme = "furo"
html_title = f"sasanet {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_copyright = html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
