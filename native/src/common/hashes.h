// Hashes of integers, from which everything is drawn; as in `jaxtree/arrays.py` and `jaxtree/growth/plan/problem.py`.

#ifndef JAXTREE_NATIVE_COMMON_HASHES_H_
#define JAXTREE_NATIVE_COMMON_HASHES_H_

#include <cstdint>

namespace jaxtree {

// Tell apart what a seed draws.
constexpr uint32_t kDrawsOfNode = 0x9E3779B9u, kDrawsOfLevel = 0x85157AF5u, kDrawsOfScores = 0x2545F491u;

inline uint32_t Mix(uint32_t number) {
  number = (number ^ (number >> 16)) * 0x85EBCA6Bu;
  number = (number ^ (number >> 13)) * 0xC2B2AE35u;
  return number ^ (number >> 16);
}

inline uint32_t ChildHash(uint32_t parent, uint32_t branch) { return Mix(parent + branch + 1); }

// A number of mean 0 and deviation 1, which is near a normal one: the sum of four that are uniform. `near_normal` of Python.
inline double NearNormal(uint32_t seed) {
  constexpr uint32_t kHalf = 0xFFFFu;
  constexpr double kMean = 2 * 65535.0, kDeviation = 65536 / 1.7320508075688772;
  const uint32_t next = Mix(seed + kDrawsOfNode);
  const uint32_t sum = (seed & kHalf) + (seed >> 16) + (next & kHalf) + (next >> 16);
  return (sum - kMean) / kDeviation;
}

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_COMMON_HASHES_H_
