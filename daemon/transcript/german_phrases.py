"""Owns the German phrases of decisions."""

from __future__ import annotations

from .phrases import Phrases

GERMAN = Phrases(
    language="german",
    chose=(
        r"\b(?:habe|haben) (?:ich |wir )?(?:mich|uns)\b.{0,160}?\bentschieden\b|\b(?:ich|wir) (?:habe"
        r"|haben)\b.{2,160}?\b(?:gewählt|ausgewählt|beschlossen|entschieden)\b|\bentschied(?:en)? (?:ich"
        r"|wir)? ?(?:mich|uns)\b|\b(?:ich entschied mich|wir entschieden uns)\b|\b(?:wurde"
        r"|wurden) .{2,120}?\b(?:gewählt|beschlossen)\b|^entscheidung:|\bfiel die (?:wahl"
        r"|entscheidung) auf\b|\bdie (?:wahl|entscheidung) fiel (?:auf|für|gegen)\b|\bentschieden (?:für"
        r"|gegen)\b|^(?:bewusst )?(?:für|gegen) .{3,80} entschieden\b"
    ),
    did=(
        r"\b(?:habe|haben) (?:ich|wir)\b.{2,240}|\b(?:ich|wir) (?:habe|haben)\b.{2,240}|\b(?:ich"
        r"|wir) (?:\w+te|\w+ten|nahm|ließ|nahmen|ließen|bleibe|bleiben|behalte|behalten|lasse|lassen"
        r"|nutze|nutzen|verwende|verwenden|setze|setzen)\b|^[^.;]{3,160}? (?:wird|werden|wurde"
        r"|wurden) (?:jetzt |nun |bewusst |nicht )*[^.;]{3,160}|^(?:statt|anstelle)\b.{3,200}?\b(?:nutzt"
        r"|nutze|nutzen|verwendet|verwende|verwenden|wird|werden|wurde|wurden|habe|steht|liegt)\b"
    ),
    changed=(
        r"^(?!ich (?:schaue|sehe|prüfe|starte|teste|lese|suche|führe|lasse))[^.;]{2,80}? (?:jetzt|nun"
        r"|nicht mehr)\b"
    ),
    announced=(
        r"\b(?:ich|wir) (?:werde|werden|nehme|nehmen|verwende|verwenden|nutze|nutzen|wechsle|wechseln"
        r"|baue|bauen|setze|setzen|ersetze|ersetzen|lasse|lassen|bleibe|bleiben|mache|machen|stelle"
        r"|stellen)\b|^(?:dann )?(?:nehme|verwende|nutze|wechsle) ich\b"
    ),
    cause=(
        r"\b(?:grund)?ursache\b[^.;]{0,100}? (?:war|ist|waren|sind|lag|liegt)\b(?! (?:nicht|noch|un"
        r"|vermutlich|wahrscheinlich|wohl))|^(?:grund)?ursache:|\bursache ist (?:gefunden|klar)\b"
        r"|\bdas (?:ist|war) (?:auch )?die ursache\b|^gefunden[:!.,] ?\S|\b(?:war|ist|lag"
        r"|lagen) die (?:eigentliche |wahre |tatsächliche )?(?:grund)?ursache\b|\b(?:der"
        r"|das) (?:eigentliche |wahre )?(?:fehler|problem|absturz)\b[^.;]{0,60}? (?:lag (?:an|in|daran)"
        r"|kam (?:von|daher|daher,)|entstand(?:,? weil)?|wurde (?:durch|von) [^.;]{2,80} (?:verursacht"
        r"|ausgelöst))|\bschuld war(?:en)?\b"
        r"|^(?:der|die|das|dass) [^.;]{2,80}? (?:lag|liegt) daran, dass\b|^(?:der|die|das) [^.;,]{2,60}?"
        r" (?:kam|kommt|rührte?) daher, (?:dass|weil)\b"
    ),
    gave_up=(
        r"\b(?:habe|haben|wurde|wurden)\b.{2,160}?\bverworfen\b|\bverworfen\b.{0,30}\b(?:weil|da"
        r"|wegen)\b|\b(?:zuerst|zunächst|erst)\b.{2,160}?\b(?:versucht|probiert"
        r"|ausprobiert)\b.{0,160}?\b(?:aber|doch|jedoch|führte|scheiterte|ging)\b|\b(?:der )?(?:erste"
        r"|ursprüngliche) (?:versuch|ansatz)\b.{0,120}?\b(?:scheiterte|schlug|funktionierte|war zu"
        r"|führte|ging)\b|\b(?:versuch|ansatz)\b.{0,80}?\b(?:ist gescheitert|scheiterte|schlug fehl)\b"
        r"|\bfunktionierte nicht,? (?:weil|da)\b"
    ),
    undone=r"\b(?:rückgängig gemacht|zurückgenommen|zurückgesetzt|zurückgerollt|revertiert)\b",
    contrast=(
        r"\b(?:statt(?:dessen)?|anstatt|anstelle|an stelle|gegenüber|und nicht|nicht (?:mehr )?(?:in|als"
        r"|mit|über)|gegen|ersetzt)\b|\bvon .{2,60} auf\b"
    ),
    reason=(
        r"[,;\u2014-]? *\b(?:weil|denn|aufgrund|wegen|da(?= (?:der|die|das|sonst|es|ein|eine|sie|wir|ich"
        r"|dort|dies|beim?|im|in|jede[rs]?|nur|so|er|man|[\wäöüß`-]+ \S+ \S+))\b"
        r"|(?:grund|begründung):)"
    ),
    leading_reason=(
        r"^(?:weil|da) (?P<reason>.{5,300}?), (?P<decision>(?:habe|haben|wird|wurde|werden|wurden|nutze"
        r"|nutzt|verwende|verwendet|entschied|nahm)\b.{5,})$"
    ),
    purpose=r"[,;]? *\b(?:damit|um .{3,120} zu \w+)\b",
    meant=r"\b(?:bewusst|absichtlich|gezielt|mit absicht)\b",
    unsure=(
        r"\b(?:vermutlich|wahrscheinlich|vielleicht|eventuell|möglicherweise|wohl|könnte|könnten|scheint"
        r"|anscheinend|ich glaube|ich denke|unklar|verdacht)\b"
    ),
    supposed=r"\b(?:falls|wenn|ob|sofern|angenommen)\b",
    told_by_others=(
        r"\b(?:laut|doku(?:mentation)?|readme|kommentar|ticket|handbuch|autor(?:en)?|damals"
        r"|ursprünglich(?:er|en)? autor|team)\b[^.;]{0,60}?\b(?:sagt|steht|heißt|empfiehlt|beschreibt"
        r"|entschied|schreibt|hat|haben)\b|\blaut\b"
    ),
    advice=(
        r"\b(?:du|sie|ihr) (?:kannst|könntest|können|könnten|solltest|sollten|müsstest|müssten|könnt)\b"
        r"|\b(?:kannst|könntest|können|könnten|solltest|sollten) (?:du|sie|ihr|wir)\b"
        r"|\b(?:ich )?(?:empfehle|schlage vor|würde|würden)\b|\bsoll ich\b|\bman könnte\b|\bwir (?:könnten"
        r"|sollten)\b|\b(?:wenn|falls) (?:du|sie|ihr)\b"
    ),
    routine=(
        r"^(?:jetzt|nun|als nächstes|zuerst|dann|ok(?:ay)?,?)? ?(?:schaue|sehe|prüfe|lese|starte|suche"
        r"|teste|lasse) ich\b|^(?:ich (?:schaue|sehe|prüfe|lese|suche|teste|starte|lasse|führe))\b"
        r"|^(?:lass mich|mal sehen)\b"
    ),
    to_do=(
        r"\b(?:noch (?:nicht|offen|zu)|offen|geplant|später|künftig|müsste|müssten|sollte|sollten"
        r"|nächste[rns]?|steht noch aus)\b"
    ),
    bare=(
        r"^(?:es|das|dies|diese[rsn]?|sie|er|beide[s]?|dadurch|damit)\b(?! (?:alte|neue|erste|zweite"
        r"|\w+ (?:wird|wurde|war|ist|liegt|nutzt|lag)))(?! \w+(?:ung|problem|fehler|format|modul|schema"
        r"|skript|paket)\b)"
    ),
    bare_object=r"\b(?:habe|haben) (?:ich|wir) (?:es|das|dies|sie|ihn) \w+\b",
    therefore=r"^(?:deshalb|daher|deswegen|darum|aus diesem grund),? (?=\w)",
    goes_on=(
        r"^(?:das|dies|so|dadurch|sonst|andernfalls|grund|begründung|weil|der grund|die alte|der alte|es)\b"
    ),
    user_decided=(
        r"\b(?:so|bereits|längst|schon lange|damals) (?:entschieden|festgelegt|vereinbart)\b"
        r"|\b(?:bei uns|hier) gilt\b|\b(?:wir|das team) (?:haben"
        r"|hat) (?:uns )?(?:\w+ ){0,12}?(?:entschieden|beschlossen|geeinigt|festgelegt)\b"
        r"|\b(?:beschlossen|entschieden) (?:ist|wurde)\b"
    ),
    speaker=r"\b(?:ich|wir)\b",
    instead=r"^stattdessen ",
    removed=r"\b(?:zurückgenommen|rückgängig|entfernt|ausgebaut|zurückgebaut)\b",
    found=(
        r"^(?:(?:ok(?:ay)?|so|ah|aha|gut|ja)[,.!: ]+)*(?:gefunden|hab(?:e)? (?:ich )?(?:es|ihn|die ursache"
        r"|den"
        r" fehler)|ich habe (?:es|ihn|die ursache|den (?:fehler|grund)|das problem)(?: gefunden)?|da (?:ist"
        r"|haben wir)"
        r" (?:es|er|ihn|der fehler)|das (?:ist|war|wars|war's)(?: es| der (?:fehler|grund|hänger|absturz)"
        r"| die"
        r" (?:ursache|erklärung))?|das erklärt(?: [\wäöüß-]+){1,6}|die ursache ist (?:gefunden|klar|bekannt)"
        r"|jetzt ist klar,? (?:warum|was passiert|woran es liegt))[.!: ]*$"
    ),
    forbids=(
        r"^(?!(?:es|das|dies|du|sie|bitte|und|aber|wenn)\b)[^.;?,]{3,100}?\b(?:darf"
        r"|dürfen) (?:\w+ ){0,4}?(?:nicht|nie"
        r"|niemals|keine?[nrms]?)\b[^.;?]{3,160}?, (?:weil|da|denn|wir haben)\b"
    ),
    given_up_now=(
        r"\b(?:das|dies) (?:funktioniert|klappt|geht) (?:so )?nicht\b|\bdoch (?:nicht|lieber)\b"
        r"|\bverwerfe\b|\banderer ansatz\b"
    ),
)
