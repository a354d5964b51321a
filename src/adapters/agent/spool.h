// Spool: lines that wait until the controller has them. On disk before anything else, so that a killed agent loses none; bounded,
// so that a controller that is away cannot fill the node. What does not fit is counted, and the count is for the owner to tell.
#pragma once
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster::agent {

struct SpoolLimits {
  std::uint64_t disk_bytes = 16 << 20;
  std::size_t memory_bytes = 1 << 20;  // while the disk takes nothing
};

// The file: 8 bytes of magic, the offset up to which all was acknowledged (8 bytes, host order), then lines. Safe to use from any
// thread.
class Spool {
 public:
  static Result<std::unique_ptr<Spool>> open(const std::string& path, SpoolLimits limits);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  enum class Kept { disk, memory, no };
  Kept append(const std::string& line);  // without line end
  // The oldest lines, at most so many and so much; they stay until they are acknowledged.
  std::vector<std::string> peek(std::size_t lines_max, std::size_t bytes_max);
  // The first `lines` of the last peek are with the controller.
  void acknowledge(std::size_t lines);

  std::size_t waiting_bytes() const;
  bool in_memory() const;  // some lines are not on disk
  bool empty() const;
  // To the platter, where something was written since the last time.
  void sync();

 private:
  Spool(int fd, std::string path, SpoolLimits limits);
  Result<void> load();
  void set_acknowledged(std::uint64_t offset);
  void compact();
  bool write_disk(const std::string& line);

  mutable std::mutex lock_;
  int fd_;
  std::string path_;
  SpoolLimits limits_;
  std::uint64_t size_ = 0;   // of the file
  std::uint64_t acked_ = 0;  // offset
  bool dirty_ = false;
  std::deque<std::string> memory_;  // newer than all on disk
  std::size_t memory_bytes_ = 0;
};

}  // namespace muster::agent
