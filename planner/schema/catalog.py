"""All nouns of the catalog: one YAML file holds one of them, and every block of numbers names its source."""

from __future__ import annotations

from planner.schema.accelerator import (
    Accelerator,
    AcceleratorCompute,
    AcceleratorHost,
    AcceleratorLink,
    AcceleratorMemory,
    AcceleratorPower,
    MeasuredAllReduce,
)
from planner.schema.calibration import (
    Calibration,
    FitError,
    FitRecord,
    Judgment,
    Parameter,
    UserFactor,
    UserFactors,
)
from planner.schema.catalog_entry import CatalogEntry, Source, SourceText
from planner.schema.engine import (
    Engine,
    EngineLimits,
    EngineMemory,
    EngineStartup,
    EngineSupport,
    ModestLimits,
)
from planner.schema.market import Archetype, DayShape, Discount, Network, Offer, PriceList, Storage
from planner.schema.model import (
    Attention,
    Indexer,
    LinearAttention,
    MlaShape,
    Mlp,
    Model,
    ModelShape,
    Moe,
    PublishedCounts,
    SlidingHeads,
    Vision,
)
from planner.schema.number_format import NumberFormat, StructuredSparsity

__all__ = [
    "Accelerator",
    "AcceleratorCompute",
    "AcceleratorHost",
    "AcceleratorLink",
    "AcceleratorMemory",
    "AcceleratorPower",
    "Archetype",
    "Attention",
    "Calibration",
    "CatalogEntry",
    "DayShape",
    "Discount",
    "Engine",
    "EngineLimits",
    "EngineMemory",
    "EngineStartup",
    "EngineSupport",
    "FitError",
    "FitRecord",
    "Indexer",
    "Judgment",
    "LinearAttention",
    "MeasuredAllReduce",
    "MlaShape",
    "Mlp",
    "Model",
    "ModelShape",
    "ModestLimits",
    "Moe",
    "Network",
    "NumberFormat",
    "Offer",
    "Parameter",
    "PriceList",
    "PublishedCounts",
    "SlidingHeads",
    "Source",
    "SourceText",
    "Storage",
    "StructuredSparsity",
    "UserFactor",
    "UserFactors",
    "Vision",
]
