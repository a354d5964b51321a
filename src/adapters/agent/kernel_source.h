// KernelSource: the kernel log, record by record. /dev/kmsg gives structured records with the kernel's own numbers and is
// trusted; a file or a fifo is followed line by line, numbered by its bytes, and is trusted only where the site says so.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "adapters/agent/cursor.h"
#include "base/result.h"
#include "base/time.h"

namespace muster::agent {

struct KernelPiece {
  std::string_view bytes;     // a record as /dev/kmsg gives it, or one line
  bool structured = false;    // has the head "prio,seq,usec,flags;"
  std::uint64_t seq = 0;      // in the agent's stream; rises, with holes
  std::uint64_t missing = 0;  // records that the kernel overwrote before they could be read
  Time mono;                  // when the kernel wrote it; 0 where that is not known
};

class KernelSource {
 public:
  // Goes on after `from` where it is of the same boot or file. `vouched`: somebody says that only the kernel writes this file.
  static Result<std::unique_ptr<KernelSource>> open(const std::string& path, const Position& from, bool vouched = false);
  ~KernelSource();
  KernelSource(const KernelSource&) = delete;
  KernelSource& operator=(const KernelSource&) = delete;

  bool trusted() const { return kind_ == Kind::device || vouched_; }
  int wake_fd() const { return kind_ == Kind::file ? notify_ : fd_; }  // readable when there is something to read
  // Visits what is there, at most so many pieces. Returns how many there were: fewer than asked means that nothing is left.
  std::size_t read(std::size_t most, const std::function<void(const KernelPiece&)>& visit);
  // Looks whether the file was rotated or cut; once a second is enough.
  void look_after();
  const Position& position() const { return position_; }
  std::uint64_t too_long() const { return too_long_; }  // lines that were longer than any record may be

 private:
  enum class Kind { device, file, fifo };
  KernelSource(Kind kind, std::string path, bool vouched) : kind_(kind), path_(std::move(path)), vouched_(vouched) {}
  bool visit_record(std::string_view bytes, const std::function<void(const KernelPiece&)>& visit);
  std::size_t read_device(std::size_t most, const std::function<void(const KernelPiece&)>& visit);
  std::size_t read_lines(std::size_t most, const std::function<void(const KernelPiece&)>& visit);
  void visit_line(std::string_view line, const std::function<void(const KernelPiece&)>& visit);
  Result<void> open_file(bool from_start);

  Kind kind_;
  std::string path_;
  bool vouched_;
  int fd_ = -1;
  int notify_ = -1;
  int watch_ = -1;
  Position position_;
  std::string buffer_;     // of lines: read, not yet visited
  bool skipping_ = false;  // within a line that is too long
  std::uint64_t too_long_ = 0;
  std::uint64_t last_record_ = 0;  // of structured lines: the kernel's number, plus one
};

// The kernel's numbers in the head of a record; false where there is none.
bool read_record_head(std::string_view bytes, std::uint64_t& seq, std::uint64_t& usec);
std::string machine_boot();  // /proc/sys/kernel/random/boot_id
Time monotonic_now();
Time utc_now();

}  // namespace muster::agent
