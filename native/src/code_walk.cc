// Walks of rows down trees by their codes: `apply` of `jaxtree/tree/walk.py`.

#include <cstdint>

#include "models.h"
#include "nodes.h"
#include "parallel.h"
#include "types.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace jaxtree {
namespace {

// The branch that a walk takes; a number of no branch where it ends.
int32_t BranchAt(const NodeTable<int32_t>& table, int32_t node, int32_t code) {
  if (code == table.missing_code[node]) return table.missing_branch[node];
  return table.kind[node] == kMultiway ? code : table.BranchOf(node, code);
}

template <typename Code>
void Walk(Threads& threads, const NodeTable<int32_t>& table, const Code* codes, int64_t num_rows, int32_t* end) {
  ForEachPart(threads, NumParts(threads, num_rows), num_rows, [&](int64_t, int64_t begin, int64_t stop) {
    for (int64_t row = begin; row < stop; ++row) {
      int32_t node = 0;
      while (table.num_children[node] > 0) {
        const int32_t branch = BranchAt(table, node, codes[table.feature[node] * num_rows + row]);
        if (branch < 0 || branch >= table.num_children[node]) break;
        node = table.first_child[node] + branch;
      }
      end[row] = node;
    }
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
      for (int32_t** field : {&table.feature, &table.code, &table.kind, &table.missing_code, &table.missing_branch,
                              &table.first_child, &table.num_children}) {
        *field = next;
        next += capacity;
      }
      table.subset = words.As<uint32_t>();
      table.num_words = words.dimensions[1];
      Walk(threads, table, of_rows.As<const Code>(), of_rows.dimensions[1], models.Of(*end, model).template As<int32_t>());
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
