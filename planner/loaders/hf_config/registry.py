"""The architectures that can be read: one line each, found by ``model_type`` and ``architectures``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.loaders.hf_config import dense, experts, hybrid, latent, sparse, vision, windowed
from planner.loaders.hf_config.common import Reading
from planner.loaders.hf_config.fields import Fields
from planner.schema.catalog import Vision

Reader = Callable[[Fields], Reading]
VisionReader = Callable[[Fields, Fields, int], Vision]


@dataclass(frozen=True)
class Family:
    """One architecture: its names in configurations, its reader, its image encoder."""

    name: str
    reader: Reader
    model_types: tuple[str, ...]
    architectures: tuple[str, ...]
    vision: VisionReader | None = None


FAMILIES = (
    Family("llama", dense.llama, ("llama",), ("LlamaForCausalLM", "LLaMAForCausalLM")),
    Family(
        "mistral",
        dense.mistral,
        ("mistral", "mistral3", "ministral3"),
        ("MistralForCausalLM", "Ministral3ForCausalLM", "Mistral3ForConditionalGeneration"),
        vision.pixtral,
    ),
    Family("mixtral", experts.mixtral, ("mixtral",), ("MixtralForCausalLM",)),
    Family("qwen2", dense.qwen2, ("qwen2", "mimo"), ("Qwen2ForCausalLM", "MiMoForCausalLM")),
    Family(
        "qwen2_vl",
        dense.qwen2,
        ("qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text"),
        ("Qwen2VLForConditionalGeneration", "Qwen2_5_VLForConditionalGeneration"),
        vision.qwen2_vl,
    ),
    Family("qwen2_moe", experts.qwen2_moe, ("qwen2_moe",), ("Qwen2MoeForCausalLM",)),
    Family("qwen3", dense.qwen3, ("qwen3",), ("Qwen3ForCausalLM",)),
    Family(
        "qwen3_vl",
        dense.qwen3,
        ("qwen3_vl", "qwen3_vl_text"),
        ("Qwen3VLForConditionalGeneration",),
        vision.qwen3_vl,
    ),
    Family("qwen3_moe", experts.qwen3_moe, ("qwen3_moe",), ("Qwen3MoeForCausalLM",)),
    Family(
        "qwen3_vl_moe",
        experts.qwen3_moe,
        ("qwen3_vl_moe", "qwen3_vl_moe_text"),
        ("Qwen3VLMoeForConditionalGeneration",),
        vision.qwen3_vl,
    ),
    Family("qwen3_next", hybrid.qwen3_next, ("qwen3_next",), ("Qwen3NextForCausalLM",)),
    Family(
        "qwen3_5",
        hybrid.qwen3_next,
        ("qwen3_5", "qwen3_5_text"),
        ("Qwen3_5ForCausalLM", "Qwen3_5ForConditionalGeneration"),
        vision.qwen3_vl,
    ),
    Family(
        "qwen3_5_moe",
        hybrid.qwen3_next,
        ("qwen3_5_moe", "qwen3_5_moe_text"),
        ("Qwen3_5MoeForCausalLM", "Qwen3_5MoeForConditionalGeneration"),
        vision.qwen3_vl,
    ),
    Family("gemma2", dense.gemma2, ("gemma2",), ("Gemma2ForCausalLM",)),
    Family(
        "gemma3",
        dense.gemma3,
        ("gemma3", "gemma3_text"),
        ("Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"),
        vision.siglip,
    ),
    Family(
        "gemma4",
        windowed.gemma4,
        ("gemma4", "gemma4_text"),
        ("Gemma4ForCausalLM", "Gemma4ForConditionalGeneration"),
        vision.gemma4,
    ),
    Family("phi3", dense.phi3, ("phi3",), ("Phi3ForCausalLM",)),
    Family("glm4", dense.glm4, ("glm", "glm4"), ("GlmForCausalLM", "Glm4ForCausalLM")),
    Family("glm4_moe", experts.glm4_moe, ("glm4_moe",), ("Glm4MoeForCausalLM",)),
    Family("glm4_moe_lite", latent.deepseek, ("glm4_moe_lite",), ("Glm4MoeLiteForCausalLM",)),
    Family("glm_moe_dsa", latent.deepseek, ("glm_moe_dsa",), ("GlmMoeDsaForCausalLM",)),
    Family("deepseek_v2", latent.deepseek, ("deepseek_v2",), ("DeepseekV2ForCausalLM",)),
    Family(
        "deepseek_v3",
        latent.deepseek,
        ("deepseek_v3", "deepseek_v32", "kimi_k2", "kimi_k25"),
        (
            "DeepseekV3ForCausalLM",
            "DeepseekV32ForCausalLM",
            "KimiK2ForCausalLM",
            "KimiK25ForConditionalGeneration",
        ),
        vision.moonvit,
    ),
    Family("deepseek_v4", sparse.deepseek_v4, ("deepseek_v4",), ("DeepseekV4ForCausalLM",)),
    Family(
        "kimi_linear",
        hybrid.kimi_linear,
        ("kimi_linear", "kimi_k3"),
        ("KimiLinearForCausalLM", "KimiK3ForConditionalGeneration"),
        vision.moonvit,
    ),
    Family("gpt_oss", experts.gpt_oss, ("gpt_oss",), ("GptOssForCausalLM",)),
    Family(
        "llama4",
        experts.llama4,
        ("llama4", "llama4_text"),
        ("Llama4ForCausalLM", "Llama4ForConditionalGeneration"),
        vision.llama4,
    ),
    Family("minimax_m2", experts.minimax_m2, ("minimax_m2",), ("MiniMaxM2ForCausalLM",)),
    Family("minimax_m3", sparse.minimax_m3, ("minimax_m3",), ("MiniMaxM3ForCausalLM",)),
    Family("mimo_v2_flash", windowed.mimo_v2_flash, ("mimo_v2_flash",), ("MiMoV2FlashForCausalLM",)),
    Family("step3p7", windowed.step3p7, ("step3p7",), ("Step3p7FlashForCausalLM",)),
    Family(
        "falcon",
        dense.falcon,
        ("falcon", "RefinedWeb", "RefinedWebModel"),
        ("FalconForCausalLM", "RWForCausalLM"),
    ),
    Family("cohere", dense.cohere, ("cohere",), ("CohereForCausalLM",)),
    Family("cohere2", dense.cohere2, ("cohere2",), ("Cohere2ForCausalLM",)),
    Family("nemotron", dense.nemotron, ("nemotron",), ("NemotronForCausalLM",)),
    Family("nemotron_h", hybrid.nemotron_h, ("nemotron_h",), ("NemotronHForCausalLM",)),
)
BY_MODEL_TYPE = {name: family for family in FAMILIES for name in family.model_types}
BY_ARCHITECTURE = {name: family for family in FAMILIES for name in family.architectures}
