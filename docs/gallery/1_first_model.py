"""
A first model and its reasons
=============================

Fit German credit, explain the riskiest applicant, and see which features matter overall.
"""

# %%
# Fit
# ---
# Text and numbers go in as they are; 1 means that the credit went bad.

from sasanet import SASANetClassifier, plots
from sasanet.datasets import load_german_credit

X, y = load_german_credit()
model = SASANetClassifier(random_state=0).fit(X[:800], y[:800])
print(f"accuracy on the other 200 rows: {model.score(X[800:], y[800:]):.3f}")

# %%
# Explain
# -------
# One number per feature, in log-odds. Base value and attributions add up to the prediction.

explanation = model.explain(X[800:])
riskiest = int(explanation.prediction.argmax())
print(f"from {model.base_value_[0]:.2f} to {explanation.prediction[riskiest]:.2f} log-odds")
for reason in explanation.reasons(riskiest, k=4):
    print("-", reason)

# %%
# One row as a waterfall
# ----------------------
# From the base value to the prediction, the strongest feature first.

plots.plot_waterfall(explanation, row=riskiest)

# %%
# All rows
# --------
# The mean absolute attribution is a common measure of importance.

importance = explanation.importance().head(10)
ax = importance[::-1].plot.barh(color="0.4", xlabel="mean |attribution|, log-odds")
ax.figure.tight_layout()
