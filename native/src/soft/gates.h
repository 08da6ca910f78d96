// Gates as planes, and what a change of the planes is of the parameters; see jaxtree/soft/gates.py and choices.py.

#ifndef JAXTREE_NATIVE_SOFT_GATES_H_
#define JAXTREE_NATIVE_SOFT_GATES_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "soft/form.h"
#include "soft/lanes.h"

namespace jaxtree::soft {

// Divides exponentials of the rows of a table by their sums; the greatest number of a row is subtracted, and then all are
// multiplied by `factor`.
template <int kWidth>
JAXTREE_INLINE void Softmax(const float* from, int64_t num_rows, int64_t width, float factor, Rack<kWidth>& to) {
  float* const out = to.floats();
  for (int64_t row = 0; row < num_rows; ++row) {
    const float* const own = from + row * width;
    float most = own[0];
    for (int64_t at = 1; at < width; ++at) most = own[at] > most ? own[at] : most;
    for (int64_t at = 0; at < width; ++at) out[row * width + at] = (own[at] - most) * factor;
  }
  for (int64_t at = 0; at < NumVectors(num_rows * width); ++at) to[at] = Exp(to[at]);
  for (int64_t row = 0; row < num_rows; ++row) {
    float* const own = out + row * width;
    float total = 0;
    for (int64_t at = 0; at < width; ++at) total += own[at];
    const float inverse = 1 / total;
    for (int64_t at = 0; at < width; ++at) own[at] *= inverse;
  }
}

// Turns the slope of shares of a softmax into that of its logits.
JAXTREE_INLINE void SoftmaxSlope(const float* share, float* slope, int64_t width, float factor) {
  float mean = 0;
  for (int64_t at = 0; at < width; ++at) mean += share[at] * slope[at];
  for (int64_t at = 0; at < width; ++at) slope[at] = share[at] * (slope[at] - mean) * factor;
}

template <int kWidth>
class Gates {
 public:
  explicit Gates(const Form& form)
      : form_(form), num_gates_(form.num_gates()), num_features_(form.num_features), width_(num_features_ + 1),
        plane(num_gates_ * width_), scale(num_gates_), missing(num_gates_ * form.num_indicators),
        share_(NumVectors(num_gates_ * num_features_)), slope_of_share_(num_features_), ordered_(num_features_) {}

  // The first number of the leaves.
  int64_t num_parameters() const { return NumWeights() + num_gates_ * (NumThresholds() + form_.num_indicators); }

  JAXTREE_INLINE void Set(const float* parameters, float temperature) {
    const float inverse = 1 / temperature;
    const float* const threshold = parameters + NumWeights();
    const float* const missing_value = threshold + num_gates_ * NumThresholds();
    if (form_.gate == Gate::kAxis) Softmax(parameters, num_gates_, num_features_, inverse, share_);
    for (int64_t gate = 0; gate < num_gates_; ++gate) {
      const float* const own = parameters + gate * num_features_;
      float* const to = plane.data() + gate * width_;
      scale[gate] = inverse;
      if (form_.gate == Gate::kOblique) {
        std::copy(own, own + num_features_, to);
        to[num_features_] = threshold[gate];
      } else if (form_.gate == Gate::kAxis) {
        scale[gate] *= std::exp(threshold[num_gates_ + gate]);
        SetShares(share_.floats() + gate * num_features_, [&](int64_t) { return threshold[gate]; }, to);
        to[num_features_] = -threshold[gate];
      } else {
        float* const share = share_.floats() + gate * num_features_;
        std::fill(share, share + num_features_, 0.0f);
        const int64_t chosen = std::max_element(own, own + num_features_) - own;
        share[chosen] = 1;
        SetShares(share, [&](int64_t at) { return threshold[gate * num_features_ + at]; }, to);
        to[num_features_] = -threshold[gate * num_features_ + chosen];
      }
      for (int64_t at = 0; at < form_.num_indicators; ++at) {
        const int64_t place = gate * form_.num_indicators + at;
        missing[place] = missing_value[place];
        if (form_.gate != Gate::kOblique) missing[place] *= ShareOf(share_.floats() + gate * num_features_, at);
      }
    }
  }

