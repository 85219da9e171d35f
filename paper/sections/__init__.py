"""Sections of docs/measured/paper.md: results of one experiment in, its tables and words out."""
