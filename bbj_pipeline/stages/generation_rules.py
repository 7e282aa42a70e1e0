"""The cues of the four user interface generations and of the universal language: a table, and nothing else.

A cue counts only in the places it names. ``code`` is a code block in BBj or in no named language; ``any-code`` a code block in
any language; ``identifier`` stands for API names and syntax quoted in running text; ``prose`` for phrases; ``heading`` for the
headings in it; ``title``, ``path`` and ``condition`` for what surrounds the text. A label is given at a weight of 1 (see
``tagging``): a cue of weight 0.5 needs company or a second block. A cue that ``names`` its generation is enough by itself where
no other generation is spoken of. ``needs`` are literals of which one must occur before the pattern is tried: that makes
tagging fast. Patterns are matched on lower-case text, those with ``case`` on the text as written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bbj_pipeline.records import Generation

__all__ = ["RULES", "Place", "Rule"]

Place = Literal["code", "any-code", "identifier", "prose", "heading", "title", "path", "condition"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One cue: what it speaks for, how it is called in evidence, where it may stand, and how much it weighs there."""

    label: Generation
    cue: str
    places: tuple[Place, ...]
    needs: tuple[str, ...]
    pattern: str
    weight: float
    note: str
    case: bool = False
    names: bool = False


_CODE: tuple[Place, ...] = ("code",)
_QUOTED: tuple[Place, ...] = ("code", "identifier", "title")
_PROSE: tuple[Place, ...] = ("prose",)
_AROUND: tuple[Place, ...] = ("heading", "title", "path", "condition")

_CONTROLS = (
    r"window|childwindow|button|checkbox|radiobutton|groupbox|edit|cedit|inpute|inputn|inputd|statictext|static|listbox|"
    r"listbutton|listedit|menu|menubar|menuitem|popupmenu|hscroll|vscroll|toolbutton|statusbar|tab|grid|image|title|focus|"
    r"destroy|disable|enable|show|hide|font|context|controlmove|windowmove"
)
_CHARACTER_MNEMONICS = r"cs|ce|cl|cf|br|er|bu|eu|sb|sf|bb|eb|bo|bx|lf|ld|li|rv|be|ee|cursor|gon|goff|rb|vt|window"

_GUI_CLASS_TITLE = (
    r"^bbj(?:sysgui|window|toplevelwindow|childwindow|control|button|checkbox|editbox|cedit|inputd|inpute|inputn|inputt|listbox|"
    r"listbutton|listedit|grid|standardgrid|menubutton|toolbutton|tabctrl|tree|statictext|groupbox|radiobutton|radiogroup|"
    r"imagectrl|navigator|progressbar|slider|popupmenu|menubar|menu|menuitem|htmledit|htmlview)(?:$|::|\.|\s)"
)

_CHARACTER: tuple[Rule, ...] = (
    Rule("character", "PRINT @(x,y)", ("code", "identifier"), ("@(",), r"(?:\bprint|\binput|\?)[^\n@]{0,120}@\(", 1, "cursor"),
    Rule("character", "@(x,y)", ("code", "identifier"), ("@(",), r"(?<![\w@])@\(\s*\w+%?\s*,\s*\w+%?\s*\)", 0.5, "cursor"),
    Rule(
        "character",
        "PRINT 'CS'",
        ("code", "identifier"),
        ("print", "input"),
        rf"\b(?:print|input)\s+(?:[^\n'(]{{0,60}},\s*)?'(?:{_CHARACTER_MNEMONICS})'",
        1,
        "terminal mnemonic without a channel; (sysgui) before it would be Visual PRO/5",
    ),
    Rule(
        "character",
        "INPUT",
        _CODE,
        ("input",),
        r"(?m)(?:^\s*(?:\d+\s+)?|;\s*|\bthen\s+|\belse\s+)input\s+(?!record\b)(?:@\(|'|\"|[a-z_]\w*[$%]?\s*(?:$|[,;:]))",
        1,
        "reads from the terminal; INPUT (channel) is file input and does not count",
    ),
    Rule("character", "INPUT verb", ("title",), ("input",), r"^input verb\b", 1, "its page of the language reference"),
    Rule("character", "INPUT statement", ("identifier",), ("INPUT",), r"\bINPUT (?:statements?|verb)\b", 0.5, "", case=True),
    Rule(
        "character",
        "character mode",
        _PROSE,
        ("character",),
        r"\bcharacter[- ](?:mode|ui|user interface|based|terminals?|screens?|applications?|programs?)\b",
        0.5,
        "a phrase",
        names=True,
    ),
    Rule("character", "green screen", _PROSE, ("green",), r"\bgreen[- ]screens?\b", 0.5, "a phrase", names=True),
    Rule("character", "dumb terminal", _PROSE, ("terminal",), r"\b(?:dumb|ascii|serial) terminals?\b", 0.5, "a phrase"),
    Rule("character", "terminal mnemonic", _PROSE, ("mnemonic",), r"\bterminal mnemonics?\b", 0.5, "a phrase"),
    Rule(
        "character",
        "character in title, heading or path",
        _AROUND,
        ("character", "green", "cui"),
        r"\bcharacter[ _-]?(?:mode|ui|based|terminal)\b|\bgreen[ _-]screen\b|(?:^|[/_ -])cui(?=$|[/_. -])|/character/",
        1,
        "a section, a whole document or a folder",
    ),
)

