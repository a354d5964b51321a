#include "adapters/accept/cpu_list.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "base/text.h"
#include "ingest/pci.h"

namespace muster::bench {

std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> out;
  for (const std::string_view part : split(trim(text), ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_uint(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_uint(part.substr(dash + 1));
    if (!first || !last || *first > *last || *last >= CPU_SETSIZE) return {};
    for (std::uint64_t cpu = *first; cpu <= *last; ++cpu) out.push_back(static_cast<int>(cpu));
  }
  return out;
}

void stay_near(const std::string& pci, const std::string& root) {
  const auto address = read_pci(pci);
  if (!address) return;
  const std::string path = root + "/sys/bus/pci/devices/" + render(*address) + ".0/local_cpulist";
  char text[4096] = {};
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const ssize_t n = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  cpu_set_t may, near;
  CPU_ZERO(&near);
  if (n <= 0 || ::sched_getaffinity(0, sizeof may, &may) != 0) return;
  for (const int cpu : parse_cpu_list({text, static_cast<std::size_t>(n)})) {
    if (CPU_ISSET(cpu, &may)) CPU_SET(cpu, &near);
  }
  if (CPU_COUNT(&near) > 0) ::sched_setaffinity(0, sizeof near, &near);
}

}  // namespace muster::bench
