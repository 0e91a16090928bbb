# make run   installs, starts the daemon on PROJECT and prints the context for PROMPT
# make test  installs and checks everything: format, lint, types, tests

PYTHON ?= python3
VENV ?= .venv
PROJECT ?= $(CURDIR)
PROMPT ?= How does a request become a context?
BIN := $(VENV)/bin
# One stamp for each: a new lock or project file installs again, an edit of the code doesn't.
INSTALLED := $(VENV)/.installed

.PHONY: run test check format bench bench-quick pictures faults system clean

run: $(INSTALLED)
	@$(BIN)/foveal up "$(PROJECT)"
	@$(BIN)/foveal context --cwd "$(PROJECT)" "$(PROMPT)"

# A test that fails beside others runs once more, alone. If it fails again it failed; if not it is flaky, which is
# told, and wants mending: on a busy machine a race must neither be hidden nor stop everybody. Only where all tests
# ran, with status 1: tests/conftest.py gives another where one couldn't be collected or a worker died.
test: $(INSTALLED) system check
	$(BIN)/pytest -n 2 --dist loadfile || { [ $$? -eq 1 ] || exit 1; \
		echo "make: what failed beside others runs once more, alone; what passes now is flaky" >&2; \
		$(BIN)/pytest -v --last-failed --last-failed-no-failures none; }

check: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(INSTALLED)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# All measures beside their baselines; the large tree and the million vectors take long and some GB of memory.
# FOVEAL_BENCH_AIDER names the Python of an environment that has aider, for the map of a project.
bench: $(INSTALLED)
	$(BIN)/python -m benchmarks --json-file benchmarks.json

# About a minute on a machine that does nothing else.
bench-quick: $(INSTALLED)
	$(BIN)/python -m benchmarks --quick

# Pictures of every page of the dashboard, in both themes and three widths.
pictures: $(INSTALLED) system
	$(BIN)/python -m benchmarks.dashboard pictures pictures

# Tries to break every promise of docs/reliability.md, with the full counts; takes long.
faults: $(INSTALLED) system
	$(BIN)/python -m benchmarks.faults
	$(BIN)/python -m benchmarks.faults.damages

# What some tests need beside Python. A tool that can't be installed skips its tests, or with FOVEAL_CI=1
# fails them.
system:
	@sh .ci/system-packages

clean:
	rm -rf $(VENV)

$(INSTALLED): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