_VPRO5: tuple[Rule, ...] = (
    Rule(
        "vpro5",
        "PRINT (sysgui)'WINDOW'(…)",
        ("code", "identifier", "title"),
        ("print",),
        rf"\bprint\s*\(\s*\w+[%$!]?\s*(?:,[^)\n]*)?\)[^\n]{{0,80}}?'(?:{_CONTROLS})'",
        1,
        "a control mnemonic sent to a channel",
    ),
    Rule("vpro5", "PRINT (sysgui)", ("code", "identifier"), ("sysgui",), r"\bprint\s*\(\s*sysgui\b", 1, "the SYSGUI channel"),
    Rule(
        "vpro5",
        "'BUTTON'(…)",
        ("identifier", "title"),
        ("'window'", "'button'", "'edit'", "'listbox'", "'checkbox'", "'childwindow'"),
        r"'(?:window|button|edit|listbox|checkbox|childwindow)'\s*(?:\(|mnemonic)",
        0.5,
        "a control mnemonic quoted alone",
    ),
    Rule("vpro5", "CTRL(sysgui,id,index)", ("code",), ("ctrl",), r"\bctrl\s*\(\s*\w+[%!]?\s*,\s*[\w.%]+\s*,\s*\d+", 1, ""),
    Rule("vpro5", "CTRL()", ("identifier", "title"), ("CTRL(",), r"\bCTRL\(", 0.5, "the function named", case=True),
    Rule("vpro5", "CTRL(sysgui", ("identifier",), ("ctrl(sysgui",), r"\bctrl\(sysgui\b", 1, ""),
    Rule("vpro5", "SENDMSG()", _QUOTED, ("sendmsg",), r"\bsendmsg\s*\(", 1, "Visual PRO/5 function"),
    Rule("vpro5", 'OPEN (sysgui)"X0"', _CODE, ("x0",), r"\bopen\s*\(\s*\w+\s*\)\s*\"x0\"", 1, "the SYSGUI device"),
    Rule(
        "vpro5",
        "READ RECORD(sysgui…)",
        _CODE,
        ("sysgui",),
        r"\bread\s*record\s*\(\s*sysgui\b",
        1,
        "event loop over the SYSGUI channel",
    ),
    Rule(
        "vpro5",
        "Visual PRO/5",
        _PROSE,
        ("visual pro", "vpro"),
        r"\bvisual pro(?:/| ?)5\b|\bvpro/?5\b",
        0.5,
        "a name",
        names=True,
    ),
    Rule(
        "vpro5",
        "Visual PRO/5 in title, heading or path",
        _AROUND,
        ("vpro", "visual"),
        r"vpro/?5|\bvisual[ _-]?pro(?:[/ _-]?5)?\b",
        1,
        "a section, a whole document or a folder",
    ),
)

