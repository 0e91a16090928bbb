# A line `target: ... ## text` is what `make` prints of it.

PYTHON ?= python3
VENV ?= .venv
PROJECT ?= $(CURDIR)
PROMPT ?= How does a request become a context?
BIN := $(VENV)/bin
# A stamp: a changed requirements.lock, pyproject.toml or hatch_build.py installs again, edited code doesn't.
INSTALLED := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help run test check format bench bench-quick hosts faults dist system clean

help:
	@echo "make run and make test do all set-up on a fresh machine; they need Python 3.11 or newer and git."
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

run: $(INSTALLED) ## start the daemon on PROJECT (this folder) and print the context for PROMPT
	@$(BIN)/foveal up "$(PROJECT)"
	@$(BIN)/foveal context --cwd "$(PROJECT)" "$(PROMPT)"

# Failed tests run once more, serially. A test that passes then is flaky: it is reported and must be fixed, but it
# doesn't stop everybody. This happens only if all tests ran (status 1): tests/conftest.py gives another status if a
# test could not be collected or a worker died.
test: $(INSTALLED) system check ## format, lint, types and all tests
	$(BIN)/pytest -n 2 --dist loadfile || { [ $$? -eq 1 ] || exit 1; \
		echo "make: re-running failed tests serially; any that pass now are flaky" >&2; \
		$(BIN)/pytest -v --last-failed --last-failed-no-failures none; }

check: $(INSTALLED) ## format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(INSTALLED) ## format, and fix what ruff can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(INSTALLED) ## all benchmarks with their baselines
	$(BIN)/python -m benchmarks

bench-quick: $(INSTALLED) ## the short benchmarks: about a minute on an idle machine
	$(BIN)/python -m benchmarks --quick

# Runs real hosts of agents, installed from npm, against a scripted model on loopback, with a clone of httpx.
# HTTPX names that repository; without one it is cloned. Takes about ten minutes.
HTTPX ?= $(HOME)/.cache/foveal-hosts/httpx.git
hosts: $(INSTALLED) ## try real hosts of agents from npm against a scripted model
	@[ -d "$(HTTPX)" ] || git clone --bare --quiet https://github.com/encode/httpx "$(HTTPX)"
	$(BIN)/python -m benchmarks.hosts --clone "$(HTTPX)"

# Breaks each promise of the documents once in a copy, which a test must notice; tries to break every promise of
# docs/reliability.md, with the full counts; then runs the property tests with many random examples, where a failure
# prints the line that repeats it. Takes hours.
faults: $(INSTALLED) system ## try to break every promise of the documents; takes hours
	$(BIN)/python -m benchmarks.mutations
	$(BIN)/python -m benchmarks.faults
	$(BIN)/pytest -m hypothesis --hypothesis-profile=random --timeout=0

# The wheel is built from the sdist, and tried without the checkout.
dist: $(INSTALLED) ## build the sdist and the wheel, and try that wheel in an empty environment
	@sh .ci/dist $(BIN)/python

# Tools that some tests need beside Python. Without a tool its tests are skipped, or fail with FOVEAL_CI=1.
system:
	@sh .ci/system-packages

clean: ## remove the virtual environment and what was built
	rm -rf $(VENV) dist

$(INSTALLED): requirements.lock pyproject.toml hatch_build.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
