"""The live page: static files, read once, under a policy that lets nothing else run.

The style and two scripts are those of the report, which looks the same.
"""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter, Response

from sasanet.serve.limits import Refusal

_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
_OF_REPORT = {"report.css": "page.css", "arrays.js": "arrays.js", "figures.js": "figures.js"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)


def page_files() -> APIRouter:
    """Return the routes of the page and its files; any other name is no file."""
    router, known = APIRouter(include_in_schema=False), _read()

    @router.get("/")
    async def page() -> Response:
        return _answer("index.html", known)

    @router.get("/page/{name}")
    async def part(name: str) -> Response:
        return _answer(name, known)

    return router


def _read() -> dict[str, bytes]:
    package = files("sasanet")
    own = package.joinpath("serve", "page").iterdir()
    found = {file.name: file.read_bytes() for file in own if file.name.split(".")[-1] in _TYPES}
    template = package.joinpath("report", "template")
    return found | {name: template.joinpath(of).read_bytes() for name, of in _OF_REPORT.items()}


def _answer(name: str, known: dict[str, bytes]) -> Response:
    if name not in known:
        raise Refusal(404, "The page has no such part.")
    kind = f"{_TYPES[name.split('.')[-1]]}; charset=utf-8"
    return Response(known[name], media_type=kind, headers={"Content-Security-Policy": _POLICY})
