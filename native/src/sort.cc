// Entries of growth brought into the order of their slots.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "parallel.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace jaxtree {
namespace {

// The slot of an entry that is in no node of the level.
constexpr int32_t kNoSlot = std::numeric_limits<int32_t>::max();
// With fewer entries, another thread costs more to wake than it saves.
constexpr int64_t kLeastEntriesPerPart = 1 << 14;

// Copies every row of a matrix with its columns in a new order.
template <typename Item>
void MoveColumns(const ffi::AnyBuffer& from, ffi::AnyBuffer to, const std::vector<int32_t>& place, int64_t begin,
                 int64_t end) {
  const int64_t stride = std::max<int64_t>(from.dimensions().back(), 1), num_rows = from.element_count() / stride;
  for (int64_t row = 0; row < num_rows; ++row) {
    const Item* source = static_cast<const Item*>(from.untyped_data()) + row * stride;
    Item* target = static_cast<Item*>(to.untyped_data()) + row * stride;
    for (int64_t entry = begin; entry < end; ++entry) target[place[entry]] = source[entry];
  }
}

void MoveEntries(const ffi::AnyBuffer& from, ffi::AnyBuffer to, const std::vector<int32_t>& place, int64_t begin,
                 int64_t end) {
  if (ffi::ByteWidth(from.element_type()) == 8) {
    MoveColumns<int64_t>(from, to, place, begin, end);
  } else {
    MoveColumns<int32_t>(from, to, place, begin, end);
  }
}

// A counting sort of the entries in use. Every part of the entries counts its own, so that each knows where its entries of
// a slot begin; entries of a slot stay in their order, and those without a slot come last.
ffi::Error SortBySlot(ffi::ThreadPool pool, ffi::AnyBuffer slot, ffi::AnyBuffer row, ffi::AnyBuffer label,
                      ffi::AnyBuffer value, ffi::Buffer<ffi::S32> in_use, ffi::Result<ffi::AnyBuffer> sorted_slot,
                      ffi::Result<ffi::AnyBuffer> sorted_row, ffi::Result<ffi::AnyBuffer> sorted_label,
                      ffi::Result<ffi::AnyBuffer> sorted_value, ffi::Result<ffi::Buffer<ffi::S32>> start,
                      ffi::Result<ffi::Buffer<ffi::S32>> stop) {
  const int64_t stride = slot.element_count(), num_entries = std::min<int64_t>(in_use.typed_data()[0], stride);
  const int32_t num_slots = in_use.typed_data()[1];
  const int32_t* slot_of = static_cast<const int32_t*>(slot.untyped_data());
  const int64_t num_parts =
      std::clamp<int64_t>(num_entries / kLeastEntriesPerPart, 1, std::max<int64_t>(pool.num_threads(), 1));
  const auto first_of = [&](int64_t part) { return num_entries * part / num_parts; };
  const auto key_of = [&](int64_t entry) { return std::min(slot_of[entry], num_slots); };

  std::vector<std::vector<int32_t>> next(num_parts);
  ForEach(pool, num_parts, [&](int64_t part) {
    next[part].assign(num_slots + 1, 0);
    for (int64_t entry = first_of(part); entry < first_of(part + 1); ++entry) ++next[part][key_of(entry)];
  });
  int32_t before = 0;
  for (int32_t key = 0; key <= num_slots; ++key) {
    if (key < num_slots) start->typed_data()[key] = before;
    for (auto& starts : next) before += std::exchange(starts[key], before);
    if (key < num_slots) stop->typed_data()[key] = before;
  }
  std::vector<int32_t> place(num_entries);
  ForEach(pool, num_parts, [&](int64_t part) {
    const int64_t begin = first_of(part), end = first_of(part + 1);
    for (int64_t entry = begin; entry < end; ++entry) place[entry] = next[part][key_of(entry)]++;
    MoveEntries(slot, *sorted_slot, place, begin, end);
    MoveEntries(row, *sorted_row, place, begin, end);
    MoveEntries(label, *sorted_label, place, begin, end);
    MoveEntries(value, *sorted_value, place, begin, end);
  });
  std::fill_n(static_cast<int32_t*>(sorted_slot->untyped_data()) + num_entries, stride - num_entries, kNoSlot);
  return ffi::Error::Success();
}

}  // namespace
}  // namespace jaxtree

XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_sort_by_slot, jaxtree::SortBySlot,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::AnyBuffer>()         // slot: [entry]
                                  .Arg<ffi::AnyBuffer>()         // row: [entry]
                                  .Arg<ffi::AnyBuffer>()         // label: [label, entry]
                                  .Arg<ffi::AnyBuffer>()         // value: [value, entry]
                                  .Arg<ffi::Buffer<ffi::S32>>()  // the numbers of entries and of slots in use
                                  .Ret<ffi::AnyBuffer>()         // the same four, sorted
                                  .Ret<ffi::AnyBuffer>()
                                  .Ret<ffi::AnyBuffer>()
                                  .Ret<ffi::AnyBuffer>()
                                  .Ret<ffi::Buffer<ffi::S32>>()  // where the entries of every slot in use begin and end
                                  .Ret<ffi::Buffer<ffi::S32>>());
