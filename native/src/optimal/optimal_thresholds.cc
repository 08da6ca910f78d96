// The best tree of up to three levels among all thresholds of a table, by bounds; see `jaxtree/optimal/thresholds.py`.
//
// Along the thresholds of one column the rows below only grow and those above only shrink, and so do the costs of their
// best trees: two thresholds whose trees are known bound all between them, and a threshold next to one saves no more than
// the rows between both can cost (Brita et al., *Optimal Classification Trees for Continuous Feature Data Using Dynamic
// Programming with Branch-and-Bound*, AAAI 2025).

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <vector>

#include "common/clones.h"

namespace jaxtree {
namespace {

// The greatest share of what the rows between two thresholds can cost by which a cost is sought beyond the tree in hand:
// costs that are known to be higher leave out more thresholds beside.
constexpr int64_t kPartOfSlack = 4;

// From this many predictions on, a call is worth the wider registers that its function has.
constexpr int64_t kManyPredictions = 16;

// Adds what a row costs with every prediction to the sums of a side.
inline __attribute__((always_inline)) void AddCosts(const int64_t* own, int64_t num, int64_t* sums) {
  for (int64_t p = 0; p < num; ++p) sums[p] += own[p];
}

// The least cost of one leaf of the rows with these sums, and of another of all the rest.
inline __attribute__((always_inline)) int64_t LeastOfBoth(const int64_t* own, const int64_t* total, int64_t num) {
  int64_t one = own[0], other = total[0] - own[0];
  for (int64_t p = 1; p < num; ++p) {
    const int64_t mine = own[p], rest = total[p] - own[p];
    one = one < mine ? one : mine;
    other = other < rest ? other : rest;
  }
  return one + other;
}

JAXTREE_CLONES static void AddManyCosts(const int64_t* own, int64_t num, int64_t* sums) { AddCosts(own, num, sums); }

JAXTREE_CLONES static int64_t LeastOfMany(const int64_t* own, const int64_t* total, int64_t num) {
  return LeastOfBoth(own, total, num);
}

// More than any tree costs, of which a sum with such costs is a number still.
constexpr int64_t kDear = int64_t{1} << 61;

// Renews the nodes above one: the sums of both halves, and the least sum up to any place (`is_nested`) or at one.
template <int64_t kPairs>
inline __attribute__((always_inline)) void RenewAbove(int64_t node, int64_t some_pairs, bool is_nested, int64_t* nodes) {
  const int64_t pairs = kPairs ? kPairs : some_pairs;
  for (node >>= 1; node >= 1; node >>= 1) {
    const int64_t *const left = nodes + 4 * node * pairs, *const right = left + 2 * pairs;
    int64_t* const own = nodes + 2 * node * pairs;
    if (is_nested) {
      for (int64_t pair = 0; pair < pairs; ++pair) {
        const int64_t one = left[pairs + pair], other = left[pair] + right[pairs + pair];
        own[pair] = left[pair] + right[pair];
        own[pairs + pair] = one < other ? one : other;
      }
    } else {
      for (int64_t pair = 0; pair < pairs; ++pair) {
        const int64_t one = left[pairs + pair], other = right[pairs + pair];
        own[pairs + pair] = one < other ? one : other;
      }
    }
  }
}

JAXTREE_CLONES static void RenewTwo(int64_t node, bool is_nested, int64_t* nodes) { RenewAbove<2>(node, 2, is_nested, nodes); }

JAXTREE_CLONES static void RenewSix(int64_t node, bool is_nested, int64_t* nodes) { RenewAbove<6>(node, 6, is_nested, nodes); }

JAXTREE_CLONES static void RenewSome(int64_t node, int64_t pairs, bool is_nested, int64_t* nodes) {
  RenewAbove<0>(node, pairs, is_nested, nodes);
}

// Rows at the codes of one group, and the best split of them by that group, which changes as rows come and go.
//
// A split costs sum_a + total_b - sum_b for the predictions a and b of both sides, where sums are those up to a place, or
// at it: the least over places is that of sums of differences, which a tree over the places has for every pair (a, b).
class ChangingStump {
 public:
  ChangingStump(int64_t num_places, int64_t num_predictions, bool is_nested)
      : num_(num_predictions), pairs_(num_predictions * (num_predictions - 1)), is_nested_(is_nested), total_(num_predictions) {
    while (size_ < num_places) size_ *= 2;
    nodes_.assign(4 * size_ * pairs_, 0);
    for (int64_t place = num_places; place < size_; ++place) Exclude(place);
  }

