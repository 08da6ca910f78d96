// The least cost on both sides of every first split of trees of up to three levels; see `jaxtree/optimal/gram.py`.
//
// Sums over pairs of indicators are those of histograms of two codes, cumulated along the codes of nested groups. The
// rows left of all roots of one group come one code after the other, so that all these roots need one pass over the rows;
// those right of a root are the difference from the whole. Where groups have one indicator each, rows are bits instead, 64
// in a word.

#ifndef JAXTREE_NATIVE_OPTIMAL_OPTIMAL_TREES_H_
#define JAXTREE_NATIVE_OPTIMAL_OPTIMAL_TREES_H_

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "common/parallel.h"
#include "optimal/leaf_cost.h"

namespace ffi = xla::ffi;

namespace jaxtree {

// Bytes of the least costs below the roots that one thread has at a time.
constexpr int64_t kBytesOfRoots = 1 << 22;
// Where all groups have so few indicators, rows are taken as bits.
constexpr int64_t kFewIndicators = 2;

// Rows and indicators: `codes` is [group, row].
struct IndicatorTable {
  const uint16_t* codes;
  const int32_t* first;
  const bool* is_nested;
  const int32_t* label;
  const int64_t* value;
  int64_t num_groups, num_rows, num_values, num_labels;

  int64_t NumIndicators() const { return first[num_groups]; }
  int64_t Size(int64_t group) const { return first[group + 1] - first[group]; }
  int64_t NumChannels() const { return num_labels * num_values; }
};

// The sums of some rows: of all, and where every indicator is 1, [channel, indicator].
template <typename Sum>
struct Single {
  std::vector<Sum> total, own;
};

// The least cost of one and of at most two leaves on both sides of every indicator.
template <typename Cost>
struct TwoLevels {
  std::vector<Cost> inside[2], outside[2];
};

template <typename Sum, typename Cost>
class SmallTrees {
 public:
  SmallTrees(Threads& pool, const IndicatorTable& table, const LeafCost& cost, std::vector<int64_t> rows)
      : pool_(pool), table_(table), cost_(cost), size_(table.NumIndicators()), channels_(table.NumChannels()),
        rows_(std::move(rows)) {
    num_rows_ = rows_.size();
    is_unit_ = table.num_values == 1 &&
               std::all_of(rows_.begin(), rows_.end(), [&](int64_t row) { return table.value[row] == 1; });
  }

  // Fills [side, leaves, indicator] for trees of the depth.
  void Run(int64_t depth, int64_t* sides) {
    const Rows rows = InOrder(rows_);
    whole_ = Count(rows, 0, num_rows_);
    if (CountsBits()) MakeBits(rows);
    if (depth < 3) return FillTwoLevels(rows, depth, sides);
    pairs_.resize(table_.num_groups);
    ForEach(pool_, table_.num_groups, [&](int64_t group) { FillPairs(rows, group, pairs_[group]); });
    FillThreeLevels(sides);
  }

 private:
  // Rows with their codes side by side.
  struct Rows {
    std::vector<uint16_t> codes;
    std::vector<int32_t> label;
    std::vector<Sum> value;
  };

  Rows InOrder(const std::vector<int64_t>& order) const {
    const int64_t n = order.size();
    Rows rows;
    rows.codes.resize(table_.num_groups * n);
    rows.label.resize(n);
    rows.value.resize(table_.num_values * n);
    for (int64_t group = 0; group < table_.num_groups; ++group) {
      const uint16_t* const from = table_.codes + group * table_.num_rows;
      for (int64_t at = 0; at < n; ++at) rows.codes[group * n + at] = from[order[at]];
    }
    for (int64_t at = 0; at < n; ++at) rows.label[at] = table_.label[order[at]];
    for (int64_t number = 0; number < table_.num_values; ++number) {
      const int64_t* const from = table_.value + number * table_.num_rows;
      for (int64_t at = 0; at < n; ++at) rows.value[number * n + at] = static_cast<Sum>(from[order[at]]);
    }
    return rows;
  }

  // Indicators from those of a group on.
  int64_t Width(int64_t group) const { return size_ - table_.first[group]; }

