"""What the lexer and ``declarations`` promise about BBj text, old and new. Programs here are written for their peculiarity."""

from __future__ import annotations

import pytest

from bbj_pipeline.sources.bbj_source import declarations
from bbj_pipeline.sources.bbj_source.comments import comment_line
from bbj_pipeline.sources.bbj_source.lexer import lex


def ranges(text: str) -> list[tuple[str, str, int, int]]:
    return [(item.kind, item.name, item.start_line, item.end_line) for item in declarations(text)]


def test_a_class_with_methods_has_exact_line_ranges() -> None:
    """Ranges are physical lines from 1, both ends inclusive; methods nest in their class."""
    text = (
        "class public A\nfield private BBjNumber n\nmethod public void a()\nx=1\nmethodend\n"
        "\nmethod public A()\nmethodend\nclassend"
    )
    assert ranges(text) == [("class", "A", 1, 9), ("method", "a", 3, 5), ("method", "A", 7, 8)]
    assert [item.parent for item in declarations(text)] == [None, "A", "A"]


@pytest.mark.parametrize("case", [str.lower, str.upper, str.title])
def test_keywords_are_found_in_any_case(case: object) -> None:
    """BBj keywords have no case: class, method and interface are found however they are written."""
    assert callable(case)
    text = case(
        "class public b\nmethod public void run()\nmethodend\nclassend\n"
        "interface public c\nmethod public void go()\ninterfaceend"
    )
    assert [(kind, start, end) for kind, _, start, end in ranges(text)] == [
        ("class", 1, 4),
        ("method", 2, 3),
        ("interface", 5, 7),
        ("method", 6, 6),
    ]


def test_line_numbered_labels_with_comments_are_subroutines() -> None:
    """``9101 STD_INPUT: REM ---`` begins a subroutine named STD_INPUT, whose doc is that comment."""
    text = "9101 STD_INPUT: REM --- READ A FIELD\n9102 INPUT A$\n9104 RETURN\n9111 STD_YESNO: REM --- ASK\n9112 RETURN"
    assert ranges(text) == [("subroutine", "STD_INPUT", 1, 3), ("subroutine", "STD_YESNO", 4, 5)]
    assert declarations(text)[0].doc == "READ A FIELD"


def test_a_line_number_called_with_gosub_is_a_subroutine() -> None:
    """Programs without labels have subroutines too: whatever GOSUB calls."""
    text = '0010 GOSUB 0500\n0020 GOSUB 0600\n0030 END\n0500 REM HEADING\n0510 RETURN\n0600 PRINT "GOSUB 700"\n0610 RETURN'
    assert ranges(text) == [("subroutine", "500", 4, 5), ("subroutine", "600", 6, 7)]


def test_a_label_that_is_run_into_stays_inside_its_subroutine() -> None:
    """Only a label that control cannot run into from above begins a subroutine; others are labels inside it."""
    text = "start:\nif a then return\nagain: b=b+1\nif b<5 then goto again\nreturn\nnext_one:\nreturn"
    assert ranges(text) == [("subroutine", "start", 1, 5), ("label", "again", 3, 5), ("subroutine", "next_one", 6, 7)]


def test_a_return_inside_a_condition_does_not_end_a_subroutine() -> None:
    """``IF … THEN …; RETURN`` returns only sometimes; behind ``FI`` it always does."""
    assert ranges("a: x=1\nif y then z=1; return\nb: x=2\nreturn") == [("subroutine", "a", 1, 4), ("label", "b", 3, 4)]
    assert ranges("a: x=1\nif y then z=1 ; fi; return\nb: x=2\nreturn") == [
        ("subroutine", "a", 1, 2),
        ("subroutine", "b", 3, 4),
    ]


def test_functions_on_one_line_and_on_many() -> None:
    """``def fn`` with ``=`` is one line; without, it lasts to ``fnend``, returns inside it notwithstanding."""
    text = 'def fna(x)=x+1\nDEF FNB$(S$)\nif s$="" then\nreturn ""\nendif\nreturn s$\nFnEnd\nx=1'
    assert ranges(text) == [("function", "fna", 1, 1), ("function", "FNB$", 2, 7)]


