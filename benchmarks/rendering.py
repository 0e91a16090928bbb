"""Measures rendering: a full context of 100 KB out of its slices, and the building of one."""

from __future__ import annotations

import itertools
from typing import Any

from foveal.daemon.context.render import render_markdown, spans
from foveal.daemon.context.selection import Form, Slice, fixed
from foveal.ipc.protocol import encode_response

from .bench import Bench
from .own_daemon import WAIT_S
from .statistics import Measure

FILES = 60
TOKENS = 40_000
BYTES = 100_000
Chosen = list[tuple[Slice, Form]]


def run(bench: Bench) -> list[Measure]:
    """Measure the product's own rendering of a real answer's slices, and the request that builds it all."""
    warm = bench.warm
    params = {"cwd": str(warm.root), "focus_paths": warm.files[:FILES], "max_tokens": TOKENS}
    numbers = itertools.count(BYTES)

    def build() -> dict[str, Any]:
        # Another limit each time, so that nothing that is kept can answer.
        request = {**params, "max_bytes": next(numbers)}
        reply: dict[str, Any] = warm.client.call("GetContext", request, WAIT_S)
        assert not reply["cached"]
        return reply

    reply = build()
    if reply["bytes"] < BYTES * 0.8:
        raise RuntimeError(f"{FILES} files make {reply['bytes']:,} bytes only: the project is too small")
    chosen = chosen_of(reply)
    assert render_markdown(chosen) == reply["context"]
    count = bench.count(2_000, 200)
    texts = [form.text for _, form in chosen]
    joined = Measure("joining its texts").time(lambda: "".join(texts).encode(), count)
    note = f"{reply['bytes'] / 1000:.0f} KB, {len(chosen)} slices: text, spans, packed reply"
    rendered = Measure("rendering a full context", target=3.0, note=note, baseline=joined)
    rendered.time(lambda: _render(chosen, reply), count)
    built = Measure(f"build and render 100 KB from {FILES} files", baseline=rendered)
    built.time(build, bench.count(200, 20))
    built.memory_mb = warm.memory_mb()
    return [joined, rendered, built]


def chosen_of(reply: dict[str, Any]) -> Chosen:
    """Return the slices of an answer with the forms that they took, by where they stand in its text."""
    chosen = []
    for one in sorted((one for one in reply["slices"] if one.get("span")), key=lambda one: one["span"]):
        start, end = one["span"]
        form = Form(reply["context"][start:end], one["compressed"])
        smallest, grow, characters = fixed(form)
        made = Slice(
            one["id"], one["type"], one["layer"], one["weight"], (start,), smallest, grow, characters
        )
        chosen.append((made, form))
    return chosen


def _render(chosen: Chosen, reply: dict[str, Any]) -> bytes:
    text = render_markdown(chosen)
    spans(chosen, text)
    return encode_response(1, {**reply, "context": text})
