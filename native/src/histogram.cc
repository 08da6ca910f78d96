// Histograms of the entries of growth: sums of whole numbers, which no order of additions changes.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "parallel.h"
#include "types.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace jaxtree {
namespace {

// Features that one thread sums side by side: they share the reads of bases and values.
constexpr int64_t kMostSideBySide = 4;
// With less to do, another thread costs more to wake than it saves.
constexpr int64_t kLeastAdditions = 1 << 14, kEntriesPerPart = 1 << 14;
// Shorter runs of entries of one slot are added entry by entry.
constexpr int64_t kLeastRun = 16;
// Stands for a value that is 1 where the weight is positive, so that rows are counted.
constexpr int32_t kCountsRow = -1;

struct Range {
  int64_t begin, end;
};

// What every entry adds for one of its channels: to which cell, but for the code, and how much.
template <typename Value>
struct Addition {
  const int32_t* base;
  const Value* value;
};

// Some entries, and what they add. In row order, entry e is row e, and there are all of them.
template <typename Value>
struct Work {
  int64_t num_entries;
  const int32_t* row;
  bool in_row_order;
  std::vector<Addition<Value>> additions;
  int32_t most_code;
  std::unique_ptr<int32_t[]> bases;      // what the additions refer to
  std::unique_ptr<Value[]> has_weight;
  std::unique_ptr<int32_t[]> place;      // the entry's slot among those of the tables
  int64_t num_runs;                      // of entries of one place
};

// Adds the entries to `kFeatures` tables, one channel after another. `code_at(f, entry, row)` is the code of table f.
//
// The loop has as many pointers as a processor has registers, so what it needs is few and its own.
template <int kFeatures, bool kInRowOrder, typename Value, typename CodeAt>
__attribute__((noinline)) void AddChannel(const Work<Value>& work, Range range, const Addition<Value>& addition,
                                          const std::array<Value*, kMostSideBySide>& tables, const CodeAt code_at) {
  Value* table[kFeatures];
  std::copy_n(tables.begin(), kFeatures, table);
  const int32_t* const base = addition.base;
  const Value* const values = addition.value;
  const int32_t* const row_of = work.row;
  const int32_t most_code = work.most_code;
  for (int64_t entry = range.begin, end = range.end; entry < end; ++entry) {
    const int64_t row = kInRowOrder ? entry : row_of[entry], at = base[entry];
    const Value value = values[entry];
#pragma GCC unroll 4
    for (int f = 0; f < kFeatures; ++f) table[f][at + std::min<int32_t>(code_at(f, entry, row), most_code)] += value;
  }
}

template <int kFeatures, typename Value, typename CodeAt>
void AddAny(const Work<Value>& work, Range range, const std::array<Value*, kMostSideBySide>& tables, const CodeAt& code_at) {
  for (const Addition<Value>& addition : work.additions) {
    if (work.in_row_order) {
      AddChannel<kFeatures, true>(work, range, addition, tables, code_at);
    } else {
      AddChannel<kFeatures, false>(work, range, addition, tables, code_at);
    }
  }
}

// Adds to the tables of `count` features side by side.
template <typename Value, typename CodeAt>
void AddSome(const Work<Value>& work, Range range, int64_t count, const std::array<Value*, kMostSideBySide>& tables,
             const CodeAt& code_at) {
  switch (count) {
    case 1: return AddAny<1>(work, range, tables, code_at);
    case 2: return AddAny<2>(work, range, tables, code_at);
    case 3: return AddAny<3>(work, range, tables, code_at);
    default: return AddAny<4>(work, range, tables, code_at);
  }
}

// Where codes are read, and which tables are filled: a feature for every table, or one for every table and slot. Tables
// of a feature below 0 stay empty.
template <typename Code>
struct Looked {
  const Code* codes;
  int64_t num_features, num_rows;
  const int32_t* feature;
  int64_t num_tables, num_slots;
  bool per_slot;

