"""The paper's experiments on real data: `make paper` runs them, docs/paper.md shows them."""
