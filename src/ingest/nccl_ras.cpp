#include "ingest/nccl_ras.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace muster {
namespace {

constexpr auto npos = std::string_view::npos;

bool has(std::string_view s, std::string_view part) { return s.find(part) != npos; }
bool begins(std::string_view s, std::string_view with) { return s.substr(0, with.size()) == with; }
std::string kept(std::string_view s) { return printable(s.substr(0, kRasTextMax)); }

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (const std::string_view w : split(line, ' ')) {
    if (!w.empty() && out.size() < 64) out.push_back(w);
  }
  return out;
}

std::int64_t whole(std::string_view s) {
  const auto v = parse_int(s);
  return v && *v >= 0 ? *v : -1;
}

// "7-8" is a range: the larger one.
std::int64_t upper(std::string_view s) { return whole(s.substr(s.find('-') == npos ? 0 : s.find('-') + 1)); }

class Reader {
 public:
  explicit Reader(RasReport& out) : out_(out) {}

  void line(std::string_view raw) {
    const bool indented = !raw.empty() && raw[0] == ' ';
    const std::string_view s = trim(raw);
    if (s.empty() || s.find_first_not_of('=') == npos || s == "OK" || begins(s, "SERVER PROTOCOL")) return;
    if (begins(s, "NCCL version ")) {
      out_.version = kept(s.substr(13, s.find(' ', 13) - 13));
    } else if (s == "Job summary") {
      enter(Part::job);
    } else if (begins(s, "Communicators")) {
      enter(Part::comms);
      if (const std::size_t at = s.find('('); at != npos) {
        const auto took = parse_double(s.substr(at + 1, s.find('s', at) - at - 1));
        out_.took_s = took && *took >= 0 && *took < 1e9 ? *took : -1;
      }
    } else if (s == "Errors") {
      enter(Part::errors);
    } else if (s == "Warnings") {
      enter(Part::warnings);
    } else if (part_ == Part::job) {
      job(words_of(s));
    } else if (part_ == Part::comms) {
      comm(words_of(s));
    } else if (part_ == Part::errors || part_ == Part::warnings) {
      indented ? detail(s) : head(s);
    } else if (!begins(s, "CUDA ")) {
      ++out_.not_understood;
    }
  }

 private:
  enum class Part : std::uint8_t { none, job, comms, errors, warnings };

  void enter(Part p) {
    part_ = p;
    current_ = nullptr;
    out_.recognised = true;
  }
  template <class T>
  T* keep(std::vector<T>& all, T one) {
    if (all.size() >= kRasItemsMax) {
      ++out_.left_out;
      return nullptr;
    }
    all.push_back(std::move(one));
    return &all.back();
  }

  void job(const std::vector<std::string_view>& w) {
    if (w.size() < 5 || whole(w[0]) < 0) return;  // the heads of its columns
    out_.nodes = whole(w[0]);
    out_.processes = whole(w[3]);
    out_.gpus = whole(w[4]);
  }

  // group, comms, nodes per comm, ranks per node, ranks per comm, ranks in group, status, errors
  void comm(const std::vector<std::string_view>& w) {
    if (!w.empty() && (w[0] == "Group" || w[0] == "#")) return;
    if (w.size() != 8 || whole(w[0]) < 0) {
      ++out_.not_understood;
      return;
    }
    RasGroup g{whole(w[0]), whole(w[1]), whole(w[5]), -1, kept(w[6]), kept(w[7])};
    const std::int64_t per_comm = upper(w[4]);
    if (per_comm >= 0 && g.comms >= 0 && per_comm < 1'000'000'000 && g.comms < 1'000'000'000)
      g.ranks_expected = per_comm * g.comms;
    keep(out_.groups, std::move(g));
  }

  // "INCOMPLETE" or "#0-0 (cf264af53edbe986) INCOMPLETE"
  void head(std::string_view s) {
    RasProblem p;
    p.warning = part_ == Part::warnings;
    const auto w = words_of(s);
    p.what = kept(w.back());
    if (s[0] == '#') {
      const std::size_t open = s.find('('), close = s.find(')');
      if (open != npos && close != npos && close > open) p.comm = kept(s.substr(open + 1, close - open - 1));
      p.group = whole(s.substr(1, s.find('-') - 1));
    }
    current_ = keep(out_.problems, std::move(p));
    lost_ = current_ == nullptr;
  }

  void detail(std::string_view s) {
    if (lost_) return;
    if (current_ == nullptr) {
      ++out_.not_understood;
      return;
    }
    const auto w = words_of(s);
    if (current_->text.empty()) current_->text = kept(s);
    if (begins(s, "Rank ") && has(s, " managed by process ")) {
      // Rank 12 -- GPU 4 managed by process 323032 on node 10.137.190.124
      // Rank 2 has launched up to operation 400 -- GPU 0 managed by process 600 on node 10.0.0.1
      RasMember m;
      after(w, "operation", [&](std::string_view v) { m.launched = whole(v); });
      if (m.launched >= 0) keep(current_->counts, std::pair(std::int64_t{1}, m.launched));
      // Those of a count stand in the lines after it.
      if (m.launched < 0 && !current_->counts.empty()) m.launched = current_->counts.back().second;
      m.rank = w.size() > 1 ? whole(w[1]) : -1;
      after(w, "process", [&](std::string_view v) { m.pid = whole(v); });
      after(w, "node", [&](std::string_view v) { m.node = kept(v); });
      after(w, "GPU", [&](std::string_view v) { m.gpus = kept(v); });
      keep(current_->members, std::move(m));
    } else if (begins(s, "Process ")) {
      // Process 3487984 on node 172.16.64.213 managing GPU 5
      RasMember m;
      m.pid = w.size() > 1 ? whole(w[1]) : -1;
      after(w, "node", [&](std::string_view v) { m.node = kept(v); });
      after(w, "GPU", [&](std::string_view v) { m.gpus = kept(v); });
      after(w, "GPUs", [&](std::string_view v) { m.gpus = kept(v); });
      keep(current_->members, std::move(m));
    } else if (begins(s, "The missing rank")) {
      for (const std::string_view r : split(s.substr(std::min(s.find(':') + 1, s.size())), ',')) {
        if (const std::int64_t n = whole(trim(r)); n >= 0) keep(current_->members, RasMember{n, -1, "", ""});
      }
    } else if (has(s, " launched up to operation ") && w.size() > 2) {
      keep(current_->counts, std::pair(whole(w.front()), whole(w.back())));
    } else if (has(s, " have different ") && has(s, " operation counts")) {
      const std::size_t at = s.find(" have different ") + 16;
      current_->op = kept(s.substr(at, s.find(" operation counts") - at));
    } else if (current_->text != kept(s)) {
      ++out_.not_understood;
    }
  }

  template <class F>
  static void after(const std::vector<std::string_view>& w, std::string_view key, F set) {
    const auto it = std::find(w.begin(), w.end(), key);
    if (it != w.end() && it + 1 != w.end()) set(*(it + 1));
  }

  RasReport& out_;
  Part part_ = Part::none;
  RasProblem* current_ = nullptr;  // problems are only added to when a new one begins
  bool lost_ = false;
};

}  // namespace

RasReport parse_nccl_ras(std::string_view text) {
  RasReport out;
  out.problems.reserve(16);
  Reader reader(out);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.line(text.substr(0, std::min(end, kRasLineMax)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace muster
