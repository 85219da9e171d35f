"""The one training loop and what it needs.

- ``hyperparameters``: every "auto" becomes a number
- ``loop``: phases, batches, early stopping
- ``sasanet_losses``: SASANet's losses of a batch · ``losses``: the terms they are made of
- ``optimizer``, ``learning_rate``: AdamW and its rate over time
"""
