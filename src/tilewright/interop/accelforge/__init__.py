"""Files of AccelForge 1.0: workloads of einsums, and architectures that are one hierarchy."""
