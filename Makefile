# make run   installs, starts the daemon on PROJECT and prints the context for PROMPT
# make test  installs and checks everything: format, lint, types, tests

PYTHON ?= python3
VENV ?= .venv
PROJECT ?= $(CURDIR)
PROMPT ?= How does a request become a context?
BIN := $(VENV)/bin
# A stamp: a changed requirements.lock, pyproject.toml or hatch_build.py installs again, edited code doesn't.
INSTALLED := $(VENV)/.installed

.PHONY: run test check format bench bench-quick hosts pictures faults system clean

run: $(INSTALLED)
	@$(BIN)/foveal up "$(PROJECT)"
	@$(BIN)/foveal context --cwd "$(PROJECT)" "$(PROMPT)"

# Failed tests run once more, serially. A test that passes then is flaky: it is reported and must be fixed, but it
# doesn't stop everybody. This happens only if all tests ran (status 1): tests/conftest.py gives another status if a
# test could not be collected or a worker died.
test: $(INSTALLED) system check
	$(BIN)/pytest -n 2 --dist loadfile || { [ $$? -eq 1 ] || exit 1; \
		echo "make: re-running failed tests serially; any that pass now are flaky" >&2; \
		$(BIN)/pytest -v --last-failed --last-failed-no-failures none; }

check: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(INSTALLED)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# All benchmarks with their baselines.
bench: $(INSTALLED)
	$(BIN)/python -m benchmarks

# The short benchmarks: about a minute on an idle machine.
bench-quick: $(INSTALLED)
	$(BIN)/python -m benchmarks --quick

# Runs real hosts of agents, installed from npm, against a scripted model on loopback, with a clone of httpx.
# HTTPX names that repository; without one it is cloned. Takes about ten minutes.
HTTPX ?= $(HOME)/.cache/foveal-hosts/httpx.git
hosts: $(INSTALLED)
	@[ -d "$(HTTPX)" ] || git clone --bare --quiet https://github.com/encode/httpx "$(HTTPX)"
	$(BIN)/python -m benchmarks.hosts --clone "$(HTTPX)"

# Breaks each promise of the documents once in a copy, which a test must notice; tries to break every promise of
# docs/reliability.md, with the full counts; then runs the property tests with many random examples, where a failure
# prints the line that repeats it. Takes hours.
faults: $(INSTALLED) system
	$(BIN)/python -m benchmarks.mutations
	$(BIN)/python -m benchmarks.faults
	$(BIN)/pytest -m hypothesis --hypothesis-profile=random --timeout=0

# Tools that some tests need beside Python. Without a tool its tests are skipped, or fail with FOVEAL_CI=1.
system:
	@sh .ci/system-packages

clean:
	rm -rf $(VENV)

$(INSTALLED): requirements.lock pyproject.toml hatch_build.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
