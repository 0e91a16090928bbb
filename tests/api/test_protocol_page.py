"""The page of the protocol says of each method what its types say."""

from __future__ import annotations

import re

import pytest
from foveal.daemon.api import handlers
from foveal.daemon.api.method import AgentRequest, MethodRequest, declared_methods, method
from foveal.docs import policy_table
from foveal.docs.protocol_table import CELL_CHARACTERS, COMMON, PAGE, fields_of, page

TEXT = PAGE.read_text(encoding="utf-8")
SECTIONS = "".join(
    one.read_text(encoding="utf-8") for one in (PAGE, *sorted(PAGE.parent.glob("protocol-*.md")))
)


def test_table_is_the_one_of_the_types() -> None:
    assert handlers
    assert page(TEXT) == TEXT, "run: python -m docs.protocol_table"


def test_table_of_policies_is_the_one_of_the_declarations() -> None:
    text = policy_table.PAGE.read_text(encoding="utf-8")
    assert policy_table.page(text) == text, "run: python -m docs.policy_table"
    rows = policy_table.table().splitlines()
    assert len(rows) == len(declared_methods()) >= 71
    assert all(row in text for row in rows)


def test_sections_have_the_parameters_of_long_requests() -> None:
    long = {
        one.name: one.request for one in declared_methods() if len(fields_of(one.request)) > CELL_CHARACTERS
    }
    assert {"GetContext", "Query"} <= set(long)
    for name in set(long) - {"PrepareContext"}:
        written = re.search(rf"^(?:## )?{name}(?:\n\n|, )`\{{(.*?)\}}`", SECTIONS, re.MULTILINE | re.DOTALL)
        assert written is not None, name
        flat = re.sub(r"\[\{.*?\}\]", "", written[1])
        names = {re.split(r"[?:=]", part)[0].strip() for part in re.split(r", | \| (?=\w)", flat)}
        assert names - COMMON == set(long[name].__struct_fields__) - COMMON, name


def test_method_without_a_usable_policy_does_not_start() -> None:
    with pytest.raises(TypeError, match="has the policy 'whatever'; there are open, own"):

        @method("New", policy="whatever", access="read")  # type: ignore[arg-type] # which is what is tested
        def new(self: object, request: MethodRequest) -> None: ...

    with pytest.raises(TypeError, match="for which AgentRequest must be a ProjectRequest"):

        @method("Newer", policy="project", access="read")
        def newer(self: object, request: AgentRequest) -> None: ...

    with pytest.raises(TypeError, match="'policy'"):
        method("Newest")  # type: ignore[call-arg] # which is what is tested
