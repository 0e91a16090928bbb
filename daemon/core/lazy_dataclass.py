"""Owns how the daemon's values are made: the standard library's dataclasses, written on first use.

A dataclass costs 600 microseconds of a processor, most of it for compiling six methods. The daemon imports
300 of them and needs a third for its first answer: they were half of what importing it took. Here a class
begins with stubs, and each of its methods is compiled when it is called first. Type checkers see the standard
library's decorator; `fields`, `replace`, `asdict`, copies, pickles and patterns take these as any others.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import MISSING, FrozenInstanceError, fields
from functools import partial
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

__all__ = ["dataclass"]

T = TypeVar("T")

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(**options):
        """Decorate a class as `dataclasses.dataclass` does; one with slots is made lazily, frozen or not."""
        if options == {"frozen": True, "slots": True}:
            return partial(_make, methods=_FROZEN)
        return (
            partial(_make, methods=_METHODS)
            if options == {"slots": True}
            else dataclasses.dataclass(**options)
        )


def _make(cls: type[T], methods: dict[str, Any]) -> type[T]:
    """Make a dataclass with slots. Raises `TypeError` for what only the standard library's can do."""
    made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    named = fields(made)  # type: ignore[arg-type]
    has_default = [
        one.default is not MISSING or one.default_factory is not MISSING for one in named if one.init
    ]
    special = [
        *(cls.__dict__.keys() & methods.keys()),
        *filter(dataclasses.is_dataclass, cls.__bases__),
        *(field.name for field in named if field.kw_only),
        *(["InitVar"] if "InitVar" in str(getattr(cls, "__annotations__", "")) else []),
        *(["self"] if any(one.name == "self" for one in named) else []),
        *(["a field without a default after one with"] if has_default != sorted(has_default) else []),
    ]
    if special:
        raise TypeError(f"{cls.__qualname__} needs the standard library's dataclass, for {special}")
    for name, method in methods.items():
        setattr(made, name, method)
    return made


def _stub(name: str, write: Callable[[type, dict[str, Any]], str]) -> Callable[..., Any]:
    """Return what stands for a method until its first call, which writes it into its class.

    Two threads may do that at once, since they write the same.
    """

    def stub(self: object, *values: Any, **named: Any) -> Any:
        owner = next(cls for cls in type(self).__mro__ if "__dataclass_fields__" in cls.__dict__)
        scope: dict[str, Any] = {"__name__": owner.__module__}
        exec(write(owner, scope), scope)  # noqa: S102 - made of fields' names only
        method = scope[name]
        method.__qualname__ = f"{owner.__qualname__}.{name}"
        setattr(owner, name, method)
        return method(self, *values, **named)

    return stub


def _constructor(cls: type, scope: dict[str, Any]) -> str:
    """Write `__init__`. It sets slots by their descriptors: half the time of `object.__setattr__` by name."""
    parameters, lines = ["self"], []
    for field in fields(cls):
        name, value, made = field.name, f"__default_{field.name}", field.default_factory is not MISSING
        if made:
            scope[f"__make_{name}"] = field.default_factory
        if made or field.default is not MISSING:
            scope[value] = field.default  # MISSING where one is made for each
        elif not field.init:
            continue
        if field.init:
            parameters.append(f"{name}={value}" if value in scope else name)
        else:
            lines.append(f"{name} = {value}")
        if made:
            lines.append(f"if {name} is {value}: {name} = __make_{name}()")
        scope[f"__set_{name}"] = getattr(cls, name).__set__
        lines.append(f"__set_{name}(self, {name})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    return _source("__init__", parameters, lines or ["pass"])


def _equality(cls: type, scope: dict[str, Any]) -> str:
    names = [field.name for field in fields(cls) if field.compare]
    lines = [
        "if other.__class__ is not self.__class__: return NotImplemented",
        f"return {_values('self', names)} == {_values('other', names)}",
    ]
    return _source("__eq__", ["self", "other"], lines)


def _hash(cls: type, scope: dict[str, Any]) -> str:
    names = [field.name for field in fields(cls) if (field.compare if field.hash is None else field.hash)]
    return _source("__hash__", ["self"], [f"return hash({_values('self', names)})"])


def _source(name: str, parameters: Iterable[str], lines: Iterable[str]) -> str:
    return "\n ".join([f"def {name}({', '.join(parameters)}):", *lines])


def _values(owner: str, names: Iterable[str]) -> str:
    return f"({''.join(f'{owner}.{name}, ' for name in names)})"


@recursive_repr()
def _repr(self: Any) -> str:
    shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({shown})"


def _refuse_to_set(self: object, name: str, value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__slots__]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__slots__, state, strict=False):  # another version's may be longer
        object.__setattr__(self, name, value)


_METHODS = {
    "__init__": _stub("__init__", _constructor),
    "__eq__": _stub("__eq__", _equality),
    "__hash__": None,
    "__repr__": _repr,
}
_FROZEN = {
    **_METHODS,
    "__hash__": _stub("__hash__", _hash),
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__getstate__": _state,
    "__setstate__": _set_state,
}
