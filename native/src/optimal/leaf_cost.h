// The cost of leaves in whole numbers: as `jaxtree/optimal/costs.py`, for many leaves at a time.

#ifndef JAXTREE_NATIVE_OPTIMAL_LEAF_COST_H_
#define JAXTREE_NATIVE_OPTIMAL_LEAF_COST_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "common/clones.h"

namespace jaxtree {

inline __attribute__((always_inline)) int64_t CountBitsOf(const uint64_t* one, const uint64_t* other, int64_t words) {
  int64_t count = 0;
  for (int64_t word = 0; word < words; ++word) count += __builtin_popcountll(one[word] & other[word]);
  return count;
}

JAXTREE_CLONES static int64_t CountBitsByWord(const uint64_t* one, const uint64_t* other, int64_t words) {
  return CountBitsOf(one, other, words);
}

#ifdef JAXTREE_HAS_WIDE_COUNTS
__attribute__((target("avx512f,avx512vl,avx512vpopcntdq"))) static int64_t CountBitsWide(const uint64_t* one,
                                                                                       const uint64_t* other,
                                                                                       int64_t words) {
  return CountBitsOf(one, other, words);
}
#endif

// The number of bits that are set in both.
inline int64_t CountBits(const uint64_t* one, const uint64_t* other, int64_t words) {
#ifdef JAXTREE_HAS_WIDE_COUNTS
  if (__builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512vl")) return CountBitsWide(one, other, words);
#endif
  return CountBitsByWord(one, other, words);
}

// The sums of leaf j: base + kSecond * second[j] + kPair * pair[j], for every channel.
template <int kSecond, int kPair, typename Sum>
inline __attribute__((always_inline)) Sum SumOf(Sum base, Sum second, Sum pair) {
  return base + kSecond * second + kPair * pair;
}

// All but the largest class.
template <int kSecond, int kPair>
inline __attribute__((always_inline)) void CountErrors(const int32_t* base, const int32_t* second, int64_t second_stride,
                                                       const int32_t* pair, int64_t pair_stride, int64_t num_labels,
                                                       int64_t num, int32_t* cost) {
  if (num_labels == 2) {
    const int32_t* const other_second = second + second_stride;
    const int32_t* const other_pair = pair + pair_stride;
    for (int64_t j = 0; j < num; ++j) {
      const int32_t one = SumOf<kSecond, kPair>(base[0], second[j], pair[j]);
      const int32_t other = SumOf<kSecond, kPair>(base[1], other_second[j], other_pair[j]);
      cost[j] = one < other ? one : other;
    }
    return;
  }
  constexpr int64_t kBlock = 256;
  for (int64_t begin = 0; begin < num; begin += kBlock) {
    const int64_t size = std::min(kBlock, num - begin);
    int32_t total[kBlock] = {}, most[kBlock] = {};
    for (int64_t label = 0; label < num_labels; ++label) {
      const int32_t* const own_second = second + label * second_stride + begin;
      const int32_t* const own_pair = pair + label * pair_stride + begin;
      for (int64_t j = 0; j < size; ++j) {
        const int32_t sum = SumOf<kSecond, kPair>(base[label], own_second[j], own_pair[j]);
        total[j] += sum;
        most[j] = most[j] > sum ? most[j] : sum;
      }
    }
    for (int64_t j = 0; j < size; ++j) cost[begin + j] = total[j] - most[j];
  }
}

JAXTREE_CLONES static void CountErrorsOf(int kind, const int32_t* base, const int32_t* second, int64_t second_stride,
                                         const int32_t* pair, int64_t pair_stride, int64_t num_labels, int64_t num,
                                         int32_t* cost) {
  switch (kind) {
    case 0: return CountErrors<0, 1>(base, second, second_stride, pair, pair_stride, num_labels, num, cost);
    case 1: return CountErrors<0, -1>(base, second, second_stride, pair, pair_stride, num_labels, num, cost);
    case 2: return CountErrors<1, -1>(base, second, second_stride, pair, pair_stride, num_labels, num, cost);
    default: return CountErrors<-1, 1>(base, second, second_stride, pair, pair_stride, num_labels, num, cost);
  }
}

// The least costs of two leaves where one indicator (`at`) splits what others leave, and the others what it leaves.
template <typename Cost>
inline __attribute__((always_inline)) void Update(const Cost* both, const Cost* first, const Cost* second,
                                                  const Cost* neither, int64_t num, Cost* inside, Cost* outside,
                                                  Cost* inside_at, Cost* outside_at) {
  Cost least_inside = *inside_at, least_outside = *outside_at;
  for (int64_t j = 0; j < num; ++j) {
    const Cost own_inside = both[j] + first[j], own_outside = second[j] + neither[j];
    const Cost other_inside = both[j] + second[j], other_outside = first[j] + neither[j];
    least_inside = least_inside < own_inside ? least_inside : own_inside;
    least_outside = least_outside < own_outside ? least_outside : own_outside;
    inside[j] = inside[j] < other_inside ? inside[j] : other_inside;
    outside[j] = outside[j] < other_outside ? outside[j] : other_outside;
  }
  *inside_at = std::min(*inside_at, least_inside);
  *outside_at = std::min(*outside_at, least_outside);
}

JAXTREE_CLONES static void UpdateBest(const int32_t* both, const int32_t* first, const int32_t* second,
                                      const int32_t* neither, int64_t num, int32_t* inside, int32_t* outside,
                                      int32_t* inside_at, int32_t* outside_at) {
  Update(both, first, second, neither, num, inside, outside, inside_at, outside_at);
}

JAXTREE_CLONES static void UpdateBest(const int64_t* both, const int64_t* first, const int64_t* second,
                                      const int64_t* neither, int64_t num, int64_t* inside, int64_t* outside,
                                      int64_t* inside_at, int64_t* outside_at) {
  Update(both, first, second, neither, num, inside, outside, inside_at, outside_at);
}

enum LeafFormula { kLoss, kGini, kEntropy, kSquaredError, kPoisson, kRegret };

struct LeafCost {
  LeafFormula formula;
  const int64_t* loss;  // [label, prediction]
  int64_t num_predictions, num_labels, num_values;
  double scale;
  const double* mean;
  int64_t least_rows;
  bool counts_rows;
  bool is_by_label;  // see `IsByLabel`

  template <typename Cost>
  static constexpr Cost Forbidden() {
    return std::is_same_v<Cost, int64_t> ? static_cast<Cost>(int64_t{1} << 58) : static_cast<Cost>(1 << 28);
  }

  int64_t NumTargets() const { return num_values - 1 - counts_rows; }

  // The loss where another class than this one is predicted, if it is the same for all others.
  static int64_t LossOf(const int64_t* loss, int64_t label, int64_t num_labels) {
    return num_labels > 1 ? loss[label * num_labels + (label == 0)] : 0;
  }

  // Whether a wrong prediction costs what its true class says, whichever class is predicted.
  static bool IsByLabel(const int64_t* loss, int64_t num_labels, int64_t num_predictions) {
    if (num_labels != num_predictions) return false;
    for (int64_t at = 0; at < num_labels * num_labels; ++at) {
      const int64_t label = at / num_labels, prediction = at % num_labels;
      if (loss[at] != (label == prediction ? 0 : LossOf(loss, label, num_labels))) return false;
    }
    return true;
  }

  // Whether a leaf costs the errors that it makes, and may have any rows.
  bool CountsErrors() const {
    if (formula != kLoss || !is_by_label || num_values != 1 || least_rows > 1) return false;
    for (int64_t label = 0; label < num_labels; ++label) {
      if (LossOf(loss, label, num_labels) != (num_labels > 1)) return false;
    }
    return true;
  }

  // The costs of leaves with the sums of `SumOf`.
  template <int kSecond, int kPair, typename Sum, typename Cost>
  void Rows(const Sum* base, const Sum* second, int64_t second_stride, const Sum* pair, int64_t pair_stride, int64_t num,
            Cost* cost) const {
    if constexpr (std::is_same_v<Cost, int32_t>) {
      constexpr int kKind = kSecond == 1 ? 2 : kSecond == -1 ? 3 : kPair == 1 ? 0 : 1;
      CountErrorsOf(kKind, base, second, second_stride, pair, pair_stride, num_labels, num, cost);
    } else {
      std::vector<Sum> sums(num_labels * num_values);
      for (int64_t j = 0; j < num; ++j) {
        for (size_t channel = 0; channel < sums.size(); ++channel) {
          sums[channel] = SumOf<kSecond, kPair>(base[channel], second[channel * second_stride + j], pair[channel * pair_stride + j]);
        }
        cost[j] = Of<Sum, Cost>(sums.data());
      }
    }
  }

  template <typename Sum, typename Cost>
  Cost Of(const Sum* sums) const {
    int64_t rows = 0;
    for (int64_t label = 0; label < num_labels; ++label) {
      rows += sums[label * num_values + (counts_rows ? num_values - 1 : 0)];
    }
    if (rows == 0) return 0;
    if (rows < least_rows) return Forbidden<Cost>();
    switch (formula) {
      case kLoss: return static_cast<Cost>(Lost(sums));
      case kGini: return static_cast<Cost>(Gini(sums));
      case kEntropy: return static_cast<Cost>(Entropy(sums));
      case kSquaredError: return static_cast<Cost>(SquaredError(sums));
      case kRegret: return static_cast<Cost>(*std::min_element(sums + 1, sums + 1 + NumTargets()));
      default: return static_cast<Cost>(Poisson(sums));
    }
  }

 private:
  // A cost that is no number, or too great for one, is forbidden.
  int64_t Rounded(double cost) const {
    const double whole = std::nearbyint(cost * scale), most = static_cast<double>(Forbidden<int64_t>());
    return std::abs(whole) < most ? static_cast<int64_t>(whole) : Forbidden<int64_t>();
  }

  template <typename Sum>
  int64_t Lost(const Sum* sums) const {
    if (is_by_label) {
      int64_t total = 0, most = 0;
      for (int64_t label = 0; label < num_labels; ++label) {
        const int64_t own = static_cast<int64_t>(sums[label * num_values]) * LossOf(loss, label, num_labels);
        total += own;
        most = std::max(most, own);
      }
      return total - most;
    }
    int64_t least = Forbidden<int64_t>();
    for (int64_t prediction = 0; prediction < num_predictions; ++prediction) {
      int64_t lost = 0;
      for (int64_t label = 0; label < num_labels; ++label) {
        lost += static_cast<int64_t>(sums[label * num_values]) * loss[label * num_predictions + prediction];
      }
      least = std::min(least, lost);
    }
    return least;
  }

  template <typename Sum>
  int64_t Gini(const Sum* sums) const {
    double total = 0, squares = 0;
    for (int64_t label = 0; label < num_labels; ++label) {
      const auto weight = static_cast<double>(sums[label * num_values]);
      total += weight;
      squares += weight * weight;
    }
    return Rounded(total - squares / total);
  }

  static double XLog2X(double x) { return x > 0 ? x * std::log2(x) : 0; }

  template <typename Sum>
  int64_t Entropy(const Sum* sums) const {
    double total = 0, logs = 0;
    for (int64_t label = 0; label < num_labels; ++label) {
      const auto weight = static_cast<double>(sums[label * num_values]);
      total += weight;
      logs += XLog2X(weight);
    }
    return Rounded(XLog2X(total) - logs);
  }

  template <typename Sum>
  int64_t SquaredError(const Sum* sums) const {
    double squares = 0;
    for (int64_t target = 0; target < NumTargets(); ++target) {
      const auto sum = static_cast<double>(sums[1 + target]);
      squares += sum * sum;
    }
    return Rounded(-(squares / static_cast<double>(sums[0])));
  }

  template <typename Sum>
  int64_t Poisson(const Sum* sums) const {
    double terms = 0;
    for (int64_t target = 0; target < NumTargets(); ++target) {
      const auto sum = static_cast<double>(sums[1 + target]);
      if (!(sum > 0)) return Forbidden<int64_t>();
      terms += sum * std::log(sum / (static_cast<double>(sums[0]) * mean[target]));
    }
    return Rounded(-terms);
  }
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_OPTIMAL_LEAF_COST_H_
