// Sixteen numbers at a time: their functions, and sums over rows in one order. A processor of narrower vectors takes them in
// parts, and gets the same bits.

#ifndef JAXTREE_NATIVE_SOFT_LANES_H_
#define JAXTREE_NATIVE_SOFT_LANES_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

#include "common/simd.h"

namespace jaxtree::soft {

constexpr int64_t kLanes = 16;

#define JAXTREE_INLINE inline __attribute__((always_inline))

// Sixteen numbers as vectors of `kWidth`, which the processor has: wider ones would be taken apart by the compiler, slowly.
template <typename Number, int kWidth>
struct Pack {
  typedef Number Vector __attribute__((vector_size(kWidth * sizeof(Number))));
  static constexpr int kParts = kLanes / kWidth;

  Vector part[kParts];

  JAXTREE_INLINE Pack() : part{} {}
  JAXTREE_INLINE Pack(Number number) {
    for (Vector& own : part) own = Vector{} + number;
  }

#define JAXTREE_OPERATOR(op)                                                            \
  friend JAXTREE_INLINE Pack operator op(const Pack& a, const Pack& b) {                \
    Pack found;                                                                         \
    for (int at = 0; at < kParts; ++at) found.part[at] = a.part[at] op b.part[at];      \
    return found;                                                                       \
  }                                                                                     \
  friend JAXTREE_INLINE Pack operator op(const Pack& a, Number b) {                     \
    Pack found;                                                                         \
    for (int at = 0; at < kParts; ++at) found.part[at] = a.part[at] op b;               \
    return found;                                                                       \
  }                                                                                     \
  friend JAXTREE_INLINE Pack operator op(Number a, const Pack& b) {                     \
    Pack found;                                                                         \
    for (int at = 0; at < kParts; ++at) found.part[at] = a op b.part[at];               \
    return found;                                                                       \
  }                                                                                     \
  JAXTREE_INLINE Pack& operator op##=(const Pack& b) { return *this = *this op b; }
  JAXTREE_OPERATOR(+)
  JAXTREE_OPERATOR(-)
  JAXTREE_OPERATOR(*)
  JAXTREE_OPERATOR(/)
  JAXTREE_OPERATOR(&)
  JAXTREE_OPERATOR(|)
  JAXTREE_OPERATOR(^)
#undef JAXTREE_OPERATOR

  friend JAXTREE_INLINE Pack operator>>(Pack a, int number) {
    for (Vector& own : a.part) own = own >> number;
    return a;
  }
  friend JAXTREE_INLINE Pack operator<<(Pack a, int number) {
    for (Vector& own : a.part) own = own << number;
    return a;
  }
  friend JAXTREE_INLINE Pack operator-(Pack a) {
    for (Vector& own : a.part) own = -own;
    return a;
  }
  friend JAXTREE_INLINE Pack operator~(Pack a) {
    for (Vector& own : a.part) own = ~own;
    return a;
  }
};

template <int kWidth>
using Lanes = Pack<float, kWidth>;
template <int kWidth>
using Words = Pack<int32_t, kWidth>;
template <int kWidth>
using Bits = Pack<uint32_t, kWidth>;

// Calls work(), compiled for a processor that has vectors of `kWidth` numbers.
template <int kWidth, typename Work>
void WithVectors(const Work& work) {
#ifdef JAXTREE_HAS_WIDTHS
  if constexpr (kWidth == 16) return WithEight(work);
  if constexpr (kWidth == 8) return WithFour(work);
#endif
  work();
}

// Calls work(width), where the width is a constant: that of the vectors of this processor.
template <typename Work>
void WithWidth(const Work& work) {
#ifdef JAXTREE_HAS_WIDTHS
  static const Width width = WidestOfProcessor();
  if (width == Width::kEight) return work(std::integral_constant<int, 16>());
  if (width == Width::kFour) return work(std::integral_constant<int, 8>());
#endif
  work(std::integral_constant<int, 4>());
}

inline int64_t NumVectors(int64_t num_lanes) { return (num_lanes + kLanes - 1) / kLanes; }

// Zeroed lanes, which are also read number by number.
template <int kWidth>
class Rack {
 public:
  explicit Rack(int64_t size)
      : size_(size), data_(static_cast<Lanes<kWidth>*>(::operator new((size + 1) * kBytes, std::align_val_t{kBytes}))) {
    std::memset(static_cast<void*>(data_), 0, size_ * kBytes);
  }
  ~Rack() { ::operator delete(data_, std::align_val_t{kBytes}); }
  Rack(const Rack&) = delete;
  Rack& operator=(const Rack&) = delete;

