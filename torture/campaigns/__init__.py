"""The campaigns, one file each, with ``run(seed)``: one case can be repeated alone."""
