"""The size of a checkpoint that lies beside its configuration."""

from __future__ import annotations

from pathlib import Path

from planner.loaders.hf_config.document import read_document
from planner.loaders.hf_config.fields import Fields

INDEX = "model.safetensors.index.json"
LARGEST_CHECKPOINT_BYTES = 10**15


def read_checkpoint_bytes(path: Path) -> int | None:
    """Bytes of all tensors as the index file of a checkpoint states them; None without such a file.

    Args:
        path: the model's folder, or its configuration file.

    Raises:
        InputError: the index is there and cannot be read.
    """
    file = (path if path.is_dir() else path.parent) / INDEX
    if not file.is_file():
        return None
    document = read_document(file)
    metadata = Fields(document, document.values).section("metadata")
    size = None
    if metadata is not None:
        size = metadata.values.get("total_size")
        if isinstance(size, float) and size.is_integer():  # some tools write 1.6e10
            size = int(size)
        if isinstance(size, bool) or not isinstance(size, int) or not 0 < size <= LARGEST_CHECKPOINT_BYTES:
            metadata.fault(
                "total_size", str(size)[:60], "the bytes of all tensors, a whole number above zero"
            )
    document.raise_faults()
    return size
