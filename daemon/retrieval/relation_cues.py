"""Owns the words that stand for an edge of the code graph, in nine languages, and which way they point."""

from __future__ import annotations

from typing import Literal

from ..core.lazy_dataclass import dataclass
from ..project.vocabulary import words
from .patterns import any_of

Relation = Literal[
    "callers",
    "callees",
    "references",
    "definition",
    "importers",
    "imports",
    "subclasses",
    "superclasses",
    "implementations",
    "overrides",
    "tests",
    "impact",
    "outline",
    "connection",
    "cycles",
    "unused",
]
"""`definition` includes signatures, `connection` is a path between two subjects; `cycles` and `unused` may
have no subject."""

Voice = Literal["active", "passive", "noun"]


@dataclass(frozen=True, slots=True)
class Cue:
    """A word for a relation. `incoming` is what is asked when the subject is what the edge leads to (`what
    calls X`), `outgoing` when it comes from there (`what does X call`). With `surely` only a sure name can be
    the subject: the word is common in talk about behaviour, too.
    """

    voice: Voice
    incoming: Relation
    outgoing: Relation | None
    surely: bool = False


_ROWS: tuple[tuple[Cue, str], ...] = (
    (
        Cue("active", "callers", "callees"),
        """
        call calls calling invoke invokes invoking trigger triggers triggering ruft rufen aufruft
        aufrufen appelle appellent appelant invoque invoquent llama llaman invoca invocan chama chamam
        invocam chiama chiamano invocano вызывает вызывают вызывать
        """,
    ),
    (
        Cue("passive", "callers", "callees"),
        """
        called invoked triggered aufgerufen appelé appelée appelés appelées invoqué invoquée llamado
        llamada llamados invocado invocada chamado chamada chamados chiamato chiamata chiamati
        вызывается вызываются вызван вызвана
        """,
    ),
    (
        Cue("noun", "callers", "callees"),
        """
        caller callers callsite callsites call-site call-sites invocation invocations aufrufer aufrufe
        aufrufstellen appelants appels llamadores llamadas chamadores chamadas chiamanti chiamate вызовы
        вызовов
        """,
    ),
    (
        Cue("active", "callers", None, surely=True),
        """
        hit hits hitting kick-off kicks-off kicking-off fire fires firing execute executes executing
        spawn spawns dispatch dispatches render renders rendering lead-to leads-to leading-to arrive-at
        arrives-at talk-to talks-to talking-to
        """,
    ),
    (
        Cue("passive", "callers", "callees", surely=True),
        """
        fired executed spawned dispatched kicked-off
        """,
    ),
    (
        Cue("noun", "callees", "callers"),
        """
        callee callees
        """,
    ),
    (
        Cue("active", "references", None),
        """
        use uses using make-use makes-use making-use reference references referencing refer refers
        benutzen verwenden nutzt nutzen referenziert utilise utilisent utilisant usa usan utiliza
        utilizan usam utilizam usano utilizza utilizzano использует используют обращается ссылается
        """,
    ),
    (
        Cue("active", "references", None, surely=True),
        """
        access accesses accessing reads reading write writes writing set sets modify modifies mutate
        mutates assign assigns instantiate instantiates construct constructs consume consumes mention
        throw throws raise raises catch catches catching create creates touch touches pass passes emit
        emits liest schreibt lit
        écrit lee lê legge читает пишет
        """,
    ),
    (
        Cue("passive", "references", None, surely=True),
        """
        in-use created caught show-up shows-up turn-up turns-up appear appears occur occurs come-up
        comes-up accessed read
        written modified mutated assigned instantiated constructed consumed mentioned thrown raised
        emitted
        """,
    ),
    (
        Cue("passive", "references", "callees"),
        """
        used referenced benutzt verwendet genutzt gebraucht utilisé utilisée utilisés utilisées usado
        usada usados usadas utilizado utilizada usato usata utilizzato utilizzata используется
        используются
        """,
    ),
    (
        Cue("noun", "references", None),
        """
        cross-reference cross-references usage usages assignment assignments instantiation instantiations
        occurrence occurrences mentions
        refs xrefs verwendungen verwendung referenzen utilisations références usos referencias
        referências usi utilizzi riferimenti использования использование использований ссылки
        """,
    ),
    (
        Cue("active", "importers", "imports"),
        """
        pull-in pulls-in pulling-in bring-in brings-in build-on builds-on build-upon builds-upon import
        imports importing include includes including require requires requiring depend depends depending
        rely relies importiert importieren importe hängt hängen abhängt abhängen importent importa importan
        importam importano dépend dépendent depende dependen dependem dipende dipendono импортирует
        импортируют зависит зависят подключает подключают
        """,
    ),
    (
        Cue("passive", "importers", "imports", surely=True),
        """
        pulled-in brought-in imported included required importé importée importés importado importada
        importados importato
        importata импортируется импортируются
        """,
    ),
    (
        Cue("noun", "importers", None),
        """
        importer importers consumer consumers dependent dependents reverse-dependencies dependant
        dependants includers importeure
        """,
    ),
    (
        Cue("noun", "imports", None),
        """
        import-statements import-statement import-list dependencies dependency deps abhängigkeiten
        importations dépendances importaciones
        dependencias importações dependências importazioni dipendenze импорты импортов зависимости
        """,
    ),
    (
        Cue("active", "subclasses", "superclasses"),
        """
        extend extends extending inherit inherits inheriting derive derives deriving derived subclassing
        erbt erben erweitert erweitern ableiten abgeleitet hérite héritent héritant étend étendent
        hereda heredan extiende extienden herda herdam estende estendem eredita ereditano estendono
        наследует наследуют наследуется наследуются расширяет расширяют
        """,
    ),
    (
        Cue("active", "subclasses", "superclasses", surely=True),
        """
        based-on specialize specializes specializing specialise specialises
        """,
    ),
    (
        Cue("passive", "subclasses", "superclasses", surely=True),
        """
        extended inherited subclassed
        """,
    ),
    (
        Cue("noun", "subclasses", "superclasses"),
        """
        child child-class child-classes derived-class derived-classes sub-class sub-classes subclass
        subclasses subtype subtypes children descendants heirs unterklassen unterklasse sous-classes
        subclases subclase sottoclassi подклассы подклассов наследники наследников потомки
        """,
    ),
    (
        Cue("noun", "superclasses", "subclasses", surely=True),
        """
        inheritance lineage super-class super-classes superclass superclasses supertype supertypes
        parent parents base bases ancestor ancestors ancestry hierarchy mro oberklasse oberklassen
        elternklasse basisklasse vererbungshierarchie klassenhierarchie superclasse superclase padre
        mère hierarchie hiérarchie jerarquía hierarquia gerarchia суперкласс родитель родительский
        иерархия иерархию предки
        """,
    ),
    (
        Cue("active", "implementations", "superclasses"),
        """
        implement implements implementing conform conforms conforming satisfy satisfies satisfying
        implementiert
        implementieren implémente implémentent implementa implementan implementam implementano реализует
        реализуют
        """,
    ),
    (
        Cue("active", "implementations", "superclasses", surely=True),
        """
        fulfil fulfill fulfils fulfills fulfilling realize realizes realizing realise realises adhere-to
        adheres-to adhering-to
        """,
    ),
    (
        Cue("passive", "implementations", "superclasses", surely=True),
        """
        implemented implementado implementada реализован
        """,
    ),
    (
        Cue("noun", "implementations", "superclasses"),
        """
        realization realizations realisation realisations implementation implementations implementer
        implementers implementor implementors implementierungen
        implémentations implementaciones implementações implementazioni реализации реализаций
        """,
    ),
    (
        Cue("active", "overrides", "overrides"),
        """
        override overrides overriding redefine redefines redefining reimplement reimplements
        reimplementing re-implement re-implements re-implementing überschreibt überschreiben redéfinit
        redéfinissent surcharge surchargent sobrescribe sobrescriben sobreescribe sobreescriben
        redefinen sobrescreve sobrescrevem sovrascrive sovrascrivono переопределяет переопределяют
        """,
    ),
    (
        Cue("passive", "overrides", None),
        """
        overridden overriden redefined reimplemented re-implemented überschrieben redéfini redéfinie
        surchargée surchargé sobrescrito
        sobrescrita sovrascritto переопределяется переопределён переопределен
        """,
    ),
    (
        Cue("active", "definition", "outline"),
        """
        define defines declare declares definieren déclare defina definisce dichiara определяет
        объявляет
        """,
    ),
    (
        Cue("active", "definition", "outline", surely=True),
        """
        contain contains hold holds export exports exporting expose exposes exportiert enthält contient
        contiene contém содержит экспортирует exporta esporta exporte
        """,
    ),
    (
        Cue("passive", "definition", "outline"),
        """
        defined declared located exported exposed definiert deklariert définie défini définis définies
        déclarée déclaré définit definido definida definidos definidas declarado declarada definito
        definita definiti dichiarato dichiarata определён определен определена определяется определено
        объявлен объявлена объявлено находится
        """,
    ),
    (
        Cue("noun", "definition", None),
        """
        definition definitions declaration declarations signature signatures prototype definición
        definição definizione définition déclaration declaración declaração dichiarazione signatur firma
        assinatura определение объявление сигнатура сигнатуру
        """,
    ),
    (
        Cue("noun", "definition", None, surely=True),
        """
        location locations whereabouts parameters arguments params args arity
        """,
    ),
    (
        Cue("noun", "tests", None),
        """
        test-case test-cases test-function test-functions test-suite test tests spec specs testfälle
        testfall pruebas testes тест тесты тестов testcases
        """,
    ),
    (
        Cue("active", "tests", None),
        """
        cover covers covering exercise exercises testet testen teste testent prueba prueban testa testam
        cubre cubren
        """,
    ),
    (
        Cue("passive", "tests", None),
        """
        tested covered exercised getestet abgedeckt testé testée probado probada testado testada testato
        протестирован протестирована покрыт покрыта тестируется
        """,
    ),
    (
        Cue("noun", "impact", None),
        """
        downstream-of impact impacts consequences radius ripple auswirkungen auswirkung impacto impatto
        последствия
        влияние
        """,
    ),
    (
        Cue("noun", "outline", None),
        """
        outline members skeleton
        """,
    ),
    (
        Cue("noun", "outline", None, surely=True),
        """
        structure api
        """,
    ),
)

