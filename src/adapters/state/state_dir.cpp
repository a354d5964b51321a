#include "adapters/state/state_dir.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/text.h"

namespace muster {
namespace {

std::string environment(const char* name) {
  const char* v = std::getenv(name);
  return v == nullptr ? "" : v;
}

// A new folder survives a power cut only once its parent is synced.
void sync_folder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

Result<void> make_folders(const std::string& path) {
  for (std::size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    const std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), 0700) == 0) {
      const std::size_t slash = part.rfind('/');
      sync_folder(slash == std::string::npos ? "." : part.substr(0, std::max<std::size_t>(slash, 1)));
    } else if (const int why = errno; why != EEXIST) {
      struct stat s;
      if (::stat(part.c_str(), &s) != 0 || !S_ISDIR(s.st_mode)) {
        return tl::unexpected(system_error(fmt::format("cannot create the folder {}", printable(part)), why));
      }
    }
    if (at == std::string::npos) return {};
  }
}

}  // namespace

std::string state_path(const std::string& chosen) {
  if (!chosen.empty()) return chosen;
  if (const std::string s = environment("MUSTER_STATE"); !s.empty()) return s;
  if (const std::string s = environment("XDG_STATE_HOME"); !s.empty()) return s + "/muster";
  const std::string home = environment("HOME");
  return (home.empty() ? std::string("/root") : home) + "/.local/state/muster";
}

Result<StateDir> open_state_dir(const std::string& path) {
  if (path.empty()) return fail(Code::bad_input, "the state directory has no name", "give one with --state DIR");
  std::string clean = path;
  while (clean.size() > 1 && clean.back() == '/') clean.pop_back();
  const auto made = make_folders(clean);
  if (!made) return tl::unexpected(made.error());
  struct stat s;
  if (::stat(clean.c_str(), &s) != 0) return tl::unexpected(system_error("cannot look at " + printable(clean), errno));
  if (!S_ISDIR(s.st_mode)) return fail(Code::bad_input, fmt::format("{} is not a folder", printable(clean)));
  const uid_t me = ::geteuid();
  if ((s.st_uid != me && me != 0) || (s.st_mode & 0022) != 0) {
    return fail(Code::not_allowed, fmt::format("others may write to the state directory {}", printable(clean)),
                "use one that is yours alone: chmod 700");
  }
  auto lock = FileLock::take(clean + "/lock", "state directory " + clean);
  if (!lock) return tl::unexpected(lock.error());
  return StateDir{clean, std::move(*lock)};
}

}  // namespace muster
