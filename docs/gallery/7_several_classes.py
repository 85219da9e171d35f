"""
Several classes
===============

With C classes an explanation has one attribution per row, feature and class.
"""

# %%
# Three species of penguins
# -------------------------

from matplotlib import pyplot as plt

from sasanet import SASANetClassifier, plots
from sasanet.datasets import load_penguins

X, y = load_penguins()
model = SASANetClassifier(random_state=0).fit(X[::2], y[::2])
explanation = model.explain(X[1::2])
print("accuracy", round(model.score(X[1::2], y[1::2]), 3))
print("rows, features, classes:", explanation.values.shape)

# %%
# Reasons are about the most likely class
# ---------------------------------------

print(y[1::2].iloc[0])
for reason in explanation.reasons(0, k=3):
    print("-", reason)

# %%
# One class at a time
# -------------------
# ``output`` chooses a class. Adding the same number to all classes changes nothing, so compare
# classes with each other.

figure, axes = plt.subplots(3, 1, figsize=(7, 9), layout="constrained")
for species, ax in zip(explanation.output_names, axes, strict=True):
    plots.plot_dependence(explanation.output(species), "bill_length_mm", ax=ax)
    ax.set_title(species)
