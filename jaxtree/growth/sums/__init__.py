"""The sums of every cell of a level: scatter, products, comparison, or a kernel for CUDA GPUs."""
