"""Owns the definite places that a clause names to look in: a file, a folder, a section, a class."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from ..core.lazy_dataclass import dataclass
from .clauses import Clause, Token
from .patterns import any_of, compiled

PlaceKind = Literal["file", "folder", "section", "class", "name", "filter"]
"""`file` and `folder` may be globs; `name` is a dotted name (`auth.session`), `filter` is `path:src`."""


@dataclass(frozen=True, slots=True)
class Place:
    """A definite place. `name` is as written: a path, a heading, a class; `said` has all words for it."""

    kind: PlaceKind
    name: str
    said: str


def find_places(clause: Clause) -> tuple[Place, ...]:
    """Return the definite places of a clause, in order. `in the auth module` is none: no file bears that out.

    A path counts only if something is looked for in it: what is asked of a file itself (`what does merge.py
    do`) has no place.
    """
    found: dict[int, Place] = {}
    taken: set[int] = set()  # `the X section Y` has one name
    for kind, (begin, stop), (start, end) in _matches(clause.form):
        token = next(iter(clause.within(start, max(end, start + 1))), None)
        span = set(range(begin, stop))
        fits = token is not None and (kind != "name" or _is_dotted(token))
        if token and fits and start not in found and (kind != "section" or not span & taken):
            taken |= span if kind == "section" else set()
            place_kind: PlaceKind = "folder" if kind == "file" and _is_folder(token) else kind
            found[start] = Place(place_kind, _bare(clause, start, end), clause.said(begin, stop))
    return tuple(place for _, place in sorted(found.items()))


_Span = tuple[int, int]


@lru_cache(maxsize=256)
def _matches(form: str) -> tuple[tuple[PlaceKind, _Span, _Span], ...]:
    """Return the kinds of places that a form names, each with its span and that of its name, in the order of
    the patterns. Kept, as all names are `N` in a form: the same ones are asked again and again."""
    return tuple(
        (kind, match.span(), match.span("name"))
        for kind, pattern in _PATTERNS
        for match in compiled(pattern).finditer(form)
    )


def _bare(clause: Clause, start: int, end: int) -> str:
    name = clause.said(start, max(end, start + 1))
    return (
        name.partition(":")[2]
        if name.startswith(("path:", "file:", "dir:", "folder:", "glob:", "in:"))
        else name
    )


def _is_folder(token: Token) -> bool:
    last = token.text.rstrip("/").rpartition("/")[2]
    return token.text.endswith("/") or ("." not in last and not last.istitle() and not last.isupper())


def _is_dotted(token: Token) -> bool:
    return "." in token.text.strip(".") and not token.text.endswith(")")


_IN = any_of(
    "in, inside, within, under, underneath, below, beneath, from, into, across, throughout, through, at",
    "on, near, around, im, in der, in den, in dem, aus, aus der, unter, innerhalb, innerhalb von, dans",
    "sous, en, dentro de, dentro do, dentro da, desde, de, del, du, no, na, nos, nas, em, do, da, nel",
    "nella, nello, sotto, в, во, внутри, из, на, под",
)
_DETERMINER = any_of(
    "the, our, my, this, that, an?, only, just, all of, der, die, das, dem, den, le, la, les, l', el",
    "los, las, o, os, as, il, lo, file, files, script, module, document, source, config, folder",
    "directory, dir, datei, ordner, verzeichnis, fichier, dossier, répertoire, archivo, fichero",
    "carpeta, directorio, arquivo, pasta, ficheiro, cartella, файле, файла, файл, папке, папки",
    "каталоге, директории, beginning of, top of, end of",
    r"bottom of, line \d+ of, lines \S+ (?:to \S+ )?of",
)
_ARTICLE = rf"(?:{_DETERMINER} )*"
_FOLDER = any_of(
    "folders?, directory, directories, dir, subfolder, ordner, verzeichnis, dossier, répertoire, carpeta",
    "directorio, pasta, diretório, cartella, папке, папка, папки, каталоге, директории",
)
_FILE = any_of("files?, datei, fichier, archivo, fichero, arquivo, ficheiro, файле, файла")
_SECTION = any_of(
    "section, subsection, chapter, heading, paragraph, appendix, abschnitt, kapitel, überschrift, chapitre",
    "rubrique, sección, apartado, capítulo, seção, secção, sezione, capitolo, paragrafo, раздел, разделе",
    "раздела, главе, глава",
)
_CLASS = any_of("class, klasse, classe, clase, классе, класса")
_PART = any_of(
    "part, parts, section, sections, chapter, top, bottom, end, beginning, start, head, header",
    "contents?, todos?, fixmes?, comments?, strings, settings, keys, entries, messages, wording, lines?",
    "rest, middle, paragraph, table, text, heading, headings, value, values, half, page, bit, portion",
    "piece, area, body, teil, anfang, ende, inhalt, zeile, partie, début, fin, contenu, parte",
    "principio, inicio, final, contenido, início, fim, conteúdo, inizio, fine, contenuto, часть, начало",
    "конец, содержимое",
)
_SEARCH = "(?:please |only |just )*" + any_of(
    "search, grep, scan, check, browse, durchsuche, skim, look through, search through, scan through",
    "go through, comb through, dig through, look at, search in",
)
_NAME = r"(?P<name>[NQ]|\d[\w.-]*|[^\W\d][\w.-]*)"
_FUNCTION_WORD = any_of(
    "of, in, that, which, about, for, on, where, is, are, was, does, do, has, and, or, with, to, by",
    "from, at, covers?, explains?, describes?, talks?, mentions?, says?, said, should, it, one, the, a",
    "an, this, these, those, each, every, any, our, my, its, von, de, du, des, del, da, do, di, le, la",
    "les, el, los, las, lo, il, der, die, das, den, dem, diese[rmns]?",
)
_NO_HEADING = (
    rf"(?!{_FUNCTION_WORD}\b|(?:which|what|quel(?:le)?s?|qu[eéê]|welche[mnrs]?|qua(?:l|le|is|li)|как\w+)\b)"
)
"""What next to `section` or `class` is not its name."""

_PATTERNS: tuple[tuple[PlaceKind, str], ...] = (
    ("filter", r"(?P<name>F)\b"),
    # in src/a.py, under packages/core, at the top of the Makefile
    ("file", rf"\b{_IN} {_ARTICLE}(?P<name>P)\b"),
    ("file", rf"\b{_PART}(?: \S+){{0,3}}? (?:of|from|in|von|de|du|del|da|do|di) {_ARTICLE}(?P<name>P)\b"),
    (
        "file",
        (rf"^{_SEARCH} {_ARTICLE}(?P<name>P) (?:for|nach|um|after)\b"),
    ),
    ("name", rf"^{_SEARCH} {_ARTICLE}(?P<name>N) (?:for|nach|um|after)\b"),
    # open config/routes.rb and show the admin routes
    (
        "file",
        (
            rf"^(?:{_SEARCH}|open|read|see|view|inspect|look at|look into|look in|go to|take) {_ARTICLE}"
            r"(?P<name>P) ?(?:,|:|and|to|then) ?(?:and )?(?:then )?(?!P|N)\S"
        ),
    ),
    ("name", rf"\b{_PART}(?: \S+){{0,3}}? (?:of|from|in|inside) {_ARTICLE}(?P<name>N)\b"),
    ("file", rf"\b(?:dit|disent|dice|dicen|diz|sagt|steht in|contient|говорит) {_ARTICLE}(?P<name>P)\b"),
    (
        "folder",
        (
            rf"^{_SEARCH} (?:the |our |all |all of |only |just )*(?P<name>[NPQ]|[^\W\d][\w.-]*) {_FOLDER}"
            r" (?:for|nach)\b"
        ),
    ),
    # as set by config/production.yaml; what does docs/setup.md say about proxies
    (
        "file",
        (
            rf"\b(?:set|defined|declared|configured|specified|given|documented|described|listed) (?:in"
            rf"|by|at) {_ARTICLE}(?P<name>P)\b"
        ),
    ),
    (
        "file",
        rf"\b(?:restrict|limit|confine|narrow)\w*(?: \S+){{0,5}}? (?:to|down to) {_ARTICLE}(?P<name>P)\b",
    ),
    (
        "file",
        (
            r"(?P<name>P) (?:says?|states?|mentions?|recommends?|advises?|suggests?|promises?|dice|dit|sagt"
            r"|говорит)\b"
        ),
    ),
    ("file", r"\blines? \d[\w\u2013-]*(?: (?:to|and|through|until) \d+)? (?:of|in|from) (?P<name>P)\b"),
    # the section "Upgrading", chapter 3, the Installation section, section on proxies
    (
        "section",
        (
            rf"\b{_SECTION} (?:titled |named |called |headed |number |namens |intitulée? |llamada "
            rf"|chamada |about |on |über |sobre |о )?(?:the )?{_NO_HEADING}{_NAME}"  # noqa: RUF001 - Cyrillic is meant
        ),
    ),
    ("section", rf"\b(?:the|der|im|under|in|from) (?:the )?{_NO_HEADING}{_NAME} {_SECTION}\b"),
    # in the folder migrations, under the migrations folder
    (
        "folder",
        rf"\b{_FOLDER} (?:named |called |namens |llamada )?{_NO_HEADING}(?P<name>[NPQ]|[^\W\d][\w.-]*)",
    ),
    (
        "folder",
        (
            rf"\b(?:{_IN} )(?:the |our |der |dem |den )?{_NO_HEADING}(?P<name>[NPQ]|[^\W\d][\w.-]*) "
            rf"{_FOLDER}\b"
        ),
    ),
    (
        "file",
        (
            rf"\b{_IN} (?:the |our |der |la |el |il |le )?{_FILE} (?:named |called "
            rf")?{_NO_HEADING}(?P<name>[NPQ]|[^\W\d][\w.-]*)"
        ),
    ),
    ("file", rf"\b{_IN} (?:the |our ){_NO_HEADING}(?P<name>[NPQ]|[^\W\d][\w-]*) files?\b"),
    # in class Cart, within the Cart class
    (
        "class",
        (
            rf"\b(?:{_IN}|of) (?:the |our |der |la |a |el |il )?{_CLASS} (?:named |called "
            rf")?{_NO_HEADING}(?P<name>[NQ]|[^\W\d][\w.-]*)"
        ),
    ),
    ("class", rf"\b{_IN} (?:the |our |der )?{_NO_HEADING}(?P<name>[NQ]|[^\W\d][\w.-]*) {_CLASS}\b"),
    ("name", rf"\b(?:in|inside|within|under|im|dans|en|em|nel|в) {_ARTICLE}(?P<name>N)\b"),
    # scripts without spaces
    ("file", r"(?:在|于|从) ?(?P<name>P)"),
    ("file", r"(?P<name>P) ?[の的] ?Q"),
    ("file", r"(?P<name>P) ?(?:这个|的)?(?:文件夹|文件|目录|模块)?(?:中|里|内|下|上)"),
    (
        "file",
        r"(?P<name>P) ?(?:という|の)?(?:ファイル|フォルダー?|ディレクトリ)?(?:の中|内|で|から|に|以下)",
    ),
    ("file", r"(?P<name>P) ?(?:파일|폴더|디렉토리)?(?:에서|안에서|의)"),
    ("section", r"(?P<name>Q) ?(?:一)?(?:节|章节|章|部分|小节|セクション|の章|の節|の項|섹션)"),
    ("section", r"(?P<name>第 ?[\d一二三四五六七八九十]+ ?(?:章|节|節|部分))"),
    ("class", r"(?:在|クラス|类) ?(?P<name>N) ?(?:类|クラス|の中|中|里|で)"),
    ("class", r"(?P<name>N) ?クラス(?:の中)?(?:で|から|の)"),
    ("folder", r"(?P<name>[NQ]) ?(?:文件夹|目录|フォルダー?|ディレクトリ)(?:中|里|内|下|の中|で|から)"),
)
