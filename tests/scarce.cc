// Memory and threads that run out. Preloaded, it stands before the C++ library and the C library.

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <atomic>
#include <cstdint>
#include <new>

static std::atomic<int64_t> left{-1}, taken{0}, threads_left{-1};
static uintptr_t first = 0, last = 0;

// Memory fails from an allocation on, of those that code between two addresses asks for; -1 for never.
extern "C" void scarce_memory(int64_t number, uintptr_t begin, uintptr_t end) {
  first = begin, last = end, taken = 0, left = number;
}

extern "C" int64_t scarce_taken() { return taken; }

// No more than so many further threads start; -1 for no limit.
extern "C" void scarce_threads(int64_t number) { threads_left = number; }

static void* Take(size_t size, size_t alignment, void* caller) {
  const auto at = reinterpret_cast<uintptr_t>(caller);
  if (at >= first && at < last) {
    ++taken;
    if (left >= 0 && left-- == 0) throw std::bad_alloc();
  }
  const size_t room = size > 0 ? size : 1;
  void* memory = alignment > 0 ? aligned_alloc(alignment, (room + alignment - 1) / alignment * alignment) : malloc(room);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void* operator new(size_t size) { return Take(size, 0, __builtin_return_address(0)); }
void* operator new[](size_t size) { return Take(size, 0, __builtin_return_address(0)); }
void* operator new(size_t size, std::align_val_t alignment) {
  return Take(size, static_cast<size_t>(alignment), __builtin_return_address(0));
}
void operator delete(void* memory) noexcept { free(memory); }
void operator delete[](void* memory) noexcept { free(memory); }
void operator delete(void* memory, size_t) noexcept { free(memory); }
void operator delete[](void* memory, size_t) noexcept { free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { free(memory); }

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*run)(void*), void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (threads_left == 0) return EAGAIN;
  if (threads_left > 0) --threads_left;
  return create(thread, how, run, argument);
}
