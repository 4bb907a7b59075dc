"""Models of the Hugging Face hub by their id: configuration and index of the checkpoint, kept in its cache.

``HF_TOKEN`` opens gated models, ``HF_HUB_OFFLINE=1`` asks the cache only, ``HF_ENDPOINT`` names a mirror: the
variables of ``huggingface_hub``, which does the work.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CONFIG = "config.json"
INDEX = "model.safetensors.index.json"
MAX_WAIT_S = 3.0
"""For a word of the hub: who has no network shall not wait long."""
_HOME = "https://huggingface.co"
UNREACHED = "; the hub cannot be reached"
_ID = re.compile(r"([A-Za-z0-9][\w.-]{0,95}/[\w.-]{1,96})(?:@([\w./-]{1,100}))?")
_LOOKED_UP: dict[str, HubModel] = {}


@dataclass(frozen=True)
class HubModel:
    """What the hub, or its cache, says of an id."""

    folder: Path | None
    """Holds its configuration; None where there is none to be had."""
    revision: str = ""
    """The commit that was read."""
    why: str = ""
    """Why there is none, as what was found."""


def is_id(name: str) -> bool:
    """``ORGANIZATION/NAME``, with ``@REVISION`` behind it or not."""
    return _ID.fullmatch(name) is not None


def looked_up(name: str) -> HubModel | None:
    """What this process has asked for already; never the network."""
    return _LOOKED_UP.get(name)


@cache
def look_up(name: str) -> HubModel:
    """The model of an id: from the hub where it can be reached, else from the cache of former times."""
    match = _ID.fullmatch(name)
    if match is None:
        return HubModel(None)
    found = _fetched(match[1], match[2])
    if found.folder is not None:
        _LOOKED_UP[name] = found
    return found


def _fetched(repository: str, revision: str | None) -> HubModel:
    from huggingface_hub import errors

    try:
        path = _file(repository, CONFIG, revision)
    except errors.GatedRepoError:
        return HubModel(None, why=", gated: accept its terms on its page and set HF_TOKEN")
    except errors.RevisionNotFoundError:
        return HubModel(None, why=", without that revision")
    except errors.RepositoryNotFoundError:
        return HubModel(None, why=", which the hub does not show (private ones need HF_TOKEN)")
    except errors.RemoteEntryNotFoundError:
        return HubModel(None, why=f", a repository without {CONFIG}")
    except Exception:  # the library lets through what its network library raises, which changes
        return HubModel(None, why=UNREACHED)
    commit = path.parent.name
    with suppress(Exception):  # a model of one file has no index, and nothing else depends on it
        _file(repository, INDEX, commit)
    return HubModel(path.parent, commit)


def _file(repository: str, name: str, revision: str | None) -> Path:
    from huggingface_hub import hf_hub_download

    endpoint = os.environ.get("HF_ENDPOINT", _HOME)
    offline = os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")
    return Path(
        hf_hub_download(
            repository,
            name,
            revision=revision,
            endpoint=endpoint,
            etag_timeout=MAX_WAIT_S,
            local_files_only=offline or not _answers(endpoint),
        )
    )


@cache
def _answers(endpoint: str) -> bool:
    """Whether a hub answers at all. The library asks six times before it gives up, which takes 23 s."""
    import httpx

    try:
        httpx.head(endpoint, timeout=MAX_WAIT_S)
    except (httpx.HTTPError, httpx.InvalidURL, OSError):
        return False
    return True
