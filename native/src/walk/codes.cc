// Walks of rows down trees by their codes: `apply` of `jaxtree/tree/walk.py`.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/batch.h"
#include "common/parallel.h"
#include "tree/node_table.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace jaxtree {
namespace {

// Has the table read copies of its numbers where one of them would lead a walk out of the arrays, or in a circle: children
// come after their parents. A node whose children are not there is a leaf.
std::vector<int32_t> HeldNodes(NodeTable<int32_t>& table, int64_t capacity, int64_t num_features) {
  const auto fits = [&](int64_t node) {
    if (table.num_children[node] == 0) return true;
    const int64_t first = table.first_child[node], number = table.num_children[node];
    if (number < 0 || first <= node || first + number > capacity) return false;
    if (table.split_kind[node] == kSubset && table.num_words == 0) return false;
    return table.feature[node] >= 0 && table.feature[node] < num_features;
  };
  std::vector<int32_t> own;
  for (int64_t node = 0; node < capacity; ++node) {
    if (fits(node)) continue;
    if (own.empty()) own.assign(table.num_children, table.num_children + capacity);
    own[node] = 0;
  }
  if (!own.empty()) table.num_children = own.data();
  return own;
}

// The branch that a walk takes; a number of no branch where it ends.
int32_t BranchAt(const NodeTable<int32_t>& table, int32_t node, int32_t code) {
  if (code == table.missing_code[node]) return table.missing_branch[node];
  return table.split_kind[node] == kMultiway ? code : table.BranchOf(node, code);
}

// Where a walk goes from a node that splits at a threshold, or has no children and is gone to again.
struct Step {
  int64_t feature;
  int32_t code, missing_code;
  int32_t first, missing_next;

  template <typename Code>
  int32_t NextOf(const Code* codes, int64_t num_rows, int64_t row) const {
    const int32_t code_of_row = codes[feature * num_rows + row], next = first + (code_of_row > code);
    return code_of_row == missing_code ? missing_next : next;
  }
};

Step StepOf(const NodeTable<int32_t>& table, int32_t node) {
  constexpr int32_t kNoCode = -1;
  if (table.num_children[node] == 0) return {0, std::numeric_limits<int32_t>::max(), kNoCode, node, node};
  const int32_t branch = table.missing_branch[node], first = table.first_child[node];
  const bool ends = branch < 0 || branch >= table.num_children[node];
  return {table.feature[node], table.code[node], table.missing_code[node], first, ends ? node : first + branch};
}

// The steps of all nodes; none where a node splits in another way.
std::vector<Step> ListSteps(const NodeTable<int32_t>& table, int64_t capacity) {
  std::vector<Step> steps(capacity);
  for (int64_t node = 0; node < capacity; ++node) {
    const bool is_threshold = table.split_kind[node] == kThreshold && table.num_children[node] == 2;
    if (table.num_children[node] > 0 && !is_threshold) return {};
    steps[node] = StepOf(table, node);
  }
  return steps;
}

// Walks of some rows side by side: no step waits for those of other rows.
template <typename Code>
void WalkTogether(const Step* steps, const Code* codes, int64_t num_rows, int64_t begin, int64_t stop, int32_t* end) {
  constexpr int64_t kTogether = 16;
  for (int64_t first = begin; first < stop; first += kTogether) {
    const int64_t number = std::min(kTogether, stop - first);
    int32_t node[kTogether] = {};
    for (int32_t moved = 1; moved != 0;) {
      moved = 0;
      for (int64_t at = 0; at < number; ++at) {
        const int32_t next = steps[node[at]].NextOf(codes, num_rows, first + at);
        moved |= next ^ node[at];
        node[at] = next;
      }
    }
    std::copy(node, node + number, end + first);
  }
}

template <typename Code>
void WalkAlone(const NodeTable<int32_t>& table, const Code* codes, int64_t num_rows, int64_t begin, int64_t stop,
               int32_t* end) {
  for (int64_t row = begin; row < stop; ++row) {
    int32_t node = 0;
    while (table.num_children[node] > 0) {
      const int32_t branch = BranchAt(table, node, codes[table.feature[node] * num_rows + row]);
      if (branch < 0 || branch >= table.num_children[node]) break;
      node = table.first_child[node] + branch;
    }
    end[row] = node;
  }
}

template <typename Code>
void Walk(Threads& threads, const NodeTable<int32_t>& table, const Code* codes, int64_t num_rows, int64_t capacity,
          int32_t* end) {
  const std::vector<Step> steps = ListSteps(table, capacity);
  ForEachPart(threads, NumParts(threads, num_rows), num_rows, [&](int64_t, int64_t begin, int64_t stop) {
    if (steps.empty()) return WalkAlone(table, codes, num_rows, begin, stop, end);
    WalkTogether(steps.data(), codes, num_rows, begin, stop, end);
  });
}

ffi::Error WalkHandler(ffi::ThreadPool pool, ffi::AnyBuffer codes, ffi::AnyBuffer numbers, ffi::AnyBuffer subset,
                       ffi::Result<ffi::AnyBuffer> end) {
  const Models models(*end, 1);
  return ForCodes(codes, [&](auto code) {
    using Code = decltype(code);
    ForEachModel(pool, models, [&](Threads& threads, int64_t model) {
      const Array of_rows = models.Of(codes, model), of_nodes = models.Of(numbers, model);
      const Array words = models.Of(subset, model);
      NodeTable<int32_t> table{};
      const int64_t capacity = of_nodes.dimensions[1];
      int32_t* next = of_nodes.As<int32_t>();
      for (int32_t** field : {&table.feature, &table.code, &table.split_kind, &table.missing_code, &table.missing_branch,
                              &table.first_child, &table.num_children}) {
        *field = next;
        next += capacity;
      }
      table.subset = words.As<uint32_t>();
      table.num_words = words.dimensions[1];
      const std::vector<int32_t> own = HeldNodes(table, capacity, of_rows.dimensions[0]);
      Walk(threads, table, of_rows.As<const Code>(), of_rows.dimensions[1], capacity,
           models.Of(*end, model).template As<int32_t>());
    });
    return ffi::Error::Success();
  });
}

}  // namespace
}  // namespace jaxtree

XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_walk_codes, jaxtree::WalkHandler,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::AnyBuffer>()   // codes
                                  .Arg<ffi::AnyBuffer>()   // numbers of nodes, in the order of `native_rows.walk`
                                  .Arg<ffi::AnyBuffer>()   // subsets of nodes
                                  .Ret<ffi::AnyBuffer>()); // node where the walk of a row ends
