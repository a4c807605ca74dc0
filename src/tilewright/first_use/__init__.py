"""What is compiled ahead when kernels are needed for the first time.

`shares` has one function for each part of the package with kernels, which uses it for a tiny layer,
and runs as a module: `mapper.network.running.compilation` starts it in several processes.
"""
