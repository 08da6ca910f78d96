// Trains a soft tree by gradients; see jaxtree/soft/epochs.py, whose program of XLA makes the same steps. Sixteen rows are taken
// at a time, and all sums have one order: so a training has the same bits wherever it is made, and whatever is trained beside.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

#include "common/simd.h"
#include "soft/draws.h"
#include "soft/form.h"
#include "soft/gates.h"
#include "soft/lanes.h"
#include "soft/losses.h"

namespace jaxtree::soft {
namespace {

constexpr float kDecay = 0.9f, kDecayOfSquares = 0.999f, kLeastRoot = 1e-8f;  // of Adam (Kingma and Ba, 2015)
constexpr int64_t kRowsToCompare = 256;                                        // whose outputs are made at once
constexpr int64_t kStepsOfClock = 16;                                          // after which the time is looked at

// Rows that are looked at together: vectors of sixteen, padded with rows of no weight.
template <int kWidth>
class Batch {
  using Lanes = soft::Lanes<kWidth>;
  using Bits = soft::Bits<kWidth>;

 public:
  Batch(const Form& form, int64_t most_rows)
      : form_(form), width_(form.num_features + 1), most_(NumVectors(most_rows)), clean_(most_ * width_), noisy_(most_ * width_),
        target_(most_ * form.num_outputs), share_(most_) {}

  // Takes rows, whose number is that of `row_of`.
  template <typename RowOf>
  void Take(const Rows& rows, int64_t num_rows, const RowOf& row_of) {
    num_vectors_ = NumVectors(num_rows);
    x_ = clean_.data();
    const int64_t num_features = form_.num_features, num_outputs = form_.num_outputs;
    for (int64_t vector = 0; vector < num_vectors_; ++vector) {
      const int64_t first = vector * kLanes, number = std::min(num_rows - first, kLanes);
      float* const x = clean_.floats() + vector * width_ * kLanes;
      float* const target = target_.floats() + vector * num_outputs * kLanes;
      float* const share = share_.floats() + first;
      // Lanes without a row have one that weighs nothing.
      int64_t row[kLanes];
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        row[lane] = row_of(first + std::min(lane, number - 1));
        share[lane] = lane < number ? rows.weight[row[lane]] : 0;
      }
      Transpose(rows.x, num_features, row, x);
      std::fill_n(x + num_features * kLanes, kLanes, 1.0f);
      if (form_.loss != Loss::kCrossEntropy) {
        Transpose(static_cast<const float*>(rows.target), num_outputs, row, target);
        continue;
      }
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        const int32_t code = static_cast<const int32_t*>(rows.target)[row[lane]];
        for (int64_t at = 0; at < num_outputs; ++at) target[at * kLanes + lane] = at == code ? 1.0f : 0.0f;
      }
    }
  }

  // Adds noise to the inputs; `place` is that of the first.
  JAXTREE_INLINE void AddNoise(const uint32_t* seed, uint32_t place, float deviation) {
    const uint32_t num_features = form_.num_features;
    const Bits of_seed[] = {seed[0], seed[1]};
    uint32_t places[kLanes];
    for (uint32_t at = 0; at < kLanes; ++at) places[at] = at * num_features;
    const Bits lane = SameBits<Bits>(places);
    for (int64_t vector = 0; vector < num_vectors_; ++vector) {
      const Lanes* const from = clean_.data() + vector * width_;
      Lanes* const to = noisy_.data() + vector * width_;
      const Bits first = lane + (place + static_cast<uint32_t>(vector * kLanes) * num_features);
      for (uint32_t at = 0; at < num_features; ++at) to[at] = from[at] + deviation * Noise<kWidth>(of_seed, first + at);
      to[num_features] = from[num_features];
    }
    x_ = noisy_.data();
  }

  int64_t num_vectors() const { return num_vectors_; }
  int64_t width() const { return width_; }
  const Lanes* x(int64_t vector) const { return x_ + vector * width_; }
  const Lanes* target(int64_t vector) { return target_.data() + vector * form_.num_outputs; }
  const Lanes& weight(int64_t vector) { return share_[vector]; }

