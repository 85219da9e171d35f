"""The models that ``sasanet compare`` fits, and how it evaluates them."""
