"""Why our figures differ from the printed ones, in words: causes here, figures in the tables."""

from __future__ import annotations

PREDICTION = """
Where we differ from the paper, and why:

- **Decision tree and logistic regression** are far better here. The paper's look as if they had
  been given the codes of categories as numbers; ours see one column per level, scaled, and are
  tuned.
- **Insurance**: the constant predictor (the mean of the training rows) has a smaller RMSE than
  the paper's SASANet, NAM and SENN, so its table says nothing about them; and whoever predicts 0
  for everybody has an MAE of 238 / 4,000, below every printed one. RMSE, R² and AUC are what to
  look at.
- **Higgs**: we have 48,000 training rows, the paper 10 million. Most systems are worse for it, and
  large networks lose more than trees.
- **SENN** is better here wherever the target is a class; on Income and Higgs its search chose the
  smaller penalty on the gradient. On Insurance it is as bad as printed.
- **Fraud**: every system but the paper's own is better here than in the paper, whose random split
  was a hard one or whose search was short. About a hundred test rows are positive: the paper's
  differences are smaller than the error of such a test part, and so are most of ours, as the
  intervals show.
- **SASANet (paper)** and its ablations run an attention and a deep network over every prefix of an
  order: in as many seconds they see far fewer rows than other networks (on Income little more than
  all of them once), and the paper does not say how long it trained. On Insurance ours is better
  than the printed one, which is worse than the constant, and still worse than trees.
"""

RANKINGS = """
Where we differ from the paper, and why:

- **FastSHAP** is a good ranking here and worse than a random one in the paper: with its five
  features added, the paper's Fraud has an AP below 0.1, and masking them changes nothing. Its
  FastSHAP cannot have worked.
- **KernelSHAP** on the usual game (absent cells replaced by those of background rows) asks another
  question than v(S): what the model says of rows that do not exist. That SASANet's ranking finds
  more of what its model relies on, as the paper claims everywhere, we can confirm on Higgs when
  features are masked; elsewhere three models and a thousand rows do not decide it. Asked about
  v(S), KernelSHAP ranks as SASANet does, and takes longer: both estimate the same numbers.
- **FastSHAP** asked about v(S) is as good a ranking too, masking on Income even a little better: a
  ranking by |φ| is not made to lower the AUC, and small errors can happen to help.
- The paper's AP on Higgs falls when a second feature is added: its model is worse with two features
  than with one. A model that predicts from any subset should not do that, and ours does not.
- On Fraud the paper's model falls far when its top features are masked, ours little: what they say,
  others say too, and v(S) knows. The rankings differ there by less than a hundred positives can
  tell; adding separates them from a random one.
"""

TIMING = """
Where we differ from the paper, and why:

- **KernelSHAP's distance** is mostly not an error: it plays the marginal game, and the distance is
  that between two games. Asked about v(S) ("own game") what is left is the noise of 512 samples.
- **FastSHAP** amortises well on rows like those it was trained on, and less under the shift, as
  the paper says; its training is part of its price.
- **SASANet** loses little under the shift, beside the spread of φ, which grows too: its values come
  from a formula that is as close for unusual cells as for usual ones, where the paper distils a
  network that has not seen them. On Income the paper prints a smaller distance; on what scale, and
  how widely its attributions spread there, it does not say.
- Our explanation takes longer than the paper's on its GPU; TreeSHAP explains another model.

These are of one model each, which held a tenth of its rows out to choose the best epoch; today's
learn from all of them. They wait to be measured again, with three models.
"""

CLAIMS = """
What this says of the paper's claims, for its own configuration in our hands (with less time than it
may have had, and more than the other networks):

- **It matches black boxes**: the MLP yes, as far as the intervals tell; LightGBM not, where there
  are enough rows to tell (Income, Higgs).
- **It beats other self-attributing networks**: NAM where there are enough rows, SITE on Income;
  SENN nowhere for certain. The paper's lead over them is larger because its SENN is weak and its
  Higgs has two hundred times our rows.
- **The Shapley module makes predictions better, and so do positions**: not here. In equal time
  SASANet-d spends on predicting what SASANet spends on distilling, and is as good or better;
  SASANet-p cannot be told from SASANet. Our default has nothing to average: its v(S) knows no
  order.
"""

SUBSETS = """
The paper's claim, that one model is comparable to models trained for one number of features each,
holds, and more: nowhere is SASANet below them by more than the interval, and against the MLPs it is
above wherever more than one feature is present. It learns from all sizes what helps with each, and
does not stop at the limit of the others; of our own network that limit matters on Income only, as
on Higgs it ends before.
"""

PICTURES = """
The paper says that KernelSHAP exaggerates, with large attributions that offset each other. Of our
model that is true on Higgs, and the opposite on Income and Fraud, where the features tell much the
same: there v(S) gives each a share of what all of them know, and the usual game less.
"""
