"""How many kernels a layer launches: each costs a gap that neither FLOP nor bytes explain.

Counts follow the operators of a layer as common engines run them, fused where they fuse. They set ratios
between architectures; the time of one launch is fitted.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.physics.arrays import Floats

HEADED_MIXER = 7.0
"""Norm, query-key-value product, rotation, cache write, attention and its reduction, output product."""
QUERY_KEY_NORM = 2.0
"""One for queries, one for keys."""
LATENT_MIXER = 12.0
"""Norm, two down-projections, two norms, up-projection, rotation, two absorbed products, cache write,
attention and its reduction, output product (the last two share a launch with others)."""
LINEAR_MIXER = 9.0
"""Norm, two projections, convolution, gates, two scans, gated norm, output product."""
SPARSE_INDEX = 4.0
"""Index projections, scores and selection of the tokens that sparse attention reads."""
FEED_FORWARD = 4.0
"""Norm, gate and up products in one, activation, down product."""
FEED_FORWARD_PRODUCTS = 2.0
"""Of them."""
SCALING = 4.0
"""Scaling the inputs of the four products of a layer to a narrow format, where nothing else does it: half of
them for the mixer, half for the feed-forward part."""
REFERENCE = HEADED_MIXER + FEED_FORWARD
"""Kernels of a dense layer with grouped heads: the layer whose overhead the calibration states."""
MOE_EXTRA = 6.0
"""What a mixture-of-experts layer adds: router, selection, sorting, gathering, weighted sum, activation."""
ADAPTED_ATTENTION = 4.0
"""Two small products of an adapter beside query, key and value in one, and two beside the output."""
ADAPTED_FEED_FORWARD = 4.0
"""The same beside gate and up in one, and beside down."""
SHARED_EXPERTS = 3.0
"""Shared experts beside the routed ones: two products and an activation."""


def relative_layer_kernels(
    headed_layers: Floats,
    latent_layers: Floats,
    linear_layers: Floats,
    sparse_layers: Floats,
    normed_layers: Floats,
    layers: Floats,
    scaled_mixer_fraction: Floats = 0.0,
    scaled_feed_forward_fraction: Floats = 0.0,
) -> Floats:
    """Kernels of the mean layer over those of the reference layer, without what experts add.

    ``sparse_layers`` of the attention layers choose the tokens that they read, ``normed_layers`` normalise
    queries and keys. ``scaled_...`` is 1 where scaling the inputs of products is a kernel of its own.
    """
    mixers = (
        HEADED_MIXER * headed_layers
        + LATENT_MIXER * latent_layers
        + LINEAR_MIXER * linear_layers
        + SPARSE_INDEX * sparse_layers
        + QUERY_KEY_NORM * normed_layers
    )
    scaling = SCALING / 2.0 * (scaled_mixer_fraction + scaled_feed_forward_fraction)
    return (mixers / layers + FEED_FORWARD + scaling) / REFERENCE


@dataclass(frozen=True)
class LayerKernels:
    """Kernels of the mean layer without attention itself and without experts, by what their launch takes."""

    mixer_products: float
    feed_forward_products: float
    small: float
    """Those that move little: norms, rotation, cache write, activation."""

    @classmethod
    def of(
        cls,
        headed_layers: float,
        latent_layers: float,
        linear_layers: float,
        sparse_layers: float,
        normed_layers: float,
        layers: float,
    ) -> LayerKernels:
        """Counts as in `relative_layer_kernels`, products told from the others."""
        products = 2.0 * headed_layers + 5.0 * latent_layers + 3.0 * linear_layers + sparse_layers
        others = (
            (HEADED_MIXER - 4.0) * headed_layers
            + (LATENT_MIXER - 7.0) * latent_layers
            + (LINEAR_MIXER - 3.0) * linear_layers
            + (SPARSE_INDEX - 1.0) * sparse_layers
            + QUERY_KEY_NORM * normed_layers
        )
        small = others / layers + FEED_FORWARD - FEED_FORWARD_PRODUCTS
        return cls(products / layers, FEED_FORWARD_PRODUCTS, small)


def relative_moe_kernels(has_shared_fraction: Floats) -> Floats:
    """Kernels that a mixture-of-experts layer adds, over those without shared experts."""
    return (MOE_EXTRA + SHARED_EXPERTS * has_shared_fraction) / MOE_EXTRA


def adapter_kernels(layers: Floats, dense_layers: Floats) -> Floats:
    """Kernels that adapters add to a step: in every layer those of attention, in dense ones those of both."""
    return ADAPTED_ATTENTION * layers + ADAPTED_FEED_FORWARD * dense_layers