  // Adds rows to the histogram of the codes of every group, [channel, indicator and one more a group].
  void AddSingle(const Rows& rows, int64_t begin, int64_t end, std::vector<Sum>& cells) const {
    const int64_t width = size_ + table_.num_groups;
    for (int64_t group = 0; group < table_.num_groups; ++group) {
      const uint16_t* const codes = rows.codes.data() + group * num_rows_;
      Sum* const own = cells.data() + table_.first[group] + group;
      for (int64_t row = begin; row < end; ++row) {
        for (int64_t number = 0; number < table_.num_values; ++number) {
          const int64_t channel = rows.label[row] * table_.num_values + number;
          own[channel * width + codes[row]] += rows.value[number * num_rows_ + row];
        }
      }
    }
  }

  Single<Sum> Cumulated(const std::vector<Sum>& cells) const {
    const int64_t width = size_ + table_.num_groups;
    Single<Sum> single{std::vector<Sum>(channels_), std::vector<Sum>(channels_ * size_)};
    for (int64_t channel = 0; channel < channels_; ++channel) {
      for (int64_t group = 0; group < table_.num_groups; ++group) {
        const Sum* const from = cells.data() + channel * width + table_.first[group] + group;
        Sum* const to = single.own.data() + channel * size_ + table_.first[group];
        Sum sum = 0;
        for (int64_t place = 0; place < table_.Size(group); ++place) {
          sum += from[place];
          to[place] = table_.is_nested[group] ? sum : from[place];
        }
        if (group == 0) single.total[channel] = sum + from[table_.Size(group)];
      }
    }
    return single;
  }

  Single<Sum> Count(const Rows& rows, int64_t begin, int64_t end) const {
    std::vector<Sum> cells(channels_ * (size_ + table_.num_groups));
    AddSingle(rows, begin, end, cells);
    return Cumulated(cells);
  }

  // The histograms of the codes of one group with those of all that follow.
  class Histogram {
   public:
    Histogram(const SmallTrees& trees, int64_t group)
        : trees_(trees), table_(trees.table_), group_(group), bins_(table_.Size(group) + 1) {
      at_.resize(table_.num_groups);
      for (int64_t other = group + 1; other < table_.num_groups; ++other) {
        at_[other] = cells_;
        cells_ += trees.channels_ * bins_ * (table_.Size(other) + 1);
      }
      sums_.resize(cells_);
    }

    void Clear() { std::fill(sums_.begin(), sums_.end(), Sum{0}); }

    void Add(const Rows& rows, int64_t begin, int64_t end) {
      const uint16_t* const own = rows.codes.data() + group_ * trees_.num_rows_;
      for (int64_t other = group_ + 1; other < table_.num_groups; ++other) {
        const uint16_t* const codes = rows.codes.data() + other * trees_.num_rows_;
        const int64_t width = table_.Size(other) + 1, plane = bins_ * width;
        Sum* const sums = sums_.data() + at_[other];
        if (trees_.is_unit_) {
          for (int64_t row = begin; row < end; ++row) ++sums[rows.label[row] * plane + own[row] * width + codes[row]];
          continue;
        }
        for (int64_t row = begin; row < end; ++row) {
          Sum* cell = sums + rows.label[row] * table_.num_values * plane + own[row] * width + codes[row];
          for (int64_t number = 0; number < table_.num_values; ++number, cell += plane) {
            *cell += rows.value[number * trees_.num_rows_ + row];
          }
        }
      }
    }

    // Writes the sums where both indicators of a pair are 1, [channel, place, indicator from the group on].
    void Cumulate(const Single<Sum>& single, Sum* pairs) const {
      trees_.FillOwnPairs(group_, single, pairs);
      const int64_t size = bins_ - 1, width = trees_.Width(group_);
      for (int64_t channel = 0; channel < trees_.channels_; ++channel) {
        for (int64_t other = group_ + 1; other < table_.num_groups; ++other) {
          const int64_t others = table_.Size(other);
          const Sum* const from = sums_.data() + at_[other] + channel * bins_ * (others + 1);
          Sum* const to = pairs + channel * size * width + table_.first[other] - table_.first[group_];
          for (int64_t place = 0; place < size; ++place) {
            const Sum* const before = to + (place - 1) * width;
            const bool adds = table_.is_nested[group_] && place > 0;
            Sum sum = 0;
            for (int64_t j = 0; j < others; ++j) {
              const Sum cell = from[place * (others + 1) + j];
              sum += cell;
              to[place * width + j] = (table_.is_nested[other] ? sum : cell) + (adds ? before[j] : 0);
            }
          }
        }
      }
    }

