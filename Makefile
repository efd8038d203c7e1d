# PCN Lab. `make help` lists what there is; every target sets up what it needs first.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TARGET ?= softswitch
SCHEME ?= pcn
SEED ?= 7
ARGS ?=

# Containers often set it; then each of some thousand processes of `make test` compiles our modules anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup run victim fig5 figures test lint unit unit-as-it-goes ptf ptf-counter ptf-time ptf-trim ptf-coverage ptf-model p4 messages p4-tofino \
	bench-switch bench-virtual docs doctor lock clean differential dist sbom bare pythons lowest arm64

help: ## this list
	@echo "make TARGET [VARIABLE=value]"
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16 | sed 's/^/  /'
	@echo "Variables: TARGET=softswitch|bmv2  SCHEME=one of pcn scheme list  WORKERS=tests at once  ARGS='more options of the command'"

run: root $(VENV)/.ready ## the dumbbell on Mininet: real switches, real packets; table, plots and report
	$(BIN)/pcn run dumbbell --scheme $(SCHEME) --target $(TARGET) $(ARGS)

victim: root $(VENV)/.ready ## the victim flow (Fig. 1 to 3): three schemes on Mininet, one report; about three minutes
	$(BIN)/pcn run victim --target $(TARGET) $(ARGS)

fig5: root $(VENV)/.ready ## how fast a congested flow may send without PAUSE (Fig. 5), on Mininet; about a minute
	$(BIN)/pcn run fig5 --target $(TARGET) $(ARGS)

figures: $(VENV)/.ready ## the paper's figures in virtual time, all schemes; their pages into docs/results
	$(BIN)/pcn figure all --docs docs $(ARGS)

# PTF beside the unit tests, and what it prints in one piece each. pcn_time alone twice: `make ptf` runs all twice, and
# compares. Its coverage has to stay whole.
test: root $(VENV)/.tests lint ## everything that CI checks (needs root; some six minutes once installed)
	@$(MAKE) --no-print-directory -j 3 --output-sync=target ONCE=1 COVERAGE=1 ptf-counter ptf-time ptf-trim unit-as-it-goes
	@$(MAKE) --no-print-directory LEAST=100 ptf-coverage

unit-as-it-goes:
	@$(MAKE) --no-print-directory --output-sync=none unit

lint: $(VENV)/.ready ## style, types, spelling and words
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	git ls-files | xargs $(BIN)/codespell
	$(BIN)/python lint/prose.py
	$(BIN)/python lint/names.py
	git ls-files '*.c' '*.h' | xargs $(BIN)/clang-format --dry-run -Werror
	$(BIN)/mypy

# One worker more than cores, as tests wait, too: on two cores three take 4% less time than four.
WORKERS ?= $(shell expr $$(nproc) + 1)

# A worker that crashes has shown a fault, and ends the run: with another in its place pytest-xdist 3.8 waits for ever.
unit: root $(VENV)/.tests ## unit and live tests; ARGS are pytest's
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart 0 $(ARGS)

ptf: $(VENV)/.ready ## data-plane tests with PTF, on the switch's manual clock, twice; TARGET=bmv2 for the real BMv2, tofino-model for the chip's; COVERAGE=1: what of the programs they reach, into results/ptf
	@$(MAKE) --no-print-directory -j 2 --output-sync=target $(if $(filter tofino-model,$(TARGET)),ptf-model,ptf-counter ptf-time ptf-trim)
	$(if $(COVERAGE),@$(MAKE) --no-print-directory ptf-coverage)

TWICE := $(if $(filter softswitch,$(TARGET)),$(if $(findstring live,$(ARGS)),,--twice))

# Where a run of the tests counts what it reaches; $@ is the run.
COUNTS = $(if $(COVERAGE),--coverage results/ptf/$@.json)

ptf-counter:
	$(if $(COVERAGE),mkdir -p results/ptf)
	$(BIN)/python ptf-tests/run.py --target $(TARGET) $(if $(ONCE),,$(TWICE)) $(COUNTS) $(ARGS)

