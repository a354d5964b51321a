#include "adapters/agent/zero_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
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

// Private writable memory without a file behind it, but for stacks: "7f00-7f40 rw-p 00000000 00:00 0 [heap]".
std::vector<Region> plain_memory() {
  std::vector<Region> out;
  const std::string maps = slurp("/proc/self/maps");
  for (const std::string_view view : split(maps, '\n')) {
    const std::string line(view);
    Region r;
    char mode[8] = {}, name[32] = {};
    unsigned long inode = 1;
    const int words =
        std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %7s %*s %*s %lu %31s", &r.from, &r.to, mode, &inode, name);
    const bool plain =
        words >= 4 && std::strcmp(mode, "rw-p") == 0 && inode == 0 && (words == 4 || std::strcmp(name, "[heap]") == 0);
    if (plain) out.push_back(r);
  }
  return out;
}

bool zero(const char* page, std::size_t size) { return page[0] == 0 && std::memcmp(page, page + 1, size - 1) == 0; }

}  // namespace

std::size_t release_zero_pages() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  constexpr std::size_t kAtOnce = 1024;
  std::size_t released = 0;
  for (const Region& r : plain_memory()) {
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

}  // namespace muster::agent
