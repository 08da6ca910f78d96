// The handler of cyclic boosting, see member.h: threads divide the members.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "additive/member.h"
#include "additive/shared_sums.h"
#include "additive/terms.h"
#include "common/parallel.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace jaxtree {
namespace {

ffi::Error Boost(ffi::ThreadPool pool, ffi::Buffer<ffi::S32> kind, ffi::Buffer<ffi::S32> num_bins,
                 ffi::Buffer<ffi::S32> monotone, ffi::Buffer<ffi::S64> gradient, ffi::Buffer<ffi::S32> rows,
                 ffi::Buffer<ffi::S64> diagonal, ffi::Buffer<ffi::S32> gram_of_member, ffi::Buffer<ffi::F64> reals,
                 ffi::Buffer<ffi::S64> wholes, ffi::RemainingArgs matrices, ffi::ResultBuffer<ffi::S64> steps,
                 ffi::ResultBuffer<ffi::S64> left, int64_t num_passes) {
  const Terms terms(kind.typed_data(), num_bins.typed_data(), kind.element_count());
  const char* const wrong = terms.Wrong();
  if (wrong != nullptr) return ffi::Error::InvalidArgument(wrong);
  const int64_t members = gradient.dimensions()[0], grams = matrices.size(), places = terms.num_places();
  const int64_t reals_of_rules = reals.dimensions()[1], wholes_of_rules = wholes.dimensions()[1];
  const bool fit = gradient.dimensions()[1] == places && rows.dimensions()[1] == places && diagonal.dimensions()[1] == places &&
                   rows.dimensions()[0] == grams && diagonal.dimensions()[0] == grams && reals_of_rules == kRealsOfRules &&
                   wholes_of_rules == kWholesOfRules;
  if (!fit) return ffi::Error::InvalidArgument("arrays must be of the places of all terms, and of as many grams");
  for (int64_t member = 0; member < members; ++member) {
    const int32_t own = gram_of_member.typed_data()[member];
    if (own < 0 || own >= grams) return ffi::Error::InvalidArgument("members must be of grams that exist");
    if (wholes.typed_data()[kWholesOfRules * member + 1] < 2) return ffi::Error::InvalidArgument("steps must have at least two leaves");
  }
  std::vector<SharedSums> sums;
  sums.reserve(grams);
  for (int64_t gram = 0; gram < grams; ++gram) {
    const auto matrix = matrices.get<ffi::Buffer<ffi::S32>>(gram);
    if (!matrix.has_value() || static_cast<int64_t>(matrix->element_count()) != places * places) {
      return ffi::Error::InvalidArgument("grams must be of all pairs of places");
    }
    sums.emplace_back(terms, matrix->typed_data(), diagonal.typed_data() + gram * places, rows.typed_data() + gram * places);
  }
  std::copy_n(gradient.typed_data(), members * places, left->typed_data());
  std::fill_n(steps->typed_data(), members * places, int64_t{0});
  Threads threads(&pool);
  ForEach(threads, members, [&](int64_t at) {
    const StepRules rules = ReadRules(reals.typed_data() + kRealsOfRules * at, wholes.typed_data() + kWholesOfRules * at);
    Member member(terms, sums[gram_of_member.typed_data()[at]], rules, monotone.typed_data(), left->typed_data() + at * places,
                  steps->typed_data() + at * places);
    member.Run(num_passes);
  });
  return ffi::Error::Success();
}

}  // namespace
}  // namespace jaxtree

XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtree_boost_cyclic, jaxtree::Boost,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::Buffer<ffi::S32>>()   // kinds of terms
                                  .Arg<ffi::Buffer<ffi::S32>>()   // their numbers of bins on both axes
                                  .Arg<ffi::Buffer<ffi::S32>>()   // how they may go
                                  .Arg<ffi::Buffer<ffi::S64>>()   // gradients of places: [member, place]
                                  .Arg<ffi::Buffer<ffi::S32>>()   // rows of places: [gram, place]
                                  .Arg<ffi::Buffer<ffi::S64>>()   // weights of places: [gram, place]
                                  .Arg<ffi::Buffer<ffi::S32>>()   // the gram of every member
                                  .Arg<ffi::Buffer<ffi::F64>>()   // rules of members that are reals
                                  .Arg<ffi::Buffer<ffi::S64>>()   // and those that are whole numbers
                                  .RemainingArgs()                // grams, in running form: [place, place]
                                  .Ret<ffi::Buffer<ffi::S64>>()   // sums of steps: [member, place]
                                  .Ret<ffi::Buffer<ffi::S64>>()   // gradients after them: [member, place]
                                  .Attr<int64_t>("num_passes"));
