#include "ingest/log_events.h"

#include <algorithm>
#include <cstring>

namespace muster {
namespace {

constexpr std::size_t kOpenMax = 512;
constexpr std::uint64_t kLinesApart = 6;        // without times: an event's lines are no farther apart
constexpr std::uint64_t kOomLinesApart = 2000;  // the report of a kill lists every process
constexpr std::uint64_t kPartLinesApart = 4;

std::string shown(const KernelText& k) {
  if (!k.pci) return {};
  std::string s = render(*k.pci);
  const bool gpu = k.kind == TextKind::xid || k.kind == TextKind::off_bus || k.kind == TextKind::nvrm;
  if (!gpu && k.function >= 0) s += "." + std::to_string(k.function);
  return s;
}

bool lost(TextKind kind, int number) { return kind == TextKind::off_bus || (kind == TextKind::xid && number == 79); }

// Kernels escape control characters; a tab is what some tools put between columns.
bool damaged(std::string_view s) {
  for (const char ch : s) {
    const auto c = static_cast<unsigned char>(ch);
    if ((c < 0x20 && c != '\t') || c == 0x7f) return true;
  }
  return false;
}

// Whether a line speaks of an Xid or SXid at all. Most lines do not.
bool speaks_of_xid(std::string_view s) {
  for (const char* at = s.data();
       (at = static_cast<const char*>(std::memchr(at, 'X', static_cast<std::size_t>(s.data() + s.size() - at)))); ++at) {
    const std::string_view rest(at, static_cast<std::size_t>(s.data() + s.size() - at));
    if (rest.starts_with("Xid (") || rest.starts_with("Xid: ")) return true;
  }
  return false;
}

// What `dmesg --color=always` puts between words: ESC [ ... m.
std::string without_colours(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
      const std::size_t end = text.find_first_not_of("0123456789;", i + 2);
      if (end != std::string_view::npos && text[end] == 'm') {
        i = end;
        continue;
      }
    }
    out += text[i];
  }
  return out;
}

}  // namespace

double LogEvent::confidence() const {
  if (vague) return 0.3;
  switch (origin) {
    case Origin::record: return 0.95;
    case Origin::kernel:
    case Origin::report:
    case Origin::fabric: return 0.8;
    case Origin::bare: return 0.6;
    default: return 0.5;
  }
}

void LogReader::feed(std::string_view bytes) {
  counts_.bytes += bytes.size();
  while (!bytes.empty()) {
    const auto* end = static_cast<const char*>(std::memchr(bytes.data(), '\n', bytes.size()));
    const std::size_t n = end != nullptr ? static_cast<std::size_t>(end - bytes.data()) : bytes.size();
    if (end != nullptr && carry_.empty() && !overflow_) {
      line(bytes.substr(0, n));
    } else {
      const std::size_t room = kLogLineMax + 1 - std::min(carry_.size(), kLogLineMax + 1);
      carry_.append(bytes.substr(0, std::min(n, room)));
      overflow_ = overflow_ || n > room;
      if (end != nullptr) {
        line(carry_);
        carry_.clear();
        overflow_ = false;
      }
    }
    bytes.remove_prefix(end != nullptr ? n + 1 : n);
  }
}

void LogReader::finish() {
  if (!carry_.empty()) line(carry_);
  carry_.clear();
  close_all();
}

void LogReader::close_all() {
  for (Open& o : open_) done_.push_back(std::move(o.event));
  open_.clear();
}

std::vector<LogEvent> LogReader::take() {
  counts_.events += done_.size();
  return std::exchange(done_, {});
}

void LogReader::line(std::string_view text) {
  ++counts_.lines;
  if (text.size() > kLogLineMax) {
    ++counts_.cut;
    text = text.substr(0, kLogLineMax);
  }
  while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  if (text.empty()) return;
  std::string plain;
  if (text.find('\x1b') != std::string_view::npos) {
    plain = without_colours(text);
    text = plain;
  }
  const LogPrefix p = read_log_prefix(text);
  // The kernel's clock begins anew with a boot: nothing of before belongs to what follows.
  constexpr std::int64_t kDisorderNs = 1'000'000'000;
  if (p.clock == LogClock::boot && now_.clock == LogClock::boot && p.ns + kDisorderNs < now_.ns && p.host == host_) close_all();
  if (p.clock != LogClock::none) host_ = p.host;
  if (p.clock == LogClock::step) {
    constexpr std::int64_t kRoom = (std::int64_t{1} << 62) - 1;
    now_.ns = ((now_.clock == LogClock::step ? now_.ns : 0) + std::min(p.ns, kRoom)) & kRoom;
    now_.clock = LogClock::step;
  } else if (p.clock != LogClock::none) {
    now_ = {p.clock, p.ns};
  }
  const bool bare = p.clock == LogClock::none && p.origin == Origin::bare;
  counts_.known += bare ? 0 : 1;
  message(text, p, bare);
}