  // Writes the slopes of the parameters, of the sums over rows of slopes of the gates' values times features and 1.
  JAXTREE_INLINE void Slopes(const float* parameters, const float* sums, float temperature, float* slope) {
    const float* const threshold = parameters + NumWeights();
    const float* const missing_value = threshold + num_gates_ * NumThresholds();
    float* const of_threshold = slope + NumWeights();
    float* const of_missing = of_threshold + num_gates_ * NumThresholds();
    if (form_.gate == Gate::kHard && form_.choice == Choice::kSoftmax) {
      Softmax(parameters, num_gates_, num_features_, 1, share_);
    }
    for (int64_t gate = 0; gate < num_gates_; ++gate) {
      const float* const sum = sums + gate * width_;
      const float* const of_indicator = sum + form_.num_known();
      float* const own = slope + gate * num_features_;
      const float factor = scale[gate];
      for (int64_t at = 0; at < num_features_; ++at) own[at] = sum[at] * factor;
      const float of_bias = sum[num_features_] * factor;
      float* const shares = share_.floats() + gate * num_features_;
      for (int64_t at = 0; at < form_.num_indicators; ++at) {
        const int64_t place = gate * form_.num_indicators + at;
        of_missing[place] = of_indicator[at];
        if (form_.gate != Gate::kOblique) of_missing[place] *= ForwardShareOf(parameters, gate, at);
      }
      if (form_.gate == Gate::kOblique) {
        of_threshold[gate] = of_bias;
        continue;
      }
      // The slope of a threshold times its share, which stands in the planes of the indicators, and of hard gates in the bias.
      std::fill(slope_of_share_.begin(), slope_of_share_.end(), 0.0f);
      float* const of_product = slope_of_share_.data();
      for (int64_t at = 0; at < form_.num_indicators; ++at) {
        for (int32_t place = form_.first_covered[at]; place < form_.first_covered[at + 1]; ++place) {
          of_product[form_.covered[place]] += of_indicator[at] * factor;
        }
      }
      if (form_.gate == Gate::kAxis) {
        const float* const to = plane.data() + gate * width_;
        float of_sharpness = to[num_features_] * of_bias, of_own = -of_bias;
        for (int64_t at = 0; at < num_features_; ++at) {
          of_sharpness += to[at] * own[at];
          of_own += shares[at] * of_product[at];
          of_product[at] *= threshold[gate];
        }
        of_threshold[gate] = of_own;
        of_threshold[num_gates_ + gate] = of_sharpness;
      } else {
        const int64_t chosen = ChosenBy(parameters, gate);
        for (int64_t at = 0; at < num_features_; ++at) {
          const float both = of_product[at] - of_bias;
          of_threshold[gate * num_features_ + at] = at == chosen ? both : 0;
          of_product[at] = both * threshold[gate * num_features_ + at];
        }
      }
      for (int64_t at = 0; at < form_.num_indicators; ++at) {
        const float change = of_indicator[at] * missing_value[gate * form_.num_indicators + at];
        for (int32_t place = form_.first_covered[at]; place < form_.first_covered[at + 1]; ++place) {
          of_product[form_.covered[place]] += change;
        }
      }
      for (int64_t at = 0; at < num_features_; ++at) own[at] += of_product[at];
      if (form_.gate == Gate::kAxis) {
        SoftmaxSlope(shares, own, num_features_, 1 / temperature);
      } else if (form_.choice == Choice::kSoftmax) {
        SoftmaxSlope(shares, own, num_features_, 1);
      } else {
        SlopeOfChoice(parameters + gate * num_features_, own);
      }
    }
  }

