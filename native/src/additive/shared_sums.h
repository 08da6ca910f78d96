// Sums that all members on the same rows share: over pairs of places, and of places.

#ifndef JAXTREE_NATIVE_ADDITIVE_SHARED_SUMS_H_
#define JAXTREE_NATIVE_ADDITIVE_SHARED_SUMS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "additive/leaves.h"
#include "additive/terms.h"
#include "common/simd.h"

namespace jaxtree {

// Calls put(cell, turned cell) for the cells of a pair, whose axes are exchanged in the turned one.
template <typename Put>
void ForCells(const Terms& terms, int64_t term, const Put& put) {
  const int64_t first = terms.num_bins[2 * term], second = terms.num_bins[2 * term + 1];
  for (int64_t one = 0; one < first; ++one) {
    for (int64_t other = 0; other < second; ++other) put(one * second + other, other * first + one);
  }
}

struct SharedSums {
  // `diagonal` has the weights of places, which are second derivatives, and `num_rows` the rows.
  SharedSums(const Terms& terms, const int32_t* matrix, const int64_t* diagonal, const int32_t* num_rows)
      : terms(terms),
        matrix(matrix),
        diagonal(diagonal),
        num_rows(num_rows),
        running(diagonal, diagonal + terms.num_places()),
        hessian(terms.num_places() + kPadding),
        rows(hessian.size()),
        turned_hessian(hessian.size()),
        turned_rows(hessian.size()) {
    std::vector<int64_t> own(num_rows, num_rows + terms.num_places());
    for (int64_t term = 0; term < terms.number; ++term) {
      const int64_t first = terms.first[term];
      MakeRunning(terms, term, running.data() + first, 1, 1);
      MakeRunning(terms, term, own.data() + first, 1, 1);
      for (int64_t place = first; place < terms.first[term + 1]; ++place) {
        hessian[place] = static_cast<double>(running[place]);
        rows[place] = static_cast<double>(own[place]);
      }
      if (terms.kind(term) != TermKind::kPair) continue;
      ForCells(terms, term, [&](int64_t cell, int64_t turned) {
        turned_hessian[first + turned] = hessian[first + cell];
        turned_rows[first + turned] = rows[first + cell];
      });
    }
  }

  const int32_t* Row(int64_t place) const { return matrix == nullptr ? nullptr : matrix + place * terms.num_places(); }

  const Terms& terms;
  const int32_t* const matrix;  // in running form; null where gradients of rows are held
  const int64_t* const diagonal;
  const int32_t* const num_rows;
  std::vector<int64_t> running;                                    // the diagonal in running form
  std::vector<double> hessian, rows, turned_hessian, turned_rows;  // in running form; of pairs with axes exchanged, too
};

// A change of gradients: the sum of rows of the matrix, each times a number, and of all weights times one number.
class Change {
 public:
  void Clear() {
    rows_.clear();
    factors_.clear();
  }

  void Add(const int32_t* row, int64_t factor) {
    if (factor == 0) return;
    for (size_t at = 0; at < rows_.size(); ++at) {
      if (rows_[at] == row) {
        factors_[at] += factor;
        return;
      }
    }
    rows_.push_back(row);
    factors_.push_back(factor);
  }

  // The same, of a row that no other factor goes to.
  void AddNew(const int32_t* row, int64_t factor) {
    if (factor == 0) return;
    rows_.push_back(row);
    factors_.push_back(factor);
  }

  void Apply(int64_t* gradient, int64_t size) const {
    int64_t at = 0;
    const int64_t count = rows_.size();
    for (; at + 4 <= count; at += 4) AddRows<4>(at, gradient, size);
    if (count - at == 3) AddRows<3>(at, gradient, size);
    if (count - at == 2) AddRows<2>(at, gradient, size);
    if (count - at == 1) AddRows<1>(at, gradient, size);
  }

 private:
  template <int kRows>
  void AddRows(int64_t begin, int64_t* gradient, int64_t size) const {
    WithWidest([=]() __attribute__((always_inline)) { AddRows<kRows>(&rows_[begin], &factors_[begin], gradient, size); });
  }

  template <int kRows>
  static inline __attribute__((always_inline)) void AddRows(const int32_t* const* rows, const int64_t* factors,
                                                            int64_t* __restrict gradient, int64_t size) {
    constexpr int kLast = kRows - 1;
    const int32_t *const one = rows[0], *const two = rows[std::min(1, kLast)];
    const int32_t *const three = rows[std::min(2, kLast)], *const four = rows[kLast];
    const int64_t of_one = factors[0], of_two = factors[std::min(1, kLast)];
    const int64_t of_three = factors[std::min(2, kLast)], of_four = factors[kLast];
    for (int64_t place = 0; place < size; ++place) {
      int64_t sum = gradient[place] + one[place] * of_one;
      if constexpr (kRows > 1) sum += two[place] * of_two;
      if constexpr (kRows > 2) sum += three[place] * of_three;
      if constexpr (kRows > 3) sum += four[place] * of_four;
      gradient[place] = sum;
    }
  }

  std::vector<const int32_t*> rows_;
  std::vector<int64_t> factors_;
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_ADDITIVE_SHARED_SUMS_H_