DEPENDING = words(
    """
    depend depends depending rely relies build-on builds-on build-upon builds-upon hängt hängen abhängt
    abhängen dépend dépendent depende dependen dependem dipende dipendono зависит зависят consumer consumers
    dependent dependents dependant dependants
    """
)
"""Of the words for importers those that are said of a symbol as well as of a module."""

CUES: dict[str, Cue] = {word: cue for cue, line in _ROWS for word in line.split()}
"""Each word with its relation; in one row only."""

CJK_CUES: tuple[tuple[Relation, str], ...] = (
    (
        "connection",
        (r"[NP].*[NP].*(?:路径|关系|联系|経路|関係|つなが|繋が)|(?:路径|関係|経路).*[NP].*[NP]"),
    ),
    ("tests", (r"(?:测试|テスト|테스트)")),
    ("overrides", (r"重写|覆盖|オーバーライド|오버라이드")),
    (
        "subclasses",
        (
            r"(?:继承|擴展|扩展).{0,3} ?[NP]"
            r"|[NP] ?(?:を|の)?(?:継承|サブクラス|子クラス|的子类|派生)|子类|サブクラス|상속"
        ),
    ),
    (
        "superclasses",
        (
            r"父类|基类|超类|親クラス|基底クラス|スーパークラス|继承(?:了|自)?(?:哪|什么)"
            r"|부모 클래스"
        ),
    ),
    ("implementations", (r"(?:实现)(?:了)? ?[NP]|[NP] ?(?:を)実装|[NP] ?的?实现(?:类|有)|구현")),
    (
        "importers",
        (
            r"(?:导入|引用|依赖|引入)(?:了|于)? ?[NP]"
            r"|[NP] ?(?:を)(?:インポート|import|読み込)|[NP] ?に依存|임포트"
        ),
    ),
    ("imports", (r"[NP] ?(?:导入|引入|依赖|は何をインポート|が(?:インポート|依存))")),
    (
        "callees",
        (
            r"[NP] ?(?:里|中|内部)?(?:调用|呼叫)(?:了)?(?:哪|什么|谁)"
            r"|[NP] ?(?:が|は|の中で).{0,8}呼(?!ば)"
        ),
    ),
    ("callers", (r"调用|呼叫|呼び出|呼ん|呼ば|コール|호출")),
    (
        "impact",
        (
            r"(?:修改|更改|删除|重命名|改|変更|削除).{0,6}[NP].{0,20}(?:影响|破坏|影響|壊)"
            r"|[NP].{0,6}(?:変更|削除|修改|删除).{0,16}(?:影響|影响|壊)"
        ),
    ),
    ("references", (r"使用|用到|引用|使って|使われ|参照|사용")),
    (
        "definition",
        (r"定义|声明|定義|宣言|签名|シグネチャ|[NP] ?(?:在哪|在什么地方|はどこ|はどのファイル)|정의"),
    ),
    (
        "outline",
        (
            r"(?:有|包含|导出)(?:了)?(?:哪些|什么)(?:函数|方法|类|接口|属性)"
            r"|列出.{0,4}[NP].{0,6}(?:函数|方法|类|接口)$"
            r"|(?:の|にある|内の)(?:関数|メソッド|クラス)(?:一覧|を)|大纲|アウトライン"
        ),
    ),
)
"""Phrasings in scripts without spaces, each asked of a sure name; the specific before the general."""

