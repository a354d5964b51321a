#include "adapters/slurm/heartbeat.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <fstream>

#include "adapters/state/lock.h"
#include "base/text.h"

namespace muster::slurm {
namespace {

constexpr std::uint64_t kFresh_s = 15;  // as muster.lua has it

struct Beat {
  std::uint64_t at = 0;  // utc, seconds
  std::string owner;
};

Beat read_beat(const std::string& path) {
  std::ifstream file(path);
  std::string at;
  Beat b;
  if (std::getline(file, at)) std::getline(file, b.owner);
  b.at = parse_uint(at).value_or(0);
  return b;
}

bool anothers(const Beat& b, const Settings& s) { return !b.owner.empty() && b.owner != s.owner; }

}  // namespace

Result<void> check_heartbeat(const Settings& s) {
  struct stat st {};
  if (s.heartbeat.empty() || stat(s.heartbeat.c_str(), &st) != 0) return {};
  if (S_ISREG(st.st_mode) && (st.st_size == 0 || read_beat(s.heartbeat).at > 0)) return {};
  return fail(Code::bad_input, fmt::format("heartbeat: {} is there and is no heartbeat", printable(s.heartbeat)),
              "Muster writes a file of that name over and removes it: name another");
}

Result<void> check_alone(const Settings& s) {
  const Beat b = read_beat(s.heartbeat);
  const auto now = static_cast<std::uint64_t>(time(nullptr));
  if (!anothers(b, s) || b.at + kFresh_s < now) return {};
  return fail(Code::conflict,
              fmt::format("another Muster places jobs of this Slurm: its heartbeat in {} is {} s old", printable(s.heartbeat),
                          now > b.at ? now - b.at : 0),
              "stop that one first; beside it only a Muster in shadow mode (without --policy) may run");
}

Result<void> write_heartbeat(const Settings& s) {
  const std::string fresh = s.heartbeat + ".new";
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const std::string text = fmt::format("{}\n{}\n", time(nullptr), s.owner);
  const bool written = fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) close(fd);
  if (written && rename(fresh.c_str(), s.heartbeat.c_str()) == 0) return {};
  const int why = errno;
  if (fd >= 0) unlink(fresh.c_str());
  return tl::unexpected(system_error("the heartbeat cannot be written, so no job is held for Muster: " + s.heartbeat, why));
}

void remove_heartbeat(const Settings& s) {
  if (!s.heartbeat.empty() && !anothers(read_beat(s.heartbeat), s)) unlink(s.heartbeat.c_str());
}

}  // namespace muster::slurm
