"""The one training loop and what it needs.

- ``hyperparameters``: every "auto" becomes a number
- ``loop``: phases, batches, early stopping
- ``sasanet_losses``: SASANet's losses of a batch · ``losses``: the terms they are made of
- ``yardstick``: go on where the network is behind its teachers
- ``optimizer``, ``learning_rate``: AdamW and its rate over time
"""
