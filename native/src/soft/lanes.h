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

namespace jaxtree::soft {

constexpr int64_t kLanes = 16;
typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float))));
typedef int32_t Words __attribute__((vector_size(kLanes * sizeof(int32_t))));
typedef uint32_t Bits __attribute__((vector_size(kLanes * sizeof(uint32_t))));

#define JAXTREE_INLINE inline __attribute__((always_inline))

inline int64_t NumVectors(int64_t num_lanes) { return (num_lanes + kLanes - 1) / kLanes; }

// Zeroed vectors, which are also read number by number.
class Vectors {
 public:
  explicit Vectors(int64_t size)
      : size_(size), data_(static_cast<Lanes*>(::operator new((size + 1) * sizeof(Lanes), std::align_val_t{sizeof(Lanes)}))) {
    Clear();
  }
  ~Vectors() { ::operator delete(data_, std::align_val_t{sizeof(Lanes)}); }
  Vectors(const Vectors&) = delete;
  Vectors& operator=(const Vectors&) = delete;

  void Clear() { std::memset(static_cast<void*>(data_), 0, size_ * sizeof(Lanes)); }
  int64_t size() const { return size_; }
  Lanes* data() { return data_; }
  Lanes& operator[](int64_t at) { return data_[at]; }
  float* floats() { return reinterpret_cast<float*>(data_); }

 private:
  const int64_t size_;
  Lanes* const data_;
};

JAXTREE_INLINE Words WordsOf(const Lanes& lanes) {
  Words words;
  std::memcpy(&words, &lanes, sizeof(words));
  return words;
}

JAXTREE_INLINE Lanes LanesOf(const Words& words) {
  Lanes lanes;
  std::memcpy(&lanes, &words, sizeof(lanes));
  return lanes;
}

JAXTREE_INLINE Lanes Same(float number) { return Lanes{} + number; }

JAXTREE_INLINE Lanes Size(const Lanes& x) { return LanesOf(WordsOf(x) & 0x7FFFFFFF); }

// The exponential function within 2 units of the last place, of numbers beyond +-87 that of 87; as in Cephes (Moshier, 1989).
JAXTREE_INLINE Lanes Exp(const Lanes& given) {
  constexpr float kMost = 87, kShift = 0x1.8p23f;
  const Lanes most = Same(kMost), low = given > most ? most : given, x = low < -most ? -most : low;
  const Lanes shifted = x * 1.44269504088896341f + kShift, whole = shifted - kShift;
  const Lanes r = (x - whole * 0.693359375f) - whole * -2.12194440e-4f;
  Lanes p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  // The lowest bits of a shifted number are its whole part.
  return p * LanesOf((WordsOf(shifted) + 127) << 23);
}

JAXTREE_INLINE Lanes Sigmoid(const Lanes& x) { return 1.0f / (1.0f + Exp(-x)); }

// The logarithm of positive normal numbers, within 2 units of the last place; no number of what is infinite or none.
JAXTREE_INLINE Lanes Log(const Lanes& x) {
  // x = m 2**e, with m from sqrt(1/2) to sqrt(2).
  const Words up = WordsOf(x) - 0x3F3504F3, e = up >> 23;
  const Lanes m = LanesOf((up & 0x007FFFFF) + 0x3F3504F3), r = m - 1.0f, z = r * r;
  Lanes p = r * 7.0376836292e-2f - 1.1514610310e-1f;
  p = p * r + 1.1676998740e-1f;
  p = p * r - 1.2420140846e-1f;
  p = p * r + 1.4249322787e-1f;
  p = p * r - 1.6668057665e-1f;
  p = p * r + 2.0000714765e-1f;
  p = p * r - 2.4999993993e-1f;
  p = p * r + 3.3333331174e-1f;
  const Lanes power = __builtin_convertvector(e, Lanes);
  return ((p * r * z + power * -2.12194440e-4f) - 0.5f * z + r) + power * 0.693359375f + x * 0.0f;
}

// The root of positive numbers.
JAXTREE_INLINE Lanes Root(const Lanes& x) {
  float own[kLanes];
  std::memcpy(own, &x, sizeof(own));
  for (float& number : own) number = std::sqrt(number);
  Lanes root;
  std::memcpy(&root, own, sizeof(own));
  return root;
}

JAXTREE_INLINE float Sum(const Lanes& lanes) {
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

// Vectors of rows, `width` for each sixteen of them; the first of those meant is `data`.
struct Panel {
  const Lanes* data;
  int64_t width;
};

template <int kM, int kN>
JAXTREE_INLINE void AddProducts(const Panel& a, const Panel& b, int64_t num_vectors, float* out, int64_t stride) {
  Lanes sum[kM][kN] = {};
  for (int64_t at = 0; at < num_vectors; ++at) {
    const Lanes* const left = a.data + at * a.width;
    const Lanes* const right = b.data + at * b.width;
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

template <int kM, int kN>
JAXTREE_INLINE void SumProductsOf(const Panel& a, const Panel& b, int64_t num_b, int64_t num_vectors, float* out) {
  int64_t n = 0;
  for (; n + kN <= num_b; n += kN) AddProducts<kM, kN>(a, {b.data + n, b.width}, num_vectors, out + n, num_b);
  for (; n < num_b; ++n) AddProducts<kM, 1>(a, {b.data + n, b.width}, num_vectors, out + n, num_b);
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
JAXTREE_INLINE void SumProducts(const Panel& a, int64_t num_a, const Panel& b, int64_t num_b, int64_t num_vectors, float* out) {
  ByFours(num_a, [&](int64_t m, auto number) {
    SumProductsOf<decltype(number)::value, 3>({a.data + m, a.width}, b, num_b, num_vectors, out + m * num_b);
  });
}

}  // namespace jaxtree::soft

#endif  // JAXTREE_NATIVE_SOFT_LANES_H_