  // No split is at this place.
  void Exclude(int64_t place) { std::fill_n(nodes_.data() + (2 * (size_ + place) + 1) * pairs_, pairs_, kDear); }

  // Adds rows without renewing the nodes above; `sign` is -1 to take them away.
  void Put(int64_t place, const int64_t* cost, int64_t sign) {
    int64_t* const own = nodes_.data() + 2 * (size_ + place) * pairs_;
    for (int64_t a = 0, pair = 0; a < num_; ++a) {
      total_[a] += sign * cost[a];
      for (int64_t b = 0; b < num_; ++b) {
        if (b == a) continue;
        const int64_t more = sign * (cost[a] - cost[b]);
        own[pair] += more;
        own[pairs_ + pair] += more;
        ++pair;
      }
    }
  }

  void Add(int64_t place, const int64_t* cost, int64_t sign) {
    Put(place, cost, sign);
    Renew(size_ + place);
  }

  // Renews all nodes.
  void RenewAll() {
    for (int64_t node = 2 * size_ - 2; node >= size_; node -= 2) Renew(node);
  }

  // The cost of the best split into two leaves without their penalties.
  int64_t Least() const {
    int64_t least = kDear;
    const int64_t* const sums = nodes_.data() + 3 * pairs_;
    for (int64_t a = 0, pair = 0; a < num_; ++a) {
      for (int64_t b = 0; b < num_; ++b) {
        if (b == a) continue;
        least = std::min(least, total_[b] + sums[pair]);
        ++pair;
      }
    }
    return least;
  }

 private:
  void Renew(int64_t node) {
    switch (pairs_) {
      case 2: return RenewTwo(node, is_nested_, nodes_.data());
      case 6: return RenewSix(node, is_nested_, nodes_.data());
      default: return RenewSome(node, pairs_, is_nested_, nodes_.data());
    }
  }

  int64_t num_, pairs_, size_ = 1;
  bool is_nested_;
  std::vector<int64_t> total_;
  std::vector<int64_t> nodes_;  // [node, sum or least sum, pair]; the root is node 1
};

// A sweep over all thresholds of a group takes the time of so many times `Table::looks` that are looked at one by one.
constexpr int64_t kSweepInLooks = 4;

// No indicator: a leaf, or no tree that is good enough.
constexpr int32_t kLeaf = -1;

struct Table {
  int64_t num_groups, num_rows, num_predictions;
  const uint16_t* codes;     // [group, row]
  const int32_t* first;      // the first indicator of a group, and the number of all
  const bool* is_nested;     // whether an indicator is `code <= place`, or `code == place`
  const int64_t* cost;       // [row, prediction]
  const int64_t* most;       // the most that a row can cost
  int64_t penalty;           // what every leaf costs besides
  int64_t looks;             // thresholds of a group that are looked at one by one before `Sweep` looks at all
};

// Some rows, in the order of the codes of every group: [group, place].
struct Rows {
  int64_t num = 0;
  std::vector<int32_t> order;
};

struct Found {
  int64_t value;
  int32_t split;
};

class Thresholds {
 public:
  Thresholds(const Table& table, int64_t budget)
      : table_(table), budget_(budget), side_(table.num_rows), zeros_(table.num_predictions) {}

  bool is_over() const { return budget_ < 0; }
  int64_t budget() const { return budget_; }

