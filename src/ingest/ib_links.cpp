#include "ingest/ib_links.h"

#include <algorithm>
#include <unordered_map>

#include "base/text.h"

namespace muster {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::size_t kLineMax = 4096, kTextMax = 160;

std::string kept(std::string_view s) { return printable(s.substr(0, kTextMax)); }

std::string_view word(std::string_view& s) {
  s.remove_prefix(std::min(s.find_first_not_of(" \t"), s.size()));
  const std::string_view w = s.substr(0, s.find_first_of(" \t"));
  s.remove_prefix(w.size());
  return w;
}

// "4X" to 4; 0: it is no width.
int lanes(std::string_view s) {
  if (s.empty() || (s.back() != 'X' && s.back() != 'x')) return 0;
  const auto n = parse_uint(s.substr(0, s.size() - 1));
  return n && *n <= 12 ? static_cast<int>(*n) : 0;
}

// Of data, in gigabits a second of a lane, by what a lane signals: 8b/10b takes a fifth, the codes since FDR a few percent.
double data_gbit_s(double signalled) {
  constexpr double kRates[][2] = {{2.5, 2},       {5, 4},       {10, 8},       {10.3125, 10}, {14.0625, 13.64},
                                  {25.78125, 25}, {53.125, 50}, {106.25, 100}, {212.5, 200}};
  for (const auto& [signal, data] : kRates) {
    if (signalled > signal * 0.999 && signalled < signal * 1.001) return data;
  }
  return signalled;
}

// One end: an optional GUID, an optional name in quotes, lid, port and "[  ]".
struct End {
  std::optional<std::uint64_t> guid;
  std::optional<std::string> name;
  std::uint64_t lid = 0;
  int port = -1;
};

std::optional<End> near_end(std::string_view s, std::optional<std::string> name) {
  End e;
  e.name = std::move(name);
  s = trim(s);
  if (s.substr(0, 2) == "0x") {
    e.guid = parse_hex(word(s));
    if (!e.guid) return {};
  }
  s = trim(s);
  if (!s.empty() && s.front() == '"') {
    const std::size_t close = s.rfind('"');
    if (close == 0) return {};
    e.name = kept(trim(s.substr(1, close - 1)));
    s.remove_prefix(close + 1);
  }
  const auto lid = parse_uint(word(s));
  s = trim(s);
  const auto port = parse_uint(s.substr(0, s.find('[')));
  if (!lid || !port || *port == 0 || *port > 254) return {};
  e.lid = *lid;
  e.port = static_cast<int>(*port);
  return e;
}

// 0x0002c90300004800      9    8[  ] "leaf-007" (Could be 12X ): what stands before the quote is as of a near end.
std::optional<End> far_end(std::string_view s) {
  const std::size_t open = s.find('"'), close = s.rfind('"');
  if (open == npos || close == open) return {};
  return near_end(s.substr(0, open), kept(s.substr(open + 1, close - open - 1)));
}

class Reader {
 public:
  explicit Reader(IbLinks& out) : out_(out) {}

  void line(std::string_view raw) {
    const std::string_view s = trim(raw);
    if (s.empty() || s.front() == '#') return;
    const std::size_t state = s.find("==("), arrow = s.find(")==>", state == npos ? 0 : state);
    if (state == npos || arrow == npos) {
      if (!head(s)) ++out_.not_understood;
    } else if (!port(s.substr(0, state), s.substr(state + 3, arrow - state - 3), s.substr(arrow + 4))) {
      ++out_.not_understood;
    }
  }

  // What only all lines together tell: which GUIDs are switches', and the far ends' GUIDs where only a lid was given.
  void done() {
    std::unordered_map<std::uint64_t, int> first_port;
    std::unordered_map<std::uint64_t, bool> is_switch;
    const auto seen = [&](const PortEnd& e) {
      const auto [it, fresh] = first_port.try_emplace(e.guid, e.port);
      if (!fresh && it->second != e.port) is_switch[e.guid] = true;
    };
    for (std::size_t i = 0; i < out_.ports.size(); ++i) {
      PortState& p = out_.ports[i];
      if (p.far && p.far->guid == 0) {
        const auto it = by_lid_.find(far_lids_[i]);
        if (it != by_lid_.end()) p.far->guid = it->second;
      }
      if (p.is_switch) is_switch[p.here.guid] = true;
      seen(p.here);
      if (p.far && p.far->guid != 0) seen(*p.far);
    }
    for (PortState& p : out_.ports) {
      p.is_switch = p.is_switch || is_switch.count(p.here.guid) > 0;
      p.far_is_switch = p.far && is_switch.count(p.far->guid) > 0;
    }
  }

 private:
  // "Switch: 0x0002c90300004100 leaf-000:" and "CA: gpu0063 mlx5_0:"
  bool head(std::string_view s) {
    if (s.back() != ':') return false;
    s.remove_suffix(1);
    switch_guid_ = {};
    if (s.substr(0, 7) == "Switch:") {
      s.remove_prefix(7);
      switch_guid_ = parse_hex(word(s));
      if (!switch_guid_) return false;
    } else if (s.substr(0, 3) == "CA:") {
      s.remove_prefix(3);
    } else if (s.substr(0, 7) == "Router:") {
      s.remove_prefix(7);
    } else {
      return false;
    }
    name_ = kept(trim(s));
    return true;
  }

