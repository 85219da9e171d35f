"""Why our figures differ from the printed ones, in words: causes here, figures in the tables."""

from __future__ import annotations

PREDICTION = """
Where we differ from the paper, and why:

- **Decision tree and logistic regression** are far more accurate here. The paper's figures look as
  if categories had been passed as integer codes; ours are one-hot encoded, scaled and tuned.
- **Insurance**: the constant predictor (the mean of the training rows) has a smaller RMSE than the
  paper's SASANet, NAM and SENN, so its table does not rank them; and predicting 0 for every row has
  an MAE of 238 / 4,000, below every printed one. Look at RMSE, R² and AUC.
- **Higgs**: we have 48,000 training rows, the paper 10 million. Most systems are less accurate for
  it, and large networks lose more than trees.
- **MLP, NAM and SITE** on Income are about as accurate as printed by AUC, and a little less by AP.
- **SENN** is better here wherever the target is a class. On Insurance it is as bad as printed, on
  held-out training rows too: coefficients times cells diverge where cells are far from the mean.
- **Fraud**: by AUC every system is better here than in the paper, whose random split was a hard one
  or whose search was short; by AP all but NAM and the paper's own network, which has the printed
  sizes and little time. About a hundred test rows are positive: the paper's differences are smaller
  than the error of such a test part, and so are most of ours, as the intervals show.
- **SASANet (paper)** and its ablations run an attention and a deep network over every prefix of an
  order: in the same time they see far fewer rows than other networks (on Income hardly all of them
  once), and the paper does not say how long it trained. With more time ("long") ours is better on
  Income and Higgs. On Insurance it is better than the printed one, which is worse than the
  constant, and still worse than trees.
"""

RANKINGS = """
Where we differ from the paper, and why:

- **FastSHAP** ranks well here. In the paper it is no better than our random ranking: with its five
  features added, the paper's Fraud has an AP below 0.1, and masking them changes nothing. The
  paper's FastSHAP cannot have worked.
- **KernelSHAP** on the usual game (absent cells replaced by those of background rows) asks another
  question than v(S): what the model predicts for rows that do not exist. That SASANet's ranking
  finds more of what its model relies on, as the paper claims everywhere, we can confirm on Higgs
  when features are masked; elsewhere three models and a thousand rows do not decide it. Asked about
  v(S), KernelSHAP ranks as SASANet does, and takes longer: both estimate the same numbers.
- **FastSHAP** asked about v(S) ranks nearly as well: a little better when masking on Income, a
  little worse when adding on Higgs, elsewhere indistinguishable. A ranking by |φ| is not made to
  lower the AUC, and small errors can happen to help.
- The paper's AP and AUC on Higgs fall when a second feature is added: its model is worse with two
  features than with one. A model that predicts from any subset should not do that, and ours does
  not.
- On Fraud the paper's model loses much when its top features are masked, ours little: other
  features carry the same information, and v(S) uses it. A hundred positives, and negatives that
  each stand for sixty, make AP there uncertain by as much as the rankings differ; adding separates
  them from a random one.
"""

TIMING = """
What this says of the paper's claims, and where we differ:

- **SASANet is closest to the true values**, as the paper claims: on all three data sets, as given
  and under the shift. Only for FastSHAP asked about v(S) on Fraud, as given, do three models not
  decide it.
- **KernelSHAP's distance** is mostly not an error: it plays the marginal game, so this is the
  distance between two games. Asked about v(S) ("own game") what is left is the noise of 512
  samples.
- **FastSHAP** is by far the fastest once it is trained, where the paper prints the same seconds for
  both; training is part of its price. It is much farther from the truth than SASANet, and under the
  shift farther still on Income and Higgs, as the paper says.
- **SASANet** loses little under the shift, and nothing on Higgs; where its distance grows, the
  spread of φ grows too. Its values come from a formula that is about as close for unusual cells as
  for usual ones, where the paper distils a network that has not seen them. On Income the paper
  prints a smaller distance; on what scale, and how widely its attributions spread there, it does
  not say.
- **Seconds**: our explanation takes longer than the paper's on its GPU, most on Fraud, where many
  rows get a second look. KernelSHAP is slower by two orders of magnitude on Income and Higgs, as
  the paper says ("over 200 times"), and less on Fraud; with shap's own choice of 2,048 coalitions
  and two for each feature it would take four times as long and be closer to v(S) in its own game.
  LIME, ten times slower than KernelSHAP or more in the paper, takes about as long as it here: one
  call predicts its 5,000 samples. TreeSHAP explains another model.
"""

CLAIMS = """
What this says about the paper's claims, for its own configuration in our implementation, in the
time that other networks have and with more:

- **It matches black boxes**: the MLP on Income, where they are indistinguishable, and not on Higgs;
  LightGBM on neither, nor in equal time on Insurance. More time makes the gaps smaller and does not
  close them on Income and Higgs. Fraud is undecided.
- **It beats other self-attributing networks**: SITE on Income, and NAM on Income and Higgs, given
  more time than NAM; SENN nowhere for certain. SITE is better than it on Higgs, SENN too in equal
  time, and both by AP on Fraud. The paper's lead over them is larger because its SENN is weak and
  its Higgs has two hundred times our rows.
- **The Shapley module makes predictions better, and so do positions**: not here. In equal time
  SASANet-d spends on predicting what SASANet spends on distilling, and is better on Income and
  Higgs; SASANet-p is indistinguishable from SASANet. Our default has nothing to average: its v(S)
  has no order.
"""

SUBSETS = """
The paper's claim, that one model is comparable to models trained for one number of features each,
holds: nowhere is SASANet below them by more than the interval, and against the MLPs it is above
wherever more than one feature is present. It learns from all sizes what helps with each, and sees
other subsets of a row every time, where a "sep" model sees one; nor does it stop at the limit of
the others (of our own network that limit matters on Income only, as on Higgs it ends before). So
this does not say that one model for all sizes is better than the best model for one size.
"""

PICTURES = """
The paper says that KernelSHAP exaggerates, with large attributions that offset each other. For our
model that is true on Higgs, and the opposite on Income and Fraud, where the features tell much the
same: there v(S) gives each a share of what all of them know, and the marginal game less.
"""
