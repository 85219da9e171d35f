"""Models in files: safetensors and JSON, no pickle; loading runs no code from the files.

- ``model``: save and load a fitted model
- ``description``: its JSON, read and checked field by field
- ``card``: what a model is, was taught and is worth, in words beside it
- ``folder``: one whole model in a directory at any time, whoever writes and reads
"""

from sasanet.persistence.model import load, save_model

__all__ = ["load", "save_model"]
