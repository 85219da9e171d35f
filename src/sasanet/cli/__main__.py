"""``python -m sasanet.cli`` is ``sasanet``."""

from sasanet.cli import main

main()
