// The rows of a call: codes, and the terms that give them bins.

#ifndef JAXTREE_NATIVE_ADDITIVE_BINNED_H_
#define JAXTREE_NATIVE_ADDITIVE_BINNED_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "additive/terms.h"
#include "common/batch.h"
#include "common/parallel.h"
#include "xla/ffi/api/ffi.h"

namespace jaxtree {

// Returns run(binned rows), or an error where what the rows are described by is wrong.
template <typename Run>
xla::ffi::Error WithRows(Threads& threads, const xla::ffi::Buffer<xla::ffi::S32>& kind,
                    const xla::ffi::Buffer<xla::ffi::S32>& features, const xla::ffi::Buffer<xla::ffi::U16>& bins,
                    const xla::ffi::Buffer<xla::ffi::S32>& num_bins,
                    const xla::ffi::AnyBuffer& codes, int64_t num_rows, const Run& run) {
  return ForCodes(codes, [&](auto code) -> xla::ffi::Error {
    using Code = decltype(code);
    const Terms terms(kind.typed_data(), num_bins.typed_data(), kind.element_count());
    const char* wrong = terms.Wrong();
    if (wrong != nullptr) return xla::ffi::Error::InvalidArgument(wrong);
    const BinnedRows<Code> rows{terms, features.typed_data(), bins.typed_data(), static_cast<const Code*>(codes.untyped_data()),
                                bins.dimensions()[2], codes.dimensions()[0], num_rows, codes.dimensions()[1]};
    if (rows.num_codes < 1 || num_rows > rows.stride) return xla::ffi::Error::InvalidArgument("there must be codes of all rows");
    wrong = rows.Wrong();
    if (wrong != nullptr) return xla::ffi::Error::InvalidArgument(wrong);
    if (rows.num_codes <= static_cast<Code>(-1)) {
      std::vector<bool> is_read(rows.num_features);
      for (int64_t at = 0; at < 2 * terms.number; ++at) {
        if (rows.features[at] >= 0) is_read[rows.features[at]] = true;
      }
      std::atomic<bool> have_others{false};
      const int64_t parts = NumParts(threads, num_rows);
      ForEach(threads, rows.num_features * parts, [&](int64_t piece) {
        const int64_t feature = piece / parts, part = piece % parts;
        if (!is_read[feature]) return;
        if (rows.HaveOtherCodes(feature, num_rows * part / parts, num_rows * (part + 1) / parts)) have_others = true;
      });
      if (have_others) return xla::ffi::Error::InvalidArgument("codes must be those that have bins");
    }
    run(rows);
    return xla::ffi::Error::Success();
  });
}

}  // namespace jaxtree

#define JAXTREE_BINNED_ROWS                                             \
  xla::ffi::Ffi::Bind()                                                      \
      .Ctx<xla::ffi::ThreadPool>()                                           \
      .Arg<xla::ffi::Buffer<xla::ffi::S32>>()  /* kinds of terms */               \
      .Arg<xla::ffi::Buffer<xla::ffi::S32>>()  /* their features */               \
      .Arg<xla::ffi::Buffer<xla::ffi::U16>>()  /* bins of codes */                \
      .Arg<xla::ffi::Buffer<xla::ffi::S32>>()  /* numbers of bins on both axes */ \
      .Arg<xla::ffi::AnyBuffer>()         /* codes of rows */

#endif  // JAXTREE_NATIVE_ADDITIVE_BINNED_H_
