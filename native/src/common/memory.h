// Scratch memory from XLA, reused between rounds to avoid page faults.

#ifndef JAXTREE_NATIVE_COMMON_MEMORY_H_
#define JAXTREE_NATIVE_COMMON_MEMORY_H_

#include <cstdint>
#include <memory>
#include <vector>

namespace jaxtree {

constexpr int64_t kAlignment = 64;

class Memory {
 public:
  Memory(uint8_t* lent, int64_t size) : lent_(lent), left_(size) {}

  // Room for `count` numbers, which hold anything; allocated if too little is lent.
  template <typename T>
  T* Take(int64_t count) {
    const int64_t size = (count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    if (size > left_) {
      own_.emplace_back(new uint8_t[size]);
      return reinterpret_cast<T*>(own_.back().get());
    }
    uint8_t* const taken = lent_;
    lent_ += size;
    left_ -= size;
    return reinterpret_cast<T*>(taken);
  }

 private:
  uint8_t* lent_;
  int64_t left_;
  std::vector<std::unique_ptr<uint8_t[]>> own_;
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_COMMON_MEMORY_H_
