"""Owns what C# says about names: namespaces, those around them, usings, partial classes."""

from __future__ import annotations

from collections.abc import Iterator

from .evaluator import Evaluator
from .interface import FileInterface
from .rules import LinkRules


class CsharpRules(LinkRules):
    """C#."""

    passes_imports_on = False
    parts_max = 400

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

    def adds_to(self, evaluator: Evaluator, path: str, name: str) -> bool:
        """Whether a file defines a class of this name: a part of a partial one."""
        interface = evaluator.interface(path)
        return interface is not None and name in interface.names
