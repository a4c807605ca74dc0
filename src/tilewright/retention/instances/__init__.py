"""What each instance of a memory receives, step by step."""
