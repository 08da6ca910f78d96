// The training of a soft tree, as Python hands it over; see jaxtree/kernels/soft_training.py, which has the same fields.

#ifndef JAXTREE_NATIVE_SOFT_FORM_H_
#define JAXTREE_NATIVE_SOFT_FORM_H_

#include <cstdint>

namespace jaxtree::soft {

enum class Gate : int64_t { kOblique, kAxis, kHard };
enum class Choice : int64_t { kSoftmax, kEntmax15, kSparsemax };
enum class Side : int64_t { kSigmoid, kEntmoid, kSoftsign };
enum class Loss : int64_t { kCrossEntropy, kShares, kSquared };

struct Form {
  int64_t depth, num_features, num_outputs;
  Gate gate;
  Choice choice;
  Side side;
  int64_t is_oblivious;
  int64_t is_mixture;  // whether outputs are logarithms of means of the leaves' distributions
  Loss loss;
  int64_t compares_errors;  // whether checkpoints are compared by the share of wrong classes
  int64_t is_constant;      // whether rates do not fall
  int64_t batch_size;
  int64_t num_indicators;  // the last features
  const int32_t* covered;  // the features that an indicator is for begin at covered[first_covered[indicator]]
  const int32_t* first_covered;

  int64_t num_inner() const { return (int64_t{1} << depth) - 1; }
  int64_t num_leaves() const { return int64_t{1} << depth; }
  int64_t num_gates() const { return is_oblivious ? depth : num_inner(); }
  int64_t num_known() const { return num_features - num_indicators; }
};

// Rows, `size` with padding.
struct Rows {
  const float* x;
  const void* target;  // codes, shares or numbers
  const float* weight;
  const float* start;  // scores are start + unit * output
  const float* unit;
  int64_t size, num_rows;
};

struct Numbers {
  float gate_rate, leaf_rate, first_temperature, last_temperature, monitor_temperature, noise, averaging, leaf_penalty;
};

// Parameters stand in the order of the fields of gates, and then those of leaves.
struct State {
  float *model, *average, *mean, *square, *best;
  int32_t num_updates;  // of the optimiser
  int32_t num_steps;
  float best_loss;
  int32_t best_epoch;
};

// Which epochs a call makes, until its seconds are over.
struct Ends {
  int32_t first, stop, num_epochs, patience;
  double seconds;
};

struct Results {
  int32_t number, is_finite, goes_on;
  float *loss, *held_loss;
};

}  // namespace jaxtree::soft

#endif  // JAXTREE_NATIVE_SOFT_FORM_H_
