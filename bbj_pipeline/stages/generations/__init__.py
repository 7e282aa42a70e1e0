"""Finds the generations of a topic by rules: what the rules are (``rules/*.toml``), where they match, what that adds up to.

Pure functions over records; the stage itself, and the interface others use, is ``stages.tagging``.
"""
