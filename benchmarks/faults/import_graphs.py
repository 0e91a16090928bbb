"""Generated projects whose files import each other in every way that could keep the linker from ending.

`generated` makes one: modules in a ring, a chain, diamonds, all to all or at random, named alike in several
folders; by wildcard, by name or passed on; classes that inherit from each other in circles, and functions
that return what others return. The same numbers give the same project.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple

from foveal.daemon.linking.linker import LinkedFile, link_file

from ..source_world import SourceWorld

FILE_S: Final = 5.0
"""Seconds of a processor for one file, above which a graph counts as lost."""

FOLDERS: Final = ("alpha", "beta", "gamma", "delta")
NAMES: Final = 6
"""Different names of classes, functions, members and variables: few, so that they meet."""


class Module(NamedTuple):
    """A module by its folder and its name, which another folder may have too."""

    folder: str
    name: str


@dataclass(frozen=True, slots=True)
class Form:
    """How a language writes a module. `imports` are ways to bring in a module or a name of it, in which
    `{folder}`, `{name}` and `{what}` stand for what is imported; `bodies` are definitions with `{own}`,
    `{base}`, `{other}`, `{member}` and `{value}`, an expression."""

    path: str
    imports: tuple[str, ...]
    bodies: tuple[str, ...]
    head: str = ""
    values: tuple[str, ...] = (
        "{other}()",
        "{other}().{member}()",
        "{other}.{member}().{member}",
        "{other}().{member}.{member}()",
    )
    tail: str = ""
    extra: tuple[tuple[str, str], ...] = ()


_PYTHON = Form(
    "{folder}/{name}.py",
    (
        "from {folder}.{name} import *",
        "from {folder}.{name} import {what}",
        "from {folder} import *",
        "import {folder}.{name}",
        "from {folder}.{name} import {what} as {own}",
        "from . import {name}",
    ),
    (
        (
            "class {own}({base}, {other}):\n    {member}: {other}\n\n"
            "    def {member}(self):\n        return {value}\n"
        ),
        (
            "def {own}(a: {other}):\n    b: a | {base} | b = {value}\n"
            "    a: b | {other} = b\n    return b.{member}(a)\n"
        ),
        "{own} = {value}",
        "{member} = {other}.{member}",
    ),
    extra=tuple((f"{folder}/__init__.py", "from .{name} import *\n") for folder in FOLDERS),
)
_SCRIPT_BODIES = (
    "export class {own} extends {base} {{ {member}() {{ return {value}; }} }}",
    "export function {own}() {{ const a = {value}; const b = a.{member}(); return b; }}",
    "export const {own} = {value};",
    "export {{ {own} as {member} }};",
)
_SCRIPT_IMPORTS = (
    'export * from "../{folder}/{name}";',
    'export {{ {what} }} from "../{folder}/{name}";',
    'import {{ {what} }} from "../{folder}/{name}";',
    'import {what} from "../{folder}/{name}";\nexport default {what};',
    'import * as {name} from "../{folder}/{name}";\nexport {{ {name} }};',
    'module.exports = require("../{folder}/{name}");',
)
_JAVA_BODIES = (
    "class {own} extends {base} {{ static {other} {member}() {{ return {value}; }} {base} {member}; }}",
    "interface {own} extends {base}, {other} {{ {other} {member}(); }}",
)
_C_IMPORTS = ('#include "../{folder}/{name}.h"', '#include "{folder}/{name}.h"', '#include "{name}.h"')

FORMS: Final[Mapping[str, Form]] = {
    "python": _PYTHON,
    "javascript": Form("{folder}/{name}.js", _SCRIPT_IMPORTS, _SCRIPT_BODIES),
    "typescript": Form(
        "{folder}/{name}.ts",
        _SCRIPT_IMPORTS,
        (
            *_SCRIPT_BODIES,
            "export interface {own} extends {base} {{ {member}: {other}; {own}(): {base}; }}",
            (
                "export function {own}(a: {other} | {base}) {{\n"
                "  let b: a | {other} = {value};\n  return b.{member}();\n}}"
            ),
        ),
    ),
    "tsx": Form("{folder}/{name}.tsx", _SCRIPT_IMPORTS, _SCRIPT_BODIES),
    "go": Form(
        "{folder}/{name}.go",
        ('import . "example.com/shop/{folder}"', 'import "example.com/shop/{folder}"'),
        (
            "type {own} struct {{ {base}; {member} {other} }}",
            "func (a {own}) {member}() {other} {{ return {value} }}",
            "func {own}() {base} {{ b := {value}; return b.{member}() }}",
            "var {own} = {value}",
        ),
        head="package {folder}\n",
        extra=(("go.mod", "module example.com/shop\n"),),
    ),
    "rust": Form(
        "src/{folder}/{name}.rs",
        (
            "pub use crate::{folder}::{name}::*;",
            "pub use crate::{folder}::*;",
            "pub use super::{name}::{what};",
            "use super::*;",
            "use crate::{folder}::{name}::{what}::{own};",
        ),
        (
            "pub struct {own} {{ pub {member}: {other} }}",
            "impl {base} for {own} {{ fn {member}(&self) -> {other} {{ {value} }} }}",
            "pub trait {own}: {base} {{ fn {member}(&self) -> {other}; }}",
            "pub fn {own}() -> {base} {{ let a = {value}; a.{member}() }}",
        ),
        values=(
            "{other}::{member}().{member}()",
            "{other}().{member}",
            "crate::{folder}::{other}::{member}()",
        ),
        extra=(
            ("src/lib.rs", "".join(f"pub mod {folder};\n" for folder in FOLDERS)),
            *((f"src/{folder}/mod.rs", "pub mod {name};\npub use self::{name}::*;\n") for folder in FOLDERS),
        ),
    ),
    "java": Form(
        "src/main/java/{folder}/{name}.java",
        (
            "import {folder}.*;",
            "import {folder}.{what};",
            "import static {folder}.{name}.*;",
            "import static {folder}.{what}.{own};",
        ),
        _JAVA_BODIES,
        head="package {folder};\n",
    ),
    "kotlin": Form(
        "src/main/kotlin/{folder}/{name}.kt",
        ("import {folder}.*", "import {folder}.{what}", "import {folder}.{what} as {own}"),
        (
            "open class {own} : {base}() {{ fun {member}(): {other} = {value} }}",
            "fun {own}() = {value}",
            "val {own} = {value}",
        ),
        head="package {folder}\n",
    ),
    "scala": Form(
        "src/main/scala/{folder}/{name}.scala",
        ("import {folder}._", "import {folder}.{what}", "import {folder}.{{{what} => {own}}}"),
        (
            "class {own} extends {base} with {other} {{ def {member}: {other} = {value} }}",
            "object {own} extends {base} {{ val {member} = {value} }}",
        ),
        head="package {folder}\n",
    ),
    "csharp": Form(
        "Shop/{folder}/{name}.cs",
        (
            "using Shop.{folder};",
            "global using Shop.{folder};",
            "using static Shop.{folder}.{what};",
            "using {own} = Shop.{folder}.{what};",
            "using Shop;",
        ),
        (
            "public partial class {own} : {base} {{ public {other} {member}() {{ return {value}; }} }}",
            "public partial class {own} : {other}, {base} {{ {other} {member}; {own} Next = {value}; }}",
        ),
        head="namespace Shop.{folder} {{\n",
        values=("new {other}().{member}()", "{other}.{member}().{member}()", "new {other}()"),
        tail="}\n",
        extra=(
            ("Shop/Shop.csproj", "<Project></Project>\n"),
            ("Shop/Global.cs", "global using Shop.alpha;\n"),
        ),
    ),
    "c": Form(
        "{folder}/{name}.h",
        _C_IMPORTS,
        (
            "struct {own} {{ struct {other} {member}; }};",
            "struct {other} {own}(void) {{ struct {base} a = {value}; return {other}(a.{member}); }}",
            "#define {own}(x) {value}",
            "static int {own} = {value};",
        ),
        values=("{other}({member}())", "{other}.{member}", "{other}()"),
    ),
    "cpp": Form(
        "{folder}/{name}.h",
        _C_IMPORTS,
        (
            "class {own} : public {base}, {other} {{ public: {other} {member}() {{ return {value}; }} }};",
            "namespace shop {{ auto {own}() {{ auto a = {value}; return a.{member}(); }} }}",
            "static {base} {own} = {value};",
        ),
        extra=(("alpha/main.cpp", '#include "{name}.h"\nint main() {{ return {name}().{name}(); }}\n'),),
    ),
    "swift": Form(
        "Sources/{folder}/{name}.swift",
        ("import {folder}", "import class {folder}.{what}", "@_exported import {folder}"),
        (
            "public class {own}: {base} {{ var {member}: {other} = {value} }}",
            "extension {own} {{ func {member}() -> {other} {{ return {value} }} }}",
            "public func {own}() -> {other} {{ let a = {value}; return a.{member}() }}",
        ),
        extra=(("Package.swift", "// swift-tools-version:5.9\nimport PackageDescription\n"),),
    ),
    "php": Form(
        "src/{folder}/{name}.php",
        ("use {folder}\\{what};", "use {folder}\\{what} as {own};", "require '../{folder}/{name}.php';"),
        (
            "class {own} extends {base} {{ use {other};\n  function {member}() {{ return {value}; }} }}",
            "trait {own} {{ public {other} ${member}; }}",
            "function {own}(): {other} {{ $a = {value}; return $a->{member}(); }}",
        ),
        head="<?php\nnamespace {folder};\n",
        values=("(new {other}())->{member}()", "{other}::{member}()->{member}", "{other}()"),
    ),
    "ruby": Form(
        "lib/{folder}/{name}.rb",
        (
            "require_relative '../{folder}/{name}'",
            "require '{folder}/{name}'",
            "autoload :{what}, '{folder}/{name}'",
        ),
        (
            "class {own} < {base}\n  include {other}\n  def {member}\n    {value}\n  end\nend",
            "module {own}\n  include {base}\n  extend {other}\nend",
            "def {own}\n  a = {value}\n  a.{member}\nend",
        ),
        values=("{other}.new.{member}", "{other}::{member}.{member}", "{other}.{member}.new"),
    ),
    "lua": Form(
        "{folder}/{name}.lua",
        ('local {what} = require("{folder}.{name}")', 'require("{folder}.{name}")'),
        (
            "local {own} = {value}",
            "function {own}.{member}() return {value} end",
            "{own} = setmetatable({{}}, {{ __index = {base} }})",
        ),
        tail="return {what}\n",
    ),
    "elixir": Form(
        "lib/{folder}/{name}.ex",
        (
            "import {folder}.{name}",
            "alias {folder}.{name}, as: {what}",
            "alias {folder}.{{{name}}}",
            "use {folder}.{name}",
        ),
        (
            "defmodule {own} do\n  use {base}\n  def {member}(), do: {value}\nend",
            "defmodule {own} do\n  alias {base}.{other}\n  defdelegate {member}(), to: {other}\nend",
            "def {own}() do\n  {value}\nend",
        ),
        values=("{other}.{member}()", "{folder}.{name}.{other}()", "{member}() |> {other}.{member}()"),
    ),
    "bash": Form(
        "{folder}/{name}.sh",
        ('source "../{folder}/{name}.sh"', ". ../{folder}/{name}.sh"),
        ("{own}() {{\n  {other}\n  {member} $({base})\n}}", "{own}"),
        values=("{other}",),
    ),
}
"""How each language is written: those that have rules of their own, and those that have none."""

SHAPES: Final[Mapping[str, Callable[[int, random.Random], Iterator[tuple[int, int]]]]] = {
    "ring": lambda count, chance: ((at, (at + 1) % count) for at in range(count)),
    "chain": lambda count, chance: ((at, at + 1) for at in range(count - 1)),
    "both ways": lambda count, chance: (
        pair for at in range(count - 1) for pair in ((at, at + 1), (at + 1, at))
    ),
    "diamonds": lambda count, chance: (
        (at, below) for at in range(count) for below in range(at - at % 3 + 3, min(at - at % 3 + 6, count))
    ),
    "all to all": lambda count, chance: ((at, other) for at in range(count) for other in range(count)),
    "random": lambda count, chance: (
        (chance.randrange(count), chance.randrange(count)) for _ in range(count * chance.randint(1, 6))
    ),
}


def generated(language: str, shape: str, count: int, seed: int, asked: int = 0) -> dict[str, str]:
    """Return the files of a project of some modules, by path; one of them asks for so many names that nobody
    defines, for each of which all have to be looked through."""
    chance = random.Random(f"{language} {shape} {count} {seed} {asked}")
    form = FORMS[language]
    folders = chance.choice((1, 2, len(FOLDERS)))
    modules = [Module(FOLDERS[at % folders], f"m{at // folders}") for at in range(count)]
    imports: dict[Module, list[str]] = {module: [] for module in modules}
    # Mostly one way throughout: a chain of wildcards is as long as it gets then.
    usual = chance.choice(form.imports)
    for at, other in SHAPES[shape](count, chance):
        way = usual if chance.random() < 0.8 else chance.choice(form.imports)
        imports[modules[at]].append(way.format(**_words(chance), **modules[other]._asdict()))
    files = {
        path: content.format(name=chance.choice(modules).name) if "{" in content else content
        for path, content in form.extra
    }
    for at, module in enumerate(modules):
        path = form.path.format(**module._asdict())
        circle = {"own": f"K{at % NAMES}", "base": f"K{(at + 1) % NAMES}"} if chance.random() < 0.5 else {}
        bodies = [_body(form, module, chance, circle) for _ in range(chance.randint(1, 5))]
        for number in range(asked if at == 0 else 0):
            nobody = {"own": f"A{number}", "base": f"B{number}", "other": f"C{number}"}
            bodies.append(_body(form, module, chance, nobody))
        head = form.head.format(**module._asdict())
        first, last = (head, "") if language in {"go", "java", "kotlin", "scala", "php"} else ("", head)
        tail = form.tail.replace("{what}", _words(chance)["what"])
        lines = [first, *dict.fromkeys(imports[module]), last, *bodies, tail]
        files[path] = "\n".join(line for line in lines if line) + "\n"
    return files


def _body(form: Form, module: Module, chance: random.Random, circle: Mapping[str, str]) -> str:
    words = {**_words(chance), **circle}
    value = chance.choice(form.values).format(**words, **module._asdict())
    return chance.choice(form.bodies).format(**words, **module._asdict(), value=value)


def _words(chance: random.Random) -> dict[str, str]:
    def name(first: str) -> str:
        return f"{first}{chance.randrange(NAMES)}"

    kinds = ("own", "base", "other", "what")
    return {kind: name(chance.choice("KKf")) for kind in kinds} | {"member": name(chance.choice("mmKf"))}


class Linkage(NamedTuple):
    """What linking all files of a project took: the longest time of one file, the most steps, and how many of
    its references met a bound."""

    files: int
    seconds: float
    steps: int
    cut: int


def link_all(files: Mapping[str, str]) -> Linkage:
    """Link each file twice. Raises `AssertionError` where that gives two answers or takes too long."""
    world = SourceWorld(files)
    longest = 0.0
    steps = cut = 0
    with _warnings() as warnings:
        for path in files:
            started = time.process_time()
            found = world.link(path)
            longest = max(longest, time.process_time() - started)
            _check(path, found, world.link(path), files)
            steps, cut = max(steps, found.steps), cut + found.cut
        assert not warnings, f"{warnings[0].getMessage()}"
    assert longest < FILE_S, f"a file took {longest:.1f} s"
    return Linkage(len(files), longest, steps, cut)


def _check(path: str, found: LinkedFile, again: LinkedFile, files: Mapping[str, str]) -> None:
    assert found == again, f"{path} is linked in two ways"
    for link in found.links:
        assert not link.target_path or link.target_path in files, f"{path} leads to {link.target_path}"


class _Gathering(logging.Handler):
    def __init__(self, records: list[logging.LogRecord]) -> None:
        super().__init__(logging.WARNING)
        self._records = records

    def emit(self, record: logging.LogRecord) -> None:
        self._records.append(record)


@contextmanager
def _warnings() -> Iterator[list[logging.LogRecord]]:
    """Gather what the linker warns of: that it was saved by Python's own bound."""
    records: list[logging.LogRecord] = []
    handler = _Gathering(records)
    logger = logging.getLogger(link_file.__module__)
    logger.addHandler(handler)
    try:
        yield records
    finally:
        logger.removeHandler(handler)
