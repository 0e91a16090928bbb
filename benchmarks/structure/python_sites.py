"""The reading of Python sources with the standard library: call sites and definitions, for an oracle."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .sites import Site, Target

CODE_MAX = 60


@dataclass(slots=True)
class PythonFile:
    """What the oracle needs of one file.

    `definitions` maps a line and the name that stands there to what is defined; `values` maps those of
    variables to the place (line, column) of the name that they are bound to, where that is all they are.
    """

    sites: list[Site] = field(default_factory=list)
    definitions: dict[tuple[int, str], Target] = field(default_factory=dict)
    values: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)
    text: str = ""


def read_python(root: Path) -> dict[str, PythonFile]:
    """Return the files of a project by path; what this interpreter can't parse is left out."""
    found = {}
    for path in sorted(root.rglob("*.py*")):
        if path.suffix in {".py", ".pyi"} and path.is_file():
            relative = path.relative_to(root).as_posix()
            file = read_file(relative, path.read_bytes())
            if file is not None:
                found[relative] = file
    return found


def read_file(path: str, data: bytes) -> PythonFile | None:
    """Return what one source holds, or None where it isn't UTF-8 or has an error of syntax."""
    try:
        text = data.decode("utf-8-sig")
        tree = ast.parse(text)
    except (UnicodeDecodeError, SyntaxError, ValueError):
        return None
    reader = _Reader(path, text)
    reader.walk(tree, "", "module", _Scope())
    reader.file.sites.sort()
    return reader.file


@dataclass(slots=True)
class _Scope:
    """How the names of a function, or of the module, are bound: name to a form."""

    forms: dict[str, str] = field(default_factory=dict)
    outer: _Scope | None = None
    owner: str = ""  # the class that this is a method of

    def form(self, name: str) -> str:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.forms:
                return scope.forms[name]
            scope = scope.outer
        return "builtin or star import"


