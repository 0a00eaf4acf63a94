"""All that knows the insides of numba, LLVM and CPython: compiling, pointers, vector instructions, dicts in kernels."""
