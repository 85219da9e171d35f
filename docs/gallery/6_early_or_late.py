"""
Early or late: what a feature adds by position
==============================================

A Shapley value is a mean over all orders in which features can become known. The position profile
shows what is averaged: what the feature adds when it is known first, …, when it is known last.
"""

# %%
# Profiles
# --------
# A feature that others can replace adds much early and little late: its dark points lie farther
# from zero than its pale ones. One that works only together with others does the opposite.

from sasanet import SASANetClassifier, plots
from sasanet.datasets import load_german_credit

X, y = load_german_credit()
model = SASANetClassifier(random_state=0).fit(X[:800], y[:800])
plots.plot_profile(model, X[800:], top=8)

# %%
# The mean of a profile is the attribution.

rows = X[800:805]
profiles = model.profiles(rows)
print("rows, features, points from first to last:", profiles.shape)

# %%
# One prediction as its features arrive
# -------------------------------------
# The order is the applicant's own, strongest feature first.

plots.plot_arrival(model, X[800:], row=0)

# %%
# And how the model came to be
# ----------------------------

plots.plot_history(model)
