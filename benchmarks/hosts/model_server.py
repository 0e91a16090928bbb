"""A scripted model on loopback that records requests, in the wire formats of Anthropic, OpenAI and Gemini."""

from __future__ import annotations

import asyncio
import json
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from aiohttp import web

from .script import Call, Message, Request, Say, Script, Step, next_step

MAX_BYTES = 64 << 20
TOKENS = 100
"""The size of a window that the model claims by default."""

Dialect = Callable[[Step, Request], Call]
"""Turns a step into a host's own tool call."""

Events = Iterator[tuple[str, dict[str, Any]]]


class ModelServer:
    """The scripted model. `script` and `dialect` may be changed between the runs of a host."""

    def __init__(self) -> None:
        self.script: Script = {}
        self.dialect: Dialect = lambda step, request: Call("none", {})
        self.requests: list[Request] = []
        self.port = 0
        self._number = 0

    @property
    def base_url(self) -> str:
        """The server's address without a path."""
        return f"http://127.0.0.1:{self.port}"

    def application(self) -> web.Application:
        """Return the application that serves every path."""
        application = web.Application(client_max_size=MAX_BYTES)
        application.router.add_route("*", "/{path:.*}", self._serve)
        return application

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        if request.method == "GET" and path.endswith("/models"):
            return web.json_response({"object": "list", "data": [{"id": "gpt-5", "object": "model"}]})
        if request.method != "POST":
            return web.json_response({})
        data = await request.read()
        if request.headers.get("Content-Encoding") == "gzip" and data[:2] == b"\x1f\x8b":
            data = zlib.decompress(data, 31)
        try:
            body = json.loads(data or b"{}")
        except ValueError:
            body = {}
        if path.endswith("count_tokens"):
            return web.json_response({"input_tokens": TOKENS})
        if path.endswith(":countTokens"):
            return web.json_response({"totalTokens": TOKENS})
        for ending, wire in WIRES.items():
            if ending in path:
                return await self._answer(request, body, wire)
        return web.json_response({})

    async def _answer(self, request: web.Request, body: dict[str, Any], wire: Wire) -> web.StreamResponse:
        read, events = wire
        system, messages, tools = read(body)
        seen = Request(time.time(), request.path, system, tuple(messages), tuple(tools))
        step = next_step(self.script, seen)
        said = step if isinstance(step, Say) else self.dialect(step, seen)
        text = said.text if isinstance(said, Say) else f"{said.name} {said.text or said.json}"
        self.requests.append(Request(seen.at, seen.path, seen.system, seen.messages, seen.tools, text))
        self._number += 1
        made = list(events(said, f"{self._number:08x}", body))
        if request.path.endswith(":generateContent") or (wire is not GEMINI and not body.get("stream")):
            return web.json_response(_whole(wire, made))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for name, event in made:
            head = f"event: {name}\n" if name else ""
            await response.write(f"{head}data: {json.dumps(event)}\n\n".encode())
        if wire is CHAT:
            await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response


@contextmanager
def serving() -> Iterator[ModelServer]:
    """Serve a model on a port of loopback, from a thread of its own."""
    model, ready, loop = ModelServer(), threading.Event(), asyncio.new_event_loop()

    async def serve(ended: asyncio.Event) -> None:
        runner = web.AppRunner(model.application())
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, shutdown_timeout=1)
        await site.start()
        model.port = runner.addresses[0][1]
        ready.set()
        await ended.wait()
        await runner.cleanup()

    ended = asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(serve(ended)), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield model
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()


