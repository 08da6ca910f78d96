// Growth of one tree node by node, by the derivatives of a loss; see leaf_wise.cc.

#ifndef JAXTREE_NATIVE_GROW_LEAF_WISE_H_
#define JAXTREE_NATIVE_GROW_LEAF_WISE_H_

#include <cstdint>

#include "common/memory.h"
#include "common/parallel.h"
#include "grow/growth.h"
#include "tree/node_table.h"
#include "tree/scratch_tree.h"

namespace jaxtree {

// Whether a growth, whose entries are then the rows of a table of bytes, can go node by node.
bool GrowsLeafWise(const Growth<uint8_t, int32_t>& growth, const NodeTable<int32_t>& table);

// Fills a table, and returns whether it had room for all nodes; if not, it holds a smaller tree.
bool GrowLeafWise(Threads& pool, const Growth<uint8_t, int32_t>& growth, NodeRoom<int32_t>& result, Memory& memory);

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_GROW_LEAF_WISE_H_
