// A test framework of one page, so that the kernel's tests need nothing that has to be installed.

#ifndef JAXTREE_NATIVE_TESTS_CHECK_H_
#define JAXTREE_NATIVE_TESTS_CHECK_H_

#include <iostream>
#include <string>
#include <type_traits>
#include <vector>

namespace jaxtree::test {

struct Test {
  std::string name;
  void (*run)();
};

inline std::vector<Test>& Tests() {
  static std::vector<Test> tests;
  return tests;
}

inline int& NumFailed() {
  static int number = 0;
  return number;
}

struct Registration {
  Registration(const char* name, void (*run)()) { Tests().push_back({name, run}); }
};

inline void Fail(const char* file, int line, const std::string& what) {
  ++NumFailed();
  std::cerr << file << ':' << line << ": " << what << '\n';
}

template <typename A, typename B>
void CheckEqual(const char* file, int line, const char* text, const A& own, const B& expected) {
  if (own == expected) return;
  Fail(file, line, std::string(text) + " differ");
  if constexpr (std::is_arithmetic_v<A> && std::is_arithmetic_v<B>) std::cerr << "  " << own << " and " << expected << '\n';
}

}  // namespace jaxtree::test

#define TEST(name)                                                             \
  static void name();                                                          \
  static const ::jaxtree::test::Registration name##_registration(#name, name); \
  static void name()
#define CHECK(condition) \
  if (!(condition)) ::jaxtree::test::Fail(__FILE__, __LINE__, #condition " is false")
#define CHECK_EQ(own, expected) ::jaxtree::test::CheckEqual(__FILE__, __LINE__, #own " and " #expected, own, expected)

#endif  // JAXTREE_NATIVE_TESTS_CHECK_H_
