"""Groups, units of the probability and pairs: how true and how fast, measured."""
