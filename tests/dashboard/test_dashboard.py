"""The dashboard's port is on loopback, stays the same, and gives way to whoever has it, which is said."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit

import psutil
from foveal.daemon.access.service import Dashboard
from foveal.daemon.config.settings import DashboardConfig
from foveal.daemon.core.system import System
from foveal.dashboard.guard import STYLE

from tests.conftest import DaemonProcess
from tests.dashboard_cases import Answer, Site


def dashboard(folder: Path, lent: list[socket.socket], port: int = 0) -> Dashboard:
    return Dashboard(str(folder), DashboardConfig(port), lent.append, System())


async def test_the_port_stays_and_is_bound_at_start_only_for_who_is_signed_in(tmp_path: Path) -> None:
    first = dashboard(tmp_path, [])
    port = await first.open()
    first.close()
    second = dashboard(tmp_path, [])
    await second.access.load()
    await second.reopen()
    assert second.port == 0
    await second.access.redeem(second.access.new_code())
    third = dashboard(tmp_path, [])
    await third.access.load()
    await third.reopen()
    assert third.port == port
    assert third.remark == ""
    third.close()


async def test_a_port_that_another_has_is_given_up_and_that_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        opened = dashboard(tmp_path, [], taken)
        assert await opened.open() not in {0, taken}
        assert f"port {taken} can't be used (Address already in use)" in opened.remark
        opened.close()
        again = dashboard(tmp_path, [], taken)
        await again.access.load()
        assert await again.open() == opened.access.port, "what it had instead is tried next"
        again.close()
    back = dashboard(tmp_path, [], taken)
    await back.access.load()
    assert await back.open() == taken
    assert back.remark == ""
    back.close()


async def test_a_port_that_is_given_back_soon_is_waited_for(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        opened = dashboard(tmp_path, [], taken)
        await opened.access.redeem(opened.access.new_code())
        opening = asyncio.create_task(opened.open())
        await asyncio.sleep(0)
        assert not opening.done()
    assert await opening == taken
    opened.close()


# --- With the real daemon and the real site ---


def port_of(daemon: DaemonProcess) -> int:
    return urlsplit(daemon.call("OpenDashboard", login=False)["address"]).port or 0


async def log_in(daemon: DaemonProcess) -> tuple[Site, str]:
    """Return the site as a signed-in browser asks it, and the cookie."""
    opened = await asyncio.to_thread(daemon.call, "OpenDashboard")
    address = urlsplit(opened["url"])
    assert opened["url"].startswith(opened["address"])
    site = Site(address.port or 0)
    answer = await site.ask("GET", f"{address.path}?{address.query}")
    cookie = answer.headers["set-cookie"].partition(";")[0].partition("=")[2]
    return site.signed_in(cookie), cookie


def is_let_in(answer: Answer) -> bool:
    return answer.status not in {401, 403}


async def test_a_killed_daemon_leaves_the_port_and_the_login_to_the_next(daemon: DaemonProcess) -> None:
    browser, cookie = await log_in(daemon)
    token = (await asyncio.to_thread(daemon.call, "OpenDashboard"))["token"]
    held = await asyncio.open_connection("127.0.0.1", browser.port)  # the web process is busy with it
    assert is_let_in(await browser.ask("GET", "/"))
    process = psutil.Process(daemon.pid)
    os.kill(process.pid, signal.SIGKILL)
    await asyncio.to_thread(psutil.wait_procs, [process])
    assert await asyncio.to_thread(port_of, daemon) == browser.port
    assert daemon.pid != process.pid
    assert is_let_in(await browser.ask("GET", "/"))
    stale = Site(browser.port, {"Authorization": f"Bearer {token}"})
    assert (await stale.ask("GET", "/")).status == 401
    held[1].close()
    kept = (daemon.state / "dashboard.json").read_text() + daemon.log()
    assert not [one for one in (cookie, token) if one in kept]
    await asyncio.to_thread(daemon.stop)
    await asyncio.to_thread(daemon.call, "Ping")
    assert await asyncio.to_thread(port_of, daemon) == browser.port
    assert is_let_in(await browser.ask("GET", "/"))


async def test_static_files_lead_to_no_other_file(shared_daemon: DaemonProcess) -> None:
    browser, _ = await log_in(shared_daemon)
    assert (await Site(browser.port).ask("GET", STYLE)).status == 200
    for target in (
        "/static/../site.py",
        "/static/%2e%2e/site.py",
        "/static/..%2fsite.py",
        "/static/%2e%2e%2fsite.py",
        "/static/....//site.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/..%5csite.py",
        "/static/%00",
        f"/static/..{shared_daemon.state}/dashboard.json",
        "/dashboard.json",
        "/static/",
    ):
        answer = await browser.ask("GET", target)
        assert answer.status in {400, 403, 404}, target
        assert not [one for one in ("root:", "import ", "digest") if one in answer.body], target
        assert (await Site(browser.port).ask("GET", target)).status in {400, 401}, target
