// Losses of outputs, and their slopes; see jaxtree/soft/losses.py.

#ifndef JAXTREE_NATIVE_SOFT_LOSSES_H_
#define JAXTREE_NATIVE_SOFT_LOSSES_H_

#include <cstdint>

#include "soft/form.h"
#include "soft/lanes.h"

namespace jaxtree::soft {

constexpr float kLeastProbability = 1e-12f;  // is added to probabilities before their logarithm is taken

// Returns the losses of sixteen rows, and turns outputs, or the shares of a mixture, into slopes. The target of a class is its
// share.
template <int kWidth>
JAXTREE_INLINE Lanes<kWidth> LossOfShares(const Lanes<kWidth>* target, int64_t num_outputs, bool is_mixture, Lanes<kWidth>* output) {
  Lanes<kWidth> loss{}, total{}, whole{};
  if (is_mixture) {
    for (int64_t at = 0; at < num_outputs; ++at) {
      output[at] += kLeastProbability;
      total += output[at];
      whole += target[at];
      loss -= target[at] * Log(output[at]);
    }
    const Lanes<kWidth> common = whole / total;
    for (int64_t at = 0; at < num_outputs; ++at) output[at] = common - target[at] / output[at];
    return loss + whole * Log(total);
  }
  Lanes<kWidth> most = output[0];
  for (int64_t at = 1; at < num_outputs; ++at) most = Larger(output[at], most);
  for (int64_t at = 0; at < num_outputs; ++at) {
    const Lanes<kWidth> below = output[at] - most;
    loss -= target[at] * below;
    whole += target[at];
    output[at] = Exp(below);
    total += output[at];
  }
  const Lanes<kWidth> common = whole / total;
  for (int64_t at = 0; at < num_outputs; ++at) output[at] = output[at] * common - target[at];
  return loss + whole * Log(total);
}

// The same of half the squares of what scores are away from numbers.
template <int kWidth>
JAXTREE_INLINE Lanes<kWidth> LossOfSquares(const Lanes<kWidth>* target, int64_t num_outputs, const float* start, const float* unit,
                                   Lanes<kWidth>* output) {
  Lanes<kWidth> loss{};
  for (int64_t at = 0; at < num_outputs; ++at) {
    const Lanes<kWidth> error = (output[at] * unit[at] + start[at]) - target[at];
    loss += 0.5f * error * error;
    output[at] = error * unit[at];
  }
  return loss;
}

// Whether the most probable class is not that of the greatest share; of several equal ones the first counts.
template <int kWidth>
JAXTREE_INLINE Lanes<kWidth> Errors(const Lanes<kWidth>* target, int64_t num_outputs, const Lanes<kWidth>* output) {
  const auto place_of_largest = [&](const Lanes<kWidth>* values, int64_t lane) {
    const float* const numbers = reinterpret_cast<const float*>(values) + lane;
    int64_t found = 0;
    for (int64_t at = 1; at < num_outputs; ++at) found = numbers[at * kLanes] > numbers[found * kLanes] ? at : found;
    return found;
  };
  float errors[kLanes];
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    errors[lane] = place_of_largest(output, lane) == place_of_largest(target, lane) ? 0.0f : 1.0f;
  }
  return SameBits<Lanes<kWidth>>(errors);
}

}  // namespace jaxtree::soft

#endif  // JAXTREE_NATIVE_SOFT_LOSSES_H_
