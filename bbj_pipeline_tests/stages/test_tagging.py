"""What tags a topic, what does not, and that every label can be explained."""

from __future__ import annotations

import pytest

from bbj_pipeline.errors import ConfigurationError
from bbj_pipeline.records import GENERATIONS, Block, Topic
from bbj_pipeline.stages.generations.cues import find_cues
from bbj_pipeline.stages.generations.rules import Rule, load_rules, parse_rules
from bbj_pipeline.stages.tagging import tag
from bbj_pipeline_tests.paths import ROOT
from bbj_pipeline_tests.stages.documents import tagged_folder

SAMPLES = ROOT / "bbj_pipeline" / "samples"


def topic(*blocks: Block, title: str = "A topic", key: str = "a.md", **more: object) -> Topic:
    return Topic("mdx", key, title, blocks, **more)  # type: ignore[arg-type]


def code(text: str, language: str | None = "bbj") -> Block:
    return Block("code", text, language=language)


def prose(text: str) -> Block:
    return Block("paragraph", text)


# (what the topic holds, the generations it speaks of), written from the cue table of the design
CASES = [
    ([code("PRINT 'CS',@(10,5),\"Name: \",\nINPUT name$")], ("character",)),
    ([code('0010 PRINT @(5,2),"Total"')], ("character",)),
    ([code("input 'CL',answer$")], ("character",)),
    ([code("print (sysgui)'window'(100,100,400,300,\"Order\",$00010003$,$00000000$)")], ("vpro5",)),
    ([code("status$ = ctrl(sysgui,201,0)")], ("vpro5",)),
    ([code('x$ = SENDMSG(gui,0,21,0,"")')], ("vpro5",)),
    ([code('sysgui! = BBjAPI().openSysGui("X0")\nwindow! = sysgui!.addWindow(10,10,200,200,"Order")')], ("bbj-gui",)),
    ([code('button!.setCallback(button!.ON_BUTTON_PUSH,"save")\nprocess_events')], ("bbj-gui",)),
    ([code("web! = BBjAPI().getWebManager()\nweb!.executeAsyncScript(script!)")], ("dwc",)),
    ([code(".button { --bbj-color-primary: red; }", "css")], ("dwc",)),
    ([code("FOR i = 1 TO 10\n  total = total + i\nNEXT i")], ("all",)),
    ([code('OPEN (1)"CUSTOMER"\nREAD RECORD (1,KEY=k$,DOM=missing)rec$')], ("all",)),
    ([code("SETERR trap")], ("all",)),
    ([prose("Programs in character mode run in a terminal."), prose("A green screen has no mouse.")], ("character",)),
    ([prose("Visual PRO/5 programs send mnemonics."), prose("CTRL() reads a control of Visual PRO/5.")], ("vpro5",)),
    ([prose("The DWC renders in the browser."), prose("BUI came before it.")], ("dwc",)),
    ([prose("Call addWindow() for each form.")], ("bbj-gui",)),
    ([prose("Enable the program for the DWC.")], ("dwc",)),
    ([prose("Forms fill the page."), prose("The Dynamic Web Client draws them.")], ("dwc",)),
    ([prose("Such programs ran as BUI apps.")], ("dwc",)),
    ([prose("The routine was written for Visual PRO/5.")], ("vpro5",)),
    ([prose("Reports of this kind run in character mode.")], ("character",)),
    ([prose("Most users still sit before a green screen.")], ("character",)),
    ([Block("heading", "The DWC", level=2), prose("Coordinates may be left out.")], ("dwc",)),
    ([Block("heading", "In character mode", level=2), prose("The screen is a grid.")], ("character",)),
    ([prose("Visual PRO/5"), prose("A channel takes text."), prose("DWC"), prose("The page flows.")], ("vpro5", "dwc")),
]


@pytest.mark.parametrize(("blocks", "expected"), CASES, ids=lambda item: str(item)[:40])
def test_cues_of_the_design_tag(blocks: list[Block], expected: tuple[str, ...]) -> None:
    """Each cue of the generation table gives its label, and no other."""
    doc = tag(topic(*blocks))
    assert doc.generations == expected
    assert {item.label for item in doc.evidence} == set(expected)


