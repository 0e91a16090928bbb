"""Owns what a heading, a label or the line before a list says about the sentences below it."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

Section = Literal["", "decision", "cause", "why", "tried", "fault", "advice"]
"""`decision`: each item is one; `cause`: of a fault; `why`: reasons; `tried`: what was given up; `fault`: how
things were, of which only a cause counts; `advice`: what isn't done, or was long ago: nothing counts."""


def heading_section(heading: str) -> Section:
    """Return what stands below a heading."""
    bare = re.sub(r"^[\W\d]+|\W+$", "", heading.lower())
    for section, pattern in _patterns():
        if pattern.fullmatch(bare):
            return section
    return ""


def lead_in_section(block: str) -> Section:
    """Return what a list holds by the sentence before it, which ends with a colon."""
    sentence = re.split(r"(?<=[.!?\u3002])\s*", block.lower().rstrip(": \uff1a"))[-1]
    if section := heading_section(sentence):
        return section
    if re.search(_ADVISING, sentence):
        return "advice"
    if re.search(_DECIDING, sentence):
        return "decision"
    return ""


def split_label(text: str) -> tuple[Section, str]:
    """Return what a label at the beginning of a text says, and the text behind it; the text if there is none.

    A label of no known meaning stays: it says what the sentence is about.
    """
    match = re.match(r"([^\W\d_][^:\uff1a.!?\n`]{1,50}?)(?:\s?[:\uff1a\u2014]\s*| [\u2013-] )(?=\S)", text)
    section = heading_section(match[1]) if match else ""
    if match and section:
        rest = text[match.end() :]
        return section, rest[0].upper() + rest[1:]
    return "", text


@cache
def _patterns() -> tuple[tuple[Section, re.Pattern[str]], ...]:
    return tuple((section, re.compile(pattern)) for section, pattern in _SECTIONS)