 private:
  // Copies the numbers of sixteen rows, so that those of a column lie side by side.
  static JAXTREE_INLINE void Transpose(const float* from, int64_t width, const int64_t* row, float* to) {
    constexpr int64_t kTogether = 4;
    for (int64_t lane = 0; lane < kLanes; lane += kTogether) {
      const float* own[kTogether];
      for (int64_t of = 0; of < kTogether; ++of) own[of] = from + row[lane + of] * width;
      for (int64_t at = 0; at < width; ++at) {
#pragma GCC unroll 4
        for (int64_t of = 0; of < kTogether; ++of) to[at * kLanes + lane + of] = own[of][at];
      }
    }
  }

  const Form& form_;
  const int64_t width_, most_;
  int64_t num_vectors_ = 0;
  Rack<kWidth> clean_, noisy_, target_, share_;
  const Lanes* x_ = nullptr;
};

// A tree at a temperature, and what passes through it forwards and back.
template <int kWidth>
class Tree {
  using Lanes = soft::Lanes<kWidth>;
  using Bits = soft::Bits<kWidth>;

 public:
  Tree(const Form& form, int64_t most_vectors)
      : form_(form), gates_(form), num_gates_(form.num_gates()), num_inner_(form.num_inner()), num_leaves_(form.num_leaves()),
        num_values_(num_leaves_ * form.num_outputs), value_(NumVectors(num_values_)), z_(most_vectors * num_gates_),
        right_(num_inner_), slope_of_side_(num_inner_), reach_(num_inner_), back_(num_inner_),
        leaf_(most_vectors * num_leaves_), output_(most_vectors * form.num_outputs), sums_(num_gates_ * (form.num_features + 1)) {
    for (int64_t node = 0; node < num_inner_; ++node) gate_of_.push_back(node);
    if (form.is_oblivious) {
      for (int64_t node = 0; node < num_inner_; ++node) gate_of_[node] = node ? gate_of_[(node - 1) / 2] + 1 : 0;
    }
  }

  int64_t num_parameters() const { return gates_.num_parameters() + num_values_; }
  int64_t first_value() const { return gates_.num_parameters(); }

  JAXTREE_INLINE void Set(const float* parameters, float temperature) {
    gates_.Set(parameters, temperature);
    const float* const values = parameters + gates_.num_parameters();
    if (form_.is_mixture) {
      Softmax(values, num_leaves_, form_.num_outputs, 1, value_);
    } else {
      std::memcpy(value_.floats(), values, num_values_ * sizeof(float));
    }
  }

  // Writes the outputs of rows.
  JAXTREE_INLINE void Pass(const Batch<kWidth>& batch) {
    PassGates(batch);
    for (int64_t vector = 0; vector < batch.num_vectors(); ++vector) PassNodes<false>(vector, z_.data() + vector * num_gates_);
  }

  Lanes* output(int64_t vector) { return output_.data() + vector * form_.num_outputs; }

  // Returns the sum of losses of rows, each times its weight over `mean`, and writes the slope of the parameters.
  JAXTREE_INLINE float Slope(Batch<kWidth>& batch, const Rows& rows, const float* parameters, float mean, float temperature, float* slope) {
    const int64_t num_outputs = form_.num_outputs;
    PassGates(batch);
    Lanes total{};
    const float inverse = 1 / mean;
    for (int64_t vector = 0; vector < batch.num_vectors(); ++vector) {
      Lanes* const z = z_.data() + vector * num_gates_;
      PassNodes<true>(vector, z);
      Lanes* const out = output(vector);
      const Lanes share = batch.weight(vector) * inverse;
      total += share * Losses(batch, rows, vector, out);
      for (int64_t at = 0; at < num_outputs; ++at) out[at] *= share;
      form_.gate == Gate::kHard ? PassBack<true>(vector, z) : PassBack<false>(vector, z);
    }
    const int64_t width = batch.width();
    SumProducts<kWidth>({z_.data(), num_gates_}, num_gates_, {batch.x(0), width}, width, batch.num_vectors(), sums_.data());
    gates_.Slopes(parameters, sums_.data(), temperature, slope);
    float* const of_values = slope + gates_.num_parameters();
    SumProducts<kWidth>({leaf_.data(), num_leaves_}, num_leaves_, {output_.data(), num_outputs}, num_outputs, batch.num_vectors(), of_values);
    if (form_.is_mixture) {
      for (int64_t leaf = 0; leaf < num_leaves_; ++leaf) {
        SoftmaxSlope(value_.floats() + leaf * num_outputs, of_values + leaf * num_outputs, num_outputs, 1);
      }
    }
    return Sum<kWidth>(total);
  }

