// The files of data/ that ship inside the binary.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

namespace muster {

// Path within data/, e.g. "clusters/h200-1024.yaml". Lives as long as the program.
std::optional<std::string_view> embedded_file(std::string_view path);
// All paths, sorted.
std::vector<std::string_view> embedded_files();

}  // namespace muster
