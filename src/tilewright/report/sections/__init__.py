"""What a report shows of a result: each file makes one section, drawing or table of the page."""
