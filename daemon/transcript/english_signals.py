"""Owns the English signals of decisions."""

from __future__ import annotations

from .english_verbs import ACTED, LOOKING, MUSING, said
from .signals import Signals

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
    r"(?:abandon(?:ed|ing)?\b|(?:giv(?:e|ing)|gave) up\b|(?:discard|scrap|ditch)(?:p?ed|p?ing)?\b"
    r"|(?:revert|undo|undid)(?:ed|ing)?\b|dropp(?:ed|ing) (?:it|that|this|them|the (?:idea|approach"
    r"|attempt|experiment))\b"
    r"|drop(?:ped|ping)? .{2,60}? again\b"
    r"|roll(?:ed|ing)? .{0,80}?\bback\b|back(?:ed|ing)? .{0,60}?\bout\b|(?:took|tak(?:e|ing)"
    r"|pull(?:ed|ing)?|ripp(?:ed|ing)) .{1,80}? (?:back )?out\b(?! of)"
    r"|(?:remov|delet)(?:ed|ing) .{2,60}? again\b|(?:put|putting|went|going|chang(?:ed|ing)|set|setting"
    r"|switch(?:ed|ing)|mov(?:ed|ing)) .{0,60}?\bback to\b|throw(?:ing)? .{1,40}? (?:away|out)\b"
    r"|threw .{1,40}? (?:away|out)\b)"
)

