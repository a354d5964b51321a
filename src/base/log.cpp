#include "base/log.h"

#include <atomic>

namespace muster {
namespace {
std::atomic<void (*)(LogLevel, std::string_view)> sink{nullptr};
thread_local std::uint64_t errors = 0;
}  // namespace

void log(LogLevel level, std::string_view text) {
  if (level == LogLevel::error) ++errors;
  if (auto* f = sink.load()) f(level, text);
}

void set_log_sink(void (*f)(LogLevel, std::string_view)) { sink = f; }

std::uint64_t log_errors_of_this_thread() { return errors; }

}  // namespace muster