def _texts(content: object) -> str:
    """Return every text in a content of any wire format."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        shown = ("text", "content", "output", "response", "parts", "functionResponse", "encrypted_content")
        return "\n".join(filter(None, (_texts(content[key]) for key in shown if key in content)))
    if isinstance(content, Sequence):
        return "\n".join(filter(None, map(_texts, content)))
    return ""


Read = tuple[str, list[Message], list[str]]


def _read_anthropic(body: Mapping[str, Any]) -> Read:
    messages = []
    for message in body.get("messages", ()):
        content = message.get("content")
        parts = content if isinstance(content, list) else []
        calls = sum(part.get("type") == "tool_use" for part in parts)
        messages.append(Message(message["role"], _texts(content), calls))
    return _texts(body.get("system", "")), messages, [tool.get("name", "") for tool in body.get("tools", ())]


def _anthropic_events(said: Say | Call, number: str, body: Mapping[str, Any]) -> Events:
    tokens = (said.tokens if isinstance(said, Say) else 0) or TOKENS
    usage = {"input_tokens": tokens, "output_tokens": 10}
    message: dict[str, Any] = {"id": f"msg_{number}", "type": "message", "role": "assistant"}
    message["content"] = []
    start = {
        **message,
        "model": body.get("model"),
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    yield "message_start", {"type": "message_start", "message": start}
    block: dict[str, Any]
    if isinstance(said, Say):
        block, reason = {"type": "text", "text": ""}, "end_turn"
        delta = {"type": "text_delta", "text": said.text}
    else:
        block, reason = (
            {"type": "tool_use", "id": f"toolu_{number}", "name": said.name, "input": {}},
            "tool_use",
        )
        delta = {"type": "input_json_delta", "partial_json": said.json}
    yield "content_block_start", {"type": "content_block_start", "index": 0, "content_block": block}
    yield "content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}
    yield "content_block_stop", {"type": "content_block_stop", "index": 0}
    ended = {"stop_reason": reason, "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 10}}
    yield "message_stop", {"type": "message_stop"}


def _read_responses(body: Mapping[str, Any]) -> Read:
    messages = []
    given = body.get("input", ())
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
        kind = item.get("type", "message")
        if kind in {"function_call", "custom_tool_call"}:
            messages.append(Message("assistant", "", 1))
        elif kind.endswith("_output"):
            messages.append(Message("tool", _texts(item.get("output"))))
        else:
            messages.append(Message(item.get("role", "user"), _texts(item.get("content"))))
    tools = []
    for tool in _response_tools(body):
        name = tool.get("name") or tool.get("type", "")
        nested = tool.get("tools")
        tools += [f"{name}.{one.get('name')}" for one in nested] if nested else [name]
    return body.get("instructions") or "", messages, tools


def _response_tools(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    tools = list(body.get("tools") or ())
    given = body.get("input", ())
    for item in () if isinstance(given, str) else given:
        if item.get("type") == "additional_tools":
            tools += item.get("tools") or []
    return tools


def _responses_events(said: Say | Call, number: str, body: Mapping[str, Any]) -> Events:
    identity = f"resp_{number}"
    yield "response.created", {"type": "response.created", "response": {"id": identity}}
    item: dict[str, Any]
    if isinstance(said, Say):
        content = [{"type": "output_text", "text": said.text, "annotations": []}]
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}
    elif said.is_custom:
        item = {"type": "custom_tool_call", "id": f"ctc_{number}", "call_id": f"call_{number}"}
        item |= {"name": said.name, "input": said.text}
    else:
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}
        item |= {"name": said.name, "arguments": said.json}
        if said.namespace:
            item["namespace"] = said.namespace
    item["status"] = "completed"
    added = {"type": "response.output_item.added", "output_index": 0, "item": item}
    yield "response.output_item.added", added
    yield "response.output_item.done", {**added, "type": "response.output_item.done"}
    tokens = (said.tokens if isinstance(said, Say) else 0) or TOKENS
    usage = {"input_tokens": tokens, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10}
    usage |= {"output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": tokens + 10}
    ended = {"id": identity, "object": "response", "status": "completed", "output": [item], "usage": usage}
    yield "response.completed", {"type": "response.completed", "response": ended}


def _read_chat(body: Mapping[str, Any]) -> Read:
    system: list[str] = []
    messages: list[Message] = []
    for message in body.get("messages", ()):
        text = _texts(message.get("content"))
        if message["role"] in {"system", "developer"} and not messages:
            system.append(text)
        else:
            messages.append(Message(message["role"], text, len(message.get("tool_calls") or ())))
    tools = [(tool.get("function") or tool).get("name", "") for tool in body.get("tools") or ()]
    return "\n".join(system), messages, tools


def _chat_events(said: Say | Call, number: str, body: Mapping[str, Any]) -> Events:
    common = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": body.get("model"),
    }
    delta: dict[str, Any]
    if isinstance(said, Say):
        delta, reason = {"role": "assistant", "content": said.text}, "stop"
    else:
        function = {"name": said.name, "arguments": said.json}
        call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
        delta, reason = {"role": "assistant", "content": "", "tool_calls": [call]}, "tool_calls"
    yield "", {**common, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield "", {**common, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
    tokens = (said.tokens if isinstance(said, Say) else 0) or TOKENS
    usage = {"prompt_tokens": tokens, "completion_tokens": 10, "total_tokens": tokens + 10}
    yield "", {**common, "choices": [], "usage": usage}


def _read_gemini(body: Mapping[str, Any]) -> Read:
    messages = []
    for content in body.get("contents", ()):
        parts = content.get("parts", ())
        role = "assistant" if content.get("role") == "model" else "user"
        calls = sum("functionCall" in part for part in parts)
        messages.append(Message(role, _texts([part for part in parts if "functionCall" not in part]), calls))
    declared = [one for tool in body.get("tools") or () for one in tool.get("functionDeclarations", ())]
    system = _texts((body.get("systemInstruction") or {}).get("parts", ""))
    return system, messages, [one["name"] for one in declared]


def _gemini_events(said: Say | Call, number: str, body: Mapping[str, Any]) -> Events:
    if isinstance(said, Say):
        part: dict[str, Any] = {"text": said.text}
    else:
        part = {"functionCall": {"name": said.name, "args": dict(said.arguments)}}
    tokens = (said.tokens if isinstance(said, Say) else 0) or TOKENS
    usage = {"promptTokenCount": tokens, "candidatesTokenCount": 10, "totalTokenCount": tokens + 10}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    yield "", {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-2.5-pro"}


Wire = tuple[Callable[[Mapping[str, Any]], Read], Callable[[Say | Call, str, Mapping[str, Any]], Events]]

ANTHROPIC: Wire = (_read_anthropic, _anthropic_events)
RESPONSES: Wire = (_read_responses, _responses_events)
CHAT: Wire = (_read_chat, _chat_events)
GEMINI: Wire = (_read_gemini, _gemini_events)
WIRES: Mapping[str, Wire] = {
    "/messages": ANTHROPIC,
    "/responses": RESPONSES,
    "/chat/completions": CHAT,
    ":streamGenerateContent": GEMINI,
    ":generateContent": GEMINI,
}


def _whole(wire: Wire, events: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Return the answer to a request that doesn't stream, made of the streamed events."""
    if wire is GEMINI:
        return events[0][1]
    if wire is RESPONSES:
        response: dict[str, Any] = events[-1][1]["response"]
        return response
    if wire is CHAT:
        first, ended = events[0][1], events[1][1]["choices"][0]
        message = {**first["choices"][0]["delta"]}
        choice = {"index": 0, "message": message, "finish_reason": ended["finish_reason"]}
        return {**first, "object": "chat.completion", "choices": [choice], "usage": events[2][1]["usage"]}
    message = dict(events[0][1]["message"])
    block, delta = dict(events[1][1]["content_block"]), events[2][1]["delta"]
    block |= (
        {"text": delta["text"]} if block["type"] == "text" else {"input": json.loads(delta["partial_json"])}
    )
    return {**message, "content": [block], "stop_reason": events[4][1]["delta"]["stop_reason"]}