  // Returns the losses of sixteen rows, and turns their outputs into slopes.
  JAXTREE_INLINE Lanes Losses(Batch<kWidth>& batch, const Rows& rows, int64_t vector, Lanes* out) const {
    const Lanes* const target = batch.target(vector);
    if (form_.loss == Loss::kSquared) return LossOfSquares<kWidth>(target, form_.num_outputs, rows.start, rows.unit, out);
    return LossOfShares<kWidth>(target, form_.num_outputs, form_.is_mixture, out);
  }

 private:
  template <int kVectors, int kGates>
  JAXTREE_INLINE void PassSome(const Batch<kWidth>& batch, int64_t vector, int64_t gate) {
    const int64_t width = batch.width();
    const float* const plane = gates_.plane.data() + gate * width;
    const Lanes* const x = batch.x(vector);
    Lanes sum[kVectors][kGates] = {};
    for (int64_t at = 0; at < width; ++at) {
#pragma GCC unroll 8
      for (int own = 0; own < kVectors; ++own) {
#pragma GCC unroll 8
        for (int of = 0; of < kGates; ++of) sum[own][of] += x[own * width + at] * plane[of * width + at];
      }
    }
#pragma GCC unroll 8
    for (int own = 0; own < kVectors; ++own) {
      const Lanes* const indicator = x + own * width + form_.num_known();
#pragma GCC unroll 8
      for (int of = 0; of < kGates; ++of) {
        // The scale comes last: where a value is missing the sum is exactly 0, but may not be once its terms are large.
        Lanes value = sum[own][of] * gates_.scale[gate + of];
        const float* const missing = gates_.missing.data() + (gate + of) * form_.num_indicators;
        for (int64_t at = 0; at < form_.num_indicators; ++at) value += indicator[at] * missing[at];
        z_[(vector + own) * num_gates_ + gate + of] = value;
      }
    }
  }

  // Writes the values of all gates.
  JAXTREE_INLINE void PassGates(const Batch<kWidth>& batch) {
    constexpr int kTogether = 3;
    int64_t vector = 0;
    const auto pass = [&](auto together) {
      ByFours(num_gates_, [&](int64_t gate, auto number) {
        this->template PassSome<decltype(together)::value, decltype(number)::value>(batch, vector, gate);
      });
    };
    for (; vector + kTogether <= batch.num_vectors(); vector += kTogether) pass(std::integral_constant<int, kTogether>());
    for (; vector < batch.num_vectors(); ++vector) pass(std::integral_constant<int, 1>());
  }

  // Goes from the values of gates down to leaves and outputs; to go back, keeps what was passed.
  template <bool kKeeps>
  JAXTREE_INLINE void PassNodes(int64_t vector, const Lanes* z) {
    const bool is_hard = form_.gate == Gate::kHard;
    for (int64_t gate = 0; gate < num_gates_; ++gate) {
      if (is_hard) {
        right_[gate] = IsPositive<kWidth>(z[gate]);
        if (kKeeps) slope_of_side_[gate] = SlopeOfSide(z[gate]);
      } else {
        right_[gate] = Sigmoid<kWidth>(z[gate]);
      }
    }
    Lanes* const leaf = leaf_.data() + vector * num_leaves_;
    (num_inner_ ? reach_[0] : leaf[0]) = Lanes(1.0f);
    const auto divide = [&](int64_t first, int64_t last, Lanes* children) {
      for (int64_t node = first; node < last; ++node, children += 2) {
        const Lanes reach = reach_[node], to_the_right = reach * right_[gate_of_[node]];
        children[0] = reach - to_the_right;
        children[1] = to_the_right;
      }
    };
    divide(0, num_inner_ / 2, reach_.data() + 1);
    divide(num_inner_ / 2, num_inner_, leaf);
    const int64_t num_outputs = form_.num_outputs;
    const float* const value = value_.floats();
    Lanes* const out = output(vector);
    for (int64_t at = 0; at < num_outputs; ++at) {
      Lanes even{}, odd{};
      for (int64_t end = 0; end + 1 < num_leaves_; end += 2) {
        even += leaf[end] * value[end * num_outputs + at];
        odd += leaf[end + 1] * value[(end + 1) * num_outputs + at];
      }
      if (num_leaves_ == 1) even = leaf[0] * value[at];
      out[at] = even + odd;
    }
  }

