#include "adapters/facts/probe.h"

#include <fmt/core.h>
#include <time.h>

#include "adapters/facts/book_reader.h"
#include "adapters/facts/driver.h"
#include "adapters/facts/machine.h"
#include "adapters/facts/network.h"
#include "adapters/facts/nvml_facts.h"
#include "adapters/facts/packages.h"
#include "adapters/facts/pci.h"
#include "adapters/facts/sheet.h"
#include "adapters/facts/software.h"

namespace muster::facts {
namespace {

Time utc_now() {
  timespec t = {};
  ::clock_gettime(CLOCK_REALTIME, &t);
  return Time{t.tv_sec * 1'000'000'000LL};
}

}  // namespace

Result<Sweep> read_host(const ProbeOptions& o, const FactBook& book, FactTable& into) {
  const double begun = cpu_ms();
  const Host host(o.root, o.live);
  if (!host.exists("/"))
    return fail(Code::not_found, fmt::format("{}: no such folder", o.root), "name the folder that holds etc, usr and var");
  Sheet sheet(into, o.node);
  into.set_source(sheet.node(), "probe", utc_now());
  sheet.put("node.name", o.node);
  read_by_book(host, book, sheet);
  probe_cpu(host, sheet);
  probe_memory(host, sheet);
  probe_virtualisation(host, sheet);
  probe_kernel(host, sheet);
  probe_system(host, sheet);
  std::vector<PciGpu> gpus;
  if (host.live()) {
    gpus = find_gpus(host, sheet);
    probe_gpu_links(host, gpus, sheet);
    probe_gpu_words(host, gpus, sheet);
    std::vector<std::string> folders = probe_nics(host, book, sheet);
    for (const PciGpu& g : gpus) folders.push_back(g.folder);
    probe_acs(host, folders, sheet);
    probe_interfaces(host, book, sheet);
  }
  probe_driver(host, sheet);
  const Packages packages = read_packages(host);
  probe_packages(host, packages, sheet);
  probe_cuda(host, sheet);
  probe_libraries(host, sheet);
  probe_containers(host, sheet);
  probe_mounts(host, sheet);
  probe_image(host, packages, sheet);
  probe_mapped_libraries(host, begun + o.cpu_ms_most, sheet);
  Sweep out;
  out.cpu_ms = cpu_ms() - begun;
  Result<void> asked;
  if (!o.nvml.empty()) asked = probe_nvml(o.nvml, gpus, sheet);
  for (const FactColumn& c : into.columns()) {
    out.facts += c.code(sheet.node()) != kFactUnknown ? 1 : 0;
    out.values += c.code(sheet.node()) >= kFirstValue ? 1 : 0;
  }
  if (!asked) return tl::unexpected(asked.error());
  return out;
}

}  // namespace muster::facts
