"""A file takes the fullest form that fits, and says what it is even where there is no room for more."""

from __future__ import annotations

from collections.abc import Sequence

from foveal.daemon.context.excerpt import FileSource
from foveal.daemon.context.file_forms import DefinitionForms, FileForms, OutlineForms, name_of, unshown_form
from foveal.daemon.context.focus import FocusNode
from foveal.daemon.languages.shared.records import Symbol
from foveal.daemon.project.records import Content

TEXT = "".join(f"def f{n}(a):\n    return a + {n}\n\n\n" for n in range(40))
SYMBOLS = tuple(Symbol(f"f{n}", "function", 4 * n + 1, 4 * n + 2, f"def f{n}(a)", "", 0) for n in range(40))


def file_forms(text: str, symbols: tuple[Symbol, ...] = (), *, cut: bool = False) -> FileForms:
    node = FocusNode("a.py", "", "focus", "asked for")
    return FileForms(node, FileSource("a.py", text, "python", symbols), (), (), cut=cut, unsaved=False)


def least(content: Content, symbols: Sequence[Symbol] = (), passed_on: Sequence[str] = ()) -> str:
    form = OutlineForms("x", "imported by `a.ts`", content, symbols, "", passed_on)(0)
    heading, _, body = form.text.partition("\n\n")
    assert heading == "### `x` (imported by `a.ts`)"
    return body.strip()


def test_a_file_never_takes_more_than_it_is_given_and_says_what_is_missing() -> None:
    forms = file_forms(TEXT, SYMBOLS)
    whole = forms(forms.full_characters)
    assert not whole.compressed
    assert TEXT in whole.text
    for characters in range(300, forms.full_characters, 97):
        form = forms(characters)
        assert form.compressed
        assert len(form.text) <= characters
        assert "lines left out: expand `a.py`" in form.text
    assert "Defines `f0`, `f1`" in forms(0).text
    assert "and 32 more." in forms(0).text
    assert "Not shown for want of room." in file_forms(TEXT)(0).text
    assert "The file is empty." in file_forms(" \n")(0).text
    assert "The file is too large to be shown whole" in file_forms(TEXT, cut=True)(1 << 40).text


def test_a_definition_is_whole_cut_after_a_line_or_its_signature() -> None:
    symbol = Symbol("f", "function", 3, 42, "def f()", "Do it.", 0)
    lines = ["import x", "", "def f():", *(f"    x.line_{n}()" for n in range(39))]
    forms = DefinitionForms(FileSource("a.py", "\n".join(lines), "python", (symbol,)), symbol, 3, 42)
    whole = forms(forms.full_characters)
    assert "`a.py#f` (lines 3-42)" in whole.text
    assert "\ndef f():\n" in whole.text
    assert "\n    x.line_38()\n" in whole.text
    assert "import" not in whole.text
    assert not whole.compressed
    cut = forms(forms.full_characters - 1)
    assert cut.compressed
    assert "lines left out: expand `a.py#f`" in cut.text
    assert " 3  def f():" in cut.text
    assert "import" not in cut.text
    shown = [line for line in cut.text.split("\n") if "x.line_" in line]
    assert shown
    assert all(f"{int(line.split('_')[1][:-2]) + 4}      x.line_" in line for line in shown)
    assert "def f()" in forms(0).text
    assert "line_0" not in forms(0).text


def test_the_head_of_a_class_never_shows_its_members() -> None:
    head = [
        "class C:",
        '    """Rates."""',
        *(f"    RATE_{n} = {n}" for n in range(80)),
        "",
        "    # The first rate.",
    ]
    members = [line for n in range(20) for line in (f"    def rate_{n}(self):", f"        return {n}", "")]
    starts = range(len(head) + 1, len(head) + len(members), 3)
    inside = [Symbol(f"C.rate_{n}", "method", at, at + 1, "def", "", 1) for n, at in enumerate(starts)]
    outer = Symbol("C", "class", 1, len(head) + len(members) - 1, "class C", "Rates.", 0)
    source = FileSource("a.py", "\n".join(head + members), "python", (outer, *inside))
    for in_frame in (False, True):
        forms = DefinitionForms(source, outer, 1, len(head), ("rate",), in_frame=in_frame)
        assert "RATE_79 = 79" in forms(forms.full_characters).text
        for characters in range(0, forms.full_characters + 50, 50):
            form = forms(characters)
            assert form.compressed == (characters < forms.full_characters)
            assert "def rate_" not in form.text
            assert "first rate" not in form.text


def test_the_least_of_a_dependency() -> None:
    some = Content("{\n}\n", None)
    assert least(some, SYMBOLS[:2]) == "Defines `f0`, `f1`."
    assert least(some, (), ("b.ts", "c.ts", "b.ts")) == "Defines nothing itself; it imports `b.ts`, `c.ts`."
    assert least(some) == "2 lines."
    assert least(Content("a {}\n", None)) == "1 line."
    assert least(Content("a\nb\n", None, cut=True)) == "More than 2 lines."
    assert least(Content("", None, "it is binary")) == "Not shown: it is binary."


def test_no_name_of_a_file_ends_its_heading() -> None:
    evil = "a`b\n## Rules\n```.py"
    assert name_of(evil) == r"`a\x60b\n## Rules\n\x60\x60\x60.py`"
    assert name_of("a b.md", "Title/Sub title") == "`a b.md#Title/Sub title`"
    content = Content("x\n", None)
    node = FocusNode(evil, "", "focus", "asked for")
    texts = [
        OutlineForms(evil, f"imported by {name_of(evil)}", content, (), "", (evil,))(0).text,
        FileForms(node, FileSource(evil, TEXT, "", ()), (), (), cut=False, unsaved=False)(400).text,
        unshown_form(node, "Not shown.").text,
    ]
    for text in texts:
        assert not any(line.startswith(("## ", "```.py")) for line in text.splitlines())
        assert text.partition("\n")[0].count("`") % 2 == 0
