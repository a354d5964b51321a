// `muster explain --file`: the events of a kernel log, streamed, so that a log of any size needs no more memory than a short one;
// or the problems in a tool's report, which is kept whole, up to a limit.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "commands.h"
#include "ingest/documents.h"
#include "ingest/gunzip.h"
#include "ingest/log_events.h"
#include "input.h"
#include "report/fault_view.h"
#include "report/table.h"
#include "say.h"
#include "scene.h"

namespace muster::cmd {
namespace {

using report::Format;

class Listing {
 public:
  Listing(Format format, const Policy* policy)
      : format_(format), policy_(policy), views_(policy), table_(report::event_table()) {}

  void show(const std::vector<LogEvent>& events) {
    for (const LogEvent& e : events) show(e, views_.view(e));
  }
  void show(const DocumentReading& d) {
    for (const DocumentProblem& p : d.problems) show(report::event_of(p), report::view_of(p, d.source, policy_));
  }
  void finish() {
    if (format_ == Format::json)
      put(shown_ == 0 ? "[]\n" : "]\n");
    else if (format_ != Format::jsonl)
      page();
  }

 private:
  void show(const LogEvent& e, const report::FaultView& v) {
    constexpr std::size_t kRowsMax = 500;  // a table is aligned as a whole; beyond so many rows, in pages
    if (format_ == Format::jsonl) {
      put(report::event_json(e, v) + "\n");
    } else if (format_ == Format::json) {
      put((shown_ == 0 ? "[" : ",\n") + report::event_json(e, v));
    } else {
      report::add_event(table_, e, v);
      if (table_.rows.size() >= kRowsMax) page();
    }
    ++shown_;
  }
  void page() {
    if (table_.rows.empty()) return;
    put(format_ == Format::csv ? report::render_csv(table_, !paged_)
                               : report::render_table(table_, {!paged_, format_ == Format::wide, colour_wanted()}));
    table_.rows.clear();
    paged_ = true;
  }

  Format format_;
  const Policy* policy_;
  report::EventViews views_;
  report::Table table_;
  std::size_t shown_ = 0;
  bool paged_ = false;
};

// What is read, to where it belongs: its first bytes say whether it is JSON, which is a report as a whole. Anything else is read
// as a log, and what reports stand in it as such.
class Taker {
 public:
  explicit Taker(Listing& out) : out_(out) {}

  void feed(std::string_view bytes) {
    if (kind_ && *kind_ != DocumentKind::amd_smi) return to_log(bytes);
    const std::size_t room = kDocumentBytesMax - kept_.size();
    cut_ = cut_ || bytes.size() > room;
    kept_.append(bytes.substr(0, room));
    if (!kind_) decide(false);
  }
  void finish() {
    if (!kind_) decide(true);
    log_.finish();  // what was read before an error is still told
    out_.show(log_.take());
    std::vector<FoundReport> found = finder_.finish();
    if (kind_ == DocumentKind::amd_smi) found = {{0, *kind_, std::move(kept_), cut_}};
    for (const FoundReport& f : found) {
      DocumentReading d = read_document(f.kind, f.text);
      for (DocumentProblem& p : d.problems) {
        p.line_first += f.lines_before;
        p.line_last += f.lines_before;
      }
      if (f.cut) d.notes.push_back(fmt::format("it is longer than {} MiB: the rest not read", kDocumentBytesMax >> 20));
      out_.show(d);
      documents_.push_back({f.lines_before, std::move(d)});
    }
  }
  bool anything() const { return log_.counts().lines > 0 || !documents_.empty(); }
  // Whether all of it could be read.
  bool whole() const {
    return std::all_of(documents_.begin(), documents_.end(), [](const Document& d) { return d.reading.broken.empty(); });
  }
  void tell() const;

 private:
  struct Document {
    std::uint64_t lines_before = 0;
    DocumentReading reading;
  };

  void decide(bool ended) {
    constexpr std::string_view kMark = "\xEF\xBB\xBF";  // of UTF-8, where an editor put it
    if (kept_.starts_with(kMark)) kept_.erase(0, kMark.size());
    kind_ = recognise_document(kept_, ended);
    if (kind_ && *kind_ != DocumentKind::amd_smi) to_log(std::exchange(kept_, {}));
  }
  void to_log(std::string_view bytes) {
    log_.feed(bytes);
    out_.show(log_.take());
    finder_.feed(bytes);
  }

