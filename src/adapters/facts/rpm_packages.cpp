#include "adapters/facts/rpm_packages.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <set>

#include "adapters/sqlite/database.h"

namespace muster::facts {
namespace {

// The newer place last: where the older is a link to it, either will do.
constexpr const char* kFolders[] = {"/var/lib/rpm/", "/usr/lib/sysimage/rpm/"};
constexpr std::size_t kHeaderMax = 16U << 20;  // bytes; a package of 100,000 files has about 10 MB
constexpr std::size_t kHeadersMax = 512;       // of the few names that are asked about
constexpr std::uint32_t kStepsMax = 500'000;   // of SQLite's machine: some milliseconds
constexpr const char* kByName = "SELECT key, hnum FROM Name WHERE key >= ?1 AND key < ?2 ORDER BY key, hnum DESC LIMIT 256";
constexpr const char* kHeader = "SELECT blob FROM Packages WHERE hnum = ?1";

class Open {
 public:
  Open(const Host& host, const std::string& path) : fd_(host.open(path, O_RDONLY | O_NONBLOCK)) {
    if (fd_ >= 0 && (::fstat(fd_, &about_) != 0 || !S_ISREG(about_.st_mode))) shut();
  }
  ~Open() { shut(); }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;

  bool ok() const { return fd_ >= 0; }
  bool empty() const { return about_.st_size == 0; }
  // As SQLite can open it, wherever the root lies and whatever links lead there.
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }
  std::string bytes(std::size_t at, std::size_t n) const {
    std::string out(n, '\0');
    const ssize_t got = ::pread(fd_, out.data(), n, static_cast<off_t>(at));
    out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return out;
  }
  bool unchanged() const {
    struct stat now {};
    return ::fstat(fd_, &now) == 0 && now.st_size == about_.st_size && now.st_mtim.tv_sec == about_.st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == about_.st_mtim.tv_nsec;
  }

 private:
  void shut() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  int fd_;
  struct stat about_ {};
};

// What the index of a write-ahead log (https://www.sqlite.org/walformat.html, "-shm") says: all that is in the log has been
// copied into the database. In the byte order of the machine; the salts are those of the log it speaks of.
bool all_copied(const Open& log, const Open& index) {
  constexpr std::size_t kHeaderBytes = 48, kFrames = 16, kSalts = 32, kCopied = 96, kLogSalts = 16, kSaltBytes = 8;
  const std::string head = index.bytes(0, kCopied + 4), salts = log.bytes(kLogSalts, kSaltBytes);
  if (head.size() < kCopied + 4 || salts.size() < kSaltBytes) return false;
  if (std::memcmp(head.data(), head.data() + kHeaderBytes, kHeaderBytes) != 0) return false;
  if (salts != head.substr(kSalts, kSaltBytes)) return false;
  return std::memcmp(head.data() + kFrames, head.data() + kCopied, 4) == 0;
}

// Nothing beside the file is newer than it: no transaction is under way, and none was cut off.
bool settled(const Host& host, const std::string& path) {
  if (const Open undo(host, path + "-journal"); undo.ok() && !undo.empty()) return false;
  const Open log(host, path + "-wal");
  if (!log.ok() || log.empty()) return true;
  const Open index(host, path + "-shm");
  return index.ok() && all_copied(log, index);
}

using Headers = std::vector<std::uint64_t>;

Result<Headers> find_headers(sqlite::Database& db, const std::vector<std::string_view>& names,
                             const std::function<bool(std::string_view)>& wanted) {
  auto by_name = db.prepare(kByName);
  if (!by_name) return tl::unexpected(by_name.error());
  Headers out;
  std::set<std::uint64_t> seen;
  for (const std::string_view name : names) {
    const std::string past = std::string(name) + ".";  // behind "-": "munge-libs" is between them
    by_name->bind_text(1, name).bind_text(2, past);
    for (;;) {
      const auto row = by_name->step();
      if (!row) return tl::unexpected(row.error());
      if (!*row) break;
      const std::uint64_t number = by_name->integer(1);
      if (!wanted(by_name->bytes(0)) || !seen.insert(number).second) continue;
      if (out.size() >= kHeadersMax) return fail(Code::corrupt, "more packages of a few names than there can be");
      out.push_back(number);
    }
    by_name->reset();
  }
  return out;
}

Result<std::vector<RpmPackage>> query(const std::string& path, const std::vector<std::string_view>& names,
                                      const std::function<bool(std::string_view)>& wanted) {
  auto db = sqlite::Database::open({path, {}}, sqlite::Access::immutable);
  if (!db) return tl::unexpected(db.error());
  db->bound(kStepsMax, kHeaderMax);
  const auto headers = find_headers(*db, names, wanted);
  if (!headers) return tl::unexpected(headers.error());
  auto header = db->prepare(kHeader);
  if (!header) return tl::unexpected(header.error());
  std::vector<RpmPackage> out;
  for (const std::uint64_t number : *headers) {
    header->bind(1, number);
    const auto row = header->step();
    if (!row) return tl::unexpected(row.error());
    if (!*row) return fail(Code::corrupt, "a name without its package");
    auto package = parse_rpm_header(header->bytes(0));
    if (!package) return tl::unexpected(package.error());
    if (wanted(package->name)) out.push_back(std::move(*package));
    header->reset();
  }
  return out;
}

}  // namespace

RpmPackages read_rpm_packages(const Host& host, const std::vector<std::string_view>& names,
                              const std::function<bool(std::string_view)>& wanted) {
  RpmPackages out;
  for (const std::string folder : kFolders) {
    const std::string path = folder + "rpmdb.sqlite";
    const Open file(host, path);
    if (!file.ok() && !host.exists(path)) continue;
    out.database = "rpm sqlite";
    if (!file.ok() || !settled(host, path)) return out;
    auto found = query(file.path(), names, wanted);
    // Whoever changed it meanwhile may have been read in the middle of it.
    if (!found || !file.unchanged() || !settled(host, path)) return out;
    out.read = true;
    out.found = std::move(*found);
    return out;
  }
  for (const std::string folder : kFolders) {
    if (host.exists(folder + "Packages.db")) {
      out.database = "rpm ndb";
      return out;
    }
    if (host.exists(folder + "Packages")) {
      out.database = "rpm bdb";
      return out;
    }
  }
  return out;
}

}  // namespace muster::facts
