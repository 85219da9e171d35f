"""
Is it true? An audit
====================

An attribution claims to be the Shapley value of the model's own output. The audit measures how
far that is true, on rows of your own and with intervals.
"""

# %%
# The certificate
# ---------------

from sasanet import SASANetClassifier, plots
from sasanet.datasets import load_german_credit

X, y = load_german_credit()
model = SASANetClassifier(random_state=0).fit(X[:800], y[:800])
certificate = model.audit(X[800:], y[800:], n_rows=40, n_orders=200)
certificate

# %%
# Is v(S) calibrated?
# -------------------
# Left: the loss of v(S) by the number of known features, below that of the base value where the
# features carry information. Right: predicted against observed probability.

plots.plot_audit(certificate)

# %%
# Labels are drawn by chance, so even a perfectly calibrated v(S) has a calibration error. Only what
# is above the shaded part is a finding.

plots.plot_calibration_error(certificate)

# %%
# Closer, with standard errors
# ----------------------------
# Refining samples random coalitions until the wanted standard error is reached. The attributions
# hardly move.

rows = X[800:810]
plain, refined = model.explain(rows), model.explain(rows, max_error=0.01)
print(f"largest change {abs(plain.values - refined.values).max():.4f} log-odds")
print(f"largest standard error {refined.error_std.max():.4f}")
for reason in refined.reasons(0, k=3):
    print("-", reason)
