"""An index of another format is refused, and the engine's errors and panics become errors of ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.index import lexical_reader as lexical_format
from foveal.daemon.index.lexical_files import LexicalDamaged, LexicalUnwritable
from foveal.daemon.index.lexical_indexer import LexicalWriter
from foveal.daemon.index.lexical_reader import FORMAT, LexicalReader, check_format, raising


def test_an_index_of_another_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(lexical_format, "FORMAT", "of yesterday")
        LexicalWriter.create(str(tmp_path)).close()
        LexicalReader(str(tmp_path))
    for opened in (LexicalWriter, LexicalReader):
        with pytest.raises(LexicalDamaged, match="of yesterday"):
            opened(str(tmp_path))
    check_format(FORMAT)


class PanicException(BaseException):
    """Bears the name of the engine's own, which can't be imported."""


@pytest.mark.parametrize(
    "raised", [ValueError("bad"), RuntimeError("bad"), OSError("bad"), PanicException("bad")]
)
@pytest.mark.parametrize("error_class", [LexicalDamaged, LexicalUnwritable])
def test_the_engines_errors_become_ours(
    raised: BaseException, error_class: type[LexicalDamaged | LexicalUnwritable]
) -> None:
    with pytest.raises(error_class, match="bad") as caught, raising(error_class):
        raise raised
    assert caught.value.__cause__ is raised


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), SystemExit(1), TypeError("ours")])
def test_other_errors_go_on_their_way(raised: BaseException) -> None:
    with pytest.raises(type(raised)), raising(LexicalDamaged):
        raise raised
