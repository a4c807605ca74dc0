"""What people look at: results as one self-contained HTML page."""

from tilewright.report.page import html, write_report

__all__ = ["html", "write_report"]
