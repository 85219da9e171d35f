"""
Missing values, and predicting from subsets
===========================================

The model is trained on random subsets of the features, so it predicts from whichever are present.
Nothing is imputed.
"""

# %%
# Missing cells
# -------------
# Some penguins lack a cell or two. A missing cell has no influence, and its attribution is
# exactly zero.

import numpy as np

from sasanet import SASANetClassifier, plots
from sasanet.datasets import load_penguins

X, y = load_penguins()
is_gentoo = y == "Gentoo"
model = SASANetClassifier(random_state=0).fit(X[::2], is_gentoo[::2])
explanation = model.explain(X)
print("missing cells:", int(X.isna().sum().sum()))
print(
    "attributions of missing cells that are not 0:", np.count_nonzero(explanation.values[X.isna()])
)

# %%
# The prediction from any features
# --------------------------------
# ``model.value`` returns v(S): the log-odds when only the features S are known. Here for one
# penguin of each kind.

penguins = X.iloc[[0, 300]]
for known in ([], ["island"], ["island", "bill_depth_mm"], list(X.columns)):
    print(f"{model.value(penguins, known).round(2)}  knowing {known or 'nothing'}")

# %%
# How good are predictions from few features?
# -------------------------------------------
# Accuracy on the rows that were not trained on, when each feature alone is known, and when it
# alone is missing.

test, truth = X[1::2], is_gentoo[1::2].to_numpy()
d = X.shape[1]
alone = model.value(test, np.broadcast_to(np.eye(d, dtype=bool), (len(test), d, d)))
without = model.value(test, np.broadcast_to(~np.eye(d, dtype=bool), (len(test), d, d)))
for j, name in enumerate(X):
    only, rest = (((v[:, j] > 0) == truth).mean() for v in (alone, without))
    print(f"{name:20} alone {only:.3f}   all but it {rest:.3f}")

# %%
# How a prediction forms
# ----------------------
# Features of one penguin arrive one after the other, the strongest first.

plots.plot_arrival(model, test, row=3)