_BBJ_GUI: tuple[Rule, ...] = (
    Rule("bbj-gui", "openSysGui()", _QUOTED, ("opensysgui",), r"\bopensysgui\b", 1, "opens the BBj GUI"),
    Rule("bbj-gui", "getSysGui()", _QUOTED, ("getsysgui",), r"\bgetsysgui\b", 1, "the BBj GUI"),
    Rule("bbj-gui", "BBjSysGui", ("code", "identifier", "title"), ("bbjsysgui",), r"\bbbjsysgui\b", 1, "the class"),
    Rule("bbj-gui", "addWindow()", _QUOTED, ("addwindow", "addchildwindow"), r"\badd(?:child)?window\b", 1, "creates a window"),
    Rule("bbj-gui", "setCallback()", _QUOTED, ("setcallback",), r"\bsetcallback\b", 1, "event handling of BBj objects"),
    Rule("bbj-gui", "process_events", _QUOTED, ("process_events",), r"\bprocess_events\b", 1, "the event loop of BBj"),
    Rule(
        "bbj-gui",
        "BBj control class",
        _QUOTED,
        ("bbj",),
        r"\bbbj(?:window|toplevelwindow|childwindow|button|checkbox|editbox|cedit|inpute|inputn|inputd|listbox|listbutton|"
        r"listedit|grid|standardgrid|dataawaregrid|menubutton|toolbutton|tabctrl|tree|statictext|groupbox|radiobutton|"
        r"radiogroup|imagectrl|navigator|progressbar|slider|control|popupmenu|menubar|filechooser|htmledit|htmlview)\b",
        0.5,
        "a class of the BBj GUI",
    ),
    Rule("bbj-gui", "API page of a GUI class", ("title",), ("bbj",), _GUI_CLASS_TITLE, 1, "see the same cue of dwc"),
    Rule("bbj-gui", "BBj GUI", _PROSE, ("bbj gui", "bbj-gui"), r"\bbbj[ -]gui\b", 0.5, "a name", names=True),
    Rule("bbj-gui", "Swing", _PROSE, ("Swing",), r"\b(?:Java )?Swing\b", 0.5, "the toolkit below the BBj GUI", case=True),
    Rule(
        "bbj-gui",
        "BBj GUI in title, heading or path",
        _AROUND,
        ("gui", "swing"),
        r"\bbbj[ _-]?gui\b|(?:^|[/_ -])swing(?=$|[/_. -])",
        1,
        "a section, a whole document or a folder",
    ),
    Rule(
        "bbj-gui",
        "package of the BBj GUI",
        ("path",),
        ("bbj.proxies.sysgui", "bbj.proxies.event"),
        r"\bbbj\.proxies\.(?:sysgui|event)\b",
        1,
        "controls and events of the desktop and the browser client alike",
    ),
)

