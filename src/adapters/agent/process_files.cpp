#include "adapters/agent/process_files.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace muster::agent {
namespace {

constexpr std::size_t kConstantsMax = 16 << 20;  // bytes of .rodata that are looked through
constexpr std::size_t kSectionsMax = 4096;
constexpr std::size_t kNamesMax = 1 << 20;
constexpr std::string_view kNcclMark = "NCCL version ";

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  bool plain() const {
    struct stat s {};
    return fd_ >= 0 && fstat(fd_, &s) == 0 && S_ISREG(s.st_mode);
  }
  // As much of it as there is.
  std::string read_at(std::uint64_t at, std::size_t most) const {
    std::string out;
    char piece[64 << 10];
    while (out.size() < most && at <= INT64_MAX - out.size()) {
      const ssize_t n = pread(fd_, piece, std::min(sizeof piece, most - out.size()), static_cast<off_t>(at + out.size()));
      if (n <= 0) break;
      out.append(piece, static_cast<std::size_t>(n));
    }
    return out;
  }

 private:
  int fd_;
};

template <class T>
std::optional<T> struct_at(const std::string& bytes, std::size_t at) {
  T out;
  if (at > bytes.size() || bytes.size() - at < sizeof out) return std::nullopt;
  std::memcpy(&out, bytes.data() + at, sizeof out);
  return out;
}

// Of a 64-bit ELF file, as far as its own words about itself make sense; else the beginning.
std::string constants_of(const OpenFile& f) {
  const std::string head = f.read_at(0, sizeof(Elf64_Ehdr));
  const auto elf = struct_at<Elf64_Ehdr>(head, 0);
  if (!elf || std::memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 || elf->e_ident[EI_CLASS] != ELFCLASS64 ||
      elf->e_shentsize != sizeof(Elf64_Shdr) || elf->e_shnum == 0 || elf->e_shnum > kSectionsMax)
    return f.read_at(0, kConstantsMax);
  const std::string table = f.read_at(elf->e_shoff, elf->e_shnum * sizeof(Elf64_Shdr));
  const auto names = struct_at<Elf64_Shdr>(table, elf->e_shstrndx * sizeof(Elf64_Shdr));
  if (!names) return f.read_at(0, kConstantsMax);
  const std::string text = f.read_at(names->sh_offset, std::min<std::size_t>(names->sh_size, kNamesMax));
  for (std::size_t i = 0; i < elf->e_shnum; ++i) {
    const auto s = struct_at<Elf64_Shdr>(table, i * sizeof(Elf64_Shdr));
    if (!s || s->sh_name >= text.size() || s->sh_type == SHT_NOBITS) continue;
    if (std::string_view(text.c_str() + s->sh_name) == ".rodata")
      return f.read_at(s->sh_offset, std::min<std::size_t>(s->sh_size, kConstantsMax));
  }
  return f.read_at(0, kConstantsMax);
}

bool of_version(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.' || c == '+' || c == '-' || c == '_';
}

}  // namespace

std::optional<std::string> read_some(const std::string& path, std::size_t most) {
  const OpenFile f(path);
  if (!f.plain()) return std::nullopt;
  errno = 0;
  std::string out = f.read_at(0, most);
  if (out.empty() && errno != 0) return std::nullopt;
  return out;
}

std::vector<std::string> names_in(const std::string& folder, std::size_t most) {
  std::vector<std::string> out;
  DIR* d = opendir(folder.c_str());
  if (d == nullptr) return out;
  while (const dirent* e = readdir(d)) {
    if (e->d_name[0] != '.' && out.size() < most) out.emplace_back(e->d_name);
  }
  closedir(d);
  std::sort(out.begin(), out.end());
  return out;
}

std::string find_nccl_version(const std::string& path) {
  const OpenFile f(path);
  if (!f.plain()) return {};
  const std::string bytes = constants_of(f);
  std::string first;
  for (std::size_t at = bytes.find(kNcclMark); at != std::string::npos; at = bytes.find(kNcclMark, at + 1)) {
    const std::size_t from = at + kNcclMark.size();
    std::size_t to = from;
    while (to < bytes.size() && to - from < 40 && of_version(bytes[to])) ++to;
    // "NCCL version %d.%d" is there too.
    if (to == from || bytes[from] < '0' || bytes[from] > '9') continue;
    std::string found = bytes.substr(from, to - from);
    // Texts about other versions are there as well: with its CUDA behind it, it is the library's own.
    if (found.find("+cuda") != std::string::npos) return found;
    if (first.empty()) first = std::move(found);
  }
  return first;
}

std::optional<FileMemory::Key> FileMemory::identity(const std::string& path) {
  struct stat s {};
  if (stat(path.c_str(), &s) != 0) return std::nullopt;
  return Key{s.st_dev, s.st_ino, static_cast<std::int64_t>(s.st_mtim.tv_sec) * 1'000'000'000 + s.st_mtim.tv_nsec, s.st_size};
}

}  // namespace muster::agent
