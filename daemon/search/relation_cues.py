"""Tables of English words for the relations of the code graph, with the direction of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, cast

from msgspec import Struct

from ..core.vocabulary import words
from .patterns import any_of
from .query import Relation

Voice = Literal["active", "passive", "noun"]


class Cue(Struct, frozen=True):
    """A word for a relation.

    `incoming` is the relation if the edge leads to the subject (`what calls X`), `outgoing` if the edge
    starts at the subject (`what does X call`). With `surely` the subject must be an identifier or a path,
    because the word is also common in questions about behaviour.
    """

    voice: Voice
    incoming: Relation
    outgoing: Relation | None
    surely: bool = False


_TABLE = """
active callers callees: call calls calling invoke invokes invoking trigger triggers triggering
passive callers callees: called invoked triggered
noun callers callees: caller callers callsite callsites call-site call-sites invocation invocations
active! callers -: hit hits hitting kick-off kicks-off kicking-off fire fires firing execute executes
  executing spawn spawns dispatch dispatches render renders rendering lead-to leads-to leading-to arrive-at
  arrives-at talk-to talks-to talking-to
passive! callers callees: fired executed spawned dispatched kicked-off
noun callees callers: callee callees
active references -: use uses using make-use makes-use making-use reference references referencing refer
  refers
active! references -: access accesses accessing reads reading write writes writing set sets modify modifies
  mutate mutates assign assigns instantiate instantiates construct constructs consume consumes mention throw
  throws raise raises catch catches catching create creates touch touches pass passes emit emits
passive! references -: in-use created caught show-up shows-up turn-up turns-up appear appears occur occurs
  come-up comes-up accessed read written modified mutated assigned instantiated constructed consumed mentioned
  thrown raised emitted
passive references callees: used referenced
noun references -: cross-reference cross-references usage usages assignment assignments instantiation
  instantiations occurrence occurrences mentions refs xrefs
active importers imports: pull-in pulls-in pulling-in bring-in brings-in build-on builds-on build-upon
  builds-upon import imports importing include includes including require requires requiring depend depends
  depending rely relies
passive! importers imports: pulled-in brought-in imported included required
noun importers -: importer importers consumer consumers dependent dependents reverse-dependencies dependant
  dependants includers
noun imports -: import-statements import-statement import-list dependencies dependency deps
active subclasses superclasses: extend extends extending inherit inherits inheriting derive derives deriving
  derived subclassing
active! subclasses superclasses: based-on specialize specializes specializing specialise specialises
passive! subclasses superclasses: extended inherited subclassed
noun subclasses superclasses: child child-class child-classes derived-class derived-classes sub-class
  sub-classes subclass subclasses subtype subtypes children descendants heirs
noun! superclasses subclasses: inheritance lineage super-class super-classes superclass superclasses supertype
  supertypes parent parents base bases ancestor ancestors ancestry hierarchy mro
active implementations superclasses: implement implements implementing conform conforms conforming satisfy
  satisfies satisfying
active! implementations superclasses: fulfil fulfill fulfils fulfills fulfilling realize realizes realizing
  realise realises adhere-to adheres-to adhering-to
passive! implementations superclasses: implemented
noun implementations superclasses: realization realizations realisation realisations implementation
  implementations implementer implementers implementor implementors
active overrides overrides: override overrides overriding redefine redefines redefining reimplement
  reimplements reimplementing re-implement re-implements re-implementing
passive overrides -: overridden overriden redefined reimplemented re-implemented
active definition outline: define defines declare declares
active! definition outline: contain contains hold holds export exports exporting expose exposes
passive definition outline: defined declared located exported exposed
noun definition -: definition definitions declaration declarations signature signatures prototype
noun! definition -: location locations whereabouts parameters arguments params args arity
noun tests -: test-case test-cases test-function test-functions test-suite test tests spec specs testcases
active tests -: cover covers covering exercise exercises
passive tests -: tested covered exercised
noun impact -: downstream-of impact impacts consequences radius ripple
noun outline -: outline members skeleton
noun! outline -: structure api
"""
"""The cues, one row for each combination of voice (with `!` for `surely`), incoming relation and outgoing
relation (`-` for none), followed by the words. Indented lines continue a row."""


def _cues() -> Iterator[tuple[str, Cue]]:
    for row in _TABLE.strip().replace("\n  ", " ").split("\n"):
        head, _, listed = row.partition(":")
        voice, incoming, outgoing = head.split()
        cue = Cue(
            cast("Voice", voice.rstrip("!")),
            cast("Relation", incoming),
            None if outgoing == "-" else cast("Relation", outgoing),
            voice.endswith("!"),
        )
        yield from ((word, cue) for word in listed.split())


CUES: dict[str, Cue] = dict(_cues())
"""The cue of each word. No word is in two rows."""

DEPENDING = words(
    """
    depend depends depending rely relies build-on builds-on build-upon builds-upon consumer consumers
    dependent dependents dependant dependants
    """
)
"""Words for importers that are used for symbols as well as for modules."""

_PARTS = (
    r"(?:functions?|methods?|class(?:es)?|modules?|files?|exports?|imports?|constants?|variables?|types?"
    r"|symbols?|code|parameters?|dependencies|fields?|interfaces?)"
)
_NONE = any_of(
    "never, not, nowhere, no longer, nobody, no one, without, unused, unreachable, unreferenced, uncalled",
    "untested",
)
_DONE = any_of(
    "called, used, imported, referenced, invoked, tested, covered, overridden, implemented, instantiated",
    "reached, call, calls, use, uses, import, imports, caller, callers, references, usages, tests, importers",
)
_ANYWHERE = any_of("anywhere, any ?more, at all, by anyone, by anything, by any \\w+")

NO_SUBJECT: tuple[tuple[Relation, str], ...] = (
    (
        "cycles",
        (
            r"\b(?:circular|cyclic|mutually recursive)\b"
            r".{0,20}\b(?:imports?|dependenc\w+|includes?|references?|functions|modules)"
            r"|\b(?:import|dependency|call|include|package|module) (?:cycles?|loops?|circles?)\b"
            r"|\b(?:cycles?|loops?|circles?) (?:of|in|through) (?:the )?"
            r"(?:imports?|dependenc\w+|includes?|calls?|modules|packages)\b"
            r"|\bcycles? (?:between|among)\b"
            r"|\b(?:import|imports|call|depend on|include|reference|require) each other\b"
        ),
    ),
    (
        "unused",
        (
            rf"\b{_PARTS}\b(?: \w+){{0,3}}? {_NONE}\b"
            rf"(?:$|(?: \w+){{0,3}}?(?: {_DONE}(?: {_ANYWHERE})?| {_ANYWHERE})$)"
            r"|\b(?:unused|uncalled|unreferenced|unreachable|orphaned|orphan|untested|dead)"
            rf" (?:\w+ )?{_PARTS}\b"
            r"|\bdead code\b"
            rf"|^(?:what|which)(?: \w+)?(?: {_PARTS})?(?: does| do| is| are)?"
            r" (?:nobody|no one|nothing)(?: else)? (?:calls?|uses?|imports?|references?|needs?)"
            r"(?: anywhere| any ?more)?$"
            r"|\b(?:have|with) no (?:callers|tests|references|usages|importers)\b"
        ),
    ),
)
"""Relations of the whole project, which need no subject, with the regexes of their phrasings."""
