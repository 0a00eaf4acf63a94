"""The one source of random numbers: xoshiro256++ over a small array.

The state is four 64-bit words in a plain `uint64` array that its owner keeps on `self`, so a pickle, a
checkpoint, interpreted code and compiled kernels all continue the same sequence. The generator is Blackman and
Vigna's xoshiro256++ 1.0 (period 2^256 - 1), its state filled from the seed by splitmix64 as they advise.

Called from Python each function runs its compiled form, so both worlds share one implementation.

References
----------
David Blackman and Sebastiano Vigna. Scrambled linear pseudorandom number generators. ACM Transactions on
Mathematical Software 47(4), 2021.

Daniel Lemire. Fast random integer generation in an interval. ACM Transactions on Modeling and Computer Simulation
29(1), 2019.

Examples
--------
>>> from stream_maxloss.random import make_generator, next_below, next_uniform
>>> state = make_generator(seed=7)
>>> [next_below(state, 6) for _ in range(5)]
[0, 1, 4, 2, 5]
>>> 0.0 <= next_uniform(state) < 1.0
True

"""

from __future__ import annotations

import secrets

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.machine.compiled import kept

__all__ = ["make_generator", "next_below", "next_uint64", "next_uniform", "restore_generator"]

_WORD = 0xFFFFFFFFFFFFFFFF
_HALF_WORD = np.uint64(0xFFFFFFFF)


def make_generator(seed: int | None = None) -> NDArray[np.uint64]:
    """Make the state of a generator.

    Parameters
    ----------
    seed
        Any integer; equal seeds give equal sequences. `None` takes 64 fresh bits from the operating system.

    Returns
    -------
    NDArray[np.uint64]
        Four words, to be passed to the `next_*` functions, which change it in place.

    Raises
    ------
    TypeError
        If the seed is not an integer.

    """
    if seed is None:
        seed = secrets.randbits(64)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise TypeError(f"seed must be an integer or None, got {seed!r}; pass for example seed=42")
    counter = int(seed) & _WORD
    state = np.empty(4, dtype=np.uint64)
    for word in range(4):
        counter = (counter + 0x9E3779B97F4A7C15) & _WORD
        mixed = ((counter ^ (counter >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _WORD
        state[word] = mixed ^ (mixed >> 31)
    return state


@kept(no_cfunc_wrapper=True)
def _rotate_left(word: np.uint64, bits: np.uint64) -> np.uint64:
    return (word << bits) | (word >> (np.uint64(64) - bits))


@kept(no_cfunc_wrapper=True)
def next_uint64(state: NDArray[np.uint64]) -> np.uint64:
    """Draw 64 random bits."""
    result = _rotate_left(state[0] + state[3], np.uint64(23)) + state[0]
    shifted = state[1] << np.uint64(17)
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= shifted
    state[3] = _rotate_left(state[3], np.uint64(45))
    return result


@kept(no_cfunc_wrapper=True)
def next_uniform(state: NDArray[np.uint64]) -> float:
    """Draw a number from [0, 1), a multiple of 2^-53."""
    # 53 bits: the most that leave every outcome equally likely and the result below one.
    return np.float64(next_uint64(state) >> np.uint64(11)) * 1.1102230246251565e-16


@kept(no_cfunc_wrapper=True)
def next_below(state: NDArray[np.uint64], bound: int) -> int:
    """Draw an integer from 0, ..., bound - 1, each equally likely; `bound` must lie in 1, ..., 2^63 - 1."""
    size = np.uint64(bound)
    if size > _HALF_WORD:
        # The lowest 2^64 mod bound words would make the small results likelier: they are drawn again.
        rejected = (np.uint64(0) - size) % size
        word = next_uint64(state)
        while word < rejected:
            word = next_uint64(state)
        return int(np.int64(word % size))
    # Lemire (2019): the upper half of a 32 by 32 bit product, without a division but in the rare case below.
    product = (next_uint64(state) >> np.uint64(32)) * size
    low = product & _HALF_WORD
    if low < size:
        rejected = ((np.uint64(1) << np.uint64(32)) - size) % size
        while low < rejected:
            product = (next_uint64(state) >> np.uint64(32)) * size
            low = product & _HALF_WORD
    return int(np.int64(product >> np.uint64(32)))


def restore_generator(generator: NDArray[np.uint64], state: NDArray[np.uint64]) -> None:
    """Go on with the state of another generator.

    Raises
    ------
    ValueError
        If the state is all zeros, from which nothing but zeros would be drawn, for ever.

    """
    if not state.any():
        raise ValueError("state of a generator must not be all zeros; it would draw nothing else")
    generator[:] = state
