// Growth of one tree node by node, by the derivatives of a loss; see leaf_wise.cc.

#ifndef JAXTREE_NATIVE_GROW_LEAF_WISE_H_
#define JAXTREE_NATIVE_GROW_LEAF_WISE_H_

#include <cstdint>

#include "common/parallel.h"
#include "evaluate/open_features.h"
#include "evaluate/split_finder.h"
#include "partition/entries.h"
#include "tree/node_table.h"

namespace jaxtree {

// A growth whose entries are the rows of a table of bytes.
struct RowGrowth {
  const Level<uint8_t, int32_t>& level;
  const Limits<int32_t>& limits;
  const OpenRules& open;
  const Entries<int32_t>& entries;
  const uint32_t* root_seed;
  int32_t* leaf;  // the place for the node where each row ends
};

// Whether a growth can go node by node.
bool GrowsLeafWise(const RowGrowth& growth, const NodeTable<int32_t>& table);

// Fills the table, and returns whether it had room for all nodes; if not, it holds a smaller tree.
bool GrowLeafWise(Threads& pool, const RowGrowth& growth, NodeTable<int32_t>& table);

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_GROW_LEAF_WISE_H_
