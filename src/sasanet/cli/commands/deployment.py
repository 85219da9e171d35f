"""``sasanet serve``, ``explore`` and ``export``: a saved model put to work elsewhere."""

from __future__ import annotations

import threading
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from sasanet.cli import options
from sasanet.cli.files.writing import check_free
from sasanet.cli.terminal import Terminal, command

Models = Annotated[
    list[str],
    typer.Argument(
        metavar="MODEL...",
        help="Directories written by `fit`, each PATH or NAME=PATH.",
        show_default=False,
    ),
]
Keys = Annotated[
    Path | None,
    typer.Option(help="File with a line 'name sha256 [per minute]' per API key."),
]
Certificate = Annotated[Path | None, typer.Option(help="PEM certificate for TLS.")]
CertificateKey = Annotated[Path | None, typer.Option(help="PEM key of the certificate.")]
Origins = Annotated[
    list[str] | None,
    typer.Option(
        "--cors", metavar="ORIGIN", help="Site whose pages may read answers; may be repeated."
    ),
]


@command
def serve(
    terminal: Terminal,
    models: Models,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at.", min=0, max=65535)] = 8080,
    keys: Keys = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Listen beyond this machine without keys.")
    ] = False,
    certificate: Certificate = None,
    certificate_key: CertificateKey = None,
    max_rows: Annotated[int, typer.Option(help="Rows of one request.", min=1)] = 10_000,
    max_bytes: Annotated[int, typer.Option(help="Bytes of one body.", min=1)] = 8 * 2**20,
    max_seconds: Annotated[
        float, typer.Option(help="Seconds that an answer may take.", min=0.001)
    ] = 30.0,
    threads: Annotated[int, typer.Option(help="Threads that compute.", min=1)] = 1,
    docs: Annotated[
        bool, typer.Option("--docs", help="Show the API at /docs; its scripts come from a CDN.")
    ] = False,
    cors: Origins = None,
    log_bodies: Annotated[
        bool, typer.Option("--log-bodies", help="Write bodies into the log, rows and all.")
    ] = False,
) -> None:
    """Answer predictions and explanations over HTTP until told to stop.

    A model that is saved anew is loaded anew. SIGTERM and Ctrl-C finish what has begun.
    """
    from sasanet import serve as room
    from sasanet.serve.process import check_reach

    check_reach(host, keys is not None, insecure)
    app = room.make_app(
        models,
        keys=None if keys is None else room.Keys.read(keys),
        limits=room.Limits(rows=max_rows, body_bytes=max_bytes, answer_seconds=max_seconds),
        docs=docs,
        origins=cors or (),
        log_bodies=log_bodies,
    )
    scheme = "http" if certificate is None else "https"
    terminal.note(f"Serving at {scheme}://{host}:{port}; Ctrl-C stops.")
    room.run(
        app,
        host=host,
        port=port,
        certificate=certificate,
        certificate_key=certificate_key,
        threads=threads,
    )


@command
def explore(
    terminal: Terminal,
    model: options.ModelPath,
    table: options.TablePath,
    groups: options.GroupsFile = None,
    port: Annotated[int, typer.Option(help="Port to listen at.", min=0, max=65535)] = 8080,
    browser: Annotated[
        bool, typer.Option(help="Open the page; without, its address is only printed.")
    ] = True,
    encoding: options.Encoding = "utf-8",
) -> None:
    """Look at a model and a table's rows in the browser, on this machine alone.

    Choose a row, change it, switch features off, compare, see what would have to change.
    """
    from sasanet import serve as room
    from sasanet.cli.files.json_objects import read_object
    from sasanet.cli.files.model_rows import load_model, read_rows
    from sasanet.serve.process import free_port

    rows = read_rows(terminal, load_model(model, terminal), table, encoding, None).X
    grouped = read_object(groups, "--groups", '{"address": ["street", "zip"]}')
    name = model.resolve().name
    app = room.make_app(
        [f"{name}={model}"],
        explored={name: room.Explored(rows, grouped)},
        hosts=("127.0.0.1", "localhost"),
    )
    port = port or free_port()
    terminal.note(f"Open http://127.0.0.1:{port}; Ctrl-C stops.")
    if browser:
        threading.Timer(1, webbrowser.open, [f"http://127.0.0.1:{port}"]).start()
    room.run(app, port=port)


@command
def export(
    terminal: Terminal,
    model: options.ModelPath,
    out: Annotated[Path, typer.Argument(metavar="FILE", help="ONNX file to write.")],
    rows: Annotated[
        Path | None,
        typer.Option(help="Table to compare file and model on.", show_default=False),
    ] = None,
    attributions: Annotated[
        bool, typer.Option(help="Without them the file predicts only, in less time.")
    ] = True,
    page: Annotated[
        Path | None,
        typer.Option(help="HTML page to write too, in which the file runs.", show_default=False),
    ] = None,
    encoding: options.Encoding = "utf-8",
    force: options.Force = False,
) -> None:
    """Write a model as one ONNX file, to predict and explain without Python."""
    check_free(out, force, *([rows] if rows else []))
    if page is not None:
        check_free(page, force, out)
    from sasanet.cli.files.model_rows import load_model, read_rows

    fitted = load_model(model, terminal)
    X = None if rows is None else read_rows(terminal, fitted, rows, encoding, None).X
    errors = fitted.to_onnx(out, X, attributions)
    terminal.say(
        f"Written to {out}. On {errors['rows']} rows its predictions differ from the "
        f"model's by at most {errors['prediction']:.1g}."
    )
    if attributions:
        terminal.say(
            f"Its attributions differ by {errors['rmse']:.1g} (root mean square), at most "
            f"{errors['largest']:.1g}."
        )
    written = {"out": str(out), "errors": errors}
    if page is not None:
        from sasanet.onnx.page import write_page

        write_page(out, page)
        terminal.say(f"The page {page} runs it in a browser.")
        written["page"] = str(page)
    terminal.result(written)
