// The inputs of a growth.

#ifndef JAXTREE_NATIVE_GROW_GROWTH_H_
#define JAXTREE_NATIVE_GROW_GROWTH_H_

#include <cstdint>

#include "input/level.h"
#include "input/rules.h"
#include "partition/entries.h"

namespace jaxtree {

template <typename Code, typename Value>
struct Growth {
  Level<Code, Value> level;  // the table and the rules
  OpenRules open;
  Entries<Value> entries;
  const uint32_t* root_seed;
  int64_t most_slots_in_row_order;
  int32_t* leaf;  // the place for the node where each row ends; or null
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_GROW_GROWTH_H_
