// Marks: bytes that are 1 or 0, and the places of those that are 1.

#ifndef JAXTREE_NATIVE_COMMON_MARKS_H_
#define JAXTREE_NATIVE_COMMON_MARKS_H_

#include <cstdint>
#include <cstring>

#include "common/simd.h"

#ifdef JAXTREE_HAS_WIDTHS
#include <immintrin.h>
#endif

namespace jaxtree {

// Bytes that are looked at together: marks are a multiple of so many.
constexpr int64_t kBytesOfMarks = 64;
// Places behind those of all marks that may be written to.
constexpr int64_t kMoreThanMarked = 16;

// Which bytes of a block are marked, a bit for each; from here on none is.
inline uint64_t TakeBlockOfMarks(uint8_t* marks) {
  constexpr int64_t kBytesPerWord = 8;
  constexpr uint64_t kGather = 0x0102040810204080;  // brings the lowest bits of eight bytes into the highest byte
  uint64_t bits = 0;
  for (int64_t at = 0; at < kBytesOfMarks; at += kBytesPerWord) {
    uint64_t word;
    std::memcpy(&word, marks + at, sizeof(word));
    bits |= (word * kGather >> 56) << at;
  }
  std::memset(marks, 0, kBytesOfMarks);
  return bits;
}

#ifdef JAXTREE_HAS_WIDTHS
__attribute__((target(JAXTREE_EIGHT))) inline int32_t* TakeMarkedByEight(uint8_t* marks, int64_t size, int32_t* to) {
  const __m512i none = _mm512_setzero_si512(), more = _mm512_set1_epi32(16);
  __m512i place = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  for (int64_t first = 0; first < size; first += kBytesOfMarks) {
    const __m512i block = _mm512_loadu_si512(marks + first);
    uint64_t bits = _mm512_test_epi8_mask(block, block);
    _mm512_storeu_si512(marks + first, none);
    for (int part = 0; part < 4; ++part, bits >>= 16) {
      const auto own = static_cast<__mmask16>(bits);
      _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(own, place));
      to += __builtin_popcount(own);
      place = _mm512_add_epi32(place, more);
    }
  }
  return to;
}
#endif

// Writes the places of marks in ascending order, and takes the marks away; returns the place behind the last one written.
inline int32_t* TakeMarked(uint8_t* marks, int64_t size, int32_t* to) {
#ifdef JAXTREE_HAS_WIDTHS
  static const bool has_eight = WidestOfProcessor() == Width::kEight;
  if (has_eight) return TakeMarkedByEight(marks, size, to);
#endif
  for (int64_t first = 0; first < size; first += kBytesOfMarks) {
    for (uint64_t bits = TakeBlockOfMarks(marks + first); bits != 0; bits &= bits - 1) {
      *to++ = static_cast<int32_t>(first + __builtin_ctzll(bits));
    }
  }
  return to;
}

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_COMMON_MARKS_H_
