"""Tables of the words that show what a clause asks for, and the stop words of several languages."""

from __future__ import annotations

from ..core.vocabulary import words
from .patterns import any_of

OTHER_ASKING = words(
    """
    wann warum wer welche welcher welches wie wieso wo womit wofür combien comment où pourquoi quel quelle
    quelles quels qui qu' cómo cuál cuándo dónde qué quién onde quais qual chi dove perché quale где как какой
    какие когда кто почему что
    """
)
"""Question words of other languages. They only decide whether a prompt is a question."""

OTHER_CHANGING = words(
    """
    füge ergänze behebe korrigiere ändere entferne ersetze ajoute corrige supprime renomme remplace añade
    agrega arregla elimina cambia adicione remova aggiungi correggi rimuovi добавь исправь удали замени
    """
)
"""Commands of other languages. They only decide whether a prompt commands a change."""

WHY_HOW = words("why how")
"""Question words for reasons and methods, which the graph can't answer."""

ASKING = WHY_HOW | words("what when where who whom whose which whether")

AUXILIARY = words(
    """
    is are was were am do does did has have had can could should would will may might must shall isn't
    aren't doesn't don't
    """
)
"""Words that begin a yes-or-no question."""

LOOKING = words(
    """
    find locate show list search look grep get give display print explain describe summarize summarise
    enumerate identify check go jump open point see read name collect navigate fetch tell count trace
    visualize draw overview seek track hunt take view browse walk highlight lookup
    """
)
"""Commands that change nothing."""

CHANGING = words(
    """
    add fix rename move implement refactor write create remove delete drop replace update make change
    convert extract improve optimize optimise migrate port bump upgrade downgrade generate introduce
    rewrite split merge inline simplify ensure allow enable disable support handle stop avoid prevent
    switch revert apply adjust modify edit append insert wrap expose hide deprecate document annotate
    correct repair resolve debug turn reduce increase validate keep restructure reorganize reorganise
    deduplicate clean adapt extend integrate parallelize vectorize translate secure harden cleanup
    redesign speed polish tidy redo undo reimplement rework separate swap install configure design develop
    build deploy run commit stub mock patch pass put set log cache test use return raise throw call import
    export format review finish complete get-rid pick follow try propose suggest draft prepare start begin
    continue bring hook wire register reuse combine unify teach
    """
)
"""Verbs that command a change at the beginning of a sentence."""

SURELY_CHANGING = words(
    """
    add fix rename move refactor remove delete replace update rewrite convert improve simplify migrate
    change make write implement create extract
    """
)
"""Words of `CHANGING` that command a change also after an `and`: `find the callers and rename them`."""

OBJECT_NEEDED = words(
    """
    test log cache set use return raise throw call import export format review run build document change
    update move split merge port patch mock pass put do try follow start make keep stop turn switch wrap
    design register commit hook wire deploy finish complete debug speed drop extend
    """
)
"""Words of `CHANGING` that may also be nouns (`test coverage`, `change impact`). They are commands only
before a word of `BEFORE_OBJECT`, such as an article or a name."""

BEFORE_KIND = words(
    """
    change update move split merge port patch put make switch wrap drop extend review run build document
    """
)
"""Words of `OBJECT_NEEDED` that are commands also before a word for a kind: `move class X`."""

BEFORE_OBJECT = words(
    """
    the a an all this that these those it them every each our my your its any some new more both up out
    through with to back N P Q one two three sure me us ahead off on down into away
    """
)

TELLING = words("understand know see learn find figure explain tell show describe wonder")
"""Verbs that may introduce the question: `tell me why …`, `I would like to understand how …`."""

