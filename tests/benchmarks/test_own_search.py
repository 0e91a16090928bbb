"""The scripted agent greps the words of its task, reads what help names, and counts its calls."""

from __future__ import annotations

from foveal.benchmarks.hosts.own_search import Searcher
from foveal.benchmarks.hosts.script import Command, Message, Request, Say
from foveal.benchmarks.needed.tasks import Place, Task

HELP = "<foveal-context>\nOf 40 hits:\n```\nsrc/pay.py:5-9 pay — def pay():\n```\n</foveal-context>"
TASK = Task(
    "t", "p", "tune", "python", "payments wait for retry_delay", {}, (Place("src/pay.py", "pay", 5, 9),), ()
)


def request(*outputs: str) -> Request:
    answers = [one for text in outputs for one in (Message("assistant", "", 1), Message("tool", text))]
    return Request(0, "", "", (Message("user", TASK.text), *answers), ("Bash",))


def test_agent_reads_what_help_names() -> None:
    agent = Searcher(TASK)
    assert agent(request()) == Command("git grep -n retry_delay")
    assert agent(request(f"\n{HELP}")) == Command("sed -n 5,9p src/pay.py")
    assert (agent.reached, agent.useful, len(agent.helps)) == (2, 1, 1)
    assert agent(request("", "def pay():")) == Say("Done.")


def test_agent_without_help_reads_around_a_hit() -> None:
    agent = Searcher(TASK)
    agent(request())
    hits = "src/a.py:90:x\nsrc/b.py:40:y\nsrc/b.py:50:z\n"
    assert agent(request(hits)) == Command("sed -n 15,65p src/b.py")
    assert agent(request(hits, "")) == Command("git grep -n payments")
    assert not agent.reached
