"""Read any table and encode it: one number per cell, and what the target means.

- ``reading``: DataFrames, arrays and Arrow tables → one DataFrame, checked
- ``sources``: tables of any length in parts: Parquet, Arrow, iterables of DataFrames
- ``parquet_writer``: and back into files
- ``columns``: what is remembered of each column
- ``learning``: levels and knots of a training column
- ``encoder``: cells → places among knots and levels, NaN where missing
- ``thinning``: fewer knots where labels are noisy
- ``target``: labels → numbers, base value, scale · ``quantities``: the same of rates, quantiles
  and robust locations
"""
