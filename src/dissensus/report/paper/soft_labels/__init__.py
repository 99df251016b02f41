"""The page on soft labels: data set by data set and model by model, and how many votes are enough."""

from dissensus.report.paper.soft_labels.page import write_soft_labels_page

__all__ = ["write_soft_labels_page"]
