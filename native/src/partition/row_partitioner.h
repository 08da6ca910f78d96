// The rows of the nodes of one tree, as numbers of rows: those of a node lie side by side, those of siblings beside these.

#ifndef JAXTREE_NATIVE_PARTITION_ROW_PARTITIONER_H_
#define JAXTREE_NATIVE_PARTITION_ROW_PARTITIONER_H_

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <vector>

#include "common/parallel.h"

namespace jaxtree {

// With fewer rows to move, another thread costs more to wake than it saves.
constexpr int64_t kLeastMovedByThreads = 1 << 16;
// A byte has so many codes.
constexpr int64_t kMostCodes = 1 << 8;
// The branch of every code at a split into two.
using BranchOfCode = std::array<uint8_t, kMostCodes>;

// Memory that a thread keeps from tree to tree, so that its pages are there already.
struct RowMemory {
  std::vector<int32_t> rows, moved;
};

class RowPartitioner {
 public:
  RowPartitioner(Threads& pool, RowMemory& memory) : pool_(pool), rows_(memory.rows), moved_(memory.moved) {}

  // Gives the root the rows whose weight is above 0, or all others, and returns their number.
  int64_t Open(const int32_t* weight, int64_t num_rows, bool are_used) {
    rows_.resize(num_rows);
    moved_.resize(num_rows);
    int64_t count = 0;
    for (int64_t row = 0; row < num_rows; ++row) {
      rows_[count] = row;
      count += (weight[row] > 0) == are_used;
    }
    range_.assign(1, {0, count});
    return count;
  }

  int64_t SizeOf(int32_t node) const { return range_[node].size(); }

  const int32_t* RowsOf(int32_t node) const { return rows_.data() + range_[node].begin; }

  // Divides the rows of a node among its children, the first of which is `left`. The order of rows stays.
  void Divide(int32_t node, int32_t left, const uint8_t* codes, const BranchOfCode& branch) {
    const Range range = range_[node];
    const int64_t middle = range.begin + Divide(rows_.data() + range.begin, range.size(), codes, branch);
    assert(range.begin <= middle && middle <= range.end);
    range_.resize(std::max<size_t>(range_.size(), left + 2));
    range_[left] = {range.begin, middle};
    range_[left + 1] = {middle, range.end};
  }

 private:
  // Moves rows of branch 0 to the front, and returns their number. Every part of the rows is divided by itself.
  int64_t Divide(int32_t* own, int64_t size, const uint8_t* codes, const BranchOfCode& branch) {
    int32_t* const moved = moved_.data();
    const int64_t num_parts = size < kLeastMovedByThreads ? 1 : NumParts(pool_, size);
    std::vector<Range> first(num_parts), second(num_parts);
    ForEachPart(pool_, num_parts, size, [&](int64_t part, int64_t begin, int64_t end) {
      int64_t to_first = begin, to_second = begin;
      for (int64_t at = begin; at < end; ++at) {
        const int32_t row = own[at];
        const int64_t is_moved = branch[codes[row]];
        own[to_first] = moved[to_second] = row;
        to_first += 1 - is_moved;
        to_second += is_moved;
      }
      first[part] = {begin, to_first};
      second[part] = {begin, to_second};
    });
    int64_t to = 0;
    for (const Range part : first) {
      if (part.begin > to) std::copy(own + part.begin, own + part.end, own + to);
      to += part.size();
    }
    const int64_t num_first = to;
    for (const Range part : second) {
      std::copy(moved + part.begin, moved + part.end, own + to);
      to += part.size();
    }
    assert(to == size);
    return num_first;
  }

  Threads& pool_;
  std::vector<int32_t> &rows_, &moved_;
  std::vector<Range> range_;  // of every node
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_PARTITION_ROW_PARTITIONER_H_