_PREFACES = any_of(
    "hey, hi, hello, dear \\w+, there, guys, team, claude",
    "all, everyone, ok, okay, so, well, now, first, then, next, also, just, and, but, oh, um, hmm, actually",
    "basically, btw, by the way, fyi, again, quickly, maybe, perhaps, please, kindly",
    "thanks, thank you, sorry, excuse me, quick question, question, any idea, any ideas, any clue",
    "can you, could you, would you, will you, can u, could u, can anyone, could anyone, can someone, mind",
    "could someone, would someone, can somebody, could somebody, would you mind, do you mind, do you know",
    "do you remember, does anyone know, does anybody know, does someone know, does anyone remember",
    "i wonder, we wonder, i forgot, we forgot, i forget, i need, we need, i want, we want, need, me",
    "help me to, help me, let me know, let us know, let me, let us, tell me, tell us, for me",
    "you should, you must, you need to, we should, try to, go ahead and, feel free to, make sure to",
    "be sure to, if possible, if you can, in this code",
)
GREETING = (
    r"^(?:(?:(?:i|we) (?:would|'d) (?:like|love) (?:you )?to"
    r"|(?:i|we) (?:want|need|wish|am trying|are trying|have)(?: you)? to(?! do)"
    r"|(?:i am|we are|i was) (?:just |also )?"
    r"(?:wondering|curious|looking for|interested in|going to|trying to)"
    r"|(?:i|we) do not (?:really )?(?:understand|know|get|see)"
    r"|(?:your|the) (?:job|task|goal|assignment|mission) is to"
    r"|it would be (?:nice|great|good|cool) (?:if you could|to)"
    r"|in this (?:repo|repository|project|codebase|code base)"
    rf"|{_PREFACES})(?: |$)[,:!.]* ?)+"
)
"""Greetings and polite phrases before a question; they are removed."""

WISHING = (
    r"^(?:(?:i|we|still|just|not|no|am|are|is|it|really|quite|have|can|could|do|trying|to|struggling|unclear"
    r"|hard|me|out|for|having|trouble) ){1,9}"
    r"(?:understand(?:ing)?|figure(?: it)? out|figuring out|find(?:ing)? out|see|tell|work out|remember|grasp"
    r"|sure|unclear|clear|clue|idea|following|me)(?: about| exactly| of| yet)?"
    r" (?=(?:why|how|who|what|where|which|when|whether)\b)"
    r"|\b(?:i|we) (?:(?:would|'d) (?:like|love)|want|need|wish|have) to"
    r" (?=(?:know|see|learn|find|understand)\b)"
)
"""Phrases that introduce a question, also after other words of the sentence: `before I approve it I would
like to know …`."""

SMALL_TALK = (
    r"^(?:how are you|how is it going|what is up|what is your name|who are you|what are you|what can you do"
    r"|are you (?:there|ok|sure|a bot|human)|how old are you|what time is it"
    r"|good (?:morning|evening|job|work)|nice|great|cool|what is the weather|tell me a joke"
    r"|never ?mind)\b.{0,24}$"
    r"|\b(?:ignore|disregard|forget) "
    r"(?:(?:all|any|the|your|every|everything|these|those|previous|prior|above|earlier|of) )*"
    r"(?:instructions?|prompts?|rules|directions|told)\b"
    r"|\bsystem prompt\b|\byou are now\b|\bpretend (?:to be|you are)\b|\bjailbreak"
    r"|\b(?:reveal|print|show|repeat|output) (?:me )?(?:your|the) (?:instructions|prompt|system)\b"
)


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
"""Words for kinds of definitions. A plain word next to one of them may be a name: `the login function`."""

MODULES = words(
    """
    module modules package packages library libraries file files header headers crate crates dependency
    dependencies namespace namespaces
    """
)
"""Words for modules and files, whose dependents are the files that import them."""

PLURAL_KINDS = words(
    """
    functions methods classes interfaces structs enums types traits constants variables fields properties
    attributes symbols members exports definitions constructors macros hooks components tests headings
    sections routes endpoints globals routines procedures
    """
)
"""Words for the members of a file or class; together they are its outline."""

