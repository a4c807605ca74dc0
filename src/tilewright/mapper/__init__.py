"""The mapper: what is best, with the proof that nothing is better."""
