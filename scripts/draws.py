"""The library's random numbers, for programs that check it: SplitMix64 read at any place."""

import math

import numpy as np

WORD = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
WEIGHTS, ATTRIBUTE_MASK, EDGE_MASK, SHUFFLE, KMEANS = 1, 2, 3, 4, 5
DIGITS = 24


def mix(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & WORD
    return z ^ (z >> 31)


class Stream:
    def __init__(self, key):
        self.key = key

    @staticmethod
    def new(seed, purpose):
        return Stream(mix(mix((seed + GOLDEN) & WORD) ^ purpose))

    def sub(self, *path):
        key = self.key
        for index in path:
            key = mix(key ^ mix((index + GOLDEN) & WORD))
        return Stream(key)

    def word(self, i):
        return mix((self.key + (i + 1) * GOLDEN) & WORD)

    def uniform(self, i):
        return (self.word(i) >> 11) / (1 << 53)

    def below(self, i, bound):
        return self.word(i) * bound >> 64

    def permutation(self, n):
        """Fisher-Yates, from the last place down."""
        out = list(range(n))
        for i in range(n - 1, 0, -1):
            j = self.below(i, i + 1)
            out[i], out[j] = out[j], out[i]
        return out

    def mask(self, entries, keep):
        """A bit per stored entry, 64 at a time: the binary digits of `keep` from the last to the
        first, `or` for a 1 and `and` for a 0."""
        digits = math.floor(keep * (1 << DIGITS) + 0.5)
        if digits == 1 << DIGITS:
            return np.ones(entries)
        bits = []
        for word in range((entries + 63) // 64):
            value = 0
            for digit in range(DIGITS):
                random = self.word(word * DIGITS + digit)
                value = value | random if digits >> digit & 1 else value & random
            bits += [value >> i & 1 for i in range(64)]
        return np.array(bits[:entries], dtype=float)