  Rows All() const {
    Rows rows;
    rows.num = table_.num_rows;
    rows.order.resize(table_.num_groups * rows.num);
    for (int64_t group = 0; group < table_.num_groups; ++group) {
      int32_t* const own = rows.order.data() + group * rows.num;
      const uint16_t* const codes = Codes(group);
      for (int64_t row = 0; row < rows.num; ++row) own[row] = static_cast<int32_t>(row);
      std::stable_sort(own, own + rows.num, [&](int32_t a, int32_t b) { return codes[a] < codes[b]; });
    }
    return rows;
  }

  // The best tree of some rows if it costs less than `upper`, or else `upper`; of no meaning once the budget is spent.
  Found Best(const Rows& rows, int64_t depth, int64_t upper) {
    std::vector<int64_t> total(table_.num_predictions);
    for (int64_t at = 0; at < rows.num; ++at) Add(rows.order[at], total.data());
    const int64_t leaf = LeafCost(total.data());
    Found best{upper, kLeaf};
    if (leaf < upper) best.value = leaf;
    if (depth == 0 || leaf == table_.penalty || 2 * table_.penalty >= best.value) return best;
    for (int64_t at = 0; at < rows.num; ++at) side_[rows.order[at]] = 0;
    Found one[2] = {best, best};
    const int64_t* const totals[2] = {total.data(), zeros_.data()};
    Stumps(rows, totals, one);
    best = one[0];
    for (int64_t group = 0; depth > 1 && group < table_.num_groups && !is_over(); ++group) {
      if (table_.is_nested[group]) {
        AlongThresholds(rows, group, depth, total.data(), best);
      } else {
        OfCategories(rows, group, depth, total.data(), best);
      }
    }
    return best;
  }

  // Splits rows by an indicator.
  void Divide(const Rows& rows, int32_t indicator, Rows& inside, Rows& outside) {
    const int64_t group = std::upper_bound(table_.first, table_.first + table_.num_groups, indicator) - table_.first - 1;
    const int64_t place = indicator - table_.first[group];
    const uint16_t* const codes = Codes(group);
    for (int64_t at = 0; at < rows.num; ++at) {
      const int32_t row = rows.order[at];
      side_[row] = table_.is_nested[group] ? codes[row] > place : codes[row] != place;
    }
    DivideBySide(rows, inside, outside);
  }

 private:
  // Candidates between two that are known; what is on a side costs at least so much.
  struct Interval {
    int64_t begin, end, least[2];
  };

  const uint16_t* Codes(int64_t group) const { return table_.codes + group * table_.num_rows; }

  void Add(int32_t row, int64_t* sums) const {
    const int64_t* const own = table_.cost + row * table_.num_predictions;
    for (int64_t p = 0; p < table_.num_predictions; ++p) sums[p] += own[p];
  }

  int64_t LeafCost(const int64_t* sums) const {
    return *std::min_element(sums, sums + table_.num_predictions) + table_.penalty;
  }

  void DivideBySide(const Rows& rows, Rows& first, Rows& second) {
    budget_ -= table_.num_groups * rows.num;
    int64_t num_second = 0;
    for (int64_t at = 0; at < rows.num; ++at) num_second += side_[rows.order[at]];
    first.num = rows.num - num_second;
    second.num = num_second;
    first.order.resize(table_.num_groups * first.num);
    second.order.resize(table_.num_groups * second.num);
    int32_t *one = first.order.data(), *other = second.order.data();
    for (const int32_t row : rows.order) {
      if (side_[row]) {
        *other++ = row;
      } else {
        *one++ = row;
      }
    }
  }

  // The best split of the rows of both sides into two leaves each, in one pass.
  void Stumps(const Rows& rows, const int64_t* const totals[2], Found best[2]) {
    budget_ -= table_.num_groups * rows.num;
    if (is_over()) return;
    switch (table_.num_predictions) {
      case 2: return StumpsOf<2>(rows, totals, best);
      case 3: return StumpsOf<3>(rows, totals, best);
      case 4: return StumpsOf<4>(rows, totals, best);
      default: return StumpsOf<0>(rows, totals, best);
    }
  }

