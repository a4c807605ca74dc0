"""PyTorch: live modules, and programs that torch.export has written."""
