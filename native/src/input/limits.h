// The limits of growth, each a number a root. Python passes them by these names, see `jaxtree_growth_fields`.

#ifndef JAXTREE_NATIVE_INPUT_LIMITS_H_
#define JAXTREE_NATIVE_INPUT_LIMITS_H_

#include <cstdint>
#include <vector>

namespace jaxtree {

// Their types and names; `Limits` of `jaxtree/growth/inputs/bundles.py` says what they mean, and
// `jaxtree/growth/inputs/root_limits.py` which are of weights, in units, and of rows.
#define JAXTREE_LIMITS(LIMIT)             \
  LIMIT(int32_t, max_depth)               \
  LIMIT(Value, split_weight)              \
  LIMIT(int32_t, split_rows)              \
  LIMIT(double, min_gain)                 \
  LIMIT(double, min_impurity_decrease)    \
  LIMIT(int32_t, max_features)            \
  LIMIT(int32_t, level_features)          \
  LIMIT(int32_t, max_leaf_nodes)          \
  LIMIT(Value, leaf_weight)               \
  LIMIT(int32_t, leaf_rows)               \
  LIMIT(double, mdl_correction)           \
  LIMIT(double, num_declared_classes)     \
  LIMIT(double, score_noise)

template <typename Value>
struct RootLimits {
#define JAXTREE_LIMIT(Type, name) std::vector<Type> name;
  JAXTREE_LIMITS(JAXTREE_LIMIT)
#undef JAXTREE_LIMIT

  RootLimits() = default;

  // Reads numbers [limit, root] in the order of the names.
  RootLimits(const double* numbers, int64_t num_roots) {
#define JAXTREE_LIMIT(Type, name) name.assign(numbers, numbers + num_roots), numbers += num_roots;
    JAXTREE_LIMITS(JAXTREE_LIMIT)
#undef JAXTREE_LIMIT
  }

  static constexpr int64_t Number() {
#define JAXTREE_LIMIT(Type, name) +1
    return 0 JAXTREE_LIMITS(JAXTREE_LIMIT);
#undef JAXTREE_LIMIT
  }
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_INPUT_LIMITS_H_
