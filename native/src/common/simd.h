// Loops over rows, compiled for the widest vectors that this processor has. Vectors of other widths give the same numbers:
// the compiler neither fuses multiplications and additions nor reorders sums of floats.

#ifndef JAXTREE_NATIVE_COMMON_SIMD_H_
#define JAXTREE_NATIVE_COMMON_SIMD_H_

namespace jaxtree {

// Without optimisation loops have no vectors.
#if defined(__x86_64__) && defined(__GNUC__) && defined(__OPTIMIZE__)
#define JAXTREE_HAS_WIDTHS 1
#endif

enum class Width { kUsual, kFour, kEight };  // numbers of 64 bits

inline Width WidestOfProcessor() {
#ifdef JAXTREE_HAS_WIDTHS
  const bool has_eight = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  if (has_eight) return Width::kEight;
  if (__builtin_cpu_supports("avx2")) return Width::kFour;
#endif
  return Width::kUsual;
}

// GCC would take vectors of half the width; Clang knows no such preference, and would leave out all of the attribute.
#ifdef __clang__
#define JAXTREE_EIGHT "avx512f,avx512dq,avx512vl,avx512bw"
#else
#define JAXTREE_EIGHT "avx512f,avx512dq,avx512vl,avx512bw,prefer-vector-width=512"
#endif

#ifdef JAXTREE_HAS_WIDTHS
// The callee is inlined, so that it has the vectors of the caller.
template <typename Work>
__attribute__((target("avx2"), flatten)) void WithFour(const Work& work) { work(); }

template <typename Work>
__attribute__((target(JAXTREE_EIGHT), flatten)) void WithEight(const Work& work) { work(); }
#endif

// Calls work(), which is a loop over rows that calls nothing else that is large.
template <typename Work>
void WithWidest(const Work& work) {
  [[maybe_unused]] static const Width width = WidestOfProcessor();
#ifdef JAXTREE_HAS_WIDTHS
  if (width == Width::kEight) return WithEight(work);
  if (width == Width::kFour) return WithFour(work);
#endif
  work();
}

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_COMMON_SIMD_H_
