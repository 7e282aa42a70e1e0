"""What each stage does with one instance's files: the loops that join sources, pure stages and storage.

Free of Dagster, so that a step runs and is tested as a function. An unchanged input is recognised by its data version and
gives the earlier file again; otherwise each document is computed, or copied by the hash of its own input.
"""
