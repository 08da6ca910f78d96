// Entries of growth counted at the nodes that they have come to.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "parallel.h"
#include "types.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace jaxtree {
namespace {

// Threads count apart, and add up behind, where there are this many times as many entries as cells.
constexpr int64_t kEntriesPerCell = 16;
constexpr int64_t kLeastEntriesPerPart = 1 << 14;

// What entries bring to the nodes from `first` to `stop`: cells of sums, and rows.
template <typename Value>
struct Counts {
  int32_t first, stop;
  int64_t num_channels;
  Value* sums;        // of node `first` and those behind it
  int32_t* num_rows;  // likewise
};

// One channel of every entry: for classes that of its label behind `channel`.
template <typename Value>
struct Channel {
  const int32_t* label;
  int64_t channel;
  const Value* value;
};

template <typename Value>
void CountPart(const Counts<Value>& counts, const std::vector<Channel<Value>>& channels, const int32_t* node,
               int64_t begin, int64_t end) {
  const auto arrives = [&](int64_t entry) { return node[entry] >= counts.first && node[entry] < counts.stop; };
  for (int64_t entry = begin; entry < end; ++entry) {
    if (arrives(entry)) ++counts.num_rows[node[entry] - counts.first];
  }
  for (const Channel<Value>& own : channels) {
    for (int64_t entry = begin; entry < end; ++entry) {
      if (!arrives(entry)) continue;
      const int64_t channel = own.channel + (own.label ? own.label[entry] : 0);
      counts.sums[(node[entry] - counts.first) * counts.num_channels + channel] += own.value[entry];
    }
  }
}

template <typename Value>
ffi::Error Count(ffi::ThreadPool& pool, const ffi::Buffer<ffi::S32>& node, const ffi::AnyBuffer& label,
                 const ffi::AnyBuffer& value, const int32_t* bounds, ffi::Span<const int32_t> channels,
                 ffi::AnyBuffer sums, ffi::Buffer<ffi::S32> num_rows) {
  const int64_t stride = node.element_count(), num_channels = sums.dimensions()[1];
  const int64_t num_entries = std::min<int64_t>(bounds[0], stride);
  const int32_t first = bounds[1], stop = bounds[2];
  std::vector<Channel<Value>> added;
  for (size_t at = 0; at + 2 < channels.size(); at += 3) {
    const int32_t* labels = static_cast<const int32_t*>(label.untyped_data()) + channels[at] * stride;
    added.push_back({channels[at] < 0 ? nullptr : labels, channels[at + 1],
                     static_cast<const Value*>(value.untyped_data()) + channels[at + 2] * stride});
  }
  const Counts<Value> all{first, stop, num_channels, static_cast<Value*>(sums.untyped_data()) + first * num_channels,
                          num_rows.typed_data() + first};
  const int64_t num_nodes = stop - first, num_cells = num_nodes * (num_channels + 1);
  const int64_t num_parts = std::min(pool.num_threads(), num_entries / kLeastEntriesPerPart);
  if (num_parts < 2 || num_cells * kEntriesPerCell * num_parts > num_entries) {
    CountPart(all, added, node.typed_data(), 0, num_entries);
    return ffi::Error::Success();
  }
  std::vector<std::vector<Value>> part_sums(num_parts, std::vector<Value>(num_nodes * num_channels));
  std::vector<std::vector<int32_t>> part_rows(num_parts, std::vector<int32_t>(num_nodes));
  ForEach(pool, num_parts, [&](int64_t part) {
    CountPart(Counts<Value>{first, stop, num_channels, part_sums[part].data(), part_rows[part].data()}, added,
              node.typed_data(), num_entries * part / num_parts, num_entries * (part + 1) / num_parts);
  });
  for (int64_t part = 0; part < num_parts; ++part) {
    for (int64_t at = 0; at < num_nodes * num_channels; ++at) all.sums[at] += part_sums[part][at];
    for (int64_t at = 0; at < num_nodes; ++at) all.num_rows[at] += part_rows[part][at];
  }
  return ffi::Error::Success();
}

// The least and the greatest first label of the entries at every node.
template <typename Label>
void CompareLabels(const ffi::Buffer<ffi::S32>& node, const Label* label, const int32_t* bounds, int64_t* low,
                   int64_t* high) {
  const int64_t num_entries = std::min<int64_t>(bounds[0], node.element_count());
  const int32_t* const at = node.typed_data();
  for (int64_t entry = 0; entry < num_entries; ++entry) {
    if (at[entry] < bounds[1] || at[entry] >= bounds[2]) continue;
    low[at[entry]] = std::min<int64_t>(low[at[entry]], label[entry]);
    high[at[entry]] = std::max<int64_t>(high[at[entry]], label[entry]);
  }
}

// XLA gives a result the memory of its argument where it can.
template <typename From, typename To>
void CopyIfApart(const From& from, To& to) {
  if (to.untyped_data() != from.untyped_data()) std::memcpy(to.untyped_data(), from.untyped_data(), to.size_bytes());
}

ffi::Error AnyCount(ffi::ThreadPool pool, ffi::Buffer<ffi::S32> node, ffi::AnyBuffer label, ffi::AnyBuffer value,
                    ffi::Buffer<ffi::S32> bounds, ffi::AnyBuffer sums_before, ffi::Buffer<ffi::S32> num_rows_before,
                    ffi::AnyBuffer low_before, ffi::AnyBuffer high_before, ffi::Span<const int32_t> channels,
                    ffi::Result<ffi::AnyBuffer> sums, ffi::Result<ffi::Buffer<ffi::S32>> num_rows,
                    ffi::Result<ffi::Buffer<ffi::S64>> low, ffi::Result<ffi::Buffer<ffi::S64>> high) {
  CopyIfApart(sums_before, *sums);
  CopyIfApart(num_rows_before, *num_rows);
  CopyIfApart(low_before, *low);
  CopyIfApart(high_before, *high);
  if (low->element_count() > 0) {
    int64_t *least = low->typed_data(), *greatest = high->typed_data();
    if (label.element_type() == ffi::DataType::S64) {
      CompareLabels(node, static_cast<const int64_t*>(label.untyped_data()), bounds.typed_data(), least, greatest);
    } else if (label.element_type() == ffi::DataType::S32) {
      CompareLabels(node, static_cast<const int32_t*>(label.untyped_data()), bounds.typed_data(), least, greatest);
    } else {
      return ffi::Error::InvalidArgument("labels must be int32 or int64");
    }
  }
  return ForValues(value, [&](auto number) {
    return Count<decltype(number)>(pool, node, label, value, bounds.typed_data(), channels, *sums, *num_rows);
  });
}

}  // namespace
}  // namespace jaxtree

XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_count, jaxtree::AnyCount,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::Buffer<ffi::S32>>()  // node: [entry]
                                  .Arg<ffi::AnyBuffer>()         // label: [label, entry]; int32 if a channel reads it
                                  .Arg<ffi::AnyBuffer>()         // value: [value, entry]
                                  .Arg<ffi::Buffer<ffi::S32>>()  // entries in use, first node, last node (exclusive)
                                  .Arg<ffi::AnyBuffer>()         // sums: [node, channel]
                                  .Arg<ffi::Buffer<ffi::S32>>()  // number of rows: [node]
                                  .Arg<ffi::AnyBuffer>()         // least and greatest label: [node], or empty
                                  .Arg<ffi::AnyBuffer>()
                                  .Attr<ffi::Span<const int32_t>>("channels")  // label, channel, value of each
                                  .Ret<ffi::AnyBuffer>()                       // the four, with the entries added
                                  .Ret<ffi::Buffer<ffi::S32>>()
                                  .Ret<ffi::Buffer<ffi::S64>>()
                                  .Ret<ffi::Buffer<ffi::S64>>());