UNKNOWN = [
    [prose("Unlike character mode, this client has a mouse."), prose("It does not need a green screen.")],
    [prose("This is faster than the BUI, and you need no longer run DWC.")],
    [prose("The installer asks for a folder and a licence.")],
    [prose("Print the form and open the window of your office, then read on for the next steps.")],
    [code("for (int i = 0; i < 10; i++) { open(i); }", "java"), code("INPUT = read(x)", "python")],
    [code('std::cout << "Enter a number";\nif (x) { goto next; }', "cpp")],
    [prose("For new development use BBjSysGui::addWindow, which came later."), prose("It was replaced by setCallback.")],
    [prose("Text."), Block("heading", "See Also", level=2), prose("SENDMSG(), addWindow(), getWebManager()")],
    [prose("The dwc-like layout and the guilt of it.")],
    [prose("As in character mode, the cursor waits.")],
    [Block("heading", "Without the DWC", level=2), prose("Start the program from a shell.")],
    [Block("heading", "In Later Generations", level=2), prose("In the DWC it is an edit box, in Visual PRO/5 a control.")],
]


@pytest.mark.parametrize("blocks", UNKNOWN, ids=lambda item: str(item[0].text)[:40])
def test_passing_words_and_comparisons_do_not_tag(blocks: list[Block]) -> None:
    """Comparisons, negations, everyday words and other languages leave a topic unknown: no label, no evidence."""
    doc = tag(topic(*blocks))
    assert doc.generations == ()
    assert doc.evidence == ()


def test_a_topic_may_carry_several_generations_in_list_order() -> None:
    """A comparison page that shows code of three generations carries all three, in the order of the closed list."""
    doc = tag(topic(*CASES[8][0], *CASES[3][0], *CASES[0][0]))
    assert doc.generations == ("character", "vpro5", "dwc")


def test_all_is_for_topics_without_a_user_interface() -> None:
    """Language constructs beside a user interface cue do not make a topic universal."""
    assert tag(topic(*CASES[10][0], *CASES[6][0])).generations == ("bbj-gui",)


def test_a_passing_mention_adds_no_generation() -> None:
    """One sentence that names another generation changes nothing on a page that shows, or is titled by, its own."""
    mention = prose("Programs of the DWC wait in the same way.")
    assert tag(topic(*CASES[0][0], mention)).generations == ("character",)
    assert tag(topic(*CASES[11][0], mention)).generations == ("all",)
    twice = [prose("In Visual PRO/5 the trap is reset."), prose("Visual PRO/5 does so at END.")]
    assert tag(topic(*twice, title="SETERR Verb - Set an Error Handler")).generations == ("all",)
    reference = topic(prose("A program moved to addWindow() needs no numbers."), title="SENDMSG() Function - Send a Message")
    assert tag(reference).generations == ("vpro5",)
    component = topic(prose("The element behind the class BBjButton and BBjControl."), title="The button of the DWC")
    assert tag(component).generations == ("dwc",)


def test_a_page_that_leads_from_one_generation_to_another_carries_both() -> None:
    """A title that names only where the way begins does not rule out where it ends."""
    page = topic(prose("Then addWindow() draws it."), title="Moving Visual PRO/5 windows on")
    assert tag(page).generations == ("vpro5", "bbj-gui")


def test_the_samples_are_tagged_as_a_developer_would() -> None:
    """Pages of the samples that mention other generations, or name their own only once, carry what they are about."""
    flare = {doc.topic.key: doc.generations for doc in tagged_folder("flare", SAMPLES / "flare")}
    assert flare["commands/input_verb.htm"] == ("character",)
    assert flare["commands/sendmsg_function.htm"] == ("vpro5",)
    assert flare["migration/window_mnemonic_to_addwindow.htm"] == ("vpro5", "bbj-gui")
    assert flare["usr/four_generations_of_user_interface.htm"] == ("character", "vpro5", "bbj-gui", "dwc")
    guide = {doc.topic.key: doc.generations for doc in tagged_folder("mdx", SAMPLES / "mdx" / "dwc-guide")}
    assert guide["docs/05-deployment/deploy-a-web-app.md"] == ("dwc",)
    assert guide["docs/01-windows/01-create-a-window.mdx"] == ("character", "vpro5", "bbj-gui", "dwc")
    assert guide["docs/04-files/file-io-for-web-apps.md"] == ("all",)
    assert guide["docs/05-deployment/contributing.md"] == ()


