"""What people look at: results as one self-contained HTML page, and as a trace in time."""

from tilewright.report.page import html, write_report
from tilewright.report.trace import trace, write_trace

__all__ = ["html", "trace", "write_report", "write_trace"]
