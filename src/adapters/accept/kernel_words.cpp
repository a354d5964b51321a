#include "adapters/accept/kernel_words.h"

#include <algorithm>

#include "ingest/kernel_log.h"
#include "ingest/kernel_text.h"

namespace muster::bench {
namespace {

constexpr std::size_t kAtOnce = 4096;       // records
constexpr std::size_t kOldMost = 1 << 20;   // of the past that are passed over

bool of_a_gpu(KernelKind kind) {
  return kind == KernelKind::xid || kind == KernelKind::off_bus || kind == KernelKind::sxid || kind == KernelKind::gpu_init ||
         kind == KernelKind::gsp_dead || kind == KernelKind::pcie_error;
}

}  // namespace

KernelWords::KernelWords(const std::string& path, std::map<PciAddress, int> all, std::vector<int> tested)
    : all_(std::move(all)), tested_(std::move(tested)) {
  auto source = agent::KernelSource::open(path, {});
  if (!source) {
    unreadable_ = source.error().what;
    return;
  }
  source_ = std::move(*source);
  // What the device holds is of the time before.
  for (std::size_t passed = 0; passed < kOldMost && source_->read(kAtOnce, [](const agent::KernelPiece&) {}) == kAtOnce;) {
    passed += kAtOnce;
  }
}

void KernelWords::read(double at_s, const std::function<void(accepting::KernelWord)>& sink) {
  if (!source_) return;
  source_->look_after();
  source_->read(kAtOnce, [&](const agent::KernelPiece& p) {
    if (p.structured) record(p.bytes, at_s, sink);
  });
}

void KernelWords::record(std::string_view bytes, double at_s, const std::function<void(accepting::KernelWord)>& sink) {
  const auto r = parse_kmsg(bytes, {}, 0, {}, {});
  if (!r || !of_a_gpu(r->kind)) return;
  const auto text = read_kernel_text(r->text, Address::whole);
  const auto it = text && text->pci ? all_.find(*text->pci) : all_.end();
  // Of a GPU that others use, or of any other device on the bus: none of this recording's.
  if (it != all_.end() && std::find(tested_.begin(), tested_.end(), it->second) == tested_.end()) return;
  if (it == all_.end() && r->kind == KernelKind::pcie_error) return;
  if (++words_ > kWordsMax) {
    ++left_out_;
    return;
  }
  accepting::KernelWord w;
  w.gpu = it == all_.end() ? -1 : it->second;
  w.code = r->kind == KernelKind::xid ? r->code : 0;
  w.at_s = at_s;
  w.text = r->text;
  sink(std::move(w));
}

}  // namespace muster::bench
