"""How faithful a fitted model's attributions are: every claim measured on given rows.

Each quantity has a 95 % interval over rows, and beside it the sampling noise of the values it was
compared with:

- additivity gap: φ0 + Σφ against the raw prediction;
- self-game error: φ against the Shapley values of the model's own output, v(S) = f(x_S);
- distillation error: φ against the mean over orders of the marginal module's Δ (the paper's table);
- interactions, if asked for: I_ij of all pairs against those of the model's own output;
- order gap: how much the marginal module's output varies over orders of the same features;
- value calibration: how well v(S) predicts labels, for every coalition size, beside what chance
  alone makes of it.

``run`` leads through it: ``reference`` computes what to compare with, ``comparison`` and
``calibration`` compare (``chance``: with what luck allows), ``certificate`` holds the result,
``text`` and ``html`` show it.
"""

from sasanet.audit.certificate import Audit, Bin, Finding, SizeCalibration
from sasanet.audit.run import audit

__all__ = ["Audit", "Bin", "Finding", "SizeCalibration", "audit"]