  JAXTREE_INLINE Lanes SlopeOfSide(const Lanes& z) const {
    if (form_.side == Side::kSoftsign) {
      const Lanes far = 1.0f + Size<kWidth>(z);
      return 0.5f / (far * far);
    }
    if (form_.side == Side::kSigmoid) {
      const Lanes share = Sigmoid<kWidth>(z);
      return share * (1.0f - share);
    }
    const Lanes size = Size<kWidth>(Within<kWidth>(z, 2));
    const Lanes root = (Root<kWidth>(8.0f - size * size) - size) * 0.25f, share = root * root, other = Root<kWidth>(1.0f - share);
    return root * other / (root + other);
  }

  // Goes from slopes of outputs back to those of the gates' values, which take the place of these.
  template <bool kIsHard>
  JAXTREE_INLINE void PassBack(int64_t vector, Lanes* z) {
    const int64_t num_outputs = form_.num_outputs;
    const Lanes* const out = output(vector);
    const auto of_leaf = [&](const float* value) {
      Lanes sum = out[0] * value[0];
      for (int64_t at = 1; at < num_outputs; ++at) sum += out[at] * value[at];
      return sum;
    };
    if (kIsHard) std::fill_n(z, num_gates_, Lanes{});
    const auto join = [&](int64_t node, const Lanes& of_left, const Lanes& of_right, const Lanes& reach_of_left) {
      const int64_t gate = gate_of_[node];
      const Lanes change = of_right - of_left, right = right_[gate];
      back_[node] = of_left + right * change;
      if (kIsHard) {
        z[gate] += reach_[node] * change * slope_of_side_[gate];
      } else {
        // The slope of a sigmoid is r (1 - r), and the rows that go left are 1 - r of those that come.
        z[gate] = reach_of_left * right * change;
      }
    };
    const Lanes* leaf = leaf_.data() + (vector + 1) * num_leaves_;
    const float* value = value_.floats() + num_values_;
    int64_t node = num_inner_ - 1;
    for (; node >= num_inner_ / 2; --node) {
      leaf -= 2;
      value -= 2 * num_outputs;
      join(node, of_leaf(value), of_leaf(value + num_outputs), leaf[0]);
    }
    for (; node >= 0; --node) join(node, back_[2 * node + 1], back_[2 * node + 2], reach_[2 * node + 1]);
  }

  const Form& form_;
  Gates<kWidth> gates_;
  const int64_t num_gates_, num_inner_, num_leaves_, num_values_;
  std::vector<int64_t> gate_of_;
  Rack<kWidth> value_, z_, right_, slope_of_side_, reach_, back_, leaf_, output_;
  std::vector<float> sums_;
};

template <int kWidth>
class Training {
  using Lanes = soft::Lanes<kWidth>;
  using Bits = soft::Bits<kWidth>;

 public:
  Training(const Form& form, const Rows& rows, const Rows* held, const Numbers& numbers, State& state)
      : form_(form), rows_(rows), held_(held), numbers_(numbers), state_(state), batch_(form, std::min(form.batch_size, rows.size)),
        tree_(form, NumVectors(std::max(std::min(form.batch_size, rows.size), held ? kRowsToCompare : 0))),
        held_batch_(form, held ? kRowsToCompare : 0), size_(tree_.num_parameters()), num_vectors_(NumVectors(size_)),
        slope_(num_vectors_), rate_(num_vectors_), own_(kParts * num_vectors_), before_(kParts * num_vectors_) {
    num_batches_ = (rows.num_rows + form.batch_size - 1) / form.batch_size;
    rows_of_batch_ = (rows.num_rows + num_batches_ - 1) / num_batches_;
    mean_weight_ = WeightOf(rows) / static_cast<float>(num_batches_);
    std::fill(rate_.floats(), rate_.floats() + size_, numbers.leaf_rate);
    std::fill(rate_.floats(), rate_.floats() + tree_.first_value(), numbers.gate_rate);
    ForEachPart([&](float* given, float* own) { std::copy_n(given, size_, own); });
  }