ENGLISH_SIGNALS = Signals(
    limits=(
        r"\b(?:at (?:most|least)|no (?:more|fewer|longer|earlier|later) than|not more than|up to"
        r"|stays? (?:below"
        r"|under|above|within)|capped at|(?:limited|bounded|restricted) to|a (?:maximum|minimum|limit|cap"
        r"|ceiling) of"
        r"|(?:below|above|under|over|beyond) an? \w+ of) (?:an? |one |two |three |four |five |ten )?[\w`.]*"
        r"|\b(?:goes|went|is|was|are|were|lowered|raised|reduced|increased|changed|cut|shrunk|shortened"
        r"|dropped|grew"
        r"|down|up) from [^,;.]{0,20}?\d[^,;]{0,30}? to [^,;]{0,12}?\d"
    ),
    beyond=(
        r"^(?:(?:beyond|above|below|past|over|under|with|at|after|before) (?:that|this|it|the|an?|\d|\w+ \d)"
        r"|(?:more|fewer|less|longer|larger|bigger|smaller|shorter|any(?:thing)? (?:more|longer|larger"
        r"|higher|lower"
        r"|smaller|above|below))\b)"
    ),
    removes=(
        r"^(?:(?:\w+: )?(?:i|we)(?:'ve| have)? )?(?:also )?(?:(?:dropped|removed|deleted|disabled|cut"
        r"|stripped)\b"
        r"|(?:turned|switched) .{2,60}?\boff\b|(?:took|taken) .{1,60}? out of\b)"
    ),
    acts=(
        rf"{said(ACTED)}|(?<!while )(?<!when )(?<!as )(?<!before )(?<!if )(?<!since )\b(?:i'm|i am|we're"
        rf"|we are)(?: (?:now|deliberately|therefore|also|just|thus))* "
        rf"(?!{_LOOKING_ING}|having|seeing|not\b)\w+ing\b"
        rf"|(?:^|, )(?:for [^,]{{3,60}}, )?(?:i|we)(?: now| also| only| therefore)? (?!{LOOKING}|{MUSING}"
        rf"|try|will|can)\w+\b(?! to be\b)"
        rf"|(?:\b(?:i'll|i will|we'll|we will|let's)|\bgoing to)(?: (?:just|therefore|now|also|then"
        rf"|rather))* "
        rf"(?!{LOOKING}|not\b|be\b|see\b)\w+"
        rf"|^(?:ok(?:ay)?,? |so,? |now |instead,? )?(?!{_LOOKING_ING}|during|nothing|anything|something"
        rf"|everything|interesting|missing|remaining|according|including|depending|string|bring"
        rf"|warning)\w{{3,}}ing\b(?!{_FINITE})"
    ),
    now=(
        r"^(?!(?:the |all |both )?(?:\w+ )?(?:tests?|build|ci|suite|specs?|pipeline|lint\w*|everything|it"
        r"|this|that)\b)(?:now,? (?=the|each|every|all|an?\b|`|\w+s\b)|[\w`./:(){}*& '-]{1,90}? (?:now"
        r"|no longer|from now on)\b)|\b(?:from now on|any ?more)\b"
    ),
    contrast=(
        r"\band not\b|\bnot (?:with|in|on|by|from|per|the|a|an)\b[^.;]{2,80}\bbut\b|\bwithout \w+ing\b"
        r"|\b(?:over|unlike|versus|vs\.?) (?:the|an?|pure|plain|one|per)\b|\b(?:no need for|saves? us)\b"
        r"|\binstead\b|\bonly\b[^.;]{2,60}\bnot\b|\bnot\b.{2,60}\banymore\b|\bexcept\b|\bpreferred\b"
    ),
    consequence=(
        r"\bso (?!i\b|we\b|i'|we'|far\b|let\b|much\b|many\b|on\b|\w+ (?:as|that)\b)(?:that )?\w+"
        r"|\bwhich (?:means|keeps?|makes?|lets?|avoids?|leaves?|also|resets?|would|gives?|costs?|needs?"
        r"|only|is (?:also|what|how|the))\b|\b(?:that|this) way\b|\b(?:to|and) (?:avoid|prevent|keep"
        r"|guarantee|ensure)s?\b|\bin order to\b|\botherwise\b|\btherefore\b|\bhence\b|\bmeaning\b"
        r"|\bas soon as\b"
    ),
    alternative=(
        r"^(?!(?:it|this|that|you|i|we|which|they|there|if)\b)(?![^?]*\b(?:i"
        r"|we)\b)[^?]{3,120}?\bwould(?:n't)? (?!like|prefer|love|you)\w+"
        r"|^(?:with|under|using|by) (?:the|an?|that|this|those) [^;?]{3,110}?\b(?:would|could|might)\b"
        r"|^(?:this|that|it) (?:also )?(?:leaves|keeps|avoids|means|fixes|makes|gives|lets|saves|preserves"
        r"|guarantees|removes|spares)\b|\b(?:the|an)?other (?:option|idea|way|candidate)\b|\balternative\b"
        r"|^(?:that|this) way\b|^otherwise\b|^i (?:preferred|thought about|considered|could(?: also)? have)\b"
    ),
    trade=(
        r"\bless \w+\b.{0,60}\bbut\b|\bat the (?:cost|price|expense) of\b|\btrade-?off\b|\bin exchange\b"
        r"|\b(?:good|safe|fast) enough\b|\bacceptable\b|\b(?:simpler|cheaper|safer|sounder|faster|smaller"
        r"|easier|clearer|longer|shorter|larger|worse|better|more [\w ]{2,30}|less [\w ]{2,30}) than\b"
        r"|\b(?:costs?|loses?) .{2,60}\bbut\b"
    ),
    symptom=(
        r"\b(?:fail|stall|hang|hung|crash|leak|los(?:t|e|es|ing)\b|miss(?:ing|es|ed)\b|drop(?:s|ped)\b|wrong"
        r"|stale|duplicat|twice|broken|breaks?\b|broke\b|corrupt|timed? ?outs?\b|slow|offline|stuck|fr(?:eez"
        r"|ozen)|flicker|jump|spike|flak[ey]|deadlock|rac(?:e|es|ed|ing)\b|overflow|underflow|never\b"
        r"|too (?:early|late|often|many|much|long)\b|empty\b|blank|null\b|nil\b|undefined|nan\b|garbage"
        r"|truncat|skip(?:s|ped)|ignor|swallow|overwr|wip(?:e|ed)|doubl|error|exception|panic|oom"
        r"|kill|die[sd]?\b|dead\b|reject|refus|den(?:y|ies|ied)|mismatch|drift|off by|diverg"
        r"|out of (?:sync|order|date|memory)|regress|unexpected|invisible|disappear|vanish|garbled"
        r"|shift(?:s|ed)"
        r"|grow(?:s|ing)?\b|exhaust|starv|block(?:s|ed|ing)?\b|bloat|unreach|unresponsive|expir|invalid"
        r"|saturat"
        r"|forg[eo]t|hard-?coded|without (?:lock|check|wait|flush|clos|a lock)|folded|suspend|unsubscrib"
        r"|rotated|blurr|unreadable|laggy|stutter|lag(?:s|ged)?\b|burst|evict|clobber|throttl|churn|clash"
        r"|collid|collision|conflict|reset(?:s|ting)?\b|reopen|rerun|re-?render|bypass|leftover|orphan"
        r"|inconsisten|incorrect|mangl|escap(?:es|ed)|unescaped|nowhere|nobody|nothing)"
    ),
    links=(
        r"\b(?:because|since|as (?:the|it|they|we|a|an|soon)|due to|comes? from|came from|caused by"
        r"|stems? from"
        r"|results? from|triggered by|thanks to|owing to|traced (?:back )?to|boils? down to"
        r"|(?:so|while|whereas|where|although|though|but|and then|before|after|whenever|when|which"
        r"|therefore|hence))\b|(?<=\w)[`)]?(?::|;| \u2014| \u2013) (?=\S+ \S+ \S+)"
    ),
    points=(
        r"\b(?:turns? out|turned out)\b|^(?:so )?(?:this|that|here)(?: is|'s|'s exactly)(?: the| why| what"
        r"| it| how| where|:)|\bexplains?\b|\bculprit\b|\b(?:the|a|real|root) cause\b|^found it\b"
        r"|^there it is\b"
        r"|\bthe (?:\w+ )?(?:leak|bug|problem|issue|fault|race|hang|crash|stall|error|regression"
        r"|slowdown|mistake) (?:is|was|sits|lies|lives|hides) (?:in|at|inside|with|that|how|where)\b"
        r"|(?<!can )(?<!could )(?<!must )(?<!should )(?<!to )\b(?:comes?|came|stems?|stemmed|results?"
        r"|resulted"
        r"|originates?|arises?|arose) from\b|\bdue to\b"
        r"|\b(?:is|are|was|were|gets?|got)(?: \w+ly)? (?:caused|triggered|produced|introduced|provoked) by\b"
        r"|\bhappens? (?:because|when|whenever|if)\b|\btraced\b|\bto blame\b|\bat fault\b|\bresponsible for\b"
    ),
    complains=(
        r"\b(?:why|bug|fix|issues?|problems?|investigate|broken|root cause|find out|debug|diagnose|regression"
        r"|wrong|fails?|failing|crash\w*|leak\w*|slow\w*|hangs?|stalls?|lost|loses?|missing|twice|duplicat\w*"
        r"|sort (?:it|this|that) out|figure out|eats?|memory|cpu|hates?|should (?:be|take)|slower|annoying"
        r"|stuck|flak\w+|stale|error\w*|drops?|dies|killed|oom|times? out|timeout\w*|doesn't|don't work"
        r"|flicker\w*|laggy|off by|incorrect\w*|breaks?|broke|freez\w+|stop(?:s|ped) \w+ing|lock(?:s|ed)? up"
        r"|goes (?:blank|dead|missing)|far off|explod\w+|takes? (?:\d|too|ages|forever))\b"
    ),
    judges=(
        r"\b(?:worse(?! than (?:none|nothing|no))|slower|not worth|isn't (?:a|the) (?:solution|fix|answer"
        r"|way)|dead end|no (?:\w+ )?(?:gain|improvement|difference|better|luck|help|option|use)|hardly"
        r"|barely|not (?:good )?enough|(?:isn't|wasn't|aren't|weren't) (?:good |really )?(?:enough|viable"
        r"|worth|an option|suitable|safe|it)|(?:didn't|doesn't|did not|does not|won't|don't|can't|cannot"
        r"|couldn't) (?:really |actually |even )?(?:help|work|solve|fix|suffice|converge|scale|hold|survive"
        r"|improve|gain|bring"
        r"|pay|cut|do it|change anything|make a difference|cover|fit|handle|cope|go far|be (?:used|made"
        r"|done|kept|shared))|only (?:\d|moved|hid|hides|mask|shift|delay|gained|saved|brought|bought"
        r"|treats?)"
        r"|too (?:slow|coarse|fragile|big|large|strict|heavy|expensive|complex|late|early|brittle|noisy)"
        r"|no longer (?:converge|work|fit|compile|hold|pass|scale)\w*|breaks?|broke|blew|blows|made (?:it"
        r"|things)|defeats?|ruin(?:s|ed)|hurts?|worsen(?:s|ed)|backfired|unusable|regress\w*"
        r"|(?:costs?|cost us) (?:\d|more|too)|deadlock\w*|times? out|timed out|falls? over|fell over"
        r"|side effect|downside|shrank by|not an option|out of the question)\b"
    ),
    abandons=(
        rf"(?:^(?:so |then |ok(?:ay)?,? |and )?|{_SPEAKER_HAS}|[,;] (?:so |and |then )?)(?!i'll start)"
        rf"{_GIVES_UP}"
        r"|\b(?:was|were|is|are|got|has been|have been) (?:abandoned|discarded|reverted|rolled back|given up"
        r"|backed out|scrapped|taken out|dropped (?:again|because|since|:)|ruled out|rejected|removed again)"
        r"|[,;] (?:so |and )?(?:dropped|reverted|abandoned|discarded|removed|undone)(?: it| again)?(?=[.,;]"
        r"|$)"
        r"|\b(?:is|are|was|were) (?:out|gone) again\b|\b(?:goes|go|comes|came|went) (?:back |straight )?out"
        r"(?: again)?(?=[.,;:]|$)"
    ),
    checks=(
        r"^(?:the |all |both |one |two |three |this |these |that )?(?:\S+ ){0,2}?(?:tests?|specs?|assert\w*"
        r"|fixtures?|mocks?|snapshots?|builds?|ci|suite|compil\w+|linters?|lint|type ?check\w*|mypy|tsc"
        r"|eslint"
        r"|formatter|docs?|readme|changelog|typos?|imports?|command|script run|install\w*)\b"
    ),
)