  const Code* Of(int64_t at) const { return codes + std::min<int64_t>(feature[at], num_features - 1) * num_rows; }
};

// Adds to tables where every slot has features of its own: run after run of entries of one slot where runs are long.
template <typename Code, typename Value>
void AddBySlot(const Work<Value>& work, const Looked<Code>& looked, int64_t first, int64_t count,
               const std::array<Value*, kMostSideBySide>& tables) {
  const int32_t* const place = work.place.get();
  if (work.num_runs * kLeastRun > work.num_entries) {
    std::vector<const Code*> codes(count * looked.num_slots);
    for (int64_t at = 0; at < count * looked.num_slots; ++at) codes[at] = looked.Of(first * looked.num_slots + at);
    const Code* const* const of = codes.data();
    AddSome(work, {0, work.num_entries}, count, tables,
            [of, place, num_slots = looked.num_slots](int f, int64_t entry, int64_t row) {
              return of[f * num_slots + place[entry]][row];
            });
    return;
  }
  for (int64_t begin = 0, end; begin < work.num_entries; begin = end) {
    for (end = begin + 1; end < work.num_entries && place[end] == place[begin];) ++end;
    std::array<const Code*, kMostSideBySide> codes{};
    for (int64_t f = 0; f < count; ++f) codes[f] = looked.Of((first + f) * looked.num_slots + place[begin]);
    AddSome(work, {begin, end}, count, tables, [codes](int f, int64_t, int64_t row) { return codes[f][row]; });
  }
}

template <typename Code, typename Value>
void FillTables(ffi::ThreadPool& pool, const Work<Value>& work, const Looked<Code>& looked, int64_t num_cells,
                Value* cells) {
  std::vector<int64_t> filled;
  for (int64_t t = 0; t < looked.num_tables; ++t) {
    if (looked.per_slot || looked.feature[t] >= 0) filled.push_back(t);
  }
  const int64_t num_filled = filled.size(), num_threads = std::max<int64_t>(pool.num_threads(), 1);
  const int64_t side_by_side = std::clamp<int64_t>(-(-num_filled / num_threads), 1, kMostSideBySide);
  for (int64_t t = 0; t < looked.num_tables; ++t) {
    if (!looked.per_slot && looked.feature[t] < 0) std::memset(cells + t * num_cells, 0, num_cells * sizeof(Value));
  }
  const auto fill = [&](int64_t pack) {
    const int64_t first = pack * side_by_side, count = std::min(side_by_side, num_filled - first);
    std::array<Value*, kMostSideBySide> own{};
    for (int64_t f = 0; f < count; ++f) {
      own[f] = cells + filled[first + f] * num_cells;
      std::memset(own[f], 0, num_cells * sizeof(Value));
    }
    if (looked.per_slot) {
      AddBySlot(work, looked, first, count, own);
    } else {
      std::array<const Code*, kMostSideBySide> codes{};
      for (int64_t f = 0; f < count; ++f) codes[f] = looked.Of(filled[first + f]);
      AddSome(work, {0, work.num_entries}, count, own, [codes](int f, int64_t, int64_t row) { return codes[f][row]; });
    }
  };
  ForEachIf(work.num_entries * num_filled >= kLeastAdditions, pool, (num_filled + side_by_side - 1) / side_by_side,
            fill);
}

// The cells of entries but for the codes. Entries outside the slots go to a strip of cells that nobody reads.
struct Cells {
  int32_t first_slot, num_slots, num_channels, num_bins;

