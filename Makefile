# `make demo`, `make serve` and `make test` do everything on a fresh machine: each builds its own environment first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOWEST := .venv-lowest
RELEASE := .venv-release
TABLES := $(addprefix paper-,prediction masking timing values figures)
# One test process per core, one thread in each: torch's threads only wait for each other when all cores are busy.
JOBS ?= $(shell env -u OMP_NUM_THREADS nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
test tests cluster-tests test-lowest coverage torture: export OMP_NUM_THREADS := 1
BROWSER := $(firstword $(foreach name,chromium chromium-browser google-chrome,$(shell command -v $(name))))
PARALLEL := --numprocesses $(JOBS) --dist worksteal
BESIDE := --ignore=tests/ray
OLD := -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning -W ignore::FutureWarning

.PHONY: demo serve test tests cluster-tests test-lowest coverage dependencies browser browser-on-ci lint types check hooks docs clean bench-core bench-faithful bench-accuracy bench-ladder bench-practice bench-serve bench-scale bench-stream torture paper $(TABLES) paper-quick picture readme-table
.DEFAULT_GOAL := test

# One environment for everything; rebuilt when the requirements change.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable '.[dev]'
	touch $(READY)

demo: $(READY)
	$(BIN)/python -m sasanet.cli.demonstration

DEMO_MODEL := demo-output/model/model.json
$(DEMO_MODEL): | $(READY)
	$(BIN)/python -m sasanet.cli.demonstration

serve: $(DEMO_MODEL)
	$(BIN)/sasanet serve demo-output/model

# Types are checked beside the tests: the checker is one process.
test: lint browser-on-ci
	$(MAKE) --no-print-directory --jobs 2 types cluster-tests
	$(MAKE) --no-print-directory tests

tests: $(READY)
	$(BIN)/python -m pytest $(PARALLEL) $(BESIDE)

# Ray's tests have a process of their own: a cluster leaves signal handlers and processes behind, and uses both cores.
cluster-tests: $(READY)
	$(BIN)/python -m pytest tests/ray

# Lines of the package that no test runs, by file; fewer than 95 % covered is an error.
coverage: $(READY) browser-on-ci
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest tests/ray
	$(BIN)/coverage run -m pytest $(PARALLEL) $(BESIDE)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# The same tests with the lowest versions that pyproject.toml allows, in an environment of their own. Old packages do
# not know what newer ones deprecated since: such warnings are not ours.
test-lowest: $(LOWEST)/.ready
	$(LOWEST)/bin/python -m pytest tests/ray $(OLD)
	$(LOWEST)/bin/python -m pytest $(PARALLEL) $(BESIDE) $(OLD)

$(LOWEST)/.ready: pyproject.toml constraints.txt tools/lowest_versions.py
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --upgrade pip
	$(LOWEST)/bin/python tools/lowest_versions.py test > $(LOWEST)/lowest.txt
	cat $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet -r $(LOWEST)/lowest.txt --editable .
	touch $@

# What a release stands on: a bill of materials (CycloneDX) of the environment in dist, then the known vulnerabilities of
# its packages. Fails where a package has one, and says so where the package index, which knows them, cannot be asked.
ASK_INDEX := import requests; requests.get("https://pypi.org/pypi/pip/24.0/json", timeout=60).raise_for_status()
dependencies: $(READY) $(RELEASE)/.ready
	mkdir -p dist
	$(RELEASE)/bin/cyclonedx-py environment $(VENV) --output-file dist/bill-of-materials.json
	@$(RELEASE)/bin/python -c '$(ASK_INDEX)' 2> /dev/null || { echo "dist/bill-of-materials.json is written, but nobody was asked" \
		"for known vulnerabilities: pypi.org does not answer from here for single releases"; exit 1; }
	$(RELEASE)/bin/pip-audit --strict --skip-editable --path $$($(BIN)/python -c "import site; print(site.getsitepackages()[0])")

$(RELEASE)/.ready: constraints.txt
	$(PYTHON) -m venv --clear $(RELEASE)
	$(RELEASE)/bin/python -m pip install --quiet -c constraints.txt cyclonedx-bom pip-audit
	touch $@

# The report's tests open it in a real browser and are skipped without one. Only this step installs it, as root from
# Debian's packages; `make test` takes it on continuous integration alone (CI=true), and NO_BROWSER=1 refuses it everywhere.
browser:
ifeq ($(NO_BROWSER),1)
	@echo "NO_BROWSER=1: no browser is installed, and tests that need one are skipped"
else ifneq ($(BROWSER),)
	@echo "There is a browser: $(BROWSER)"
else ifneq ($(if $(shell command -v apt-get),$(shell id -u)),0)
	@echo "There is no browser, and only root can install one here: please install Chromium by hand"
else
	@echo "Installing Chromium from Debian's packages (NO_BROWSER=1 refuses it)"
	apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium
endif

ifeq ($(CI),true)
browser-on-ci: browser
else
browser-on-ci:
	@[ -n "$(BROWSER)" ] || echo "There is no browser: tests that need one are skipped ('make browser' installs it)"
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

# The site, offline, with warnings as errors: docs/_build/html/index.html. It runs the examples of the gallery.
docs: $(READY)
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable '.[docs]'
	$(BIN)/python docs/make_llms.py
	$(BIN)/python -m sphinx --fail-on-warning --keep-going docs docs/_build/html

# Long measurements, by hand: they write bench/results/*/*.json and a page in docs, resuming where they stopped.
bench-core: $(READY)
	$(BIN)/python -m bench.core

bench-faithful: $(READY)
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable '.[bench]'
	$(BIN)/python -m bench.faithful.run

bench-accuracy: $(READY)
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable '.[bench]'
	$(BIN)/python -m bench.accuracy.run
	$(BIN)/python -m bench.accuracy.fit_time
	$(BIN)/python -m bench.accuracy.calibration

# Accuracy by number of rows, beside tuned LightGBM.
bench-ladder: $(READY)
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable '.[bench]'
	$(BIN)/python -m bench.ladder.run

# Groups of columns, units of the probability and pairs of features: how true and how fast; and how stable reasons are.
bench-practice: $(READY)
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable '.[bench]'
	$(BIN)/python -m bench.practice.run

# Requests a second over HTTP beside a minimal server of LightGBM, on this machine alone.
bench-serve: $(READY)
	$(BIN)/python -m bench.serve.run

# Rows by the million: time, memory, truth, limits of time, kills. Ten million rows take hours: `python -m bench.scale.run large`.
bench-scale: $(READY)
	$(BIN)/python -m bench.scale.run

# Rows a second beside what explains boosted trees, one row at a time, and the learned module's truth and cost.
bench-speed: $(READY)
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable '.[bench]'
	$(BIN)/python -m bench.speed.run

bench-stream: $(READY) browser
	$(BIN)/python -m bench.stream

# Hostile input, damaged files, kills, full disks, signals, threads, poisoned pages: torture/results/*.json and
# docs/measured/reliability.md, resuming where they stopped. TORTURE=full has as many cases as a release needs.
TORTURE ?= small
torture: $(READY) browser
	$(BIN)/python -m torture --size $(TORTURE) --jobs $(JOBS)

# The paper's experiments, all or those of one table: SASANET_DATA names the directory of the data sets, SASANET_FETCH=1 fetches
# all but Higgs. The quick ones are the same on small samples.
paper $(TABLES): $(READY)
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable '.[bench]'
	$(BIN)/python -m paper.run $(patsubst paper-%,%,$(filter paper-%,$@))

paper-quick: $(READY)
	SASANET_PAPER=quick $(BIN)/python -m paper.run

# The README's table of measured figures, from the result files.
readme-table: $(READY)
	$(BIN)/python -m bench.readme_table

# The picture in the README, from a real browser.
picture: $(READY) browser
	$(BIN)/python -m bench.picture

clean:
	rm -rf $(VENV) $(LOWEST) $(RELEASE) demo-output htmlcov .coverage .coverage.* docs/_build docs/api docs/examples
