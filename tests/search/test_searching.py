"""A question is answered by whoever can: what is damaged, missing or too slow is said and made up for."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any, TypeVar

import pytest
from foveal.daemon.core.storage import DatabaseError
from foveal.daemon.engine.service import Engine
from foveal.daemon.index.lexical_files import FOLDER
from foveal.daemon.privacy.policy import NO_POLICY
from foveal.daemon.search.answers import ProjectCall
from foveal.daemon.search.definitions import NEAR
from foveal.daemon.search.filters import EVERYTHING, Filter
from foveal.daemon.search.pipeline import conclude_hits
from foveal.daemon.search.query import SearchQuery, SearchResult
from foveal.daemon.search.router import gather
from foveal.daemon.workspace.service import Project, deadline_of

from tests.engine_cases import running_engine

T = TypeVar("T")

FILES: dict[str, str | bytes] = {
    "shop/auth.py": "def login(user, password):\n    return user\n",
    "shop/cart.py": "def checkout(cart, password):\n    return sum(cart)\n",
    "tests/test_auth.py": "from shop.auth import login\n\n\ndef test_login():\n    assert login(1, 2)\n",
    "docs/guide.md": "# Guide\n\nA password has ten letters.\n",
}


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path.resolve()


async def search(engine: Engine, project: Project, text: str, **options: Any) -> SearchResult:
    ask = SearchQuery(text, options.pop("limit", 10), **options)
    return await engine._searching.search(project, ask, deadline_of(project, 60_000))


def paths(found: SearchResult) -> list[str]:
    return [hit.path for hit in found.hits]


async def test_limits_scores_and_the_scopes_own_files(base: Path) -> None:
    async with running_engine(base, FILES) as (engine, project):
        everything = await search(engine, project, "password")
        assert len(everything.hits) == 3
        assert paths(await search(engine, project, "password", limit=1)) == paths(everything)[:1]
        none = await search(engine, project, "password", limit=0)
        assert (none.hits, none.hint) == ((), "")
        score = everything.hits[1].score
        assert paths(await search(engine, project, "password", min_score=score)) == paths(everything)[:2]
        last = paths(everything)[-1]
        for limit in (1, 10):
            first = await search(engine, project, "password", limit=limit, first=frozenset({last, "gone.py"}))
            assert paths(first) == [last, *paths(everything)[:-1]][:limit]


NOTHING = "nothing in the project has these words or this meaning: try other words"
NO_TRAIT = (
    "no language of the project has the kind trait; there can be class, code, constant, data, function, method,"
    " section, text, type, variable"
)


async def test_nothing_has_its_reason(base: Path) -> None:
    async with running_engine(base, FILES) as (engine, project):

        async def check(text: str, hint: str, chosen: Filter = EVERYTHING, **options: Any) -> None:
            found = await search(engine, project, text, filter=chosen, **options)
            assert (found.hits, found.degraded, found.hint) == ((), (), hint)

        await check("password", "no file of the project passes the filter", Filter(path_prefix="nowhere"))
        await check("  ", "the question is empty: ask in words, or name a file, a definition or an error")
        await check("zebra", NOTHING)
        await check("zebra", f"{NOTHING}, or fewer filters", Filter(path_prefix="shop/"))
        await check("password", NO_TRAIT, Filter(kinds=frozenset({"trait"})))
        await check("zebra", f"{NOTHING}, or fewer filters", Filter(kinds=frozenset({"trait", "class"})))
        best = (await search(engine, project, "password")).hits[0].score
        await check("password", f"the best score is {best}, below min_score 1.0", min_score=1.0)


async def test_evidence_is_true_of_every_place(base: Path) -> None:
    async with running_engine(base, FILES) as (engine, project):
        found = await search(engine, project, "find password in shop/auth.py")
        assert (paths(found)[0], len(found.hits) > 1) == ("shop/auth.py", True)
        assert found.evidence[-1] == "shows first what is in shop/auth.py, then what is elsewhere"
        found = await search(engine, project, "find password in shop/auth.py", limit=1)
        assert found.evidence[-1] == "kept to shop/auth.py"
        found = await search(engine, project, "what calls Cart.gone", definitions=True)
        assert (found.hits, found.need and found.need.hint) == ((), found.hint)
        assert found.hint.startswith("no callers: nothing in the project is named `Cart.gone`")


async def test_a_lexical_index_that_is_gone_is_built_anew(base: Path) -> None:
    async with running_engine(base, FILES) as (engine, project):
        shutil.rmtree(Path(project.folder, FOLDER))
        found = await search(engine, project, "password in `login`")
        assert "not searched by words" in found.degraded[0]
        assert paths(found) == ["shop/auth.py"], "what it names is known without"
        while found.degraded or len(found.hits) < 3:
            found = await search(engine, project, "password in `login`")


async def test_an_index_that_can_not_be_read_is_said(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running_engine(base, FILES) as (engine, project):
        with monkeypatch.context() as patched:
            patched.setattr("foveal.daemon.search.pipeline.gather", _damaged)
            found = await search(engine, project, "password")
            assert (found.hits, found.hint) == ((), "look with: foveal status")
            assert "malformed" in found.degraded[0]
        with monkeypatch.context() as patched:
            patched.setattr("foveal.daemon.search.pipeline.conclude", _damaged)
            found = await search(engine, project, "password")
            assert found.hits == ()
            assert "malformed" in found.degraded[0]
        with monkeypatch.context() as patched:
            patched.setattr("foveal.daemon.search.results.describe_each", _damaged)
            reply = await engine.answers.query(
                ProjectCall.begin(project, fresh="no"), SearchQuery("password", 5)
            )
            assert reply["results"] == []
            assert "malformed" in reply["degraded"][-1]


async def test_the_same_question_is_answered_by_what_changed_meanwhile(base: Path) -> None:
    async with running_engine(base, FILES) as (engine, project):
        ask = SearchQuery("where is login defined", 5)
        await engine.answers.query(ProjectCall.begin(project, fresh="no"), ask)
        (base / "p/shop/auth.py").write_text("# moved\n\n\ndef login(user):\n    return user\n")
        reply = await engine.answers.query(ProjectCall.begin(project, fresh="shown"), ask)
        assert [one["start_line"] for one in reply["results"]] == [4], "a file that is shown"
        (base / "p/shop/other.py").write_text("def login(): ...\n")
        reply = await engine.answers.query(ProjectCall.begin(project, fresh="tree"), ask)
        assert len(reply["results"]) == 2, "a file that wasn't known"


async def test_an_embedder_that_does_not_answer_costs_only_its_part(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foveal.daemon.search.meaning_search.VECTORS_WAIT_S", 0.01)
    async with running_engine(base, FILES, embedding=True) as (engine, project):
        monkeypatch.setattr(engine.semantics, "search", _never)
        found = await search(engine, project, "password login")
        assert paths(found)[0] == "shop/auth.py"
        assert found.degraded == ("not searched by meaning: the embedding model didn't answer in time",)


async def test_meaning_finds_what_no_word_does(base: Path) -> None:
    async with running_engine(base, FILES, embedding=True) as (engine, project):
        found = await search(engine, project, "sign in with a secret")
        while found.degraded or not found.hits:  # until its vectors are loaded
            found = await search(engine, project, "sign in with a secret")
        assert "shop/auth.py" in paths(found)
        assert all(set(hit.sources) == {"vector"} for hit in found.hits)


def _damaged(*_: object, **__: object) -> Any:
    raise DatabaseError("database disk image is malformed")


async def _never(command: object) -> Any:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    "prompt", ["where is a password checked?", "make the checkout faster", "go on please"]
)
async def test_the_need_is_the_same_whatever_is_embedded(base: Path, prompt: str) -> None:
    async with running_engine(base, FILES) as (_, project):
        snapshot, ask = project.snapshot(NO_POLICY), SearchQuery(prompt, 10, definitions=True)
        with snapshot.reader() as reader, reader.snapshot():
            gathered = gather(prompt, snapshot.tree, reader, snapshot.lexical, EVERYTHING, None, 10)
            ids = [place.id for place in reader.chunks.places_in(FILES)]
            digests = [chunk.digest for chunk in reader.chunks.by_ids(ids).values()]
            needs, found = [], []
            for count in (0, 2, len(digests)):
                near = tuple((digest, 0.9) for digest in digests[:count])
                whole = count in {0, len(digests)}
                known, hits = conclude_hits(snapshot, ask, gathered, near, reader, embedded=whole)
                needs.append(known.need)
                found.append([definition.probability for hit in hits for definition in hit.definitions])
        assert needs[0] is not None
        assert needs == needs[:1] * 3
        assert found[0] != found[2], "the answer itself does depend on it"


async def test_a_near_name_is_only_a_likely_place(base: Path) -> None:
    async with running_engine(base, FILES) as (engine, project):
        found = await search(engine, project, "where is `chekout` defined?", definitions=True)
        assert found.hits[0].why[0] == "no `chekout`; the nearest name is `checkout`"
        assert found.hits[0].definitions[0].probability == NEAR
        found = await search(engine, project, "where is `checkout` defined?", definitions=True)
        assert found.hits[0].definitions[0].probability > NEAR
