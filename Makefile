# make run   installs, starts the daemon on PROJECT and prints the context for PROMPT
# make test  installs and checks everything: format, lint, types, tests

PYTHON ?= python3
VENV ?= .venv
PROJECT ?= $(CURDIR)
PROMPT ?= How does a request become a context?
BIN := $(VENV)/bin
# One stamp for each: a new lock or project file installs again, an edit of the code doesn't.
INSTALLED := $(VENV)/.installed

.PHONY: run test check format bench system clean

run: $(INSTALLED)
	@$(BIN)/foveal up "$(PROJECT)"
	@$(BIN)/foveal context --cwd "$(PROJECT)" "$(PROMPT)"

test: $(INSTALLED) system check
	$(BIN)/pytest -n 2 --dist loadfile

check: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(INSTALLED)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(INSTALLED)
	$(BIN)/python -m benchmarks

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