_PARTS = (
    r"(?:functions?|methods?|class(?:es)?|modules?|files?|exports?|imports?|constants?|variables?|types?"
    r"|symbols?|code|parameters?|dependencies|fields?|interfaces?)"
)
_NONE = any_of(
    "never, not, nowhere, no longer, nobody, no one, without, unused, unreachable, unreferenced, uncalled",
    "untested",
)
_DONE = any_of(
    "called, used, imported, referenced, invoked, tested, covered, overridden, implemented, instantiated",
    "reached, call, calls, use, uses, import, imports, caller, callers, references, usages, tests, importers",
)
_ANYWHERE = any_of("anywhere, any ?more, at all, by anyone, by anything, by any \\w+")

NO_SUBJECT: tuple[tuple[Relation, str], ...] = (
    (
        "cycles",
        (
            r"\b(?:circular|cyclic|mutually recursive|zyklische|circulaires?|circulares|cicliche"
            r"|циклические)\b"
            r".{0,20}\b(?:imports?|dependenc\w+|includes?|references?|functions|modules|importe|abhängigkeiten"
            r"|dependencias|импорты|зависимости)"
            r"|\b(?:imports?|dependenc(?:y|ies)|dépendances|dependencias|importaciones|dependências|importações"
            r"|dipendenze|importazioni) (?:circulaires|circulares|circolari|cíclicas|cicliche)"
            r"|\b(?:import|dependency|call|include|package|module) (?:cycles?|loops?)\b"
            r"|\bcycles? (?:between|among)\b"
            r"|\b(?:import|imports|call|depend on|include|reference|require) each other\b"
            r"|循环(?:依赖|导入|引用)|循環(?:参照|依存|インポート)"
        ),
    ),
    (
        "unused",
        (
            rf"\b{_PARTS}\b(?: \w+){{0,3}}? {_NONE}\b(?:$|(?: \w+){{0,3}}?(?: {_DONE})?(?: {_ANYWHERE})?$)"
            rf"|\b(?:unused|uncalled|unreferenced|unreachable|orphaned|orphan|untested|dead)"
            rf" (?:\w+ )?{_PARTS}\b"
            r"|\bdead code\b"
            r"|\bhave no (?:callers|tests|references|usages|importers)\b"
            r"|\bwith no (?:callers|tests|references|usages)\b"
            r"|\b(?:nie|niemals|nirgends) (?:aufgerufen|verwendet|benutzt)"
            r"|\bjamais (?:appel|utilis)\w+"
            r"|\bnunca (?:se )?(?:llama|usa|utiliza|invoca|chama)\w*"
            r"|\bmai (?:chiamat|usat|utilizzat)\w+"
            r"|\bникогда не (?:вызыва|использу)\w+|\bне используются\b"  # noqa: RUF001 - Cyrillic is meant
            r"|从未(?:被)?(?:调用|使用)|没有被(?:调用|使用)|未使用的|呼び出されていない|使われていない|未使用"
        ),
    ),
)
"""Facts of the whole graph, which need no subject."""
