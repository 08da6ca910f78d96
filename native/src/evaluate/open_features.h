// The features that a node may split by, where not every node may split by all; see `jaxtree/growth/device/open_features.py`.

#ifndef JAXTREE_NATIVE_EVALUATE_OPEN_FEATURES_H_
#define JAXTREE_NATIVE_EVALUATE_OPEN_FEATURES_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/hashes.h"
#include "input/rules.h"

namespace jaxtree {

class OpenFeatures {
 public:
  OpenFeatures(const OpenRules& rules, int32_t num_roots) : rules_(rules), num_roots_(num_roots) {
    if (rules_.sets) open_sets_.assign(num_roots * rules_.num_words, ~uint32_t{0});
  }

  // A child keeps the sets of its parent that contain the feature between them.
  template <typename Table>
  void HandDown(const Table& table, int32_t first) {
    if (!rules_.sets) return;
    const int64_t size = rules_.num_words;
    open_sets_.resize(table.num_nodes * size);
    for (int32_t node = std::max(first, num_roots_); node < table.num_nodes; ++node) {
      const int32_t parent = table.parent[node];
      const uint32_t* const own = rules_.sets + table.feature[parent] * size;
      for (int64_t word = 0; word < size; ++word) open_sets_[node * size + word] = open_sets_[parent * size + word] & own[word];
    }
  }

  // Draws those features of every tree that the nodes of a depth may split by.
  void Draw(const std::vector<uint32_t>& seed, int32_t depth) {
    if (!rules_.samples_levels) return;
    is_drawn_.assign(num_roots_ * rules_.num_features, 0);
    std::vector<uint64_t> order;  // the features, each after its rank
    for (int32_t root = 0; root < num_roots_; ++root) {
      const uint32_t level_seed = ChildHash(Mix(seed[root] ^ kDrawsOfLevel), depth);
      order.clear();
      for (int32_t feature = 0; feature < rules_.num_features; ++feature) {
        if (rules_.num_codes[feature] > 0) order.push_back(uint64_t{ChildHash(level_seed, feature)} << 32 | feature);
      }
      const auto end = order.begin() + std::min<size_t>(rules_.level_features[root], order.size());
      std::partial_sort(order.begin(), end, order.end());
      for (auto at = order.begin(); at < end; ++at) is_drawn_[root * rules_.num_features + static_cast<int32_t>(*at)] = 1;
    }
  }

  bool IsOpen(int32_t node, int32_t root, int32_t feature) const {
    if (rules_.num_codes[feature] == 0) return false;
    if (rules_.samples_levels && !is_drawn_[root * rules_.num_features + feature]) return false;
    return !rules_.sets || SharesSet(open_sets_.data() + node * rules_.num_words, rules_.sets + feature * rules_.num_words);
  }

 private:
  bool SharesSet(const uint32_t* open, const uint32_t* own) const {
    for (int64_t word = 0; word < rules_.num_words; ++word) {
      if (open[word] & own[word]) return true;
    }
    return false;
  }

  const OpenRules rules_;
  const int32_t num_roots_;
  std::vector<uint32_t> open_sets_;  // of every node
  std::vector<uint8_t> is_drawn_;    // of every root and feature, at the present depth
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_EVALUATE_OPEN_FEATURES_H_
