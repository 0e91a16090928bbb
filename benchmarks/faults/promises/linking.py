"""Promise 12: linking ends, however files import each other."""

from __future__ import annotations

import random
from collections.abc import Iterator

from ..import_graphs import FORMS, SHAPES, generated, link_all
from ..promise import Ground, Promise, Test, Trial

GRAPHS = "generated import graphs, linked"
MODULES_MAX = 30
ASKED = (0, 0, 20, 100)
"""Names that nobody defines; every fourth graph has many."""


def link_graphs(ground: Ground) -> Iterator[Trial]:
    """Link generated projects, one language after the other: each file ends in time, within its steps, and
    always with the same links."""
    chance = random.Random(ground.seed)
    languages = list(FORMS)
    for number in range(ground.count):
        language, shape = languages[number % len(languages)], chance.choice(list(SHAPES))
        count, seed, asked = chance.randint(2, MODULES_MAX), chance.randrange(1 << 30), chance.choice(ASKED)
        name = f"{language}, {shape}, {count} modules, {asked} names asked for, seed {seed}"
        try:
            link_all(generated(language, shape, count, seed, asked))
        except Exception as error:  # noqa: BLE001 - whatever leaves the linker is what this is about
            yield Trial(name, f"{error!r}")
        else:
            yield Trial(name)


PROMISE = Promise(
    12,
    "Linking ends, however files import each other",
    (Test(GRAPHS, link_graphs, 3_000, 51),),
)
