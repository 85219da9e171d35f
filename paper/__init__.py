"""The paper's experiments on real data: run by `make paper`, shown in docs/measured/paper.md."""