  Listing& out_;
  LogReader log_;
  ReportFinder finder_;
  std::optional<DocumentKind> kind_;  // nothing: not known yet
  std::string kept_;                  // until it is; of JSON all
  bool cut_ = false;
  std::vector<Document> documents_;
};

// Other packed forms are not unpacked here; read as text they would pass for a log without events.
Result<void> refuse_packed(std::string_view head) {
  constexpr std::pair<std::string_view, const char*> kForms[] = {{"\xfd"
                                                                  "7zXZ",
                                                                  "xz"},
                                                                 {"BZh", "bzip2"},
                                                                 {"\x28\xb5\x2f\xfd", "zstd"}};
  for (const auto& [magic, name] : kForms) {
    if (head.starts_with(magic))
      return fail(Code::bad_input, fmt::format("the log is packed with {}", name),
                  fmt::format("unpack it on the way: {} -dc LOG | muster explain --file -", name));
  }
  return {};
}

// Text in two or four bytes a character would pass for a log without events as well.
Result<void> refuse_wide(std::string_view head) {
  head = head.substr(0, 4096);
  const auto zeros = static_cast<std::size_t>(std::count(head.begin(), head.end(), '\0'));
  if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff") || zeros * 10 > head.size() * 3)
    return fail(Code::corrupt, "it is in UTF-16 or another encoding of several bytes a character, or no text at all",
                "write it anew in UTF-8: iconv -f UTF-16 -t UTF-8 LOG | muster explain --file -");
  if (zeros > 0) say("it holds zero bytes, which no log in text has: is it a binary file?");
  return {};
}

// Feeds the whole input, unpacked where it is a gzip file.
Result<void> read_all(Input& in, Taker& taker) {
  bool first = true, first_piece = true;
  std::optional<Gunzip> zip;
  Result<void> readable;
  const auto take = [&](std::string_view piece) {
    if (std::exchange(first_piece, false)) readable = refuse_wide(piece);
    if (readable) taker.feed(piece);
  };
  while (readable) {
    const auto bytes = in.next();
    if (!bytes) return tl::unexpected<Error>(bytes.error());
    if (bytes->empty()) break;
    if (std::exchange(first, false)) {
      if (is_gzip(*bytes)) {
        zip.emplace();
      } else if (auto ok = refuse_packed(*bytes); !ok) {
        return ok;
      }
    }
    if (!zip) {
      take(*bytes);
    } else if (const auto r = zip->feed(*bytes, take); !r) {
      return r;
    }
  }
  return zip && readable ? zip->finish() : readable;
}

void tell_counts(const LogCounts& c) {
  say(fmt::format("{} line{}, {} event{}", c.lines, c.lines == 1 ? "" : "s", c.events, c.events == 1 ? "" : "s"));
  if (c.look_alikes > 0) {
    say(fmt::format("{} line{} with the words of an Xid where the kernel would not have put them: not believed", c.look_alikes,
                    c.look_alikes == 1 ? "" : "s"));
  }
  if (c.damaged > 0) say(fmt::format("{} damaged line{}: not read", c.damaged, c.damaged == 1 ? "" : "s"));
  if (c.cut > 0) say(fmt::format("{} line{} longer than {} bytes: the rest not read", c.cut, c.cut == 1 ? "" : "s", kLogLineMax));
}

// `line`: where it begins; 0: it is all there is.
void tell_document(const DocumentReading& d, std::uint64_t line) {
  const std::size_t n = d.problems.size();
  const std::string count = fmt::format("{} problem{}", n, n == 1 ? "" : "s");
  std::string result;
  if (!d.broken.empty())
    result = n == 0 ? d.broken : count + ", and " + d.broken;
  else if (n > 0)
    result = count;
  else
    result = d.notes.empty() ? "nothing is wrong in it" : "nothing wrong in what could be read";
  say(fmt::format("{}recognised as {}: {}", line == 0 ? "" : fmt::format("from line {} on ", line), d.what, result));
  for (const std::string& note : d.notes) say(note);
}

void Taker::tell() const {
  const LogCounts& c = log_.counts();
  if (documents_.empty() && c.lines == 0) return say("it is empty: 0 lines");
  // A report's own lines are none of a log: their count says nothing, unless there is a log around it.
  if (documents_.empty() || c.events > 0 || documents_.front().lines_before > kPromptLines) tell_counts(c);
  if (documents_.empty() && c.known == 0) {
    say("nothing in it looks like a log or report that Muster knows: kernel logs (dmesg, syslog, journald), and what "
        "nvidia-smi -q, ncclras, ibqueryerrors and amd-smi --json print; see muster explain --help");
  }
  const bool alone = documents_.size() == 1 && documents_.front().lines_before <= kPromptLines;
  for (const Document& d : documents_) tell_document(d.reading, alone ? 0 : d.lines_before + 1);
}

}  // namespace

int explain_file(const ExplainOptions& options, const Policy* policy) {
  Input in(options.file);
  Listing out(options.output.format, policy);
  Taker taker(out);
  const auto read = read_all(in, taker);
  taker.finish();
  if (read || taker.anything()) out.finish();
  if (read || taker.anything()) taker.tell();
  if (!read) return say_error(read.error());
  const int rc = finish_output();
  return rc == 0 && !taker.whole() ? 1 : rc;
}

}  // namespace muster::cmd
