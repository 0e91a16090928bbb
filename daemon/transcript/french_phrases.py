"""Owns the French phrases of decisions."""

from __future__ import annotations

from .phrases import Phrases

FRENCH = Phrases(
    language="french",
    chose=(
        r"\b(?:j'ai|nous avons|on a) (?:donc |finalement |plutôt |volontairement "
        r"|délibérément )*(?:choisi|opté|décidé|retenu|préféré|privilégié|tranché)\b|\b(?:a"
        r"|ont) été (?:choisie?s?|retenue?s?|décidée?s?)\b|^(?:décision|choix) ?:"
        r"|\ble choix s'est porté sur\b|^(?:choisi|opté|décidé|retenu)\b|\b(?:et|puis"
        r"|donc) (?:finalement )?(?:choisi|opté pour|décidé de)\b"
    ),
    did=(
        r"\b(?:j'ai|nous avons|on a) (?!(?:lancé|lu|vérifié|regardé|testé|cherché|constaté|exécuté|trouvé"
        r"|remarqué|relancé|essayé)\b)\w+\b|^(?:remplacé|gardé|conservé|déplacé|ajouté|supprimé|utilisé"
        r"|stocké|mis)\b"
    ),
    changed=r"^(?!je |nous allons)[^.;]{2,80}? (?:désormais|maintenant|ne .{2,20} plus)\b",
    announced=(
        r"\b(?:je vais|nous allons|on va|je) (?:donc |plutôt )?(?:utiliser|garder|passer|remplacer|prendre"
        r"|stocker|mettre|partir|implémenter|utilise|garde|passe|remplace|prends|choisis|opte)\b"
    ),
    cause=(
        r"\b(?:cause (?:racine|première|profonde|réelle|principale|exacte)|la cause|l'origine"
        r"|la vraie cause|le coupable)\b[^.;]{0,100}? (?:était|est|étaient|venait|vient|provenait)\b"
        r"(?! (?:pas|encore|inconnue|probablement|peut-être|sans doute))|^cause(?: racine)? ?:|\b(?:le|la"
        r"|l'|ce|cette) ?(?:bug|bogue|problème|erreur|panne|échec|fuite|blocage|plantage)"
        r"\b[^.;]{0,60}? (?:venait d|provenait d|était (?:dû|due|causée?|provoquée?) |est (?:dû|due"
        r"|causée?) )"
    ),
    gave_up=(
        r"\b(?:j'ai|nous avons|on a) (?:d'abord |initialement )?(?:abandonné|écarté|rejeté|renoncé)\b"
        r"|\b(?:j'ai|nous avons|on a) (?:d'abord |initialement |aussi )?(?:essayé|tenté|testé)\b.{2,240}?"
        r"\b(?:mais|or|cependant|échou|provoqu)\b|\b(?:première|premier) (?:tentative|essai|approche"
        r"|version)\b.{0,120}?\b(?:échou|ne |était trop|a provoqué|provoquait)|\b(?:a"
        r"|ont) été (?:écartée?s?|rejetée?s?|abandonnée?s?)\b"
    ),
    undone=r"\b(?:j'ai|nous avons|on a) (?:annulé|rétabli|reverté|restauré)\b|\brevenu[es]? en arrière\b",
    contrast=r"\b(?:au lieu d|plutôt qu|à la place|et non|et pas|contrairement|remplacé .{2,80} par\b)",
    reason=(
        r"[,;\u2014-]? *\b(?:parce qu['e]|car|puisqu['e]|étant donné|vu qu|en raison d|à cause d|du fait"
        r"|faute de|raison ?:|justification ?:|afin d'éviter|pour éviter)"
    ),
    leading_reason=(
        r"^(?:comme|puisque|étant donné que|parce que) (?P<reason>.{5,300}?), (?P<decision>(?:j'ai"
        r"|nous avons|on a)\b.{5,})$"
    ),
    purpose=r"[,;]? *\b(?:pour (?:que|ne pas|garder|rester)|afin d)",
    meant=r"\b(?:volontairement|délibérément|exprès|à dessein|sciemment)\b",
    unsure=(
        r"\b(?:probablement|peut-être|sans doute|semble|semblait|pourrait|pourraient|il se peut|je pense"
        r"|je crois|je soupçonne|sûrement|hypothèse|apparemment|vraisemblablement)\b"
    ),
    supposed=r"\b(?:si (?:on|nous|je|vous|tu|l)|au cas où|à condition)\b",
    told_by_others=(
        r"\b(?:selon|d'après)\b|\b(?:documentation|doc|readme|commentaire|ticket|auteurs?|mainteneurs?"
        r"|équipe)\b[^.;]{0,60}?\b(?:dit|indique|explique|recommande|précise|décrit|a choisi|ont choisi"
        r"|avait|ont décidé|a décidé)\b"
    ),
    advice=(
        r"\b(?:vous|tu) (?:pouvez|pourriez|devriez|peux|pourrais|devrais|voudrez)\b|\b(?:je (?:suggère"
        r"|recommande|propose|conseille|vous suggère|vous recommande|vous propose|te suggère)|on pourrait"
        r"|nous pourrions|il faudrait|voulez-vous|souhaitez-vous|veux-tu|dois-je|faut-il)\b|\bsi (?:vous"
        r"|tu)\b"
    ),
    routine=(
        r"^(?:maintenant|ensuite|d'abord|bien|ok)?,? ?(?:je (?:vais )?(?:regarde|lis|vérifi|lance|cherche"
        r"|exécute|teste|ouvr|lire|examine|commence)|voyons|regardons)"
    ),
    to_do=(
        r"\b(?:pas encore|reste à|à décider|à faire|plus tard|prochaine|ultérieur|prévu|il reste"
        r"|en attente)"
    ),
    bare=r"^(?:il|elle|ils|elles|cela|ça|c'est|c'était|ceci|celui-ci|celle-ci|ce dernier)\b",
    bare_object=r"\b(?:je l'ai|nous l'avons|on l'a|je les ai)\b",
    therefore=r"^(?:c'est pourquoi|c'est pour cela que|du coup|donc|par conséquent),? (?=\w)",
    goes_on=r"^(?:cela|ça|il|elle|raison|justification|sinon|la raison|l'ancien|c'est|en effet)\b",
    user_decided=(
        r"\bc'est (?:acté|décidé|convenu)\b|\b(?:règle|politique) de l'équipe\b|\b(?:nous avons|on a"
        r"|l'équipe a) (?:tous )?(?:décidé|convenu|choisi|acté)\b"
    ),
    speaker=r"\b(?:je|j'\w+|nous|on)\b",
    instead=r"^(?:à la place|au lieu de cela),? ",
    removed=r"\b(?:annulé|retiré|supprimé)\b",
    found=(
        r"^(?:(?:bon|ok(?:ay)?|ah|oui|alors)[,.!: ]+)*(?:trouvé|(?:j'ai|je l'ai|on a) (?:trouvé|compris)"
        r"(?: (?:la cause|le (?:bug|problème|coupable)|l'erreur|pourquoi))?|je (?:vois|comprends"
        r"|sais) (?:maintenant )?"
        r"pourquoi|(?:ça|cela|ceci|voilà qui) explique(?: [\w'àâçéèêëîïôûù-]+){1,6}|la cause est (?:claire"
        r"|trouvée|connue)"
        r"|c'est (?:ça|là|la cause|le coupable)|voilà la cause) ?[.!: ]*$"
    ),
    forbids=(
        r"^(?!(?:il|elle|cela|ça|ce|merci|et|mais|si|tu|vous)\b)[^.;?,]{3,100}?\bne (?:doit|doivent|peut"
        r"|peuvent) "
        r"(?:pas|jamais)\b[^.;?]{3,160}?,? (?:parce qu|car|puisqu|nous avons|on a)"
    ),
    given_up_now=r"\b(?:ça|cela) ne (?:marche|fonctionne) pas\b|\bautre approche\b|\bfinalement non\b",
)