_DWC: tuple[Rule, ...] = (
    Rule("dwc", "getWebManager()", _QUOTED, ("getwebmanager",), r"\bgetwebmanager\b", 1, "the browser client"),
    Rule("dwc", "BBjWebManager", _QUOTED, ("bbjwebmanager",), r"\bbbjwebmanager\b", 1, "the browser client"),
    Rule(
        "dwc", "executeAsyncScript()", _QUOTED, ("executeasyncscript",), r"\bexecuteasyncscript\b", 1, "JavaScript in the page"
    ),
    Rule("dwc", "BBjWebComponent", _QUOTED, ("bbjwebcomponent",), r"\bbbjwebcomponent\b", 1, "web components"),
    Rule("dwc", "BUIManager", _QUOTED, ("buimanager",), r"\b(?:bbj|get)buimanager\b", 1, "the forerunner's manager"),
    Rule(
        "dwc",
        "CSS custom property",
        ("any-code", "code", "identifier"),
        ("--bbj-", "--dwc-", "--basis-"),
        r"--(?:bbj|dwc|basis)-[a-z][\w-]*",
        1,
        "theming of the browser client",
    ),
    Rule("dwc", "<bbj-…> element", ("any-code", "code", "identifier"), ("<bbj-",), r"<bbj-[a-z]", 1, "a DWC web component"),
    Rule(
        "dwc",
        "name of a DWC component",
        ("title",),
        ("bbj-",),
        r"^bbj-(?!gui\b)[a-z-]+$",
        1,
        "a page about one web component",
    ),
    Rule(
        "dwc",
        "CSS theming",
        ("prose", "title"),
        ("css", "shadow", "theme"),
        r"\bcss custom propert(?:y|ies)\b|\bcss variables?\b|\b(?:css )?shadow parts?\b|\bthem(?:e|ing) engine\b",
        0.5,
        "how the browser client is styled",
    ),
    Rule(
        "dwc",
        "API page of a GUI class",
        ("title",),
        ("bbj",),
        _GUI_CLASS_TITLE,
        1,
        "windows and controls are the same objects on the desktop and in the browser (blueprint: addWindow carries both)",
    ),
    Rule(
        "dwc",
        "theme or component folder",
        ("path",),
        ("theme", "web-comp"),
        r"\b(?:theme-engine|web-components)/",
        0.5,
        "a hint",
    ),
    Rule("dwc", "DWC", _PROSE, ("DWC",), r"\bDWC\b", 0.5, "Dynamic Web Client", case=True, names=True),
    Rule("dwc", "Dynamic Web Client", _PROSE, ("dynamic web",), r"\bdynamic web client\b", 0.5, "the name in full", names=True),
    Rule("dwc", "BUI", _PROSE, ("BUI",), r"\bBUI\b", 0.5, "Browser User Interface, the forerunner", case=True, names=True),
    Rule(
        "dwc",
        "Browser User Interface",
        _PROSE,
        ("browser user",),
        r"\bbrowser user interface\b",
        0.5,
        "the name in full",
        names=True,
    ),
    Rule(
        "dwc",
        "DWC in title, heading or path",
        _AROUND,
        ("dwc", "bui", "dynamic web"),
        r"(?:^|[\W_])(?:dwc|bui)(?=$|[\W_])|\bdynamic[ _-]web[ _-]client\b",
        1,
        "a section, a whole document or a folder",
    ),
    Rule(
        "dwc",
        "package of the BBj GUI",
        ("path",),
        ("bbj.proxies.sysgui", "bbj.proxies.event"),
        r"\bbbj\.proxies\.(?:sysgui|event)\b",
        1,
        "controls and events of the desktop and the browser client alike",
    ),
)

_VERBS = (
    r"for|next|while|wend|repeat|until|switch|case|swend|if|then|else|fi|goto|gosub|return|call|enter|exit|open|close|read|write|"
    r"extract|find|remove|mkeyed|indexed|serial|direct|xkeyed|vkeyed|erase|rename|initfile|lock|unlock|dim|let|def|rem|data|"
    r"dread|restore|seterr|setesc|retry|escape|run|load|save|start|stop|end|release|wait|sqlopen|sqlprep|sqlexec|sqlfetch"
)
_FUNCTIONS = (
    r"abs|asc|ath|atn|bin|chr|cos|cpl|cvs|cvt|date|dec|epow|err|errmes|fid|fin|fix|fpt|hsa|hta|ind|int|iol|jul|key|keyf|keyl|keyn|"
    r"keyp|len|log|lst|mask|max|min|mod|not|num|pad|pgm|pos|rnd|round|sgn|sin|sqr|ssz|stbl|str|swap|tcb|tim|tmpl|tsk|unt"
)

