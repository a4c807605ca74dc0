"""What people look at: results as an HTML page, as figures for papers, and as a trace in time."""

from tilewright.report.chrome_trace import trace, write_trace
from tilewright.report.page import html, write_report
from tilewright.report.paper import write_figures

__all__ = ["html", "trace", "write_figures", "write_report", "write_trace"]
