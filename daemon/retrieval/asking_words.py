"""Owns the words that tell what kind of sentence a clause is, in nine languages."""

from __future__ import annotations

from ..project.vocabulary import words
from .patterns import any_of

WHY_HOW = words(
    "why how warum wieso weshalb wie pourquoi comment por-qué cómo como porque perché come почему зачем как",
)
"""Ask for reasons and ways, which no edge of the graph answers."""

ASKING = WHY_HOW | words(
    """
    what when where who whom whose which whether
    was wann wo woher wohin wer wen wem wessen welche welcher welches welchen ob womit wofür worin
    que qu'est-ce qu' quand où qui quoi quel quelle quels quelles combien est-ce
    qué cuándo cuando dónde donde quién quiénes cuál cuáles cuánto cuántos
    quê quando onde quem qual quais quanto quantos o-que
    che cosa dove chi quale quali quanto quanti cos'è
    что чего чему когда где куда откуда кто кого какой какая какие какое сколько можно ли чем
    """
)

AUXILIARY = words(
    """
    is are was were am do does did has have had can could should would will may might must shall isn't
    aren't doesn't don't
    ist sind war wird werden hat haben kann können soll sollte muss gibt
    est sont a ont peut peut-on doit existe es está están son hay puede debe tiene
    é são está há pode deve tem ha può c'è есть может
    """
)
"""Begin a yes-or-no question."""

LOOKING = words(
    """
    find locate show list search look grep get give display print explain describe summarize summarise
    enumerate identify
    check go jump open point see read name collect navigate fetch tell count trace visualize draw overview
    seek track hunt take
    see view browse walk highlight lookup
    finde suche such zeige zeig liste nenne erkläre erklär beschreibe gib schau öffne sag
    trouve trouver cherche chercher montre montrer liste lister affiche explique expliquer décris donne dis
    recherche
    encuentra encontrar busca buscar muestra mostrar lista listar enumera explica explicar describe dime
    dame localiza
    encontre ache procure procurar buscar mostre mostrar liste listar explique explicar descreva diga
    localize
    trova trovare cerca cercare mostra mostrare elenca elencare spiega spiegare descrivi dimmi
    найди найти покажи показать перечисли выведи объясни опиши расскажи поищи ищи
    """
)
"""Commands that change nothing."""

CHANGING = words(
    """
    add fix rename move implement refactor write create remove delete drop replace update make change
    convert extract improve
    optimize optimise migrate port bump upgrade downgrade generate introduce rewrite split merge inline
    simplify ensure allow
    enable disable support handle stop avoid prevent switch revert apply adjust modify edit append insert
    wrap expose hide
    deprecate document annotate correct repair resolve debug turn reduce increase validate keep restructure
    reorganize
    reorganise deduplicate clean adapt extend integrate parallelize vectorize translate secure harden
    cleanup redesign
    speed polish tidy redo undo reimplement rework separate swap install configure design develop build
    deploy run commit
    stub mock patch pass put set log cache test use return raise throw call import export format review
    finish complete
    get-rid pick follow try propose suggest draft prepare start begin continue bring hook wire register
    reuse combine unify teach
    füge ergänze behebe korrigiere repariere ändere benenne entferne lösche ersetze schreibe erstelle
    implementiere verschiebe
    refaktoriere aktualisiere baue mache verbessere erweitere stelle setze verwende passe optimiere
    vereinfache schreib ändre
    ajoute ajouter ajoutez corrige corriger corrigez répare supprime supprimer supprimez renomme renommer
    remplace remplacer
    modifie modifier écris écrire crée créer implémente implémenter déplace déplacer refactorise améliore
    optimise mets fais
    añade añadir agrega agregar corrige corregir arregla arreglar elimina eliminar borra renombra renombrar
    reemplaza reemplazar
    cambia cambiar modifica modificar escribe escribir crea crear implementa implementar mueve mover
    refactoriza mejora haz
    actualiza actualizar optimiza quita pon
    adicione adicionar corrija corrigir conserte remova remover exclua apague renomeie renomear substitua
    altere alterar mude
    escreva escrever crie criar implemente implementar mova refatore melhore atualize atualizar faça troque
    aggiungi aggiungere correggi correggere sistema ripara rimuovi rimuovere elimina eliminare cancella
    rinomina rinominare
    sostituisci modifica cambia scrivi scrivere crea creare implementa implementare sposta migliora aggiorna
    rifattorizza
    добавь добавить исправь исправить почини удали удалить переименуй переименовать замени заменить измени
    изменить напиши
    написать создай создать реализуй реализовать перенеси перепиши обнови обновить улучши сделай убери
    поменяй оптимизируй
    """
)
"""Commands that change something, at the beginning of a sentence."""