_ALL: tuple[Rule, ...] = (
    Rule(
        "all",
        "FOR/NEXT",
        _CODE,
        ("for",),
        r"(?m)\bfor\s+\w+%?\s*=\s*[^\n;]+?\s+to\s+[^\n]+(?:\n|;)[\s\S]{0,2000}?\bnext\b",
        1,
        "",
    ),
    Rule(
        "all",
        "OPEN (channel)",
        _CODE,
        ("open",),
        r"\bopen\s*\(\s*[\w%.]+\s*(?:,[^)\n]*)?\)\s*(?!\"x0\")[\"\w]",
        0.5,
        "file I/O",
    ),
    Rule(
        "all",
        "READ/WRITE (channel)",
        _CODE,
        ("read", "write", "extract", "find"),
        r"\b(?:read|write|extract|find)\s*(?:record)?\s*\(\s*(?!sysgui)[\w%.]+\s*(?:,\s*(?:key|knum|ind|err|end|dom|siz|dir)\s*=[^)\n]*)?\)",
        0.5,
        "file I/O",
    ),
    Rule(
        "all", "ERR=/DOM=/END=", _CODE, ("err=", "dom=", "end="), r"[,(]\s*(?:err|dom|end)\s*=\s*[*\w]+", 0.5, "error branches"
    ),
    Rule("all", "SETERR", _QUOTED, ("seterr",), r"\bseterr\b", 1, "error trapping"),
    Rule("all", "SETESC", _QUOTED, ("setesc",), r"\bsetesc\b", 1, "escape trapping"),
    Rule(
        "all",
        "string function",
        _CODE,
        ("pos(", "cvs(", "pad(", "str(", "num(", "len(", "fill("),
        r"\b(?:pos|cvs|pad|str|num|len|fill)\s*\([^\n]*?\b\w+\$",
        0.5,
        "string handling",
    ),
    Rule("all", "DIM string template", _CODE, ("dim",), r"\bdim\s+\w+\$\s*(?::|\[|\()", 1, "string templates and arrays"),
    Rule(
        "all", "string variable", _CODE, ("$=", "$ ="), r"(?m)(?:^|[;:]|\blet)\s*(?:\d+\s+)?(?:let\s+)?[a-z_]\w*\$\s*=", 0.5, ""
    ),
    Rule(
        "all",
        "CALL/ENTER",
        _CODE,
        ("call", "enter"),
        r"(?m)\bcall\s+\"[^\"\n]+\"\s*,|^\s*(?:\d+\s+)?enter\s+\w+[$%!]",
        0.5,
        "",
    ),
    Rule("all", "GOSUB", _CODE, ("gosub",), r"\bgosub\s+\w+", 0.5, "subroutines"),
    Rule("all", "REM", _CODE, ("rem",), r"(?m)^\s*(?:\d+\s+)?rem\b(?!\s*=)", 0.5, "comments"),
    Rule(
        "all",
        "class … classend",
        _CODE,
        ("classend", "methodend"),
        r"\b(?:classend|methodend)\b",
        1,
        "classes of BBj, with or without a user interface",
    ),
    Rule("all", "DEF FN", _CODE, ("fnend", "def fn"), r"\bfnend\b|\bdef\s*fn\w*[$%]?\s*\(", 1, "functions"),
    Rule("all", "BBjAPI()", ("code", "identifier"), ("bbjapi()",), r"\bbbjapi\(\)", 0.5, "the API without a cue of a UI"),
    Rule(
        "all",
        "FOR/NEXT named",
        ("prose", "title"),
        ("for/next", "for…next", "for...next"),
        r"\bfor(?:/|…|\.\.\.)next\b",
        0.5,
        "",
    ),
    Rule(
        "all",
        "string template named",
        _PROSE,
        ("string template", "templated string"),
        r"\b(?:string template|templated string)s?\b",
        0.5,
        "",
    ),
    Rule("all", "keyed file named", _PROSE, ("mkeyed", "xkeyed", "vkeyed"), r"\b[mxv]keyed\b", 0.5, "file types of BBj"),
    Rule("all", "error number in title", ("title",), ("error",), r"^(?:bbj )?error !?\d{1,3}\b", 0.5, "errors of the language"),
    Rule(
        "all",
        "KEY=/DOM=/END= named",
        ("identifier",),
        ("KEY=", "DOM=", "END=", "ERR="),
        r"\b(?:KEY|DOM|END|ERR)=",
        0.5,
        "options of file input and output quoted",
        case=True,
    ),
    Rule(
        "all",
        "verb in title",
        ("title",),
        ("verb",),
        rf"^(?:{_VERBS})(?:/\w+)?(?: record)? verbs?\b",
        1,
        "a page of the language reference",
    ),
    Rule(
        "all",
        "function in title",
        ("title",),
        ("function", "("),
        rf"^(?:{_FUNCTIONS})(?:\(\))? function\b|^(?:{_FUNCTIONS})\(\)$",
        1,
        "a page of the language reference",
    ),
    Rule(
        "all",
        "package of BBj without a UI",
        ("path",),
        ("com.basis.", "com.basiscomponents"),
        r"\bcom\.basis(?:components)?\.(?!bbj\.proxies\.(?:sysgui|event)\b|util\.(?:terminal|webui|common\.cui)\b)",
        1,
        "objects that every generation from BBj on may use",
    ),
)

RULES: tuple[Rule, ...] = (*_CHARACTER, *_VPRO5, *_BBJ_GUI, *_DWC, *_ALL)
