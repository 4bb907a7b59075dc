"""Models from Hugging Face configurations."""

from planner.loaders.hf_config.checkpoint import read_checkpoint_bytes
from planner.loaders.hf_config.reader import read_hf_config

__all__ = ["read_checkpoint_bytes", "read_hf_config"]
