"""Random input: columns, labels and weights, tables, and files of tables."""
