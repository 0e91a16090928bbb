"""A sentence is a decision by what it says: not where it is doubt, advice, routine or the words of others."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from foveal.daemon.transcripts import cues
from foveal.daemon.transcripts.report import Voice
from foveal.daemon.transcripts.statements import Statement, statements_in

DECISIONS = (
    "I ended up moving the validation into the serializer, since the view never sees partial updates.",
    "Ended up with a composite key (tenant, slug) because slugs are only unique per tenant.",
    "We're keeping the v1 endpoint alive for now because the mobile app still calls it.",
    "The retry budget lives in the client rather than the gateway, because the gateway doesn't know which calls are idempotent.",
    "To avoid a migration, I stored the flag in the existing JSON column rather than adding a new one.",
    "For consistency with the other handlers I return 409 rather than 422.",
    "I opted not to add a dependency and wrote the 20-line parser by hand.",
    "Opted for a soft delete, as the audit log references the rows.",
    "The fix: compare by value instead of identity, because the ORM hands out new objects after a commit.",
    "I deliberately did not touch the legacy importer.",
    "Turned out the flakiness came from the shared temp directory.",
    "It turns out that `flush()` was never awaited, which is why the last batch was lost.",
    "The bug was in `parse_date`: it ignored the timezone offset.",
    "The problem was that the mutex was held during I/O.",
    "What was actually happening: two workers picked the same job because the SELECT lacked FOR UPDATE SKIP LOCKED.",
    "The culprit was a stale lockfile.",
    "The leak was caused by event listeners that were never removed on unmount.",
    "The failure was due to the CI image shipping Node 16.",
    "The deadlock happens because `close()` waits for a thread that waits for the same lock.",
    "I first tried debouncing on the client, but that lost the last keystroke, so the server coalesces now.",
    "My first attempt used a regex; it couldn't handle nested brackets, so I wrote a small tokenizer instead.",
    "Using `asyncio.gather` didn't work because one failure cancelled the rest; I switched to a TaskGroup.",
    "I considered using Redis but decided against it because the deployment has none.",
    "I also considered a trigger, but rejected it: triggers don't fire on bulk loads.",
    "Rejected: storing the blob in Postgres (backups would double).",
    "I backed out the change to the scheduler, because it made startup slower.",
    "Rolled back the upgrade of Jackson since it broke the date format.",
    "Chose optimistic locking; contention is rare and retries are cheap.",
    "Choosing UUIDv7 over UUIDv4 keeps the index append-mostly.",
    "Made the cache per-request instead of global, as requests may run under different tenants.",
    "Picked Argon2id over bcrypt because bcrypt truncates at 72 bytes.",
    "I made the timeout configurable rather than hard-coding it because staging is slower.",
    "I kept `Foo` as a thin wrapper so that external callers don't break.",
    "Switched from moment to date-fns because moment isn't tree-shakeable.",
    "Replaced the recursive walk with an explicit stack, since deep trees blew the recursion limit.",
    "Moved the check before the transaction to avoid holding the lock while calling the API.",
    "Bumping the heap wasn't enough, so I changed the import to stream.",
    "We agreed with the existing convention and named it `is_active` rather than `enabled`.",
    "Decided: one table per tenant.",
    "I've gone with server-side rendering for the landing page only.",
    "I stuck with the synchronous driver because the async one has no COPY support.",
    "I landed on a two-level cache because one level missed too often.",
    "Rather than patching every caller, I normalised the path once in `open_project`.",
    "SQLite won over DuckDB because the wheel is half the size.",
    "I avoided `eval` here because the expressions come from users.",
    "Skipped the index on `status`, since it has only three values.",
    "I traded a little memory for speed: the table is kept sorted in RAM.",
    "In the end I kept polling, because the webhook isn't delivered behind the customer's proxy.",
    "The parser is hand-written instead of generated because error messages matter more than speed.",
    "I didn't use the built-in `zip` because it truncates silently.",
    "Didn't add a new table: the existing `events` table already has the columns we need.",
    "I preferred an explicit allow list to a deny list, because new fields should be private by default.",
    "Pinned `numpy<2` since the wheel for 2.x crashes on the build machines.",
    "My choice was a ring buffer, as the log can't grow without bound.",
    "I deliberately left the duplicate check in the client, because the server's error is unreadable.",
    "The real problem turned out to be DNS: the resolver cached the old address for an hour.",
    "What broke it was the new default of `strict=True` in pydantic.",
    "The crash came from `free()` being called twice on the error path.",
    "Streaming with `iter_lines` turned out to be no option, because the server gzips the whole body; I fall back to chunked reads.",
    "I had to drop the `async` version: the driver isn't safe to share between loops.",
    "Raising the timeout only hid the problem, so I removed the N+1 query instead.",
    "Undid the switch to `orjson`, because it serialises datetimes differently.",
    "I chose to keep the Python 3.8 fallback.",
    "Decision: keep both endpoints until March.",
    "As for naming, I settled on `snapshot` because `dump` is taken.",
    "For the lock file I went with `flock`, which the kernel releases on a crash.",
    "Compared to a trigger, a nightly job is easier to test, so that is what I built.",
    "Used `monotonic()` instead of `time()`, since the wall clock jumps on these machines.",
    "Added a unique index to prevent double bookings.",
    "**Cause** \u2013 the watcher drops events when its buffer is full.",
    "Symlinks are resolved once at start now instead of per request, otherwise a slow mount blocks every handler.",
    "The token is checked twice per request; that is the cause of the doubled latency.",
    "I've moved the limiter into the edge worker instead of the API, since bots never reach the API twice.",
    "Warming the cache at boot didn't help, the first request is still slow, so I'm taking it out again.",
    "The blank page comes from the service worker, which serves the old bundle.",
    "Found it: `merge()` sorts in place, so the caller's list changes under its feet.",
    "I'm going with the smaller window: a larger one only delays the error.",
    "Inline styles are no longer allowed; sanitising them would need a CSS parser.",
    "Loop unrolling brought 2 % and was taken out again.",
    "`-Werror` stays off, it breaks the build with newer compilers.",
    "Prices are kept in cents, never as floats, because rounding must be exact.",
    "Widening the retry window only hid the race, so I dropped it.",
)
NO_DECISIONS = (
    "I added a new endpoint and updated the docs.",
    "All tests pass and the linter is clean.",
    "I ran the test suite twice because the first run timed out.",
    "The function returned None instead of raising.",
    "The old code used a list instead of a set.",
    "Previously the job was retried forever because no limit was set.",
    "I'm not sure whether the cache or the DB is the culprit.",
    "The root cause is still unknown.",
    "I couldn't find the root cause.",
    "This is probably caused by a race.",
    "I wasn't able to decide between the two.",
    "If you'd rather use Redis instead of memory, I can change it.",
    "We could use a queue instead of threads.",
    "Let me use grep instead of find because it's faster.",
    "I'll start with the parser because it's the smallest.",
    "Now I'll replace the old function with the new one.",
    "I need to decide between A and B.",
    "The documentation recommends using X instead of Y because it is faster.",
    "According to the README, they went with Kafka because of throughput.",
    "The original author chose a singleton because of Spring.",
    "Next, I'd suggest replacing the cron job with a queue.",
    "One option is to use SQLite rather than JSON.",
    "Would you prefer that I use tabs instead of spaces?",
    "No decision was made about the naming.",
    "I haven't changed the API because you asked me not to.",
    "Python uses reference counting rather than tracing GC.",
    "The tests are slow because they hit the network.",
    "The build failed because of a missing header, which I installed.",
    "We should probably switch to Postgres instead of MySQL.",
    "The user asked to use tabs instead of spaces.",
    "I was going to use a mutex instead of a channel.",
    "I would go with option B because it is simpler.",
    "My recommendation is to use S3 instead of local disk because it scales.",
    "It could be that the token was chosen by the proxy.",
    "Selected rows are now highlighted instead of underlined.",
    "I updated the snapshot because the output changed.",
    "I installed the missing package because the build needed it.",
    "Fixed a typo because the linter complained.",
    "I re-ran it since the network was down.",
    "This test fails because the fixture expects UTC.",
    "The cache key is chosen by hashing the path rather than the inode.",
    "I looked at the scheduler first because the stack trace pointed there.",
    "Nothing was decided; the ticket is blocked until the vendor answers.",
    "We never settled on a name.",
    "The assert failed because 3 != 4.",
    "Had I chosen Redis, this would have been simpler.",
    "I read the whole file instead of grepping because it is short.",
    "In the future we might move from REST to gRPC.",
    "TODO: switch to async because it is faster.",
    "The code currently picks the first match rather than the best one because the list is sorted.",
    "I kept an eye on the logs while the tests ran.",
    "I kept going until all the tests passed.",
    "The user should use a lock instead of a channel.",
    "This would be cleaner with a queue instead of a thread.",
    "The library selected here is old.",
    "It's worth noting that the cache is global.",
    "The code uses a queue instead of threads.",
    "Note that the server returns 404 instead of 403 for private repositories because it doesn't leak names.",
    "ADR-7 records that the team picked Kafka over RabbitMQ because of replay.",
    "In the commit message they say they went with polling because webhooks were unreliable.",
    "As the comment explains, the list is copied because callers mutate it.",
    "I haven't tested it on Windows because I have no machine.",
    "I did not run the integration tests because they need Docker.",
    "I couldn't run the tests because the network is down.",
    "I left the TODO in place.",
    "I skipped the slow tests because they take ten minutes.",
    "I ran only the unit tests because the others need a database.",
    "I stopped the server because it blocked the port.",
    "Cleaned up the temporary files since they are no longer needed.",
    "I restarted the watcher because it was stuck.",
    "I checked out the branch because main was red.",
    "Renamed the variable because the linter complained about shadowing.",
    "Added the missing import because mypy complained.",
    "Updated the lock file since the hash had changed.",
    "I asked for clarification because the requirement is ambiguous.",
    "Everything was green, so I committed.",
    "The old behaviour was chosen for performance reasons.",
    "The team may prefer X over Y.",
    "Both approaches work; pick whichever you like.",
    "I'm happy to switch to a queue instead of a thread.",
    "Depending on your needs, a queue is better than a thread because it survives restarts.",
    "We might want to move this into a service because it grows.",
    "The most likely cause is a stale cache.",
    "The cause could not be determined.",
    "There was no single root cause.",
    "It is unclear whether the root cause was the driver.",
    "The ticket says the root cause was a bad deploy.",
    "I thought the root cause was the cache, but that was wrong.",
    "At first it looked like the culprit was the proxy.",
    "That ruled out the proxy.",
    "I ruled out DNS.",
    "The tests failed because I forgot to save the file.",
    "The command failed because the directory didn't exist.",
    "I tried again and it worked.",
    "I tried `make test`, but make isn't installed.",
    "I tried to open the file, but it doesn't exist.",
    "The first run failed because of a typo of mine.",
    "We always use tabs.",
    "I've used the same style as the rest of the file.",
    "I followed the existing pattern.",
    "I used the existing helper.",
    "Added a `--quiet` option to keep the output short.",
    "Cached entries create load on the first request instead of the second.",
    "The main reason is consistency.",
    "The worker runs as a daemon and is restarted by systemd.",
    "The error comes first in the list.",
    "Found the tests.",
    "There it is.",
    "Let me look at where the error comes from.",
    "Next idea: count the listeners.",
    "That would need a parser.",
    "Got it, thanks.",
    "This stays on the list, see below.",
)
IN_OTHER_LANGUAGES = (
    "Ich habe den Cache pro Mandant statt global angelegt, weil sonst Daten vermischt werden.",
    "Die Wahl fiel auf Argon2, weil bcrypt nach 72 Bytes abschneidet.",
    "Statt eines neuen Feldes verwende ich das vorhandene JSON-Feld, um eine Migration zu vermeiden.",
    "Der Fehler lag daran, dass die Zeitzone ignoriert wurde.",
    "Grundursache war ein doppelter Aufruf von `init()`.",
    "Zuerst habe ich es mit einem Trigger versucht, aber der wird beim Massenimport nicht ausgelöst.",
    "Den Ansatz mit Redis habe ich verworfen, weil kein Server vorhanden ist.",
    "Wir bleiben beim synchronen Treiber, da der asynchrone kein COPY kann.",
    "Ich habe mich gegen eine neue Abhängigkeit entschieden.",
    "Entscheidung: Preise werden in Cent gespeichert.",
    "J'ai préféré une table séparée plutôt qu'une colonne JSON, car il faut indexer les valeurs.",
    "J'ai gardé l'ancien format parce que les clients mobiles en dépendent.",
    "L'erreur venait d'un fuseau horaire ignoré.",
    "La cause racine est un verrou pris deux fois dans `sync.py`.",
    "J'ai d'abord essayé un déclencheur, mais il ne s'exécute pas lors des imports massifs.",
    "Nous avons opté pour un index partiel au lieu d'une vue matérialisée.",
    "Finalement, j'ai remplacé le cron par une file d'attente, puisque les tâches durent plus d'une heure.",
    "J'ai volontairement laissé l'API publique inchangée.",
    "Opté por una cola en vez de un cron porque las tareas tardan más de una hora.",
    "Elegí UUIDv7 en lugar de UUIDv4 porque el índice crece de forma ordenada.",
    "Mantuve el formato antiguo porque los clientes móviles dependen de él.",
    "El error se debía a que la zona horaria se ignoraba.",
    "Primero intenté usar un trigger, pero no se ejecuta en las cargas masivas.",
    "Descarté Redis porque no hay servidor disponible.",
    "Hemos decidido guardar los precios en céntimos.",
    "La causa del fallo era una conexión que nunca se cerraba.",
    "最终选择了部分索引而不是物化视图\uff0c因为活跃行很少。",
    "问题的原因是连接从未关闭。",
    "我保留了旧格式\uff0c因为移动端仍然依赖它。",
    "尝试过用触发器\uff0c但批量导入时不会触发\uff0c所以改用应用层写入。",
    "由于部署环境没有 Redis\uff0c我改用了内存缓存。",
    "放弃了正则方案\uff0c因为无法处理嵌套括号。",
    "部分インデックスを採用しました。有効な行が少ないためです。",
    "マテリアライズドビューではなく部分インデックスを使いました。",
    "原因はコネクションが閉じられていないことでした。",
    "最初はトリガーを試しましたが、一括取り込みでは動かないため断念しました。",
    "モバイルが依存しているため、古い形式を残すことにしました。",
    "正規表現はネストした括弧を扱えないため、手書きのパーサーに切り替えました。",
)
NONE_IN_OTHER_LANGUAGES = (
    "Ich habe einen Test ergänzt.",
    "Alle Tests laufen durch.",
    "Jetzt schaue ich mir die Tests an, weil einer fehlschlägt.",
    "Du könntest stattdessen Redis verwenden, weil es schneller ist.",
    "Die Ursache ist noch unklar.",
    "Vermutlich liegt es am Cache.",
    "Soll ich statt Redis lieber SQLite nehmen?",
    "Laut Dokumentation wurde Kafka gewählt, weil es schneller ist.",
    "Falls wir Redis statt Memcached nehmen, brauchen wir einen Server.",
    "Der Dienst nutzt eine Warteschlange.",
    "J'ai ajouté un test et mis à jour la documentation.",
    "Je vais maintenant lancer les tests parce que le code a changé.",
    "Vous pourriez utiliser Redis plutôt que la mémoire.",
    "La cause reste inconnue.",
    "C'est probablement dû au cache.",
    "Selon la documentation, l'équipe a choisi Kafka car il est plus rapide.",
    "Souhaitez-vous que j'utilise SQLite plutôt que Postgres ?",
    "Si on utilisait des curseurs au lieu des offsets, ce serait plus rapide.",
    "Le service utilise une file d'attente.",
    "Añadí una prueba y actualicé la documentación.",
    "Todas las pruebas pasan.",
    "Voy a ejecutar las pruebas porque cambié el código.",
    "Podrías usar Redis en lugar de la memoria.",
    "La causa aún no está clara.",
    "Probablemente se debe a la caché.",
    "Según la documentación, eligieron Kafka porque es más rápido.",
    "¿Quieres que use SQLite en vez de Postgres?",
    "Si usáramos cursores en lugar de offsets, sería más rápido.",
    "我添加了一个测试并更新了文档。",
    "所有测试都通过了。",
    "现在我来看看测试\uff0c因为有一个失败了。",
    "你可以考虑使用 Redis 而不是内存。",
    "原因可能是缓存。",
    "是否需要我改用 SQLite\uff1f",
    "根据文档\uff0c团队选择了 Kafka\uff0c因为它更快。",
    "如果使用游标而不是偏移量\uff0c会更快。",
    "这个服务使用队列。",
    "テストを追加し、ドキュメントを更新しました。",
    "すべてのテストが通りました。",
    "次にテストを確認します。",
    "Redisを使うこともできますがいかがでしょうか。",
    "原因はまだ不明です。",
    "おそらくキャッシュが原因です。",
    "ドキュメントによると、チームはKafkaを採用しました。",
    "このサービスはキューを使っています。",
)
ON_THE_WAY = (
    "I'll go with a mutex instead of a channel here.",
    "Let me switch to the streaming parser since the file is 2 GB.",
    "I'll use the existing helper rather than writing a new one.",
    "The API rejects lists. I'll send a dict per item instead.",
    "Going with SQLite because there is no server here.",
    "OK, the root cause is clear: `close()` is called twice.",
    "Found it: the culprit is the stale lockfile.",
    "I've decided to keep both formats since old clients send the first one.",
    "We'll store it as text instead of JSON because the order of keys matters.",
    "The crash is a plain use-after-free: `list` is freed while the iterator still points into it.",
    "So that's it: the loader caches by file name, and two projects share one name.",
    "`inotify` is out: it doesn't work on network drives.",
    "Two options. Taking the second one, the first needs a migration.",
    "Keeping the old field for one release so that clients can move over.",
    "I moved the check into the parser because the caller can't know the version.",
    "I'm putting the lock file into the state folder instead of the project, other tools choke on it there.",
    "The last row is dropped because the loop compares with `<` and the count is off by one.",
    "Prefetching gained 3 %, it isn't worth the extra memory.",
)
ROUTINE = (
    "Now I'll add a test because there is none.",
    "I'll start with the smallest file since it's the easiest.",
    "Let me check the logs instead.",
    "Let me try something else instead.",
    "I'll read the spec first because I'm not sure about the format.",
    "I need to understand why this uses a list rather than a set.",
    "Let me run only the failing test instead of the whole suite because it's slow.",
    "I wonder whether to use a mutex instead of a channel.",
    "Interesting: this uses eval instead of literal_eval because of lambdas.",
    "The test fails because the fixture is stale. Let me look.",
    "Hmm, perhaps I should use a lock instead.",
    "I could use a lock instead of a channel.",
    "Let me use sed because the file is large.",
    "I'll use rg instead of grep since it's faster.",
    "Maybe the root cause is the cache.",
    "I'll fix the typo since I'm here.",
    "I'll update the snapshot because the output changed.",
    "Let me make the same change in the other file because it has the same bug.",
    "I'll create a todo list to keep track.",
    "The test is out of date, let me look.",
    "I ran it again because the first run was cut off.",
    "I opened the other file because it imports this one.",
    "Taking a look at the logs.",
    "Picking up where I left off.",
    "The failure is a timeout: let me see where it waits.",
    "The tests now pass because the clock is mocked.",
    "I grepped for it since the import was indirect.",
    "I added a print because the log is empty.",
    "It isn't worth a look.",
    "The server won't start. Let me look at the log.",
)
STANDING = (
    "We don't support Windows in this repo, that was settled years ago.",
    "Keep in mind that we agreed on UTC everywhere, local times only in the UI.",
    "Policy: no generated code in the repository.",
    "House rule: no ORM in the hot path.",
    "The team decided against feature flags in the database.",
    "We've standardised on structlog, so don't add print statements.",
    "Logging goes through structlog only, we decided that last year.",
    "As agreed in the architecture meeting, money is always an integer number of cents.",
    "It's a standing decision here that migrations are never edited after a release.",
    "By convention we never import from `internal`, that's not up for debate.",
    "Don't add jQuery back, we ruled that out for good last spring.",
    "For context: we decided a while ago that ids are opaque strings.",
    "Wir haben im Team beschlossen, keine neuen Abhängigkeiten aufzunehmen.",
    "Nous avons décidé en équipe de ne plus utiliser jQuery.",
    "Chez nous, c'est acté : pas de requêtes SQL dans les vues.",
    "En el equipo decidimos no usar más jQuery.",
    "Tenemos acordado no guardar contraseñas en el repositorio.",
    "我们团队约定不在仓库里提交生成的文件。",
    "另外\uff0c我们早就决定不再支持 Python 3.8。",
    "なお、チームでは外部サービスを使わないことに決めています。",
    "生成ファイルはコミットしない方針です。",
    "还有\uff0c我们早就定了\uff1a接口不返回空值。",
)
ORDERS = (
    "Please use tabs instead of spaces.",
    "Did we decide on a name yet?",
    "What did the team decide?",
    "Fix the bug in the parser, and decide yourself how.",
    "Use Postgres, not SQLite.",
    "I decided to give you more time.",
    "We should decide on this soon.",
    "We haven't decided yet.",
    "The customer decided to cancel, please delete their data.",
    "I agree, go ahead.",
    "Agreed, do that.",
    "If we decide to drop Python 3.9, tell me.",
    "Bitte nimm Tabs statt Leerzeichen.",
    "Haben wir uns schon entschieden?",
    "Utilise des tabulations plutôt que des espaces.",
    "Usa tabuladores en lugar de espacios.",
    "请使用制表符而不是空格。",
    "タブを使ってください。",
)


def sure(text: str, voice: Voice) -> list[Statement]:
    """Return the statements whose words are enough, whatever happened around them."""
    return [one for one in statements_in(text, voice) if not one.needs]


@pytest.mark.parametrize("text", [*DECISIONS, *IN_OTHER_LANGUAGES])
def test_finds_what_a_report_decided(text: str) -> None:
    assert sure(text, "report")


@pytest.mark.parametrize("text", [*NO_DECISIONS, *NONE_IN_OTHER_LANGUAGES])
def test_leaves_out_other_sentences(text: str) -> None:
    assert not sure(text, "report")


@pytest.mark.parametrize("text", ON_THE_WAY)
def test_finds_decisions_in_narration(text: str) -> None:
    assert sure(text, "narration")


@pytest.mark.parametrize("text", ROUTINE)
def test_leaves_out_routine(text: str) -> None:
    assert not sure(text, "narration")


@pytest.mark.parametrize("text", STANDING)
def test_finds_standing_decisions_of_users(text: str) -> None:
    assert [one.kind for one in statements_in(text, "user")] == ["standing"]


@pytest.mark.parametrize("text", ORDERS)
def test_leaves_out_requests_of_users(text: str) -> None:
    assert not list(statements_in(text, "user"))


def check(text: str, *expected: tuple[str, str, str], voice: Voice = "report") -> None:
    found = tuple((one.kind, one.decision, one.rationale) for one in sure(text, voice))
    assert found == expected


def test_splits_the_reason_from_the_decision() -> None:
    check(
        "I chose SQLite over Postgres because there is no server.",
        ("choice", "I chose SQLite over Postgres", "There is no server."),
    )
    check(
        "Since the schema changes often, we chose JSON columns over a table.",
        ("choice", "We chose JSON columns over a table.", "The schema changes often"),
    )
    check(
        "Decided to keep the sync client: the async one has no pool.",
        ("choice", "Decided to keep the sync client", "The async one has no pool."),
    )
    check(
        "Two workers raced. That's why I moved the write into the lock.",
        ("choice", "I moved the write into the lock.", "Two workers raced."),
    )
    check(
        "Went with a ring buffer. The reason is that the log never shrinks.",
        ("choice", "Went with a ring buffer.", "The reason is that the log never shrinks."),
    )


def test_pronoun_needs_an_antecedent() -> None:
    check("I decided against it because it is slow.")
    check(
        "A global lock was the other idea. I decided against it because readers would wait.",
        (
            "choice",
            "A global lock was the other idea. I decided against it",
            "Readers would wait.",
        ),
    )


def test_joins_attempt_and_replacement() -> None:
    (found,) = statements_in(
        "My first attempt used a regex, which failed on nesting. Instead I wrote a tokenizer.", "report"
    )
    assert (found.kind, found.replaced) == ("choice", False)
    assert "regex" in found.decision
    assert "tokenizer" in found.decision


def test_headings_and_labels_name_sections() -> None:
    text = """
