// The weights of the rows that two bins share, for all pairs of places.
// Rows are read in blocks, whose bins are made once. For one term and a group of others a thread counts in a small table, which
// it adds to the matrix: the terms of a group stand side by side, so that a row's additions are to cells of several terms, and
// the processor seldom has to wait for the sum that it just wrote.

#ifndef JAXTREE_NATIVE_ADDITIVE_GRAM_H_
#define JAXTREE_NATIVE_ADDITIVE_GRAM_H_

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

#include "additive/terms.h"
#include "common/parallel.h"

namespace jaxtree {

template <typename Code>
class GramCounter {
 public:
  GramCounter(const BinnedRows<Code>& rows, const int32_t* weight, Threads& threads, int32_t* matrix)
      : rows_(rows), terms_(rows.terms), weight_(weight), threads_(threads), matrix_(matrix), locks_(terms_.number) {
    for (int64_t term = 0; term < terms_.number; ++term) {
      const bool fits = !groups_.empty() && term - groups_.back().begin < kMostTerms &&
                        terms_.first[term + 1] - terms_.first[groups_.back().begin] <= kMostPlaces;
      if (fits) groups_.back().end = term + 1;
      else groups_.push_back({term, term + 1});
    }
    for (int64_t group = 0; group < static_cast<int64_t>(groups_.size()); ++group) {
      for (int64_t term = 0; term < groups_[group].end; ++term) tasks_.push_back({term, group});
    }
  }

  // Fills the matrix, in running form, and the weights of all places.
  void Run(int64_t* diagonal) {
    const int64_t number = terms_.num_places();
    ForEach(threads_, terms_.number, [&](int64_t term) {
      std::fill_n(matrix_ + terms_.first[term] * number, terms_.size(term) * number, 0);
    });
    const int64_t block = std::clamp<int64_t>(kBytes / (4 * std::max<int64_t>(terms_.number, 1)), kLeastRows, kMostRows);
    own_.resize(terms_.number * std::min(block, rows_.num_rows));
    grouped_.resize(own_.size());
    for (int64_t row = 0; row < rows_.num_rows;) {
      row_.clear();
      weights_.clear();
      for (; row < rows_.num_rows && static_cast<int64_t>(row_.size()) < block; ++row) {
        if (weight_[row] == 0) continue;
        row_.push_back(row);
        weights_.push_back(weight_[row]);
      }
      CountBlock();
    }
    for (int64_t place = 0; place < number; ++place) diagonal[place] = matrix_[place * (number + 1)];
    ForEach(threads_, groups_.size(), [&](int64_t group) { MakeRunningRows(group); });
    ForEach(threads_, groups_.size(), [&](int64_t group) { Mirror(group); });
  }

 private:
  struct Task {
    int64_t term, group;
  };

  static constexpr int64_t kMostTerms = 8;          // of a group
  static constexpr int64_t kMostPlaces = 288;       // of a group of several terms: with 33 of the term, 38 KB
  static constexpr int64_t kMostCells = 1 << 17;    // of a table of its own
  static constexpr int64_t kBytes = 32 << 20;       // of the bins of a block
  static constexpr int64_t kLeastRows = 1 << 13, kMostRows = 1 << 17;  // of a block
  static constexpr int64_t kTile = 16;

  Range Places(int64_t group) const { return {terms_.first[groups_[group].begin], terms_.first[groups_[group].end]}; }

  // Counts the rows of a block.
  void CountBlock() {
    const int64_t count = row_.size();
    if (count == 0) return;
    ForEach(threads_, groups_.size(), [&](int64_t group) { FindBins(group); });
    // A few terms are too few for many threads: these divide the rows.
    const int64_t wanted = 4 * threads_.num_threads() / static_cast<int64_t>(tasks_.size()) + 1;
    const int64_t parts = threads_.num_threads() == 1 ? 1 : std::clamp<int64_t>(count / kLeastRows, 1, wanted);
    ForEach(threads_, parts * tasks_.size(), [&](int64_t piece) {
      const int64_t part = piece % parts;
      CountTask(tasks_[piece / parts], {count * part / parts, count * (part + 1) / parts});
    });
  }

  // The bins of the block's rows: [term, row], and [row, term] of a group, where they are places in the group.
  void FindBins(int64_t group) {
    const int64_t count = row_.size(), width = groups_[group].size(), first_place = Places(group).begin;
    uint16_t* const grouped = grouped_.data() + groups_[group].begin * count;
    constexpr int64_t kStep = 512;
    for (int64_t begin = 0; begin < count; begin += kStep) {
      const int64_t* const row = row_.data() + begin;
      for (int64_t term = groups_[group].begin; term < groups_[group].end; ++term) {
        const uint32_t base = terms_.first[term] - first_place;
        uint16_t* const own = own_.data() + term * count + begin;
        uint16_t* const side = grouped + begin * width + (term - groups_[group].begin);
        rows_.ForRows(term, std::min(kStep, count - begin), [&](int64_t at) { return row[at]; },
                      [&](int64_t at, uint32_t bin) {
                        own[at] = bin;
                        side[at * width] = base + bin;
                      });
      }
    }
  }

