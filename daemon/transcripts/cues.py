"""The cues of decisions: regexes of phrases over the form of a sentence, without grammar.

A phrase is enough by itself; several signals, next to changes of files, count as much. English cues stand
here. Other languages are data: one file each in `languages`, with the same names in lower case and `common`
words; a cue may be broken into lines.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path


def words(text: str) -> frozenset[str]:
    """Return the words of a table of words."""
    return frozenset(text.split())


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a regex compiled at its first use; only for patterns of the code and its data."""
    return re.compile(pattern)


def meets(pattern: str, form: str) -> bool:
    """Whether a form holds a phrase."""
    return compiled(pattern).search(form) is not None


class Cues:
    """The cues of a language by their English names; a missing cue matches nothing."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self.table = table
        self.common = words(table["COMMON"])

    def __getattr__(self, name: str) -> str:
        if name not in globals():
            raise AttributeError(name)
        return self.table.get(name, _NEVER)


def cues_for(text: str) -> Cues:
    """Return the cues of the language with the most frequent words in a text, English by default."""
    found = re.findall(r"[\u3041-\u9fff]|[^\W\d_\u3041-\u9fff]+", text[:_BEGINNING].lower())
    return max(languages().values(), key=lambda cues: sum(word in cues.common for word in found))


@cache
def languages() -> Mapping[str, Cues]:
    """Return the cues of each language by its name, English first."""
    tables = {
        file.stem: tomllib.loads(file.read_text("utf-8"))
        for file in sorted(Path(__file__).with_name("languages").glob("*.toml"))
    }
    return {
        "english": Cues(globals()),
        **{
            name: Cues({key.upper(): cue.replace("\n", "") for key, cue in table.items()})
            for name, table in tables.items()
        },
    }


_NEVER = r"(?!)"
_BEGINNING = 4_000
"""Characters by which the language of a text is recognized."""
COMMON = "the and of to is was i we it in that for with because instead not so on this but an as by no from"
"""Frequent words, by which languages are recognized; they may occur in several."""
_ADVERBS = (
    r"(?: (?:also|then|finally|ultimately|eventually|therefore|instead|deliberately|intentionally"
    r"|explicitly|simply|just|only|first|initially|originally|consciously|purposely|specifically|thus"
    r"|further|additionally|now|quickly|later|again|still|both|all|already|soon))*"
)
_I = rf"\b(?:i|we)(?:'ve|'d| have| had)?{_ADVERBS} "
_ADJECTIVE = (
    r"(?!\w+(?:ed|en|t|pt) (?:\w+ ){1,3}(?:is|are|was|were|isn't|aren't|wasn't|weren't|now|no longer|can"
    r"|will|had"
    r"|have|has|caused|did|do|don't|didn't|never|failed|broke|got|should|must|create|cause|make|help|need"
    r"|require"
    r"|provide|allow|work)\b)"
)
"""A participle at the beginning that belongs to a noun: `Cached entries are …`."""
_START = (
    r"^(?:(?:so|then|finally|instead|ultimately|in the end|eventually|after (?:that|\S+(?: \S+){0,12}),"
    r"|therefore"
    r"|thus|hence|for (?:this|that|now|the|\S+ \S+)(?: \S+){0,5},|(?:design |key )?decision \d+:|also"
    r"|deliberately|intentionally|on \S+(?: \S+){0,4},|in \S+(?: \S+){0,4},|because of (?:this|that),?"
    rf"|given (?:this|that),?|[\w /-]{{2,40}}:),? )?{_ADJECTIVE}"
)


def said(verbs: str) -> str:
    """Return a regex for verbs in the past whose subject is the speaker, named or implied."""
    return (
        rf"(?:{_START}|(?<!until )(?<!before )(?<!how )(?<!if )(?<!whether )(?<!unless ){_I}"
        rf"|\b(?:i|we)\b.{{2,200}}?(?:,|;| and| so| but| then|\u2014|-)(?: (?:and|so|but"
        rf"|then))?{_ADVERBS} ){verbs}"
    )


LOOKING = (
    r"(?:look|check|read|run|re-?run|verify|test|search|see|view|open|explore|examine|inspect|start"
    r"|begin|find|grep|investigate|understand|confirm|try|trying|continue|reproduce|list|review|think"
    r"|figure|get|ask|wait|install|commit|debug|trace|profile|do|walk|explain|summari[sz]e|know|ping)\b"
)
DECIDED = (
    rf"(?:(?:decided|chose|opted|elected) (?:not )?to (?!{LOOKING}|stop|skip|leave it at)\w+"
    rf"|decided (?:on|against|in favou?r|that|for)|chose (?!not to|to )"
    r"|chosen|opted (?:for|against)|settled (?:on|for)|went (?:with|for|back to)|gone with"
    r"|ended up \w+ing|ended up with|stuck (?:with|to)|standardi[sz]ed on|made the (?:decision|call"
    r"|choice) to|preferred (?!\w+ settings)|favou?red|took the (?:decision|approach) (?:to|of))"
)
STAYS = (
    r"\b(?:stays?|remains?) (?:off|out|disabled|enabled|as (?:it|they) (?:is|are|was|were)|unchanged"
    r"|untouched|private|optional|in place)\b(?=.{0,60}(?:,|:|;|\u2014|\u2013|because|since))"
)
DROPPED = (
    r"(?:kept|left|avoided|skipped|dropped|did(?: not|n't) (?:add|use|change|touch|make|introduce)"
    r"|had to (?:drop|give up|abandon|remove|revert)|traded)"
)
ACTED = (
    r"(?!(?:let (?:me|us)|looked|checked|read|ran|re-?ran|verified|tested|searched|confirmed|noticed|saw"
    r"|found|explored|reviewed|examined|started|opened|listed|investigated|asked|waited|needed|wanted"
    r"|expected|assumed|thought|considered|believed|tried|attempted|stopped|paused|failed|discovered"
    r"|realized|realised|learned|learnt|hoped|planned|inspected|grepped|debugged|measured|profiled"
    r"|reproduced|traced|couldn't|skimmed|scanned|installed|executed|retried|finished|completed"
    r"|continued|identified|understood|noted|encountered|observed|suggested|recommended|proposed"
    r"|mentioned|formatted|linted|committed|pushed|based|called|named|used to|given|caused|followed"
    r"|related|compared|required|kept (?:getting|running|failing|seeing|an|going|trying|hitting|looking"
    r"|working|digging)|cleared|killed|restarted|stopped|started|made sure|made progress|took a (?:look"
    r"|note|while)|took (?:notes|some|the time)|left (?:off|over)|went (?:through|over|ahead|on)"
    r"|brought up|succeeded|managed|worked|hit|got|reached|received|reported|summari[sz]ed|documented"
    r"|described|explained|answered|replied|reviewed|walked|counted|collected|gathered|prepared"
    r"|skipped (?:\w+ ){0,3}tests?|did(?: not|n't) (?:run|test|check|verify|look|have|get|find|see|need"
    r"|try|finish|manage|commit|push))\b)(?:(?:re-|un-|auto-|hard-)?[a-z]{2,}ed|kept|left|made|put|built"
    r"|wrote|rewrote|set"
    r"|reset|split|cut|held|took|gave|threw|hid|drew|chose|let|went|hard-?coded|overrode|brought|pinned"
    r"|did(?: not|n't) \w+)\b(?! by\b)"
)
ABOUT_TO = (
    r"(?:\bi'll|\bi will|\bwe'll|\bwe will|\blet's|\blet me|\b(?:i'm|i am|we're|we are)(?: going to)?"
    r"|^going to)(?: (?:just|instead|therefore|simply|now|also|then|rather|deliberately|stick|go)){0,2} "
)
TAKING = (  # one of several ways, by the verb alone
    r"(?:us(?:e|ing)|go(?:ing)? with|keep(?:ing)?|stick(?:ing)? (?:with|to)|switch(?:ing)?(?: over"
    r"| back)? to|replac(?:e|ing)|stor(?:e|ing)|mov(?:e|ing)|put(?:ting)?|avoid(?:ing)?|opt(?:ing)? for"
    r"|choos(?:e|ing)|pick(?:ing)?|drop(?:ping)?|pin(?:ning)?|leav(?:e|ing)|fall(?:ing)? back to"
    r"|wrap(?:ping)?|adopt(?:ing)?|prefer(?:ring)?|with)"
)
REJECTED = (
    r"(?:abandoned|gave up on|scrapped|discarded|rejected|ruled out|backed out(?: of)?|dropped the \w+"
    r"|dismissed)"
)
ATTEMPTED = (
    r"(?:tried(?! (?:to )?(?:run|re-?run|reproduc|look|find|search|read|debug|check|trac|understand|figur"
    r"|start|open|install)\w*)|attempted|started with|began with)"
)
WEIGHED = r"(?:considered|weighed|thought about|toyed with|looked into)"
UNDID = r"(?:reverted|rolled back|backed out|undid|restored)"
TAKING_ING = TAKING.replace("|with)", ")")
MUSING = (
    r"(?:think|believe|suspect|guess|assume|hope|wonder|need|want|have|had|am|are|was|were|would|could"
    r"|should|might|may|can|cannot|will|shall|must|ought|recommend|suggest|propose|understand|know|see"
    r"|saw|don't|do|did|didn't|noticed|found|'d|like|prefer|expect|plan|intend)\b"
)
FAULT = (
    r"(?:bug|failures?|flak(?:e|iness|y test)|crash(?:es)?|leak|deadlock|problem|issue|error|regression"
    r"|hang|slowdown|race|corruption|mismatch|outage|time-?outs?|duplicates?|drift|slowness|breakage"
    r"|exception|delay|test failures?|stall|\w+ (?:bug|failures?|crash(?:es)?|leak|deadlock|error|race))"
)
IS = r"(?:was|is|were|are|turned out to be|turns out to be|lies in|lay in|came down to|comes down to)"
NOT = (
    r"(?!(?: \w+ly)? (?:not|n't|still|un(?:clear|known)|probably|likely|maybe|perhaps|what|whether|fixed"
    r"|gone|resolved|now)\b)"
)

CHOSE = (
    rf"{said(DECIDED)}|{said(DROPPED)}\b.{{3,100}}?(?:: | \u2014 )(?=(?:the|it|that|there|they|its|an?|no"
    rf"|\w+ \w+) )|\b(?:won|wins) (?:out )?over\b|\bmy (?:choice|pick|decision) was\b|{STAYS}|\b(?:i'm|we're"
    r"|i am|we are) (?:going|sticking) with\b|^(?:so )?(?:going with|opting for|choosing|picking(?! up)"
    r"|sticking with|taking (?!a (?:look|step|closer)|notes|care|the (?:tests|time)))\b|^(?:chose|picked"
    r"|selected|preferred)\b(?:(?! (?:is|are|was|were) ).){2,120}\b(?:over|instead of|rather than)\b|\b(?:i"
    r"|we)(?:'ve| have)? (?:picked|selected)\b.{2,120}\b(?:over|instead of|rather than)\b"
)
"""A choice by the speaker; enough by itself."""
DID = (
    rf"{said(ACTED)}|\b(?:i'm|we're|i am|we are) (?:now |deliberately |intentionally )?(?:keeping|leaving"
    r"|using|treating|storing|returning|sticking|going|holding|making)\b|^(?:the |my |our )?(?:fix|solution"
    r"|approach|workaround|remedy)(?: (?:was|is)|:)"
)
"""An action of the speaker; a decision only with a reason or a rejected alternative."""
MISTAKEN = (
    r"\b(?:thought|looked like|at first|that was wrong|that wasn't|wasn't it|red herring|assumed"
    r"|turned out (?:to be )?(?:wrong|not)|first guess|theory|not the (?:cause|culprit|problem))\b"
)
"""A cause that was guessed wrongly."""
INSTEAD = r"^instead,? (?!of\b)"
REMOVED = (
    r"\b(?:(?:i|we) (?:removed|reverted|undid)|(?:taken|taking|took|backed|backing|ripped"
    r"|pulled)\b.{0,80}\bout\b|rolled\b.{0,60}\bback\b|reverted|reverting|rolled back|undone)\b"
)
"""An attempt that was removed again."""
TRIVIAL = (
    r"^(?:also |then |i |we |i also )*(?:added|created|introduced|implemented|wrote)\b(?!.*\b(?:because|since"
    r"|due to|otherwise|as|given|avoid|prevent)\b)|^(?:also |then |i |we |i also )*(?:renamed\b"
    r"|clean(?:ed)? up\b|(?:fixed|updated|added|wrote|adjusted|changed|regenerated|installed|bumped|ran"
    r"|extended|corrected|formatted|sorted|deleted|removed|cleaned)(?: \w+){0,3} (?:typos?|snapshots?|lint"
    r"|formatting|imports?|changelog|readme|docs?|documentation|tests?|test cases?|fixtures?|versions?"
    r"|comments?|docstrings?|packages?|dependenc(?:y|ies)|lock ?file|translations?|headers?|whitespace"
    r"|prints?|log lines?|logging|debug\w*)\b)"
)
"""Too trivial for a decision even with a reason: a typo, a changelog."""
DESCRIBES = (
    r"^(?!(?:i|we|my|our|your|note|remember|keep in mind|be aware|see|this means)\b)(?!.{0,40}\b(?:currently"
    r"|existing|already|today|by default|historically|used to|previously|was|were|had|old|legacy|would|could"
    r"|might|returned|we need|i need)\b)(?:for [^,]{3,60}, )?[\w`'./:(){}*&-]+(?: [\w`'./:(){}*&-]+){0,14}?"
    r" (?:is|are|lives?|stays?|goes|go|runs?|uses?|returns?|stores?|keeps?|reads?|writes?|happens?|takes?"
    r"|gets?|falls?|sits|works?|does|do|doesn't|isn't|aren't|has|have|\w{3,}s)\b"
)
"""A state; after edits of source files, the result of the speaker's work."""
ANNOUNCED = (
    rf"{ABOUT_TO}(?:{TAKING}|(?!{LOOKING})\w+(?=.*\b(?:instead|rather than)\b))|^(?:ok(?:ay)?,? |so,? "
    rf"|instead,? )?{TAKING_ING}\b(?:(?<=ing)|(?<=ing to)|(?<=ing for)|(?<=ing with))"
)
"""An announcement; a decision with a reason or a contrast, if files change afterwards."""
CAUSE = (
    r"^(?:and |so |this is )?the (?:root |real |actual )?cause(?: here)? ?[:\u2014-]|^(?:the|this|that"
    r"|so the) [^.;,]{2,80}? (?:is|are|gets?|was|were|got) (?:lost|dropped|wrong|empty|missing|stale|skipped"
    r"|duplicated|truncated|blocked|stuck|ignored|swallowed|overwritten|corrupted|leaked|evicted"
    rf"|never \w+) because\b(?! (?:i|we)\b)|^(?:the|this|that) {FAULT} is (?:an?|just|simply"
    r"|plain(?:ly)?) \w+[^.;:]{0,80}[:;\u2014\u2013] (?!let|i |i'|we |now)"
    r"|^(?:so )?(?:that's it)[:!.,\u2014\u2013] ?(?=\S+ \S+ \S)|\b(?:root|actual|real|underlying|true|main"
    rf"|ultimate) (?:cause|culprit)\b[^.;]{{0,100}}? {IS}\b{NOT}|\b(?:root|actual|real|underlying"
    rf"|true) (?:problem|issue|bug|reason)\b[^.;]{{0,100}}? (?:was|turned out to be)\b{NOT}"
    rf"|\bculprit {IS}\b{NOT}|\b{FAULT}\b[^.;]{{0,60}}? (?:was|were|is|are) (?:\w+ly )?caused by\b|\b(?:the"
    rf"|this|that) {FAULT} (?:[^.;,]{{1,60}} )?(?:happens because|occurs because|came from|comes from"
    r"|stemmed from|stems from|(?:was|is) due to|was because|is because|boiled down to|originated in"
    r"|arose because)|\b(?:the|this) (?:bug|problem|issue|fault|flake|flakiness|error|leak|hang"
    r"|crash) was (?:simply |just |actually )?(?:that|in|an?|the|how|where)\b|^what (?:broke|caused"
    r"|triggered) [^.;]{2,80}? (?:was|is)\b|^what (?:was )?(?:actually |really )?(?:happening|happened"
    r"|going on|going wrong|went wrong)(?: was|:)|\b(?:that|this|which)(?: is|'s| was) (?:also |exactly "
    r"|precisely )?(?:the (?:root |real |actual )?cause|why(?! i\b| we\b)) (?:of |it |they |the |that "
    r"|this )?\w+|^the \w+(?: \w+){0,3} (?:comes?|came|stems?|stemmed|results?|resulted|originates?) from\b"
    r"|^(?:found (?:it|the (?:cause|bug|culprit|problem))|there it is|got it"
    r"|gotcha)[:!.,\u2014\u2013-] ?(?=\S+ \S+ \S)|\bturn(?:s|ed) out\b.{3,160}(?:\bnever\b|which is why"
    r"|that's why|\bwrong\b|\bmissing\b|\bstale\b|\btwice\b|\bbecause\b)|\bthe reason (?:for the |why the "
    rf"|the |that the )[^.;]{{2,80}} {IS}\b{NOT}"
)
"""The certain cause of a fault."""
GAVE_UP = (
    r"\b(?:isn't|wasn't|not|aren't|weren't|hardly) (?:really )?worth (?:it|the|keeping|having"
    r"|an?)\b(?! (?:look|try|shot|note))|\b(?:is|are|was|were) (?:out(?! of)|ruled out|off the table"
    r"|no option|not an option|a dead end|no good)\b(?=.{0,20}(?:[:;,\u2014\u2013]|because|since|as\b))"
    r"|\b(?:was|were|has been|have been|got|is|are) (?:taken|backed|ripped|thrown|pulled) (?:back )?out\b"
    r"|^.{5,140}? (?:(?:didn't|did not|doesn't|does not) (?:really |actually )?(?:help|work|suffice|fix"
    r"|solve)|only (?:moved|hid|hides|masked|masks|shifted|shifts|delayed))\b.{0,80}?\b(?:so|and) (?:i|we|it"
    rf"|that)\b|{said(REJECTED)}\b|{said(WEIGHED)}\b.{{2,200}}?\bbut\b"
    rf"|{said(ATTEMPTED)}\b.{{2,300}}?(?:\bbut\b|\bhowever\b|\bfailed\b|\bbroke\b|didn't work|did not work"
    r"|\bturned out\b)(?!.{0,60}(?:n't installed|not installed|doesn't exist|not found|no luck|nothing))"
    r"|\b(?:first|initial|earlier|original|second|previous) (?:attempt|approach|try|version|idea"
    r"|fix)\b.{0,160}?(?:failed|didn't|did not|broke|deadlocked|too slow|was wrong|caused|hung|turned out"
    r"|ran into|couldn't)|\b(?:wasn't|was not|isn't|weren't) (?:\w+ )?(?:enough|sufficient|viable|an option"
    r"|possible)\b.{0,40}\bso (?:i|we)\b|^[^.;]{3,120} (?:didn't|did not|doesn't) work(?: out)?(?:,|:| \u2014"
    r"| -)? (?:because|since|as|due|so (?:i|we)\b)"
)
"""Something was tried, rejected or found not to work."""
UNDONE = (
    rf"{said(UNDID)}\b|\b(?:was|were|has been|have been) (?:reverted|undone|rolled back)\b|^reverted:|\b(?:i"
    r"|we) (?:removed|took|dropped) (?:it|that|them)(?: out)?(?: again)?\b"
)
"""Something done was undone."""
CONTRAST = (
    r"\bno longer (?!fails?|crash|hang|times?|break|leak|flak|need|show|appear|slow)\w+|\b(?:instead of"
    r"|rather than|in place of|as opposed to|in favou?r of)\b|\b(?:chose|chosen|picked|preferred|selected"
    r"|went with|favou?red)\b.{2,120}? over\b|, never (?:a |an |the |in |on |by |as |via |with )?\w"
    r"|, not (?:a |an |the |in |on |by |as |via |with )?\w|\binstead[.,;]?$|\b(?P<how>by|in|on|from|with|per"
    r"|as|to|at|for|through) [^,;.]{2,50}? and not (?P=how) |\breplaces (?:the|its|all|every|each|\d+)\b"
    r"|\breplac(?:ed|ing) (?:.{2,120} with|by)\b|\b(?:switched|migrated|moved) from .{2,80} to\b"
)
"""A rejected alternative: `instead of`, `rather than`."""
REASON = (
    r"(?:;|:| \u2014| \u2013) (?=[^.;]{3,120}\bwould(?:n't)?\b)|[,;\u2014-]? *\b(?:because|since(?! (?:then"
    r"|\w+day|v?\d|last|yesterday|the (?:last|start|beginning|upgrade|release)))|, as(?= (?:they|it|there|we"
    r"|these|those) \w)|due to|given that|otherwise|or else|as otherwise|as that would|as it would"
    r"|as(?= (?!\S+ \S+ (?:and|or) )(?:the|it|this|that|they|there|we|a|an|\w+) \S+(?: (?!and "
    r"|or )\S+)? (?:is|are|was|were|would|has|have|can|cannot|can't|does|doesn't|don't|only)\b)"
    r"|(?:the )?(?:reason|rationale|why):)"
)
"""The words before a reason; the decision precedes them."""
LEADING_REASON = (
    r"^(?:(?:because|since|as|given that) (?P<reason>.{5,300}?), (?P<decision>(?:so )?(?:i|we|the|it"
    r"|this)\b.{5,})|(?P<cause>(?=.*\b(?:can't|cannot|couldn't|doesn't|don't|didn't|no|not|only|too|would"
    r"|fails?|failed|breaks?|broke|never|wasn't|isn't|aren't|without|but|requires?|needs?"
    r"|pins?)\b).{12,250}?),? so (?P<done>(?:i|we)\b.{5,}))$"
)
"""A sentence that begins with its reason: groups `reason` and `decision`, or `cause` and `done`."""
PURPOSE = (
    r"(?:[;,\u2014\u2013]) (?:that|this|which) (?:keeps?|avoids?|lets?|spares?|saves?|leaves?|preserves?)\b"
    r"|[,;]? *\b(?:to avoid|to prevent|so that|to keep|to stay|for (?:backwards?|safety|consistency|symmetry"
    r"|compatibility|performance|clarity|simplicity)|so (?:it|they|that|this|there|the|we|a|an|no|old|new"
    r"|\w+s) (?!i\b))\b"
)
"""A purpose; weaker than a reason."""
MEANT = r"\b(?:deliberate(?:ly)?|on purpose|consciously|by design)\b"
"""Done on purpose: `deliberately`."""
UNSURE = (
    r"\b(?:probably|likely|maybe|perhaps|possibly|presumably|i think|i suspect|i guess|i believe|we think"
    r"|we suspect|seems?|seemed|appears?|apparently|might|unclear|not sure|hypothes[ie]s|in theory"
    r"|hypothetical(?:ly)?|suspected|my guess|may (?:be|have)|could (?:be|have)|would have|would be to"
    r"|not (?:yet )?(?:confirmed|certain)|potential(?:ly)?|candidates?|suggest(?:s|ed)?|hints?|points? (?:to"
    r"|at)|indicates?|(?:couldn't|could not|can't) (?:confirm|verify|reproduce|prove|tell|be sure))\b"
)
SUPPOSED = r"\b(?:if|whether|unless|assuming|suppos(?:e|ing)|in case|were (?:we|i|it) to|had (?:we|i) )\b"
"""The words before a condition: `if we`, `whether`."""
TOLD_BY_OTHERS = (
    r"\b(?:docs?|documentation|readme|comments?|docstring|changelog|issue|ticket|maintainers?|upstream"
    r"|authors?|spec|rfc|manual|adr|commit message|article|blog|answer|report|log|guide|wiki|page|history"
    r"|blame|they|team|people|developers?|vendor|library|original \w+)\b[^.;]{0,60}?\b(?:says?|said|states?"
    r"|stated|explains?|explained|notes?|noted|mentions?|mentioned|recommends?|recommended|claims?|describes?"
    r"|described|decided|chose|reads?|shows?|documents?|picked|went|opted|rejected|suggests?)\b"
    r"|\baccording to\b|\bquot(?:e|es|ing|ed)\b|\b(?:was|were) (?:chosen|decided|picked|selected) by\b"
    r"|^(?:e\.g\.|for example|example)|\b(?:previously|historically|last (?:year|month|week|sprint)"
    r"|years? ago|back in|in 20\d\d|at the time)\b"
)
"""The words before a statement or decision of somebody else."""
ADVICE = (
    r"\byou(?:'d| would)? (?:could|can|may|might|should|need|prefer|want|like)\b|\byou'll (?:want|need)\b"
    r"|\bif you(?:'d|'re|r)?\b|\blet me know\b|\b(?:i|we)(?:'d| would) (?:suggest|recommend|propose|advise"
    r"|go with|use|prefer|lean|choose|pick|rather)\b|\b(?:i|we) (?:suggest|recommend|propose|advise)\b"
    r"|^(?:consider|recommend|suggestion|optionally|alternatively|please)\b|\bfeel free\b|\bwant me to\b"
    r"|\bwould you\b|\bdo you\b|\bshall (?:i|we)\b|\bshould (?:i|we)\b|\bhappy to\b|\byour call\b"
    r"|\bup to you\b|\bworth (?:considering|adding|a follow)\b|\b(?:one|another|an?) (?:option|alternative"
    r"|possibility) (?:is|would|could)\b|\b(?:we|i) (?:could|should|might|may|can) \b(?!not)|\bit (?:might"
    r"|may|could|would) be\b|\bsuggested (?:fix|change)\b|\bmy (?:recommendation|suggestion|advice)\b"
    r"|\bas (?:you )?(?:asked|requested|instructed|specified|told)\b|\b(?:per|at) your\b|\byou asked\b"
)
"""Advice to the reader, or a question."""
ROUTINE = (
    r"^(?:ok(?:ay)?|good|great|now|next|first|alright|right|perfect|then)?[,.! ]*(?:now |next "
    r"|first )?(?:i'll|i will|let me|let's|i'm going to|i am going to|i need to|i want to|time to|we need to"
    r"|we'll)(?: (?:now|first|also|then|just|quickly|start by|begin by|have a|take a))* (?:look|check|read"
    r"|run|re-?run|verify|test|search|see|view|open|explore|examine|inspect|start|begin|find|grep|investigate"
    r"|understand|confirm|try|continue|reproduce|list|review|think|figure|get|ask|wait|install|commit|debug"
    r"|trace|profile|looking|reading|running|checking|do|create a (?:todo|plan)|update the todo)\b"
    r"|^(?:running|looking|checking|reading|testing|verifying|searching|exploring|inspecting|re-?running"
    r"|starting|opening)\b|\b(?:used|using|use|running|ran) (?:grep|rg|ripgrep|sed|find|cat|awk|git \w+|head"
    r"|tail|ls|glob|curl|the (?:grep|search|read|edit|write|bash) tool) (?:instead of|rather than|because"
    r"|since|to)\b"
)
"""Routine of the work: running tests, reading files."""
TO_DO = (
    r"\b(?:not yet|still (?:need|have|needs|open|to)|to be (?:decided|done|determined)|tbd|todo|(?:is|are"
    r"|still|remains?) pending|haven't (?:decided|chosen)|undecided|deferred|need(?:s)? to (?:decide|choose"
    r"|be)|will (?:need|have) to|(?:next|follow-?up) (?:step|pr|change|release|sprint|iteration)|in (?:a"
    r"|the) future|later we|planned?|plan(?:s|ning)? to|intend(?:s|ed)? to|would need|no decision"
    r"|decide whether|eventually we)\b"
)
"""Lies ahead or was left undone."""
BARE = (
    r"^(?:it(?! turn(?:s|ed) out|'s an? (?:standing|team|project))|this|that|they|these|those|both|he|she"
    r"|such|same|the (?:former|latter|same|first|second|other)(?= (?:was|is|one|would)))\b"
)
"""Begins with a word that refers back: `It`, `This`."""
BARE_OBJECT = (
    r"\b\w+ (?:it|them|these|those|(?:this|that|it)(?: one| approach| idea)(?=[.,;:]|$)|(?:this"
    r"|that)(?=[.,;:]|$))(?=[\s.,;:]|$)|\b(?:settled|decided|agreed(?: on| to)?|discussed|chose|picked|took"
    r"|preferred|(?:went|going|sticking) with|sett?led on|ruled|did) (?:that|this)(?= (?:to|over|with|in|at"
    r"|last|back|long|years?|months?|weeks?|together|before|already|once|on|rather|instead|because|since"
    r"|as)\b)"
)
"""An action on something mentioned before: `decided against it`."""
THEREFORE = (
    r"^(?:instead(?=,? (?:i|we) )|that's why|that is why|this is why|which is why|hence|therefore"
    r"|so),? (?=\w)"
)
"""Begins with a word that makes the previous sentence the reason: `That's why`."""
GOES_ON = (
    r"^(?:this|that|it|the reason|otherwise|because|reason:|why:|rationale:|since|doing so|anything else"
    r"|which)\b"
)
"""A sentence that gives the reason for the previous one."""
USER_DECIDED = (
    r"\bas (?:we )?(?:agreed|decided)\b|\b(?:that|this|it)(?:'s| is| was"
    r"| has been)? (?:been )?(?:already )?(?:decided|settled|agreed)\b|\bnot up for (?:discussion|debate)\b"
    r"|\b(?:house|project|team|standing) (?:rule|policy|decision)\b|^policy(?: here)?:|\b(?:we|the team"
    r"|our team)(?:'ve| have)? (?:already |all |long ago |now |explicitly |never )*(?:decided|agreed|chose"
    r"|settled|standardi[sz]ed|opted|committed|ruled)\b(?:(?: \w+){0,4}? (?:on|to|not|never|that|against|for"
    r"|in|out)\b| \w+ over)|\bpolicy(?=[.,;]|$)|\bwe (?:never|always|don't|do not|only|deliberately) (?!know"
    r"|need|want|have|see|understand|think|get|remember|care|seem|like|mind)\w+ [^.;?]{2,120}?\b(?:here"
    r"|anywhere|on purpose|in (?:this|our|the) (?:repo\w*|code ?base|project|team|company|org\w*))\b"
    r"|\b(?:as you (?:may )?know|remember|keep in mind|mind|note|reminder|for context|fyi"
    r"|background),?:? (?:that )?we (?:never|always|don't|do not|only|no longer)\b|\b(?:no exceptions"
    r"|that's how we (?:do|want|like|keep) (?:it|things|them))\b|\b(?:it's|it is|this is) a (?:standing|team"
    r"|project) decision\b"
)
"""A standing decision as a user states it."""
FOUND = (
    r"^(?:(?:ok(?:ay)?|so|and|now|yes|aha?|great|right|good|bingo|confirmed"
    r"|perfect)[,.!: \u2014-]+)*(?:(?:(?:i|we)(?:'ve| have)? )?(?:just |now |finally )*(?:found|got|know|see"
    r"|understand|spotted|identified|tracked down) (?:it|(?:now )?(?:why|what(?:'s| is| was)? (?:wrong"
    r"|happening|happens|happened|going on|going wrong))|the (?:\w+ )?(?:cause|culprit|reason|explanation"
    rf"|{FAULT}))(?: now| at last| then| finally)?|there it is|here it is|mystery solved|(?:that|this"
    r"|here)(?:'s| is| was)(?: exactly| also)? (?:it|(?:the|our) (?:\w+ ){0,2}(?:cause|culprit|reason"
    rf"|explanation|{FAULT})(?: then)?)|(?:that|this) (?:also |fully )?explains(?: [\w'-]+){{1,7}})[.!:"
    r" \u2026]*$"
)
"""A sentence that only announces a known cause: `Found it.`, `That's the leak.`"""
FORBIDS = (
    r"^(?!(?:it|this|that|these|those|you|he|she|they|please|and|but|if|make sure"
    r"|i)\b)[^.;?,]{3,100}?\b(?:must|may|shall) (?:not|never)\b [^.;?]{3,160}?(?:, (?:as|because|since|for"
    r"|we have|our|some|they)\b)"
)
"""A user's prohibition with its reason; a standing decision anywhere in a message."""
_LOOKING_ING = (
    r"(?:look|check|read|runn|re-?runn|verify|test|search|see|view|open|explor|examin|inspect|start|begin"
    r"|find|grep|investigat|try|continu|reproduc|list|review|think|wait|install|committ|debug|trac|profil"
    r"|measur|wonder|assum|hop|plann|go|gett|mov(?:e|ing) on|benchmark|fetch|collect|fix)ing\b"
)
_FINITE = (
    r"[^,;:.]{0,60}? (?:would|is|was|are|were|takes?|took|didn't|doesn't|don't|helps?|helped|works?|worked"
    r"|brought|gave|needs?|makes?|made|means?|meant|costs?|leaves?|fails?|failed|only|showed|shows|has|had"
    r"|gained|saved|changed|broke|breaks)\b"
)
_SPEAKER_HAS = (
    r"\b(?:i|we)(?:'m|'ve|'re|'ll| am| are| have| will)?(?: (?:now|then|also|therefore|just|going to))? "
)
_GIVES_UP = (
    r"(?:abandon(?:ed|ing)?\b|(?:giv(?:e|ing)|gave) up\b|(?:discard|scrap|ditch)(?:p?ed|p?ing)?\b|(?:revert"
    r"|undo|undid)(?:ed|ing)?\b|dropp(?:ed|ing) (?:it|that|this|them|the (?:idea|approach|attempt"
    r"|experiment))\b|drop(?:ped|ping)? .{2,60}? again\b|roll(?:ed|ing)? .{0,80}?\bback\b|back(?:ed"
    r"|ing)? .{0,60}?\bout\b|(?:took|tak(?:e|ing)|pull(?:ed|ing)?|ripp(?:ed"
    r"|ing)) .{1,80}? (?:back )?out\b(?! of)|(?:remov|delet)(?:ed|ing) .{2,60}? again\b|(?:put|putting|went"
    r"|going|chang(?:ed|ing)|set|setting|switch(?:ed|ing)|mov(?:ed|ing)) .{0,60}?\bback to\b"
    r"|throw(?:ing)? .{1,40}? (?:away|out)\b|threw .{1,40}? (?:away|out)\b)"
)
LIMITS = (
    r"\b(?:at (?:most|least)|no (?:more|fewer|longer|earlier|later) than|not more than|up to|stays? (?:below"
    r"|under|above|within)|capped at|(?:limited|bounded|restricted) to|(?:below|above|under|over"
    r"|beyond) an? \w+ of) (?:an? |one |two |three |four |five |ten )?[\w`.]*|\b(?:goes|went|is|was|are|were"
    r"|lowered|raised|reduced|increased|changed|cut|shrunk|shortened|dropped|grew|down"
    r"|up) from [^,;.]{0,20}?\d[^,;]{0,30}? to [^,;]{0,12}?\d"
)
"""Sets a bound or another value: `at most 12`, `went from 32 to 8`."""
BEYOND = (
    r"^(?:(?:beyond|above|below|past|over|under|with|at|after|before) (?:that|this|it|the|an?|\d|\w+ \d))"
)
"""Begins a sentence about the other side of a limit: `Beyond that`."""
REMOVES = (
    r"^(?:(?:\w+: )?(?:i|we)(?:'ve| have)? )?(?:also )?(?:(?:dropped|removed|deleted|disabled|cut|stripped)\b"
    r"|(?:took|taken) .{1,60}? out of\b)"
)
"""A removal; an attempt if it is judged as bad."""
ACTS = (
    rf"{said(ACTED)}|(?<!while )(?<!when )(?<!as )(?<!before )(?<!if )(?<!since )\b(?:i'm|i am|we're"
    rf"|we are)(?: (?:now|deliberately|therefore|also|just|thus))* (?!{_LOOKING_ING}|having|seeing"
    rf"|not\b)\w+ing\b|(?:^|, )(?:for [^,]{{3,60}}, )?(?:i|we)(?: now| also| only| therefore)? (?!{LOOKING}"
    rf"|{MUSING}|try|will|can)\w+\b(?! to be\b)|(?:\b(?:i'll|i will|we'll|we will|let's)"
    rf"|\bgoing to)(?: (?:just|therefore|now|also|then|rather))* (?!{LOOKING}|not\b|be\b|see\b)\w+"
    rf"|^(?:ok(?:ay)?,? |so,? |now |instead,? )?(?!{_LOOKING_ING}|during|nothing|anything|something"
    r"|everything|interesting|missing|remaining|according|including|depending|string|bring"
    rf"|warning)\w{{3,}}ing\b(?!{_FINITE})"
)
"""An action of the speaker on the code, in any tense."""
NOW = (
    r"^(?!(?:the |all |both )?(?:\w+ )?(?:tests?|build|ci|suite|specs?|pipeline|lint\w*|everything|it|this"
    r"|that)\b)(?:now,? (?=the|each|every|all|an?\b|`|\w+s\b)|[\w`./:(){}*& '-]{1,90}? (?:now|no longer"
    r"|from now on)\b)|\b(?:from now on|any ?more)\b"
)
"""A new state, from now on."""
ALTERNATIVE = (
    r"^(?!(?:it|this|that|you|i|we|which|they|there|if)\b)(?![^?]*\b(?:i"
    r"|we)\b)[^?]{3,120}?\bwould(?:n't)? (?!like|prefer|love|you)\w+|^(?:with|under|using|by) (?:the|an?|that"
    r"|this|those) [^;?]{3,110}?\b(?:would|could|might)\b|^(?:this|that|it) (?:also )?(?:leaves|keeps|avoids"
    r"|means|fixes|makes|gives|lets|saves|preserves|guarantees|removes|spares)\b|^(?:that|this) way\b"
    r"|^otherwise\b|^i (?:preferred|thought about|considered|could(?: also)? have)\b"
)
"""Begins a sentence about a rejected way, after the chosen way."""
TRADE = (
    r"\bless \w+\b.{0,60}\bbut\b|\btrade-?off\b|\bacceptable\b|\b(?:simpler|cheaper|safer|sounder|faster"
    r"|smaller|easier|clearer|longer|shorter|larger|worse|better|more [\w ]{2,30}) than\b"
)
"""A cost, or a judgement that something is good enough."""
SYMPTOM = (
    r"\b(?:fail|stall|hang|hung|crash|leak|los(?:t|e|es|ing)\b|miss(?:ing|es|ed)\b|drop(?:s|ped)\b|wrong"
    r"|stale|duplicat|twice|broken|breaks?\b|broke\b|corrupt|timed? ?outs?\b|slow|offline|stuck|fr(?:eez"
    r"|ozen)|flicker|jump|spike|flak[ey]|deadlock|rac(?:e|es|ed|ing)\b|overflow|underflow|never\b"
    r"|too (?:early|late|often|many|much|long)\b|empty\b|blank|null\b|nil\b|undefined|nan\b|garbage|truncat"
    r"|skip(?:s|ped)|ignor|swallow|overwr|wip(?:e|ed)|doubl|error|exception|panic|oom|kill|die[sd]?\b|dead\b"
    r"|reject|refus|den(?:y|ies|ied)|mismatch|drift|off by|diverg|out of (?:sync|order|date|memory)|regress"
    r"|unexpected|invisible|disappear|vanish|garbled|shift(?:s|ed)|grow(?:s|ing)?\b|exhaust|starv|block(?:s"
    r"|ed|ing)?\b|bloat|unreach|unresponsive|expir|invalid|saturat|forg[eo]t|hard-?coded|without (?:lock"
    r"|check|wait|flush|clos|a lock)|folded|suspend|unsubscrib|rotated|blurr|unreadable|laggy|stutter|lag(?:s"
    r"|ged)?\b|burst|evict|clobber|throttl|churn|clash|collid|collision|conflict|reset(?:s|ting)?\b|reopen"
    r"|rerun|re-?render|bypass|leftover|orphan|inconsisten|incorrect|mangl|escap(?:es|ed)|unescaped|nowhere"
    r"|nobody|nothing)"
)
"""A fault."""
LINKS = (
    r"\b(?:because|since|as (?:the|it|they|we|a|an|soon)|due to|comes? from|came from|caused by|stems? from"
    r"|results? from|triggered by|thanks to|owing to|traced (?:back )?to|boils? down to|(?:so|while|whereas"
    r"|where|although|though|but|and then|before|after|whenever|when|which|therefore|hence))\b"
    r"|(?<=\w)[`)]?(?::|;| \u2014| \u2013) (?=\S+ \S+ \S+)"
)
"""Links a fault and its cause: `because`, `comes from`, or a colon."""
COMPLAINS = (
    r"\b(?:why|bug|fix|issues?|problems?|investigate|broken|root cause|find out|debug|diagnose|regression"
    r"|wrong|fails?|failing|crash\w*|leak\w*|slow\w*|hangs?|stalls?|lost|loses?|missing|twice|duplicat\w*"
    r"|sort (?:it|this|that) out|figure out|eats?|memory|cpu|hates?|should (?:be|take)|slower|annoying|stuck"
    r"|flak\w+|stale|error\w*|drops?|dies|killed|oom|times? out|timeout\w*|doesn't|don't work|flicker\w*"
    r"|laggy|off by|incorrect\w*|breaks?|broke|freez\w+|stop(?:s|ped) \w+ing|lock(?:s|ed)? up|goes (?:blank"
    r"|dead|missing)|far off|explod\w+|takes? (?:\d|too|ages|forever))\b"
)
"""A user asks why something goes wrong."""
JUDGES = (
    r"\b(?:worse(?! than (?:none|nothing|no))|slower|not worth|isn't (?:a|the) (?:solution|fix|answer|way)"
    r"|dead end|no (?:\w+ )?(?:gain|improvement|difference|better|luck|help|option|use)|hardly|barely"
    r"|(?:isn't|wasn't|aren't|weren't) (?:good |really )?(?:enough|viable|worth|an option|suitable|safe|it)"
    r"|(?:didn't|doesn't|did not|does not|won't|don't|can't|cannot|couldn't) (?:really |actually "
    r"|even )?(?:help|work|solve|fix|suffice|converge|scale|hold|survive|improve|gain|bring|pay|cut|do it"
    r"|cover|fit|handle|cope|go far)|breaks?|broke|blew|blows|defeats?|ruin(?:s|ed)|hurts?|worsen(?:s|ed)"
    r"|backfired|unusable|regress\w*|(?:costs?|cost us) (?:\d|more|too)|deadlock\w*|times? out|timed out"
    r"|falls? over|fell over|side effect|downside|shrank by|not an option)\b"
)
"""A negative judgement of an attempt."""
ABANDONS = (
    rf"(?:^(?:so |then |ok(?:ay)?,? |and )?|{_SPEAKER_HAS})(?!i'll start){_GIVES_UP}|\b(?:was|were|is|are|got"
    r"|has been|have been) (?:abandoned|discarded|reverted|rolled back|given up|backed out|scrapped|taken out"
    r"|ruled out|rejected|removed again)|[,;] (?:so |and )?(?:dropped|reverted|abandoned|discarded|removed"
    r"|undone)(?: it| again)?(?=[.,;]|$)|\b(?:goes|go|comes|came|went) (?:back "
    r"|straight )?out(?: again)?(?=[.,;:]|$)"
)
"""An attempt is given up or undone, in any tense."""
CHECKS = (
    r"^(?:the |all |both |one |two |three |this |these |that )?(?:\S+ ){0,2}?(?:tests?|specs?|assert\w*"
    r"|fixtures?|mocks?|snapshots?|builds?|ci|suite|compil\w+|linters?|lint|type ?check\w*|mypy|tsc|eslint"
    r"|formatter|docs?|readme|changelog|typos?|imports?|command|script run|install\w*)\b"
)
"""Tests, builds and tools, whose failures are no news."""
