// Threads, scratch memory, and the models of a call.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <new>
#include <numeric>
#include <thread>
#include <vector>

#ifdef __linux__
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "check.h"
#include "common/batch.h"
#include "common/hashes.h"
#include "common/marks.h"
#include "common/memory.h"
#include "common/parallel.h"
#include "pool.h"

namespace jaxtree {
namespace {

TEST(Parallel_every_piece_is_done_once) {
  for (const int64_t num_threads : {1, 4}) {
    test::Pool pool(num_threads);
    Threads threads = pool.threads();
    std::vector<std::atomic<int>> done(1000);
    ForEach(threads, done.size(), [&](int64_t piece) { ++done[piece]; });
    for (const auto& number : done) CHECK_EQ(number.load(), 1);
  }
}

TEST(Parallel_parts_cover_an_array_and_sums_are_those_of_one_thread) {
  test::Pool pool(3);
  Threads threads = pool.threads();
  std::vector<int64_t> values(100'003);
  std::iota(values.begin(), values.end(), -7);
  const int64_t num_parts = NumParts(threads, values.size());
  CHECK(num_parts > 1);
  std::vector<int64_t> sums(num_parts);
  ForEachPart(threads, num_parts, values.size(), [&](int64_t part, int64_t begin, int64_t end) {
    sums[part] = std::accumulate(values.begin() + begin, values.begin() + end, int64_t{0});
  });
  const int64_t whole = std::accumulate(values.begin(), values.end(), int64_t{0});
  CHECK_EQ(std::accumulate(sums.begin(), sums.end(), int64_t{0}), whole);
}

TEST(Parallel_own_threads_take_every_piece) {
  std::atomic<int64_t> sum{0};
  InThreads(3, 100, [&](auto&& next) {
    for (int64_t piece; (piece = next()) < 100;) sum += piece;
  });
  CHECK_EQ(sum.load(), int64_t{4950});
}

// Pieces of which all from the seventh on throw, and how many have begun and still run.
struct FailingPieces {
  std::atomic<int> running{0}, begun{0};

  void operator()(int64_t piece) {
    ++begun, ++running;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    --running;
    if (piece >= 7) throw std::bad_alloc();
  }
};

template <typename Run>
void CheckThrowsWhenAllHaveEnded(const Run& run) {
  FailingPieces pieces;
  bool is_thrown = false;
  try {
    run(pieces);
  } catch (const std::bad_alloc&) {
    is_thrown = true;
    CHECK_EQ(pieces.running.load(), 0);
  }
  CHECK(is_thrown);
  CHECK(pieces.begun < 1000);
}

TEST(Parallel_the_first_exception_is_thrown_when_all_pieces_have_ended) {
  for (const int64_t num_threads : {1, 4}) {
    test::Pool pool(num_threads);
    Threads threads = pool.threads();
    CheckThrowsWhenAllHaveEnded([&](FailingPieces& pieces) {
      ForEach(threads, 1000, [&](int64_t piece) { pieces(piece); });
    });
  }
}

TEST(Parallel_own_threads_throw_the_first_exception_when_all_have_ended) {
  CheckThrowsWhenAllHaveEnded([](FailingPieces& pieces) {
    InThreads(4, 1000, [&](auto&& next) {
      for (int64_t piece; (piece = next()) < 1000;) pieces(piece);
    });
  });
}

TEST(Parallel_pieces_are_taken_once_and_own_ones_first) {
  Pieces pieces(8, 3);
  const std::vector<int64_t> own{pieces.Take(1), pieces.Take(1), pieces.Take(1)};
  CHECK(own == std::vector<int64_t>({1, 4, 7}));
  std::vector<int64_t> others;
  for (int64_t piece; (piece = pieces.Take(4)) < 8;) others.push_back(piece);  // a thread of another team's number
  CHECK(others == std::vector<int64_t>({2, 5, 0, 3, 6}));
}

TEST(Parallel_threads_without_a_piece_help_within_those_of_others) {
  using std::chrono::milliseconds;
  std::atomic<int> num_done{0}, num_elsewhere{0};
  for (int turn = 0; turn < 20 && num_elsewhere < 3; ++turn) {
    num_done = 0;
    InThreads(3, 2, [&](auto&& next) {
      for (int64_t piece; (piece = next()) < 2;) {
        const auto caller = std::this_thread::get_id();
        InThreads(3, piece == 0 ? 1 : 40, [&](auto&& inner) {
          for (const int64_t count = piece == 0 ? 1 : 40; inner() < count; ++num_done) {
            num_elsewhere += std::this_thread::get_id() != caller;
            std::this_thread::sleep_for(milliseconds(1));
          }
        });
      }
    });
    CHECK_EQ(num_done.load(), 41);
  }
  CHECK(num_elsewhere >= 3);
}

TEST(Parallel_callers_at_the_same_time_each_end_all_their_pieces) {
  std::vector<std::thread> callers;
  std::atomic<int64_t> sum{0};
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int region = 0; region < 500; ++region) {
        std::vector<int64_t> own(5);  // plain memory: a piece that another region's thread took late would be seen
        InThreads(3, own.size(), [&](auto&& next) {
          for (int64_t piece; (piece = next()) < static_cast<int64_t>(own.size());) own[piece] = piece;
        });
        sum += std::accumulate(own.begin(), own.end(), int64_t{0});
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK_EQ(sum.load(), int64_t{4 * 500 * 10});
}

TEST(Parallel_helpers_that_sleep_come_again) {
  std::atomic<int> num_helped{0};
  for (int turn = 0; turn < 20 && num_helped < 3; ++turn) {
    std::this_thread::sleep_for(4 * kLongestLook);
    const auto caller = std::this_thread::get_id();
    InThreads(2, 50, [&](auto&& next) {
      for (; next() < 50;) std::this_thread::sleep_for(std::chrono::microseconds(50));
      num_helped += std::this_thread::get_id() != caller;
    });
  }
  CHECK(num_helped >= 3);
}

#if defined(__linux__) && !defined(__SANITIZE_THREAD__)
TEST(Parallel_a_forked_process_has_a_team_of_its_own) {
  const auto count = [] {
    std::atomic<int64_t> num_taken{0};
    InThreads(3, 100, [&](auto&& next) {
      for (; next() < 100;) ++num_taken;
    });
    return num_taken.load();
  };
  CHECK_EQ(count(), int64_t{100});
  const pid_t child = fork();
  if (child == 0) _exit(count() == 100 ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  CHECK_EQ(status, 0);
}
#endif

// A sanitizer ends a process whose limits leave no memory for its own tables.
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Parallel_own_threads_that_cannot_be_started_are_done_without) {
  const pid_t child = fork();
  if (child == 0) {
    // No room for another stack.
    const rlimit few{1 << 20, 1 << 20};
    setrlimit(RLIMIT_AS, &few);
    std::atomic<int64_t> num_taken{0};
    InThreads(8, 100, [&](auto&& next) {
      for (; next() < 100;) ++num_taken;
    });
    _exit(num_taken == 100 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK_EQ(status, 0);
}
#endif

TEST(Memory_is_aligned_and_grows_past_what_is_lent) {
  alignas(kAlignment) uint8_t lent[4 * kAlignment];
  Memory memory(lent, sizeof(lent));
  const auto place = [&](const void* taken) { return static_cast<const uint8_t*>(taken) - lent; };
  CHECK_EQ(place(memory.Take<int32_t>(3)), 0);
  CHECK_EQ(place(memory.Take<int64_t>(8)), kAlignment);
  int64_t* const own = memory.Take<int64_t>(1000);
  own[999] = 1;
  CHECK_EQ(place(memory.Take<uint8_t>(1)), 2 * kAlignment);
}

// The first axes are those of models; an axis of length 1 is shared.
TEST(Memory_marks_are_listed_in_their_order_and_taken_away) {
  std::vector<uint8_t> marks(4 * kBytesOfMarks);
  std::vector<int32_t> marked, listed(marks.size() + kMoreThanMarked);
  for (int32_t place = 0; place < static_cast<int32_t>(marks.size()); place += 1 + place % 5) {
    marks[place] = 1;
    marked.push_back(place);
  }
  const int32_t* const stop = TakeMarked(marks.data(), marks.size(), listed.data());
  CHECK_EQ(stop - listed.data(), static_cast<int64_t>(marked.size()));
  for (size_t at = 0; at < marked.size(); ++at) CHECK_EQ(listed[at], marked[at]);
  for (const uint8_t mark : marks) CHECK_EQ(mark, 0);
}

TEST(Batch_models_share_arrays_of_length_one) {
  int64_t of_result[] = {2, 3, 5}, of_shared[] = {1, 3, 4};
  std::vector<float> data(60);
  XLA_FFI_Buffer result{XLA_FFI_Buffer_STRUCT_SIZE, nullptr, XLA_FFI_DataType_F32, data.data(), 3, of_result};
  XLA_FFI_Buffer shared{XLA_FFI_Buffer_STRUCT_SIZE, nullptr, XLA_FFI_DataType_F32, data.data(), 3, of_shared};
  const Models models(xla::ffi::AnyBuffer(&result), 1);
  CHECK_EQ(models.number(), int64_t{6});
  for (int64_t model = 0; model < 6; ++model) {
    const Array own = models.Of(xla::ffi::AnyBuffer(&result), model), other = models.Of(xla::ffi::AnyBuffer(&shared), model);
    CHECK_EQ(own.size, int64_t{5});
    CHECK_EQ(own.As<float>() - data.data(), 5 * model);
    CHECK_EQ(other.As<float>() - data.data(), 4 * (model % 3));
  }
}

TEST(Hashes_of_children_differ) {
  CHECK(ChildHash(1, 0) != ChildHash(1, 1));
  CHECK(ChildHash(1, 0) != ChildHash(2, 0));
}

}  // namespace
}  // namespace jaxtree
