"""Where tests find the real inputs: the ``shared`` folder beside the checkout, with its corpora, facts and judged queries."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
CORPORA = SHARED / "corpora"
FACTS = CORPORA / "facts"
