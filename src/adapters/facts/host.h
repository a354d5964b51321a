// Host: the files of a node, below / or below a folder that stands for it: an image, a chroot, a test's tree. Links are followed
// inside that folder. That something is not there is told apart from that it may not be read.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::facts {

enum class Found : std::uint8_t { value, absent, unreadable };

struct Reading {
  Found found = Found::absent;
  std::string text;  // of a value
  bool ok() const { return found == Found::value; }
};

class Host {
 public:
  // `live`: /proc and /sys are those of a kernel that runs.
  Host(std::string root, bool live);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  bool live() const { return live_; }
  bool is_root_folder() const { return root_fd_ < 0; }  // it is /
  // -1 with errno. Paths begin with /.
  int open(const std::string& path, int flags) const;
  // What it holds, at most `most` bytes.
  Reading text(const std::string& path, std::size_t most = 64 << 10) const;
  // Its first line, without blanks around it.
  Reading line(const std::string& path) const;
  // Where a link points, as it is written.
  Reading link(const std::string& path) const;
  // The path of a folder or file behind all links, as the kernel names it; empty: not there.
  std::string real(const std::string& path) const;
  // Names in a folder, sorted; `what` says why there are none.
  std::vector<std::string> entries(const std::string& path, Found* why = nullptr) const;
  bool exists(const std::string& path) const;

 private:
  int root_fd_ = -1;
  std::string root_;
  bool live_;
};

// What errno means for a reader.
Found found_by(int why);

}  // namespace muster::facts
