"""Other tools' notations and ways to count: MAESTRO's directives, dMazeRunner's methods."""