# The other marking point, by time.
ptf-time:
	$(if $(COVERAGE),mkdir -p results/ptf)
	$(BIN)/python ptf-tests/run.py --target $(TARGET) $(TWICE) $(COUNTS) --program pcn_time $(or $(ARGS),np_ecn pause xoff forwarding isolation malformed multipath)

# With short queues that trim, which BMv2 has none of.
ptf-trim:
	$(if $(COVERAGE),mkdir -p results/ptf)
	$(if $(filter softswitch,$(TARGET)),$(BIN)/python ptf-tests/run.py --trim $(if $(ONCE),,$(TWICE)) $(COUNTS) trimming)

# Of pcn.p4, tcd.p4, qcn*.p4 and the others, which share their files; LEAST: the share of lines, in per cent.
ptf-coverage:
	$(BIN)/pcn p4 coverage $(wildcard results/ptf/ptf-*.json) --source . --out results/ptf $(if $(LEAST),--least $(LEAST))

# The twins on the chip's model, which needs SDE_INSTALL; CLOCK=manual, on a model whose time and queues tests move, has
# all cases (docs/tofino.md). CHIP=tofino2: the model of Tofino 2.
MODEL := $(BIN)/python ptf-tests/run.py --target tofino-model $(if $(CHIP),--chip $(CHIP))
ANYWHERE := forwarding isolation malformed multipath xoff

ptf-model:
ifneq ($(ARGS),)
	$(MODEL) $(if $(CLOCK),--clock $(CLOCK)) --program pcn_time $(ARGS)
else ifeq ($(CLOCK),manual)
	$(MODEL) --clock manual --program pcn_time $(ANYWHERE) np_ecn np_ecn_time np_ecn_time_errors
	$(MODEL) --clock manual --program tcd_time tcd_time
	$(MODEL) --clock manual --program qcn qcn
	$(MODEL) --clock manual --program qcn_in qcn_in
else
	$(MODEL) --program pcn_time $(ANYWHERE)
endif

p4: $(VENV)/.ready ## compile p4src with p4c (has to be on PATH) into p4src/compiled
	$(BIN)/python p4src/build.py $(ARGS)

messages: $(VENV)/.ready ## descriptors and stubs of base/p4rt's .proto files, from their text
	$(BIN)/python lint/messages.py

p4-tofino: $(VENV)/.ready ## compile p4src/tna for Tofino with p4c's open backend (p4c-barefoot and bfas on PATH)
	$(BIN)/python p4src/build_tofino.py $(ARGS)

bench-switch: root $(VENV)/.ready ## packets a second through the embedded switch, and through BMv2 where there is one
	$(BIN)/python -m bench.switch $(ARGS)

bench-virtual: $(VENV)/.ready ## packets a second through switches in virtual time
	$(BIN)/python bench/virtual.py $(ARGS)

differential: root $(VENV)/.ready ## the embedded switch against the BMv2 that is installed, on new cases; SEED=7
	PCN_DIFFERENTIAL_SEED=$(SEED) $(BIN)/pytest judges/differential $(ARGS)

# For `make lock`, `dist` and `sbom`.
$(VENV)/tools/.ready: $(VENV)/.ready tools.lock
	$(PYTHON) -m venv $(@D) && $(@D)/bin/pip -q install --require-hashes --only-binary :all: -r tools.lock
	@touch $@

docs: $(VENV)/.ready ## the documentation site, into results/docs/site: pages, commands, Python; opens without a server
	$(BIN)/python docs/site.py results/docs

notebook: $(VENV)/.ready ## what the cells of examples/python.ipynb show, into it
	$(BIN)/python release/notebook.py

dist: $(VENV)/tools/.ready ## a release of git's commit, into dist/: source archive, wheel, wheels with compiled objects; equal each time
	$(BIN)/python release/dist.py dist "$(CURDIR)/$(VENV)/tools/bin/python -m ziglang cc"