## Key decisions
- TTL for each entry, not a global one. Prices expire sooner.
- Should this be configurable?

## Root cause
The watcher's buffer was too small.

## Next steps
- Use Redis instead of memory because it is shared.

## Considered
**Rejected:** a second process (it doubles the memory).
"""
    check(
        text,
        ("choice", "TTL for each entry, not a global one.", "Prices expire sooner."),
        ("cause", "Root cause: The watcher's buffer was too small.", ""),
        ("attempt", "Rejected: A second process (it doubles the memory).", ""),
    )


@pytest.mark.parametrize("language", ["german", "french", "spanish", "chinese", "japanese"])
def test_language_files_use_english_cue_names(language: str) -> None:
    table = cues.languages()[language].table
    assert not [name for name in table if not isinstance(getattr(cues, name, None), str)]
    for cue in table.values():
        re.compile(cue)


def test_wheel_holds_language_files(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=Path(__file__).parents[2],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as held:
        names = {Path(name) for name in held.namelist()}
    folder = Path("foveal/daemon/transcripts/languages")
    assert {path.stem for path in names if path.parent == folder} == {*cues.languages()} - {"english"}


def test_language_is_the_one_with_most_frequent_words() -> None:
    languages = cues.languages()
    assert next(iter(languages)) == "english"
    for text in (*DECISIONS, *NO_DECISIONS, "", "`src/a.py`: 3"):
        assert cues.cues_for(text) is languages["english"], text
    for text in IN_OTHER_LANGUAGES:
        assert cues.cues_for(text) is not languages["english"], text


def test_quoted_words_count_for_nothing() -> None:
    check('The log says "we decided to use X instead of Y because of Z" now.')
    check("> We decided to use X instead of Y.")
    check("```\nwe decided to use X instead of Y\n```")


@pytest.mark.parametrize(
    "text",
    [
        *("i tried " * 10_000, "because " * 12_000, "a, so we " * 10_000, "`" * 50_000, "- " * 25_000),
        *("| a " * 20_000, "x" * 100_000, "\n" * 75_000, "**a" * 22_000, "/a.b" * 22_000, "#" * 50_000),
    ],
)
def test_hostile_text_is_fast(text: str) -> None:
    began = time.process_time()
    assert len(list(statements_in(text, "report"))) < 800
    assert time.process_time() - began < 3  # 0.3 s at most; a pattern that backtracks takes minutes
