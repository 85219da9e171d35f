"""
Beside LightGBM and shap
========================

The same table explained by SASANet and by TreeSHAP on LightGBM. Both give one number per feature
in log-odds that add up to the prediction, but of two models and of two games.
"""

# %%
# Two models
# ----------

import matplotlib.pyplot as plt
import shap
from lightgbm import LGBMClassifier
from sklearn.metrics import roc_auc_score

from sasanet import SASANetClassifier
from sasanet.datasets import load_german_credit
from sasanet.posthoc import tree_shap

X, y = load_german_credit()
words = X.select_dtypes(exclude="number")
table = X.astype(dict.fromkeys(words, "category"))  # for LightGBM
trees = LGBMClassifier(n_estimators=60, learning_rate=0.05, verbose=-1, n_jobs=1)
trees.fit(table[:800], y[:800])
model = SASANetClassifier(random_state=0).fit(X[:800], y[:800])
for name, scores in (
    ("LightGBM", trees.predict(table[800:], raw_score=True)),
    ("SASANet", model.decision_function(X[800:])),
):
    print(f"{name:9} AUC on 200 rows {roc_auc_score(y[800:], scores):.3f}")

# %%
# Two explanations
# ----------------
# ``tree_shap`` returns the same kind of object as ``model.explain``.

ours, theirs = model.explain(X[800:]), tree_shap(trees, table[800:])
both = ours.importance().to_frame("SASANet").join(theirs.importance().rename("TreeSHAP"))
print(f"rank correlation of the importances {both.corr('spearman').iloc[0, 1]:.2f}")
ax = both.head(10)[::-1].plot.barh(color=["0.25", "0.7"])
ax.set_xlabel("mean |attribution|, log-odds")
ax.figure.tight_layout()

# %%
# Every plot of shap
# ------------------

shap.plots.beeswarm(ours.to_shap(), max_display=8, show=False)
plt.tight_layout()