def test_callpoints_are_sections() -> None:
    """``[[ALIAS.EVENT]]`` lasts to the next one, empty lines before that aside; subroutines inside it are its own."""
    text = "[[ORD.ASHO]]\nx=1\n\n[[ORD.<CUSTOM>]]\nsub_one:\nreturn\n"
    assert ranges(text) == [
        ("callpoint", "ORD.ASHO", 1, 2),
        ("callpoint", "ORD.<CUSTOM>", 4, 6),
        ("subroutine", "sub_one", 5, 6),
    ]


def test_nothing_is_declared_inside_strings_mnemonics_and_comments() -> None:
    """A colon, semicolon or keyword inside ``"…""…"``, ``'CS'`` or ``rem`` declares nothing and ends no statement."""
    text = 'print "class public A; label: ""def fnx(x)"" ",\'CS\'\nrem class public B\nx=1; rem label: class public C\n'
    assert ranges(text) == []
    assert [len(line.statements) for line in lex(text)] == [1, 1, 2, 0]


def test_continuation_lines_belong_to_their_statement() -> None:
    """Lines that begin with a colon continue the one before, a comment as well as a statement."""
    lines = lex('print "a",\n:   "rem b",\n:   "c"\nrem one\n: two\nx=1')
    assert [(line.start, line.end) for line in lines] == [(1, 3), (4, 5), (6, 6)]
    assert comment_line(lines[1].statements[0].text) == "one two"


def test_doc_comments_are_read_without_their_marks() -> None:
    """``rem /** … */`` directly above a declaration is its doc, paragraphs kept, stars gone; its lines are not in the range."""
    text = "rem /**\nrem  * Opens the window.\nrem  *\nrem  * @param title$ what is shown\nrem  */\nmain:\nreturn"
    (found,) = declarations(text)
    assert (found.doc, found.doc_line, found.start_line) == ("Opens the window.\n\n@param title$ what is shown", 1, 6)


@pytest.mark.parametrize(
    ("comment", "words"),
    [
        ("REM ---", ""),
        ('REM "LOWER CASE KEPT', "LOWER CASE KEPT"),
        ("rem*** Title ***", "Title"),
        ("Rem   indented  words", "indented  words"),
        ("rem a ----- b", "a ----- b"),
        ("rem", ""),
    ],
)
def test_comments_in_all_forms(comment: str, words: str) -> None:
    """Rules of dashes and stars are drawing; every word is kept."""
    (line,) = lex(comment)
    assert line.comment
    assert comment_line(line.statements[0].text) == words


@pytest.mark.parametrize("name", ["remark$=1", "rem_count=2", "remainder(5)"])
def test_names_that_begin_like_rem_are_code(name: str) -> None:
    """Only the word ``rem`` makes a comment."""
    assert not lex(name)[0].comment


def test_missing_ends_are_closed_where_the_next_begins() -> None:
    """A file somebody is still writing keeps its structure: an open method ends before the next method."""
    assert ranges('class public D\nmethod public void a()\nx=1\nmethod public void b()\nprint "open') == [
        ("class", "D", 1, 5),
        ("method", "a", 2, 3),
        ("method", "b", 4, 5),
    ]


def test_a_piece_of_a_class_keeps_its_methods() -> None:
    """Code cut out of a class, as manuals print it, still shows where its methods begin and end; a variable is no method."""
    text = "method public void a()\nx=1\nmethodend\nmethod = f(1)\nmethod private b()\nmethodend"
    assert ranges(text) == [("method", "a", 1, 3), ("method", "b", 5, 6)]


def test_labels_inside_methods_do_not_split_them() -> None:
    """A label in a method or function is no declaration: code is never split inside a function."""
    text = "class public A\nmethod public void a()\nreturn\nhere: x=1\nmethodend\nclassend"
    assert [kind for kind, *_ in ranges(text)] == ["class", "method"]
