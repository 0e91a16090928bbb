"""Owns what Java, and the languages beside it, say about names: packages, static imports, implicit `this`."""

from __future__ import annotations

from ..project.vocabulary import words
from .evaluator import Evaluator
from .rules import LinkRules
from .values import UNKNOWN_VALUE, Value, Values, What, external

_LANGUAGE = words(
    """
    Object String StringBuilder StringBuffer CharSequence Character Boolean Byte Short Integer Long
    Float Double Number Math System Thread Runnable Iterable Comparable Cloneable AutoCloseable Enum
    Record Void Class ClassLoader Process ProcessBuilder Runtime ThreadLocal Throwable Exception
    RuntimeException Error IllegalArgumentException IllegalStateException NullPointerException
    IndexOutOfBoundsException ArrayIndexOutOfBoundsException StringIndexOutOfBoundsException
    UnsupportedOperationException ClassCastException ArithmeticException NumberFormatException
    InterruptedException CloneNotSupportedException ClassNotFoundException NoSuchFieldException
    NoSuchMethodException SecurityException AssertionError StackOverflowError OutOfMemoryError
    LinkageError Override Deprecated SuppressWarnings FunctionalInterface SafeVarargs boolean byte
    char short int long float double void var null true false
    """
)
"""What `java.lang` brings into every file, and the words of the language."""


class JavaRules(LinkRules):
    """Java; Kotlin and Scala as far as they are alike."""

    self_names = frozenset({"this"})
    class_names = frozenset()
    super_names = frozenset({"super"})
    implicit_members = True
    methods_apart = True
    wildcards_are_files = False
    opaque_types = frozenset({"Object", "Any", "AnyRef", "T", "E", "K", "V", "R", "var"})

    def ambient(self, evaluator: Evaluator, path: str, name: str) -> Values:
        """Return what another file of the package defines, or what the language brings."""
        interface = evaluator.interface(path)
        if interface is None:
            return UNKNOWN_VALUE
        siblings = evaluator.siblings(path)
        if not evaluator.spend(len(siblings)):
            return UNKNOWN_VALUE
        for each in siblings:
            near = evaluator.interface(each) if each != path else None
            if near is not None and name in near.names and near.package == interface.package:
                return (Value(What.DEFINITION, each, name),)
        if name in _LANGUAGE:
            return external(name)
        if interface.package and name[:1].isupper():  # the package's other folder: that of the tests
            return self._named(evaluator, path, interface.language, interface.package, name)
        return UNKNOWN_VALUE

    def imported(
        self, evaluator: Evaluator, path: str, language: str, module: str, name: str, depth: int
    ) -> Values:
        """Return a class of a package, or a static member of a class."""
        if name == "*":
            return UNKNOWN_VALUE
        if values := self._named(evaluator, path, language, module, name):
            return values
        found = evaluator.module(path, language, module, name)
        return UNKNOWN_VALUE if found.paths or found.internal else external(f"{module}.{name}")

    def _named(self, evaluator: Evaluator, path: str, language: str, module: str, name: str) -> Values:
        holder = module.rpartition(".")[2]
        for each in evaluator.module(path, language, module, name).paths:
            if not evaluator.spend():
                break
            interface = evaluator.interface(each)
            if interface is None:
                continue
            if name in interface.names:
                return (Value(What.DEFINITION, each, name),)
            if holder in interface.names:
                return evaluator.class_member(each, holder, name, 0)
        return UNKNOWN_VALUE
