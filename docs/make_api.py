"""Write the pages of the API reference from ``__all__``: one page for each public module.

The modules that ``sasanet.__all__`` names are public, and in each of them what its own ``__all__``
names. No list is kept by hand, so none can be out of date. Sphinx calls :func:`write_pages` before
it reads its sources; git does not keep the pages.
"""

from __future__ import annotations

import inspect
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import sasanet

FOLDER = Path(__file__).parent / "api"
_INTRODUCTION = (
    "Every public name. What stands in no ``__all__`` is not part of the API and may change without"
    " notice. Estimators also have what scikit-learn gives each of them: ``get_params``,"
    " ``set_params``, ``score`` and metadata routing."
)
_TABLE = [".. list-table::", "   :widths: auto", ""]
_TOP = "The names most users need; the other public modules have their own pages."


def public_modules() -> list[ModuleType]:
    """Return the package itself and the modules that its ``__all__`` names."""
    inside = (getattr(sasanet, name) for name in sorted(sasanet.__all__))
    return [sasanet, *(part for part in inside if inspect.ismodule(part))]


def public_names(module: ModuleType) -> list[str]:
    """Return the names of a module that are no modules themselves."""
    return [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]


def public_members(cls: type) -> list[str]:
    """Return the methods and properties that this package gives a class, in their order."""
    names = dict.fromkeys(name for base in cls.__mro__ for name in vars(base))
    return [name for name in names if not name.startswith("_") and _is_ours(cls, name)]


def _is_ours(cls: type, name: str) -> bool:
    """Tell whether a member is a method or property written in this package."""
    member = next(vars(base)[name] for base in cls.__mro__ if name in vars(base))
    function = getattr(member, "fget", None) or getattr(member, "__func__", member)
    return inspect.isfunction(function) and function.__module__.startswith("sasanet.")


def write_pages(folder: Path = FOLDER) -> None:
    """Replace the folder by one page for each public module and an index of them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    modules = public_modules()
    pages = {module.__name__: page_of(module) for module in modules}
    for name, text in (pages | {"index": _index(modules)}).items():
        (folder / f"{name}.rst").write_text(text, encoding="utf-8")


def page_of(module: ModuleType) -> str:
    """Return the page of one module: what it is for, its names at a glance, then one by one."""
    name, names = module.__name__, public_names(module)
    about = _TOP if module is sasanet else f".. automodule:: {name}"
    lines = [*_title(name), about, "", f".. currentmodule:: {name}", "", *_TABLE]
    for one in names:
        lines += [f"   * - :py:obj:`{one}`", f"     - {first_line(getattr(module, one))}"]
    return "\n".join([*lines, "", *(_entry(one, getattr(module, one)) for one in names)])


def first_line(thing: Any) -> str:
    """Return the first line of a docstring, or what there is to say of plain data."""
    if isinstance(thing, dict):
        return f"{', '.join(f'``{key}``' for key in thing)}: by name."
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        return "A type."
    return (inspect.getdoc(thing) or "").split("\n", 1)[0]


def _entry(name: str, thing: Any) -> str:
    """Return what makes Sphinx document one name."""
    if inspect.isclass(thing):
        members = ", ".join(public_members(thing))
        return f".. autoclass:: {name}\n" + (f"   :members: {members}\n" if members else "")
    if inspect.isroutine(thing):
        return f".. autofunction:: {name}\n"
    return f".. py:data:: {name}\n\n   {first_line(thing)}\n"


def _index(modules: list[ModuleType]) -> str:
    names = [module.__name__ for module in modules]
    lines = [*_title("API reference"), _INTRODUCTION, "", ".. toctree::", "   :hidden:", ""]
    lines += [*(f"   {name}" for name in names), "", *_TABLE]
    for module in modules:
        about = _TOP if module is sasanet else (inspect.getdoc(module) or "").split("\n", 1)[0]
        shown = ", ".join(f":py:obj:`~{module.__name__}.{one}`" for one in public_names(module))
        lines += [f"   * - :doc:`{module.__name__}`", f"     - {about}\n\n       {shown}"]
    return "\n".join(lines) + "\n"


def _title(text: str) -> list[str]:
    return [text, "=" * len(text), ""]