  void Run(const Ends& ends, const uint32_t* key, Results& results) {
    const auto began = std::chrono::steady_clock::now();
    int64_t steps = 0;
    results = {0, 1, 1, results.loss, results.held_loss};
    for (int32_t epoch = ends.first; epoch < ends.stop && results.goes_on; ++epoch) {
      const int32_t number = epoch - ends.first;
      const State counts = state_;
      uint32_t seeds[4];
      SeedsOfEpoch(key, epoch, seeds);
      std::copy_n(own_.data(), kBest * num_vectors_, before_.data());
      const float loss = MakeEpoch(epoch, ends.num_epochs, seeds);
      const bool is_finite = std::isfinite(loss) && IsFinite(Part(kModel));
      if (!is_finite) {
        std::copy_n(before_.data(), kBest * num_vectors_, own_.data());
        state_ = counts;
      }
      // The loss of an epoch is of the models before its steps.
      const float found = held_ ? Compare() : loss;
      if (is_finite && found < state_.best_loss) {
        std::copy_n((held_ ? own_ : before_).data() + kAverage * num_vectors_, num_vectors_, own_.data() + kBest * num_vectors_);
        state_.best_loss = found;
        state_.best_epoch = held_ ? epoch + 1 : epoch;
      }
      results.loss[number] = loss;
      results.held_loss[number] = found;
      results.number = number + 1;
      results.is_finite = is_finite;
      results.goes_on = is_finite && epoch + 1 - state_.best_epoch <= ends.patience && epoch + 1 < ends.num_epochs;
      steps += num_batches_;
      if (steps < kStepsOfClock) continue;
      steps = 0;
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
      if (seconds.count() > ends.seconds) break;
    }
    ForEachPart([&](float* given, const float* own) { std::copy_n(own, size_, given); });
  }

  // The loss by which checkpoints are compared.
  float Compare() {
    double total = 0;
    WithVectors<kWidth>([&] { tree_.Set(Part(kAverage), numbers_.monitor_temperature); });
    for (int64_t first = 0; first < held_->num_rows; first += kRowsToCompare) {
      const int64_t number = std::min(kRowsToCompare, held_->num_rows - first);
      if (held_->num_rows > kRowsToCompare || held_batch_.num_vectors() == 0) {
        held_batch_.Take(*held_, number, [&](int64_t lane) { return first + lane; });
      }
      WithVectors<kWidth>([&] {
        tree_.Pass(held_batch_);
        Lanes sum{};
        for (int64_t vector = 0; vector < held_batch_.num_vectors(); ++vector) {
          Lanes* const out = tree_.output(vector);
          const Lanes weight = held_batch_.weight(vector);
          const Lanes loss = form_.compares_errors ? Errors<kWidth>(held_batch_.target(vector), form_.num_outputs, out)
                                                   : tree_.Losses(held_batch_, *held_, vector, out);
          sum += weight * loss;
        }
        total += Sum<kWidth>(sum);
      });
    }
    return static_cast<float>(total / WeightOf(*held_));
  }

 private:
  enum { kModel, kAverage, kMean, kSquare, kBest, kParts };

  float* Part(int64_t part) { return own_.floats() + part * num_vectors_ * kLanes; }

  template <typename Work>
  void ForEachPart(const Work& work) {
    float* const given[] = {state_.model, state_.average, state_.mean, state_.square, state_.best};
    for (int64_t part = 0; part < kParts; ++part) work(given[part], Part(part));
  }

  static float WeightOf(const Rows& rows) {
    double total = 0;
    for (int64_t row = 0; row < rows.num_rows; ++row) total += rows.weight[row];
    return static_cast<float>(total);
  }

  bool IsFinite(const float* parameters) const {
    float total = 0;
    for (int64_t at = 0; at < size_; ++at) total += parameters[at] * 0;
    return total == 0;
  }

  // Sees all rows once, in batches of nearly equal size; returns the mean loss of the steps.
  float MakeEpoch(int32_t epoch, int32_t num_epochs, const uint32_t* seeds) {
    // Within a batch the order is of no account.
    const bool is_whole = num_batches_ == 1;
    if (!is_whole) Shuffle(seeds, rows_.num_rows, rows_.size, order_, other_);
    const uint32_t numbers_of_step = std::min(form_.batch_size, rows_.size) * form_.num_features;
    float total = 0;
    for (int64_t number = 0; number < num_batches_; ++number) {
      const int64_t first = number * rows_of_batch_, num_rows = std::min(rows_of_batch_, rows_.num_rows - first);
      if (!is_whole) {
        batch_.Take(rows_, std::max<int64_t>(num_rows, 0), [&](int64_t lane) { return order_[first + lane]; });
      } else if (batch_.num_vectors() == 0) {
        batch_.Take(rows_, num_rows, [&](int64_t lane) { return lane; });
      }
      const double done = static_cast<double>(epoch * num_batches_ + number) / static_cast<double>(num_epochs * num_batches_);
      if (numbers_.noise > 0) {
        WithVectors<kWidth>([&] { batch_.AddNoise(seeds + 2, static_cast<uint32_t>(number) * numbers_of_step, numbers_.noise); });
      }
      total += MakeStep(done);
    }
    return total / static_cast<float>(num_batches_);
  }

