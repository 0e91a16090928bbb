"""A notebook is read as the cells of its kernel's language, at the lines of its file, and without outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.core.system import System
from foveal.daemon.index.reading import Contents, FileReader, FileToRead
from foveal.daemon.languages.shared.language import language_of
from foveal.daemon.languages.shared.notebook import (
    OUTPUT_SHARE,
    shown_text,
    source_of,
    with_sections,
    without_gaps,
)
from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.project.service import ContentReader, kind_of_text
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties import examples

PICTURE = "iVBORw0KGgo" * 200


def cell(kind: str, text: str, **more: Any) -> dict[str, Any]:
    """Return a cell as Jupyter writes it."""
    found: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True)}
    if kind == "code":
        found |= {
            "execution_count": 1,
            "outputs": [{"data": {"image/png": PICTURE, "text/plain": ["secret_output"]}}],
        }
    return found | more


def notebook(*cells: dict[str, Any], language: str = "python", indent: int | None = 1) -> bytes:
    """Return the bytes of a notebook."""
    metadata = {"language_info": {"name": language}}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4}, indent=indent).encode()


TRAINING = notebook(
    cell("markdown", "# Training\nHow it is done.\n\n## Data\n![x](data:image/png;base64," + PICTURE + ")\n"),
    cell("code", "%matplotlib inline\nimport torch\n!pip install \\\n  torch\n"),
    cell("code", ""),
    cell("code", 'def train(model):\n    """Train it."""\n    return model.fit(torch)\n'),
    cell("code", "%%bash\ndef no {\n"),
    cell("code", "%%time\ntrain(1)\nshow?"),
)


def read(path: Path, data: bytes, max_bytes: int = 1 << 20) -> tuple[str, str, Contents | None]:
    """Return why a file isn't read, its language, and its contents."""
    path.write_bytes(data)
    found = FileReader(str(path.parent), max_bytes, System()).read(
        FileToRead(path.name, language_of(path.name))
    )
    return found.look.skipped, found.look.language, found.contents


def test_a_notebook_has_the_lines_of_its_file(tmp_path: Path) -> None:
    source = source_of("nb.ipynb", TRAINING).decode()
    written = TRAINING.decode().split("\n")
    assert source.count("\n") == TRAINING.count(b"\n")
    line = source.split("\n").index("def train(model):")
    assert written[line].strip() == r'"def train(model):\n",'
    skipped, language, contents = read(tmp_path / "nb.ipynb", TRAINING)
    assert (skipped, language) == ("", "python")
    assert contents is not None
    assert [(name, kind, start - 1 == line, doc) for name, kind, start, _, _, doc, _ in contents.symbols] == [
        ("Training", "section", False, ""), ("Data", "section", False, ""), ("train", "function", True, "Train it."),
    ]  # fmt: skip
    assert [(module, written[at - 1].strip()) for module, _, at, _ in contents.imports] == [
        ("torch", r'"import torch\n",')
    ]
    assert contents.lines == TRAINING.count(b"\n") + 1
    assert contents.facts is not None
    assert "Training" not in contents.facts.shown_interface().names


def test_a_reference_stays_in_its_definition() -> None:
    kept, _ = without_gaps(source_of("nb.ipynb", TRAINING).decode())
    parsed = with_sections(parse_source(kept.encode(), "python"), kept)
    calls = [each for each in parsed.references.references if each.kind == "call"]
    assert [(each.chain, each.scope >= 0 and parsed.symbols[each.scope].name) for each in calls] == [
        ("model.fit", "train"), ("train", False),
    ]  # fmt: skip


def test_a_source_within_an_output_is_no_cell() -> None:
    output = [{"data": {"application/json": {"source": ["b = 2\n", "d = 4"]}}}, {"source": ["b = 3"]}]
    data = notebook(cell("code", "a = 1", outputs=output), cell("code", "b = 2\nc = 3"))
    lines = source_of("nb.ipynb", data).split(b"\n")
    assert data.split(b"\n")[lines.index(b"c = 3")].strip() == b'"c = 3"'


def test_a_notebook_is_shown_by_its_cells() -> None:
    assert shown_text("a/NB.IPYNB", source_of("a/NB.IPYNB", TRAINING).decode()) == (
        "# %% cell 1 [markdown]\n# # Training\n# How it is done.\n#\n# ## Data\n"
        "# ![x](data:image/png;base64,…)\n\n"
        "# %% cell 2\n# %matplotlib inline\nimport torch\n# !pip install \\\n#   torch\n\n"
        '# %% cell 4\ndef train(model):\n    """Train it."""\n    return model.fit(torch)\n\n'
        "# %% cell 5\n# %%bash\n# def no {\n\n# %% cell 6\n# %%time\ntrain(1)\n# show?\n"
    )
    assert shown_text("a.py", "a\n\n\n\nb") == "a\n\n\n\nb"