class _Reader:
    def __init__(self, path: str, text: str) -> None:
        self.file = PythonFile(text=text)
        self._path = path
        self._lines = text.split("\n")

    def walk(self, node: ast.AST, prefix: str, inside: str, scope: _Scope) -> None:
        """Go through a module, class or function; `inside` says which."""
        body = list(_own_nodes(node))
        target_scope = scope
        if inside != "class":
            for each in body:
                _bind(each, target_scope)
        for each in body:
            self._note(each, prefix, inside, scope)
        for each in body:
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                inner = _Scope(outer=scope)
                _parameters(each, inner, is_method=inside == "class")
                self.walk(each, f"{prefix}{each.name}.", "function", inner)
            elif isinstance(each, ast.ClassDef):
                self.walk(each, f"{prefix}{each.name}.", "class", scope)

    def _note(self, node: ast.AST, prefix: str, inside: str, scope: _Scope) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._define(node.lineno, node.name, prefix, "function")
            case ast.ClassDef():
                self._define(node.lineno, node.name, prefix, "class")
            case ast.Assign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    self._variable(target, node.value, prefix, inside)
            case ast.Call():
                self._site(node.func, "call", scope)
            case _:
                pass
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                self._site(decorator, "decorate", scope)

    def _define(self, line: int, name: str, prefix: str, kind: str) -> None:
        self.file.definitions[line, name] = Target(self._path, line, prefix + name, kind)

    def _variable(self, target: ast.expr, value: ast.expr | None, prefix: str, inside: str) -> None:
        name = _callee_name(target)
        if not name or target.end_lineno is None:
            return
        key = target.end_lineno, name
        if isinstance(target, ast.Name) and inside != "function":
            self.file.definitions.setdefault(key, Target(self._path, key[0], prefix + name, "variable"))
        if value is not None and _callee_name(value):
            self.file.values[key] = self._place(value)

    def _site(self, callee: ast.expr, kind: str, scope: _Scope) -> None:
        name = _callee_name(callee)
        if name:
            line, column = self._place(callee)
            code = " ".join(ast.unparse(callee).split())[-CODE_MAX:]
            self.file.sites.append(Site(self._path, line, column, name, kind, _form(callee, scope), code))

    def _place(self, node: ast.expr) -> tuple[int, int]:
        """Return the line from 1 and the UTF-16 column from 0 of the last name of an expression."""
        line, column = node.lineno, node.col_offset
        if isinstance(node, ast.Attribute):
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            line, column = node.end_lineno, node.end_col_offset - len(node.attr.encode())
        before = self._lines[line - 1].encode()[:column].decode()
        return line, len(before.encode("utf-16-le")) // 2


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what lies in a scope and not in one inside of it, those themselves included.

    Decorators, defaults, bases and annotations of an inner definition belong to the outer one.
    """
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        pending: list[ast.AST] = list(node.body)
    else:
        pending = list(ast.iter_child_nodes(node))
    while pending:
        each = pending.pop()
        yield each
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            pending += [*each.decorator_list, each.args, *([each.returns] if each.returns else [])]
        elif isinstance(each, ast.ClassDef):
            pending += [*each.decorator_list, *each.bases, *each.keywords]
        else:
            pending.extend(ast.iter_child_nodes(each))


def _callee_name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _bind(node: ast.AST, scope: _Scope) -> None:
    """Note how one statement binds names; the first way counts, since it is what a reader looks for."""
    forms = scope.forms
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            forms.setdefault(node.name, "local function" if scope.outer else "function of the file")
        case ast.ClassDef():
            forms.setdefault(node.name, "local class" if scope.outer else "class of the file")
        case ast.Import():
            for alias in node.names:
                forms.setdefault(alias.asname or alias.name.partition(".")[0], "imported module")
        case ast.ImportFrom():
            for alias in node.names:
                forms.setdefault(alias.asname or alias.name, "imported name")
        case ast.For() | ast.AsyncFor() | ast.comprehension():
            _bind_all(node.target, "loop variable", scope)
        case ast.withitem() if node.optional_vars is not None:
            _bind_all(node.optional_vars, "with variable", scope)
        case ast.ExceptHandler() if node.name:
            forms.setdefault(node.name, "exception variable")
        case ast.NamedExpr():
            _bind_all(node.target, f"variable = {_shape(node.value)}", scope)
        case ast.AnnAssign():
            _bind_all(node.target, "annotated variable", scope)
        case ast.Assign():
            for target in node.targets:
                form = (
                    "unpacked variable"
                    if not isinstance(target, ast.Name)
                    else f"variable = {_shape(node.value)}"
                )
                _bind_all(target, form, scope)
        case ast.Lambda():
            for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                forms.setdefault(argument.arg, "lambda parameter")
        case _:
            pass


def _bind_all(target: ast.expr, form: str, scope: _Scope) -> None:
    for each in ast.walk(target):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            scope.forms.setdefault(each.id, form)


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef, scope: _Scope, *, is_method: bool) -> None:
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    arguments += [each for each in (node.args.vararg, node.args.kwarg) if each is not None]
    for place, argument in enumerate(arguments):
        form = "annotated parameter" if argument.annotation else "bare parameter"
        if place == 0 and is_method and argument.arg in {"self", "cls", "mcs", "mcls"}:
            form = argument.arg
        scope.forms[argument.arg] = form


def _shape(value: ast.expr) -> str:
    match value:
        case ast.Await():
            return f"await {_shape(value.value)}"
        case ast.Call():
            return "call"
        case ast.Name():
            return "name"
        case ast.Attribute():
            return "attribute"
        case ast.Subscript():
            return "element"
        case ast.BoolOp() | ast.IfExp():
            return "choice"
        case _:
            return "other"


def _form(callee: ast.expr, scope: _Scope) -> str:
    """Say what stands before the last name of a callee, as a class of misses (`self.`, `call().`)."""
    if isinstance(callee, ast.Name):
        return f"name: {scope.form(callee.id)}"
    assert isinstance(callee, ast.Attribute)
    receiver = callee.value
    while isinstance(receiver, ast.Await):
        receiver = receiver.value
    match receiver:
        case ast.Name():
            return f"{scope.form(receiver.id)}."
        case ast.Attribute(value=ast.Name(id="self" | "cls")):
            return "self.attribute."
        case ast.Attribute():
            root: ast.expr = receiver
            while isinstance(root, ast.Attribute):
                root = root.value
            dotted = scope.form(root.id) if isinstance(root, ast.Name) else _shape(root)
            return f"attribute of {dotted}."
        case ast.Call(func=ast.Name(id="super")):
            return "super()."
        case ast.Call():
            return "call()."
        case ast.Subscript():
            return "element[]."
        case ast.Constant() | ast.JoinedStr():
            return "literal."
        case _:
            return "expression."