  bool port(std::string_view left, std::string_view state, std::string_view right) {
    const auto here = near_end(left, name_);
    if (!here || !here->name || (!here->guid && !switch_guid_)) return false;
    PortState p;
    p.is_switch = !here->guid;
    p.here = {here->guid ? *here->guid : *switch_guid_, *here->name, here->port};
    if (!runs_at(state, p)) return false;
    std::uint64_t far_lid = 0;
    right = trim(right);
    const bool nothing = right.find("\"\" (") != npos || right.find("Port not available") != npos;
    if (!nothing) {
      const auto far = far_end(right.substr(0, right.rfind('(')));
      if (!far || !far->name) return false;
      p.far = PortEnd{far->guid.value_or(0), *far->name, far->port};
      far_lid = far->lid;
      could(right.substr(std::min(right.rfind('('), right.size())), p);
    }
    if (out_.ports.size() >= kIbLinksMax) {
      ++out_.left_out;
      return true;
    }
    if (here->lid != 0) by_lid_.try_emplace(here->lid, p.here.guid);
    far_lids_.push_back(far_lid);
    out_.ports.push_back(std::move(p));
    return true;
  }

  // " 4X        53.125 Gbps Active/  LinkUp", "                Down/ Polling"
  static bool runs_at(std::string_view s, PortState& p) {
    const std::size_t slash = s.rfind('/');
    if (slash == npos) return false;
    std::string_view physical = s.substr(slash + 1);
    p.physical = kept(word(physical));
    s = trim(s.substr(0, slash));
    const std::size_t space = s.find_last_of(" \t");
    p.logical = kept(s.substr(space == npos ? 0 : space + 1));
    if (p.logical.empty() || p.physical.empty()) return false;
    if (space == npos) return true;
    s = s.substr(0, space);
    p.lanes = lanes(word(s));
    const auto rate = parse_double(word(s));
    if (p.lanes == 0 || !rate || *rate <= 0 || *rate > 10'000) return false;
    p.lane_gbit_s = s.find("FDR10") != npos ? 10.3125 : *rate;
    return true;
  }

  // "(Could be 12X Could be 53.125 Gbps)"
  static void could(std::string_view s, PortState& p) {
    constexpr std::string_view kMark = "Could be ";
    for (std::size_t at = s.find(kMark); at != npos; at = s.find(kMark, at + 1)) {
      std::string_view rest = s.substr(at + kMark.size());
      const std::string_view value = word(rest);
      if (const int n = lanes(value); n > 0) {
        p.lanes_could = n;
      } else if (const auto rate = parse_double(value); rate && *rate > 0 && *rate <= 10'000) {
        p.lane_gbit_s_could = rest.find("FDR10") != npos ? 10.3125 : *rate;
      }
    }
  }

  IbLinks& out_;
  std::optional<std::uint64_t> switch_guid_;
  std::optional<std::string> name_;
  std::unordered_map<std::uint64_t, std::uint64_t> by_lid_;  // GUIDs
  std::vector<std::uint64_t> far_lids_;                      // of out_.ports
};

}  // namespace

IbLinks parse_ib_links(std::string_view text) {
  IbLinks out;
  Reader reader(out);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > kLineMax) {
      ++out.not_understood;
    } else {
      reader.line(text.substr(0, end));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  reader.done();
  return out;
}

Result<Fabric> links_fabric(std::span<const PortState> ports) {
  Fabric f;
  std::unordered_map<std::uint64_t, std::uint32_t> ids;
  const auto node = [&](const PortEnd& e, bool is_switch) {
    const auto [it, fresh] = ids.try_emplace(e.guid, 0);
    if (fresh) it->second = f.add({e.node, e.guid, is_switch, {}, static_cast<std::uint16_t>(is_switch ? 1 : e.port)});
    return it->second;
  };
  for (const PortState& p : ports) {
    if (!p.far || p.lanes == 0 || p.here.guid == 0 || p.far->guid == 0) continue;
    const std::uint32_t a = node(p.here, p.is_switch), b = node(*p.far, p.far_is_switch);
    const auto a_port = static_cast<std::uint16_t>(p.is_switch ? p.here.port : 1);
    const auto b_port = static_cast<std::uint16_t>(p.far_is_switch ? p.far->port : 1);
    if (const std::uint32_t known = f.out(a, a_port); known != Fabric::kNoLink) {
      if (f.links[known].to == b && f.links[known ^ 1U].port == b_port) continue;  // from its other end
      return fail(Code::bad_input, p.here.say() + " is cabled to two ports, by what is told of them",
                  "read the links again: the fabric changed meanwhile");
    }
    if (f.out(b, b_port) != Fabric::kNoLink || a == b) {
      return fail(Code::bad_input, p.far->say() + " is cabled to two ports, by what is told of them",
                  "read the links again: the fabric changed meanwhile");
    }
    f.connect(a, a_port, b, b_port, p.lanes * data_gbit_s(p.lane_gbit_s) / 8, static_cast<std::uint8_t>(p.lanes));
  }
  if (f.links.empty()) return fail(Code::bad_input, "no link of these ports is up", "give what `iblinkinfo -l` prints");
  return f;
}

}  // namespace muster
