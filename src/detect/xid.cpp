#include "detect/xid.h"

#include <fmt/core.h>

#include <algorithm>

namespace muster::detect {
namespace {

constexpr Duration kSameEvent = seconds(5);
constexpr Duration kConsequence = seconds(10);  // of a fault, on the same GPU
constexpr Duration kAfterLoss = minutes(2);     // all that a lost GPU's driver still says
constexpr Duration kVerdictAfter = minutes(1);  // Xid 154 sums up what came before it
constexpr std::size_t kRemembered = 4096;
constexpr Duration kSettling = minutes(5);  // an exporter that starts anew shows 0, then perhaps the old code again
constexpr Duration kGap = minutes(15);      // after which a code may have come at any time
constexpr std::size_t kCountsMax = 65536;

struct XidRule {
  std::int32_t code;
  FindingKind kind;
  Severity severity;
};
using K = FindingKind;
constexpr Severity kInfo = Severity::info, kWarn = Severity::warning, kCrit = Severity::critical;

// Meanings after NVIDIA's public Xid catalogue and the driver's own header, ascending. Codes up to kLastKnown that are not listed
// start nothing: retired numbers, tests, notes of the driver to itself, and 45, which only repeats another. 154 is the driver's
// verdict, see on_xid. Later ones are of a driver newer than this table.
constexpr XidRule kRules[] = {
    {8, K::app_error, kInfo},           {11, K::app_error, kInfo},          {13, K::app_error, kInfo},
    {25, K::app_error, kInfo},          {31, K::app_error, kInfo},          {32, K::app_error, kInfo},
    {38, K::xid_other, kInfo},          {39, K::app_error, kInfo},          {40, K::app_error, kInfo},
    {41, K::app_error, kInfo},          {43, K::app_error, kInfo},          {44, K::xid_other, kInfo},
    {46, K::gpu_fault, kCrit},          {47, K::app_error, kInfo},          {48, K::ecc_uncorrectable, kCrit},
    {54, K::power_brake, kCrit},        {56, K::xid_other, kInfo},          {57, K::gpu_fault, kCrit},
    {58, K::gpu_fault, kCrit},          {59, K::gpu_fault, kCrit},          {60, K::app_error, kInfo},
    {61, K::gpu_fault, kWarn},          {62, K::gpu_fault, kCrit},          {63, K::row_remap_pending, kWarn},
    {64, K::row_remap_failed, kCrit},   {65, K::app_error, kInfo},          {68, K::app_error, kInfo},
    {69, K::app_error, kInfo},          {70, K::app_error, kInfo},          {71, K::app_error, kInfo},
    {72, K::app_error, kInfo},          {73, K::app_error, kInfo},          {74, K::nvlink_degraded, kWarn},
    {75, K::app_error, kInfo},          {76, K::app_error, kInfo},          {77, K::app_error, kInfo},
    {78, K::xid_other, kInfo},          {79, K::gpu_lost, kCrit},           {80, K::app_error, kInfo},
    {81, K::xid_other, kInfo},          {82, K::app_error, kInfo},          {83, K::app_error, kInfo},
    {84, K::app_error, kInfo},          {85, K::app_error, kInfo},          {86, K::app_error, kInfo},
    {88, K::app_error, kInfo},          {89, K::app_error, kInfo},          {90, K::gpu_fault, kCrit},
    {92, K::ecc_correctable, kWarn},    {94, K::ecc_uncorrectable, kCrit},  {95, K::ecc_uncorrectable, kCrit},
    {96, K::app_error, kInfo},          {97, K::app_error, kInfo},          {98, K::app_error, kInfo},
    {99, K::app_error, kInfo},          {100, K::app_error, kInfo},         {101, K::app_error, kInfo},
    {102, K::app_error, kInfo},         {103, K::app_error, kInfo},         {104, K::app_error, kInfo},
    {105, K::app_error, kInfo},         {108, K::app_error, kInfo},         {109, K::gpu_fault, kCrit},
    {110, K::gpu_fault, kCrit},         {119, K::gsp_timeout, kCrit},       {120, K::gsp_timeout, kCrit},
    {122, K::gpu_fault, kWarn},         {123, K::gpu_fault, kWarn},         {124, K::gpu_fault, kWarn},
    {125, K::gpu_fault, kWarn},         {126, K::app_error, kInfo},         {127, K::app_error, kInfo},
    {128, K::app_error, kInfo},         {129, K::app_error, kInfo},         {130, K::app_error, kInfo},
    {131, K::app_error, kInfo},         {132, K::app_error, kInfo},         {133, K::app_error, kInfo},
    {134, K::app_error, kInfo},         {135, K::app_error, kInfo},         {136, K::nvlink_degraded, kCrit},
    {137, K::app_error, kInfo},         {138, K::xid_other, kInfo},         {139, K::app_error, kInfo},
    {140, K::ecc_uncorrectable, kCrit}, {142, K::app_error, kInfo},         {143, K::gpu_fault, kCrit},
    {144, K::nvlink_degraded, kCrit},   {145, K::nvlink_degraded, kCrit},   {146, K::nvlink_degraded, kCrit},
    {147, K::nvlink_degraded, kCrit},   {148, K::nvlink_degraded, kCrit},   {149, K::nvlink_degraded, kCrit},
    {150, K::nvlink_degraded, kCrit},   {151, K::xid_other, kInfo},         {155, K::nvlink_degraded, kWarn},
    {156, K::gpu_fault, kWarn},         {157, K::gpu_fault, kWarn},         {158, K::gpu_fault, kCrit},
    {159, K::xid_other, kInfo},         {160, K::row_remap_pending, kWarn}, {161, K::row_remap_failed, kCrit},
    {163, K::xid_other, kInfo},         {164, K::xid_other, kInfo},         {165, K::xid_other, kInfo},
    {166, K::xid_other, kInfo},         {167, K::pcie_degraded, kCrit},     {168, K::gpu_fault, kWarn},
    {169, K::gpu_fault, kCrit},         {170, K::xid_other, kInfo},         {171, K::ecc_uncorrectable, kCrit},
    {172, K::ecc_uncorrectable, kCrit}, {173, K::gpu_fault, kCrit},         {175, K::gpu_fault, kCrit},
    {176, K::pcie_degraded, kWarn},
};

constexpr std::int32_t kLastKnown = 176;
constexpr XidRule kUnknown{0, K::xid_other, kInfo};

const XidRule* rule_of(std::int32_t code) {
  if (code > kLastKnown) return code < 1000 ? &kUnknown : nullptr;  // longer ones are no Xids
  const auto* r =
      std::lower_bound(std::begin(kRules), std::end(kRules), code, [](const XidRule& x, int c) { return x.code < c; });
  return r != std::end(kRules) && r->code == code ? r : nullptr;
}

// NVLink 5 events say themselves whether they are fatal; the others are noise of a link that mends itself.
bool says_harmless(const KernelRecord& r) { return r.code >= 144 && r.code <= 150 && !r.fatal; }

Sign sign_of(const KernelRecord& r, FindingKind kind, Severity severity, std::int32_t code) {
  return {kind, severity, r.node, r.slot, {}, code, {Witness::kernel_log, r.at, record_ref(r), r.text}};
}

}  // namespace

void Xids::forget(Time mono) {
  if (lately_.size() > kRemembered) std::erase_if(lately_, [&](const auto& x) { return mono - x.second >= kSameEvent; });
  if (roots_.size() > kRemembered) std::erase_if(roots_, [&](const auto& x) { return mono - x.second.at >= kAfterLoss; });
}

// The fault that a record of `kind` only follows from, if there is one; `where` is that fault's GPU.
const Xids::Root* Xids::root_of(const KernelRecord& r, FindingKind kind, Time mono, Gpu& where) const {
  where = {r.node, r.slot};
  if (const auto it = roots_.find(where); it != roots_.end()) {
    const Root& root = it->second;
    if (root.kind == K::gpu_lost && mono - root.at <= kAfterLoss) return &root;
    const bool follows = kind == K::app_error || (kind == K::gpu_fault && root.kind != K::gpu_fault);
    if (follows && mono - root.at <= kConsequence) return &root;
  }
  if (kind != K::nvlink_degraded) return nullptr;
  // The links to a GPU that is gone fail at their other ends too.
  for (auto it = roots_.lower_bound({r.node, -1}); it != roots_.end() && it->first.first == r.node; ++it) {
    if (it->second.kind != K::gpu_lost || mono - it->second.at > kConsequence) continue;
    where = it->first;
    return &it->second;
  }
  return nullptr;
}

void Xids::begin(const KernelRecord& r, FindingKind kind, Severity severity, std::int32_t code, Time mono, Signs& out) {
  if (severity == Severity::critical) roots_[{r.node, r.slot}] = {kind, code, mono};
  out.seen.push_back(sign_of(r, kind, severity, code));
}

void Xids::on_xid(const KernelRecord& r, const State& s, Time mono, Signs& out) {
  const auto [last, first] = lately_.try_emplace({r.node, r.slot, r.code}, mono);
  const bool again = !first && mono - last->second < kSameEvent;
  last->second = mono;
  Gpu where;
  if (r.code == 154) {
    if (r.verdict <= 0) return;
    const auto root = roots_.find({r.node, r.slot});
    if (root != roots_.end() && mono - root->second.at <= kVerdictAfter) {
      out.seen.push_back(sign_of(r, root->second.kind, kCrit, root->second.code));
      return;
    }
    const bool link = r.verdict == 3 || r.verdict == 5;  // drain peer-to-peer work; recover the IMEX domain
    return begin(r, link ? K::nvlink_degraded : K::gpu_fault, link ? kWarn : kCrit, r.code, mono, out);
  }
  // The driver says what a removed channel died of: the line of the fault itself may have been lost.
  const std::int32_t code = r.code == 45 ? r.caused_by : r.code;
  const XidRule* rule = rule_of(code);
  if (rule == nullptr || again || says_harmless(r)) return;
  if (const Root* root = root_of(r, rule->kind, mono, where)) {
    Sign sign = sign_of(r, root->kind, kCrit, root->code);
    sign.slot = where.second;
    out.seen.push_back(std::move(sign));
    return;
  }
  begin(r, rule->kind, rule->severity, code, mono, out);
  if (rule->kind == K::app_error && r.code != 45) suspect_.on_app_error(r, s, mono);
}

// False where it is the first look (or the first for long): what stands there may be months old, long since dealt with, and is
// only the baseline. No finding is opened on it, not even as a note: a ladder goes by a finding's kind, not by its severity.
bool Xids::look_at(Told& t, Time mono) {
  if (mono != t.last) t.gap = mono - t.last;  // a page has several lines of a GPU: the gap is to the page before it
  if (t.since.ns == 0 || t.gap > kGap) t = Told{{}, mono, mono, {}};
  t.last = mono;
  return mono != t.since;
}

// News is a code other than the last one. Not news: a code that stood there a moment ago, as when an exporter starts anew (79, 0,
// 79), or when two of them look at the same GPU and one is late (79, 13, 79, 13).
void Xids::on_last(const Sample& m, Time mono, Signs& out) {
  Told& t = told_[m.node.v * slots_ + static_cast<std::size_t>(m.slot)];
  const bool watched = look_at(t, mono);
  const auto code = static_cast<std::int32_t>(m.value);
  const std::int32_t before = t.codes[0].code;
  auto it = std::find_if(t.codes.begin(), t.codes.end(), [&](const Told::Code& c) { return c.code == code; });
  const bool stood = it != t.codes.end() && (it == t.codes.begin() || mono - it->at <= kSettling);
  if (it == t.codes.end()) --it;  // the oldest goes
  *it = {code, mono};
  std::rotate(t.codes.begin(), it, std::next(it));
  if (!watched || before < 0 || stood || code == 0) return;
  told(m, code, t.gap,
       before == 0 ? fmt::format("the management library tells of Xid {}", code)
                   : fmt::format("the management library tells of Xid {}, before that of {}", code, before),
       mono, out);
}

// A count is of the last minutes only, so that it falls by itself; only a rise is news. A code that was not listed before counts
// from 0, once the GPU has been watched for as long as the exporter's window.
void Xids::on_count(const Sample& m, Time mono, Signs& out) {
  Told& t = told_[m.node.v * slots_ + static_cast<std::size_t>(m.slot)];
  const bool watched = look_at(t, mono);
  const auto code = static_cast<std::int32_t>(m.value / 1e6);
  const double count = m.value - code * 1e6;
  if (counts_.size() >= kCountsMax) std::erase_if(counts_, [&](const auto& c) { return mono - c.second.second > kGap; });
  if (counts_.size() >= kCountsMax) counts_.clear();  // no site has so many: all of them are baselines again
  const auto [it, first] = counts_.try_emplace({m.node, m.slot, code}, 0.0, mono);
  const bool known = !first && mono - it->second.second <= kGap;
  const double before = known ? it->second.first : 0;
  it->second = {count, mono};
  if (!watched || count <= before || (!known && mono - t.since < kSettling)) return;
  told(m, code, t.gap, fmt::format("the exporter counts Xid {} {:.0f} times lately", code, count), mono, out);
}

// An Xid that came at some time since the last look, `gap` ago. What the kernel said of this GPU since then is the same event:
// its finding gets a second witness.
void Xids::told(const Sample& m, std::int32_t code, Duration gap, std::string text, Time mono, Signs& out) {
  const XidRule* rule = rule_of(code);
  // Not judged: what an exporter's number leaves out. 45 does not say after which Xid, 154 not what the driver wants (that is
  // Field::recovery_action), 144 to 150 not whether they are fatal, which most are not.
  const bool link5 = code >= 144 && code <= 150;
  if (rule == nullptr) return;
  Sign sign{rule->kind, rule->severity, m.node, m.slot, {}, code, {Witness::scrape, m.at, {}, std::move(text)}};
  if (const auto it = roots_.find({m.node, m.slot}); it != roots_.end()) {
    const Root& root = it->second;
    const bool lost = root.kind == K::gpu_lost && mono - root.at <= gap + kAfterLoss;
    const bool follows = rule->kind == root.kind || rule->kind == K::app_error || rule->kind == K::gpu_fault;
    if (lost || (follows && mono - root.at <= gap + kConsequence)) {
      sign.kind = root.kind;
      sign.severity = kCrit;
      sign.code = root.code;
      out.seen.push_back(std::move(sign));
      return;
    }
  }
  if (link5) return;
  // An app_error is not held against the GPU (Suspect) here: by the time of the scrape another job may have it.
  if (rule->severity == kCrit) roots_[{m.node, m.slot}] = {rule->kind, code, mono};
  out.seen.push_back(std::move(sign));
}

void Xids::on_sample(const Sample& m, Time mono, Signs& out) {
  if (m.slot < 0 || m.value < 0) return;
  forget(mono);
  m.field == Field::xid_last ? on_last(m, mono, out) : on_count(m, mono, out);
}

void Xids::on_record(const KernelRecord& r, const State& s, Time mono, Signs& out) {
  forget(mono);
  switch (r.kind) {
    case KernelKind::sxid:
      if (r.fatal) out.seen.push_back(sign_of(r, K::nvlink_degraded, kCrit, r.code));
      return;
    case KernelKind::host_memory: out.seen.push_back(sign_of(r, K::host_fault, kWarn, 0)); return;
    default: break;
  }
  if (r.slot < 0) return;  // the address is not one of the node's GPUs or NICs: nothing to blame
  switch (r.kind) {
    case KernelKind::gpu_init: return begin(r, K::gpu_fault, kCrit, 0, mono, out);
    case KernelKind::gsp_dead: return begin(r, K::gsp_timeout, kCrit, 0, mono, out);
    case KernelKind::nic_fault: out.seen.push_back(sign_of(r, K::ib_degraded, kWarn, 0)); return;
    case KernelKind::off_bus: return begin(r, K::gpu_lost, kCrit, 0, mono, out);
    case KernelKind::xid: return on_xid(r, s, mono, out);
    default: return;  // links and PCIe have detectors of their own
  }
}

}  // namespace muster::detect