SURELY_CHANGING = words(
    """
    add fix rename move refactor remove delete replace update rewrite convert improve simplify migrate
    change make write
    implement create extract delete entferne ersetze ändere ergänze supprime remplace corrige reemplaza
    elimina remova
    substitua rimuovi sostituisci удали замени исправь переименуй
    """
)
"""Those of them that command behind an `and`, too: `find the callers and rename them`."""

OBJECT_NEEDED = words(
    """
    test log cache set use return raise throw call import export format review run build document change
    update move split merge port patch mock pass put do try follow start make keep stop turn lista liste
    busca cerca
    switch wrap design register commit hook wire deploy finish complete debug cache speed drop extend
    sistema
    """
)
"""Nouns as well (`test coverage`, `change impact`): commands only before an article, a name or the like."""

BEFORE_KIND = words(
    "change update move split merge port patch put make switch wrap drop extend review run build document"
)
"""Those of them that command before a word for a kind as well: `move class X`."""

BEFORE_OBJECT = words(
    """
    the a an all this that these those it them every each our my your its any some new more both up out
    through with to back
    N P Q one two three die der das den ein eine einen alle le la les un une el los las una o os as um uma
    il lo gli i
    sure me us ahead off on down into away
    """
)

TELLING = words(
    """
    understand know see learn find figure explain tell show describe wonder erkläre explique explica spiega
    объясни
    """
)
"""What follows them may be the question: `tell me why …`, `I would like to understand how …`."""

_PREFACES = any_of(
    "hey, hi, hello, hallo, hola, salut, bonjour, olá, ciao, привет, dear \\w+, there, guys, team, claude",
    "all, everyone, ok, okay, so, well, now, first, then, next, also, just, and, but, oh, um, hmm, actually",
    "basically, btw, by the way, fyi, again, quickly, maybe, perhaps, und, et, y, e, и",
    "please, bitte, por favor, s'il te plaît, s'il vous plaît, per favore, пожалуйста, kindly",
    "thanks, thank you, sorry, excuse me, quick question, question, any idea, any ideas, any clue",
    "can you, could you, would you, will you, can u, could u, can anyone, could anyone, can someone, mind",
    "could someone, would someone, can somebody, could somebody, would you mind, do you mind, do you know",
    "do you remember, does anyone know, does anybody know, does someone know, does anyone remember",
    "kannst du, können sie, könntest du, peux-tu, pouvez-vous, pourrais-tu, puedes, podrías, você pode",
    "pode, puoi, potresti, можешь, можете",
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

CJK_WHY_HOW = (
    r"为什么|为何|如何|怎么|怎样|なぜ|どうして|どのように|どうやって|どうやったら|どうすれば"
    r"|どう(?:動|処理|な)|어떻게|왜"
)
CJK_ASKING = (
    r"为什么|为何|如何|怎么|怎样|什么|哪|吗|是否|谁|何时|多少|几个|有没有"
    r"|なぜ|どうして|どの|どう|いつ|どこ|何|誰|だれ|ですか|ますか|でしょうか|か$"
    r"|어떻게|왜|무엇|언제|어디|누가|인가요|나요|니까"
)
CJK_CHANGING = (
    r"^(?:请|請|帮我|幫我|麻烦|需要|想要|我想)*(?:添加|增加|新增|加上|加入|修复|修改|修正|改|删除|移除|去掉"
    r"|重构|实现|重命名|更新|移动|编写|写|优化|创建|替换|把|将|让)"
    r"|^(?:请|帮我)*(?:为|给|在).{0,40}(?:添加|增加|新增|加上|加入|编写|实现|删除)"
    r"|(?:追加|修正|削除|変更|実装|作成|置き換え|リファクタリング|更新|改善|移動|直|書い|名前を変え"
    r"|リネーム|対応|最適化)(?:して|し|て)?(?:ください|下さい|ほしい|欲しい|くれ|する|て)?$"
    r"|(?:추가|수정|삭제|변경|구현|작성|이동|개선|리팩토링|고쳐|바꿔)"
    r"(?:해|하|줘| ?주세요|해줘|해 줘|해주세요|하세요)*$"
)
CJK_LOOKING = (
    r"查找|搜索|查询|寻找|找到|找出|找|列出|显示|看看|解释|说明|描述"
    r"|探し|検索|見つけ|見せ|一覧|表示|説明|教え|調べ|찾아|검색|보여|설명"
)
