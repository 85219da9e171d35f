"""A single column through the encoder."""

import pandas as pd

from sasanet.table.encoder import TableEncoder


def learn_column(values, **options):
    """Fit a one-column table called x and return (encoder, its cells)."""
    table = pd.DataFrame({"x": values})
    encoder = TableEncoder(**options).fit(table)
    return encoder, encoder.transform(table)[:, 0]


def place_column(encoder, values):
    return encoder.transform(pd.DataFrame({"x": values}))[:, 0]
