# `make demo` and `make test` do everything on a fresh machine: each builds its own environment first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TABLES := $(addprefix paper-,prediction masking timing values figures)

.PHONY: demo test browser lint types check clean bench-core bench-faithful bench-accuracy bench-stream paper $(TABLES) paper-quick picture
.DEFAULT_GOAL := test

# One environment for everything; rebuilt when the requirements change.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable '.[dev]'
	touch $(READY)

demo: $(READY)
	$(BIN)/python -m sasanet.cli.demonstration

test: check browser
	$(BIN)/python -m pytest

# The report's tests open it in a real browser: where there is none and we may, Debian's Chromium is installed.
browser:
	command -v chromium >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
		{ apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; }

check: lint types

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

# Long measurements, by hand: they write bench/results/*/*.json and a page in docs, resuming where they stopped.
bench-core: $(READY)
	$(BIN)/python -m bench.core

bench-faithful: $(READY)
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable '.[bench]'
	$(BIN)/python -m bench.faithful

bench-accuracy: $(READY)
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable '.[bench]'
	$(BIN)/python -m bench.accuracy
	$(BIN)/python -m bench.fit_time

bench-stream: $(READY) browser
	$(BIN)/python -m bench.stream

# The paper's experiments, all or those of one table: SASANET_DATA names the directory of the data sets, SASANET_FETCH=1 fetches
# all but Higgs. The quick ones are the same on small samples.
paper $(TABLES): $(READY)
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable '.[bench]'
	$(BIN)/python -m paper.run $(patsubst paper-%,%,$(filter paper-%,$@))

paper-quick: $(READY)
	SASANET_PAPER=quick $(BIN)/python -m paper.run

# The picture in the README, from a real browser.
picture: $(READY) browser
	$(BIN)/python -m bench.picture

clean:
	rm -rf $(VENV) demo-output