def test_evidence_says_where_and_how_much() -> None:
    """Evidence names the block; a default is a hint used only where no cue is found, and says so."""
    doc = tag(topic(prose("Text."), code("SETERR trap")))
    assert [(item.label, item.cue, item.where, item.weight) for item in doc.evidence] == [("all", "SETERR", "block 1", 1)]
    hinted = tag(topic(prose("Text.")), default_generations=("dwc",))
    assert [(item.label, item.where) for item in hinted.evidence] == [("dwc", "default")]
    assert tag(topic(code("SETERR trap")), default_generations=("dwc",)).generations == ("all",)


def test_path_title_and_condition_are_hints_that_count() -> None:
    """A folder, a title or a Flare condition of one generation tags the topic."""
    assert tag(topic(prose("Text."), key="docs/dwc/button.md")).evidence[0].where == "path"
    assert tag(topic(prose("Text."), title="Visual PRO/5 mnemonics")).evidence[0].where == "title"
    assert tag(topic(prose("Text."), metadata={"conditions": ["Primary.BUI"]})).evidence[0].where == "condition"


def test_api_reference_of_controls_serves_desktop_and_browser() -> None:
    """A control class carries both generations that share it, like the blueprint's addWindow; others are universal."""
    control = Topic("javadoc", "com.basis.bbj.proxies.sysgui.BBjButton", "BBjButton", (prose("A button."),))
    vector = Topic("javadoc", "com.basis.bbj.proxies.BBjVector", "BBjVector", (prose("A list."),))
    assert tag(control, default_doc_type="api-reference").generations == ("bbj-gui", "dwc")
    assert tag(vector, default_doc_type="api-reference").generations == ("all",)
    method = topic(prose("Creates a new top-level window."), title="BBjSysGui::addWindow")
    assert tag(method).generations == ("bbj-gui", "dwc")


def around(place: str, text: str, *, of_bbj: str = "") -> Topic:
    """A topic that holds ``text`` in this kind of place, and nothing else but a block that speaks of BBj."""
    say = prose(of_bbj or "About BBj, at some length.")
    match place:
        case "code":
            return topic(say, code(text))
        case "any-code":
            return topic(say, code(text, "css"))
        case "identifier" | "prose":
            return topic(say, prose(f"{text} and so on, as one may expect."))
        case "heading":
            return topic(say, Block("heading", text, level=2))
        case "title":
            return topic(say, title=text)
        case "condition":
            return topic(say, metadata={"conditions": [text]})
        case _:
            return topic(say, key=text)


@pytest.mark.parametrize("rule", load_rules(), ids=lambda rule: f"{rule.label}: {rule.cue}")
def test_every_rule_is_found_where_it_may_stand(rule: Rule) -> None:
    """A rule's example is found in each place it names, with its words and literals, and in no other kind of code."""
    assert rule.label in GENERATIONS
    assert rule.weight > 0
    assert rule.note
    assert all(word == word.lower() for word in rule.words)
    for place in rule.places:
        assert rule in [hit.rule for hit in find_cues(around(place, rule.example)).hits], place
    if "code" not in rule.places:
        assert rule not in [hit.rule for hit in find_cues(around("code", rule.example)).hits]


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ('cue = "x"', "missing"),
        ('cue = "x"\nplaces = ["margin"]\nwords = ["x"]\npattern = "x"\nweight = 1\nnote = ""\nexample = "x"', "margin"),
        ('cue = "x"\nplaces = ["code"]\npattern = "x"\nweight = 1\nnote = ""\nexample = "x"', "neither words nor literals"),
        ('cue = "x"\nplaces = ["code"]\nwords = ["x"]\npattern = "("\nweight = 1\nnote = ""\nexample = "x"', "pattern"),
        ('cue = "x"\nplaces = ["code"]\nwords = ["x"]\npattern = "{{y}}"\nweight = 1\nnote = ""\nexample = "x"', "pattern"),
    ],
)
def test_a_rule_that_is_not_sound_is_refused(row: str, sentence: str) -> None:
    """The error names the rule and what is wrong with it."""
    with pytest.raises(ConfigurationError, match=sentence) as caught:
        parse_rules("dwc", f"[[rule]]\n{row}\n", {})
    assert "'x' of dwc" in str(caught.value)


