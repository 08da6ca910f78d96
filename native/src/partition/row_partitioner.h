// The rows of the nodes of one tree, as numbers of rows: those of a node lie side by side, those of siblings beside these.

#ifndef JAXTREE_NATIVE_PARTITION_ROW_PARTITIONER_H_
#define JAXTREE_NATIVE_PARTITION_ROW_PARTITIONER_H_

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <numeric>
#include <vector>

#include "common/memory.h"
#include "common/parallel.h"

namespace jaxtree {

// With fewer rows to move, another thread costs more than it saves.
constexpr int64_t kLeastMovedByThreads = 1 << 14;
// A byte has so many codes.
constexpr int64_t kMostCodes = 1 << 8;
// The branch of every code at a split into two.
using BranchOfCode = std::array<uint8_t, kMostCodes>;

class RowPartitioner {
 public:
  explicit RowPartitioner(Threads& pool) : pool_(pool) {}

  // Gives the root the rows whose weight is above 0, or all others, and returns their number.
  int64_t Open(Memory& memory, const int32_t* weight, int64_t num_rows, bool are_used) {
    const int64_t num_parts = NumParts(pool_, num_rows);
    std::vector<int64_t> place(num_parts + 1);  // of the first row of every part
    ForEachPart(pool_, num_parts, num_rows, [&](int64_t part, int64_t begin, int64_t end) {
      int64_t count = 0;
      for (int64_t row = begin; row < end; ++row) count += (weight[row] > 0) == are_used;
      place[part + 1] = count;
    });
    std::partial_sum(place.begin(), place.end(), place.begin());
    const int64_t count = place[num_parts];
    rows_ = memory.Take<int32_t>(count);
    moved_ = memory.Take<int32_t>(count);
    ForEachPart(pool_, num_parts, num_rows, [&](int64_t part, int64_t begin, int64_t end) {
      int64_t to = place[part];
      for (int64_t row = begin; to < place[part + 1]; ++row) {
        rows_[to] = row;
        to += (weight[row] > 0) == are_used;
      }
    });
    range_.assign(1, {0, count});
    return count;
  }

  int64_t SizeOf(int32_t node) const { return range_[node].size(); }

  const int32_t* RowsOf(int32_t node) const { return rows_ + range_[node].begin; }

  // Where the first row of a node lies among all rows.
  int64_t PlaceOf(int32_t node) const { return range_[node].begin; }

  void MakeRoomFor(int64_t num_nodes) { range_.resize(std::max<size_t>(range_.size(), num_nodes)); }

  // Divides the rows of a node among its children, the first of which is `left`. The order of rows stays. Threads may divide
  // nodes at the same time for which there is room.
  void Divide(int32_t node, int32_t left, const uint8_t* codes, const BranchOfCode& branch) {
    const Range range = range_[node];
    assert(left + 1 < static_cast<int64_t>(range_.size()));
    const int64_t middle = range.begin + Divide(range, codes, branch);
    assert(range.begin <= middle && middle <= range.end);
    range_[left] = {range.begin, middle};
    range_[left + 1] = {middle, range.end};
  }

 private:
  // Moves rows of branch 0 to the front, and returns their number.
  int64_t Divide(Range range, const uint8_t* codes, const BranchOfCode& branch) {
    return range.size() < kLeastMovedByThreads || pool_.num_threads() == 1 ? DivideAlone(range, codes, branch)
                                                                           : DivideByParts(range, codes, branch);
  }

  int64_t DivideAlone(Range range, const uint8_t* codes, const BranchOfCode& branch) {
    int32_t *const own = rows_ + range.begin, *const moved = moved_ + range.begin;
    const int64_t size = range.size();
    int64_t num_first = 0, num_second = 0;
    for (int64_t at = 0; at < size; ++at) {
      const int32_t row = own[at];
      const int64_t is_moved = branch[codes[row]];
      own[num_first] = moved[num_second] = row;
      num_first += 1 - is_moved;
      num_second += is_moved;
    }
    std::copy(moved, moved + num_second, own + num_first);
    return num_first;
  }

  // Every part of the rows is divided by itself, rows of branch 1 from its end backwards; then all find their places.
  int64_t DivideByParts(Range range, const uint8_t* codes, const BranchOfCode& branch) {
    int32_t *const own = rows_ + range.begin, *const moved = moved_ + range.begin;
    const int64_t size = range.size();
    const int64_t num_parts = NumParts(pool_, size);
    std::vector<int64_t> place(num_parts + 1);  // of the first rows of every part
    ForEachPart(pool_, num_parts, size, [&](int64_t part, int64_t begin, int64_t end) {
      int64_t first = begin, second = end - 1;
      for (int64_t at = begin; at < end; ++at) {
        const int32_t row = own[at];
        const int64_t is_moved = branch[codes[row]];
        moved[first] = moved[second] = row;
        first += 1 - is_moved;
        second -= is_moved;
      }
      place[part + 1] = first - begin;
    });
    std::partial_sum(place.begin(), place.end(), place.begin());
    const int64_t num_first = place[num_parts];
    ForEachPart(pool_, num_parts, size, [&](int64_t part, int64_t begin, int64_t end) {
      const int64_t middle = begin + place[part + 1] - place[part];
      std::copy(moved + begin, moved + middle, own + place[part]);
      std::reverse_copy(moved + middle, moved + end, own + num_first + begin - place[part]);
    });
    return num_first;
  }

  Threads& pool_;
  int32_t *rows_ = nullptr, *moved_ = nullptr;
  std::vector<Range> range_;  // of every node
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_PARTITION_ROW_PARTITIONER_H_
