"""FastSHAP: a network that is trained once and then explains every row in one pass.

- ``games``: what it explains · ``learning``: the two networks and their losses
- ``model``: the class that users hold
"""

from sasanet.posthoc.fastshap.model import FastSHAP

__all__ = ["FastSHAP"]
