"""Privacy-loss distributions: their grids, their convolution, and the bounds that follow."""