DENIED = [
    "Unlike character mode, this needs a mouse.",
    "It is not available in BUI.",
    "It isn't available in BUI.",
    "Use this instead of Visual PRO/5.",
    "The tool, formerly the BUI server, is new.",
    "It replaces the character mode utility.",
    "It needs no browser without the DWC, character mode or BUI.",
    "It does not depend on character mode, Visual PRO/5, DWC, and BUI.",
    "BUI is not supported.",
    "It has no effect in BUI and is ignored in character mode.",
]


@pytest.mark.parametrize("text", DENIED)
def test_negations_and_comparisons_are_no_cues(text: str) -> None:
    """What a clause compares with or denies is not what the text is about."""
    assert not tag(topic(prose(text))).evidence


AFFIRMED = [
    ("Unlike older clients, the DWC has style sheets.", "dwc"),
    ("It is not slow, since BUI caches it.", "dwc"),
    ("Without a plug-in, the DWC draws it.", "dwc"),
    ("Not only BUI shows it.", "dwc"),
    ("This is not new. Character mode had it.", "character"),
]


@pytest.mark.parametrize(("text", "label"), AFFIRMED)
def test_a_negation_ends_with_its_clause(text: str, label: str) -> None:
    """A full stop or a comma ends what a negation reaches; "not only" is none."""
    assert tag(topic(prose(text))).generations == (label,)


def test_remarks_are_no_code() -> None:
    """A statement in a comment does not run, and does not tag."""
    old = code("rem print 'cs',@(0,0)\nfor i=1 to 2\nnext i\nx=1; rem print (sysgui)'window'(1)\n0100 REM INPUT A")
    assert tag(topic(old)).generations == ("all",)


def test_hints_decide_only_where_the_text_says_nothing() -> None:
    """A folder of one generation does not relabel a page that shows another, and supports one that only names its own."""
    assert tag(topic(*CASES[0][0], key="docs/dwc/a.md")).generations == ("character",)
    assert tag(topic(prose("Text."), key="docs/dwc/a.md")).generations == ("dwc",)
    assert tag(topic(*CASES[11][0], key="docs/dwc/a.md")).generations == ("all",)


def test_words_of_the_web_count_only_beside_bbj() -> None:
    """Style sheets, web components and Swing are everybody's: a page that does not speak of BBj is not about its clients."""
    texts = ["Web components are styled by CSS custom properties.", "CSS variables theme web components.", "Swing draws it."]
    assert tag(topic(*map(prose, texts))).generations == ()
    assert tag(topic(*map(prose, texts), prose("So does BBj."))).generations == ("dwc",)


def test_positions_survive_letters_that_grow_in_lower_case() -> None:
    """U+0130 becomes two characters in lower case; blocks after it are still named rightly."""
    doc = tag(topic(prose("İ" * 50), prose("Call getWebManager().")))
    assert doc.evidence[0].where == "block 1"


@pytest.mark.parametrize(
    "block",
    [
        code("for i=1 to x " * 15_000 + "next"),
        code("open ( 1," * 20_000),
        code("\n" * 150_000 + "input for rem next enter let class"),
        code('open(a)"x0" ' * 10_000 + "getsysgui"),
        code("str(" * 25_000 + " x$ ="),
        prose("not DWC, not BUI, " * 8_000),
    ],
    ids=["for", "open", "blank lines", "device", "functions", "denied"],
)
def test_hostile_text_takes_bounded_time(block: Block) -> None:
    """Patterns look a bounded way ahead: text made to be searched again and again neither stops the tagger nor hides a cue."""
    assert "dwc" in tag(topic(block, code("web! = BBjAPI().getWebManager()"))).generations


@pytest.mark.parametrize("sentence", ["{} is not needed any more.", "{} is no longer used.", "{} isn't supported here."])
@pytest.mark.parametrize("call", ["CTRL(sysgui,101,1)", "CTRL(sysgui,id,index)"])
def test_a_call_that_is_denied_does_not_count_whatever_its_arguments(sentence: str, call: str) -> None:
    """The commas of a call end no clause: what is said of the call after its parenthesis is said of it."""
    gui = code('sysgui! = BBjAPI().openSysGui("X0")')
    assert tag(topic(prose(sentence.format(call)), gui)).generations == ("bbj-gui",)
    assert tag(topic(prose(f"The text is read by {call}."), gui)).generations == ("vpro5", "bbj-gui")
