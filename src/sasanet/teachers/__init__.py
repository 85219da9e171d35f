"""Soft labels: labels mixed with out-of-fold predictions of a small panel of other models.

- ``data``: what teachers see and what one is · ``trees``: boosted trees · ``linear``: splines,
  levels and products · ``own``: the user's estimators
- ``stacking``: one prediction from several · ``panel``: folds, time, and the mixed labels
- ``augmentation``: further rows for small tables, which teachers label
- ``clarity``: how clear labels are that no teacher softens, those of quantiles
"""

from sasanet.teachers.own import make_teachers, read_teachers
from sasanet.teachers.panel import SoftLabels, TeacherSettings, soften_labels

__all__ = ["SoftLabels", "TeacherSettings", "make_teachers", "read_teachers", "soften_labels"]
