"""Spills of one tensor in one loop nest: exact, by simulation, and bounded from below."""
