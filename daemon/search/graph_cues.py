"""The words that show which relation of the code graph a question asks for, and those that show nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, cast

from msgspec import Struct

from .query import Relation

Voice = Literal["active", "passive", "noun"]


class Cue(Struct, frozen=True):
    """A word for a relation: `incoming` if the edge leads to the subject (`what calls X`), `outgoing` if it
    starts there (`what does X call`)."""

    voice: Voice
    incoming: Relation
    outgoing: Relation | None


_CUES = """
active callers callees call calls calling invoke invokes invoking trigger triggers hit hits hitting run runs
active callers callees execute executes render renders reach reaches
passive callers callees called invoked triggered executed
noun callers callees caller callers callsite callsites invocation invocations
noun callees callers callee callees
active references callees use uses using
active references - reference references referencing refer refers access accesses read reads reading write
active references - writes writing modify modifies mutate mutates instantiate instantiates construct
active references - constructs create creates touches throw throws raise raises catch catches
passive references callees used referenced
passive references - accessed written modified mutated instantiated constructed mentioned thrown raised
passive references - implemented
noun references - assignment assignments mention mentions usage usages occurrence occurrences refs
active importers imports import imports importing include includes including require requires depend depends
active importers imports depending rely relies pull pulls
passive importers imports imported included required
noun importers - importer importers dependent dependents consumers
noun imports - dependencies dependency deps
active subclasses superclasses extend extends extending inherit inherits inheriting derive derives derived
active subclasses superclasses based
noun subclasses superclasses kinds child children subclass subclasses subtype subtypes descendants
noun superclasses subclasses parent parents base bases superclass superclasses supertype supertypes ancestor
noun superclasses subclasses ancestors hierarchy
active implementations superclasses implement implements implementing conform conforms conforming satisfy
active implementations superclasses satisfies satisfying fulfil fulfils fulfill fulfills
noun implementations superclasses implementation implementations implementer implementers implementors
active overrides overrides own override overrides overriding redefine redefines reimplement reimplements
passive overrides - overridden redefined reimplemented
active definition outline define defines declare declares export exports exporting
passive definition outline defined declared located
noun definition - definition definitions declaration signature
noun outline - outline members structure
"""
"""Each row has a voice, the incoming relation, the outgoing relation (`-` for none), and the words."""

_WORDS = """
reason how why
asking how why what when where who whom whose which whether
auxiliary is are was were do does did has have had can could will would
looking find locate show list search look give go jump open count trace
placing in inside within under below outside across
article the a an our my this that
pronoun it this that them they these those below
kind function functions method methods class classes interface interfaces struct structs enum type types
kind trait traits module modules package packages file files constant constants variable variables field
kind fields property properties attribute attributes symbol symbols hook decorator macro protocol contract
kind object code place places spot spots line component components
module module modules package packages library libraries file files header headers
member functions methods classes members fields properties attributes constants exports symbols
test test tests tested testing spec specs coverage covered covers cover exercise exercises exercised
apart outside except excluding besides without
depend depend depends depending rely relies dependents consumers
connect reach reaches reachable path route chain connect connects connected connection relate related
connect relationship link linked lead leads end ends get gets got flow flows goes go
change change changes changed changing rename renames renamed renaming remove removes removed removing
change delete deleting deleted modify modifying refactor refactoring touch touching move moving edit editing
change drop replace update
break safely break breaks broken affect affects affected fail fails happen happens stop stops safe else
break suffer run update
impact impact impacts impacted blast radius ripple consequences
transitive transitive transitively indirect indirectly recursive recursively
live live lives reside resides sit sits start starts return returns
tail are live from anywhere somewhere directly and or to already has have end get changes change
out outgoing downstream
nounlike imports call calls use uses exports extends overrides references
first circles cycles loops circular dead unused import if i tell all any every anything everything hi hey
first please in under within incoming need unit path call
filler of to for on from into by with at as be been being there exist exists here now also still ever
filler exactly currently directly or and all any every each other own else me us i we you please can could
filler would should need want see know like hi hey tell many much only just some anything everything
filler everyone everywhere anywhere up out end internally hood levels level deep depth hop hops project
filler codebase repo repository after before if then than made unit integration case cases concrete incoming
filler return value default instances name names one two three times public shortest
"""
"""Each row has the name of a group and words of it."""


def _cues() -> Iterator[tuple[str, Cue]]:
    for row in _CUES.strip().split("\n"):
        voice, incoming, outgoing, *listed = row.split()
        out = None if outgoing == "-" else cast("Relation", outgoing)
        yield from ((word, Cue(cast("Voice", voice), cast("Relation", incoming), out)) for word in listed)


def _groups() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for row in _WORDS.strip().split("\n"):
        group, *listed = row.split()
        found[group] = found.get(group, frozenset()).union(listed)
    return found


CUES: Final = dict(_cues())
WORDS: Final = _groups()
_OPENING: Final = (
    "asking",
    "auxiliary",
    "looking",
    "test",
    "kind",
    "impact",
    "transitive",
    "article",
    "out",
    "first",
)
FIRST: Final = frozenset(
    word for word, cue in CUES.items() if cue.voice != "active" or word[-3:] == "ing"
).union(*map(WORDS.__getitem__, _OPENING))
"""Words with which a question or a command to look begins; a command to change something doesn't."""
EXPLAINED: Final = frozenset(CUES).union(*WORDS.values())
"""Words that are no names, unless they stand where only a name can."""

OF_ALL: Final[tuple[tuple[Relation, re.Pattern[str]], ...]] = (
    (
        "cycles",
        re.compile(r"\b(?:circular|cyclic) (?:import|dependenc|include)|\b(?:import|include) each other\b"),
    ),
    ("cycles", re.compile(r"\b(?:cycle|loop|circle)s? (?:of|in|between|among)\b")),
    ("cycles", re.compile(r"\b(?:import|dependency|call|include) (?:cycle|loop|circle)s?\b")),
    (
        "unused",
        re.compile(r"\b(?:unused|uncalled|unreferenced|unreachable|dead) (?:\w+ )?(?:code|class|\w+s)\b"),
    ),
    (
        "unused",
        re.compile(r"\b(?:never|nobody|no one|nothing) (?:else )?(?:called|use|call|imported|referenced)"),
    ),
)
"""Relations of the whole project, which need no subject."""
