"""Timeloop's files: problems, architectures, constraints, mappings and statistics.

The notation is that of A. Parashar et al., "Timeloop: A Systematic Approach to DNN Accelerator
Evaluation", ISPASS 2019, in version 0.4 and the older lists.
"""
