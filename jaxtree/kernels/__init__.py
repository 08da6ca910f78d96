"""Operations that have two bodies, one in C++ and one in JAX or NumPy, of the same bits; and who computes them."""
