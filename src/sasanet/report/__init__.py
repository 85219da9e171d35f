"""A model and a table in, one self-contained HTML page out: no network, no build step.

``given`` checks what came; ``content`` asks the model and gathers plain data, with ``rows`` (what
the page's table holds), ``quality`` (how good, with intervals), ``doubts`` (what to be careful
about) and ``packing`` (arrays as text); ``page`` fills the template. The page values any coalition
of a row itself: the set network travels with it.
"""

from sasanet.report.page import write_report

__all__ = ["write_report"]
