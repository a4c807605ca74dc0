"""Published numbers and ours, side by side: one module for each paper."""
