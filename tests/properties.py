"""The profiles of property tests: the same examples in each run, or many random ones.

`make test` has the first. `make faults` chooses the second with `--hypothesis-profile=random`; what it finds
becomes an explicit `@example` of its test, so that no later run goes without it.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

USUAL = 100
"""Examples of a property test that names no number, as hypothesis has it."""

FEW, MANY = 25, 2_000
"""What becomes of these in `make test` and in the fuzz; a test that names a number gets as large a share."""

REPEATED = "repeated"
"""The profile of `make test`: the examples depend on the test alone."""

RANDOM = "random"
"""The profile of the fuzz: another seed in each run, and a failure prints the line that repeats it."""


def register() -> None:
    """Register both profiles and choose the one of `make test`."""
    # How long an example takes is the machine's affair, not a property of the code.
    common = settings(
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.register_profile(REPEATED, common, derandomize=True, max_examples=FEW)
    settings.register_profile(RANDOM, common, derandomize=False, max_examples=MANY)
    settings.load_profile(REPEATED)
    _draw_no_constants_of_modules()


def _draw_no_constants_of_modules() -> None:
    """Let no repeated example depend on which modules of foveal are loaded, which goes by the tests before it.

    Hypothesis draws some values from the constants in these modules, and has no setting against it.
    """
    none, found = Constants(), providers._get_local_constants
    providers._get_local_constants = lambda: none if settings().derandomize else found()


def examples(count: int) -> int:
    """Return how many examples a test makes: a quarter of `count` in `make test`, twenty times it in the fuzz."""
    return count * settings().max_examples // USUAL
