"""Owns the German, French and Spanish signals of decisions."""

from __future__ import annotations

from .signals import Signals

GERMAN_SIGNALS = Signals(
    limits=(
        r"\b(?:höchstens|mindestens|maximal|bleibt unter|nicht mehr als|auf \d+ (?:\w+ )?begrenzt"
        r"|von \d+ \w* ?auf"
        r" \d+)\b"
    ),
    beyond=r"^(?:darüber|darunter|ab (?:da|dort|\d+)|mit \d+|bei \d+|mehr|längere?|größere?|kleinere?)\b",
    acts=(
        r"\b(?:ich|wir) (?!(?:seh|schau|prüf|les|teste|such|starte|führ|glaub|denk|vermut|find|will|möcht"
        r"|kann|könn|brauch|versuch|hab|bin|wäre|würd))\w+\b|\b(?:hole|lege|nehme|nutze|verwende|schreibe"
        r"|speichere|stelle|setze|lasse|behalte|ersetze|verschiebe|baue|mache) (?:ich|wir)\b|\b(?:habe|haben)"
        r" (?:ich|wir)?\b.{3,160}?\b(?:ge\w+(?:t|en)|\w+iert|ver\w+(?:t|en)|er\w+(?:t|en)|um\w+(?:t|en))\b"
    ),
    now=r"\b(?:jetzt|nun|nicht mehr|künftig|ab sofort)\b",
    contrast=r"\b(?:statt|anstatt|anstelle|und nicht|nicht .{2,80}?,? sondern|ohne)\b",
    consequence=r"\b(?:damit|sodass|so dass|deshalb|dadurch|daher|sonst|deswegen|um .{3,60} zu)\b",
    alternative=r"\b(?:wäre|hätte|würde)\b|^(?:die )?alternative\b|^(?:so|dadurch|damit)\b",
    trade=r"\b(?:dafür|zwar .{2,80} aber|kostet|reicht)\b",
    symptom=(
        r"(?:fehl|verlier|verlor|verloren|hängt|häng|absturz|abstürz|stürzt|leck|doppelt|falsch|leer|veraltet"
        r"|langsam|blockier|gesperrt|zu (?:spät|früh|viel|groß|lang)|\bnie\b|nicht mehr|kaputt|überschr"
        r"|verschluck|ignorier|timeout|ruckel|flacker|springt|verschwind|verschwund|bleibt|läuft über"
        r"|kollidier"
        r"|zweimal|mehrfach|neues? mit|abgebroch|abgeschnitten|verschoben|verworfen|ausgesperrt|abgelehnt)"
    ),
    links=(
        r"\b(?:weil|da|denn|wegen|durch|deshalb|dadurch|daher|sodass|so dass|während|obwohl|bevor|nachdem"
        r"|wenn"
        r"|sobald|liegt an|kommt (?:von|daher))\b|(?<=\w)[`)]?(?::|;| \u2013| \u2014) (?=\S+ \S+ \S+)"
    ),
    points=(
        r"\b(?:ursache|grund|schuld|liegt (?:an|daran)|lag (?:an|daran)|kommt (?:von|daher|aus)|kam (?:von"
        r"|daher"
        r"|aus)|stammt|entsteht|verursacht|ausgelöst|stellt sich heraus|das erklärt|gefunden:|deshalb)\b"
    ),
    complains=(
        r"(?:warum|wieso|ursache|fehler|beheb|kaputt|verlier|häng|abst[uü]rz|langsam|falsch|doppelt|fehlt"
        r"|leck"
        r"|\b(?:findet|geht|lädt|kommt|zeigt|speichert|reagiert|startet)\b.{0,40}\bnicht\b"
        r"|\bbug|problem|ruckel|nicht (?:mehr|richtig)|bricht|scheiter|funktioniert)"
    ),
    judges=(
        r"\b(?:ging (?:es )?nicht|geht (?:so )?nicht|(?:klappt|funktioniert|reicht|hilft|half|genügt"
        r"|klappte|funktionierte|reichte)\w* .{0,40}?nicht|bringt (?:nichts|nur|kaum)|brachte (?:nichts|nur"
        r"|kaum)|kaum|schlechter|langsamer|sackgasse|zu (?:langsam|groß|teuer|grob|aufwendig)|lässt sich"
        r"|verschiebt nur|verschob nur|scheitert\w*|bricht)\b"
    ),
    abandons=(
        r"\b(?:verworfen|verwerfe|aufgegeben|gebe .{2,60} auf|zurückgenommen|nehme .{2,60} zurück|rückgängig"
        r"|zurückgerollt|zurückgesetzt|zurückgestellt|zurückgebaut|wieder (?:entfernt|ausgebaut|raus"
        r"|herausgenommen|zurück)|lasse .{2,40} fallen|verzichte)\b"
    ),
    checks=(
        r"^(?:der |die |das |alle |ein |eine )?(?:\S+ ){0,2}?"
        r"\w*(?:tests?|build|linter|fixtures?|doku\w*)\b"
    ),
)
FRENCH_SIGNALS = Signals(
    limits=(
        r"\b(?:au plus|au moins|au maximum|limitée?s? à|plafonnée?s? à|pas plus de"
        r"|passée? de \d+ \w* ?à \d+)\b"
    ),
    beyond=r"^(?:au[- ]delà|au-dessus|en dessous|avec \d+|à \d+|plus (?:longs?|grande?s?))\b",
    acts=(
        r"\bj'ai (?:donc |aussi |finalement )?(?!(?:regardé|lu|vérifié|lancé|cherché|testé|essayé|trouvé"
        r"|relancé)\b)\w+(?:é|i|is|it|u|t)\b|\bnous avons \w+(?:é|i|is|u|t)\b|\bje (?!(?:vais (?:voir"
        r"|regarder|lire|lancer|vérifier|chercher|tester|essayer)|regarde|lis|vérifie|lance|cherche|teste"
        r"|pense|crois|suis|reproduis|commence|essaie))\w+\b|\bj'(?!(?:essa|ai\b|étais|aurais|aimerais))\w+\b"
    ),
    now=r"\b(?:maintenant|désormais|dorénavant|ne .{2,40} plus)\b",
    contrast=r"\b(?:plutôt que|au lieu d|et non|à la place|sans)\b",
    consequence=(
        r"\b(?:pour que|afin (?:de|que)|donc|ainsi|ce qui|de sorte que|si bien que|sinon|du coup"
        r"|pour (?:éviter|ne pas|garder))"
    ),
    alternative=r"\b(?:aurait|serait|faudrait|l'autre (?:option|solution|piste))\b|^ainsi\b",
    trade=r"\b(?:au prix|moins .{2,60} mais|coûte|suffit)\b",
    symptom=(
        r"(?:plant|erreur|exception|perd|fuite|bloqu|doubl|manqu|faux|fausse|vide|périm|lent|jamais|deux fois"
        r"|n'existe pas|disparaî|disparai|trop (?:tôt|tard|grand|long)|écras|ignor|dépass|expir|échou|cass"
        r"|décal"
        r"|interbloc|saut|tronqu|corromp|satur|crois|figé|gel)"
    ),
    links=(
        r"\b(?:parce qu|car|puisqu|comme|à cause d|en raison d|du fait|donc|alors|tandis qu|alors qu|quand"
        r"|lorsqu|avant|après|si bien qu)|\bvien(?:t|nent) d|(?<=\w)[`)]? ?(?::|;| \u2013"
        r"| \u2014) (?=\S+ \S+ \S+)"
    ),
    points=(
        r"\b(?:cause|coupable|vien(?:t|nent) d|venai(?:t|ent) d|dû à|due à|dus à|provoqu|provient|s'explique"
        r"|explique|en fait|il s'avère|trouvé|c'est (?:pour ça|pourquoi|là))"
    ),
    complains=(
        r"(?:pourquoi|corrig|répar|bug|bogue|erreur|plant|lent|cass|perd|manqu|double|faux|fausse|bloqu|fuite"
        r"|problème|échou|ne (?:marche|fonctionne))"
    ),
    judges=(
        r"\b(?:ne (?:convient|marche|fonctionne|suffit|résout|règle|change|tient)|n'(?:aide|est pas (?:assez"
        r"|suffisant|viable)|a pas (?:suffi|aidé|marché))|pire|plus lent|impasse|à peine|trop (?:lent|lourd"
        r"|gros|cher|fragile|grossi)|disparai\w+|casse|bloqu\w+|ne fait que)\b"
    ),
    abandons=(
        r"\b(?:abandonn\w+|renonc\w+|écart\w+|annul\w+|retir\w+|enlev\w+|reven\w+ (?:en arrière|à|sur)"
        r"|suis revenu|laisse tomber|rétabli\w*)\b"
    ),
    checks=r"^(?:le |la |les |un |une |tous les )?(?:\S+ ){0,2}?(?:tests?|build|compilation|lint\w*)\b",
)
SPANISH_SIGNALS = Signals(
    limits=(
        r"\b(?:como (?:máximo|mucho|mínimo)|a lo sumo|al menos|limitad[oa]s? a|no más de|de \d+ \w* ?a \d+)\b"
    ),
    beyond=r"^(?:más allá|por encima|por debajo|con \d+|a partir de)\b",
    acts=(
        r"\b(?:he|hemos) (?!(?:ejecutado|leído|revisado|mirado|probado|buscado|visto|encontrado|verificado"
        r"|comprobado|intentado)\b)\w+(?:ado|ido|to|cho)\b|\b(?:voy|vamos) a (?!(?:ver|leer|revisar|mirar"
        r"|ejecutar|comprobar|verificar|buscar|probar|empezar|lanzar|abrir|examinar|intentar)\b)\w+\b"
        r"|^(?!(?:reviso|ejecuto|miro|busco|como|cuando|todo|ahora|solo|pero|primero|luego|bien|listo|hecho"
        r"|corregido|caso|tiempo|cierro|código|archivo)\b)\w{3,}[oé]\b (?=el|la|los|las|un|una|cada|`)"
        r"|\b(?:cambié|moví|guardé|añadí|reemplacé|usé|puse|hice|dejé|separé)\b"
    ),
    now=r"\b(?:ahora|ya no|a partir de ahora)\b",
    contrast=r"\b(?:en (?:lugar|vez) de|y no|en cambio|sin)\b",
    consequence=(r"\b(?:para que|así|de (?:modo|forma) que|por lo que|de lo contrario|para (?:no|evitar))\b"),
    alternative=r"\b(?:habría|hubiera|sería|la otra opción)\b|^así\b",
    trade=r"\b(?:a costa de|menos .{2,60} pero|cuesta|basta)\b",
    symptom=(
        r"(?:fall|error|excepci|perd|pierd|fuga|bloque|duplic|falt|mal\b|incorrect|vací|obsolet|lent|nunca"
        r"|dos veces|desaparec|demasiado|ignor|sobrescrib|caduc|expir|romp|roto|salta|cort|corromp|colg|cuelg"
        r"|congel|crece)"
    ),
    links=(
        r"\b(?:porque|ya que|pues|como|debido a|por culpa|viene de|así que|por eso|por lo que|mientras|aunque"
        r"|cuando|antes de|después de|si bien)\b|(?<=\w)[`)]?(?::|;| \u2013| \u2014) (?=\S+ \S+ \S+)"
    ),
    points=(
        r"\b(?:causa|culpable|viene[n]? de|venía[n]? de|se deb[eí]\w* a|provoc\w+|resulta que|explica|motivo"
        r"|encontrado|el problema (?:es|era|está|estaba))\b"
    ),
    complains=(
        r"(?:por qué|motivo|arregl|corri|bug|error|fall|lent|rot[oa]|pierd|falta|duplic|mal\b|bloque|fuga"
        r"|problema|no funciona|se cuelga)"
    ),
    judges=(
        r"\b(?:no (?:sirv\w+|funcion\w+|bast\w+|resuelv\w+|resolvi\w+|ayud\w+|alcanz\w+|cambi\w+|escal\w+)"
        r"|peor|más lent\w+|callejón sin salida|apenas|demasiado \w+|rompe|rompió|provoc\w+|interbloque\w+)\b"
    ),
    abandons=(
        r"\b(?:descart\w+|abandon\w+|renunci\w+|revert\w+|revierto|deshic\w+|deshago|quit(?:o|é|ado) .{0,40}?"
        r"(?:de nuevo|otra vez)|retir(?:o|é|ado)|vuelvo (?:a|atrás)|volví (?:a|atrás)|dejo de lado)\b"
    ),
    checks=(
        r"^(?:el |la |los |las |un |una |todas las )?(?:\S+ ){0,2}?"
        r"(?:pruebas?|tests?|compilaci\w+|lint\w*)\b"
    ),
)
