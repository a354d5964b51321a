// `muster explain --file`: the events of a kernel log, streamed, so that a log of any size needs no more memory than a short one;
// or the problems in a tool's report, which is kept whole, up to a limit.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>

#include "commands.h"
#include "files.h"
#include "ingest/documents.h"
#include "ingest/gunzip.h"
#include "ingest/log_events.h"
#include "report/fault_view.h"
#include "report/table.h"
#include "say.h"
#include "scene.h"

namespace muster::cmd {
namespace {

using report::Format;

// Descriptor 0, or a file's, closed on every way out.
class Input {
 public:
  explicit Input(const std::string& path)
      : path_(path), fd_(path == "-" ? 0 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)), why_(fd_ < 0 ? errno : 0) {}
  ~Input() {
    if (fd_ > 0) ::close(fd_);
  }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  // The next bytes; empty at the end.
  Result<std::string_view> next() {
    if (fd_ < 0) return tl::unexpected<Error>(file_error("read", path_, why_));
    while (true) {
      const ssize_t n = ::read(fd_, buffer_.data(), buffer_.size());
      if (n >= 0) return std::string_view(buffer_.data(), static_cast<std::size_t>(n));
      if (errno != EINTR) return tl::unexpected<Error>(file_error("read", path_, errno));
    }
  }

 private:
  std::string path_;
  int fd_;
  int why_;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 20);
};

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

// What is read, to where it belongs: its first bytes say whether it is a log or a tool's report.
class Taker {
 public:
  explicit Taker(Listing& out) : out_(out) {}

  void feed(std::string_view bytes) {
    if (kind_ == DocumentKind::none) return to_log(bytes);
    const std::size_t room = kDocumentBytesMax - kept_.size();
    cut_ = cut_ || bytes.size() > room;
    kept_.append(bytes.substr(0, room));
    if (!kind_) decide(false);
  }
  void finish() {
    if (!kind_) decide(true);
    log_.finish();  // what was read before an error is still told
    out_.show(log_.take());
    if (*kind_ == DocumentKind::none) return;
    document_ = read_document(*kind_, kept_);
    out_.show(document_);
  }
  bool anything() const { return log_.counts().lines > 0 || !document_.what.empty(); }
  void tell() const;

 private:
  void decide(bool ended) {
    kind_ = recognise_document(kept_, ended);
    if (kind_ == DocumentKind::none) to_log(std::exchange(kept_, {}));
  }
  void to_log(std::string_view bytes) {
    log_.feed(bytes);
    out_.show(log_.take());
  }

  Listing& out_;
  LogReader log_;
  std::optional<DocumentKind> kind_;  // nothing: not known yet
  std::string kept_;                  // until it is; of a report all
  bool cut_ = false;
  DocumentReading document_;
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
  if (head.substr(0, 4096).find('\0') != std::string_view::npos)
    say("it holds zero bytes, which no log in text has: is it a binary file, or in UTF-16?");
  return {};
}

// Feeds the whole input, unpacked where it is a gzip file.
Result<void> read_all(Input& in, Taker& taker) {
  bool first = true;
  std::optional<Gunzip> zip;
  while (true) {
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
      taker.feed(*bytes);
    } else if (const auto r = zip->feed(*bytes, [&](std::string_view piece) { taker.feed(piece); }); !r) {
      return r;
    }
  }
  return zip ? zip->finish() : Result<void>();
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

void Taker::tell() const {
  if (kind_ == DocumentKind::none) return tell_counts(log_.counts());
  const std::size_t n = document_.problems.size();
  say(fmt::format("recognised as {}: {}", document_.what,
                  n == 0 ? std::string(document_.notes.empty() ? "nothing is wrong in it" : "nothing wrong in what could be read")
                         : fmt::format("{} problem{}", n, n == 1 ? "" : "s")));
  for (const std::string& note : document_.notes) say(note);
  if (cut_) say(fmt::format("it is longer than {} MiB: the rest not read", kDocumentBytesMax >> 20));
}

}  // namespace

int explain_file(const ExplainOptions& options, const Policy* policy) {
  Input in(options.file);
  Listing out(options.output.format, policy);
  Taker taker(out);
  const auto read = read_all(in, taker);
  taker.finish();
  if (read || taker.anything()) out.finish();
  taker.tell();
  if (!read) return say_error(read.error());
  return finish_output();
}

}  // namespace muster::cmd
