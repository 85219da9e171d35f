"""One vector per cell: look-ups between knots and levels, or the paper's small networks."""
