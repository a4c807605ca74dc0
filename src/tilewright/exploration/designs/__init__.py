"""The space: parameters, the machine written in them, boxes, and the numbers that bound them."""