   private:
    const SmallTrees& trees_;
    const IndicatorTable& table_;
    int64_t group_, bins_, cells_ = 0;
    std::vector<int64_t> at_;
    std::vector<Sum> sums_;
  };

  // The pairs of indicators of one group.
  void FillOwnPairs(int64_t group, const Single<Sum>& single, Sum* pairs) const {
    const int64_t size = table_.Size(group), width = Width(group);
    for (int64_t channel = 0; channel < channels_; ++channel) {
      const Sum* const own = single.own.data() + channel * size_ + table_.first[group];
      for (int64_t i = 0; i < size; ++i) {
        Sum* const to = pairs + (channel * size + i) * width;
        for (int64_t j = 0; j < size; ++j) {
          to[j] = table_.is_nested[group] ? own[std::min(i, j)] : i == j ? own[i] : 0;
        }
      }
    }
  }

  // The pairs of the indicators of a group with all from there on, of all rows.
  void FillPairs(const Rows& rows, int64_t group, std::vector<Sum>& pairs) const {
    pairs.resize(channels_ * table_.Size(group) * Width(group));
    if (!bits_.empty()) return FillPairsByBits(group, label_bits_, whole_, pairs);
    Histogram histogram(*this, group);
    histogram.Add(rows, 0, num_rows_);
    histogram.Cumulate(whole_, pairs.data());
  }

  void MakeBits(const Rows& rows) {
    words_ = (num_rows_ + 63) / 64;
    bits_.assign(size_ * words_, 0);
    label_bits_.assign(table_.num_labels * words_, 0);
    for (int64_t row = 0; row < num_rows_; ++row) {
      label_bits_[rows.label[row] * words_ + row / 64] |= uint64_t{1} << (row % 64);
    }
    ForEach(pool_, table_.num_groups, [&](int64_t group) {
      for (int64_t place = 0; place < table_.Size(group); ++place) {
        uint64_t* const bits = bits_.data() + (table_.first[group] + place) * words_;
        const uint16_t* const codes = rows.codes.data() + group * num_rows_;
        for (int64_t row = 0; row < num_rows_; ++row) {
          const bool is_one = table_.is_nested[group] ? codes[row] <= place : codes[row] == place;
          bits[row / 64] |= uint64_t{is_one} << (row % 64);
        }
      }
    });
  }

  // Whether all groups are so small that rows are taken as bits.
  bool CountsBits() const {
    if (!is_unit_) return false;
    for (int64_t group = 0; group < table_.num_groups; ++group) {
      if (table_.Size(group) > kFewIndicators) return false;
    }
    return true;
  }

  // The least costs of at most two levels, of rows with these sums.
  class Search {
   public:
    explicit Search(const SmallTrees& trees) : trees_(trees), scratch_(4 * trees.size_), other_(trees.channels_) {
      for (auto* side : {best_.inside, best_.outside}) {
        for (int leaves = 0; leaves < 2; ++leaves) side[leaves].assign(trees.size_, 0);
      }
    }

    void Start(const Single<Sum>& single) {
      const int64_t size = trees_.size_;
      std::vector<Sum> none(trees_.channels_, 0);
      trees_.cost_.template Rows<0, 1>(none.data(), single.own.data(), size, single.own.data(), size, size,
                                      best_.inside[0].data());
      trees_.cost_.template Rows<0, -1>(single.total.data(), single.own.data(), size, single.own.data(), size, size,
                                       best_.outside[0].data());
      best_.inside[1] = best_.inside[0];
      best_.outside[1] = best_.outside[0];
    }

    // Looks at the pairs of the indicators of a group with all from there on.
    void Look(int64_t group, const Single<Sum>& single, const Sum* pairs) {
      const int64_t first = trees_.table_.first[group], num = trees_.table_.Size(group), width = trees_.Width(group);
      std::vector<Sum> own(trees_.channels_);
      for (int64_t place = 0; place < num; ++place) {
        for (int64_t channel = 0; channel < trees_.channels_; ++channel) {
          own[channel] = single.own[channel * trees_.size_ + first + place];
          other_[channel] = single.total[channel] - own[channel];
        }
        LookAt(first + place, first, width, own.data(), single.own.data() + first, pairs + place * width, num * width);
      }
    }

