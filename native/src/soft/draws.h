// Random numbers of training, each a hash of a seed and its place: those of jaxtree/soft/draws.py.

#ifndef JAXTREE_NATIVE_SOFT_DRAWS_H_
#define JAXTREE_NATIVE_SOFT_DRAWS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "soft/lanes.h"

namespace jaxtree::soft {

template <typename Word>
JAXTREE_INLINE Word Mixed(Word word) {
  word = (word ^ (word >> 16)) * 0x7FEB352Du;
  word = (word ^ (word >> 15)) * 0x846CA68Bu;
  return word ^ (word >> 16);
}

template <typename Word>
JAXTREE_INLINE Word RandomWords(const Word* seed, const Word& place) {
  return Mixed<Word>(Mixed<Word>(place ^ seed[0]) + seed[1]);
}

// Threefry-2x32 with twenty rounds (Salmon et al., 2011), by which JAX draws.
inline void Threefry(const uint32_t* key, uint32_t first, uint32_t second, uint32_t* to) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t keys[] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDAu};
  uint32_t a = first + keys[0], b = second + keys[1];
  for (uint32_t group = 0; group < 5; ++group) {
    for (const int rotation : kRotations[group % 2]) {
      a += b;
      b = (b << rotation | b >> (32 - rotation)) ^ a;
    }
    a += keys[(group + 1) % 3];
    b += keys[(group + 2) % 3] + group + 1;
  }
  to[0] = a;
  to[1] = b;
}

// Writes the seeds of an epoch: two words for the order of its rows, and two for its noise; see `seeds_of_epoch`.
inline void SeedsOfEpoch(const uint32_t* key, uint32_t epoch, uint32_t* seeds) {
  uint32_t own[2], word[2];
  Threefry(key, 0, epoch, own);
  for (uint32_t at = 0; at < 4; ++at) {
    Threefry(own, 0, at, word);
    seeds[at] = word[0] ^ word[1];
  }
}

// Numbers of mean 0 and deviation 1, nearly normal: sums of four random bytes.
template <int kWidth>
JAXTREE_INLINE Lanes<kWidth> Noise(const Bits<kWidth>* seed, const Bits<kWidth>& place) {
  const Bits<kWidth> word = RandomWords<Bits<kWidth>>(seed, place);
  const Bits<kWidth> halves = (word & 0x00FF00FFu) + ((word >> 8) & 0x00FF00FFu);
  // Whole numbers in the lowest bits of 1.5 2**23.
  const auto shifted = SameBits<Lanes<kWidth>>((halves & 0xFFFFu) + (halves >> 16) + 0x4B400000u);
  const float inverse = static_cast<float>(1 / std::sqrt(4 * (256.0 * 256.0 - 1) / 12));
  return (shifted - (0x1.8p23f + 510.0f)) * inverse;
}

// Writes the numbers of rows in a random order; `size` is their number with padding, which decides how it is drawn.
inline void Shuffle(const uint32_t* seed, int64_t num_rows, int64_t size, std::vector<uint32_t>& order,
                    std::vector<uint32_t>& other) {
  constexpr int64_t kMostPacked = 1 << 16;
  constexpr int kBits = 8;
  order.resize(num_rows);
  other.resize(num_rows);
  const auto word_of = [&](uint32_t row) { return RandomWords<uint32_t>(seed, row); };
  if (size > kMostPacked) {
    std::iota(order.begin(), order.end(), 0u);
    for (int64_t row = 0; row < num_rows; ++row) other[row] = word_of(row);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return other[a] < other[b]; });
    return;
  }
  // A word has sixteen random bits above the number of its row: these are sorted by, eight at a time.
  constexpr int64_t kPlaces = 1 << kBits;
  uint32_t first[2][kPlaces] = {};
  for (int64_t row = 0; row < num_rows; ++row) order[row] = (word_of(row) & 0xFFFF0000u) | static_cast<uint32_t>(row);
  for (const uint32_t word : order) {
    ++first[0][(word >> 16) & 0xFF];
    ++first[1][word >> 24];
  }
  for (auto& own : first) std::exclusive_scan(own, own + kPlaces, own, 0u);
  for (const uint32_t word : order) other[first[0][(word >> 16) & 0xFF]++] = word;
  for (const uint32_t word : other) order[first[1][word >> 24]++] = word & 0xFFFFu;
}

}  // namespace jaxtree::soft

#endif  // JAXTREE_NATIVE_SOFT_DRAWS_H_
