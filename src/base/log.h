// One way to say something to whoever runs the program. Where it goes is set by the composition root; error-level lines are
// counted per thread, because in a simulated run a single one is a failure.
#pragma once
#include <cstdint>
#include <string_view>

namespace muster {

enum class LogLevel { info, warning, error };

void log(LogLevel level, std::string_view text);
void set_log_sink(void (*sink)(LogLevel, std::string_view));  // nullptr: nowhere
std::uint64_t log_errors_of_this_thread();

}  // namespace muster
