#include "ingest/opensm_log.h"

#include <algorithm>

#include "base/text.h"

namespace muster {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::size_t kNameMax = 64;
// A log of errors alone has the engines that failed and not the one that routes. That none could, OpenSM says as an error.
constexpr std::string_view kUnnamed = "an engine that the log does not name";

bool has(std::string_view s, std::string_view part) { return s.find(part) != npos; }
std::string kept(std::string_view s) { return printable(s.substr(0, kSubnetLogTextMax)); }

// The hexadecimal or decimal number right after `mark`.
std::optional<std::uint64_t> number_after(std::string_view s, std::string_view mark, std::size_t from = 0) {
  const std::size_t at = s.find(mark, from);
  if (at == npos) return {};
  std::string_view rest = s.substr(at + mark.size());
  rest = rest.substr(0, rest.find_first_not_of("0123456789abcdefABCDEFx"));
  return rest.substr(0, 2) == "0x" ? parse_hex(rest) : parse_uint(rest);
}

bool is_name(std::string_view s) {
  return !s.empty() && s.size() <= kNameMax && std::all_of(s.begin(), s.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

// Of many the last `most` stay. They are dropped by halves, so that a long log takes no longer for it.
template <class T>
std::uint32_t keep_last(std::vector<T>& all, std::size_t most, std::size_t from) {
  if (all.size() < from) return 0;
  const std::size_t drop = all.size() - std::min(all.size(), most);
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(drop));
  return static_cast<std::uint32_t>(drop);
}

// The word that ends where `end` begins.
std::string_view word_before(std::string_view s, std::size_t end) {
  const std::size_t space = s.substr(0, end).rfind(' ');
  return s.substr(space == npos ? 0 : space + 1, end - (space == npos ? 0 : space + 1));
}

class Reader {
 public:
  explicit Reader(SubnetLog& out) : out_(out) {}

  void line(std::string_view raw) {
    ++out_.lines;
    const std::string_view s = trim(raw);
    if (s.empty()) return;
    const std::size_t arrow = s.find("] 0x");
    const std::size_t text = arrow == npos ? npos : s.find(" -> ", arrow);
    if (text == npos || s.size() < 15) {
      more(s);
      return;
    }
    time_ = kept(s.substr(0, 15));
    std::string_view rest = trim(s.substr(text + 4));
    duplicate_ = nullptr;
    odd_ = {};
    said(rest);
  }

  void done() {
    if (!routing_.failed.empty()) close(kUnnamed);
    out_.left_out += keep_last(out_.routings, kSubnetLogRoutingsMax, 0) + keep_last(out_.ports, kSubnetLogPortsMax, 0);
  }

 private:
  SubnetLog::Evidence evidence(std::string_view s) const { return {static_cast<int>(out_.lines), time_, kept(s)}; }

  // What has no time: the second line of a message, OpenSM's terminal, its configuration.
  void more(std::string_view s) {
    if (has(s, "routing engine(s)")) {
      const std::size_t open = s.find('\''), close = s.rfind('\'');
      if (open != npos && close > open) asked(s.substr(open + 1, close - open - 1));
    } else if (s.substr(0, 15) == "routing_engine " || s.substr(0, 15) == "routing_engine\t") {
      asked(trim(s.substr(15)));
    } else if (const std::size_t cached = s.find("Option:routing_engine = "); cached != npos) {
      asked(trim(s.substr(cached + 24)));
    } else if (duplicate_ != nullptr && has(s, "is reachable from remote node")) {
      reachable(s);
    } else if (has(s, "GUID 0x") && has(s, "Index")) {
      differing(s);
    }
  }

  void asked(std::string_view list) {
    out_.engines_asked.clear();
    out_.fallback_forbidden = false;
    for (std::string_view e : split(list, ',')) {
      e = trim(e);
      if (e == "no_fallback") {
        out_.fallback_forbidden = true;
      } else if (is_name(e) && e != "null" && e != "none" && out_.engines_asked.size() < 16) {
        out_.engines_asked.emplace_back(e);
      }
    }
  }

  void said(std::string_view s) {
    if (const std::size_t err = s.find("ERR "); err != npos) error(s, err);
    if (s.substr(0, 7) == "OpenSM ") {
      const std::string_view version = s.substr(7, s.find(' ', 7) - 7);
      if (version.size() <= kNameMax) out_.version = kept(version);
    } else if (const std::size_t at = s.find(" tables configured on all switches"); at != npos) {
      const std::string_view engine = word_before(s, at);
      if (is_name(engine)) {
        close(engine);
        out_.routings.back().at = evidence(s);
      } else {
        ++out_.not_understood;
      }
    } else if (has(s, "No routing engine able to successfully configure")) {
      close({});
      out_.routings.back().at = evidence(s);
    } else if (s.substr(0, 9) == "SUBNET UP") {
      if (!routing_.failed.empty()) close(kUnnamed);
      if (!out_.routings.empty()) out_.routings.back().up = true;
    } else if (has(s, ": cannot build ")) {
      const std::string_view engine = word_before(s, s.find(": cannot build "));
      if (is_name(engine) && routing_.failed.size() < 16) routing_.failed.emplace_back(engine);
      because(s);
    } else if (has(s, "topology is not a fat-tree")) {
      because(s);
    } else if (has(s, "Removed port with GUID:")) {
      moved(s, true);
    } else if (has(s, "Discovered new port with GUID:")) {
      moved(s, false);
    }
  }

  void because(std::string_view s) {
    if (routing_.because.size() < kSubnetLogEvidenceMax) {
      routing_.because.push_back(evidence(s));
    } else {
      ++out_.left_out;
    }
  }

  // Ends the routing that is being read; it is the last of the list then.
  void close(std::string_view engine) {
    routing_.engine = std::string(engine);
    out_.left_out += keep_last(out_.routings, kSubnetLogRoutingsMax, 2 * kSubnetLogRoutingsMax);
    routing_.at = {static_cast<int>(out_.lines), time_, ""};
    out_.routings.push_back(std::move(routing_));
    routing_ = {};
  }

  void error(std::string_view s, std::size_t at) {
    const std::size_t colon = s.find(':', at);
    const std::string_view code = colon == npos ? std::string_view() : s.substr(at + 4, colon - at - 4);
    if (!is_name(code) || code.size() > 8) {
      ++out_.not_understood;
      return;
    }
    const auto known = out_.errors.find(std::string(code));
    if (known == out_.errors.end() && out_.errors.size() >= kSubnetLogCodesMax) {
      ++out_.left_out;
    } else {
      SubnetLog::ErrorCount& e = out_.errors[std::string(code)];
      if (e.count++ == 0) e.first = evidence(s);
    }
    if (code.substr(0, 2) == "AB") because(s);  // the fat tree's own
    if (code == "0D01" || code == "0D13" || code == "0D15" || code == "0D1C") duplicated(s);
  }

  void duplicated(std::string_view s) {
    if (out_.duplicates.size() >= kSubnetLogDuplicatesMax) {
      ++out_.left_out;
      return;
    }
    SubnetLog::Duplicate d;
    d.at = evidence(s);
    d.guid = number_after(s, "GUID ").value_or(0);
    if (const auto port = number_after(s, " port "); d.guid != 0 && port && *port <= 255) d.port = static_cast<int>(*port);
    out_.duplicates.push_back(std::move(d));
    duplicate_ = &out_.duplicates.back();
  }

  // Node 0x2c90300000200 port 1 is reachable from remote node 0x2c90300004100 port 2 and remote node 0x2c90300004200 port 5.
  void reachable(std::string_view s) {
    const auto port = [](std::optional<std::uint64_t> p) { return p && *p <= 255 ? static_cast<int>(*p) : -1; };
    duplicate_->guid = number_after(s, "Node ").value_or(0);
    duplicate_->port = port(number_after(s, " port "));
    std::size_t at = 0;
    for (int i = 0; i < 2; ++i) {
      at = s.find("remote node ", at);
      if (at == npos) break;
      duplicate_->seen_from[i] = number_after(s, "remote node ", at).value_or(0);
      duplicate_->seen_from_port[i] = port(number_after(s, " port ", at));
      at += 12;
    }
    duplicate_ = nullptr;
  }

  // GUID 0x0002c90300004100, LID 2, Index 1.0 - 1 ports: of two such lines the one with fewer is where a cable is gone.
  void differing(std::string_view s) {
    const auto guid = number_after(s, "GUID ");
    const std::size_t dash = s.rfind(" - ");
    const auto count = dash == npos ? std::nullopt : number_after(s, " - ", dash);
    if (!guid || !count) {
      ++out_.not_understood;
      return;
    }
    if (!odd_) {
      odd_ = {*guid, *count};
      return;
    }
    const std::uint64_t fewer = odd_->second <= *count ? odd_->first : *guid;
    odd_ = {};
    if (std::find(routing_.odd.begin(), routing_.odd.end(), fewer) != routing_.odd.end()) return;
    if (routing_.odd.size() < kSubnetLogEvidenceMax) routing_.odd.push_back(fewer);
  }

  // Removed port with GUID:0x0002c90300004c00 LID range [13, 13] of node:spine-003
  void moved(std::string_view s, bool removed) {
    const auto guid = number_after(s, "GUID:");
    const std::size_t node = s.find(" of node:");
    if (!guid || node == npos) {
      ++out_.not_understood;
      return;
    }
    out_.left_out += keep_last(out_.ports, kSubnetLogPortsMax, 2 * kSubnetLogPortsMax);
    out_.ports.push_back({*guid, kept(trim(s.substr(node + 9))), removed, evidence(s)});
  }

  SubnetLog& out_;
  SubnetLog::Routing routing_;
  SubnetLog::Duplicate* duplicate_ = nullptr;  // whose second line is still to come
  std::optional<std::pair<std::uint64_t, std::uint64_t>> odd_;
  std::string time_;
};

}  // namespace

SubnetLog parse_opensm_log(std::string_view text) {
  SubnetLog out;
  Reader reader(out);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.line(text.substr(0, std::min<std::size_t>(end, 4096)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  reader.done();
  return out;
}

}  // namespace muster
