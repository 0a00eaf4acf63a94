"""Changes of the kernels that a test must notice."""
