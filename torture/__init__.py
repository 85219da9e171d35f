"""Campaigns against the package: many small hostile cases by seed, their outcomes counted.

``make torture`` runs them and writes ``torture/results/*.json`` and docs/measured/reliability.md;
``python -m torture tables --seed 4711`` repeats one case alone.

- ``draw``: everything random in a case, by its seed
- ``case``: one case: a right answer, a clear refusal, or a defect
- ``clock``: time that a stopped process does not lose
- ``inputs``: random columns, labels, tables and table files of every kind
- ``models``: small fitted models, and what must hold of any
- ``jobs``: calls that are made to fail, and what must be left
- ``processes``: work in a child process that may be killed, limited or interrupted
- ``campaigns``: one file each, with ``run(seed)``
- ``runner``: seeds in worker processes, results in files, resumed where they stopped
- ``page``: result files in, the page out
"""