  // One step of the optimiser; a part `done` of all has been made.
  float MakeStep(double done) {
    const double first = numbers_.first_temperature, last = numbers_.last_temperature;
    const float temperature = static_cast<float>(first * std::pow(last / first, done));
    const double factor = form_.is_constant ? 1 : 0.01 + 0.99 * (1 + std::cos(3.14159265358979323846 * done)) / 2;
    const double steps = state_.num_steps;
    const float kept = static_cast<float>(std::min<double>(numbers_.averaging, (1 + steps) / (10 + steps)));
    ++state_.num_steps;
    ++state_.num_updates;
    const float part = static_cast<float>(1 - std::pow(static_cast<double>(kDecay), state_.num_updates));
    const float part_of_squares = static_cast<float>(1 - std::pow(static_cast<double>(kDecayOfSquares), state_.num_updates));
    float* const model = Part(kModel);
    float* const slope = slope_.floats();
    float loss = 0;
    WithVectors<kWidth>([&] {
      tree_.Set(model, temperature);
      loss = tree_.Slope(batch_, rows_, model, mean_weight_, temperature, slope);
    });
    if (numbers_.leaf_penalty > 0) {
      float squares = 0;
      for (int64_t at = tree_.first_value(); at < size_; ++at) {
        squares += model[at] * model[at];
        slope[at] += numbers_.leaf_penalty * model[at];
      }
      loss += numbers_.leaf_penalty / 2 * squares;
    }
    WithVectors<kWidth>([&] { Update(static_cast<float>(factor), part, part_of_squares, kept); });
    return loss;
  }

  // Adam's step along the slope; its means are divided by the parts of them that steps have filled.
  JAXTREE_INLINE void Update(float factor, float part, float part_of_squares, float kept) {
    Lanes* const model = own_.data();
    Lanes* const average = model + kAverage * num_vectors_;
    Lanes* const mean = model + kMean * num_vectors_;
    Lanes* const square = model + kSquare * num_vectors_;
    const float inverse = 1 / part, inverse_of_squares = 1 / part_of_squares;
    for (int64_t at = 0; at < num_vectors_; ++at) {
      const Lanes slope = slope_[at];
      mean[at] = (1 - kDecay) * slope + kDecay * mean[at];
      square[at] = (1 - kDecayOfSquares) * (slope * slope) + kDecayOfSquares * square[at];
      const Lanes change = mean[at] * inverse / (Root<kWidth>(square[at] * inverse_of_squares) + kLeastRoot);
      model[at] -= factor * rate_[at] * change;
      // So what stays as it is stays so to the last digit.
      average[at] = model[at] + kept * (average[at] - model[at]);
    }
  }

  const Form& form_;
  const Rows& rows_;
  const Rows* const held_;
  const Numbers& numbers_;
  State& state_;
  Batch<kWidth> batch_;
  Tree<kWidth> tree_;
  Batch<kWidth> held_batch_;
  const int64_t size_, num_vectors_;
  Rack<kWidth> slope_, rate_, own_, before_;
  std::vector<uint32_t> order_, other_;
  int64_t num_batches_ = 0, rows_of_batch_ = 0;
  float mean_weight_ = 0;
};

}  // namespace
}  // namespace jaxtree::soft

extern "C" {

using namespace jaxtree::soft;

// Makes epochs of a training. `held` may be null; `key` has two words. Returns whether there was enough memory.
bool jaxtree_train_soft_tree(const Form* form, const Rows* rows, const Rows* held, const Numbers* numbers, State* state,
                             const Ends* ends, const uint32_t* key, Results* results) {
  try {
    WithWidth([&](auto width) {
      Training<decltype(width)::value>(*form, *rows, held, *numbers, *state).Run(*ends, key, *results);
    });
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Makes the model to begin with the first candidate for the best.
bool jaxtree_compare_soft_tree(const Form* form, const Rows* rows, const Rows* held, const Numbers* numbers, State* state) {
  try {
    WithWidth([&](auto width) {
      state->best_loss = Training<decltype(width)::value>(*form, *rows, held, *numbers, *state).Compare();
    });
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}
}
