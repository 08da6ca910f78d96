// The best splits of one node, or of two siblings, from histograms that are made, subtracted and scored column by column.

#ifndef JAXTREE_NATIVE_EVALUATE_HISTOGRAM_FINDER_H_
#define JAXTREE_NATIVE_EVALUATE_HISTOGRAM_FINDER_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "common/memory.h"
#include "common/parallel.h"
#include "evaluate/screening.h"
#include "evaluate/split_finder.h"
#include "histogram/node_histograms.h"
#include "histogram/sparse_columns.h"
#include "partition/row_partitioner.h"
#include "tree/node_table.h"

namespace jaxtree {

// The gain of a feature that may have a split, but not the best one.
constexpr double kNotBest = std::numeric_limits<double>::lowest();
// With less to do, another thread costs more than it saves. A cell of a column that is cleared, summed up and scored counts
// as several that rows add to.
constexpr int64_t kLeastFilledByThreads = 1 << 14, kAddedPerCell = 2;
// Rows of a histogram that is a thread's own: to clear it and to add it up costs as much as some thousand rows.
constexpr int64_t kLeastRowsOfBlock = 1 << 13;
// Rows are divided, too, where columns alone would leave threads idle for longer.
constexpr double kMostIdle = .05;
// With fewer rows it is not checked whether nearly all have one code.
constexpr int64_t kLeastRowsOfUsual = 1 << 10;

// A node whose split is looked for.
struct NodeHistogram {
  int32_t node = 0, histogram = kNoHistogram;
  std::vector<int32_t> total;  // a cell with its sums
  std::vector<float> score;    // of every threshold, at the place of its cell
  std::vector<Range> range;    // of every column the thresholds that leave enough on both sides
  std::vector<float> most;     // and the greatest of their scores
};

// Memory of a search that a thread keeps from tree to tree, so that its pages are there already.
struct FinderMemory {
  NodeHistogram nodes[2];
  std::vector<int32_t> blocks;  // histograms of blocks of a node's rows but the first
};

class HistogramSplitFinder {
 public:
  using Code = uint8_t;
  using Value = int32_t;

  // `level` shows the nodes when they are looked at.
  HistogramSplitFinder(Threads& pool, const Level<Code, Value>& level, HistogramPool& histograms, FinderMemory& memory)
      : pool_(pool), level_(level), table_(level.table), rules_(level.rules), finder_(level), histograms_(histograms),
        memory_(memory), layout_(CellLayout::For(level.rules.objective.num_outputs, level.rules.objective.num_classes)),
        penalties_(ScreenedPenalties::Of(level.rules.objective, level.rules.ParametersOf(0))) {
    for (int32_t feature = 0; feature < table_.num_features; ++feature) AppendColumn(feature);
    histograms_.Open(columns_.num_cells, layout_.width);
  }

  // A search of the same tree beside another, for nodes that `level` shows.
  HistogramSplitFinder(const HistogramSplitFinder& other, const Level<Code, Value>& level, FinderMemory& memory)
      : pool_(other.pool_), level_(level), table_(level.table), rules_(level.rules), finder_(level),
        histograms_(other.histograms_), memory_(memory), layout_(other.layout_), penalties_(other.penalties_), columns_(other.columns_),
        column_of_(other.column_of_), feature_of_(other.feature_of_), packed_(other.packed_), of_row_(other.of_row_),
        added_(other.added_) {}

  const CellLayout& layout() const { return layout_; }

  // Reads what rows add.
  void ReadRows(Memory& memory, const Value* values, int64_t num_rows) {
    of_row_ = memory.Take<int32_t>(num_rows * RowWidth());
    if (layout_.has_one_score()) added_ = memory.Take<int32_t>(2 * num_rows);
    const int64_t num_parts = NumParts(pool_, num_rows);
    if (layout_.has_one_score()) FindFormat(values, num_rows, num_parts);
    ForEachPart(pool_, num_parts, num_rows, [&](int64_t, int64_t begin, int64_t end) {
      layout_.has_one_score() ? PackPart(values, num_rows, begin, end) : ReadPart(values, num_rows, begin, end);
    });
  }

