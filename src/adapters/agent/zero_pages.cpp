#include "adapters/agent/zero_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/text.h"

namespace muster::agent {
namespace {

struct Region {
  std::uintptr_t from = 0, to = 0;
};

std::string slurp(const char* path) {
  std::string out;
  char chunk[16 << 10];
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return out;
  for (ssize_t n = 0; (n = read(fd, chunk, sizeof chunk)) > 0;) out.append(chunk, static_cast<std::size_t>(n));
  close(fd);
  return out;
}

struct Mapping : Region {
  std::string mode;  // "rw-p"
  unsigned long inode = 0;
  std::string name;      // first word of it
  bool written = false;  // some of its pages are no longer the file's: only smaps tells
};

// "7f00-7f40 rw-p 00000000 00:00 0 [heap]", and in smaps lines as "Anonymous:  12 kB" after each.
std::vector<Mapping> mappings(const char* file = "/proc/self/maps") {
  std::vector<Mapping> out;
  const std::string maps = slurp(file);
  for (const std::string_view view : split(maps, '\n')) {
    const std::string line(view);
    Mapping m;
    char mode[8] = {}, name[32] = {};
    const int words =
        std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %7s %*s %*s %lu %31s", &m.from, &m.to, mode, &m.inode, name);
    if (words < 4) {
      if (!out.empty() && line.starts_with("Anonymous:")) out.back().written = std::atol(line.c_str() + 10) > 0;
      continue;
    }
    m.mode = mode;
    m.name = name;
    out.push_back(std::move(m));
  }
  return out;
}

// Private writable memory without a file behind it, but for stacks.
bool plain(const Mapping& m) { return m.mode == "rw-p" && m.inode == 0 && (m.name.empty() || m.name == "[heap]"); }

bool zero(const char* page, std::size_t size) { return page[0] == 0 && std::memcmp(page, page + 1, size - 1) == 0; }

}  // namespace

std::size_t release_zero_pages() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  constexpr std::size_t kAtOnce = 1024;
  std::size_t released = 0;
  for (const Mapping& r : mappings()) {
    if (!plain(r)) continue;
    for (std::uintptr_t at = r.from; at < r.to; at += kAtOnce * page) {
      // Looking at a page that is not there would bring it.
      unsigned char there[kAtOnce] = {};
      const std::size_t pages = std::min<std::size_t>(kAtOnce, (r.to - at) / page);
      if (mincore(reinterpret_cast<void*>(at), pages * page, there) != 0) continue;
      for (std::size_t i = 0; i < pages; ++i) {
        auto* where = reinterpret_cast<char*>(at + i * page);
        if ((there[i] & 1) != 0 && zero(where, page) && madvise(where, page, MADV_DONTNEED) == 0) released += page;
      }
    }
  }
  return released;
}

void release_code() {
  for (const Mapping& m : mappings("/proc/self/smaps")) {
    // What the linker wrote to and then protected reads "r--p" too, and would not come back.
    if ((m.mode == "r-xp" || m.mode == "r--p") && m.inode != 0 && !m.written)
      madvise(reinterpret_cast<void*>(m.from), m.to - m.from, MADV_DONTNEED);
  }
}

}  // namespace muster::agent
