"""Owns the Spanish phrases of decisions."""

from __future__ import annotations

from .phrases import NEVER, Phrases

SPANISH = Phrases(
    language="spanish",
    chose=(
        r"\b(?:decidí|decidimos|elegí|elegimos|opté|optamos|escogí|escogimos|preferí|preferimos"
        r"|me decidí|nos decidimos|se (?:decidió|eligió|optó|escogió))\b|\b(?:he|hemos"
        r"|se ha) (?:finalmente )?(?:decidido|elegido|optado|escogido|preferido)\b|^decisión:"
        r"|\bla decisión fue\b|\bme quedé con\b"
    ),
    did=(
        r"\b(?:he|hemos) (?!(?:ejecutado|leído|revisado|mirado|probado|buscado|visto|encontrado"
        r"|verificado|comprobado)\b)\w+(?:ado|ido|to|cho)\b|\b(?!(?:ejecut|le|revis|mir|prob|busqu|vi"
        r"|encontr|verifiqu|comprob|lanc)(?:é|í|amos)\b)\w{3,}(?:é|í)\b|\b(?:usamos|movimos|reemplazamos"
        r"|cambiamos|añadimos|guardamos|puse|hice|mantuve|mantuvimos|hicimos)\b"
    ),
    changed=r"^(?!voy|vamos)[^.;]{2,80}? (?:ahora|ya no)\b",
    announced=(
        r"\b(?:voy a|vamos a) (?:usar|utilizar|mantener|cambiar|reemplazar|guardar|mover|poner|implementar"
        r"|optar)\b|^(?:usaré|usaremos|cambiaré|reemplazaré|mantendré|guardaré)\b|\b(?:uso|usaré"
        r"|usamos) .{2,60} en (?:lugar|vez)\b"
    ),
    cause=(
        r"\bcausa (?:raíz|real|principal|de fondo|del? [^.;]{2,60}?)?\b[^.;]{0,60}? ?(?:era|fue|es|estaba"
        r"|está|eran)\b(?! (?:no|desconocid|probablemente|quizá|aún|todavía))|^causa(?: raíz)?:"
        r"|\b(?:el|la|este|esta) (?:error|fallo|problema|bug|fuga|bloqueo"
        r"|caída)\b[^.;]{0,60}? (?:se debía a|se debe a|venía de|viene de|ocurría porque|ocurre porque"
        r"|fue causad[oa] por|estaba en|era que)\b|\bel culpable (?:era|fue)\b"
        r"|^(?:el|la|los|las|lo) [^.;,]{2,60}? se (?:debía|debían|debe|deben|debió) a(?:l| que| un| la"
        r"| una)\b"
    ),
    gave_up=(
        r"\b(?:descarté|descartamos|abandoné|abandonamos|rechacé|rechazamos|renuncié)\b|\b(?:he"
        r"|hemos) (?:descartado|abandonado|rechazado)\b|\b(?:probé|intenté|probamos|intentamos"
        r"|he probado|he intentado|hemos probado)\b.{2,240}?\b(?:pero|sin embargo|falló|fallaba"
        r"|no funcion)\b|\b(?:primer|primera) (?:intento|versión|enfoque"
        r"|aproximación)\b.{0,120}?\b(?:falló|no |era demasiado|fallaba|provocaba)|\b(?:fue"
        r"|se) (?:descartad[oa]|descartó|rechazad[oa])\b"
    ),
    undone=r"\b(?:revertí|revertimos|deshice|deshicimos|he revertido|hemos revertido|restauré)\b",
    contrast=(
        r"\b(?:en (?:lugar|vez) de|en cambio|frente a|y no|en contra de|antes que|sustituí .{2,80} por"
        r"|reemplacé .{2,80} por|(?:he|hemos) (?:sustituido|reemplazado) .{2,80} por)\b"
    ),
    reason=(
        r"[,;\u2014-]? *\b(?:porque|ya que|puesto que|dado que|debido a|a causa de|pues|(?:motivo|razón):"
        r"|para evitar)"
    ),
    leading_reason=(
        r"^(?:como|dado que|puesto que|ya que|porque) (?P<reason>.{5,300}?), (?P<decision>(?:decidí"
        r"|decidimos|opté|optamos|elegí|usé|he|hemos|cambié|moví)\b.{5,})$"
    ),
    purpose=r"[,;]? *\b(?:para (?:que|no|mantener)|a fin de)\b",
    meant=r"\b(?:deliberadamente|intencionadamente|a propósito|adrede|expresamente)\b",
    unsure=(
        r"\b(?:probablemente|quizás?|tal vez|posiblemente|parece|parecía|podría|podrían|creo que|sospecho"
        r"|seguramente|supongo|hipótesis|al parecer)\b"
    ),
    supposed=r"\b(?:si (?:se|el|la|usamos|quisi|hubi|fuera)|en caso de)\b",
    told_by_others=(
        r"\bsegún (?:el|la|los|las|su|un|una|rfc|docs?|\w+ dice)\b|\b(?:documentación|readme|comentario"
        r"|ticket|autor(?:es)?|equipo"
        r"|manual)\b[^.;]{0,60}?\b(?:dice|indica|explica|recomienda|menciona|describe|eligi|decidi)"
    ),
    advice=(
        r"\b(?:puedes|podrías|deberías|puede usted|podría usted|podemos|podríamos|deberíamos|convendría"
        r"|sugiero|recomiendo|propongo|te sugiero|te recomiendo|quieres que|desea que|si (?:quieres"
        r"|prefieres|lo deseas|desea))\b"
    ),
    routine=(
        r"^(?:ahora|primero|luego|bien|vale)?,? ?(?:voy a|vamos a|déjame|veamos) (?:ver|leer|revisar|mirar"
        r"|ejecutar|comprobar|verificar|buscar|probar|empezar|lanzar|abrir|examinar)\b|^(?:veamos|reviso"
        r"|ejecuto|miro|busco)\b"
    ),
    to_do=(
        r"\b(?:aún no|todavía no|pendiente|por decidir|más adelante|próxim[oa]|falta por|queda por"
        r"|en el futuro|planead[oa])\b"
    ),
    bare=r"^(?:esto|eso|ello|este último|ésta?|él|ella|ambos)\b",
    bare_object=r"\b(?:lo|la|los|las) (?:descarté|cambié|moví|dejé|usé|reemplacé|revertí)\b",
    therefore=r"^(?:por eso|por ello|por lo tanto|por tanto|así que|de ahí que),? (?=\w)",
    goes_on=r"^(?:esto|eso|así|de lo contrario|motivo|razón|si no|la razón|porque|el anterior)\b",
    user_decided=(
        r"\btenemos (?:acordado|decidido)\b|\bestá (?:decidido|acordado)\b|\b(?:hemos"
        r"|el equipo ha) (?:decidido|acordado|elegido)\b|\b(?:decidimos|acordamos) (?:no |que "
        r"|usar )"
    ),
    speaker=r"\b(?:voy|vamos|\w+(?:aré|eré|iré|aremos|eremos)|uso|pongo|guardo|hago|dejo|cambio|usamos)\b",
    instead=r"^(?:en su lugar|en cambio),? ",
    removed=r"\b(?:revertí|quité|quitado|deshice|eliminé)\b",
    found=(
        r"^(?:(?:vale|bien|ya|ok(?:ay)?|sí|ajá)[,.!: ]+)*(?:¡?(?:lo encontré|encontrad[oa]|lo tengo|ya está"
        r"|ahí está)"
        r"|(?:he encontrado|encontré|ya sé|ya veo|ya tengo) (?:la causa|el (?:fallo|error|problema|motivo)"
        r"|por qué|qué"
        r" pasa)|(?:eso|esto) (?:lo )?explica(?: [\wáéíóúñ-]+){0,6}|(?:esa|ésa|esta) es la causa)[.!: ]*$"
    ),
    forbids=(
        r"^(?!(?:esto|eso|por favor|y|pero|si)\b)[^.;?,]{3,100}?\bno (?:debe|deben|puede|pueden)\b"
        r"[^.;?]{3,160}?,? (?:porque|ya que|pues|tenemos)\b"
    ),
    given_up_now=rf"\b(?:eso|esto) no funciona\b|\botro enfoque\b|\bmejor no\b|{NEVER}",
)
