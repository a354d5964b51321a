#include "adapters/facts/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace muster::facts {
namespace {

constexpr std::size_t kSectionsMax = 4096;
constexpr std::size_t kNamesMax = 256 << 10;

bool read_at(int fd, void* into, std::size_t bytes, std::uint64_t at) {
  return ::pread(fd, into, bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes);
}

std::optional<std::string> section(int fd, std::string_view name, std::size_t most) {
  Elf64_Ehdr h;
  if (!read_at(fd, &h, sizeof h, 0) || std::memcmp(h.e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_shentsize != sizeof(Elf64_Shdr))
    return std::nullopt;
  if (h.e_shnum == 0 || h.e_shnum > kSectionsMax || h.e_shstrndx >= h.e_shnum) return std::nullopt;
  std::vector<Elf64_Shdr> all(h.e_shnum);
  if (!read_at(fd, all.data(), all.size() * sizeof all[0], h.e_shoff)) return std::nullopt;
  std::string names(std::min<std::size_t>(all[h.e_shstrndx].sh_size, kNamesMax), '\0');
  if (!read_at(fd, names.data(), names.size(), all[h.e_shstrndx].sh_offset)) return std::nullopt;
  for (const Elf64_Shdr& s : all) {
    if (s.sh_name >= names.size() || s.sh_type == SHT_NOBITS) continue;
    if (std::string_view(names.c_str() + s.sh_name) != name) continue;
    std::string out(std::min<std::uint64_t>(s.sh_size, most), '\0');
    if (!read_at(fd, out.data(), out.size(), s.sh_offset)) return std::nullopt;
    return out;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> elf_section(const Host& host, const std::string& path, std::string_view name, std::size_t most) {
  const int fd = host.open(path, O_RDONLY);
  if (fd < 0) return std::nullopt;
  auto out = section(fd, name, most);
  ::close(fd);
  return out;
}

std::string module_info(std::string_view modinfo, std::string_view key) {
  while (!modinfo.empty()) {
    const std::string_view entry = modinfo.substr(0, modinfo.find('\0'));
    modinfo.remove_prefix(std::min(modinfo.size(), entry.size() + 1));
    if (entry.size() > key.size() && entry.starts_with(key) && entry[key.size()] == '=')
      return std::string(entry.substr(key.size() + 1));
  }
  return {};
}

}  // namespace muster::facts
