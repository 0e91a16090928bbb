"""Words of programming in German, Spanish and Chinese, with the English words that source code has for them.

The default embedding model knows English only: of forty such words it put eight next to the right one among
eighty English words.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from ..index.records import STOP_WORDS

BEGINNING_MIN, INSIDE_MIN = 4, 6
"""Minimum letters of an entry that stands for a longer word that begins with it (`sitzung` for
`Sitzungen`), and for one that has it inside: compounds (`fehler` in `Netzwerkfehler`)."""

HAN_MIN: Final = 2
"""Characters of the shortest Chinese entry."""

ADDED_MAX: Final = 24
"""Maximum number of English words that are added to a question."""

_ASKED_WORDS: Final = """
    aber als auch auf aus bei beim bis dass dem den der des die diese dieser dieses durch ein eine einem einen
    einer es für gibt hat ich ist kann mit muss nach nicht noch nur oder ohne sich sind soll über um und vom
    von vor wann warum was wenn werden wer wie wird wo woher zu zum zur
    al cada como cómo con cuando cuándo cual cuál de del desde donde dónde el en entre esta este está están
    hay la las lo los más para pero por porque que qué se según ser si sin sobre son su sus un una unos y ya
"""
"""Words of German and Spanish without a meaning of their own, by which the language is recognized."""

_ASKED: Final = frozenset(_ASKED_WORDS.split())
_ENGLISH: Final = frozenset(STOP_WORDS.split())
_WORD = re.compile(r"[^\W\d_]+")
_HAN = re.compile(r"[\u4e00-\u9fff]+")
_ACCENT = re.compile(r"[\u0300-\u036f]")


def in_english(text: str) -> str:
    """Return the English words for those of a question in German, Spanish or Chinese, "" if it isn't in one.

    A question is in one of them if it has Chinese characters, or more words of `_ASKED_WORDS` than English
    stop words, so that nothing changes for a question in English."""
    chinese = "".join(_HAN.findall(text))
    words = [word.lower() for word in _WORD.findall(text)]
    if not chinese and sum(word in _ASKED for word in words) <= sum(word in _ENGLISH for word in words):
        return ""
    telling = [_plain(word) for word in words if word not in _ASKED]
    said = f" {_plain(' '.join(words))}"
    found = [english for phrase, english in _phrases() if phrase in said]
    found += [english for word in telling for english in _known(word, BEGINNING_MIN, INSIDE_MIN)]
    found += _known(chinese, HAN_MIN, HAN_MIN)
    return " ".join(list(dict.fromkeys(" ".join(found).split()))[:ADDED_MAX])


def _known(word: str, beginning: int, inside: int) -> list[str]:
    """Return the English words for the entries that are a word, or in it with at least so many letters."""
    entries = _entries()
    whole = [entries[word]] if word in entries else []
    return whole or [
        entries[word[start:end]]
        for start in range(len(word))
        for end in range(start + (inside if start else beginning), len(word) + 1)
        if word[start:end] in entries
    ]


def _plain(word: str) -> str:
    """Return a text in lower case without accents."""
    return _ACCENT.sub("", unicodedata.normalize("NFD", word.lower())).replace("ß", "ss")


@lru_cache(maxsize=1)
def _entries() -> dict[str, str]:
    """Return the English words for each entry."""
    found: dict[str, str] = {}
    for line in _ENTRIES.strip().split("\n"):
        english, _, entries = line.partition(": ")
        for entry in re.split(r"[,;] |(?<=[\u4e00-\u9fff]) ", _plain(entries)):
            found[entry] = f"{found[entry]} {english}" if entry in found else english
    return found


@lru_cache(maxsize=1)
def _phrases() -> tuple[tuple[str, str], ...]:
    return tuple((f" {entry}", english) for entry, english in _entries().items() if " " in entry)


_ENTRIES: Final = """
account: konto, benutzerkonto; cuenta; 账户 账号 帐户
add: hinzufüg, hinzugefüg; agreg, añad; 添加 增加 新增
address: adresse; direccion; 地址
alert: alarm; alerta; 警报
application app: anwendung; aplicacion; 应用
approve: genehmig; aprob, aprueb; 批准
argument: argument; argumento; 参数
array: array; arreglo; 数组
assign: zuweis, zugewiesen; asign; 分配
async: asynchron; asincron; 异步
audio sound: klang; sonido; 音频 声音
authentication: authentifizier, anmeldung; autentic; 认证 身份
authorization permission: berechtig, zugriffsrecht; permiso, autoriz; 权限 授权
background: hintergrund; segundo plano; 后台
backup: sicherung; respaldo; 备份
bind: binden, bindung; enlazar, vincul; 绑定
block: blockier; bloque; 阻塞
body: rumpf; cuerpo; 正文
bracket: klammer; parentesis, corchete; 括号
branch: zweig; rama; 分支
browser: browser; navegador; 浏览
build: erstell, gebaut; construi, construy, compila; 构建 编译
button: schaltfläche, knopf; boton; 按钮
cache: zwischenspeicher; cache; 缓存
calculate compute: berechn; calcul; 计算
call: aufruf, aufgerufen; llama; 调用
callback: rückruf; retrollamada; 回调
cancel abort: abbrech, abgebrochen, abbruch; cancel; 取消 中止
cart: warenkorb; carrito; 购物车
case: großschreib, kleinschreib; mayuscul, minuscul; 大小写
cell: zelle; celda; 单元格
certificate: zertifikat; certificad; 证书
change modify: änder, geändert; cambi, modific; 修改 更改 变更
channel: kanal; canal; 频道 通道
character: zeichen; caracter; 字符
chart: diagramm; grafico, grafica; 图表
check: prüf, überprüf, geprüft; comprob, comprueb, verific; 检查
child: kindelement; hijo; 子级 子节
chunk part: teilweise, stückweise; por partes; 分块
class: klasse; clase; 类
clean clear: bereinig, aufräum, geleert; limpi; 清理 清除 清空
click: klick; clic; 点击
client: client, klient; cliente; 客户
close: schließ, geschlossen; cerr, cierr; 关闭
code: quelltext, quellcode; codigo; 代码
color: farb; color; 颜色
column: spalte; columna; 列
command: befehl, kommando; comando, orden; 命令 指令
comment: kommentar; comentario; 注释 评论
commit: übernahme; confirmacion; 提交
compare: vergleich, verglichen; compar; 比较
compress: komprimier; comprim; 压缩
concurrent parallel: gleichzeitig, nebenläufig, parallel; concurren, simultane, paralel; 并发 并行
config configuration: konfigur, einstellung; configur, ajuste; 配置 设置
confirm: bestätig; confirm; 确认
conflict: konflikt; conflict; 冲突
connection connect: verbind, verbund; conexion, conect; 连接
container: behälter; contenedor; 容器
content: inhalt; contenido; 内容
context: kontext; contexto; 上下 下文
convert: umwandl, konvertier, umgewandelt; convert, conviert; 转换 转化
copy: kopier; copi; 复制 拷贝
count: anzahl, zähl; cantidad, conte; 计数 数量
crash: absturz, abstürz, abgestürz; cuelgue; 崩溃
create: erzeug, anleg, angelegt; crear; 创建 新建
currency: währung; moneda; 货币
customer: kunde; cliente; 顾客
data: daten; datos; 数据
database: datenbank; base de datos; 数据库 据库
date: datum; fecha; 日期
deadlock: verklemm; interbloque; 死锁
debug: fehlersuche; depur; 调试
decode: dekodier, entschlüssel; decodific; 解码
decrypt: entschlüssel; descifr; 解密
default: standardwert, voreinstellung, standardmäßig; predetermin, defecto; 默认
definition define: definier, definition; definicion, defin; 定义
delay wait: verzöger, wart; retras, esper; 延迟 等待
delete remove: lösch, gelöscht, entfern; borr, elimin; 删除 移除
dependency: abhängig; dependencia; 依赖
deploy: bereitstell; despliegue, despleg; 部署
device: gerät; dispositivo; 设备
directory folder: verzeichnis, ordner; directorio, carpeta; 目录 文件夹
disable: deaktivier, abschalt; desactiv, deshabilit; 禁用
discount: rabatt; descuento; 折扣
display show: anzeig, angezeigt, darstell; mostrar, muestra; 显示 展示
document: dokument; documento; 文档
download: herunterlad, heruntergelad; descarg; 下载
draft: entwurf; borrador; 草稿
draw: zeichn, gezeichnet; dibuj; 绘制
duplicate: doppelt, duplikat; duplic; 重复
edit: bearbeit; edit; 编辑
element: element; elemento; 元素
email mail: e-mail; correo; 邮件
empty: leer; vaci; 空的
enable: aktivier, einschalt; activ, habilit; 启用
encode: kodier; codific; 编码
encrypt: verschlüssel; cifr; 加密
entry: eintrag, einträge; entrada; 条目
environment: umgebung; entorno; 环境
error: fehler; error, fallo; 错误 报错 出错
escape: maskier; escap; 转义
event: ereignis; evento; 事件
exception: ausnahme; excepcion; 异常
execute run: ausführ, ausgeführt; ejecut; 执行 运行
exit: beend; salir, salid; 退出
expire: ablauf, abgelaufen; caduc, expir; 过期
export: exportier; export; 导出
extension: erweiter; extension; 扩展
fast: schnell; rapid; 快速
field: feld; campo; 字段
file: datei; archivo, fichero; 文件
filter: filter; filtr; 过滤 筛选
find search: such, gesucht, find, gefund; busc, busqueda, encontr, encuentr; 查找 搜索 寻找
font: schrift; fuente; 字体
form: formular; formulario; 表单
format: format; formato; 格式
freeze hang: hängen, hängt, eingefroren; colgad; 卡住 卡死
function: funktion; funcion; 函数 功能
generate: generier; gener; 生成
group: grupp; grup; 分组
handle handler: behandl, handhab; manej; 处理
hash: prüfsumme; resumen; 哈希 散列
header: kopfzeile; cabecera, encabezado; 头部 标头
height: höhe; altura; 高度
hide: verberg, versteck, ausblend; ocult; 隐藏
history: verlauf; historial; 历史
ignore: ignorier; ignor; 忽略
image: bild; imagen; 图像 图片
import: importier; import; 导入
indent: einrück, eingerück; sangri; 缩进
index: index; indice; 索引
initialize init: initialisier; inicializ; 初始
input: eingab, eingegeben; entrada; 输入
insert: einfüg, eingefügt; insert; 插入
install: installier; instal; 安装
instance: instanz; instancia; 实例
interface: schnittstelle; interfaz; 接口 界面
interrupt: unterbrech, unterbroch; interrump, interrupcion; 中断
invalid: ungültig; invalid; 无效
invoice: rechnung; factura; 发票
key: schlüssel; clave, tecla, llave; 密钥 按键
keyboard: tastatur; teclado; 键盘
language: sprache; idioma, lenguaje; 语言
layout: anordnung; disposicion; 布局
leak: undicht; fuga; 泄漏 泄露
length: länge; longitud; 长度
level: ebene, stufe; nivel; 级别 层级
library: bibliothek; biblioteca, libreria
license: lizenz; licencia; 许可
limit: grenz, begrenz, beschränk; limit; 限制
line: zeile; linea; 换行 行号
link: verweis, verknüpf; enlace; 链接
list: list; list; 列表
listen listener: lausch, zuhör; escuch; 监听
load: laden, lädt, geladen; carg; 加载 载入
lock: sperr, gesperrt; bloque; 加锁 锁定
log: protokoll; registro, bitacora; 日志
login: anmeld, angemeldet; inicio de sesion, iniciar sesion; 登录
logout: abmeld, abgemeldet; cerrar sesion, cierre de sesion; 登出
loop: schleife; bucle; 循环
map mapping: abbild, zuordn; asign; 映射
match: übereinstimm; coincid; 匹配
measure: messen, gemessen; medir; 测量
memory: speicher; memoria; 内存
menu: menü; menu; 菜单
merge: zusammenführ, zusammengeführt; fusion, combin; 合并
message: nachricht, meldung; mensaje; 消息 信息
method: methode; metodo; 方法
metric: kennzahl, metrik; metrica; 指标
middleware: zwischenschicht; intermedi; 中间
migrate migration: migrier; migra; 迁移
missing: fehlend, fehlt; falta; 缺少 缺失
mock: attrappe; simulad; 模拟
model: modell; modelo; 模型
module: modul; modulo; 模块
monitor watch: überwach; vigila, monitoriz, supervis; 监控
mouse: maus; raton; 鼠标
name: namen; nombre; 名称 名字
nested: verschachtel; anidad; 嵌套
network: netzwerk; 网络
newline: zeilenumbruch, zeilenumbrüch; salto de linea; 换行
node: knoten; nodo; 节点
notification notify: benachrichtig; notific; 通知
number: zahl, nummer; numero; 数字 号码
object: objekt; objeto; 对象
open: öffn, geöffnet; abrir, abiert; 打开
option: option; opcion; 选项
order: bestell, reihenfolge; orden, pedido; 顺序 订单
output: ausgab, ausgegeben; salida; 输出
package: paket; paquete; 软件包
page: seite; pagina; 页面 分页
parameter: parameter; parametro; 参数
parent: eltern, übergeordnet; padre; 父级 父节
parse parser: zerleg, parsen; analiz, analisis; 解析
password: passwort, kennwort; contraseña; 密码
path: pfad; ruta; 路径
pattern: muster; patron; 模式
payment: zahlung, bezahl; pago; 支付
performance: leistung; rendimiento; 性能
permission: erlaub, berechtig; permis; 权限
plugin: erweiterungsmodul; complemento; 插件
port: port; puerto; 端口
position: position; posicion; 位置
prefix: präfix, vorsilbe; prefijo; 前缀
price: preis; precio; 价格
print: drucken, gedruckt; imprim; 打印
priority: priorität, vorrang; prioridad; 优先
private: privat; privad; 私有
process: prozess, verarbeit; proces; 进程 处理
product: produkt; producto; 商品 产品
profile: profil; perfil; 资料
progress: fortschritt; progreso; 进度
project: projekt; proyecto; 项目
property attribute: eigenschaft; propiedad, atributo; 属性
proxy: stellvertreter; intermediari; 代理
public: öffentlich; publico, publica; 公开
publish: veröffentlich; publicar; 发布
query: abfrag; consult; 查询
queue: warteschlange; cola; 队列
quote: anführungszeichen; comillas; 引号
random: zufall, zufäll; aleatori, azar; 随机
read: lesen, liest, gelesen; leer, lectura; 读取
receive: empfang, empfäng; recib; 接收
recursive: rekursiv; recurs; 递归
redirect: umleit, weiterleit, umgeleitet, weitergeleitet; redirig, redireccion; 重定向 重定 跳转
regex: regulär; expresion regular; 正则
register registration: registrier; registr; 注册
reject: ablehn, abgelehnt; rechaz; 拒绝
release: freigab, freigegeben, veröffentlich; lanzamiento, liber; 发布 释放
rename: umbenenn, umbenannt; renombr; 重命名 重命
render: rendern, gerendert; renderiz; 渲染
replace: ersetz; reemplaz, sustitu; 替换
report: bericht; informe, reporte; 报告
request: anfrage, anforderung; solicitud, peticion; 请求
reset: zurücksetz, zurückgesetz; restablec; 重置
resolve: auflös, aufgelöst; resolv, resuelv; 解决
response reply: antwort; respuesta; 响应 回复
restart: neustart, neu gestartet; reinici; 重启
restore: wiederherstell, wiederhergestell; restaur; 恢复
result: ergebnis; resultado; 结果
retry: erneut, wiederhol; reintent; 重试
return: rückgab, zurückgegeben, zurückgib; devuelv, devolv, retorn; 返回
review: begutacht; revis; 审查 评审
role: rolle; 角色
rollback: zurückroll; revert; 回滚
root: wurzel; raiz; 根目
rotate: rotier; rotac, rotar; 轮换 旋转
route router: routen, streckenführung; ruta, enrut; 路由
row: zeile; fila; 行
rule: regel; regla; 规则
save store: speicher, gespeichert; guard, almacen; 保存 存储
scale: skalier; escal; 缩放
schedule: zeitplan, geplant; planific, program; 调度 定时
schema: schema; esquema; 模式
script: skript; script; 脚本
scroll: bildlauf; desplaz; 滚动
secret: geheim; secret; 秘密
security secure: sicherheit; segur; 安全
select: auswahl, auswähl, ausgewählt; seleccion; 选择
send: send, gesendet; envi; 发送
serialize: serialisier; serializ; 序列
server: server; servidor; 服务
service: dienst; servicio; 服务
session: sitzung; sesion; 会话
share: geteilt, gemeinsam; compart; 共享
shell: eingabeaufforderung; consola; 终端
shutdown: herunterfahr, heruntergefahr; apag; 关机 停机
sign signature: signier, signatur; firm; 签名
similar: ähnlich; parecid, similar; 相似
size: größe; tamaño; 大小
skip: überspring, übersprung; omit; 跳过
slow: langsam; lent; 缓慢
sort: sortier; orden, clasific; 排序
source: quelldatei, datenquelle; fuente, origen; 来源
space whitespace: leerzeichen; espacio; 空格
split: aufteil, trenn, getrennt; divid, separ; 分割 拆分
stack: stapel; pila; 堆栈
start: start; inicia, arranc; 启动 开始
state status: zustand; estado; 状态
stop: stopp, anhalt, angehalten; deten, detien; 停止
stream: datenstrom; flujo; 数据流
string: zeichenkette; cadena; 字符串
style: stil; estilo; 样式
subscribe subscription: abonn; suscri; 订阅
suffix: endung, nachsilbe; sufijo; 后缀
symbol: symbol; simbolo; 符号
sync: synchronisier; sincroniz; 同步
syntax: syntax; sintaxis; 语法
table: tabelle; tabla; 表格
tag label: etikett, markier; etiquet; 标签
task job: aufgabe; tarea; 任务
template: vorlage; plantilla; 模板
terminal: terminal; terminal; 终端
test: test; prueb; 测试
text: text; texto; 文本
theme: farbschema; tema; 主题
thread: faden; hilo; 线程
throw raise: auslös, ausgelöst, geworfen; lanza; 抛出
time: zeit; tiempo, hora; 时间
timeout: zeitüberschreitung, zeitlimit; tiempo de espera, tiempo limite; 超时
timezone: zeitzone; zona horaria, huso horario; 时区
token: token; token; 令牌
trace: verfolg; rastre; 跟踪 追踪
transaction: transaktion; transaccion; 事务
translate translation: übersetz; tradu; 翻译
tree: baum; arbol
type: typ; tipo; 类型
undo: rückgängig; deshac; 撤销
unique: eindeutig; unic; 唯一
update: aktualisier; actualiz; 更新
upload: hochlad, hochgelad; subir, subid; 上传
user: benutzer, nutzer; usuario; 用户
validate validation: validier, gültig; valid; 验证 校验
value: wert; valor
variable: variable; variable; 变量
version: version; version; 版本
view: ansicht; vista; 视图
warning: warn; advertencia, aviso; 警告
width: breite; anchura, ancho; 宽度
window: fenster; ventana; 窗口
worker: arbeiter; trabajador; 工作
write: schreib, geschrieben; escrib; 写入
"""
