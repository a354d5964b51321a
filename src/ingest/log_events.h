// A kernel log as a stream of bytes to the events in it. One event is often several lines: they are folded per device, code and
// five seconds (where the log has times; else by nearness). Bounded in memory whatever the input, and never more sure than the
// log's form allows: what is read here explains, it does not act.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/kernel_text.h"
#include "ingest/log_prefix.h"

namespace muster {

struct LogEvent {
  std::uint64_t line_first = 0, line_last = 0;  // 1-based
  std::uint32_t lines = 1;
  std::string code;  // of the fault catalogue, or "Xid 999"
  int xid = 0;       // 0: none
  std::string pci;   // "0000:c3:00", with the function where it is not a GPU's; empty: not named
  std::string mig;   // "GPU-I:05 GPU-CI:00"
  std::int64_t pid = -1;
  std::string process;  // untrusted
  int caused_by = 0;    // an Xid
  int verdict = -1;     // Xid 154
  Said said = Said::nothing;
  std::string words;  // Xid: the driver's own words of the first line that has some
  Origin origin = Origin::bare;
  bool vague = false;
  // 0 to 1: how sure it is that the kernel said this. A structured record 0.95; a file's line with the kernel's mark, and a
  // tool's report, 0.8; without a mark 0.6; in a tool's words 0.5; 0.3 where the address is not whole.
  double confidence() const;
};

struct LogCounts {
  std::uint64_t bytes = 0, lines = 0, events = 0;
  std::uint64_t known = 0;        // lines in a form that is a log's: a prefix, or words of the kernel
  std::uint64_t look_alikes = 0;  // lines with an Xid's or SXid's words where the kernel would not have put them: not believed
  std::uint64_t damaged = 0;      // lines with bytes a kernel log does not have
  std::uint64_t cut = 0;          // lines longer than kLogLineMax, of which the rest was not read
};

constexpr std::size_t kLogLineMax = 8192;  // bytes
constexpr std::int64_t kFoldNs = 5'000'000'000;

class LogReader {
 public:
  void feed(std::string_view bytes);
  void finish();
  // Events that are complete, in the order of their first lines.
  std::vector<LogEvent> take();
  const LogCounts& counts() const { return counts_; }

 private:
  struct Moment {
    LogClock clock = LogClock::none;
    std::int64_t ns = 0;
  };
  struct Open {
    LogEvent event;
    TextKind kind = TextKind::xid;
    int number = 0;
    bool cut = false;       // the rest of its line may be on the next
    bool prefixed = false;  // its line had a prefix
    std::string host;       // whose log, where it says so
    Moment at;
  };

  void line(std::string_view text);
  void message(std::string_view text, const LogPrefix& p, bool bare_line);
  bool continues(std::string_view text, const LogPrefix& p);
  bool near(const Open& o, const Moment& at) const;
  bool same(const Open& o, const KernelText& k) const;
  Open* find(const KernelText& k, const LogPrefix& p, const Moment& at);
  void close_all();
  void fold(Open& o, const KernelText& k, const LogPrefix& p);
  void open(const KernelText& k, const LogPrefix& p, const Moment& at);
  void part(const KernelText& k);
  void close_old(const Moment& at);

  std::string carry_;      // the beginning of a line whose end is not here yet
  bool overflow_ = false;  // the line in carry_ is too long: the rest is passed over
  std::deque<Open> open_;
  std::vector<LogEvent> done_;
  LogCounts counts_;
  Moment now_;           // of the last line that had a time
  std::string host_;     // of that line
  PciAddress part_pci_;  // a GPU whose loss is being told over several lines
  std::uint64_t part_first_ = 0, part_last_ = 0;
};

}  // namespace muster
