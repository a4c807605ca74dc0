"""dMazeRunner's notation, counting and space: S. Dave et al., ACM TECS 18(5s), 2019."""
