"""Owns the English phrases of decisions."""

from __future__ import annotations

from .english_verbs import (
    ABOUT_TO,
    ACTED,
    ATTEMPTED,
    CHOSE,
    DROPPED,
    FAULT,
    IS,
    LOOKING,
    MUSING,
    NOT,
    REJECTED,
    STAYS,
    TAKING,
    TAKING_ING,
    UNDID,
    WEIGHED,
    said,
)
from .phrases import Phrases

ENGLISH = Phrases(
    language="english",
    chose=(
        rf"{said(CHOSE)}|{said(DROPPED)}\b.{{3,100}}?(?:: | \u2014 )(?=(?:the|it|that|there|they|its"
        rf"|an?|no|\w+ \w+) )"
        r"|\b(?:won|wins) (?:out )?over\b|\bmy (?:choice|pick|decision) was\b"
        rf"|{STAYS}|\b(?:i'm|we're|i am|we are) (?:going|sticking) with\b|^(?:so )?(?:going with"
        rf"|opting for|choosing|picking(?! up)|sticking with|taking (?!a (?:look|step|closer)|notes|care"
        rf"|the (?:tests|time)))\b"
        r"|\bthe (?:decision|choice) was (?:to|made to)\b|^(?:the )?(?:final )?decision:|^(?:chose"
        r"|picked|selected|preferred)\b(?:(?! (?:is|are|was|were) ).){2,120}\b(?:over|instead of"
        r"|rather than)\b|\b(?:i|we)(?:'ve| have)? (?:picked|selected)\b.{2,120}\b(?:over|instead of"
        r"|rather than)\b"
    ),
    did=(
        rf"{said(ACTED)}|\b(?:i'm|we're|i am|we are) (?:now |deliberately |intentionally )?(?:keeping"
        rf"|leaving|using|treating|storing|returning"
        r"|sticking|going|holding|making)\b|^(?:the |my |our )?(?:fix|solution|approach|workaround"
        r"|remedy)(?: (?:was|is)|:)"
    ),
    mistaken=(
        r"\b(?:thought|looked like|at first|that was wrong|that wasn't|wasn't it|red herring|assumed"
        r"|turned out (?:to be )?(?:wrong|not)|first guess|theory|not the (?:cause|culprit|problem))\b"
    ),
    speaker=r"\b(?:i|we|i'm|we're|i've|we've|i'll|we'll|let's)\b",
    instead=r"^instead,? (?!of\b)",
    removed=(
        r"\b(?:(?:i|we) (?:removed|reverted|undid)|(?:taken|taking|took|backed|backing|ripped"
        r"|pulled)\b.{0,80}\bout\b|rolled\b.{0,60}\bback\b|reverted|reverting|rolled back|undone)\b"
    ),
    contrast_may_lead=False,
    trivial=(
        r"^(?:also |then |i |we |i also )*(?:added|created|introduced|implemented|wrote)\b"
        r"(?!.*\b(?:because|since|due to|otherwise|as|given|avoid|prevent)\b)|"
        r"^(?:also |then |i |we |i also )*(?:renamed\b|clean(?:ed)? up\b|(?:fixed|updated|added|wrote"
        r"|adjusted|changed|regenerated|installed|bumped|ran|extended|corrected|formatted|sorted|deleted"
        r"|removed|cleaned)(?: \w+){0,3} (?:typos?|snapshots?|lint|formatting|imports?|changelog|readme"
        r"|docs?|documentation|tests?|test cases?|fixtures?|versions?|comments?|docstrings?|packages?"
        r"|dependenc(?:y|ies)|lock ?file|translations?|headers?|whitespace|prints?|log lines?|logging"
        r"|debug\w*)\b)"
    ),
    describes=(
        r"^(?!(?:i|we|my|our|your|note|remember|keep in mind|be aware|see"
        r"|this means)\b)(?!.{0,40}\b(?:currently|existing|already|today|by default|historically|used to"
        r"|previously|was|were|had|old|legacy|would|could|might|returned|we need"
        r"|i need)\b)(?:for [^,]{3,60}, )?[\w`'./:(){}*&-]+(?: [\w`'./:(){}*&-]+){0,14}? (?:is|are"
        r"|lives?|stays?|goes|go|runs?|uses?|returns?|stores?|keeps?|reads?|writes?|happens?|takes?"
        r"|gets?|falls?|sits|works?|does|do|doesn't|isn't|aren't|has|have|\w{3,}s)\b"
    ),
    changed=(
        r"(?!(?:the |all |both )?(?:\w+ )?(?:tests?|build|ci|suite|specs?|pipeline|lint\w*|error|crash"
        r"|warning|flake|bug|everything|it|i can|i'll|i'm|i am|let me|we can)\b)(?:^(?:the |each |every "
        r"|all |both |a |an |new )?[\w`./:() -]{1,80}?\b(?:now|no longer)\b|^(?:the |each |every "
        r"|all )?[\w`./:() -]{1,80}? (?:was|were|has been|have been) (?:\w+ly )?(?:chosen|picked"
        r"|selected|moved|kept|replaced|dropped|removed|switched|left|made|stored|implemented|rewritten"
        r"|extracted|changed|split|merged|added|converted)\b)"
    ),
    does=rf"^(?:for [^,]{{3,60}}, )?(?:i|we)(?: now| also| only)? (?!{LOOKING}|{MUSING})\w+\b(?! to be\b)",
    announced=(
        rf"{ABOUT_TO}(?:{TAKING}|(?!{LOOKING})\w+(?=.*\b(?:instead|rather than)\b))|^(?:ok(?:ay)?,? "
        rf"|so,? |instead,? )?{TAKING_ING}\b(?:(?<=ing)|(?<=ing to)|(?<=ing for)|(?<=ing with))"
    ),
    cause=(
        r"^(?:and |so |this is )?the (?:root |real |actual )?cause(?: here)? ?[:\u2014-]|"
        r"^(?:the|this|that|so the) [^.;,]{2,80}? (?:is|are|gets?|was|were|got) (?:lost|dropped|wrong"
        r"|empty|missing|stale|skipped|duplicated|truncated|blocked|stuck|ignored|swallowed|overwritten"
        r"|corrupted|leaked|evicted|never \w+) because\b(?! (?:i|we)\b)|"
        rf"^(?:the|this|that) {FAULT} is (?:an?|just|simply"
        rf"|plain(?:ly)?) \w+[^.;:]{{0,80}}[:;\u2014\u2013] (?!let|i |i'|we |now)"
        r"|^(?:so )?(?:that's it|that explains it|that's the (?:bug|cause|culprit|problem)"
        r"|here's the (?:bug|cause|culprit|problem))[:!.,\u2014\u2013] ?(?=\S+ \S+ \S)|"
        rf"\b(?:root|actual|real|underlying|true|main|ultimate) (?:cause"
        rf"|culprit)\b[^.;]{{0,100}}? {IS}\b{NOT}"
        rf"|\b(?:root|actual|real|underlying|true) (?:problem|issue|bug|reason)\b[^.;]{{0,100}}? (?:was"
        rf"|turned out"
        rf" to be)\b{NOT}|^(?:confirmed )?root cause ?(?:[:\u2014-]|found:"
        rf"|identified:)|\bthe cause(?: of [^.;]{{2,80}})? {IS}\b{NOT}|\bculprit {IS}\b{NOT}"
        rf"|\b{FAULT}\b[^.;]{{0,60}}? (?:was|were|is|are) (?:\w+ly )?caused by\b|\b(?:the|this"
        rf"|that) {FAULT} (?:[^.;,]{{1,60}} )?(?:happened because|happens because|occurred because"
        r"|occurs because|came from|comes from|stemmed from|stems from|(?:was|is) due to|was because"
        r"|is because|boiled down to|originated in|arose because|turned out to be)"
        r"|(?<!build )(?<!assert )(?<!assertion )(?<!command )(?<!run )(?<!it )(?<!that )(?<!this "
        r")(?<!attempt )(?<!install )\bfailed because\b(?! (?:i|we|of my)\b)|\b(?:the|this) (?:bug"
        r"|problem|issue|fault|flake|flakiness|error|leak|hang|crash) was (?:simply |just "
        r"|actually )?(?:that|in|an?|the|how|where)\b|^what (?:broke|caused"
        r"|triggered) [^.;]{2,80}? (?:was|is)\b|^what (?:was )?(?:actually |really )?(?:happening"
        r"|happened|going on|going wrong|went wrong)(?: was|:)|\b(?:that|this|which)(?: is|'s"
        r"| was) (?:also |exactly |precisely )?(?:the (?:root |real |actual )?cause|what (?:causes"
        r"|caused|breaks|broke)|why(?! i\b| we\b)) (?:of |it |they |the |that |this )?\w+"
        r"|^the \w+(?: \w+){0,3} (?:comes?|came|stems?|stemmed|results?|resulted|originates?) from\b"
        r"|^(?:found (?:it|the (?:cause|bug|culprit|problem))|there it is|got it"
        r"|gotcha)[:!.,\u2014\u2013-] ?(?=\S+ \S+ \S)|^(?:this|that|it) (?:happens|happened|occurs|fails"
        r"|failed|breaks|broke|crashes|crashed) because\b|\bturn(?:s|ed) out\b.{3,160}(?:\bnever\b"
        r"|which is why|that's why|\bwrong\b|\bmissing\b|\bstale\b|\btwice\b|\bbecause\b)|\b(?:i"
        r"|we) traced [^.;]{1,80}? (?:back )?to\b"
        rf"|\bthe reason (?:for the |why the |the |that the )[^.;]{{2,80}} {IS}\b{NOT}"
    ),
    gave_up=(
        r"\b(?:isn't|wasn't|not|aren't|weren't|hardly) (?:really )?worth (?:it|the|keeping|having"
        r"|an?)\b(?! (?:look|try|shot|note))|\b(?:is|are|was|were) (?:out(?! of)|ruled out|off the table"
        r"|no option|not an option|a dead end|no good)\b(?=.{0,20}(?:[:;,\u2014\u2013]|because|since"
        r"|as\b))|\b(?:was|were|has been|have been|got|is|are) (?:taken|backed|ripped|thrown"
        r"|pulled) (?:back )?out\b|\b(?:was|were|got) (?:removed|dropped) again\b"
        r"|^.{5,140}? (?:(?:didn't|did not|doesn't|does not) (?:really |actually )?(?:help|work|suffice"
        r"|fix|solve|change anything|make a difference)|made no difference|made (?:it|things) worse"
        r"|only (?:moved|hid|hides|masked|masks|shifted|shifts|delayed))\b.{0,80}?\b(?:so|and) (?:i|we"
        r"|it|that)\b|"
        rf"{said(REJECTED)}\b|{said(WEIGHED)}\b.{{2,200}}?\bbut\b|{said(ATTEMPTED)}\b"
        r".{2,300}?(?:\bbut\b|\bhowever\b|\bwhich (?:\w+ )?(?:failed|broke|hung|deadlocked|turned|made"
        r"|caused|did)|\bfailed\b|\bbroke\b|didn't work|did not work|\bturned out\b"
        r"|[;\u2014-] ?it )(?!.{0,60}(?:n't installed|not installed|doesn't exist|not found|no luck"
        r"|nothing))|\b(?:first|initial|earlier|original|second|previous) (?:attempt|approach|try"
        r"|version|idea|fix)\b.{0,160}?(?:failed|didn't|did not|broke|deadlocked|too slow|was wrong"
        r"|caused|hung|turned out|ran into|couldn't)|\b(?:wasn't|was not|isn't"
        r"|weren't) (?:\w+ )?(?:enough|sufficient|viable|an option|possible)\b.{0,40}\bso (?:i|we)\b"
        r"|\b(?:i|we) (?:couldn't|could not|can't|cannot|wasn't able to|were unable to"
        r"|was unable to) (?:use|keep|reuse|rely on|make|extend|share) .{3,120}?\b(?:because|since|as"
        r"|so)\b|\b(?:was|were) (?:considered|tried) (?:and|but) (?:rejected|discarded|dropped|abandoned"
        r"|failed)|\b(?:was|were) (?:rejected|abandoned|discarded|ruled out|scrapped) (?:because|since"
        r"|as|due)\b|^[^.;]{3,120} (?:didn't|did not|doesn't) work(?: out)?(?:,|:| \u2014"
        r"| -)? (?:because|since|as|due|so (?:i|we)\b)"
    ),
    undone=(
        rf"{said(UNDID)}\b|\b(?:was|were|has been|have been) (?:reverted|undone|rolled back)\b|^reverted:"
        r"|\b(?:i|we) (?:removed|took|dropped) (?:it|that|them)(?: out)?(?: again)?\b"
    ),
    contrast=(
        r"\bno longer (?!fails?|crash|hang|times?|break|leak|flak|need|show|appear|slow)\w+"
        r"|\b(?:instead of|rather than|in place of|as opposed to|in favou?r of|in preference to)\b"
        r"|\b(?:chose|chosen|picked|preferred|selected|went with|favou?red)\b.{2,120}? over\b"
        r"|, never (?:a |an |the |in |on |by |as |via |with )?\w|, not (?:a |an |the |in |on |by |as "
        r"|via |with )?\w|\binstead[.,;]?$|\bwithout (?:adding|introducing|changing|pulling)\b"
        r"|\b(?P<how>by|in|on|from|with|per|as|to|at|for|through) [^,;.]{2,50}? and not (?P=how) "
        r"|\breplaces (?:the|its|all|every|each|\d+)\b"
        r"|\breplac(?:ed|ing) (?:.{2,120} with|by)\b|\b(?:switched|migrated|moved) from .{2,80} to\b"
    ),
    reason=(
        r"(?:;|:| \u2014| \u2013) (?=[^.;]{3,120}\bwould(?:n't)?\b)|[,;\u2014-]? *\b(?:because"
        r"|since(?! (?:then|\w+day|v?\d|last|yesterday|the (?:last|start|beginning|upgrade|release)))"
        r"|, as(?= (?:they|it|there|we|these|those) \w)|due to|given that|on the grounds that"
        r"|the reason being|otherwise|or else|as otherwise"
        r"|as that would|as it would|as(?= (?!\S+ \S+ (?:and|or) )(?:the|it|this|that|they|there|we|a|an"
        r"|\w+) \S+(?: (?!and |or )\S+)? (?:is|are|was|were|would|has|have|can|cannot|can't|does|doesn't"
        r"|don't"
        r"|only)\b)|(?:the )?(?:reason|rationale|why):)"
    ),
    leading_reason=(
        r"^(?:(?:because|since|as|given that) (?P<reason>.{5,300}?), (?P<decision>(?:so )?(?:i|we|the|it"
        r"|this)\b.{5,})|(?P<cause>(?=.*\b(?:can't|cannot|couldn't|doesn't|don't|didn't|no|not|only|too"
        r"|would|fails?|failed|breaks?|broke|never|wasn't|isn't|aren't|without|but|requires?|needs?"
        r"|pins?)\b).{12,250}?),? so (?P<done>(?:i|we)\b.{5,}))$"
    ),
    purpose=(
        r"(?:[;,\u2014\u2013]) (?:that|this|which) (?:keeps?|avoids?|lets?|spares?|saves?|leaves?"
        r"|preserves?)\b"
        r"|[,;]? *\b(?:to avoid|to prevent|so that|in order (?:to|not)|so as (?:to|not)|to keep|to stay"
        r"|for (?:backwards?|safety|consistency|symmetry|compatibility|performance|clarity|simplicity)"
        r"|so (?:it|they|that|this|there|the|we|a|an|no|old|new|\w+s) (?!i\b))\b"
    ),
    meant=r"\b(?:deliberate(?:ly)?|intentional(?:ly)?|on purpose|consciously|by design|explicitly chose)\b",
    unsure=(
        r"\b(?:probably|likely|maybe|perhaps|possibly|presumably|i think|i suspect|i guess|i believe"
        r"|we think|we suspect|seems?|seemed|appears?|apparently|might|unclear|not sure|hypothes[ie]s"
        r"|in theory|hypothetical(?:ly)?|suspected|my guess|may (?:be|have)|could (?:be|have)|would have"
        r"|would be to|not (?:yet )?(?:confirmed|certain)|potential(?:ly)?|candidates?|suggest(?:s|ed)?"
        r"|hints?|points? (?:to|at)|indicates?|(?:couldn't|could not|can't) (?:confirm|verify|reproduce"
        r"|prove|tell|be sure))\b"
    ),
    supposed=r"\b(?:if|whether|unless|assuming|suppos(?:e|ing)|in case|were (?:we|i|it) to|had (?:we|i) )\b",
    told_by_others=(
        r"\b(?:docs?|documentation|readme|comments?|docstring|changelog|issue|ticket|maintainers?"
        r"|upstream|authors?|spec|rfc|manual|adr|commit message|article|blog|answer|report|log|guide"
        r"|wiki|page|history|blame|they|team|people|developers?|vendor|library"
        r"|original \w+)\b[^.;]{0,60}?\b(?:says?|said|states?|stated|explains?|explained|notes?|noted"
        r"|mentions?|mentioned|recommends?|recommended|claims?|describes?|described|decided|chose|reads?"
        r"|shows?|documents?|picked|went|opted|rejected|suggests?)\b|\baccording to\b|\bquot(?:e|es|ing"
        r"|ed)\b|\b(?:was|were) (?:chosen|decided|picked|selected) by\b|^(?:e\.g\.|for example|example)"
        r"|\b(?:previously|historically|last (?:year|month|week|sprint)|years? ago|back in|in 20\d\d"
        r"|at the time)\b"
    ),
    advice=(
        r"\byou(?:'d| would)? (?:could|can|may|might|should|need|prefer|want|like)\b|\byou'll (?:want"
        r"|need)\b|\bif you(?:'d|'re|r)?\b|\blet me know\b|\b(?:i|we)(?:'d| would) (?:suggest|recommend"
        r"|propose|advise|go with|use|prefer|lean|choose|pick|rather)\b|\b(?:i|we) (?:suggest|recommend"
        r"|propose|advise)\b|^(?:consider|recommend|suggestion|optionally|alternatively|please)\b"
        r"|\bfeel free\b|\bwant me to\b|\bwould you\b|\bdo you\b|\bshall (?:i|we)\b|\bshould (?:i|we)\b"
        r"|\bhappy to\b|\byour call\b|\bup to you\b|\bworth (?:considering|adding|a follow)\b|\b(?:one"
        r"|another|an?) (?:option|alternative|possibility) (?:is|would|could)\b|\b(?:we|i) (?:could"
        r"|should|might|may|can) \b(?!not)|\bit (?:might|may|could|would) be\b|\bsuggested (?:fix"
        r"|change)\b|\bmy (?:recommendation|suggestion|advice)\b|\bas (?:you )?(?:asked|requested"
        r"|instructed|specified|told)\b|\b(?:per|at) your\b|\byou asked\b"
    ),
    routine=(
        r"^(?:ok(?:ay)?|good|great|now|next|first|alright|right|perfect|then)?[,.! ]*(?:now |next "
        r"|first )?(?:i'll|i will|let me|let's|i'm going to|i am going to|i need to|i want to|time to"
        r"|we need to|we'll)(?: (?:now|first|also|then|just|quickly|start by|begin by|have a"
        r"|take a))* (?:look|check|read|run|re-?run|verify|test|search|see|view|open|explore|examine"
        r"|inspect|start|begin|find|grep|investigate|understand|confirm|try|continue|reproduce|list"
        r"|review|think|figure|get|ask|wait|install|commit|debug|trace|profile|looking|reading|running"
        r"|checking|do|create a (?:todo|plan)|update the todo)\b|^(?:running|looking|checking|reading"
        r"|testing|verifying|searching|exploring|inspecting|re-?running|starting|opening)\b|\b(?:used"
        r"|using|use|running|ran) (?:grep|rg|ripgrep|sed|find|cat|awk|git \w+|head|tail|ls|glob|curl"
        r"|the (?:grep|search|read|edit|write|bash) tool) (?:instead of|rather than|because|since|to)\b"
    ),
    to_do=(
        r"\b(?:not yet|still (?:need|have|needs|open|to)|to be (?:decided|done|determined)|tbd|todo"
        r"|(?:is|are|still|remains?) pending|haven't (?:decided|chosen)|undecided|deferred"
        r"|need(?:s)? to (?:decide|choose|be)"
        r"|will (?:need|have) to|(?:next|follow-?up) (?:step|pr|change|release|sprint|iteration)|in (?:a"
        r"|the) future|later we|planned?|plan(?:s|ning)? to|intend(?:s|ed)? to|would need|no decision"
        r"|decide whether|eventually we)\b"
    ),
    bare=(
        r"^(?:it(?! turn(?:s|ed) out|'s an? (?:standing|team|project))|this|that|they|these|those|both"
        r"|he|she|such|same|the (?:former|latter|same|first|second|other)(?= (?:was|is|one|would)))\b"
    ),
    bare_object=(
        r"\b\w+ (?:it|them|these|those|(?:this|that|it)(?: one| approach| idea)(?=[.,;:]|$)|(?:this"
        r"|that)(?=[.,;:]|$))(?=[\s.,;:]|$)|\b(?:settled|decided|agreed(?: on| to)?|discussed|chose|picked"
        r"|took"
        r"|preferred|(?:went|going|sticking) with|sett?led on|ruled|did) (?:that|this)(?= (?:to|over|with|in"
        r"|at"
        r"|last|back|long|years?|months?|weeks?|together|before|already|once|on|rather|instead|because|since"
        r"|as)\b)"
    ),
    therefore=(
        r"^(?:instead(?=,? (?:i|we) )|that's why|that is why|this is why|which is why|hence|therefore"
        r"|for (?:that|this) reason|because of (?:that|this)|given (?:that|this)|so),? (?=\w)"
    ),
    goes_on=(
        r"^(?:this|that|it|the reason|otherwise|because|the (?:old|alternative|other|latter|former"
        r"|main reason|rationale)|reason:|why:|rationale:|since|doing so|anything else|which)\b"
    ),
    user_decided=(
        r"\bas (?:we )?(?:agreed|decided)\b|\b(?:that|this|it)(?:'s| is| was"
        r"| has been)? (?:been )?(?:already )?(?:decided|settled|agreed)\b|\bwon't (?:revisit|reopen"
        r"|discuss)\b|\bnot up for (?:discussion|debate)\b|\b(?:house|project|team|standing) (?:rule"
        r"|policy|decision)\b|^policy(?: here)?:|\bpolicy (?:here |is )|\bby (?:policy|convention),"
        r"|\b(?:was|were|has been) (?:decided|agreed) (?:that|to|in|with|at|by|on)\b|\b(?:we|the team"
        r"|our team)(?:'ve| have)? (?:already |all |long ago |now |explicitly |never )*(?:decided|agreed"
        r"|chose|settled|standardi[sz]ed|opted|committed|ruled)\b(?:(?: \w+){0,4}? (?:on|to|not|never"
        r"|that|against|for|in|out)\b| \w+ over)|^(?:team |project |standing |architecture )?decision:"
        r"|\bpolicy(?=[.,;]|$)|\bwe (?:never|always|don't|do not|only|deliberately) (?!know|need|want|have"
        r"|see"
        r"|understand|think|get|remember|care|seem|like|mind)\w+ [^.;?]{2,120}?\b(?:here|anywhere|on purpose"
        r"|in (?:this|our|the) (?:repo\w*|code ?base|project|team|company|org\w*))\b"
        r"|\b(?:as you (?:may )?know"
        r"|remember|keep in mind|mind|note|reminder|for context|fyi|background),?:? (?:that )?we (?:never"
        r"|always"
        r"|don't|do not|only|no longer)\b|\b(?:is|are) (?:banned|forbidden|off[- ]limits|taboo|set in stone"
        r"|non-negotiable|ruled out)\b|\b(?:ruled|swore|sworn) (?:\w+ ){0,3}(?:out|off)\b(?= (?:for good"
        r"|after|in|last|years))"
        r"|\bwe (?:don't|do not|never|no longer) \w+ [^.;?]{3,100}[,;] (?:ever|period|full stop"
        r"|on principle|that's"
        r" (?:a|the|our) (?:rule|policy))\b|\b(?:no exceptions|that's how we (?:do|want|like|keep) (?:it"
        r"|things|them)|(?:legal|security|compliance) (?:insists?|requires?|demands?))\b|\b(?:hard|golden"
        r"|firm) rule\b|\b(?:the"
        r"|our) rule(?: here)? (?:is|says)\b"
        r"|\bour (?:policy|convention|rule|decision) (?:is|was)\b|\b(?:it's|it is|this is) a (?:standing"
        r"|team|project) decision\b|\bwe (?:never|always) [\w ]{3,60} (?:because|since)\b"
    ),
    found=(
        r"^(?:(?:ok(?:ay)?|so|and|now|yes|aha?|great|right|good|bingo|confirmed|interesting(?:ly)?|perfect)"
        r"[,.!: \u2014-]+)*(?:(?:(?:i|we)(?:'ve| have)? )?(?:just |now |finally )*(?:found|got|know|see"
        r"|understand|spotted|identified|tracked down) (?:it|(?:now )?(?:why|what(?:'s| is| was)?"
        r" (?:wrong|happening|happens|happened|going on|going wrong))|the (?:\w+ )?(?:cause|culprit|reason"
        rf"|explanation|{FAULT}))(?: now| at last| then| finally)?|there it is|here it is|mystery solved"
        rf"|(?:that|this|here)(?:'s| is| was)(?: exactly| also)? (?:it|(?:the|our) (?:\w+ ){{0,2}}(?:cause"
        rf"|culprit|reason|explanation|{FAULT})(?: then)?)|(?:that|this) (?:also |fully )?explains"
        r"(?: [\w'-]+){1,7}|(?:the )?(?:\w+ )?cause (?:is |was )?(?:now )?(?:found|clear|known"
        r"|identified)(?: now)?)[.!: \u2026]*$"
    ),
    forbids=(
        r"^(?!(?:it|this|that|these|those|you|he|she|they|please|and|but|if|make sure|i)\b)[^.;?,]{3,100}?"
        r"\b(?:must|may|shall) (?:not|never)\b [^.;?]{3,160}?(?:, (?:as|because|since|for|we have|our|some"
        r"|they|there (?:are|is))\b|\b(?:because|since)\b)|^(?:no|never) [^.;?,]{3,60}? (?:here|in (?:this"
        r"|our"
        r"|the) (?:repo\w*|code ?base|project|team|company|org\w*)|ever)\b[^.;?]{0,40}?(?:,|\u2014|:)?"
        r" ?\b(?:because|since|as|we have|our)\b"
    ),
    given_up_now=(
        r"\b(?:that|this|it|which) (?:didn't|did not|doesn't|does not|won't|will not) (?:actually "
        r"|quite )?(?:work|help|fix|compile|scale)\b|\bscrap (?:that|this)\b|\bactually,? (?:no|scrap"
        r"|that)|\b(?:abandon|dropp?|reverting?|undo|undoing|back(?:ing)? out)(?:ing)? (?:that|this|it"
        r"|the)\b|\bon second thou?ghts?\b|\bdifferent approach\b|\banother approach\b"
        r"|\bgo(?:ing)? back to\b|\binstead[.:,]?$|\bchanged my mind\b"
    ),
)