  int64_t size() const { return size_; }
  Lanes<kWidth>* data() { return data_; }
  Lanes<kWidth>& operator[](int64_t at) { return data_[at]; }
  float* floats() { return reinterpret_cast<float*>(data_); }

 private:
  static constexpr int64_t kBytes = sizeof(Lanes<kWidth>);

  const int64_t size_;
  Lanes<kWidth>* const data_;
};

template <typename To, typename From>
JAXTREE_INLINE To SameBits(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(static_cast<void*>(&to), &from, sizeof(to));
  return to;
}

// Bits are compared in place of numbers, as vectors of whole numbers: those of numbers from 0 on are ordered as these are.
constexpr int32_t kSign = INT32_MIN;

template <int kWidth>
JAXTREE_INLINE Lanes<kWidth> Size(const Lanes<kWidth>& x) {
  return SameBits<Lanes<kWidth>>(SameBits<Words<kWidth>>(x) & ~kSign);
}

// The lesser of the size of a number and a positive one, with the sign of the first.
template <int kWidth>
JAXTREE_INLINE Lanes<kWidth> Within(const Lanes<kWidth>& x, float most) {
  int32_t bits_of_most;
  std::memcpy(&bits_of_most, &most, sizeof(most));
  const Words<kWidth> bits = SameBits<Words<kWidth>>(x), above = (bits & ~kSign) - bits_of_most;
  return SameBits<Lanes<kWidth>>(((above & (above >> 31)) + bits_of_most) | (bits & kSign));
}

// 1 for positive numbers, 0 for others.
template <int kWidth>
JAXTREE_INLINE Lanes<kWidth> IsPositive(const Lanes<kWidth>& x) {
  constexpr int32_t kBitsOfOne = 0x3F800000;
  const Words<kWidth> bits = SameBits<Words<kWidth>>(x);
  return SameBits<Lanes<kWidth>>((-bits >> 31) & ~(bits >> 31) & kBitsOfOne);
}

template <int kWidth>
JAXTREE_INLINE Lanes<kWidth> Larger(const Lanes<kWidth>& x, const Lanes<kWidth>& y) {
  float one[kLanes], other[kLanes];
  std::memcpy(one, &x, sizeof(one));
  std::memcpy(other, &y, sizeof(other));
  for (int64_t lane = 0; lane < kLanes; ++lane) one[lane] = one[lane] < other[lane] ? other[lane] : one[lane];
  Lanes<kWidth> larger;
  std::memcpy(static_cast<void*>(&larger), one, sizeof(larger));
  return larger;
}

// The exponential function within 2 units of the last place, of numbers beyond +-87 that of 87; as in Cephes (Moshier, 1989).
template <int kWidth>
JAXTREE_INLINE Lanes<kWidth> Exp(const Lanes<kWidth>& given) {
  constexpr float kMost = 87, kShift = 0x1.8p23f;
  const Lanes<kWidth> x = Within(given, kMost), shifted = x * 1.44269504088896341f + kShift, whole = shifted - kShift;
  const Lanes<kWidth> r = (x - whole * 0.693359375f) - whole * -2.12194440e-4f;
  Lanes<kWidth> p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  // The lowest bits of a shifted number are its whole part.
  return p * SameBits<Lanes<kWidth>>((SameBits<Words<kWidth>>(shifted) + 127) << 23);
}

template <int kWidth>
JAXTREE_INLINE Lanes<kWidth> Sigmoid(const Lanes<kWidth>& x) { return 1.0f / (1.0f + Exp(-x)); }

// The logarithm of positive normal numbers, within 2 units of the last place; no number of what is infinite or none.
template <int kWidth>
JAXTREE_INLINE Lanes<kWidth> Log(const Lanes<kWidth>& x) {
  // x = m 2**e, with m from sqrt(1/2) to sqrt(2).
  const Words<kWidth> up = SameBits<Words<kWidth>>(x) - 0x3F3504F3, e = up >> 23;
  const Lanes<kWidth> m = SameBits<Lanes<kWidth>>((up & 0x007FFFFF) + 0x3F3504F3), r = m - 1.0f, z = r * r;
  Lanes<kWidth> p = r * 7.0376836292e-2f - 1.1514610310e-1f;
  p = p * r + 1.1676998740e-1f;
  p = p * r - 1.2420140846e-1f;
  p = p * r + 1.4249322787e-1f;
  p = p * r - 1.6668057665e-1f;
  p = p * r + 2.0000714765e-1f;
  p = p * r - 2.4999993993e-1f;
  p = p * r + 3.3333331174e-1f;
  constexpr int32_t kBitsOfShift = 0x4B400000;
  const Lanes<kWidth> power = SameBits<Lanes<kWidth>>(e + kBitsOfShift) - 0x1.8p23f;
  return ((p * r * z + power * -2.12194440e-4f) - 0.5f * z + r) + power * 0.693359375f + x * 0.0f;
}

// The root of positive numbers.
template <int kWidth>
JAXTREE_INLINE Lanes<kWidth> Root(const Lanes<kWidth>& x) {
  float own[kLanes];
  std::memcpy(own, &x, sizeof(own));
  for (float& number : own) number = std::sqrt(number);
  Lanes<kWidth> root;
  std::memcpy(static_cast<void*>(&root), own, sizeof(own));
  return root;
}

template <int kWidth>
JAXTREE_INLINE float Sum(const Lanes<kWidth>& lanes) {
  typedef float Eight __attribute__((vector_size(8 * sizeof(float))));
  typedef float Four __attribute__((vector_size(4 * sizeof(float))));
  Eight halves[2];
  std::memcpy(halves, &lanes, sizeof(halves));
  const Eight eight = halves[0] + halves[1];
  Four quarters[2];
  std::memcpy(quarters, &eight, sizeof(quarters));
  const Four four = quarters[0] + quarters[1];
  return (four[0] + four[2]) + (four[1] + four[3]);
}

// Lanes of rows, `width` for each sixteen of them; the first of those meant is `data`.
template <int kWidth>
struct Panel {
  const Lanes<kWidth>* data;
  int64_t width;
};

template <int kM, int kN, int kWidth>
JAXTREE_INLINE void AddProducts(const Panel<kWidth>& a, const Panel<kWidth>& b, int64_t num_vectors, float* out, int64_t stride) {
  Lanes<kWidth> sum[kM][kN] = {};
  for (int64_t at = 0; at < num_vectors; ++at) {
    const Lanes<kWidth>* const left = a.data + at * a.width;
    const Lanes<kWidth>* const right = b.data + at * b.width;
#pragma GCC unroll 8
    for (int m = 0; m < kM; ++m) {
#pragma GCC unroll 8
      for (int n = 0; n < kN; ++n) sum[m][n] += left[m] * right[n];
    }
  }
#pragma GCC unroll 8
  for (int m = 0; m < kM; ++m) {
#pragma GCC unroll 8
    for (int n = 0; n < kN; ++n) out[m * stride + n] = Sum(sum[m][n]);
  }
}

template <int kM, int kN, int kWidth>
JAXTREE_INLINE void SumProductsOf(const Panel<kWidth>& a, const Panel<kWidth>& b, int64_t num_b, int64_t num_vectors, float* out) {
  int64_t n = 0;
  for (; n + kN <= num_b; n += kN) AddProducts<kM, kN, kWidth>(a, {b.data + n, b.width}, num_vectors, out + n, num_b);
  for (; n < num_b; ++n) AddProducts<kM, 1, kWidth>(a, {b.data + n, b.width}, num_vectors, out + n, num_b);
}

// Calls work(m, number), where the number is a constant, for all of m four at a time, and then for the others.
template <typename Work>
JAXTREE_INLINE void ByFours(int64_t size, const Work& work) {
  int64_t at = 0;
  for (; at + 4 <= size; at += 4) work(at, std::integral_constant<int, 4>());
  if (size - at == 3) return work(at, std::integral_constant<int, 3>());
  if (size - at == 2) return work(at, std::integral_constant<int, 2>());
  if (size - at == 1) return work(at, std::integral_constant<int, 1>());
}

// Sums of products over rows: out[m, n] = sum a[row, m] b[row, n].
template <int kWidth>
JAXTREE_INLINE void SumProducts(const Panel<kWidth>& a, int64_t num_a, const Panel<kWidth>& b, int64_t num_b,
                                int64_t num_vectors, float* out) {
  ByFours(num_a, [&](int64_t m, auto number) {
    SumProductsOf<decltype(number)::value, 3, kWidth>({a.data + m, a.width}, b, num_b, num_vectors, out + m * num_b);
  });
}

}  // namespace jaxtree::soft

#endif  // JAXTREE_NATIVE_SOFT_LANES_H_
