"""A fitted model and rows in, a certificate of how true its attributions are out.

Every quantity is measured on the given rows, with a 95 % interval over rows, and the sampling noise
of what it was compared with stands beside it:

- additivity gap: φ0 + Σφ against the raw prediction;
- self-game error: φ against the Shapley values of the model's own output, v(S) = f(x_S);
- distillation error: φ against the mean over orders of the marginal module's Δ (the paper's table);
- order gap: how far the marginal module's output spreads over orders of the same features;
- value calibration: how well v(S) predicts labels, by coalition size.

``measure`` leads through it: ``truth`` finds what to compare with, ``comparison`` and
``calibration`` compare, ``intervals`` say how sure that is, ``certificate`` holds what was found,
``printing`` says it.
"""

from sasanet.audit.certificate import Audit, Bin, Finding, SizeCalibration
from sasanet.audit.run import audit

__all__ = ["Audit", "Bin", "Finding", "SizeCalibration", "audit"]