  // The same, where the number of predictions is known, or 0 for any.
  template <int64_t kPredictions>
  void StumpsOf(const Rows& rows, const int64_t* const totals[2], Found best[2]) {
    const int64_t num = kPredictions ? kPredictions : table_.num_predictions;
    const bool is_many = kPredictions == 0 && num >= kManyPredictions;
    int64_t few[2 * (kPredictions ? kPredictions : 1)];
    sums_.resize(2 * num);
    int64_t* const sums = kPredictions ? few : sums_.data();
    for (int64_t group = 0; group < table_.num_groups; ++group) {
      const uint16_t* const codes = Codes(group);
      const int32_t *const order = rows.order.data() + group * rows.num, first = table_.first[group];
      const int32_t size = table_.first[group + 1] - first;
      const bool is_nested = table_.is_nested[group];
      std::fill_n(sums, 2 * num, 0);
      int32_t last[2] = {-1, -1};
      const auto look = [&](int side) {
        const int64_t *const own = sums + side * num, *const total = totals[side];
        const int64_t both = is_many ? LeastOfMany(own, total, num) : LeastOfBoth(own, total, num);
        const int64_t value = both + 2 * table_.penalty;
        if (value < best[side].value) best[side] = {value, first + last[side]};
      };
      for (int64_t at = 0; at < rows.num; ++at) {
        const int32_t row = order[at], code = codes[row];
        const int side = side_[row];
        if (code != last[side]) {
          if (last[side] >= 0) look(side);
          last[side] = code;
          if (!is_nested) std::fill_n(sums + side * num, num, 0);
        }
        const int64_t *const own = table_.cost + row * num;
        if (is_many) {
          AddManyCosts(own, num, sums + side * num);
        } else {
          AddCosts(own, num, sums + side * num);
        }
      }
      for (int side = 0; side < 2 && !is_nested; ++side) {
        if (last[side] >= 0 && last[side] < size) look(side);
      }
    }
  }

  // The costs of both sides, each exact if below what is sought of it; rows are divided by `side_`.
  //
  // Returns whether the sum is exact, and below `sought`.
  bool BothSides(const Rows& rows, int64_t depth, const int64_t* total, int64_t sought, int64_t slack,
                 int64_t least[2]) {
    if (depth == 2) {
      std::vector<int64_t> totals(2 * table_.num_predictions);
      for (int64_t at = 0; at < rows.num; ++at) {
        if (side_[rows.order[at]] == 0) Add(rows.order[at], totals.data());
      }
      int64_t* const other = totals.data() + table_.num_predictions;
      for (int64_t p = 0; p < table_.num_predictions; ++p) other[p] = total[p] - totals[p];
      const int64_t* const both[2] = {totals.data(), other};
      Found found[2] = {{LeafCost(both[0]), kLeaf}, {LeafCost(both[1]), kLeaf}};
      if (found[0].value > table_.penalty || found[1].value > table_.penalty) Stumps(rows, both, found);
      for (int side = 0; side < 2; ++side) least[side] = found[side].value;
      return least[0] + least[1] < sought;
    }
    Rows parts[2];
    DivideBySide(rows, parts[0], parts[1]);
    const int larger = parts[1].num > parts[0].num;
    for (const int side : {larger, 1 - larger}) {
      const int64_t upper = sought - least[1 - side];
      least[side] = std::max(least[side], Best(parts[side], depth - 1, upper + slack).value);
      if (is_over() || least[side] >= upper) return false;
    }
    return true;
  }

