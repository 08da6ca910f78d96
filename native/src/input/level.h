// The inputs of a search for splits: the table, the rules, and the nodes of a level with their entries.

#ifndef JAXTREE_NATIVE_INPUT_LEVEL_H_
#define JAXTREE_NATIVE_INPUT_LEVEL_H_

#include <cassert>
#include <cstdint>

#include "evaluate/known_constants.h"
#include "evaluate/open_features.h"
#include "input/rules.h"
#include "input/table.h"

namespace jaxtree {

// From this many classes on, a node of few of them has cells for these alone.
constexpr int32_t kManyClasses = 64;

// The slot of a node is its place in `node`. Where entries are in row order, entry e is row e, and `slot` has the slot of
// every entry, or -1; elsewhere the entries of a slot are those from `start` to `stop`, and `slot` is null.
template <typename Code, typename Value>
struct Level {
  Table<Code> table;
  Rules<Value> rules;

  // Entries.
  int64_t num_entries;
  const int32_t *row, *slot, *label;
  const Value* value;

  // The fields of every slot.
  int64_t num_slots;
  const int32_t* node;
  const int64_t *start, *stop;

  // The fields of every node.
  const Value* sums;
  int64_t num_node_channels;
  const int32_t *rows_of_node, *root;
  const uint32_t* seed;
  const double *lower, *upper;  // of the values of branches; null without monotone features
  const OpenFeatures* open;
  KnownConstants constants;

  // Whether the cells of a node are those of its classes alone: of many classes a node has few. The orders of subsets and
  // monotone values are those of all classes.
  bool HasFewOfManyClasses() const {
    const Objective& objective = rules.objective;
    const bool is_plain = rules.adds_one_label && !objective.counts_rows && objective.num_outputs == 1 && !table.monotone;
    return is_plain && slot == nullptr && objective.num_classes >= kManyClasses && !table.HasKind(kSubset);
  }

  // Adds an entry to the sums of a code.
  void Add(int64_t entry, Value* sums) const {
    assert(0 <= entry && entry < num_entries);
    if (rules.adds_one_label) {
      sums[label[entry]] += value[entry];
      return;
    }
    for (const Addition& addition : rules.additions) {
      const int32_t own = addition.label < 0 ? 0 : label[addition.label * num_entries + entry];
      sums[addition.channel + own] +=
          addition.value == kCountsRow ? 1 : value[addition.value * num_entries + entry];
    }
  }

  // Whether a node may split by a feature.
  bool IsOpen(int32_t of_node, int32_t feature) const { return open->IsOpen(of_node, root[of_node], feature); }
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_INPUT_LEVEL_H_
