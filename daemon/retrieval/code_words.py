"""Owns the words for kinds of code, for changes and for what they do, in nine languages."""

from __future__ import annotations

import re

from .vocabulary import words

KINDS = words(
    (
        "function functions method methods class classes interface interfaces struct structs enum enums "
        "type types trait traits module modules"
    ),
    (
        "package packages file files constant constants variable variables field fields property "
        "properties attribute attributes symbol symbols"
    ),
    (
        "hook hooks decorator decorators macro macros protocol protocols constructor constructors object "
        "objects member routine routines"
    ),
    (
        "procedure procedures alias aliases typedef mixin record records union exception exceptions header "
        "headers namespace crate library"
    ),
    (
        "handler handlers component components service services endpoint endpoints command commands helper "
        "helpers script scripts"
    ),
    (
        "global globals operator callback callbacks getter setter middleware event signal site sites "
        "places place spots lines line code"
    ),
    (
        "funktion funktionen methode methoden klasse klassen schnittstelle schnittstellen datei dateien "
        "modul module variable konstante typ typen feld"
    ),
    (
        "fonction fonctions méthode méthodes classe classes interface fichier fichiers modules constante "
        "attribut énumération"
    ),
    (
        "función funciones método métodos clase clases interfaz archivo archivos fichero módulo módulos "
        "constante variable"
    ),
    "função funções método métodos arquivo arquivos ficheiro módulo constante variável",
    "funzione funzioni metodo metodi classe classi interfaccia file modulo moduli costante variabile",
    (
        "функция функции функцию функций метод метода методы класс класса классы классов интерфейс файл "
        "файла файлы файлов модуль модули переменная"
    ),
)
"""Words for kinds of definitions, which make the plain word next to them a name: `the login function`."""

PLURAL_KINDS = words(
    (
        "functions methods classes interfaces structs enums types traits constants variables fields "
        "properties attributes symbols members exports"
    ),
    (
        "definitions constructors macros hooks components tests headings sections routes endpoints globals "
        "routines procedures"
    ),
    (
        "funktionen methoden klassen felder fonctions méthodes funciones métodos clases funções funzioni "
        "metodi classi функции методы классы"
    ),
)
"""What a file or class has, together its outline."""

PARTS = words(
    """
    parameter parameters argument arguments return value values result results default defaults signature
    name names type types body order number count behaviour behavior output outputs visibility instance
    instances object objects copy copies option options key keys entry entries content contents first second
    third last optional required declaration definition implementation error errors message shape schema
    meaning semantics contract rest format
    parametern rückgabewert wert paramètre paramètres valeur retour parámetro parámetros valor retorno
    parâmetro parâmetros parametro parametri valore ritorno параметр параметры значение
    """
)
"""Words for a part of a symbol, of which a relation is asked as of the whole: `the return value of f`."""

ADVERBS = words(
    (
        "all else directly indirectly transitively recursively also still currently actually ever really "
        "even internally exactly only often"
    ),
    (
        "otherwise eventually explicitly again just both now ends end up ending get gets got being been "
        "anywhere everywhere somewhere"
    ),
    (
        "or public private exported static transitive indirect direct recursive whole entire full other "
        "every single possible there here upstream downstream remaining existing known various external internal"
    ),
    "alle alles überall noch direkt indirekt tous toutes todos todas todo tutti tutte все всё везде где-либо",
)

CHANGES = re.compile(
    r"(?:chang(?:e|es|ed|ing)|renam(?:e|es|ed|ing)|remov(?:e|es|ed|ing)|delet(?:e|es|ed|ing)|modif(?:y"
    r"|ies|ied|ying)|refactor(?:s|ed|ing)?|touch(?:es|ed|ing)?|mov(?:e|es|ed|ing)"
    r"|edit(?:s|ed|ing)?|drop(?:s|ped|ping)?|replac(?:e|es|ed|ing)|updat(?:e|es|ed|ing)|alter(?:s|ed"
    r"|ing)?|break(?:s|ing)?|deprecat\w+|rewrit(?:e|es|ing)|rewritten"
    r"|änder\w*|geändert|lösch\w*|umbenenn\w*|entfern\w*|chang(?:er|é|ée|eons)|modifi\w+|supprim\w+"
    r"|renomm\w+|cambi\w+|modific\w+|elimin\w+|renombr\w+|borr\w+|mud\w+|alter\w+|remov\w+|renome\w+"
    r"|rimuov\w+|rinomin\w+|измен\w+|удал\w+|переимен\w+|помен\w+)"
)
WEAK_CHANGES = words(
    "become becomes became make made making turn turned turns switch switched convert converted converting "
    "extract extracted inline inlined split merge merged add added adding"
)
"""Words for a change only behind `if`: `what breaks if I make X private`, but not `what makes X fail`."""

BREAKS = re.compile(
    r"(?:break|breaks|broken|affect|affects|affected|impact|impacts|impacted|fail|fails|happens?|stops?"
    r"|safe|safely|kaputt|bricht|betroffen|passiert|casse|cassera|affecté\w*|impacté\w*|rompe\w*"
    r"|afecta\w*|quebra\w*|afeta\w*"
    r"|si rompe|succede|rompo|сломается|ломается|затронет|затронут\w*|depend|depends|update|adapt|rerun"
    r"|re-run|run|suffers?|hit|touched|invalidated)"
)
CONNECTS = re.compile(
    r"(?:path|paths|route|chain|connect\w*|connection|reach|reaches|reached|reachable|relat(?:e|es|ed"
    r"|ion|ionship)|link|linked|links|interact|lead|leads|arrive|arrives"
    r"|pfad|weg|verbindung|verbunden|zusammen|zusammenhängen|chemin|lien|lié|liés|reliés?|camino"
    r"|relación|relacionad[oa]s?|relacionan|conecta[dn]?[oa]?s?|caminho|relação|percorso|collegat[oi]"
    r"|collegano|путь|связан[ыа]?|связаны|связь)"
)
