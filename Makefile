# `make demo` and `make test` do everything on a fresh machine: each builds its own environment first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOWEST := .venv-lowest
TABLES := $(addprefix paper-,prediction masking timing values figures)
# One test process per core, one thread in each: torch's threads only wait for each other when all cores are busy.
JOBS ?= $(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
test test-lowest coverage: export OMP_NUM_THREADS := 1
PARALLEL := --numprocesses $(JOBS) --dist worksteal

.PHONY: demo test test-lowest coverage browser browser-on-ci lint types check hooks clean bench-core bench-faithful bench-accuracy bench-stream paper $(TABLES) paper-quick picture
.DEFAULT_GOAL := test

# One environment for everything; rebuilt when the requirements change.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable '.[dev]'
	touch $(READY)

demo: $(READY)
	$(BIN)/python -m sasanet.cli.demonstration

test: check browser-on-ci
	$(BIN)/python -m pytest $(PARALLEL)

# Lines of the package that no test runs, by file; fewer than 95 % covered is an error.
coverage: $(READY) browser-on-ci
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(PARALLEL)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# The same tests with the lowest versions that pyproject.toml allows, in an environment of their own. Old packages do
# not know what newer ones deprecated since: such warnings are not ours.
test-lowest: $(LOWEST)/.ready
	$(LOWEST)/bin/python -m pytest $(PARALLEL) \
		-W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning -W ignore::FutureWarning

$(LOWEST)/.ready: pyproject.toml constraints.txt tools/lowest_versions.py
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --upgrade pip
	$(LOWEST)/bin/python tools/lowest_versions.py test > $(LOWEST)/lowest.txt
	cat $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet -r $(LOWEST)/lowest.txt --editable .
	touch $@

# The report's tests open it in a real browser and are skipped without one. Only this step installs it, Debian's
# Chromium as root; `make test` takes it on continuous integration alone, and NO_BROWSER=1 refuses it everywhere.
browser:
	@if [ "$(NO_BROWSER)" = 1 ]; then echo "NO_BROWSER=1: no browser is installed, tests that need one are skipped"; \
	elif command -v chromium; then echo "Chromium is here already"; \
	elif [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
		echo "Chromium is missing, and only root can install it here, with apt-get: please install it by hand"; \
	else \
		echo "Installing Debian's package chromium: apt-get install --no-install-recommends chromium"; \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; \
	fi

ifeq ($(CI),true)
browser-on-ci: browser
else
browser-on-ci:
	@command -v chromium >/dev/null || echo "No Chromium: tests that need a browser are skipped ('make browser' installs it)"
endif

check: lint types

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

# Every commit is checked from now on.
hooks: $(READY)
	$(BIN)/pre-commit install

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
	rm -rf $(VENV) $(LOWEST) demo-output htmlcov .coverage .coverage.*
