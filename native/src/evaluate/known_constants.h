// The features of which all rows of a node have one code, as far as the node or those above it were asked: they are no
// split of any node below.

#ifndef JAXTREE_NATIVE_EVALUATE_KNOWN_CONSTANTS_H_
#define JAXTREE_NATIVE_EVALUATE_KNOWN_CONSTANTS_H_

#include <cstdint>

namespace jaxtree {

constexpr int64_t kFeaturesPerWord = 64;

// A bit for every node and feature, in `num_words` words a node; null where none is kept. Each node is asked by one thread.
struct KnownConstants {
  uint64_t* words = nullptr;
  int64_t num_words = 0;

  bool Has(int32_t node, int32_t feature) const {
    return words != nullptr && (words[node * num_words + feature / kFeaturesPerWord] >> feature % kFeaturesPerWord & 1) != 0;
  }

  void Add(int32_t node, int32_t feature) const {
    if (words == nullptr) return;
    words[node * num_words + feature / kFeaturesPerWord] |= uint64_t{1} << feature % kFeaturesPerWord;
  }
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_EVALUATE_KNOWN_CONSTANTS_H_
