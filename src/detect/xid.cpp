#include "detect/xid.h"

#include <fmt/core.h>

#include <algorithm>

namespace muster::detect {
namespace {

struct XidRule {
  std::int32_t code;
  FindingKind kind;
  Severity severity;
};

// Meanings after NVIDIA's public Xid catalogue. Codes not listed here (45 for one, which only repeats another) start nothing.
constexpr XidRule kRules[] = {
    {13, FindingKind::app_error, Severity::info},
    {31, FindingKind::app_error, Severity::info},
    {43, FindingKind::app_error, Severity::info},
    {48, FindingKind::ecc_uncorrectable, Severity::critical},
    {63, FindingKind::row_remap_pending, Severity::warning},
    {64, FindingKind::row_remap_failed, Severity::critical},
    {74, FindingKind::nvlink_degraded, Severity::warning},
    {79, FindingKind::gpu_lost, Severity::critical},
    {94, FindingKind::ecc_uncorrectable, Severity::critical},
    {95, FindingKind::ecc_uncorrectable, Severity::critical},
    {119, FindingKind::gsp_timeout, Severity::critical},
    {120, FindingKind::gsp_timeout, Severity::critical},
    {140, FindingKind::ecc_uncorrectable, Severity::critical},
};

Sign sign_of(const KernelRecord& r, FindingKind kind, Severity severity) {
  return {kind, severity, r.node, r.slot, {}, r.code,
          {Witness::kernel_log, r.at, fmt::format("kmsg:{:x}/{}", r.boot, r.seq), r.text}};
}

}  // namespace

void on_kernel_record(const KernelRecord& r, Signs& out) {
  if (r.slot < 0) return;  // the address is not one of the node's GPUs: nothing to blame
  if (r.kind == KernelKind::off_bus) out.seen.push_back(sign_of(r, FindingKind::gpu_lost, Severity::critical));
  if (r.kind != KernelKind::xid) return;
  const auto* rule = std::find_if(std::begin(kRules), std::end(kRules), [&](const XidRule& x) { return x.code == r.code; });
  if (rule != std::end(kRules)) out.seen.push_back(sign_of(r, rule->kind, rule->severity));
}

}  // namespace muster::detect
