"""Nobody gets anything from the dashboard's port but the user's own pages and programs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from aiohttp import web
from foveal.daemon.access.records import Admission
from foveal.daemon.access.service import Dashboard
from foveal.dashboard.app import LINE_BYTES, WebProcess
from foveal.dashboard.guard import CSRF_HEADER, HEADERS, STYLE, VIEWER, AccessGuard
from foveal.dashboard.view import PATH_CHARACTERS, QUESTION_CHARACTERS, TEXT_CHARACTERS
from foveal.ipc.aclient import DaemonLink
from msgspec import to_builtins

from tests.dashboard_cases import Answer, Clock, Site, dashboard_daemon, eventually

RECHECK_S = 0.05
JSON = {"Content-Type": "application/json"}
PAGE = {"Accept": "text/html,application/xhtml+xml"}


class Guarded(Site):
    """A guarded site with the daemon behind it. `done` are the changes that got through."""

    def __init__(self, dashboard: Dashboard, clock: Clock, done: list[str]) -> None:
        super().__init__(dashboard.port)
        self.dashboard = dashboard
        self.clock = clock
        self.done = done

    async def log_in(self) -> tuple[Site, str]:
        """Return the site as a signed-in browser asks it, and its anti-forgery token."""
        answer = await self.ask("GET", f"/login?code={self.dashboard.access.new_code()}")
        assert (answer.status, answer.headers["location"]) == (303, "/")
        cookie = cookie_in(answer)
        admission = await self.dashboard.access.admit(cookie)
        assert admission is not None
        return self.signed_in(cookie), admission.csrf


def cookie_in(answer: Answer) -> str:
    found = re.fullmatch(
        r"foveal_\d+=([\w-]{43}); Max-Age=604800; Path=/; HttpOnly; SameSite=Strict",
        answer.headers["set-cookie"],
    )
    assert found is not None
    return found[1]


def application(link: DaemonLink, port: int, done: list[str]) -> web.Application:
    async def show(request: web.Request) -> web.Response:
        return web.json_response(to_builtins(request[VIEWER]))

    async def change(request: web.Request) -> web.Response:
        done.append(f"{request.method} {await request.text()}")
        return web.Response(text="done")

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"begun")
        await asyncio.get_running_loop().create_future()
        return response

    async def fail(request: web.Request) -> web.Response:
        raise web.HTTPNotFound

    site = web.Application()
    AccessGuard(link, port, recheck_s=RECHECK_S).add_to(site)
    site.router.add_get("/", show)
    site.router.add_get("/stream", stream)
    site.router.add_get("/fail", fail)
    site.router.add_get(STYLE, change, allow_head=True)
    site.router.add_route("*", "/change", change)
    return site


@asynccontextmanager
async def guarded(folder: Path) -> AsyncIterator[Guarded]:
    path, clock, done = f"{folder}/foveal.sock", Clock(), list[str]()
    lent: list[socket.socket] = []
    async with dashboard_daemon(path, folder, clock, lent.append) as dashboard:
        port = await dashboard.open()
        link, faces = DaemonLink(path), WebProcess()
        await faces.add(application(link, port, done), lent[0])
        serving = asyncio.create_task(faces.run())
        try:
            yield Guarded(dashboard, clock, done)
        finally:
            faces.stop()
            await serving
            await link.close()


@pytest.fixture
async def site() -> AsyncIterator[Guarded]:
    """Give a guarded site that nobody is signed in to."""
    folder = Path(tempfile.mkdtemp(prefix="fv-", dir="/tmp"))
    async with guarded(folder) as found:
        yield found
    shutil.rmtree(folder)


def check_refused(answer: Answer, status: int, message: str) -> None:
    """Check a refusal: it says why, gives nothing, and may be used by nobody else."""
    assert answer.status == status
    assert message in answer.body
    assert {name: answer.headers[name.lower()] for name in HEADERS} == dict(HEADERS)
    assert "set-cookie" not in answer.headers
    assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_a_login_signs_in_one_browser(site: Guarded) -> None:
    browser, csrf = await site.log_in()
    answer = await browser.ask("GET", "/")
    assert json.loads(answer.body) == {"csrf": csrf, "editor": "vscode://file{path}:{line}", "via": "cookie"}
    assert {name: answer.headers[name.lower()] for name in HEADERS} == dict(HEADERS)
    assert "set-cookie" not in answer.headers


def test_a_page_may_load_nothing_from_another_host() -> None:
    rules = dict(rule.strip().split(" ", 1) for rule in HEADERS["Content-Security-Policy"].split(";"))
    assert rules["default-src"] == "'none'", "whatever has no rule of its own"
    assert {"script-src", "style-src", "connect-src", "form-action", "base-uri", "frame-ancestors"} < set(
        rules
    )
    images = rules.pop("img-src")
    assert images == "'self' data:"
    assert set(rules.values()) <= {"'none'", "'self'"}


async def test_without_a_login_there_is_nothing_but_how_to_get_one(site: Guarded) -> None:
    cookies = ("", "x", "x" * 43, "\u00e9", '"')
    for target in ("/", "/stream", "/nothing", "/static/../x", "/login/"):
        for cookie in cookies:
            asking = site.signed_in(cookie) if cookie else site
            check_refused(await asking.ask("GET", target), 401, "foveal dashboard")
    page = await site.ask("GET", "/", PAGE)
    check_refused(page, 401, "run: <code>foveal dashboard</code>")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "<script" not in page.body
    assert STYLE in page.body
    assert (await site.ask("GET", STYLE)).body == "done"


async def test_a_question_of_many_kilobytes_fits_an_address(site: Guarded) -> None:
    browser, _ = await site.log_in()
    fields = {"q": QUESTION_CHARACTERS, "path": PATH_CHARACTERS, "project": PATH_CHARACTERS}
    fields |= {"language": TEXT_CHARACTERS, "session": TEXT_CHARACTERS}
    longest = "&".join(f"{name}={quote(chr(0x6F22) * count)}" for name, count in fields.items())
    assert (await browser.ask("GET", f"/?{longest}")).status == 200
    assert (await browser.ask("GET", f"/?q={'x' * LINE_BYTES}")).status == 400


async def test_another_ports_cookie_is_none(site: Guarded) -> None:
    browser, _ = await site.log_in()
    cookie = browser.headers["Cookie"].partition("=")[2]
    check_refused(await site.ask("GET", "/", {"Cookie": f"foveal_1={cookie}"}), 401, "not signed in")
    check_refused(await site.ask("GET", "/", {"Authorization": f"Bearer {cookie}"}), 401, "not signed in")
    check_refused(await site.ask("GET", f"/?token={site.dashboard.access.token}"), 401, "not signed in")


async def test_a_program_shows_its_token(site: Guarded) -> None:
    token = site.dashboard.access.token
    program = replace_headers(site, Authorization=f"Bearer {token}")
    assert json.loads((await program.ask("GET", "/")).body)["via"] == "bearer"
    assert (await program.ask("POST", "/change", JSON, "{}")).status == 200
    browser, _ = await site.log_in()
    for wrong in (
        "Bearer x",
        f"Basic {token}",
        f"Bearer {token}x",
        token,
        f"Bearer x, Bearer {token}",
    ):
        answer = await browser.ask("GET", "/", {"Authorization": wrong})
        check_refused(answer, 401, "not signed in")
        assert answer.headers["www-authenticate"] == "Bearer"


def replace_headers(site: Site, **headers: str) -> Site:
    return Site(site.port, {**site.headers, **headers})


async def test_a_login_link_that_was_stolen_is_worth_nothing(site: Guarded) -> None:
    target = f"/login?code={site.dashboard.access.new_code()}"
    first = await site.ask("GET", target)
    check_refused(await site.ask("GET", target, PAGE), 401, "was used")
    again = await site.signed_in(cookie_in(first)).ask("GET", target)
    assert (again.status, again.headers["location"]) == (303, "/"), "whoever used it may load it again"
    late = f"/login?code={site.dashboard.access.new_code()}"
    site.clock.passed = 61
    check_refused(await site.ask("GET", late), 401, "older than a minute")
    for target in ("/login", "/login?code=", "/login?code=x&code=y", "/login?code=%00"):
        check_refused(await site.ask("GET", target), 401, "foveal dashboard")


async def test_looking_at_a_login_link_does_not_use_it(site: Guarded) -> None:
    target = f"/login?code={site.dashboard.access.new_code()}"
    head = await site.ask("HEAD", target)
    assert (head.status, head.headers["allow"]) == (405, "GET")
    check_refused(await site.ask("POST", target, JSON), 405, "opened in a browser")
    for header in ({"Sec-Purpose": "prefetch;prerender"}, {"Purpose": "prefetch"}):
        check_refused(await site.ask("GET", target, header), 503, "in advance")
    check_refused(await site.ask("GET", target, {"Sec-Fetch-Site": "cross-site"}), 403, "another site")
    assert (await site.ask("GET", target, {"Sec-Fetch-Site": "none"})).status == 303


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        ("/scope?id=a", "/scope?id=a"),
        ("//evil.example", "/"),
        ("/%5Cevil.example", "/"),
        ("https://evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("/%0d%0aSet-Cookie:%20a=b", "/"),
        ("/%09/evil.example", "/"),
    ],
)
async def test_a_login_leads_nowhere_else(site: Guarded, wanted: str, given: str) -> None:
    code = site.dashboard.access.new_code()
    answer = await site.ask("GET", f"/login?code={code}&next={wanted.replace('?', '%3F')}")
    assert (answer.status, answer.headers["location"]) == (303, given)
    cookie_in(answer)


async def test_other_hosts_are_refused_whatever_they_show(site: Guarded) -> None:
    """DNS rebinding: a page of evil.example whose name points to 127.0.0.1 sends its own name."""
    browser, csrf = await site.log_in()
    token = {"Authorization": f"Bearer {site.dashboard.access.token}"}
    for host in (
        f"evil.example:{site.port}",
        "127.0.0.1",
        f"127.0.0.1:{site.port + 1}",
        f"127.0.0.1:{site.port}.evil.example",
        f"0.0.0.0:{site.port}",
        f"user@127.0.0.1:{site.port}",
    ):
        for target in ("/", STYLE, "/nothing", f"/login?code={site.dashboard.access.new_code()}"):
            check_refused(await browser.ask("GET", target, {"Host": host}), 403, "isn't the dashboard's")
        check_refused(await site.ask("GET", "/", {"Host": host, **token}), 403, "isn't the dashboard's")
        change = {"Host": host, CSRF_HEADER: csrf, **JSON}
        check_refused(await browser.ask("POST", "/change", change), 403, "isn't the dashboard's")
    for host in (f"localhost:{site.port}", f"LOCALHOST:{site.port}", f"[::1]:{site.port}"):
        assert (await browser.ask("GET", "/", {"Host": host})).status == 200
    assert site.done == []


async def test_requests_of_other_sites_pages_are_refused(site: Guarded) -> None:
    browser, csrf = await site.log_in()
    good = {CSRF_HEADER: csrf, **JSON}
    others: list[dict[str, str | None]] = [
        {"Origin": origin}
        for origin in (
            "null",
            "http://evil.example",
            f"https://127.0.0.1:{site.port}",
            f"http://127.0.0.1:{site.port + 1}",
        )
    ]
    others += [
        {"Sec-Fetch-Site": one} for one in ("cross-site", "same-site", "Same-Origin", "none, cross-site")
    ]
    for header in others:
        check_refused(await browser.ask("GET", "/", header), 403, "ther site")
        check_refused(await browser.ask("POST", "/change", {**good, **header}), 403, "ther site")
        check_refused(await browser.ask("OPTIONS", "/change", header), 403, "ther site")
        check_refused(await site.ask("GET", STYLE, header), 403, "ther site")
    assert site.done == []
    own = {"Origin": f"http://{site.host}", "Sec-Fetch-Site": "same-origin"}
    assert (await browser.ask("POST", "/change", {**good, **own}, "{}")).status == 200
    assert (await browser.ask("GET", "/", {"Sec-Fetch-Site": "none"})).status == 200


async def test_changes_are_json_with_the_token_of_the_login(site: Guarded) -> None:
    browser, csrf = await site.log_in()
    other = (await site.log_in())[1]
    for content in (
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        None,
    ):
        form = {"Content-Type": content, CSRF_HEADER: csrf}
        for method in ("POST", "PATCH", "DELETE"):
            check_refused(await browser.ask(method, "/change", form, "a=b"), 415, "application/json")
    for given in (None, "x", other, csrf[:-1], csrf.upper() + "\u00e9"):
        check_refused(
            await browser.ask("POST", "/change", {CSRF_HEADER: given, **JSON}, "{}"), 403, CSRF_HEADER
        )
    for method in ("PUT", "OPTIONS", "TRACE", "PROPFIND"):
        check_refused(
            await browser.ask(method, "/change", {CSRF_HEADER: csrf, **JSON}), 405, "isn't answered"
        )
    assert site.done == []
    for method in ("POST", "PATCH", "DELETE"):
        good = {CSRF_HEADER: csrf, "Content-Type": "application/json; charset=utf-8"}
        assert (await browser.ask(method, "/change", good, "{}")).status == 200
    assert site.done == ["POST {}", "PATCH {}", "DELETE {}"]


async def test_a_cookie_is_renewed_once_a_day(site: Guarded) -> None:
    browser, _ = await site.log_in()
    site.clock.passed = 2 * 24 * 3600
    answer = await browser.ask("GET", "/")
    assert browser.headers["Cookie"].endswith(f"={cookie_in(answer)}")
    assert "set-cookie" not in (await browser.ask("GET", "/")).headers
    site.clock.passed += 2 * 24 * 3600
    assert "set-cookie" in (await browser.ask("GET", "/fail")).headers


async def test_signing_out_cuts_off_what_goes_on(site: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    admit = site.dashboard.access.admit

    async def count(cookie: str) -> Admission | None:
        asked.append(cookie)
        return await admit(cookie)

    browser, _ = await site.log_in()
    monkeypatch.setattr(site.dashboard.access, "admit", count)
    stream = asyncio.create_task(browser.ask("GET", "/stream"))
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    cookie = browser.headers["Cookie"]
    writer.write(f"GET /stream HTTP/1.1\r\nHost: {site.host}\r\nCookie: {cookie}\r\n\r\n".encode())
    async with asyncio.timeout(30):
        head = await reader.readuntil(b"begun")
        assert b"default-src 'none'" in head
        await eventually(lambda: len(asked) > 4)
        assert not stream.done(), "whoever is signed in stays"
        await site.dashboard.access.revoke()
        await reader.read()
        assert (await stream).status == 200
    writer.close()
    check_refused(await browser.ask("GET", "/"), 401, "not signed in")


async def test_without_the_daemon_nobody_is_let_in() -> None:
    folder = Path(tempfile.mkdtemp(prefix="fv-", dir="/tmp"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port, faces = listener.getsockname()[1], WebProcess()
        await faces.add(application(DaemonLink(f"{folder}/none.sock"), port, []), listener)
        serving = asyncio.create_task(faces.run())
        site = Site(port).signed_in("x" * 43)
        check_refused(await site.ask("GET", "/", PAGE), 502, "can&#x27;t say who you are")
        check_refused(await site.ask("GET", "/login?code=x"), 502, "can't say who you are")
        assert (await Site(port).ask("GET", "/")).status == 401
        faces.stop()
        await serving
