"""Function words of several languages, which name nothing in code."""

from __future__ import annotations

from ..core.vocabulary import words

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
ohne sein seine sich sie sind so soll um und uns unser unter vom von vor wann war warum was welche
welcher welches wenn wer werden wie wieder wieso wir wird wo woher zu zum zur über
"""
_ROMANCE = """
au aux avec ce ces cette comment dans de des du elle elles en est et il ils je la le les leur lui mais mes
mon ne nos notre nous ou où é par pas pour pourquoi qu quand que quel quelle quelles quels qui quoi sa sans
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
"""Stop words that aren't English stop words."""

ALSO_ENGLISH = words("bin com comment con de den hat man per pour son war")
"""Those that are English words or names in code too; alone one doesn't show another language."""
