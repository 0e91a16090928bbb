"""A lazy dataclass does what the standard library's does, and compiles a method when it is first called."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from foveal.daemon.core.lazy_dataclass import dataclass as lazy


def build(dataclass: Callable[..., Any]) -> tuple[Any, Any]:
    @dataclass(frozen=True, slots=True)
    class Point:
        """A point."""

        x: int
        y: int = 2
        tags: list[str] = dataclasses.field(default_factory=list, compare=False)
        secret: str = dataclasses.field(default="s", repr=False)

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("x is negative")

        @property
        def sum(self) -> int:
            return self.x + self.y

    @dataclass(frozen=True, slots=True)
    class Nothing:
        """No field."""

    return Point, Nothing


@lazy(frozen=True, slots=True)
class Kept:
    """Where pickle finds it."""

    name: str
    values: tuple[int, ...] = ()


def check(look: Callable[[Any, Any], object]) -> None:
    """Compare what a lazy class shows with what the standard library's shows."""
    assert outcome(look, *build(lazy)) == outcome(look, *build(dataclasses.dataclass))


def outcome(look: Callable[[Any, Any], object], point: Any, nothing: Any) -> object:
    try:
        return look(point, nothing)
    except Exception as error:  # noqa: BLE001 - which one it is gets compared
        return type(error)


@pytest.mark.parametrize(
    "look",
    [
        lambda point, nothing: point(1).y,
        lambda point, nothing: (point(1, 5, ["a"]).tags, point(x=3).sum, point(1).secret),
        lambda point, nothing: point(1).tags is point(1).tags,
        lambda point, nothing: point(),
        lambda point, nothing: point(1, 2, [], "", 5),
        lambda point, nothing: point(1, z=3),
        lambda point, nothing: point(-1),
        lambda point, nothing: repr(point(1)).rpartition(".")[2],
        lambda point, nothing: repr(nothing()).rpartition(".")[2],
        lambda point, nothing: (point(1) == point(1, tags=["a"]), point(1) == point(2), point(1) != point(1)),
        lambda point, nothing: (point(1) == (1, 2), nothing() == point(1), nothing() == nothing()),
        lambda point, nothing: {point(1): "one", nothing(): "none"}[point(1, tags=["b"])],
        lambda point, nothing: hash(point(1)) == hash(point(1, secret="t")),
        lambda point, nothing: point(1).__setattr__("x", 2),
        lambda point, nothing: point(1).__delattr__("x"),
        lambda point, nothing: point(1).__dict__,
        lambda point, nothing: dataclasses.asdict(dataclasses.replace(point(1), y=7)),
        lambda point, nothing: [(one.name, one.type, one.repr) for one in dataclasses.fields(point)],
        lambda point, nothing: (point.__match_args__, point.__slots__, point.__doc__, point.__name__),
        lambda point, nothing: copy.deepcopy(point(1, tags=["a"])) == point(1) is not point(1),
        lambda point, nothing: copy.copy(point(1, tags=["a"])).tags,
    ],
)
def test_it_shows_what_the_standard_library_shows(look: Callable[[Any, Any], object]) -> None:
    check(look)


def test_a_method_is_compiled_at_its_first_call_and_not_before() -> None:
    point, _ = build(lazy)
    stubs = {name: point.__dict__[name] for name in ("__init__", "__eq__", "__hash__")}
    first = point(1)
    assert point.__dict__["__init__"] is not stubs["__init__"]
    assert point.__dict__["__eq__"] is stubs["__eq__"]
    assert first == point(1)
    assert point.__dict__["__eq__"] is not stubs["__eq__"]
    assert point.__dict__["__hash__"] is stubs["__hash__"]
    assert point.__init__.__qualname__.endswith("Point.__init__")


def test_a_pickled_value_is_read_by_a_class_that_made_none_yet() -> None:
    kept = Kept("a", (1, 2))
    data = pickle.dumps(kept)
    again = pickle.loads(data)
    assert (again, again.values) == (kept, (1, 2))
    with pytest.raises(dataclasses.FrozenInstanceError):
        again.name = "b"


def test_threads_may_make_the_first_values_at_once() -> None:
    point, _ = build(lazy)
    together = Barrier(4)

    def make(number: int) -> Any:
        together.wait()
        return point(number)

    with ThreadPoolExecutor(4) as threads:
        assert [one.x for one in threads.map(make, range(4))] == [0, 1, 2, 3]


def test_a_class_that_inherits_from_one_makes_its_values_by_the_same_methods() -> None:
    point, _ = build(lazy)

    class Named(point):  # type: ignore[misc,valid-type]  # made by a call
        def __init__(self, x: int) -> None:
            super().__init__(x, 9)

    assert (Named(1).sum, Named(1) == Named(1), Named(1) == point(1, 9)) == (10, True, False)


def test_what_only_the_standard_library_can_do_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="__repr__"):

        @lazy(frozen=True, slots=True)
        class Own:
            x: int

            def __repr__(self) -> str:
                return "own"

    with pytest.raises(TypeError, match="Kept"):

        @lazy(frozen=True, slots=True)
        class More(Kept):
            more: int = 1


@pytest.mark.parametrize(
    ("annotations", "defaults", "said"),
    [
        ({"x": "InitVar[int]"}, {}, "InitVar"),
        ({"self": "int"}, {}, "self"),
        ({"x": "int", "y": "int"}, {"x": 1}, "without a default"),
    ],
)
def test_fields_that_no_constructor_can_be_written_for_are_refused(
    annotations: dict[str, str], defaults: dict[str, int], said: str
) -> None:
    with pytest.raises(TypeError, match=said):
        lazy(frozen=True, slots=True)(type("One", (), {"__annotations__": annotations, **defaults}))


@pytest.mark.parametrize("options", [{"slots": True}, {"slots": True, "eq": False}, {"frozen": True}])
def test_other_kinds_are_what_they_are_in_the_standard_library(options: dict[str, bool]) -> None:
    def build(dataclass: Callable[..., Any]) -> list[object]:
        @dataclass(**options)
        class Changing:
            """It may change."""

            x: int
            seen: list[int] = dataclasses.field(init=False, default_factory=list)
            last: int = dataclasses.field(init=False, default=4)
            unset: int = dataclasses.field(init=False)

        def change(point: Any) -> object:
            point.x, point.unset = 2, 3
            return repr(point).rpartition(".")[2]

        return [
            outcome(look, Changing, Changing)
            for look in (
                lambda kind, _: (kind(1).seen, kind(1).last, kind(1) == kind(1)),
                lambda kind, _: kind(1).unset,
                lambda kind, _: kind(1, [2]),
                lambda kind, _: change(kind(1)),
                lambda kind, _: hash(kind(1)) is not None,
            )
        ]

    assert build(lazy) == build(dataclasses.dataclass)
