// Files of other processes, read within bounds: what /proc says of them, and the libraries and lists of packages that they use.
// Users write most of it.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace muster::agent {

// Its first `most` bytes; nothing where it is no plain file, or may not be read (then errno says why). Never waits for a fifo.
std::optional<std::string> read_some(const std::string& path, std::size_t most);
// Names in a folder without those that begin with a dot, at most `most`, sorted.
std::vector<std::string> names_in(const std::string& folder, std::size_t most);

// "NCCL version 2.27.5+cuda12.9" in the constants of a library: "2.27.5+cuda12.9"; empty: not found. NCCL's file is hundreds of
// megabytes, nearly all of it code for GPUs: of an ELF file only .rodata is read, of others the beginning.
std::string find_nccl_version(const std::string& path);

// What was found in a file is found once, as long as it is the same file.
class FileMemory {
 public:
  template <class Find>
  std::string recall(const std::string& path, Find find) {
    const auto key = identity(path);
    if (!key) return {};
    const auto known = known_.find(*key);
    if (known != known_.end()) return known->second;
    if (known_.size() >= kMost) known_.clear();
    return known_[*key] = find(path);
  }

 private:
  static constexpr std::size_t kMost = 4096;
  using Key = std::tuple<dev_t, ino_t, std::int64_t, std::int64_t>;  // mtime in ns, size
  static std::optional<Key> identity(const std::string& path);
  std::map<Key, std::string> known_;
};

}  // namespace muster::agent
