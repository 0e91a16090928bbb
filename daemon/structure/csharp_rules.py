"""Owns what C# says about names: namespaces, those around them, usings, partial classes."""

from __future__ import annotations

from collections.abc import Iterator

from .evaluator import Evaluator
from .interface import FileInterface
from .rules import Rules

PARTS_MAX = 400
"""Files of a folder in which a class may have further parts; larger folders hold no one's parts."""


class CsharpRules(Rules):
    """C#."""

    passes_imports_on = False

    def wildcard_files(self, evaluator: Evaluator, path: str, interface: FileInterface) -> Iterator[str]:
        """Yield the files of the namespace and of those around it, then what is used."""
        namespace = interface.package
        while namespace:
            for each in evaluator.module(path, interface.language, namespace).paths:
                near = evaluator.interface(each)
                if near is not None and near.package == namespace:
                    yield each
            namespace = namespace.rpartition(".")[0]
        yield from super().wildcard_files(evaluator, path, interface)

    def parts(self, evaluator: Evaluator, path: str, name: str) -> tuple[str, ...]:
        """Return the files of the folder that define a class of this name: the parts of a partial one."""
        siblings = evaluator.siblings(path)
        if len(siblings) > PARTS_MAX:
            return (path,)
        return (path, *(each for each in siblings if each != path and self._adds(evaluator, each, name)))

    def _adds(self, evaluator: Evaluator, path: str, name: str) -> bool:
        interface = evaluator.interface(path)
        return interface is not None and name in interface.names
