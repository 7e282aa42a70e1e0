"""How torch is used on this machine: number format, threads, and one clear error for whatever a library raises.

Shared by the adapters that load weights. torch is imported inside the functions, because everything else must start without it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bbj_pipeline.errors import ModelError

__all__ = ["best_dtype", "load_weights", "one_core_spared"]

_CGROUP_CPU_LIMIT = Path("/sys/fs/cgroup/cpu.max")


def load_weights(folder: Path, setting: str, load: Callable[[Any, Any], Any]) -> Any:
    """Return what ``load(torch, sentence_transformers)`` makes of the model in ``folder``, which ``setting`` named.

    Raises ``ModelError`` when a library is missing or the model cannot be loaded.
    """
    try:
        import sentence_transformers
        import torch
        from transformers.utils import logging as transformers_logging
    except ImportError as error:
        raise ModelError(
            f"{error.name} is not installed", remedy="run: pip install torch sentence-transformers (the CPU build is enough)"
        ) from None
    # A container often sees all cores of its host but may use few; torch would start a thread for each one it sees.
    torch.set_num_threads(min(torch.get_num_threads(), _usable_cores()))
    reporting: Any = transformers_logging  # untyped in the library
    reporting.disable_progress_bar()
    try:
        return load(torch, sentence_transformers)
    except Exception as error:  # the libraries below raise many kinds, some of them bare subclasses of Exception
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(
            f"cannot load the model in {folder} ({reason})",
            remedy=f"install the model again, or set {setting} to another one",
        ) from None


def best_dtype() -> str:
    """Return ``bfloat16`` where the hardware computes in it, else ``float32``: emulated bfloat16 is slower than float32."""
    import torch

    if torch.cuda.is_available():
        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    capabilities = torch.cpu.get_capabilities()
    return "bfloat16" if capabilities.get("avx512_bf16") or capabilities.get("amx_bf16") else "float32"


@contextmanager
def one_core_spared() -> Iterator[None]:
    """Compute on all cores but one, if there are several.

    A question is embedded while the database looks for its words. With a thread on that core too, each step of the model
    waits for it: on two cores a search took 42 instead of 37 ms, beside other work up to ten times as long.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(max(1, threads - 1))
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _usable_cores() -> int:
    """Return the cores this process may use, by its affinity and its control group's quota."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = _CGROUP_CPU_LIMIT.read_text(encoding="ascii").split()
        return max(1, min(cores, -(-int(quota) // int(period))))
    except (OSError, ValueError):  # no control group, or no limit ("max")
        return max(1, cores)
