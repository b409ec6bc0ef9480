# Everything runs in .venv. A stamp file per set of dependencies builds it on first use, and brings
# it up to date when pyproject.toml changes. Paths are relative, so the clone may lie anywhere.
PYTHON ?= python3
VENV   := .venv
RUN    := $(VENV)/bin/python
PIP    := $(RUN) -m pip install --quiet --disable-pip-version-check
ARGS   ?=
RACE   := tests/faults/test_attack_people.py::test_d09_of_two_runs_at_once_one_is_refused

.PHONY: help demo test check docs graph floors bench quality real recipe balance study reference sbc reproduce mutants nightly soak fuzz audit clean
.NOTPARALLEL:
.DELETE_ON_ERROR:

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

# Small problems, and tests that share the cores, are fastest with one BLAS thread per process.
demo test check docs floors quality real recipe balance study reference sbc reproduce nightly soak fuzz: export OMP_NUM_THREADS := 1
demo test check docs floors quality real recipe balance study reference sbc reproduce nightly soak fuzz: export OPENBLAS_NUM_THREADS := 1

demo: $(VENV)/cli.stamp  ## digits with bad labels: before and after, and a report in demo/
	@$(VENV)/bin/decoupling demo --force

test: $(VENV)/dev.stamp  ## run the tests; ARGS="-k name" picks some of them
	$(RUN) -m pytest -n auto $(ARGS)

check: $(VENV)/dev.stamp  ## format, lint, types, layers, sizes, doctests, the README and the guide
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	$(RUN) -m mypy --strict src
	$(VENV)/bin/lint-imports
	$(RUN) tools/graph.py --limits
	$(RUN) -m pytest --quiet --doctest-modules src
	$(RUN) tools/run_readme.py README.md docs/guide/*.md

graph: $(VENV)/dev.stamp  ## the import graph: sizes, longest chain, cycles, what is over a limit
	$(RUN) tools/graph.py $(ARGS)

# An environment of its own: these are the oldest packages, and development has the newest.
floors: $(VENV)-floors/test.stamp  ## run the tests on the lowest versions that pyproject.toml allows
	$(VENV)-floors/bin/python -m pytest -n auto $(ARGS)

docs: $(VENV)/docs.stamp  ## the site, in build/docs; a warning is an error, and no network is needed
	$(RUN) -m sphinx -W --keep-going -b html docs build/docs $(ARGS)

bench: $(VENV)/bench.stamp  ## measure speed and memory against peers
	$(RUN) -m benchmarks $(ARGS)

quality: $(VENV)/bench.stamp  ## every task, data set and classifier, beside every peer
	$(RUN) -m benchmarks.quality $(ARGS)

real: $(VENV)/bench.stamp  ## labels that people gave; takes a folder, and says so where there is none
	$(RUN) -m benchmarks.real $(ARGS)

recipe: $(VENV)/bench.stamp  ## the tasks of the reference recipe, beside naive training
	$(RUN) -m benchmarks.recipe $(ARGS)

balance: $(VENV)/bench.stamp  ## class priors compared; needs apt-get install dataset-fashion-mnist
	$(RUN) -m benchmarks.class_balance $(ARGS)

study: $(VENV)/bench.stamp  ## how often intervals hold the truth, on simulated data; resumes
	$(RUN) -m benchmarks.calibration $(ARGS)

reference: $(VENV)/dev.stamp  ## exact posteriors of small problems beside ours; ARGS="--anew" samples again
	$(RUN) tools/reference_posteriors.py $(ARGS)

sbc: $(VENV)/dev.stamp  ## where the truth lies in what is reported of it, over simulations
	$(RUN) tools/variational_sbc.py $(ARGS)

reproduce: $(VENV)/reproduce.stamp  ## the paper's experiments: ARGS="simulated", "agreement", "fashion --help"
	$(VENV)/bin/decoupling reproduce $(ARGS)

mutants: $(VENV)/dev.stamp  ## break the mathematics on purpose: the tests must notice
	$(RUN) tools/mutants.py

# Tables are a quarter of the examples, each with five commands; of two runs at once there are 100.
nightly: $(VENV)/dev.stamp  ## thousands of random problems, hundreds of random tables: an answer, or an error that says why
	DECOUPLING_EXAMPLES=2000 $(RUN) -m pytest --hypothesis-show-statistics tests/test_any_problem.py \
		tests/test_any_table.py $(RACE) $(ARGS)

soak: $(VENV)/dev.stamp  ## a thousand fits in one process, and eight threads at once
	$(RUN) tools/soak.py $(ARGS)

fuzz: $(VENV)/fuzz.stamp  ## ten minutes of forged model files, guided by the code that they reach
	$(RUN) tools/fuzz_load.py $(ARGS)

audit: $(VENV)/audit.stamp  ## ask the advisory database about the dependencies; needs the network
	$(RUN) -m pip_audit --local --skip-editable --strict $(ARGS)

clean:  ## remove the environment, caches and builds
	rm -rf $(VENV) $(VENV)-floors build dist .*_cache .hypothesis docs/gallery docs/generated docs/reference/generated
	find . -name __pycache__ -prune -exec rm -rf {} +

$(RUN):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "decoupling needs Python 3.11 or later: make PYTHON=python3.11 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)-floors/test.stamp: pyproject.toml tools/floors.py | $(RUN)
	$(PYTHON) -m venv $(VENV)-floors
	$(RUN) tools/floors.py > $(VENV)-floors/constraints.txt
	$(VENV)-floors/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint $(VENV)-floors/constraints.txt --editable ".[test]"
	@touch $@

$(VENV)/core.stamp: pyproject.toml | $(RUN)
	$(PIP) --editable .
	@touch $@

$(VENV)/%.stamp: pyproject.toml | $(RUN)
	$(PIP) --editable ".[$*]"
	@touch $@
