"""Owns the words that tell what kind of sentence a clause is, in English."""

from __future__ import annotations

from ..project.vocabulary import words
from .patterns import any_of

OTHER_ASKING = words(
    """
    wann warum wer welche welcher welches wie wieso wo womit wofür combien comment où pourquoi quel quelle
    quelles quels qui qu' cómo cuál cuándo dónde qué quién onde quais qual chi dove perché quale где как какой
    какие когда кто почему что
    """
)
"""Of other languages, which decide nothing but whether a prompt asks."""

OTHER_CHANGING = words(
    """
    füge ergänze behebe korrigiere ändere entferne ersetze ajoute corrige supprime renomme remplace añade
    agrega arregla elimina cambia adicione remova aggiungi correggi rimuovi добавь исправь удали замени
    """
)
"""The same for what a prompt commands."""

WHY_HOW = words("why how")
"""Ask for reasons and ways, which no edge of the graph answers."""

ASKING = WHY_HOW | words("what when where who whom whose which whether")

AUXILIARY = words(
    """
    is are was were am do does did has have had can could should would will may might must shall isn't
    aren't doesn't don't
    """
)
"""Begin a yes-or-no question."""

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
"""Commands that change something, at the beginning of a sentence."""

SURELY_CHANGING = words(
    """
    add fix rename move refactor remove delete replace update rewrite convert improve simplify migrate
    change make write implement create extract
    """
)
"""Those of them that command behind an `and`, too: `find the callers and rename them`."""

OBJECT_NEEDED = words(
    """
    test log cache set use return raise throw call import export format review run build document change
    update move split merge port patch mock pass put do try follow start make keep stop turn switch wrap
    design register commit hook wire deploy finish complete debug speed drop extend
    """
)
"""Nouns as well (`test coverage`, `change impact`): commands only before an article, a name or the like."""

BEFORE_KIND = words(
    """
    change update move split merge port patch put make switch wrap drop extend review run build document
    """
)
"""Those of them that command before a word for a kind as well: `move class X`."""

BEFORE_OBJECT = words(
    """
    the a an all this that these those it them every each our my your its any some new more both up out
    through with to back N P Q one two three sure me us ahead off on down into away
    """
)

TELLING = words("understand know see learn find figure explain tell show describe wonder")
"""What follows them may be the question: `tell me why …`, `I would like to understand how …`."""

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
"""What may stand before what is asked, and counts for nothing."""

WISHING = (
    r"^(?:(?:i|we|still|just|not|no|am|are|is|it|really|quite|have|can|could|do|trying|to|struggling|unclear"
    r"|hard|me|out|for|having|trouble) ){1,9}"
    r"(?:understand(?:ing)?|figure(?: it)? out|figuring out|find(?:ing)? out|see|tell|work out|remember|grasp"
    r"|sure|unclear|clear|clue|idea|following|me)(?: about| exactly| of| yet)?"
    r" (?=(?:why|how|who|what|where|which|when|whether)\b)"
    r"|\b(?:i|we) (?:(?:would|'d) (?:like|love)|want|need|wish|have) to"
    r" (?=(?:know|see|learn|find|understand)\b)"
)
"""What may stand behind background in one sentence, `before I approve it I would like to know …`."""

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
