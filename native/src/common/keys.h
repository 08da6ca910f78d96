// Keys of numbers: whole numbers in the order of the numbers, of which a missing one has the greatest.

#ifndef JAXTREE_NATIVE_COMMON_KEYS_H_
#define JAXTREE_NATIVE_COMMON_KEYS_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace jaxtree {

template <typename Real>
using KeyOf = std::conditional_t<sizeof(Real) == 4, uint32_t, uint64_t>;

// All bits where a value is missing, and none where it is a number.
template <typename Real>
inline KeyOf<Real> IsMissing(Real value) {
  return -static_cast<KeyOf<Real>>(value != value);
}

// The key of a number: the bits of positive numbers come after those of negative ones, whose order is reversed.
template <typename Real>
inline KeyOf<Real> MakeKey(Real value) {
  using Key = KeyOf<Real>;
  constexpr int kSign = 8 * sizeof(Key) - 1;
  const Real number = value + Real{0};  // -0 and 0 are one number
  Key bits;
  std::memcpy(&bits, &number, sizeof(Key));
  const Key is_negative = -(bits >> kSign);
  return (bits ^ (is_negative | (Key{1} << kSign))) | IsMissing(value);
}

// The number of a key that is not that of a missing one.
template <typename Real>
inline Real NumberOf(KeyOf<Real> key) {
  using Key = KeyOf<Real>;
  constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
  const Key bits = key ^ (key & kSign ? kSign : ~Key{0});
  Real number;
  std::memcpy(&number, &bits, sizeof(Key));
  return number;
}

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_COMMON_KEYS_H_
