"""Tables in files: reading, the types of their columns, labels, and writing."""