  void AlongThresholds(const Rows& rows, int64_t group, int64_t depth, const int64_t* total, Found& best) {
    const uint16_t* const codes = Codes(group);
    const int32_t* const order = rows.order.data() + group * rows.num;
    // The number of rows below every threshold, and what these can cost.
    std::vector<int64_t> below, lost;
    int64_t sum = 0;
    for (int64_t at = 0; at < rows.num; ++at) {
      if (at > 0 && codes[order[at]] != codes[order[at - 1]]) {
        below.push_back(at);
        lost.push_back(sum);
      }
      sum += table_.most[order[at]];
    }
    std::vector<Interval> open = {{0, static_cast<int64_t>(below.size()), {table_.penalty, table_.penalty}}};
    int64_t looked = 0;
    while (!open.empty() && !is_over()) {
      const Interval own = open.back();
      open.pop_back();
      if (own.begin >= own.end || own.least[0] + own.least[1] >= best.value) continue;
      if (depth == 2 && looked++ >= table_.looks && table_.looks < kDear) {
        int64_t left = own.end - own.begin;
        for (const Interval& other : open) left += other.end - other.begin;
        if (left > kSweepInLooks * table_.looks) return Sweep(rows, group, below, total, best);
      }
      const int64_t middle = (own.begin + own.end) / 2;
      for (int64_t at = 0; at < rows.num; ++at) side_[order[at]] = at >= below[middle];
      int64_t least[2] = {own.least[0], own.least[1]};
      const int64_t slack = (lost[own.end - 1] - lost[own.begin]) / kPartOfSlack;
      if (BothSides(rows, depth, total, best.value, slack, least) && !is_over()) {
        best = {least[0] + least[1], table_.first[group] + codes[order[below[middle] - 1]]};
      }
      Interval lower{own.begin, middle, {own.least[0], least[1]}}, upper{middle + 1, own.end, {least[0], own.least[1]}};
      while (lower.begin < lower.end &&
             std::max(own.least[0], least[0] - (lost[middle] - lost[lower.end - 1])) + least[1] >= best.value) {
        --lower.end;
      }
      while (upper.begin < upper.end &&
             std::max(own.least[1], least[1] - (lost[upper.begin] - lost[middle])) + least[0] >= best.value) {
        ++upper.begin;
      }
      open.push_back(upper);
      open.push_back(lower);
    }
  }

  // The best tree of two levels whose first split is a threshold of a group, given the number of rows below each.
  //
  // As rows come from above a threshold to below it, the best splits of both sides change in a number of steps that is the
  // logarithm of their number; so all thresholds take the time of some.
  void Sweep(const Rows& rows, int64_t group, const std::vector<int64_t>& below, const int64_t* total, Found& best) {
    budget_ -= kSweepInLooks * table_.looks * table_.num_groups * rows.num;
    if (is_over()) return;
    const int64_t num = table_.num_predictions, num_cuts = below.size();
    const int32_t* const order = rows.order.data() + group * rows.num;
    std::vector<int64_t> least[2] = {std::vector<int64_t>(num_cuts), std::vector<int64_t>(num_cuts)}, sums(num), rest(num);
    for (int64_t cut = 0, at = 0; cut < num_cuts; ++cut) {
      for (; at < below[cut]; ++at) Add(order[at], sums.data());
      for (int64_t p = 0; p < num; ++p) rest[p] = total[p] - sums[p];
      least[0][cut] = LeafCost(sums.data());
      least[1][cut] = LeafCost(rest.data());
    }
    std::vector<int32_t> place(table_.num_rows);
    for (int64_t other = 0; other < table_.num_groups; ++other) {
      const uint16_t* const codes = Codes(other);
      const int32_t* const own = rows.order.data() + other * rows.num;
      int32_t num_places = 0;
      for (int64_t at = 0; at < rows.num; ++at) {
        num_places += at == 0 || codes[own[at]] != codes[own[at - 1]];
        place[own[at]] = num_places - 1;
      }
      if (num_places < 2) continue;
      const int32_t size = table_.first[other + 1] - table_.first[other];
      ChangingStump inside(num_places, num, table_.is_nested[other]), outside(num_places, num, table_.is_nested[other]);
      if (!table_.is_nested[other] && codes[own[rows.num - 1]] == size) {
        inside.Exclude(num_places - 1);
        outside.Exclude(num_places - 1);
      }
      for (int64_t at = 0; at < rows.num; ++at) outside.Put(place[own[at]], table_.cost + own[at] * num, 1);
      inside.RenewAll();
      outside.RenewAll();
      for (int64_t cut = 0, at = 0; cut < num_cuts; ++cut) {
        for (; at < below[cut]; ++at) {
          const int64_t row = order[at];
          inside.Add(place[row], table_.cost + row * num, 1);
          outside.Add(place[row], table_.cost + row * num, -1);
        }
        least[0][cut] = std::min(least[0][cut], inside.Least() + 2 * table_.penalty);
        least[1][cut] = std::min(least[1][cut], outside.Least() + 2 * table_.penalty);
      }
    }
    for (int64_t cut = 0; cut < num_cuts; ++cut) {
      const int64_t value = least[0][cut] + least[1][cut];
      if (value < best.value) best = {value, table_.first[group] + Codes(group)[order[below[cut] - 1]]};
    }
  }