    const TwoLevels<Cost>& best() const { return best_; }

    // The least cost of at most 1, ..., 4 leaves.
    void ByLeaves(const Single<Sum>& single, int64_t* costs) const {
      const Cost leaf = trees_.cost_.template Of<Sum, Cost>(single.total.data());
      Cost least[4] = {leaf, leaf, leaf, leaf};
      for (int64_t at = 0; at < trees_.size_; ++at) {
        const Cost one = best_.inside[0][at], two = best_.inside[1][at];
        const Cost other = best_.outside[0][at], others = best_.outside[1][at];
        least[1] = std::min(least[1], one + other);
        least[2] = std::min({least[2], two + other, one + others});
        least[3] = std::min(least[3], two + others);
      }
      for (int leaves = 0; leaves < 4; ++leaves) {
        if (leaves > 0) least[leaves] = std::min(least[leaves], least[leaves - 1]);
        costs[leaves] = trees_.InUnits(least[leaves]);
      }
    }

   private:
    void LookAt(int64_t at, int64_t first, int64_t width, const Sum* own, const Sum* others, const Sum* pairs,
                int64_t stride) {
      Cost* const both = scratch_.data();
      Cost *const first_alone = both + width, *const second_alone = first_alone + width, *const neither = second_alone + width;
      std::vector<Sum>& none = zeros_;
      none.assign(trees_.channels_, 0);
      const int64_t size = trees_.size_;
      trees_.cost_.template Rows<0, 1>(none.data(), others, size, pairs, stride, width, both);
      trees_.cost_.template Rows<0, -1>(own, others, size, pairs, stride, width, first_alone);
      trees_.cost_.template Rows<1, -1>(none.data(), others, size, pairs, stride, width, second_alone);
      trees_.cost_.template Rows<-1, 1>(other_.data(), others, size, pairs, stride, width, neither);
      UpdateBest(both, first_alone, second_alone, neither, width, best_.inside[1].data() + first,
                 best_.outside[1].data() + first, &best_.inside[1][at], &best_.outside[1][at]);
    }

    const SmallTrees& trees_;
    TwoLevels<Cost> best_;
    std::vector<Cost> scratch_;
    std::vector<Sum> other_, zeros_;
  };

  int64_t InUnits(Cost cost) const {
    return cost >= LeafCost::Forbidden<Cost>() ? LeafCost::Forbidden<int64_t>() : static_cast<int64_t>(cost);
  }

  void FillTwoLevels(const Rows& rows, int64_t depth, int64_t* sides) {
    const int64_t parts = depth == 1 ? 1 : std::min<int64_t>(table_.num_groups, 4 * pool_.num_threads());
    std::vector<Search> searches(parts, Search(*this));
    ForEach(pool_, parts, [&](int64_t part) {
      Search& search = searches[part];
      search.Start(whole_);
      std::vector<Sum> pairs;
      // The first groups have most pairs: they are dealt out in turn.
      for (int64_t group = part; depth > 1 && group < table_.num_groups; group += parts) {
        FillPairs(rows, group, pairs);
        search.Look(group, whole_, pairs.data());
      }
    });
    for (int64_t leaves = 0; leaves < depth; ++leaves) {
      for (int64_t at = 0; at < size_; ++at) {
        Cost inside = searches[0].best().inside[leaves][at], outside = searches[0].best().outside[leaves][at];
        for (const Search& other : searches) {
          inside = std::min(inside, other.best().inside[leaves][at]);
          outside = std::min(outside, other.best().outside[leaves][at]);
        }
        sides[leaves * size_ + at] = InUnits(inside);
        sides[(depth + leaves) * size_ + at] = InUnits(outside);
      }
    }
  }

  // Roots of one group that a thread takes at a time.
  struct Roots {
    int64_t group, begin, end;
  };

