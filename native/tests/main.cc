// Runs the tests whose names begin with the argument, or all.

#include <cstdio>
#include <string>

#include "check.h"

int main(int count, char** arguments) {
  const std::string prefix = count > 1 ? arguments[1] : "";
  int num_run = 0;
  for (const auto& [name, run] : jaxtree::test::Tests()) {
    if (name.rfind(prefix, 0) != 0) continue;
    const int before = jaxtree::test::NumFailed();
    run();
    std::printf("%s %s\n", jaxtree::test::NumFailed() == before ? "passed" : "FAILED", name.c_str());
    ++num_run;
  }
  return jaxtree::test::NumFailed() > 0 || num_run == 0;
}