sbom: $(VENV)/tools/.ready ## what the lock pins, and what is installed, with licences: CycloneDX files, into results/sbom
	mkdir -p results/sbom
	$(VENV)/tools/bin/cyclonedx-py requirements requirements.lock --output-reproducible -o results/sbom/lock.cdx.json
	$(VENV)/tools/bin/cyclonedx-py environment $(VENV)/bin/python --output-reproducible -o results/sbom/installed.cdx.json

doctor: $(VENV)/.ready ## what is present, what is missing, the command that brings it
	$(BIN)/pcn doctor

setup: $(VENV)/.ready ## install what the project needs: Debian packages (as root), Python packages into .venv

# Commands that come from Debian and Ubuntu packages. Only what is missing is installed.
$(VENV)/.ready: requirements.lock pyproject.toml setup.sh
	@PYTHON=$(PYTHON) bash setup.sh $(VENV)
	@touch $@

# ... and from those that only tests need: a browser, shells, tshark.
$(VENV)/.tests: requirements.lock pyproject.toml setup.sh
	@PYTHON=$(PYTHON) bash setup.sh $(VENV) tests
	@touch $(VENV)/.ready $@

.PHONY: root
root:
	@[ "$$(id -u)" = 0 ] || { echo "make $(MAKECMDGOALS): needs root, for network namespaces and veth pairs. Run: sudo make $(MAKECMDGOALS)" >&2; exit 1; }

LOCK = $(VENV)/tools/bin/python release/lock.py
ALL_PYTHONS := --universal --python-version 3.10

# The image and the action install parts of the first one (release/part.sh); the lowest is for the lowest Python alone.
lock: $(VENV)/tools/.ready ## pin the newest versions that pyproject.toml allows, the lowest (lowest.lock), the tools, and the names of parts
	$(LOCK) requirements.lock $(ALL_PYTHONS) --all-extras pyproject.toml
	$(LOCK) lowest.lock --python-platform linux --python-version 3.10 --all-extras --resolution lowest-direct pyproject.toml
	$(LOCK) release/image.txt $(ALL_PYTHONS) -c requirements.lock --extra figures --extra parquet --extra web --extra yaml pyproject.toml
	printf '%s\n' ptf scapy setuptools | $(LOCK) release/action.txt $(ALL_PYTHONS) -c requirements.lock pyproject.toml -
	printf '%s\n' cyclonedx-bom uv ziglang | $(LOCK) tools.lock $(ALL_PYTHONS) -

SUITE ?= trixie
PYTHONS ?= 3.10 3.11 3.12 3.13 3.14
# Without the list of public names, which is of the newest click: it has another text for a choice.
LOWEST := --ignore tests/pcn/test_public_names.py tests/pcn tests/controller tests/p4net tests/p4runtime/test_p4rt_finsy.py tests/test_extras.py tests/test_site.py

bare: root ## README's two commands in a bare Debian root, as a newcomer has it; SUITE=bookworm|trixie|testing
	.ci/bare $(SUITE) make run test

pythons: ## all tests that need no root with each Python of PYTHONS that pyenv, uv or PATH has; lint with the newest
	.ci/pythons $(PYTHONS)

# Some of these versions have wheels for the lowest Python alone.
.pythons/lowest/.ready: lowest.lock pyproject.toml setup.sh
	@mkdir -p $(@D)
	@python=$$(.ci/find-python 3.10) && PYTHON=$$python LOCK=lowest.lock bash setup.sh $(@D)
	@touch $@

lowest: .pythons/lowest/.ready ## commands, P4Runtime and virtual time with the lowest versions that pyproject.toml allows, on Python 3.10
	.pythons/lowest/bin/pytest -n $(WORKERS) --dist loadfile -m "not root" $(or $(ARGS),$(LOWEST))

arm64: root $(VENV)/.ready ## the release's wheel, virtual time and PTF on arm64 by qemu-user, in a bare root: digests as here
	.ci/arm64

clean: ## remove the virtual environment and caches, not results
	rm -rf $(VENV) build dist *.egg-info src/*.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
