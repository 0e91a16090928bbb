"""Linking ends, however files import each other; a few graphs here, `make faults` tries more."""

from __future__ import annotations

import time

import pytest
from foveal.benchmarks.faults.import_graphs import FORMS, SHAPES, generated, link_all
from foveal.benchmarks.source_world import SourceWorld
from foveal.daemon.languages.shared.language import LANGUAGES
from foveal.daemon.languages.shared.link_rules import LinkRules
from foveal.daemon.languages.tail import LANGUAGES as TABLED
from foveal.daemon.linking.questions import FILE_STEPS_MAX, INTERFACE_STEPS, STEPS_MAX
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties import examples


@settings(max_examples=examples(20))
@given(
    st.sampled_from(list(FORMS)), st.sampled_from(list(SHAPES)), st.integers(2, 12), st.integers(0, 1 << 30)
)
def test_any_graph_ends_with_the_same_links(language: str, shape: str, count: int, seed: int) -> None:
    linkage = link_all(generated(language, shape, count, seed))
    assert linkage.steps <= FILE_STEPS_MAX + STEPS_MAX + INTERFACE_STEPS * linkage.files


@pytest.mark.parametrize("language", ["c", "csharp", "cpp", "python", "swift"])
def test_wildcards_of_all_to_all_are_gone_through_once_for_a_name(language: str) -> None:
    files = generated(language, "all to all", 60, 1, 100)
    world = SourceWorld(files)
    asking = next(path for path, source in files.items() if "B99" in source or "C99" in source)
    started = time.process_time()
    found = world.link(asking)
    assert time.process_time() - started < 1.0
    assert found.links
    assert (
        not found.exhausted or language == "python"
    )  # names come in module by module there, not file by file


def test_every_language_with_references_is_generated() -> None:
    # Components have the rules of their scripts, and what comes by a table refers by name alone.
    own = {
        name: row for name, row in LANGUAGES.items() if row.grammar and not row.markup and row not in TABLED
    }
    assert set(FORMS) >= {name for name, row in own.items() if row.references}
    assert set(FORMS) >= {name for name, row in own.items() if type(row.links) is not LinkRules}
    assert len(TABLED) > 15
    assert {type(row.links) for row in TABLED} == {LinkRules}
