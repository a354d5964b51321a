// MUSTER_CHECK: a programmer's error stops the program, in release too. Never used on what the world can cause.
#pragma once

namespace muster {
[[noreturn]] void check_failed(const char* file, int line, const char* what);
}

#define MUSTER_CHECK(cond) \
  do {                     \
    if (!(cond)) ::muster::check_failed(__FILE__, __LINE__, #cond); \
  } while (false)