void LogReader::message(std::string_view text, const LogPrefix& p, bool bare_line) {
  const std::string_view said = text.substr(p.size);
  if (p.origin == Origin::foreign) {
    if (speaks_of_xid(said)) ++counts_.look_alikes;
    return;
  }
  const bool indented = bare_line && p.size > 0;  // no first byte to hold on to: part of something else
  std::optional<KernelText> k;
  if (!indented) {
    k = read_kernel_text(said, p.origin == Origin::record ? Address::whole : Address::any);
    if (k && k->vague && p.origin == Origin::wrapped) k.reset();
    if (!k && (p.origin == Origin::fabric || p.origin == Origin::wrapped)) k = read_fabric_manager(said);
  }
  if (!k) {
    if (continues(said, p)) return;
    if (speaks_of_xid(said)) ++counts_.look_alikes;
    return;
  }
  counts_.known += bare_line ? 1 : 0;
  if (damaged(text)) {
    ++counts_.damaged;
    return;
  }
  // Without a time of its own a line is as old as the one before it, if that is near; but only among lines that have none.
  const Moment at = p.clock == LogClock::none ? Moment{} : now_;
  if (k->kind == TextKind::off_bus_part) return part(*k);
  if (k->kind == TextKind::off_bus && !k->pci) {
    if (part_last_ == 0 || counts_.lines - part_last_ > kPartLinesApart) return;
    k->pci = part_pci_;
  }
  if (Open* o = find(*k, p, at)) {
    fold(*o, *k, p);
  } else if (k->kind != TextKind::aer_detail) {
    open(*k, p, at);
  }
  part_last_ = 0;
  close_old(at);
}

void LogReader::part(const KernelText& k) {
  if (k.pci) {
    part_pci_ = *k.pci;
    part_first_ = counts_.lines;
    part_last_ = counts_.lines;
  } else if (part_last_ != 0 && counts_.lines - part_last_ <= kPartLinesApart) {
    part_last_ = counts_.lines;
  }
}

// The rest of an Xid line that ended right after its code.
bool LogReader::continues(std::string_view text, const LogPrefix& p) {
  if (open_.empty()) return false;
  Open& o = open_.back();
  if (!o.cut || o.event.line_last + 1 != counts_.lines) return false;
  o.cut = false;
  const bool prefixed = p.size > 0 && p.clock != LogClock::none;
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const bool known = text.starts_with("pid=") || text.starts_with("GPU ") || text.starts_with("name=");
  if (!known && (prefixed || !o.prefixed)) return false;
  KernelText k;
  if (damaged(text) || !read_xid_tail(text, k)) return false;
  o.event.line_last = counts_.lines;
  ++o.event.lines;
  o.event.pid = k.pid;
  o.event.process = std::string(k.process);
  o.event.words = std::string(k.words.substr(0, 512));
  return true;
}

bool LogReader::near(const Open& o, const Moment& at) const {
  if (at.clock != LogClock::none && at.clock == o.at.clock) return std::abs(at.ns - o.at.ns) <= kFoldNs;
  const bool oom = o.event.code == "HOST OOM kill" && o.event.pid < 0;
  return counts_.lines - o.event.line_last <= (oom ? kOomLinesApart : kLinesApart);
}

