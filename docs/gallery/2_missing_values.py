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
import pandas as pd

from sasanet import SASANetClassifier
from sasanet.datasets import load_penguins

X, y = load_penguins()
is_gentoo = y == "Gentoo"
model = SASANetClassifier(random_state=0).fit(X[::2], is_gentoo[::2])
explanation = model.explain(X)
of_missing = explanation.values[X.isna()]
print(f"{len(of_missing)} missing cells, with influence: {np.count_nonzero(of_missing)}")

# %%
# The prediction from any features
# --------------------------------
# ``model.value`` returns v(S): the log-odds when only the features S are known. Here for an Adelie
# and for a Gentoo penguin.

penguins = X.iloc[[0, 200]]
for known in ([], ["island"], ["island", "bill_depth_mm"], ["sex", "year"]):
    adelie, gentoo = model.value(penguins, known)
    print(f"{adelie:6.2f} {gentoo:6.2f}   from {', '.join(known) or 'nothing'}")

# %%
# How good are predictions from few features?
# -------------------------------------------
# Accuracy on the rows that were not trained on, when each feature alone is known, and when it alone
# is missing.

test, truth = X[1::2], is_gentoo[1::2].to_numpy()[:, None]
d = X.shape[1]
alone = np.broadcast_to(np.eye(d, dtype=bool), (len(test), d, d))
accuracy = pd.DataFrame(
    {
        "alone": ((model.value(test, alone) > 0) == truth).mean(axis=0),
        "all but it": ((model.value(test, ~alone) > 0) == truth).mean(axis=0),
    },
    index=X.columns,
)
ax = accuracy[::-1].plot.barh(color=["0.25", "0.7"], xlabel="accuracy", xlim=(0, 1))
ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
ax.figure.tight_layout()