 private:
  int64_t NumWeights() const { return num_gates_ * num_features_; }
  // How many thresholds a gate has, and its sharpness.
  int64_t NumThresholds() const {
    return form_.gate == Gate::kHard ? num_features_ : form_.gate == Gate::kAxis ? 2 : 1;
  }

  int64_t ChosenBy(const float* parameters, int64_t gate) const {
    const float* const own = parameters + gate * num_features_;
    return std::max_element(own, own + num_features_) - own;
  }

  float ShareOf(const float* share, int64_t indicator) const {
    float total = 0;
    for (int32_t at = form_.first_covered[indicator]; at < form_.first_covered[indicator + 1]; ++at) {
      total += share[form_.covered[at]];
    }
    return total;
  }

  // The share of the features of an indicator, of hard gates 0 or 1.
  float ForwardShareOf(const float* parameters, int64_t gate, int64_t indicator) {
    if (form_.gate == Gate::kAxis) return ShareOf(share_.floats() + gate * num_features_, indicator);
    const int64_t chosen = ChosenBy(parameters, gate);
    for (int32_t at = form_.first_covered[indicator]; at < form_.first_covered[indicator + 1]; ++at) {
      if (form_.covered[at] == chosen) return 1;
    }
    return 0;
  }

  // The plane of features of some shares: where one is missing, its threshold takes the place of the feature.
  template <typename Threshold>
  JAXTREE_INLINE void SetShares(const float* share, const Threshold& threshold, float* to) const {
    std::copy(share, share + num_features_, to);
    for (int64_t at = 0; at < form_.num_indicators; ++at) {
      float known = 0;
      for (int32_t place = form_.first_covered[at]; place < form_.first_covered[at + 1]; ++place) {
        const int32_t feature = form_.covered[place];
        known += share[feature] * threshold(feature);
      }
      to[form_.num_known() + at] += known;
    }
  }

  // Turns the slope of shares that are 0 from some logit on into that of the logits.
  JAXTREE_INLINE void SlopeOfChoice(const float* logits, float* slope) {
    const bool is_entmax = form_.choice == Choice::kEntmax15;
    const float most = *std::max_element(logits, logits + num_features_);
    const float half = is_entmax ? 0.5f : 1.0f;
    std::vector<float>& ordered = ordered_;
    for (int64_t at = 0; at < num_features_; ++at) ordered[at] = (logits[at] - most) * half;
    std::sort(ordered.begin(), ordered.end(), std::greater<float>());
    float total = 0, squares = 0, threshold = 0;
    for (int64_t at = 0; at < num_features_; ++at) {
      const float rank = static_cast<float>(at + 1);
      total += ordered[at];
      squares += ordered[at] * ordered[at];
      const float mean = total / rank;
      const float room = (1 - (squares - rank * mean * mean)) / rank;
      const float own = is_entmax ? mean - std::sqrt(std::max(room, 0.0f)) : (total - 1) / rank;
      if (!(own <= ordered[at])) break;
      threshold = own;
    }
    float mean = 0, weight = 0;
    for (int64_t at = 0; at < num_features_; ++at) {
      const float above = std::max((logits[at] - most) * half - threshold, 0.0f);
      const float own = is_entmax ? above : above > 0 ? 1.0f : 0.0f;
      slope_of_share_[at] = own;
      mean += own * slope[at];
      weight += own;
    }
    mean /= weight;
    for (int64_t at = 0; at < num_features_; ++at) slope[at] = slope_of_share_[at] * (slope[at] - mean);
  }

  const Form& form_;
  const int64_t num_gates_, num_features_, width_;

 public:
  // Of every gate the weights of all features and the bias; by what their sum is multiplied; and what each indicator adds then.
  std::vector<float> plane, scale, missing;

 private:
  Rack<kWidth> share_;
  std::vector<float> slope_of_share_, ordered_;
};

}  // namespace jaxtree::soft

#endif  // JAXTREE_NATIVE_SOFT_GATES_H_