  // Has a node looked at, of which the level shows the sums, by a histogram that holds anything, or sums of its parent.
  void Open(int32_t node, int32_t histogram, NodeHistogram& of_node) const {
    of_node.node = node;
    of_node.histogram = histogram;
    assert(node >= 0 && histogram >= 0);
    of_node.total.assign(layout_.width, 0);
    const int64_t num_channels = level_.num_node_channels;
    for (int64_t channel = 0; channel < num_channels; ++channel) {
      of_node.total[layout_.lane[channel]] = level_.sums[node * num_channels + channel];
    }
    of_node.total[layout_.of_rows] = level_.rows_of_node[node];
    for (int32_t score = num_curvatures(); score < layout_.num_scores; ++score) of_node.total[score] = of_node.total[0];
    of_node.score.resize(std::max<size_t>(of_node.score.size(), columns_.num_cells));
    of_node.range.resize(columns_.size());
    of_node.most.assign(columns_.size(), 0);
  }

  // Sums some rows, those of a node, and turns the histogram that a sibling has of their parent into its own. Scores the
  // thresholds of the sibling, and those of the node if it is looked at. Null rows are the first. The rows of other nodes have
  // other places.
  void Fill(const int32_t* rows, int64_t place, int64_t count, NodeHistogram& filled, bool is_looked_at, NodeHistogram* sibling) {
    if (layout_.has_one_score() && table_.codes_of_rows != nullptr && count >= kLeastRowsOfBlock) {
      return FillByRows(rows, count, filled, is_looked_at, sibling);
    }
    const bool are_gathered = rows != nullptr && layout_.has_one_score();
    const AddedRows added{rows, are_gathered ? Gather(rows, place, count) : of_row_, 0, count, packed_};
    const bool pays = count * columns_.size() + kAddedPerCell * columns_.num_cells >= kLeastFilledByThreads;
    const Pieces pieces(columns_.size(), FeaturesOfPack(layout_.width), count, pays ? pool_.num_threads() : 1);
    ForWidth(layout_.width, [&](auto width) { FillPieces<width()>(pieces, added, filled, is_looked_at, sibling); });
  }

  // The best split of a node that is looked at.
  Split Best(NodeHistogram& of_node, int64_t slot) {
    finder_.Open(slot);
    least_ = LeastOfBest(Greatest(of_node.most.data(), 0, columns_.size()), layout_.num_scores);
    return finder_.BestOf([&](int32_t feature) { return OnColumn(column_of_[feature], of_node); });
  }

  // Which codes of a split take branch 1.
  BranchOfCode BranchesOf(const Split& split, int32_t missing_branch) const {
    BranchOfCode branch;
    const int32_t kind = table_.kind[split.feature], missing = table_.missing_code[split.feature];
    for (int32_t code = 0; code < kMostCodes; ++code) {
      if (kind == kSubset) branch[code] = IsInSubset(split, code);
      else branch[code] = kind == kThreshold ? code > split.code : code == split.code;
    }
    if (missing < kMostCodes) branch[missing] = std::clamp(missing_branch, 0, 1);
    return branch;
  }

  // A cell with the sums of branch 0 of a split.
  std::vector<int32_t> SumsOfLeft(const Split& split, const NodeHistogram& of_node) const {
    const int64_t column = column_of_[split.feature], width = layout_.width;
    assert(column < columns_.size() && feature_of_[column] == split.feature);
    const int32_t* const cells = CellsOf(of_node, column);
    const int64_t num_codes = columns_.columns[column].num_codes;
    assert(table_.kind[split.feature] != kThreshold || (0 <= split.code && split.code < num_codes));
    if (table_.kind[split.feature] == kThreshold && !HasCode(cells, table_.missing_code[split.feature], num_codes)) {
      return {cells + split.code * width, cells + (split.code + 1) * width};
    }
    const BranchOfCode branch = BranchesOf(split, split.missing_branch);
    std::vector<int32_t> sums(width);
    for (int64_t at = 0; at < num_codes * width; ++at) {
      if (branch[at / width] == 0) sums[at % width] += cells[at] - (at < width ? 0 : cells[at - width]);
    }
    return sums;
  }

 private:
  int32_t num_curvatures() const { return rules_.objective.num_classes; }

  // With one score a row is packed into 64 bits; with several it has a cell.
  int64_t RowWidth() const { return layout_.has_one_score() ? 2 : layout_.width; }

  void AppendColumn(int32_t feature) {
    column_of_.push_back(columns_.size());
    if (table_.num_codes[feature] == 0) return;
    const Code* const codes = table_.ColumnOf(feature);
    const bool asks = table_.num_rows >= kLeastRowsOfUsual;
    const int32_t usual = asks ? UsualOfSome(codes, table_.num_rows, kRowsAsked / kRowsPerRare) : kNoUsual;
    columns_.Append(codes, table_.num_codes[feature], usual < table_.num_codes[feature] ? usual : kNoUsual);
    feature_of_.push_back(feature);
  }

