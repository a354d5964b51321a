// `muster explain --file`: the events of a kernel log, streamed, so that a log of any size needs no more memory than a short one.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>

#include "commands.h"
#include "files.h"
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
  Listing(Format format, const Policy* policy) : format_(format), views_(policy), table_(report::event_table()) {}

  void show(const std::vector<LogEvent>& events) {
    constexpr std::size_t kRowsMax = 500;  // a table is aligned as a whole; beyond so many rows, in pages
    for (const LogEvent& e : events) {
      const report::FaultView v = views_.view(e);
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
  }
  void finish() {
    if (format_ == Format::json)
      put(shown_ == 0 ? "[]\n" : "]\n");
    else if (format_ != Format::jsonl)
      page();
  }

 private:
  void page() {
    if (table_.rows.empty()) return;
    put(format_ == Format::csv ? report::render_csv(table_, !paged_)
                               : report::render_table(table_, {!paged_, format_ == Format::wide, colour_wanted()}));
    table_.rows.clear();
    paged_ = true;
  }

  Format format_;
  report::EventViews views_;
  report::Table table_;
  std::size_t shown_ = 0;
  bool paged_ = false;
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
Result<void> read_all(Input& in, LogReader& reader, Listing& out) {
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
      reader.feed(*bytes);
    } else if (const auto r = zip->feed(*bytes,
                                        [&](std::string_view piece) {
                                          reader.feed(piece);
                                          out.show(reader.take());
                                        });
               !r) {
      return r;
    }
    out.show(reader.take());
  }
  return zip ? zip->finish() : Result<void>();
}

void tell(const LogCounts& c) {
  say(fmt::format("{} line{}, {} event{}", c.lines, c.lines == 1 ? "" : "s", c.events, c.events == 1 ? "" : "s"));
  if (c.look_alikes > 0) {
    say(fmt::format("{} line{} with the words of an Xid where the kernel would not have put them: not believed", c.look_alikes,
                    c.look_alikes == 1 ? "" : "s"));
  }
  if (c.damaged > 0) say(fmt::format("{} damaged line{}: not read", c.damaged, c.damaged == 1 ? "" : "s"));
  if (c.cut > 0) say(fmt::format("{} line{} longer than {} bytes: the rest not read", c.cut, c.cut == 1 ? "" : "s", kLogLineMax));
}

}  // namespace

int explain_file(const ExplainOptions& options, const Policy* policy) {
  Input in(options.file);
  LogReader reader;
  Listing out(options.output.format, policy);
  const auto read = read_all(in, reader, out);
  reader.finish();  // what was read before an error is still told
  out.show(reader.take());
  if (read || reader.counts().lines > 0) out.finish();
  tell(reader.counts());
  if (!read) return say_error(read.error());
  return finish_output();
}

}  // namespace muster::cmd