PARTS = words(
    """
    parameter parameters argument arguments return value values result results default defaults signature
    name names type types body order number count behaviour behavior output outputs visibility instance
    instances object objects copy copies option options key keys entry entries content contents first
    second third last optional required declaration definition implementation error errors message shape
    schema meaning semantics contract rest format analysis report overview
    """
)
"""Words for a part of a symbol; a question about the part (`the return value of f`) is about the symbol."""

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
    """Whether a word in lower case means a change."""
    return word in _CHANGING


def is_breakage(word: str) -> bool:
    """Whether a word in lower case means the effect of a change on other code."""
    return word in _BREAKING


def is_connection(word: str) -> bool:
    """Whether a word in lower case means a connection between two things."""
    return word in _CONNECTING or word.startswith("connect")


_ENGLISH = """
a about above actually after again all almost already also although always am an and another any anybody
anyone anything are aren't around as at away back be because been before being below between both but by
came can can't cannot come could couldn't did didn't do does doesn't doing don't done down during each
either else etc even ever every everyone everything few for from further get gets getting give go goes
going got had has hasn't have haven't having he hello help her here hers hey hi him his hmm how however i
i'd i'll i'm i've if in instead into is isn't it it's its itself just know least let let's like likely
look lot made make makes many may maybe me might more most much must my myself near need needs neither
never no nor not nothing now of off often oh ok okay on once one only or other others our ours out over
own perhaps please possible pretty quite rather really same say says see seem seems several shall she
should shouldn't since so some somebody somehow someone something somewhere still such sure take tell than
thank thanks that that's the their theirs them then there there's these they thing things this those
though through thus thx till to together too toward towards under unless until up upon us use used uses
using usually very via want wants was wasn't we we're we've well were weren't what what's whatever when
where where's whether which while who who's whom whose why will with within without won't would wouldn't
yes yet you you're your yours
"""
_GERMAN = """
aber als am an auch auf aus bei beim bin bis bitte da damit dann das dass dein dem den denn der des die
dies diese dieser dieses doch dort du durch ein eine einem einen einer eines er es für gibt hat haben hier
ich ihr im in ins ist ja kann kein keine können man mein mich mir mit muss nach nicht noch nur ob oder
ohne sein seine sich sie sind so soll um und uns unser unter vom von vor wann war warum was wenn wer
werden wie wieder wieso wir wird wo woher zu zum zur über
"""
_ROMANCE = """
au aux avec ce ces cette comment dans de des du elle elles en est et il ils je la le les leur lui mais mes
mon ne nos notre nous ou où par pas pour pourquoi qu quand que quel quelle quelles quels qui quoi sa sans
se ses si son sont sur ta te tes tu un une vos votre vous à être al como con cual cuál cuando cuándo
cuáles cómo de del donde dónde el ella ellos es esta este esto están está estos hay la las lo los más me
mi muy no nos o para pero por porque qué que quién quiénes quien se ser si sin sobre son su sus también
tiene un una unos y ya ao aos as com da das do dos ela ele em essa esse esta este eu foi isso já mais mas
meu minha na nas nem no nos num numa não onde os ou para pela pelo por qual quais quando que quem se sem
seu sua são só também um uma ai alla alle anche che chi come con cosa da dal dalla degli dei del della
delle di dove è e gli ha ho i il in io la le lo ma mi nei nel nella non o per perché più quale quali
quando quanto questa questo se sei si sono su sul sulla tra un una uno
"""
_RUSSIAN = """
а без был была были было быть в во вот все всё вы где да для до его ее её если есть же за и из или их к
как какая какие какой когда кто ли мы на над не нет ни но о об он она они оно от по под почему при с со
так также там то только ты у уже чего чем что чтобы эта эти это этот я
"""  # noqa: RUF001 - Cyrillic is meant

STOP_WORDS = words(_ENGLISH, _GERMAN, _ROMANCE, _RUSSIAN)
"""Function words and small talk. Short words that are names in code too (`set`, `list`, `new`, `first`) are
not among them, nor are words that a question asks for, such as `function` and `file`."""

FOREIGN_STOP_WORDS = words(_GERMAN, _ROMANCE, _RUSSIAN) - words(_ENGLISH)
"""Stop words that aren't English words."""
