"""A model or a game in, a network that answers with its Shapley values out: FastSHAP."""

from sasanet.posthoc.fastshap.model import FastSHAP

__all__ = ["FastSHAP"]
