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
JAXTREE_INLINE Lanes LossOfShares(const Lanes* target, int64_t num_outputs, bool is_mixture, Lanes* output) {
  Lanes loss{}, total{}, whole{};
  if (is_mixture) {
    for (int64_t at = 0; at < num_outputs; ++at) {
      output[at] += kLeastProbability;
      total += output[at];
      whole += target[at];
      loss -= target[at] * Log(output[at]);
    }
    const Lanes common = whole / total;
    for (int64_t at = 0; at < num_outputs; ++at) output[at] = common - target[at] / output[at];
    return loss + whole * Log(total);
  }
  Lanes most = output[0];
  for (int64_t at = 1; at < num_outputs; ++at) most = output[at] > most ? output[at] : most;
  for (int64_t at = 0; at < num_outputs; ++at) {
    const Lanes below = output[at] - most;
    loss -= target[at] * below;
    whole += target[at];
    output[at] = Exp(below);
    total += output[at];
  }
  const Lanes common = whole / total;
  for (int64_t at = 0; at < num_outputs; ++at) output[at] = output[at] * common - target[at];
  return loss + whole * Log(total);
}

// The same of half the squares of what scores are away from numbers.
JAXTREE_INLINE Lanes LossOfSquares(const Lanes* target, int64_t num_outputs, const float* start, const float* unit,
                                   Lanes* output) {
  Lanes loss{};
  for (int64_t at = 0; at < num_outputs; ++at) {
    const Lanes error = (output[at] * unit[at] + start[at]) - target[at];
    loss += 0.5f * error * error;
    output[at] = error * unit[at];
  }
  return loss;
}

// Whether the most probable class is not that of the greatest share; of several equal ones the first counts.
JAXTREE_INLINE Lanes Errors(const Lanes* target, int64_t num_outputs, const Lanes* output) {
  Lanes most = output[0], most_share = target[0];
  Words found{}, wanted{};
  for (int64_t at = 1; at < num_outputs; ++at) {
    const Words is_more = output[at] > most, is_larger = target[at] > most_share, own = Words{} + static_cast<int32_t>(at);
    most = is_more ? output[at] : most;
    found = is_more ? own : found;
    most_share = is_larger ? target[at] : most_share;
    wanted = is_larger ? own : wanted;
  }
  return found == wanted ? Lanes{} : Same(1);
}

}  // namespace jaxtree::soft

#endif  // JAXTREE_NATIVE_SOFT_LOSSES_H_
