"""Owns the words for kinds of code, for changes and for what they do, in English."""

from __future__ import annotations

from ..project.vocabulary import words

KINDS = words(
    """
    function functions method methods class classes interface interfaces struct structs enum enums type
    types trait traits module modules package packages file files constant constants variable variables
    field fields property properties attribute attributes symbol symbols hook hooks decorator decorators
    macro macros protocol protocols constructor constructors object objects member routine routines
    procedure procedures alias aliases typedef mixin record records union exception exceptions header
    headers namespace crate library handler handlers component components service services endpoint
    endpoints command commands helper helpers script scripts global globals operator callback callbacks
    getter setter middleware event signal site sites places place spots lines line code
    """
)
"""Words for kinds of definitions, which make the plain word next to them a name: `the login function`."""

MODULES = words(
    """
    module modules package packages library libraries file files header headers crate crates dependency
    dependencies namespace namespaces
    """
)
"""Those of them that are imported: what depends on one imports it."""

PLURAL_KINDS = words(
    """
    functions methods classes interfaces structs enums types traits constants variables fields properties
    attributes symbols members exports definitions constructors macros hooks components tests headings
    sections routes endpoints globals routines procedures
    """
)
"""What a file or class has, together its outline."""

PARTS = words(
    """
    parameter parameters argument arguments return value values result results default defaults signature
    name names type types body order number count behaviour behavior output outputs visibility instance
    instances object objects copy copies option options key keys entry entries content contents first
    second third last optional required declaration definition implementation error errors message shape
    schema meaning semantics contract rest format analysis report overview
    """
)
"""Words for a part of a symbol, of which a relation is asked as of the whole: `the return value of f`."""

ADVERBS = words(
    """
    all else directly indirectly transitively recursively also still currently actually ever really even
    internally exactly only often otherwise eventually explicitly again just both now ends end up ending
    get gets got being been anywhere everywhere somewhere or incoming outgoing public private exported
    static transitive indirect direct recursive whole entire full other every single possible exist exists
    available there here upstream downstream remaining existing known various external internal
    """
)

_CHANGING = words(
    """
    change changes changed changing rename renames renamed renaming remove removes removed removing delete
    deletes deleted deleting modify modifies modified modifying refactor refactors refactored refactoring
    touch touches touched touching move moves moved moving edit edits edited editing drop drops dropped
    dropping replace replaces replaced replacing update updates updated updating alter alters altered
    altering rid break breaks breaking rewrite rewrites rewriting rewritten
    """
)

WEAK_CHANGES = words(
    """
    become becomes became take takes took gain gains lose loses lost get gets got accept accepts make made
    making turn turned turns switch switched convert converted converting extract extracted inline inlined
    split merge merged add added adding
    """
)
"""Words for a change only behind `if`: `what breaks if I make X private`, but not `what makes X fail`."""

_BREAKING = words(
    """
    break breaks broken affect affects affected impact impacts impacted fail fails happen happens stop
    stops safe safely depend depends update adapt rerun re-run run suffer suffers hit touched invalidated
    """
)

_CONNECTING = words(
    """
    path paths route chain connection reach reaches reached reachable relate relates related relation
    relationship link linked links interact lead leads arrive arrives
    """
)


def is_change(word: str) -> bool:
    """Whether a word in lower case says that something is changed."""
    return word in _CHANGING


def is_breakage(word: str) -> bool:
    """Whether a word in lower case says what a change does to the rest."""
    return word in _BREAKING


def is_connection(word: str) -> bool:
    """Whether a word in lower case says that something leads from one thing to another."""
    return word in _CONNECTING or word.startswith("connect")
