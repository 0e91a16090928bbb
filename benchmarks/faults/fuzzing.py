"""The fuzzed readers and what must hold for any bytes.

python -m benchmarks.faults.fuzzing READER SECONDS is led by coverage and needs atheris; what it found worth
keeping lies in `corpus/READER/`. `mutated` needs nothing: it changes what lies there by chance, the same for
the same seed.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from foveal.daemon.config.files import load_project_config, load_user_config
from foveal.daemon.config.settings import UserConfig
from foveal.daemon.core.errors import ConfigError, InvalidRequest
from foveal.daemon.core.system import System
from foveal.daemon.transcripts.extraction import extract
from foveal.daemon.transcripts.transcripts import read
from foveal.ipc.protocol import Decoder, Message, ProtocolError

from .promise import NotHere

CORPUS = Path(__file__).parent / "corpus"
LIMIT_BYTES = 64 * 1024
"""Frames above it are refused here, so that small inputs reach that too."""


def decode(data: bytes) -> None:
    """Decode a stream whole, and cut at places that its own bytes name: it comes to the same."""
    whole = _messages([data])
    cuts = sorted({byte * len(data) // 256 for byte in data[:8]})
    pieces = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    if repr(_messages(pieces)) != repr(whole):
        raise AssertionError("where the bytes are cut changes what they say")


def _messages(pieces: list[bytes]) -> list[Message | str]:
    decoder = Decoder(LIMIT_BYTES)
    found: list[Message | str] = []
    for piece in pieces:
        decoder.feed(piece)
        try:
            while (message := decoder.next_message()) is not None:
                found.append(message)
        except ProtocolError as error:
            return [*found, error.code]
        if len(decoder.partial) > LIMIT_BYTES + len(piece):
            raise AssertionError(f"{len(decoder.partial)} bytes of a frame are held")
    return found


def read_transcript(data: bytes) -> None:
    """Read a transcript and look for decisions in it: it is refused, or what can be read is."""
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(data)
        file.flush()
        try:
            with read(file.name) as reading:
                found = extract(reading.entries())
                cursor = reading.cursor
        except InvalidRequest:
            return
        for one in found:
            json.dumps(repr(one)).encode()
        with read(file.name, cursor) as again:
            if not reading.torn and (left := list(again.entries())):
                raise AssertionError(f"what was read comes again: {left[0]!r:.200}")


def read_config(data: bytes) -> None:
    """Read a file as the user's configuration and as a project's: settings, or an error that names it."""
    system, defaults = System(), UserConfig()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("config.toml", "foveal.toml"):
            path = os.path.join(folder, name)
            Path(path).write_bytes(data)
            try:
                if name == "config.toml":
                    load_user_config(path, system)
                    continue
                context = load_project_config(folder, defaults, system).config.context
            except ConfigError as error:
                if name not in str(error):
                    raise AssertionError(f"the error doesn't name the file: {error}") from error
            else:
                if context.max_tokens > defaults.context.max_tokens:
                    raise AssertionError("a project's file widened what the user allows")


READERS: Mapping[str, Callable[[bytes], None]] = {
    "protocol": decode,
    "transcript": read_transcript,
    "config": read_config,
}


PIECES = (
    b"\x93", b"\x94", b"\xc0", b"\xc1", b"\xff", b"\x00", b"\xdd\xff\xff\xff\xff", b"\xdb\x7f\xff\xff\xff",
    b"\xc9\xff\xff\xff\xff", b"\xd6\xff\x00\x00\x00\x00", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\n", b"{",
    b"}", b"[", b"]", b'"', b"\\ud800", b"=", b"-1", b"1e999", b"true", b"null", b"9" * 400, b"[agents.x]\n",
    b"[context]\n", b'"uuid"', b'"content"',
)  # fmt: skip
"""What the readers know, to be put in by chance."""


def mutated(reader: str, seed: int) -> Iterator[bytes]:
    """Yield changed inputs without end: pieces taken out, doubled, swapped, bits turned, others put in."""
    chance = random.Random(seed)
    known = [path.read_bytes() for path in sorted((CORPUS / reader).iterdir())]
    while True:
        data = bytearray(chance.choice(known))
        for _ in range(chance.randrange(1, 8)):
            place = chance.randrange(len(data) + 1)
            length = chance.choice((1, 2, 8, chance.randrange(len(data) + 1)))
            match chance.randrange(5):
                case 0:
                    del data[place : place + length]
                case 1:
                    data[place:place] = data[place : place + length]
                case 2:
                    data[place:place] = chance.choice(PIECES)
                case 3 if place < len(data):
                    data[place] ^= 1 << chance.randrange(8)
                case _:
                    other = chance.choice(known)
                    start = chance.randrange(len(other) + 1)
                    data[place : place + length] = other[start : start + length]
        yield bytes(data[:LIMIT_BYTES])


def main() -> None:
    """Fuzz one reader for so many seconds; what reaches new code is added to a copy of the corpus."""
    reader, seconds = sys.argv[1], sys.argv[2]
    try:
        atheris = importlib.import_module("atheris")
    except ImportError as error:
        raise NotHere("atheris isn't installed: pip install atheris") from error
    atheris.instrument_all()
    with tempfile.TemporaryDirectory() as found:
        options = [
            f"-max_total_time={seconds}",
            f"-max_len={LIMIT_BYTES}",
            "-timeout=10",
            "-rss_limit_mb=2048",
        ]
        atheris.Setup([sys.argv[0], *options, found, str(CORPUS / reader)], READERS[reader])
        atheris.Fuzz()


if __name__ == "__main__":
    main()
