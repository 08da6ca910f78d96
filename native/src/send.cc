// Entries of growth sent to the children of their nodes.

#include <algorithm>
#include <cstdint>
#include <limits>

#include "parallel.h"
#include "types.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace jaxtree {
namespace {

// In place of a child: the entry has reached a leaf.
constexpr int32_t kRetired = std::numeric_limits<int32_t>::max();
// In place of a child: the entry goes to all of them, for it has taken this branch.
constexpr int32_t kShared = kRetired - 1;
constexpr int32_t kAllBranches = 1 << 30;
// Fewer entries are not worth another thread.
constexpr int64_t kEntriesPerPart = 1 << 14;

// The splits of all nodes.
struct Splits {
  const int32_t *num_children, *first_child, *feature, *kind, *code, *missing_code, *missing_branch;
  const uint32_t* subset;
  int64_t num_words;

  int32_t BranchOf(int32_t node, int32_t value) const {
    if (value == missing_code[node]) return missing_branch[node];
    switch (kind[node]) {
      case kThreshold: return value > code[node];
      case kMultiway: return value;
      case kSubset: {
        const int64_t word = std::min<int64_t>(value / kCodesPerWord, num_words - 1);
        return subset[node * num_words + word] >> (value % kCodesPerWord) & 1;
      }
      default: return value == code[node];
    }
  }
};

template <typename Code>
void SendPart(const Code* codes, int64_t num_rows, const int32_t* row, const int32_t* slot, const int32_t* node_of_slot,
              int64_t num_slots, const Splits& splits, int64_t begin, int64_t end, int32_t* child) {
  for (int64_t entry = begin; entry < end; ++entry) {
    const int32_t node = slot[entry] < num_slots ? node_of_slot[slot[entry]] : -1;
    if (node < 0 || splits.num_children[node] == 0) {
      child[entry] = kRetired;
      continue;
    }
    const int32_t value = codes[splits.feature[node] * num_rows + row[entry]];
    const int32_t branch = splits.BranchOf(node, value);
    child[entry] = branch == kAllBranches ? kShared : splits.first_child[node] + branch;
  }
}

ffi::Error Send(ffi::ThreadPool pool, ffi::AnyBuffer codes, ffi::Buffer<ffi::S32> row, ffi::Buffer<ffi::S32> slot,
                ffi::Buffer<ffi::S32> size, ffi::Buffer<ffi::S32> node_of_slot, ffi::Buffer<ffi::S32> num_children,
                ffi::Buffer<ffi::S32> first_child, ffi::Buffer<ffi::S32> feature, ffi::Buffer<ffi::S32> kind,
                ffi::Buffer<ffi::S32> code, ffi::Buffer<ffi::S32> missing_code, ffi::Buffer<ffi::S32> missing_branch,
                ffi::Buffer<ffi::U32> subset, ffi::Result<ffi::Buffer<ffi::S32>> child) {
  const Splits splits{num_children.typed_data(), first_child.typed_data(), feature.typed_data(),
                      kind.typed_data(),         code.typed_data(),        missing_code.typed_data(),
                      missing_branch.typed_data(), subset.typed_data(),    subset.dimensions()[1]};
  const int64_t num_entries = slot.element_count(), num_slots = node_of_slot.element_count();
  const int64_t in_use = std::min<int64_t>(size.typed_data()[0], num_entries), num_rows = codes.dimensions()[1];
  std::fill(child->typed_data() + in_use, child->typed_data() + num_entries, kRetired);
  const auto send = [&](auto* all_codes) {
    ForEach(pool, (in_use + kEntriesPerPart - 1) / kEntriesPerPart, [&](int64_t part) {
      SendPart(all_codes, num_rows, row.typed_data(), slot.typed_data(), node_of_slot.typed_data(), num_slots, splits,
               part * kEntriesPerPart, std::min((part + 1) * kEntriesPerPart, in_use), child->typed_data());
    });
    return ffi::Error::Success();
  };
  return ForCodes(codes, [&](auto code) { return send(static_cast<const decltype(code)*>(codes.untyped_data())); });
}

}  // namespace
}  // namespace jaxtree

XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_send, jaxtree::Send,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::AnyBuffer>()         // codes: [feature, row]
                                  .Arg<ffi::Buffer<ffi::S32>>()  // row: [entry]
                                  .Arg<ffi::Buffer<ffi::S32>>()  // slot: [entry]
                                  .Arg<ffi::Buffer<ffi::S32>>()  // entries in use
                                  .Arg<ffi::Buffer<ffi::S32>>()  // node of every slot
                                  .Arg<ffi::Buffer<ffi::S32>>()  // of every node: number of children,
                                  .Arg<ffi::Buffer<ffi::S32>>()  // first child,
                                  .Arg<ffi::Buffer<ffi::S32>>()  // feature,
                                  .Arg<ffi::Buffer<ffi::S32>>()  // kind of split,
                                  .Arg<ffi::Buffer<ffi::S32>>()  // code,
                                  .Arg<ffi::Buffer<ffi::S32>>()  // code that means missing,
                                  .Arg<ffi::Buffer<ffi::S32>>()  // branch of it,
                                  .Arg<ffi::Buffer<ffi::U32>>()  // subset: [node, word]
                                  .Ret<ffi::Buffer<ffi::S32>>()  // child: [entry]
);