  void ReadPart(const Value* values, int64_t num_rows, int64_t begin, int64_t end) {
    const int64_t width = RowWidth();
    int32_t* const cells = of_row_;
    std::fill(cells + begin * width, cells + end * width, 0);
    for (int32_t score = 0; score < layout_.num_scores; ++score) {
      const Value* const curvature = values + std::min(score, num_curvatures() - 1) * num_rows;
      const Value* const gradient = values + (num_curvatures() + score) * num_rows;
      const int64_t of_gradient = layout_.lane[num_curvatures() + score];
      for (int64_t row = begin; row < end; ++row) {
        cells[row * width + score] = curvature[row];
        cells[row * width + of_gradient] = gradient[row];
      }
    }
    for (int64_t row = begin; row < end; ++row) cells[row * width + layout_.of_rows] = values[row] > 0;
  }

  void FindFormat(const Value* values, int64_t num_rows, int64_t num_parts) {
    std::vector<BitsOfRows> bits(num_parts);
    ForEachPart(pool_, num_parts, num_rows, [&](int64_t part, int64_t begin, int64_t end) {
      WithWidest([&] {
        BitsOfRows own;
        for (int64_t row = begin; row < end; ++row) own.Add(values[row], values[num_rows + row]);
        bits[part] = own;
      });
    });
    for (int64_t part = 1; part < num_parts; ++part) bits[0].Add(bits[part]);
    packed_ = PackedFormat::For(bits[0]);
  }

  void PackPart(const Value* values, int64_t num_rows, int64_t begin, int64_t end) {
    const PackedFormat packed = packed_;
    int32_t* const to = of_row_;
    WithWidest([&] {
      for (int64_t row = begin; row < end; ++row) {
        const uint64_t own = packed.Pack(values[row], values[num_rows + row]);
        std::memcpy(to + 2 * row, &own, sizeof(own));
      }
    });
  }

