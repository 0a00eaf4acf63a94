"""The generator against a plain-Python transcription of its reference code."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from stream_maxloss.random import make_generator, next_below, next_uint64, next_uniform

WORD = 2**64 - 1


class Oracle:
    """xoshiro256++ and splitmix64 in unbounded integers, after the reference code of their authors."""

    def __init__(self, seed: int) -> None:
        counter = seed & WORD
        self.state = []
        for _ in range(4):
            counter = (counter + 0x9E3779B97F4A7C15) & WORD
            z = ((counter ^ counter >> 30) * 0xBF58476D1CE4E5B9) & WORD
            z = ((z ^ z >> 27) * 0x94D049BB133111EB) & WORD
            self.state.append(z ^ z >> 31)

    def next(self) -> int:
        s = self.state
        rotate = lambda x, k: (x << k | x >> (64 - k)) & WORD  # noqa: E731
        result = (rotate((s[0] + s[3]) & WORD, 23) + s[0]) & WORD
        t = (s[1] << 17) & WORD
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)
        return result


@njit
def draw_in_a_kernel(state, count):
    words = np.empty(count, dtype=np.uint64)
    for k in range(count):
        words[k] = next_uint64(state)
    return words


@given(seed=st.integers(-(2**70), 2**70))
@settings(deadline=None, max_examples=25)
def test_python_and_kernel_draw_the_oracle_s_words(seed):
    oracle = Oracle(seed)
    state = make_generator(seed)
    expected = [oracle.next() for _ in range(40)]
    assert [int(next_uint64(state)) for _ in range(20)] == expected[:20]
    assert draw_in_a_kernel(state, 20).tolist() == expected[20:]


def test_splitmix_of_zero_gives_the_published_first_word():
    # The first output of splitmix64 from counter 0, as its author's test vector has it.
    assert int(make_generator(0)[0]) == 0xE220A8397B1DCDAF


def test_uniform_keeps_the_upper_53_bits():
    oracle, state = Oracle(5), make_generator(5)
    for _ in range(100):
        assert next_uniform(state) == (oracle.next() >> 11) / 2**53


@given(seed=st.integers(0, 1000), bound=st.integers(1, 2**32 - 1) | st.integers(2**32, 2**63 - 1))
@settings(deadline=None, max_examples=80)
def test_below_rejects_just_the_words_that_would_bias_it(seed, bound):
    oracle, state = Oracle(seed), make_generator(seed)
    bits = 32 if bound < 2**32 else 64
    for _ in range(10):
        while True:
            word = oracle.next() >> (64 - bits)
            # Every result keeps floor(2^bits / bound) words: those of the product's low half, or of the word itself.
            kept = (word * bound) % 2**bits if bits == 32 else word
            if kept >= 2**bits % bound:
                break
        assert next_below(state, bound) == ((word * bound) >> 32 if bits == 32 else word % bound)


def test_below_is_uniform():
    state = make_generator(11)
    counts = np.bincount([next_below(state, 10) for _ in range(20_000)], minlength=10)
    # chi-square with 9 degrees of freedom passes 33.7 once in ten thousand seeds; this seed is fixed.
    assert ((counts - 2000.0) ** 2 / 2000.0).sum() < 33.7


def test_equal_seeds_agree_and_others_do_not():
    assert make_generator(3).tolist() == make_generator(3).tolist() != make_generator(4).tolist()
    assert make_generator(None).tolist() != make_generator(None).tolist()


def test_a_pickled_state_continues_the_sequence():
    state = make_generator(9)
    next_uint64(state)
    twin = pickle.loads(pickle.dumps(state))
    assert [next_uniform(state) for _ in range(5)] == [next_uniform(twin) for _ in range(5)]


@pytest.mark.parametrize("seed", [1.5, "7", True], ids=repr)
def test_a_seed_that_is_no_integer_is_refused(seed):
    with pytest.raises(TypeError, match="seed must be an integer or None, got"):
        make_generator(seed)
