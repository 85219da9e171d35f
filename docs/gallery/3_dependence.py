"""
How a feature acts: dependence
==============================

The attribution of a feature by its value, for numbers and for categories.
"""

# %%
# A number
# --------
# The line is the mean attribution of applicants with about this duration, the band its spread:
# the same duration means different things beside different other features.

from matplotlib import pyplot as plt

from sasanet import SASANetClassifier, plots
from sasanet.datasets import load_german_credit

X, y = load_german_credit()
model = SASANetClassifier(random_state=0).fit(X, y)
explanation = model.explain(X)
plots.plot_dependence(explanation, "months")

# %%
# A category
# ----------
# Levels are ordered by how common they are.

plots.plot_dependence(explanation, "credit_history")

# %%
# The same as a table
# -------------------

plots.dependence_data(explanation, "status")

# %%
# Several features side by side
# -----------------------------
# Every plot takes the axes to draw on.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained", sharey=True)
for name, ax in zip(["months", "credit_amount", "age"], axes, strict=True):
    plots.plot_dependence(explanation, name, ax=ax)
