"""The sample export: true to Flare's format, complete, and read without a warning."""

from collections import Counter

import pytest

from bbj_pipeline.records import RawDocument, Topic
from bbj_pipeline.settings import SAMPLES_DIR
from bbj_pipeline.sources.flare import SOURCE, FlareOptions
from bbj_pipeline_tests.sources.markup_words import visible_words

OPTIONS = FlareOptions(path=SAMPLES_DIR / "flare", public_url="https://documentation.example.org/bbj/{path}")


def topics() -> dict[str, tuple[RawDocument, Topic]]:
    found = {}
    for raw in SOURCE.export(OPTIONS):
        assert isinstance(raw, RawDocument)
        (topic,) = SOURCE.parse(raw, OPTIONS, {}.__getitem__)
        assert isinstance(topic, Topic)
        found[raw.key] = (raw, topic)
    return found


def test_every_topic_is_read_without_a_warning() -> None:
    """All 17 topics are well-formed, have a title, a place, a URL, keywords and code, and lose no word."""
    found = topics()
    assert len(found) == 17
    for key, (raw, topic) in found.items():
        assert topic.title
        assert topic.section_path == tuple(key.split("/")[:-1])
        assert topic.url == f"https://documentation.example.org/bbj/{key}"
        assert set(topic.metadata) - {"links"} == {"keywords"}
        assert any(block.type == "code" for block in topic.blocks)
        assert topic.blocks[0].type == "heading"
        words = Counter(word for block in topic.blocks for word in block.text.split())
        assert words == visible_words(raw.content.decode()), key


@pytest.mark.parametrize(
    ("key", "cue"),
    [
        ("mnemonic/character/cursor_position_mnemonic.htm", "PRINT @(10,5)"),
        ("mnemonic/sysgui/window_mn_create_window.htm", "print (sysgui)'window'(100,100,400,300"),
        ("bbjobjects/SysGui/bbjsysgui_addwindow.htm", 'BBjAPI().openSysGui("X0")'),
        ("bui/bbjwebmanager.htm", "BBjAPI().getWebManager()"),
    ],
)
def test_a_window_is_created_in_each_generation(key: str, cue: str) -> None:
    """The story that runs through all sources is told in the code of this one too."""
    _, topic = topics()[key]
    assert any(cue in block.text for block in topic.blocks if block.type == "code")


def test_what_is_superseded_is_said_in_notes() -> None:
    """The legacy window and the migration guide carry their notes as notes."""
    found = topics()
    for key in ("mnemonic/sysgui/window_mn_create_window.htm", "migration/window_mnemonic_to_addwindow.htm"):
        assert any(block.type == "note" and block.text.startswith("Superseded:") for block in found[key][1].blocks)
