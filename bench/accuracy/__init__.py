"""Accuracy and fit times beside the models users would pick instead."""
