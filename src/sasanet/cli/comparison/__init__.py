"""What ``sasanet compare`` compares with, and how."""
