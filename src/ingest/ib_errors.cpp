#include "ingest/ib_errors.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace muster {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::size_t kWarningsMax = 32;

bool begins(std::string_view s, std::string_view with) { return s.substr(0, with.size()) == with; }
bool has(std::string_view s, std::string_view part) { return s.find(part) != npos; }
std::string kept(std::string_view s) { return printable(s.substr(0, kIbTextMax)); }

std::string_view word(std::string_view& s) {
  s.remove_prefix(std::min(s.find_first_not_of(" \t"), s.size()));
  const std::string_view w = s.substr(0, s.find_first_of(" \t"));
  s.remove_prefix(w.size());
  return w;
}

// The first two whole numbers of a line of the summary.
std::pair<std::int64_t, std::int64_t> two_numbers(std::string_view s) {
  std::int64_t found[2] = {-1, -1};
  int n = 0;
  while (!s.empty() && n < 2) {
    if (const auto v = parse_int(word(s)); v && *v >= 0) found[n++] = *v;
  }
  return {found[0], found[1]};
}

class Reader {
 public:
  explicit Reader(IbErrors& out) : out_(out) {}

  void line(std::string_view raw) {
    const std::string_view s = trim(raw);
    if (s.empty()) return;
    if (begins(s, "Errors for ")) {
      const std::size_t open = s.find('"'), close = s.rfind('"');
      node_ = open != npos && close > open ? kept(s.substr(open + 1, close - open - 1)) : kept(s.substr(11));
    } else if (begins(s, "GUID ")) {
      if (!port(s.substr(5))) ++out_.not_understood;
    } else if (begins(s, "Link info:")) {
      if (!out_.ports.empty() && out_.left_out == 0) out_.ports.back().link = kept(trim(s.substr(10)));
    } else if (begins(s, "##")) {
      summary(s);
    } else if (has(s, "ibwarn:") || has(s, "iberror:")) {
      if (out_.warnings.size() < kWarningsMax) {
        out_.warnings.push_back(kept(s));
      } else {
        ++out_.left_out;
      }
    } else {
      ++out_.not_understood;
    }
  }

 private:
  // 0x2c90300004100 port 9: [SymbolErrorCounter == 65535] [PortXmitData == 252936 (988.031KB)]
  bool port(std::string_view s) {
    IbPortErrors p;
    p.node = node_;
    const auto guid = parse_hex(word(s));
    if (!guid || word(s) != "port") return false;
    p.guid = *guid;
    std::string_view which = word(s);
    if (which.empty() || which.back() != ':') return false;
    which.remove_suffix(1);
    if (which != "ALL") {
      const auto n = parse_uint(which);
      if (!n || *n > 255) return false;
      p.port = static_cast<int>(*n);
    }
    for (std::size_t open = s.find('['); open != npos; open = s.find('[', open + 1)) {
      std::string_view item = s.substr(open + 1, s.find(']', open) - open - 1);
      const std::string_view name = word(item);
      if (word(item) != "==") return false;
      const auto value = parse_uint(word(item));
      if (name.empty() || name.size() > 64 || !value) return false;
      if (p.counters.size() < kIbCountersMax) {
        p.counters.emplace_back(kept(name), *value);
      } else {
        ++out_.left_out;
      }
    }
    if (out_.ports.size() < kIbPortsMax) {
      out_.ports.push_back(std::move(p));
    } else {
      ++out_.left_out;
    }
    return true;
  }

  void summary(std::string_view s) {
    if (const std::size_t at = s.find("Thresholds:"); at != npos) thresholds(s.substr(at + 11));
    const bool nodes = has(s, "nodes checked");
    if (!nodes && !has(s, "ports checked")) return;  // thresholds, what is suppressed
    const auto [checked, bad] = two_numbers(s);
    if (bad < 0) {
      ++out_.not_understood;
      return;
    }
    (nodes ? out_.nodes_checked : out_.ports_checked) = checked;
    (nodes ? out_.nodes_bad : out_.ports_bad) = bad;
    out_.complete = out_.nodes_checked >= 0 && out_.ports_checked >= 0;
  }

  // "SymbolErrorCounter=10 LinkDownedCounter=10"
  void thresholds(std::string_view s) {
    for (std::string_view item = word(s); !item.empty(); item = word(s)) {
      if (item.back() == ',') item.remove_suffix(1);
      const std::size_t equals = item.find('=');
      const auto value = equals == npos ? std::nullopt : parse_uint(item.substr(equals + 1));
      if (value && equals > 0 && equals <= 64 && out_.thresholds.size() < kIbCountersMax)
        out_.thresholds[kept(item.substr(0, equals))] = *value;
    }
  }

  IbErrors& out_;
  std::string node_;
};

}  // namespace

IbErrors parse_ib_errors(std::string_view text) {
  IbErrors out;
  Reader reader(out);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > kIbLineMax) {
      ++out.not_understood;
    } else {
      reader.line(text.substr(0, end));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

CounterReading counter_reading(const IbErrors& errors) {
  CounterReading out;
  // A node that did not answer is silent for another reason than having no errors.
  out.complete = errors.complete && errors.warnings.empty() && errors.left_out == 0;
  out.floors = errors.thresholds;
  for (const IbPortErrors& p : errors.ports) {
    if (p.port >= 0) out.ports.push_back({{p.guid, p.node, p.port}, p.counters});
  }
  return out;
}

// # Port counters: Lid 2 port 1 (CapMask: 0x1300)
// SymbolErrorCounter:..............0
CounterReading parse_perfquery(std::string_view text) {
  CounterReading out;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> known;  // places, by lid and port
  PortCounters* at = nullptr;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view s = trim(text.substr(0, std::min(end, kIbLineMax)));
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t lid_at = s.find("Lid ");
    if (!s.empty() && s.front() == '#' && lid_at != npos) {
      std::string_view rest = s.substr(lid_at + 4);
      const auto lid = parse_uint(word(rest));
      const auto port = parse_uint(word(rest) == "port" ? word(rest) : std::string_view());
      at = nullptr;
      if (!lid || *lid > 0xFFFF || !port || *port > 254 || out.ports.size() >= kIbPortsMax) continue;
      const auto [place, fresh] = known.try_emplace({*lid, *port}, out.ports.size());
      if (fresh) out.ports.push_back({{0, "lid " + std::to_string(*lid), static_cast<int>(*port)}, {}});
      at = &out.ports[place->second];
      continue;
    }
    const std::size_t colon = s.find(":.");
    if (at == nullptr || colon == npos || colon == 0 || colon > 64) continue;
    const std::string_view name = s.substr(0, colon), value = s.substr(std::min(s.find_first_not_of('.', colon + 1), s.size()));
    if (name == "PortSelect" || name.substr(0, 13) == "CounterSelect") continue;
    const auto number = parse_uint(value);
    if (!number) continue;
    // A port may come twice, plain and extended, and has both's counters: of one name the extended one is not cut off.
    auto& values = at->values;
    const auto same = std::find_if(values.begin(), values.end(), [&](const auto& v) { return v.first == name; });
    if (same != values.end()) {
      same->second = std::max(same->second, *number);
    } else if (values.size() < kIbCountersMax) {
      values.emplace_back(kept(name), *number);
    }
  }
  out.complete = !out.ports.empty();
  out.lists_all = true;
  return out;
}

CounterReading parse_counters(std::string_view text) {
  const std::size_t heading = std::min(text.find("# Port counters: "), text.find("# Port extended counters: "));
  return heading == npos ? counter_reading(parse_ib_errors(text)) : parse_perfquery(text);
}

}  // namespace muster