  int32_t PlaceOf(int32_t slot) const {
    return slot >= first_slot && slot - first_slot < num_slots ? slot - first_slot : num_slots;
  }
  int32_t BaseOf(int32_t place, int32_t channel) const {
    return (place * num_channels + (place < num_slots ? channel : 0)) * num_bins;
  }
};

template <typename Value>
Work<Value> MakeWork(ffi::ThreadPool& pool, const Cells& cells, const int32_t* row, const int32_t* slot,
                     const int32_t* label, const Value* value, int64_t stride, int64_t num_entries, bool in_row_order,
                     bool per_slot, ffi::Span<const int32_t> channels) {
  const int64_t count = channels.size() / 3;
  Work<Value> work{num_entries, row, in_row_order, {}, cells.num_bins - 1, {}, {}, {}, 0};
  work.bases.reset(new int32_t[count * num_entries]);
  if (per_slot) work.place.reset(new int32_t[num_entries]);
  for (int64_t at = 0; at < count; ++at) {
    const int32_t counts = channels[3 * at + 2];
    if (counts == kCountsRow) work.has_weight.reset(new Value[num_entries]);
    const Value* added = counts == kCountsRow ? work.has_weight.get() : value + counts * stride;
    work.additions.push_back({work.bases.get() + at * num_entries, added});
  }
  ForEach(pool, (num_entries + kEntriesPerPart - 1) / kEntriesPerPart, [&](int64_t part) {
    const int64_t begin = part * kEntriesPerPart, end = std::min(begin + kEntriesPerPart, num_entries);
    for (int64_t at = 0; at < count; ++at) {
      const int32_t labelled = channels[3 * at], channel = channels[3 * at + 1];
      int32_t* base = work.bases.get() + at * num_entries;
      const int32_t* own = labelled < 0 ? nullptr : label + labelled * stride;
      for (int64_t entry = begin; entry < end; ++entry) {
        base[entry] = cells.BaseOf(cells.PlaceOf(slot[entry]), channel + (own ? own[entry] : 0));
      }
    }
    for (int64_t entry = begin; entry < end; ++entry) {
      if (work.has_weight) work.has_weight[entry] = value[entry] > 0;
      if (per_slot) work.place[entry] = std::min(cells.PlaceOf(slot[entry]), cells.num_slots - 1);
    }
  });
  if (per_slot) {
    for (int64_t entry = 1; entry < num_entries; ++entry) work.num_runs += work.place[entry] != work.place[entry - 1];
  }
  return work;
}

template <typename Code, typename Value>
ffi::Error Histogram(ffi::ThreadPool& pool, const ffi::AnyBuffer& codes, const ffi::Buffer<ffi::S32>& row,
                     const ffi::Buffer<ffi::S32>& slot, const ffi::AnyBuffer& label, const ffi::AnyBuffer& value,
                     const ffi::Buffer<ffi::S32>& features, const ffi::Buffer<ffi::S32>& window,
                     ffi::Span<const int32_t> channels, int32_t num_slots, int32_t num_channels, int32_t num_bins,
                     ffi::AnyBuffer tables) {
  const int32_t* bounds = window.typed_data();
  const int64_t stride = slot.element_count();
  const bool in_row_order = bounds[2] != 0, per_slot = features.dimensions().size() == 2;
  const int64_t begin = in_row_order ? 0 : bounds[0], end = std::min<int64_t>(bounds[1], stride);
  const Cells cells{bounds[3], num_slots, num_channels, num_bins};
  const Work<Value> work = MakeWork<Value>(
      pool, cells, row.typed_data() + begin, slot.typed_data() + begin,
      static_cast<const int32_t*>(label.untyped_data()) + begin, static_cast<const Value*>(value.untyped_data()) + begin,
      stride, std::max<int64_t>(end - begin, 0), in_row_order, per_slot, channels);
  const Looked<Code> looked{static_cast<const Code*>(codes.untyped_data()),
                            codes.dimensions()[0],
                            codes.dimensions()[1],
                            features.typed_data(),
                            features.dimensions()[0],
                            per_slot ? features.dimensions()[1] : 1,
                            per_slot};
  FillTables(pool, work, looked, tables.dimensions()[1], static_cast<Value*>(tables.untyped_data()));
  return ffi::Error::Success();
}

ffi::Error AnyHistogram(ffi::ThreadPool pool, ffi::AnyBuffer codes, ffi::Buffer<ffi::S32> row,
                        ffi::Buffer<ffi::S32> slot, ffi::AnyBuffer label, ffi::AnyBuffer value,
                        ffi::Buffer<ffi::S32> features, ffi::Buffer<ffi::S32> window,
                        ffi::Span<const int32_t> channels, int32_t num_slots, int32_t num_channels, int32_t num_bins,
                        ffi::Result<ffi::AnyBuffer> tables) {
  return ForCodes(codes, [&](auto code) {
    return ForValues(value, [&](auto number) {
      return Histogram<decltype(code), decltype(number)>(pool, codes, row, slot, label, value, features, window, channels,
                                                         num_slots, num_channels, num_bins, *tables);
    });
  });
}

}  // namespace
}  // namespace jaxtree

XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_histogram, jaxtree::AnyHistogram,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::AnyBuffer>()         // codes: [feature, row]
                                  .Arg<ffi::Buffer<ffi::S32>>()  // row: [entry]
                                  .Arg<ffi::Buffer<ffi::S32>>()  // slot: [entry]
                                  .Arg<ffi::AnyBuffer>()         // label: [label, entry], int32 if it is read
                                  .Arg<ffi::AnyBuffer>()         // value: [value, entry]
                                  .Arg<ffi::Buffer<ffi::S32>>()  // features: [table] or [table, slot]
                                  .Arg<ffi::Buffer<ffi::S32>>()  // begin, end, whether in row order, first slot
                                  .Attr<ffi::Span<const int32_t>>("channels")  // label, channel, value of each
                                  .Attr<int32_t>("num_slots")
                                  .Attr<int32_t>("num_channels")
                                  .Attr<int32_t>("num_bins")
                                  .Ret<ffi::AnyBuffer>()  // tables: [table, cell]
);
