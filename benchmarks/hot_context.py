"""Measures the hot answer: GetContext of an unchanged scope, alone, pipelined, beside an index."""

from __future__ import annotations

import socket
import time
from typing import Any

from foveal.ipc.client import ensure_daemon
from foveal.ipc.paths import find_socket
from foveal.ipc.protocol import Decoder, encode_request, encode_response

from .bench import Bench, WarmProject
from .echo import echoing
from .own_daemon import WAIT_S, project
from .statistics import Measure

IN_FLIGHT = 64


def run(bench: Bench) -> list[Measure]:
    """Measure the answer beside a bare socket with the same bytes, and a Ping."""
    warm, count = bench.warm, bench.count(20_000, 1_000)
    params = warm.thirty_kilobytes()
    reply = warm.client.call("GetContext", params, WAIT_S)
    shown = sum(1 for one in reply["slices"] if one.get("path"))
    echo = _echo(bench, params, reply, count)
    ping = Measure("Ping", baseline=echo).time(lambda: warm.client.call("Ping"), count)
    note = f"{reply['bytes'] / 1000:.0f} KB, {shown} files shown"
    hot = Measure("hot GetContext", target=0.2, note=note, baseline=echo)
    hot.time(lambda: warm.client.call("GetContext", params), count)
    assert warm.client.call("GetContext", params)["cached"]
    hot.memory_mb = warm.memory_mb()
    measures = [echo, ping, hot, hot.tail(1.0), _pipelined(warm, params, count, echo)]
    return [*measures, _while_indexing(warm, params, hot)]


def _echo(bench: Bench, params: dict[str, Any], reply: dict[str, Any], count: int) -> Measure:
    request = encode_request(1, "GetContext", params)
    size = len(encode_response(1, reply))
    measure = Measure("bare socket echo", note=f"{len(request)} bytes there, {size:,} back")
    with echoing(str(bench.folder / "echo.sock"), request, size) as ask:
        ask()
        return measure.time(ask, count)


def _pipelined(warm: WarmProject, params: dict[str, Any], count: int, echo: Measure) -> Measure:
    """Measure a second connection that keeps some requests in flight; the daemon has one core for it."""
    frame = encode_request(1, "GetContext", params)
    decoder = Decoder()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(find_socket(None, warm.environ).path)
        sent = received = 0
        started = time.perf_counter()
        while received < count:
            while sent < min(count, received + IN_FLIGHT):
                connection.sendall(frame)
                sent += 1
            decoder.feed(connection.recv(1 << 20))
            while decoder.next_message() is not None:
                received += 1
        rate = count / (time.perf_counter() - started)
    one_by_one = Measure(
        "bare socket echo, one by one", "a second", [1000 / sample for sample in echo.samples]
    )
    return Measure(
        "hot GetContext, pipelined", "a second", [rate], target=8_000, least=True, baseline=one_by_one
    )


def _while_indexing(warm: WarmProject, params: dict[str, Any], alone: Measure) -> Measure:
    hot = Measure("hot GetContext while a full index runs", target=5.0, which="p99", baseline=alone)
    with ensure_daemon(None, warm.environ, WAIT_S) as watcher:
        watcher.call("ReindexProject", {"path": str(warm.root), "full": True}, WAIT_S)
        started = time.perf_counter()
        built = 0
        while True:
            moment = time.perf_counter()
            built += not warm.client.call("GetContext", params, WAIT_S)["cached"]
            hot.samples.append((time.perf_counter() - moment) * 1000)
            if len(hot.samples) % 100 == 0:
                state = project(watcher, warm.root)["state"]
                if state == "ready" and time.perf_counter() - started > 0.5:
                    break
    hot.note = f"{time.perf_counter() - started:.1f} s, {built} of them built anew"
    hot.memory_mb = warm.memory_mb()
    return hot