  void FillThreeLevels(int64_t* sides) {
    std::vector<Roots> pieces;
    const int64_t bytes = size_ * 8 * static_cast<int64_t>(sizeof(Cost));
    for (int64_t group = 0; group < table_.num_groups; ++group) {
      const int64_t fair = (table_.Size(group) * table_.num_groups) / (2 * pool_.num_threads()) + 1;
      const int64_t most = std::max<int64_t>(1, std::min(kBytesOfRoots / bytes, fair));
      for (int64_t begin = 0; begin < table_.Size(group); begin += most) {
        pieces.push_back({group, begin, std::min(begin + most, table_.Size(group))});
      }
    }
    ForEach(pool_, pieces.size(), [&](int64_t piece) {
      if (!bits_.empty()) {
        for (int64_t place = pieces[piece].begin; place < pieces[piece].end; ++place) {
          FillRootByBits(table_.first[pieces[piece].group] + place, sides);
        }
      } else {
        FillRoots(pieces[piece], sides);
      }
    });
  }

  // Writes the least costs of both sides of a root.
  void Write(int64_t root, const Search& left, const Single<Sum>& left_sums, const Search& right,
             const Single<Sum>& right_sums, int64_t* sides) const {
    int64_t costs[4];
    left.ByLeaves(left_sums, costs);
    for (int64_t leaves = 0; leaves < 4; ++leaves) sides[leaves * size_ + root] = costs[leaves];
    right.ByLeaves(right_sums, costs);
    for (int64_t leaves = 0; leaves < 4; ++leaves) sides[(4 + leaves) * size_ + root] = costs[leaves];
  }

  Single<Sum> Rest(const Single<Sum>& left) const {
    Single<Sum> rest = whole_;
    for (size_t at = 0; at < rest.total.size(); ++at) rest.total[at] -= left.total[at];
    for (size_t at = 0; at < rest.own.size(); ++at) rest.own[at] -= left.own[at];
    return rest;
  }

  // Turns the pairs of the rows left of a root into those of the rows right of it.
  void TurnIntoRest(int64_t group, std::vector<Sum>& pairs) const {
    const Sum* const whole = pairs_[group].data();
    const int64_t num = channels_ * table_.Size(group) * Width(group);
    for (int64_t at = 0; at < num; ++at) pairs[at] = whole[at] - pairs[at];
  }

  void FillRoots(const Roots& roots, int64_t* sides) const {
    const int64_t num_roots = roots.end - roots.begin;
    const uint16_t* const codes = table_.codes + roots.group * table_.num_rows;
    std::vector<int64_t> order, begin_of(num_roots + 1);
    SortRows(roots, codes, order, begin_of);
    const Rows rows = InOrderOf(order);
    const bool grows = table_.is_nested[roots.group];
    std::vector<Single<Sum>> left, right;
    std::vector<Sum> cells(channels_ * (size_ + table_.num_groups));
    for (int64_t root = 0; root < num_roots; ++root) {
      if (!grows) std::fill(cells.begin(), cells.end(), Sum{0});
      AddSingle(rows, begin_of[root], begin_of[root + 1], cells);
      left.push_back(Cumulated(cells));
      right.push_back(Rest(left.back()));
    }
    std::vector<Search> searches(2 * num_roots, Search(*this));
    for (int64_t root = 0; root < num_roots; ++root) {
      searches[2 * root].Start(left[root]);
      searches[2 * root + 1].Start(right[root]);
    }
    std::vector<Sum> pairs;
    for (int64_t group = 0; group < table_.num_groups; ++group) {
      Histogram histogram(*this, group);
      pairs.resize(channels_ * table_.Size(group) * Width(group));
      for (int64_t root = 0; root < num_roots; ++root) {
        if (!grows) histogram.Clear();
        histogram.Add(rows, begin_of[root], begin_of[root + 1]);
        histogram.Cumulate(left[root], pairs.data());
        searches[2 * root].Look(group, left[root], pairs.data());
        TurnIntoRest(group, pairs);
        searches[2 * root + 1].Look(group, right[root], pairs.data());
      }
    }
    for (int64_t root = 0; root < num_roots; ++root) {
      Write(table_.first[roots.group] + roots.begin + root, searches[2 * root], left[root], searches[2 * root + 1],
            right[root], sides);
    }
  }

