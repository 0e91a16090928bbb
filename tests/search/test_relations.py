"""A relation of the code graph is told from its wording, with its direction and with what it is asked of."""

from __future__ import annotations

import pytest
from foveal.daemon.search.clauses import split_clauses
from foveal.daemon.search.relations import find_relation


def check(text: str, expected: str, *, asks: bool = True, pronouns: bool = False) -> None:
    found = find_relation(split_clauses(text)[0], asks=asks, pronouns=pronouns)
    assert (f"{found.relation}: {', '.join(found.subjects)}" if found else "") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what calls f_x", "callers: f_x"),
        ("What functions call authenticate?", "callers: authenticate"),
        ("who calls the login function", "callers: login"),
        ("where is `f` called from", "callers: f"),
        ("when is f_x called", "callers: f_x"),
        ("how many functions call `emit`", "callers: emit"),
        ("what does `f` call internally", "callees: f"),
        ("functions called by Worker.run", "callees: Worker.run"),
        ("callees of main_loop", "callees: main_loop"),
        ("where is MAX_LEN used", "references: MAX_LEN"),
        ("what writes to the field `Config.retries`", "references: Config.retries"),
        ("list all usages of `Money`", "references: Money"),
        ("where is parse_config defined", "definition: parse_config"),
        ("where is touch defined?", "definition: touch"),
        ("where's Touch declared", "definition: Touch"),
        ("who calls touch", "callers: touch"),
        ("who calls it", ""),
        ("where is everything defined", ""),
        ("where does struct Lease live", "definition: Lease"),
        ("what line does `f` start on", "definition: f"),
        ("go to definition of blob.Store.put", "definition: blob.Store.put"),
        ("what type does `f` return", "definition: f"),
        ("which files import left_pad.js", "importers: left_pad.js"),
        ("Which files depend on the ledger module", "importers: ledger"),
        ("what does server/main.go import", "imports: server/main.go"),
        ("list the imports of lib/parser.rb", "imports: lib/parser.rb"),
        ("which classes extend BaseModel", "subclasses: BaseModel"),
        ("what does Circle inherit from", "superclasses: Circle"),
        ("does CsvSink extend `Sink`", "superclasses: CsvSink, Sink"),
        ("which classes implement the Serializer interface", "implementations: Serializer"),
        ("where is `paint` overridden", "overrides: paint"),
        ("what unit tests end up calling Matrix::invert", "tests: Matrix::invert"),
        ("Which test files should I run after touching storage/wal.py", "tests: storage/wal.py"),
        ("is there a test for `rotate`", "tests: rotate"),
        ("what breaks if I change Session.login", "impact: Session.login"),
        ("blast radius of changing src/db/pool.ts", "impact: src/db/pool.ts"),
        ("what depends, directly or indirectly, on a/b.py", "impact: a/b.py"),
        ("list the functions in handlers/webhook.go", "outline: handlers/webhook.go"),
        ("what methods does OrderService have", "outline: OrderService"),
        ("how does handleRequest end up in `execSql`", "connection: handleRequest, execSql"),
        ("is there a call path from main to write_row", "connection: main, write_row"),
        ("does `foo` call `bar`", "connection: foo, bar"),
        ("which functions are never called", "unused: "),
        ("are there circular imports", "cycles: "),
        ("which files pull in legacy.css", "importers: legacy.css"),
        ("what depends on the return value of `next_id`", "references: next_id"),
        ("what reads the environment variable HOME_DIR", "references: HOME_DIR"),
        ("which functions are used inside `f_x`", "callees: f_x"),
        ("which functions get called when `f_x` runs", "callees: f_x"),
        ("are there two definitions of slugify", "definition: slugify"),
        ("what inherits from Box<dyn Error + Send>", "subclasses: Box<dyn Error + Send>"),
        ("which methods of Base does `Derived` override", "overrides: Derived"),
        # A file is imported, a symbol is referred to.
        ("what depends on src/a.ts", "importers: src/a.ts"),
        ("who uses src/a.ts", "importers: src/a.ts"),
        ("who relies on normalizePath", "references: normalizePath"),
        ("which other methods does run_job depend on", "callees: run_job"),
        ("which libraries does src/app.ts use", "imports: src/app.ts"),
        # Nouns that are verbs as well.
        ("incoming calls to flushQueue", "callers: flushQueue"),
        ("outgoing calls of run_job", "callees: run_job"),
        ("downstream calls of run_job", "callees: run_job"),
        ("which imports does cmd/main.go have", "imports: cmd/main.go"),
        ("Does anything under web/ import from server/internal", "importers: server/internal"),
        ("every mention of MAX_SIZE", "references: MAX_SIZE"),
        ("what is the use of the second lock", ""),
        # Which way a noun points.
        ("what is AdminPanel a subclass of", "superclasses: AdminPanel"),
        ("is AdminPanel a subclass of BasePanel", "superclasses: AdminPanel, BasePanel"),
        ("what implementations exist for IClock", "implementations: IClock"),
        ("is there any caller of `f_x` outside the tests", "callers: f_x"),
        # Verbs of the same meaning.
        ("all structs satisfying the INotifier interface", "implementations: INotifier"),
        ("which types fulfil the ICodec contract", "implementations: ICodec"),
        ("which concrete types are there for the protocol ICodec", "implementations: ICodec"),
        ("which kinds of BaseView are there", "subclasses: BaseView"),
        ("which views are based on BaseView", "subclasses: BaseView"),
        ("which classes have their own Shape.draw", "overrides: Shape.draw"),
        ("which classes override the draw method", "overrides: draw"),
        ("find tests that reach compute_tax", "tests: compute_tax"),
        ("test cases for compute_tax", "tests: compute_tax"),
        ("find the class TokenBucket", "definition: TokenBucket"),
        ("what functions are calling render", "callers: render"),
        # Words for a relation in talk about behaviour.
        ("what is the purpose of the reference counting in the pool", ""),
        ("what is the idea behind the import queue", ""),
        ("is it ok to call `flush` from several threads", ""),
        ("what would be a good way to test `Session`", ""),
        ("are subclasses allowed to skip validation", ""),
        ("does README.md mention `Session`", ""),
        ("What makes `flush` fail", ""),
        ("should I use `Lock` or `RWLock`", ""),
        ("what uses so much memory", ""),
        ("where does `main` read the settings", ""),
        ("which files are in src/hooks", ""),
        ("Why does `checkout` call the tax service", ""),
        ("How is `Session` used", ""),
        ("what is `Session` used for", ""),
        ("which component talks to the payment provider", ""),
        ("who calls the payment provider", ""),
        ("What breaks the tie when two bids are equal", ""),
        ("where is TimeoutError handled", ""),
        ("where is the retry logic implemented", ""),
        ("is caching used anywhere", ""),
        ("locate the color constants in theme.scss", ""),
        ("find the login function in auth.py", ""),
    ],
)
def test_questions(text: str, expected: str) -> None:
    check(text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("transitive callers of `f`", "impact: f"),
        ("callers f_x", "callers: f_x"),
        ("f_x usages", "references: f_x"),
        ("functions calling parse_url", "callers: parse_url"),
        ("everything that imports moment.js", "importers: moment.js"),
        ("all places in the code where `f_x` is called", "callers: f_x"),
        ("overriding methods of `f_x`", "overrides: f_x"),
        ("every class conforming to the ICodec protocol", "implementations: ICodec"),
        ("tests hitting `f_x`", "tests: f_x"),
        ("Changing the timeout in `Client.get` breaks uploads", ""),
        ("import from csv", ""),
        ("Error: The view function did not return a valid", ""),
        ("HTTP method can not be empty", ""),
        ("functions nobody calls", "unused: "),
    ],
)
def test_statements_ask_only_as_fragments(text: str, expected: str) -> None:
    check(text, expected, asks=False)


def test_what_was_named_before_counts_only_where_something_was() -> None:
    check("who calls it", "callers: it", pronouns=True)
    check("who calls the function below", "callers: function", pronouns=True)
    check("who calls it", "")