bool LogReader::same(const Open& o, const KernelText& k) const {
  const std::string pci = shown(k);
  const bool place = o.event.pci == pci;
  switch (k.kind) {
    case TextKind::xid:
      if (k.number == 79 && o.kind == TextKind::off_bus) return place || o.event.pci.empty();
      if (o.kind != TextKind::xid || o.number != k.number) return false;
      if (o.event.pci.empty() && o.event.vague && !pci.empty() && o.event.words.empty() && o.event.pid < 0) return true;
      if (o.event.pid >= 0 && k.pid >= 0 && o.event.pid != k.pid) return false;  // another program's
      return place && o.event.mig == k.mig && o.event.verdict == k.verdict;
    case TextKind::off_bus: return lost(o.kind, o.number) && (place || o.event.pci.empty());
    case TextKind::lost_words: return lost(o.kind, o.number);
    case TextKind::xid_words: return o.kind == TextKind::xid && o.number == k.number;
    case TextKind::sxid: return o.kind == TextKind::sxid && o.number == k.number && (place || pci.empty() || o.event.pci.empty());
    case TextKind::aer: return o.kind == TextKind::aer && o.number == k.number && place;
    case TextKind::aer_detail: return o.kind == TextKind::aer && place;
    case TextKind::nvrm: return o.event.code == k.code && (place || pci.empty() || o.event.pci.empty());
    case TextKind::nic: return o.kind == TextKind::nic && o.event.code == k.code && place;
    default: break;
  }
  if (o.kind != TextKind::host) return false;
  // An uncorrected machine check and the note that one was logged are the same; so are the parts of one kill.
  if (k.code.starts_with("HOST MCE") && o.event.code.starts_with("HOST MCE")) return true;
  return o.event.code == k.code && (o.event.pid == k.pid || o.event.pid < 0);
}

LogReader::Open* LogReader::find(const KernelText& k, const LogPrefix& p, const Moment& at) {
  for (auto o = open_.rbegin(); o != open_.rend(); ++o) {
    if (o->host == p.host && near(*o, at) && same(*o, k)) return &*o;
  }
  return nullptr;
}

void LogReader::fold(Open& o, const KernelText& k, const LogPrefix& p) {
  LogEvent& e = o.event;
  e.line_last = counts_.lines;
  if (part_last_ != 0 && k.kind == TextKind::off_bus) e.line_first = std::min(e.line_first, part_first_);
  ++e.lines;
  if (k.kind == TextKind::aer_detail) {
    if (!k.code.empty() && !e.code.starts_with("AER corr ") && !e.code.starts_with("AER uncorr ")) e.code = k.code;
    return;
  }
  if (k.kind == TextKind::xid && o.kind == TextKind::off_bus) {  // the same loss, now with its number
    o.kind = TextKind::xid;
    o.number = k.number;
    e.code = k.code;
    e.xid = k.number;
  }
  if (k.code == "HOST MCE uncorrected") e.code = k.code;
  if (e.pci.empty() && k.pci) {
    e.pci = shown(k);
    e.mig = std::string(k.mig);
    e.vague = k.vague;
    e.origin = p.origin;
  }
  if (e.pid < 0) e.pid = k.pid;
  if (e.process.empty()) e.process = std::string(k.process);
  if (e.caused_by == 0) e.caused_by = k.caused_by;
  if (e.words.empty()) e.words = std::string(k.words.substr(0, 512));
  if (k.said == Said::fatal || e.said == Said::nothing) e.said = k.said == Said::nothing ? e.said : k.said;
  o.cut = k.cut;
}

void LogReader::open(const KernelText& k, const LogPrefix& p, const Moment& at) {
  Open o;
  o.kind = k.kind == TextKind::xid_words ? TextKind::xid : k.kind == TextKind::lost_words ? TextKind::off_bus : k.kind;
  o.number = k.number;
  o.cut = k.cut;
  o.prefixed = p.size > 0;
  o.host = p.host;
  o.at = at;
  LogEvent& e = o.event;
  e.line_first = part_last_ != 0 && k.kind == TextKind::off_bus && k.pci && *k.pci == part_pci_ ? part_first_ : counts_.lines;
  e.line_last = counts_.lines;
  e.lines = static_cast<std::uint32_t>(e.line_last - e.line_first + 1);
  e.code = k.code;
  e.xid = o.kind == TextKind::xid ? k.number : 0;
  e.pci = shown(k);
  e.mig = std::string(k.mig);
  e.pid = k.pid;
  e.process = std::string(k.process);
  e.caused_by = k.caused_by;
  e.verdict = k.verdict;
  e.said = k.said;
  e.words = std::string(k.words.substr(0, 512));
  e.origin = p.origin;
  e.vague = k.vague;
  open_.push_back(std::move(o));
}

// Events leave in the order they came, when nothing more can be folded into them.
void LogReader::close_old(const Moment& at) {
  while (!open_.empty() && (open_.size() > kOpenMax || !near(open_.front(), at))) {
    done_.push_back(std::move(open_.front().event));
    open_.pop_front();
  }
}

}  // namespace muster
