"""scikit-learn estimators.

- ``tabular``: what every network estimator shares: ``fit`` from table to network
- ``classifier_regressor``: what labels mean and what predictions are called
- ``soft_labels``: teachers before training
- ``certified``: audit, save and load as methods
- ``sasanet``: :class:`SASANetClassifier` and :class:`SASANetRegressor`
"""
