"""What the command line shows and writes."""
