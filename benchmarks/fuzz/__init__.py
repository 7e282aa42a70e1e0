"""Mutated real documents of every kind, and what must hold whatever became of them."""