  // The rows by the first root that they are left of; those of earlier roots of a nested group are left of the first.
  void SortRows(const Roots& roots, const uint16_t* codes, std::vector<int64_t>& order,
                std::vector<int64_t>& begin_of) const {
    const bool grows = table_.is_nested[roots.group];
    const auto place_of = [&](int64_t row) -> int64_t {
      const int64_t code = codes[row];
      return code >= roots.end ? -1 : code >= roots.begin ? code - roots.begin : grows ? 0 : -1;
    };
    std::vector<int64_t> count(roots.end - roots.begin + 1);
    for (const int64_t row : rows_) {
      if (place_of(row) >= 0) ++count[place_of(row) + 1];
    }
    std::partial_sum(count.begin(), count.end(), count.begin());
    begin_of = count;
    order.resize(count.back());
    for (const int64_t row : rows_) {
      if (place_of(row) >= 0) order[count[place_of(row)]++] = row;
    }
  }

  // The same as `InOrder`, with room for all rows, so that columns are equally far apart.
  Rows InOrderOf(std::vector<int64_t> order) const {
    order.resize(num_rows_, rows_.empty() ? 0 : rows_[0]);
    return InOrder(order);
  }

  void FillRootByBits(int64_t root, int64_t* sides) const {
    const uint64_t* const own = bits_.data() + root * words_;
    const int64_t labels = table_.num_labels;
    std::vector<uint64_t> masks(labels * words_);
    And(own, label_bits_.data(), labels, masks.data());
    Single<Sum> left{std::vector<Sum>(labels), std::vector<Sum>(labels * size_)};
    for (int64_t label = 0; label < labels; ++label) {
      const uint64_t* const mask = masks.data() + label * words_;
      left.total[label] = static_cast<Sum>(CountBits(mask, mask, words_));
      for (int64_t at = 0; at < size_; ++at) {
        left.own[label * size_ + at] = static_cast<Sum>(CountBits(mask, bits_.data() + at * words_, words_));
      }
    }
    const Single<Sum> right = Rest(left);
    Search inside(*this), outside(*this);
    inside.Start(left);
    outside.Start(right);
    std::vector<Sum> pairs;
    for (int64_t group = 0; group < table_.num_groups; ++group) {
      pairs.resize(labels * table_.Size(group) * Width(group));
      FillPairsByBits(group, masks, left, pairs);
      inside.Look(group, left, pairs.data());
      TurnIntoRest(group, pairs);
      outside.Look(group, right, pairs.data());
    }
    Write(root, inside, left, outside, right, sides);
  }

  // The same as `FillPairs`, of the rows whose bits are set in the masks, one for every label.
  void FillPairsByBits(int64_t group, const std::vector<uint64_t>& masks, const Single<Sum>& single,
                       std::vector<Sum>& pairs) const {
    const int64_t size = table_.Size(group), width = Width(group), first = table_.first[group];
    FillOwnPairs(group, single, pairs.data());
    std::vector<uint64_t> both(table_.num_labels * words_);
    for (int64_t place = 0; place < size; ++place) {
      And(bits_.data() + (first + place) * words_, masks.data(), table_.num_labels, both.data());
      for (int64_t label = 0; label < table_.num_labels; ++label) {
        Sum* const to = pairs.data() + (label * size + place) * width;
        const uint64_t* const mask = both.data() + label * words_;
        for (int64_t j = size; j < width; ++j) {
          to[j] = static_cast<Sum>(CountBits(mask, bits_.data() + (first + j) * words_, words_));
        }
      }
    }
  }

  void And(const uint64_t* one, const uint64_t* many, int64_t num, uint64_t* to) const {
    for (int64_t number = 0; number < num; ++number) {
      for (int64_t word = 0; word < words_; ++word) to[number * words_ + word] = one[word] & many[number * words_ + word];
    }
  }

  Threads& pool_;
  const IndicatorTable& table_;
  const LeafCost& cost_;
  int64_t size_, channels_, num_rows_ = 0, words_ = 0;
  bool is_unit_;
  const std::vector<int64_t> rows_;
  Single<Sum> whole_;
  std::vector<std::vector<Sum>> pairs_;  // of all rows, a group after the other
  std::vector<uint64_t> bits_, label_bits_;
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_OPTIMAL_OPTIMAL_TREES_H_
