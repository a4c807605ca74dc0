"""What users receive: trees by segment, what fusing saves, edges that stay unfused, frontiers."""