  // Some rows side by side, of one score.
  const int32_t* Gather(const int32_t* rows, int64_t place, int64_t count) {
    int32_t* const added = added_ + 2 * place;
    const int32_t* const of_row = of_row_;
    ForEachPart(pool_, NumParts(pool_, count), count, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) std::copy_n(of_row + 2 * int64_t{rows[at]}, 2, added + 2 * at);
    });
    return added;
  }

  // Parts of the work on a histogram: packs of columns, as many as all threads have alike, and blocks of the rows of the others.
  struct Pieces {
    struct Piece {
      int64_t pack, block;
    };

    int64_t num_columns, columns_per_pack, num_whole, num_divided, num_blocks = 1;

    Pieces(int64_t num_columns, int64_t columns_per_pack, int64_t num_rows, int64_t num_threads)
        : num_columns(num_columns), columns_per_pack(columns_per_pack) {
      const int64_t num_packs = (num_columns + columns_per_pack - 1) / columns_per_pack;
      num_divided = num_packs % num_threads;
      num_whole = num_packs - num_divided;
      const int64_t most = std::min(num_rows / kLeastRowsOfBlock, num_threads);
      double least_idle = 1;
      for (int64_t blocks = 1; blocks <= most && num_divided > 0 && least_idle > kMostIdle; ++blocks) {
        const int64_t number = num_divided * blocks, rounds = (number + num_threads - 1) / num_threads;
        const double idle = 1 - static_cast<double>(number) / static_cast<double>(rounds * num_threads);
        if (idle < least_idle) least_idle = idle, num_blocks = blocks;
      }
    }

    int64_t number() const { return num_whole + num_divided * num_blocks; }

    Piece operator[](int64_t at) const {
      if (at < num_whole) return {at, 0};
      return {num_whole + (at - num_whole) / num_blocks, (at - num_whole) % num_blocks};
    }

    bool IsDivided(int64_t pack) const { return pack >= num_whole && num_blocks > 1; }

    Range ColumnsOf(int64_t pack) const {
      return {pack * columns_per_pack, std::min((pack + 1) * columns_per_pack, num_columns)};
    }
  };

  // The same of rows of one score whose codes lie side by side: threads have blocks of rows, each with
  // histograms of its own.
  void FillByRows(const int32_t* rows, int64_t count, NodeHistogram& filled, bool is_looked_at, NodeHistogram* sibling) {
    constexpr int kWidth = 4;
    int32_t* const cells = histograms_.At(filled.histogram);
    const int64_t size = (columns_.num_cells + kMostCodes) * kWidth;
    const int64_t num_blocks = std::min(pool_.num_threads(), count / kLeastRowsOfBlock);
    memory_.blocks.resize(std::max<size_t>(memory_.blocks.size(), (num_blocks - 1) * size));
    int32_t* const blocks = memory_.blocks.data();
    ForEachPart(pool_, num_blocks, count, [&](int64_t block, int64_t begin, int64_t end) {
      int32_t* const own = block == 0 ? cells : blocks + (block - 1) * size;
      std::fill(own, own + columns_.num_cells * kWidth, 0);
      RowCopies copies(table_.num_features);
      for (int64_t first = begin; first < end; first += kRowsOfBlock) {
        WithWidest([&] {
          const AddedRows some{rows, of_row_, first, std::min(first + kRowsOfBlock, end), packed_};
          AddColumnsOfBlock(copies.Of(table_.codes_of_rows, some), own);
        });
      }
    });
    const int64_t columns_per_pack = FeaturesOfPack(kWidth);
    const int64_t num_packs = (columns_.size() + columns_per_pack - 1) / columns_per_pack;
    ForEach(pool_, num_packs, [&](int64_t pack) {
      const Range columns{pack * columns_per_pack, std::min((pack + 1) * columns_per_pack, columns_.size())};
      WithWidest([&] {
        AddBlocks<kWidth>(columns, blocks, num_blocks, cells);
        FinishColumns<kWidth>(columns, filled, is_looked_at, sibling);
      });
    });
  }

  inline __attribute__((always_inline)) void AddColumnsOfBlock(const RowBlock& block, int32_t* cells) const {
    constexpr int64_t kPack = FeaturesOfPack(4);
    const HistogramColumns::Column* const columns = columns_.columns.data();
    int64_t at = 0;
    for (; at + kPack <= columns_.size(); at += kPack) AddBlock<kPack>(columns + at, feature_of_.data() + at, block, cells);
    for (; at < columns_.size(); ++at) AddBlock<1>(columns + at, feature_of_.data() + at, block, cells);
  }

  // Adds the histograms of blocks but the first to that.
  template <int kWidth>
  inline __attribute__((always_inline)) void AddBlocks(Range columns, const int32_t* blocks, int64_t num_blocks,
                                                       int32_t* cells) const {
    const Range sums = columns_.CellsOf(columns);
    const int64_t size = (columns_.num_cells + kMostCodes) * kWidth;
    for (const int32_t* other = blocks; other < blocks + (num_blocks - 1) * size; other += size) {
      for (int64_t sum = sums.begin * kWidth; sum < sums.end * kWidth; ++sum) cells[sum] += other[sum];
    }
  }

  template <int kWidth>
  void FillPieces(const Pieces& pieces, const AddedRows& added, NodeHistogram& filled, bool is_looked_at,
                  NodeHistogram* sibling) {
    int32_t* const cells = histograms_.At(filled.histogram);
    // A byte that is no code of its feature reaches past the last cell.
    const int64_t size = (columns_.num_cells + kMostCodes) * kWidth, num_blocks = pieces.num_blocks;
    if (num_blocks > 1) memory_.blocks.resize(std::max<size_t>(memory_.blocks.size(), (num_blocks - 1) * size));
    int32_t* const blocks = memory_.blocks.data();
    std::vector<std::atomic<int64_t>> num_added(num_blocks > 1 ? pieces.num_divided : 0);
    ForEach(pool_, pieces.number(), [&](int64_t at) {
      const auto [pack, block] = pieces[at];
      const Range columns = pieces.ColumnsOf(pack);
      if (!pieces.IsDivided(pack)) {
        return WithWidest([&] {
          AddColumns<kWidth>(columns_, columns, added, cells, true);
          FinishColumns<kWidth>(columns, filled, is_looked_at, sibling, true);
        });
      }
      int32_t* const own = block == 0 ? cells : blocks + (block - 1) * size;
      WithWidest([&] { AddColumns<kWidth>(columns_, columns, added.Block(block, num_blocks), own); });
      // The last one adds up what the others have.
      if (++num_added[pack - pieces.num_whole] < num_blocks) return;
      WithWidest([&] {
        AddBlocks<kWidth>(columns, blocks, num_blocks, cells);
        FinishColumns<kWidth>(columns, filled, is_looked_at, sibling);
      });
    });
  }

  template <int kWidth>
  inline __attribute__((always_inline)) void FinishColumns(Range columns, NodeHistogram& filled, bool is_looked_at,
                                                           NodeHistogram* sibling, bool is_up_to = false) {
    int32_t* const cells = histograms_.At(filled.histogram);
    SumUpColumns<kWidth>(columns_, columns, filled.total.data(), cells, is_up_to);
    if (sibling != nullptr) {
      int32_t* const whole = histograms_.At(sibling->histogram);
      const Range own = columns_.CellsOf(columns);
      for (int64_t at = own.begin * kWidth; at < own.end * kWidth; ++at) whole[at] -= cells[at];
    }
    // One loop, which is compiled once for a width.
    for (NodeHistogram* const own : {is_looked_at ? &filled : nullptr, sibling}) {
      if (own != nullptr) ScreenColumns<kWidth>(columns.begin, columns.end, *own);
    }
  }

  // Scores the thresholds of columns, but where a node samples features, as few of them are looked at.
  template <int kWidth>
  void ScreenColumns(int64_t first, int64_t stop, NodeHistogram& of_node) {
    for (int64_t column = first; column < stop && !rules_.samples_features; ++column) {
      if (!IsScreened(of_node, column) || !level_.IsOpen(of_node.node, feature_of_[column])) continue;
      ScreenColumn<kWidth>(column, of_node);
    }
  }

  template <int kWidth>
  void ScreenColumn(int64_t column, NodeHistogram& of_node) {
    const auto& own = columns_.columns[column];
    const int32_t *const cells = CellsOf(of_node, column), *const total = of_node.total.data();
    float* const score = of_node.score.data() + own.first;
    const Range range = of_node.range[column] = Admissible<kWidth>(cells, own.num_codes, total);
    of_node.most[column] = ScoreThresholds<kWidth>(cells, range.begin, range.end, total, penalties_, score);
  }

  // The thresholds that leave enough on both sides: sums of second derivatives and of rows do not fall with the codes.
  template <int kWidth>
  Range Admissible(const int32_t* cells, int64_t num_codes, const int32_t* total) const {
    const int32_t number = num_curvatures(), of_rows = layout_.of_rows;
    const Value weight = rules_.limits.leaf_weight[0], rows = rules_.objective.counts_rows ? rules_.limits.leaf_rows[0] : 0;
    const auto is_enough = [=](const auto& sum) {
      Value whole = sum(0);
      for (int32_t curvature = 1; curvature < number; ++curvature) whole += sum(curvature);
      return (sum(0) > 0) & (whole >= weight) & (sum(of_rows) >= rows);
    };
    const int64_t first = FirstOf(num_codes, [=](int64_t code) {
      return is_enough([=](int32_t lane) { return cells[code * kWidth + lane]; });
    });
    const int64_t stop = FirstOf(num_codes, [=](int64_t code) {
      return !is_enough([=](int32_t lane) { return total[lane] - cells[code * kWidth + lane]; });
    });
    return {first, std::max(first, stop)};
  }

  // The first number below `count` with a property, which all after it have, too; `count` if there is none.
  template <typename Property>
  static int64_t FirstOf(int64_t count, const Property& has) {
    int64_t first = 0;
    while (count > 0) {
      const int64_t half = count / 2;
      const bool is_later = !has(first + half);
      first = is_later ? first + half + 1 : first;
      count = is_later ? count - half - 1 : half;
    }
    return first;
  }

  const int32_t* CellsOf(const NodeHistogram& of_node, int64_t column) const {
    return histograms_.At(of_node.histogram) + columns_.columns[column].first * layout_.width;
  }

  // Whether the gains of a feature's thresholds follow from the sums up to them alone, by penalties that can be screened.
  bool IsScreened(const NodeHistogram& of_node, int64_t column) const {
    const Feature feature = table_.FeatureAt(feature_of_[column]);
    const bool is_plain = feature.kind == kThreshold && feature.monotone == 0 && feature.next_separable == nullptr;
    if (!is_plain || !penalties_.are_screened) return false;
    const int64_t num_codes = columns_.columns[column].num_codes;
    return !rules_.split.separates_missing() || !HasCode(CellsOf(of_node, column), feature.missing_code, num_codes);
  }

  // Whether rows have a code.
  bool HasCode(const int32_t* cells, int64_t code, int64_t num_codes) const {
    if (code >= num_codes) return false;
    return cells[code * layout_.width] != (code > 0 ? cells[(code - 1) * layout_.width] : 0);
  }

  Split OnColumn(int64_t column, NodeHistogram& of_node) {
    if (!IsScreened(of_node, column)) return OnHistogram(column, of_node);
    if (rules_.samples_features) {
      ForWidth(layout_.width, [&](auto width) { WithWidest([&] { ScreenColumn<width()>(column, of_node); }); });
    }
    // For a feature that is looked at by itself, or whose score noise may lift, the best counts.
    if (rules_.samples_features || rules_.draws_scores) least_ = LeastOfBest(of_node.most[column], layout_.num_scores);
    return OnThresholds(column, of_node);
  }

  // The best of the thresholds whose scores come near the greatest.
  Split OnThresholds(int64_t column, const NodeHistogram& of_node) {
    const Range range = of_node.range[column];
    if (range.size() == 0) return {};
    Split split{kNotBest, feature_of_[column], 0, 0, rules_.split.DefaultBranch(1), 0, {}};
    if (of_node.most[column] < least_) return split;
    const float* const score = of_node.score.data() + columns_.columns[column].first;
    const int64_t num_codes = columns_.columns[column].num_codes;
    const int32_t* const cells = CellsOf(of_node, column);
    SplitScorer<Value>& scorer = finder_.scorer();
    scorer.SetMonotone(0);
    near_.clear();
    double best = kNoGain;
    for (int64_t code = range.begin; code < range.end; ++code) {
      if (score[code] < least_ || !HasCode(cells, code, num_codes)) continue;
      near_.push_back({scorer.GainOfThreshold(SumsUpTo(cells, code)), code});
      best = std::max(best, near_.back().first);
    }
    // Where sums of second derivatives fall, no threshold may be left.
    if (best == kNoGain) return {};
    const double least = scorer.LeastOfEquals(best);
    const auto chosen = std::find_if(near_.begin(), near_.end(), [=](const auto& near) { return near.first >= least; });
    assert(chosen != near_.end());
    split.code = chosen->second;
    split.gain = scorer.Rounded(best);
    split.next_code = split.code + 1;
    while (split.next_code + 1 < num_codes && !HasCode(cells, split.next_code, num_codes)) ++split.next_code;
    return split;
  }

  // The sums of the channels of an objective.
  const Value* SumsUpTo(const int32_t* cells, int64_t code) {
    inside_.resize(rules_.objective.num_channels);
    for (size_t channel = 0; channel < inside_.size(); ++channel) {
      inside_[channel] = cells[code * layout_.width + layout_.lane[channel]];
    }
    return inside_.data();
  }

  // The best split by the sums of each code by itself, as a search takes them.
  Split OnHistogram(int64_t column, const NodeHistogram& of_node) {
    const int32_t* const cells = CellsOf(of_node, column);
    const int64_t num_channels = rules_.objective.num_channels, num_codes = columns_.columns[column].num_codes;
    alone_.resize(num_codes * num_channels);
    for (int64_t code = 0; code < num_codes; ++code) {
      for (int64_t channel = 0; channel < num_channels; ++channel) {
        const int32_t* const own = cells + code * layout_.width + layout_.lane[channel];
        alone_[code * num_channels + channel] = *own - (code > 0 ? own[-layout_.width] : 0);
      }
    }
    return finder_.OnHistogram(feature_of_[column], alone_.data());
  }

  static bool IsInSubset(const Split& split, int32_t code) {
    const size_t word = std::min<size_t>(code / kCodesPerWord, split.subset.size() - 1);
    return split.subset[word] >> (code % kCodesPerWord) & 1;
  }

  Threads& pool_;
  const Level<Code, Value>& level_;
  const Table<Code>& table_;
  const Rules<Value>& rules_;
  SplitFinder<Code, Value> finder_;
  HistogramPool& histograms_;
  FinderMemory& memory_;
  const CellLayout layout_;
  const ScreenedPenalties penalties_;
  HistogramColumns columns_;
  std::vector<int64_t> column_of_;   // of every feature
  std::vector<int32_t> feature_of_;  // of every column
  // Rows of one score are packed. What rows add: all of them, and those of nodes, at the places of these.
  PackedFormat packed_ = {};
  int32_t *of_row_ = nullptr, *added_ = nullptr;
  float least_ = 0;                  // thresholds with lower scores are not looked at
  std::vector<std::pair<double, int32_t>> near_;
  std::vector<Value> inside_, alone_;
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_EVALUATE_HISTOGRAM_FINDER_H_
