// A file of any size, or what comes in on descriptor 0, piece by piece.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::cmd {

class Input {
 public:
  explicit Input(const std::string& path);  // "-": descriptor 0
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  // The next bytes; empty at the end.
  Result<std::string_view> next();

 private:
  std::string path_;
  int fd_;
  int why_;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 20);
};

// All of it to `take`, unpacked where it is gzip, until that fails. False: a gzip file that is cut short, as one that is still
// being written.
Result<bool> read_unpacked(const std::string& path, const std::function<Result<void>(std::string_view)>& take);

}  // namespace muster::cmd