_ADVISING = (
    r"\byou (?:could|can|may|might|should|will want)\b|\bif you\b|\bi(?:'d| would)? (?:suggest|recommend"
    r"|propose)|\boptions?\b|\bnext\b|\bremain|\bfollow-?ups?\b|\bquestions?\b|\bdecisions? (?:for you"
    r"|you|needed|to make|pending|left|open)|\bplan\b|\bpropos|\b(?:existing|previous|earlier|current"
    r"|documented|adr)\b|\bin the docs\b|\bwill (?:need|have) to\b|\bshould\b|\bempfehl|\bvorschl"
    r"|\bnächste|\boffene?\b|\bproch(?:aine|ain)|\bsugg[eé]r|\bpr[oó]xim|\bsugier|\brecom(?:iend|mand)"
    r"|建议|下一步|提案|今後"
)
_DECIDING = (
    r"\b(?:decisions?|choices?|trade-?offs?|judge?ment calls?)\b|\bentscheidungen?\b|\bd[eé]cisions?\b"
    r"|\bchoix\b|\bdecisiones\b|\bdecisi[oó]n\b|决定|决策|決定|判断"
)
_SECTIONS: tuple[tuple[Section, str], ...] = (
    (
        "advice",
        (
            r"(?:recommended |suggested |possible |optional |remaining |open |future |further "
            r"|next )*(?:next steps?|follow-?ups?|recommendations?|suggestions?|todos?|to-?do list"
            r"|open (?:questions?|points?|decisions?)|questions?(?: for you)?|future (?:work|ideas?"
            r"|options?|improvements?)|improvements|options?|plan|proposal|proposed (?:changes|plan"
            r"|solution|approach|design|decisions?)|remaining(?: work)?|what(?:'s| is) (?:next|left)"
            r"|(?:how to )?(?:usage|use|run|test|verify|try it)|background|overview|context|how it works"
            r"|current (?:state|behaviou?r|design|implementation|architecture)|existing (?:code|design"
            r"|behaviou?r|decisions?|architecture)|what the code does|architecture|decisions? (?:needed"
            r"|for you|to make|pending|required)|pending decisions?|(?:earlier|previous|documented"
            r"|past) decisions?|open issues|if you .{1,60}|nice to have|not done|out of scope|steps?"
            r"|questions to answer|ideas?|possible causes?|hypothes[ei]s|suspects?|user(?:'s)? requests?"
            r"|pending tasks|all user messages|current work|optional next step)|(?:nächste schritte"
            r"|offene (?:fragen|punkte|entscheidungen)|empfehlung(?:en)?|vorschl(?:ag|äge)|optionen"
            r"|ausblick|bestehendes verhalten|hintergrund|überblick)|(?:prochaines étapes"
            r"|étapes suivantes|recommandations?|suggestions?|questions ouvertes|options|à faire"
            r"|contexte|état actuel)|(?:próximos pasos|siguientes pasos|recomendaci(?:ón|ones)"
            r"|sugerencias?|opciones|preguntas(?: abiertas)?|pendientes?|contexto|estado actual)|(?:下一步"
            r"|后续(?:工作|步骤)?|建议|可选方案|待办|背景|现状|问题)|(?:次のステップ|今後(?:の(?:課題|作業))?"
            r"|提案|背景|現状|質問|残作業)"
        ),
    ),
    (
        "decision",
        (
            r"(?:the |my |our |some |main |key |major |important |notable |technical |design "
            r"|implementation |architecture |architectural |engineering |final )*(?:decisions?|choices?"
            r"|trade-?offs?|design notes?|judge?ment calls?)(?: (?:made|taken|and (?:rationale|reasons?"
            r"|reasoning|trade-?offs?|why)|i made|we made|log|notes?|considered|along the way"
            r"|worth (?:knowing|noting|flagging)|& rationale))*|decided|chosen(?: approach| solution"
            r"| option)?|(?:what|things) (?:i|we) (?:decided|chose)|(?:wichtige |getroffene |zentrale "
            r"|technische )*(?:entscheidung(?:en)?|abwägung(?:en)?|designentscheidungen?"
            r"|entwurfsentscheidungen?)(?: und (?:gründe|begründung(?:en)?))?"
            r"|(?:principales )?(?:décisions?|choix)(?: (?:techniques?|de conception|prises?|clés?"
            r"|et (?:raisons|justifications?)))*|(?:principales )?decisi(?:ón|ones)(?: (?:técnicas?"
            r"|de diseño|tomadas?|clave|y (?:razones|motivos)))*|(?:关键|主要|技术"
            r"|设计)*(?:决定|决策|取舍|选择)"
            r"|(?:主な"
            r"|重要な|設計|技術)*(?:決定(?:事項)?|判断|設計判断|設計方針|選択)"
        ),
    ),
    (
        "cause",
        (
            r"(?:the )?(?:root |actual |real |underlying )?cause(?: (?:of .{2,40}|analysis))?"
            r"|root causes?|what (?:was|went|is) wrong|what (?:was )?happen(?:ed|ing)|why (?:it|this"
            r"|that|the .{2,40}?) (?:happened|happens|failed|fails|broke|breaks|crashed|crashes|hung"
            r"|hangs|leaked|flaked|was .{2,20})|(?:the )?reason for the (?:failure|bug|crash|hang|leak"
            r"|error|problem|regression)|(?:grund)?ursachen?|(?:la )?cause(?: (?:racine|première"
            r"|profonde|du problème))?|(?:la )?causa(?: raíz)?|根本原因|根因|原因"
        ),
    ),
    (
        "why",
        (
            r"(?:the )?(?:rationale|reasons?|reasoning|why|motivation|justification|why (?:this|not|it|i"
            r"|we|the) .{2,50}|why so|because)|begründung|gründe?|warum|weshalb|raisons?|justification"
            r"|pourquoi|raz(?:ón|ones)|motivos?|por qué|justificación|理由|为什么|なぜ"
        ),
    ),
    (
        "fault",
        (
            r"(?:the )?(?:problems?|issues?|bugs?|symptoms?|findings|(?:issues|problems|bugs) (?:found"
            r"|identified)|what (?:i|we) found|observations?|analysis|investigation|before"
            r"|what was broken|diagnosis)|problem(?:e|stellung)?|befunde?|analyse|problèmes?|constats?"
            r"|problemas?|hallazgos|análisis|分析|发现|現象|調査|調査結果"
        ),
    ),
    (
        "tried",
        (
            r"(?:what (?:i|we) tried|(?:also )?tried(?: and (?:rejected|abandoned|dropped|discarded"
            r"|failed))?|what (?:didn't|did not) work|dead ends?|(?:failed|abandoned|rejected"
            r"|discarded) (?:attempts?|approach(?:es)?|ideas?|alternatives?|options?)|(?:alternatives?"
            r"|options?|approaches) (?:considered|rejected|tried|ruled out)(?: and rejected)?"
            r"|(?:rejected|discarded|abandoned|ruled out|not chosen|dropped)|considered and rejected"
            r"|alternatives?|things that (?:didn't|did not) work)|verworfen(?:e (?:ansätze"
            r"|alternativen))?|was nicht funktioniert(?:e| hat)|(?:pistes?|approches?"
            r"|alternatives?) (?:abandonnées?|écartées?|rejetées?)|(?:intentos|alternativas"
            r"|enfoques) (?:fallidos|descartad[oa]s|rechazad[oa]s)|尝试过的(?:方案|方法)"
            r"|放弃的方案|試したこと"
            r"|断念した(?:案|方法)"
        ),
    ),
)