  void OfCategories(const Rows& rows, int64_t group, int64_t depth, const int64_t* total, Found& best) {
    const uint16_t* const codes = Codes(group);
    const int32_t* const order = rows.order.data() + group * rows.num;
    const int32_t num = table_.first[group + 1] - table_.first[group];
    for (int64_t begin = 0, end; begin < rows.num && codes[order[begin]] < num && !is_over(); begin = end) {
      const uint16_t code = codes[order[begin]];
      for (end = begin; end < rows.num && codes[order[end]] == code;) ++end;
      if (end - begin == rows.num) return;
      for (int64_t at = 0; at < rows.num; ++at) side_[order[at]] = at < begin || at >= end;
      int64_t least[2] = {table_.penalty, table_.penalty};
      if (BothSides(rows, depth, total, best.value, 0, least) && !is_over()) {
        best = {least[0] + least[1], table_.first[group] + code};
      }
    }
  }

  const Table& table_;
  int64_t budget_;
  std::vector<int8_t> side_;
  std::vector<int64_t> sums_;
  const std::vector<int64_t> zeros_;
};

// Writes the splits of the best tree below a node, whose children are 2 node + 1 and 2 node + 2.
void WriteTree(Thresholds& search, const Rows& rows, int64_t depth, int64_t node, Found found, int32_t* splits) {
  splits[node] = found.split;
  if (found.split == kLeaf) return;
  Rows parts[2];
  search.Divide(rows, found.split, parts[0], parts[1]);
  for (int side = 0; side < 2 && depth > 1; ++side) {
    const Found below = search.Best(parts[side], depth - 1, std::numeric_limits<int64_t>::max() / 4);
    WriteTree(search, parts[side], depth - 1, 2 * node + 1 + side, below, splits);
  }
}

// Returns the cost of the best tree that costs less than `upper`, or `upper`.
int64_t BestThresholds(const Table& table, int64_t num_levels, int64_t upper, int64_t* budget, int32_t* splits) {
  Thresholds search(table, *budget);
  const Rows rows = search.All();
  const Found found = search.Best(rows, num_levels, upper);
  *budget = search.budget();
  if (found.value >= upper) return upper;
  // The tree below is found again, with all the time that it takes.
  Thresholds again(table, std::numeric_limits<int64_t>::max());
  WriteTree(again, rows, num_levels, 0, found, splits);
  return found.value;
}

}  // namespace
}  // namespace jaxtree

// Finds the best tree that costs less than `upper`, and returns its cost, `upper` if there is none, or -1 where there is not
// enough memory.
//
// `sizes` are the numbers of groups, of rows, of predictions, of levels and of `Table::looks`; `budget` is how many cells of rows and groups
// may be looked at, and then what is left of it, below 0 if the search ended early. `splits` are the indicators of a heap's
// inner nodes, all -1 before.
extern "C" int64_t jaxtree_best_thresholds(const int64_t* sizes, const uint16_t* codes, const int32_t* first,
                                           const bool* is_nested, const int64_t* cost, const int64_t* most,
                                           int64_t penalty, int64_t upper, int64_t* budget, int32_t* splits) {
  using namespace jaxtree;
  try {
    return BestThresholds({sizes[0], sizes[1], sizes[2], codes, first, is_nested, cost, most, penalty, sizes[4]}, sizes[3], upper, budget,
                          splits);
  } catch (const std::bad_alloc&) {
    return -1;
  }
}