  void CountTask(const Task& task, Range part) {
    const Range places = Places(task.group);
    const int64_t size = terms_.size(task.term), cells = size * places.size(), width = groups_[task.group].size();
    const int64_t number = terms_.num_places();
    int32_t* const to = matrix_ + terms_.first[task.term] * number + places.begin;
    if (cells > kMostCells || cells > part.size() * width) {
      std::lock_guard<std::mutex> lock(locks_[task.term]);
      return Count(task, part, to, number);
    }
    thread_local std::vector<int32_t> table;
    table.assign(cells, 0);
    Count(task, part, table.data(), places.size());
    std::lock_guard<std::mutex> lock(locks_[task.term]);
    for (int64_t bin = 0; bin < size; ++bin) {
      const int32_t* const from = table.data() + bin * places.size();
      for (int64_t at = 0; at < places.size(); ++at) to[bin * number + at] += from[at];
    }
  }

  void Count(const Task& task, Range part, int32_t* table, int64_t stride) const {
    switch (groups_[task.group].size()) {
      case 1: return CountWidth<1>(task, part, table, stride);
      case 2: return CountWidth<2>(task, part, table, stride);
      case 3: return CountWidth<3>(task, part, table, stride);
      case 4: return CountWidth<4>(task, part, table, stride);
      case 5: return CountWidth<5>(task, part, table, stride);
      case 6: return CountWidth<6>(task, part, table, stride);
      case 7: return CountWidth<7>(task, part, table, stride);
      default: return CountWidth<8>(task, part, table, stride);
    }
  }

  template <int kWidth>
  void CountWidth(const Task& task, Range part, int32_t* __restrict table, int64_t stride) const {
    const int64_t count = row_.size();
    const uint16_t* const own = own_.data() + task.term * count;
    const uint16_t* side = grouped_.data() + groups_[task.group].begin * count + part.begin * kWidth;
    const int32_t* const weight = weights_.data();
    for (int64_t row = part.begin; row < part.end; ++row, side += kWidth) {
      int32_t* const cells = table + own[row] * stride;
      const int32_t added = weight[row];
      for (int k = 0; k < kWidth; ++k) cells[side[k]] += added;
    }
  }

  // Brings what was counted with a group into running form, on both sides: rows of its own terms and of those before.
  void MakeRunningRows(int64_t group) {
    const Range places = Places(group);
    const int64_t number = terms_.num_places();
    for (int64_t term = 0; term < groups_[group].end; ++term) {
      MakeRunning(terms_, term, matrix_ + terms_.first[term] * number + places.begin, number, places.size());
    }
    for (int64_t row = 0; row < places.end; ++row) {
      for (int64_t term = groups_[group].begin; term < groups_[group].end; ++term) {
        MakeRunning(terms_, term, matrix_ + row * number + terms_.first[term], 1, 1);
      }
    }
  }

  // Fills the rows of a group's places at the terms before it, where nothing was counted.
  void Mirror(int64_t group) {
    const Range places = Places(group);
    const int64_t number = terms_.num_places();
    int32_t tile[kTile][kTile];
    for (int64_t top = places.begin; top < places.end; top += kTile) {
      const int64_t height = std::min(kTile, places.end - top);
      for (int64_t left = 0; left < places.begin; left += kTile) {
        // Lines of memory are read and written once each: rows may lie so that few of them fit into a cache.
        const int64_t width = std::min(kTile, places.begin - left);
        for (int64_t column = 0; column < width; ++column) {
          std::copy_n(matrix_ + (left + column) * number + top, height, tile[column]);
        }
        for (int64_t row = 0; row < height; ++row) {
          int32_t* const to = matrix_ + (top + row) * number + left;
          for (int64_t column = 0; column < width; ++column) to[column] = tile[column][row];
        }
      }
    }
  }

  const BinnedRows<Code>& rows_;
  const Terms& terms_;
  const int32_t* const weight_;
  Threads& threads_;
  int32_t* const matrix_;
  std::vector<std::mutex> locks_;  // of the rows of a term
  std::vector<Range> groups_;      // of terms
  std::vector<Task> tasks_;
  std::vector<int64_t> row_;       // the rows of the block, which have weight
  std::vector<int32_t> weights_;
  std::vector<uint16_t> own_, grouped_;
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_ADDITIVE_GRAM_H_