def test_a_context_reads_what_is_indexed(tmp_path: Path) -> None:
    (tmp_path / "nb.ipynb").write_bytes(TRAINING)
    (tmp_path / "nb.json").write_bytes(TRAINING)
    reader = ContentReader(str(tmp_path), System(), 1 << 20, {})
    assert reader.read("nb.ipynb").text.encode() == source_of("nb.ipynb", TRAINING)
    assert PICTURE in reader.read("nb.json").text
    unsaved = ContentReader(
        str(tmp_path), System(), 1 << 20, {"nb.ipynb": notebook(cell("code", "x = 1")).decode()}
    )
    assert "\nx = 1\n" in unsaved.read("nb.ipynb").text
    assert kind_of_text("nb.ipynb", "python", reader.read("nb.ipynb").text).kind == "code"


@pytest.mark.parametrize("indent", [None, 1])
def test_a_notebook_on_one_line_is_numbered_by_its_cells(indent: int | None) -> None:
    two = cell("code", "") | {"source": "a = 1\nb = 2"}
    source = source_of("nb.ipynb", notebook(cell("markdown", "# T"), two, indent=indent))
    assert source == b"#!python\n# %% cell 1 [markdown]\n# # T\n\n# %% cell 2\na = 1\nb = 2"


def test_a_source_of_one_line_may_stand_behind_its_key() -> None:
    data = notebook(cell("code", "") | {"source": "a = 1"})
    assert (
        source_of("nb.ipynb", data).split(b"\n")[data.split(b"\n").index(b'   "source": "a = 1",')]
        == b"a = 1"
    )


class Rows(list[bytes]):
    """Counts the rows that are handed out."""

    given = 0

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        Rows.given += len(found) if isinstance(key, slice) else 1
        return found


class Data(bytes):
    def removeprefix(self, prefix: Any, /) -> bytes:
        return self

    def split(self, *args: Any, **named: Any) -> Rows:
        return Rows(super().split(*args, **named))


def test_a_hostile_notebook_takes_linear_time() -> None:
    count = 500
    data = b'{"cells":[{"cell_type":"code","source":"a%sb"}],"x":[{\n%s"y":1}]}' % (
        rb"\n" * count,
        b'"source": [\n],\n' * count,
    )
    assert source_of("nb.ipynb", Data(data)).startswith(b"#!python\n# %% cell 1\na\n")
    assert Rows.given < 10 * count


@pytest.mark.parametrize(
    ("language", "expected", "first"),
    [("python", "python", "#"), ("R", "r", "#"), ("julia", "julia", "#"), ("typescript", "typescript", "//"),
     ("Rust", "rust", "//"), ("C++17", "cpp", "//"), ("C#", "csharp", "//"), ("go", "go", "//"),
     ("nonsense", "notebook", "#")],
)  # fmt: skip
def test_a_notebook_has_the_language_of_its_kernel(language: str, expected: str, first: str) -> None:
    source = source_of("nb.ipynb", notebook(cell("code", "f <- 1"), language=language))
    assert language_of("nb.ipynb", source[:256]) == expected
    assert source.split(b"\n")[1:2] != [b"%b %%%% cell 1" % first.encode()]
    assert f"\n{first} %% cell 1\nf <- 1\n".encode() in source


def test_outputs_do_not_make_a_notebook_too_large(tmp_path: Path) -> None:
    data = notebook(*(cell("code", f"a{number} = 1") for number in range(9)))
    limit = len(data) // 4
    assert read(tmp_path / "a.ipynb", data, limit)[0] == ""
    assert read(tmp_path / "b.json", data, limit)[0] == "too_large"
    assert read(tmp_path / "c.ipynb", b" " * (OUTPUT_SHARE * limit + 1), limit)[0] == "too_large"


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b'{"cells": 1}', b"<<<<<<<\n" + TRAINING, b'{"cells":[{}]}']
)
def test_a_damaged_notebook_is_data(tmp_path: Path, data: bytes) -> None:
    skipped, _, contents = read(tmp_path / "nb.ipynb", data)
    assert skipped == ""
    assert contents is not None
    assert contents.symbols == ()
    assert kind_of_text("nb.ipynb", "notebook", data.decode()).kind == "data"


@given(st.lists(st.tuples(st.sampled_from(["code", "markdown", "raw"]), st.text(max_size=60)), max_size=6))
@settings(max_examples=examples(100))
def test_any_cells_give_the_text_of_their_notebook(cells: list[tuple[str, str]]) -> None:
    data = notebook(*(cell(kind, text) for kind, text in cells))
    source = source_of("nb.ipynb", data).decode()
    kept, lines = without_gaps(source)
    rows = source.split("\n")
    assert kept.split("\n") == [rows[line - 1] for line in lines[:-1]]
    assert "secret_output" not in source
    assert PICTURE not in source
