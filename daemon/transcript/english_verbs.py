"""Owns the English verbs and clauses of which the phrases of decisions are made."""

from __future__ import annotations

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
    """Return a regex for verbs in the past that the speaker is the subject of, named or understood."""
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
CHOSE = (
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
