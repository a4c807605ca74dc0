"""Files of ZigZag: workloads of layers, hardware, and the spatial part of mappings."""
