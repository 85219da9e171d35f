"""Columns whose cells are bags: one cell of the user's is read as several plain ones, its parts.

A network's value is a function of a *sum* of vectors, so a cell may look up several of them and
still be one player with one attribution. A date, for one, is its time, its weekday, its month and
its hour. Each part is a plain column of numbers or levels, learned and encoded like any other.

What a column is, by rule (:func:`~sasanet.table.bags.parts.bag_kind`):

- *dates*: ``datetime64`` with or without a time zone, periods, objects that are all dates or times;
- *tags*: lists, tuples or sets of text;
- *vectors*: lists, tuples or arrays of numbers, equally many in every row;
- *text*: sentences, most of which differ: words and pairs of words in hashed buckets;
- *ids*: categories of more than 50,000 levels, read by two hashes.

A column named in ``categorical_features`` is none of these but ids.
"""
