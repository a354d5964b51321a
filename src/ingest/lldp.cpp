#include "ingest/lldp.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/hash.h"
#include "base/text.h"
#include "ingest/json.h"

namespace muster {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::size_t kTextMax = 200;

std::string kept(std::string_view s) { return printable(trim(s.substr(0, kTextMax))); }

// "400GbaseSR8", "100Gbase-CR4 - ...", "25 Gbit/s": the number before the first G; 0: there is none.
double negotiated(std::string_view s) {
  for (std::size_t g = s.find('G'); g != npos; g = s.find('G', g + 1)) {
    std::size_t begin = g;
    while (begin > 0 && (s[begin - 1] == ' ' || (s[begin - 1] >= '0' && s[begin - 1] <= '9'))) --begin;
    const auto n = parse_uint(trim(s.substr(begin, g - begin)));
    if (n && *n > 0 && *n <= 3200) return static_cast<double>(*n);
  }
  return 0;
}

bool forwards(std::string_view capability) { return capability == "Bridge" || capability == "Router"; }

// ---- JSON

// A member that is an object or, in json0, a list of one.
const Value* one(const Value* v, std::string_view key) {
  v = v == nullptr ? nullptr : v->find(key);
  if (v != nullptr && v->array() != nullptr) v = v->array()->empty() ? nullptr : &v->array()->front();
  return v;
}
std::string text_of(const Value* v) {
  if (v != nullptr && v->object() != nullptr) v = v->find("value");
  if (v != nullptr && v->array() != nullptr) return v->array()->empty() ? "" : text_of(&v->array()->front());
  return v != nullptr && v->string() != nullptr ? kept(*v->string()) : "";
}

class JsonReader {
 public:
  JsonReader(std::string_view file, std::vector<LldpNeighbour>& out) : file_(file), out_(out) {}

  Result<void> document(const Value& v, std::string_view host) {
    if (const Value* lldp = one(&v, "lldp")) return neighbours(*lldp, host);
    if (v.object() == nullptr) return bad("an object is expected");
    for (const Value::Member& m : *v.object()) {
      const Value* lldp = one(&m.value, "lldp");
      if (lldp == nullptr) return bad(fmt::format("{} has no \"lldp\"", kept(m.key)));
      if (auto ok = neighbours(*lldp, m.key); !ok) return ok;
    }
    return {};
  }

 private:
  tl::unexpected<Error> bad(std::string_view what) const {
    return fail(Code::bad_input, fmt::format("{}: {}", file_, what),
                "give what `lldpctl -f json` prints on a host, or an object of such by the hosts' names");
  }

  Result<void> neighbours(const Value& lldp, std::string_view host) {
    if (host.empty()) return bad("whose neighbours these are is not told");
    const Value* all = lldp.find("interface");
    if (all == nullptr) return {};  // it hears nobody
    const auto each = [&](const Value& v) -> Result<void> {
      if (v.object() == nullptr) return bad("an interface is no object");
      // json0: {"name": "eth0", ...}; json: {"eth0": {...}}
      if (const Value* name = v.find("name"); name != nullptr && name->string() != nullptr)
        return cable(host, *name->string(), v);
      for (const Value::Member& m : *v.object()) {
        if (auto ok = cable(host, m.key, m.value); !ok) return ok;
      }
      return {};
    };
    if (all->array() == nullptr) return each(*all);
    for (const Value& v : *all->array()) {
      if (auto ok = each(v); !ok) return ok;
    }
    return {};
  }

  Result<void> cable(std::string_view host, std::string_view port, const Value& v) {
    LldpNeighbour n;
    n.host = kept(host);
    n.port = kept(port);
    const Value* chassis = one(&v, "chassis");
    // json puts the name around the rest, where there is one.
    if (chassis != nullptr && chassis->find("id") == nullptr && chassis->object() != nullptr && !chassis->object()->empty()) {
      n.far_name = kept(chassis->object()->front().key);
      chassis = &chassis->object()->front().value;
    }
    if (n.far_name.empty()) n.far_name = text_of(one(chassis, "name"));
    n.far_id = text_of(one(chassis, "id"));
    n.far_description = text_of(one(chassis, "descr"));
    const Value* capabilities = chassis == nullptr ? nullptr : chassis->find("capability");
    const auto capability = [&](const Value& c) {
      const Value* on = c.find("enabled");
      n.far_forwards =
          n.far_forwards || (forwards(text_of(c.find("type"))) && on != nullptr && on->boolean() != nullptr && *on->boolean());
    };
    if (capabilities != nullptr && capabilities->array() != nullptr) {
      for (const Value& c : *capabilities->array()) capability(c);
    } else if (capabilities != nullptr) {
      capability(*capabilities);
    }
    const Value* far = one(&v, "port");
    const Value* id = one(far, "id");
    const bool by_name = id != nullptr && text_of(id->find("type")) == "ifname";
    n.far_port = by_name ? text_of(id) : text_of(one(far, "descr"));
    if (n.far_port.empty()) n.far_port = text_of(id);
    n.gbit_s = negotiated(text_of(one(one(far, "auto-negotiation"), "current")));
    if (out_.size() >= kLldpNeighboursMax) return bad(fmt::format("more than {} neighbours", kLldpNeighboursMax));
    out_.push_back(std::move(n));
    return {};
  }

  std::string_view file_;
  std::vector<LldpNeighbour>& out_;
};

// ---- lines: keyvalue and plain

class LineReader {
 public:
  LineReader(std::string_view host, std::vector<LldpNeighbour>& out) : host_(host), out_(out) {}

  void line(std::string_view s) {
    s = trim(s);
    if (const std::size_t at = s.find("lldp."); at != npos && s.find('=') != npos && at < s.find('=')) {
      std::string_view who = trim(s.substr(0, at));
      if (!who.empty() && who.back() == ':') who.remove_suffix(1);
      pair(who.empty() ? host_ : who, s.substr(at + 5));
    } else {
      plain(s);
    }
  }

 private:
  LldpNeighbour* neighbour(std::string_view host, std::string_view port, bool fresh) {
    const std::pair<std::string, std::string> key{host, port};
    const auto known = at_.find(key);
    if (known != at_.end() && !fresh) return &out_[known->second];
    if (out_.size() >= kLldpNeighboursMax) return nullptr;
    at_[key] = out_.size();
    LldpNeighbour& n = out_.emplace_back();
    n.host = kept(host);
    n.port = kept(port);
    return &n;
  }

  // eth0.chassis.name=leaf01; an interface's name may hold dots.
  void pair(std::string_view host, std::string_view s) {
    const std::size_t equals = s.find('=');
    const std::string_view path = s.substr(0, equals), value = s.substr(equals + 1);
    struct Key {
      std::string_view end;
      void (*set)(LldpNeighbour&, std::string_view);
    };
    static constexpr Key kKeys[] = {
        {".chassis.name", [](LldpNeighbour& n, std::string_view v) { n.far_name = kept(v); }},
        {".chassis.descr", [](LldpNeighbour& n, std::string_view v) { n.far_description = kept(v); }},
        {".chassis.mac", [](LldpNeighbour& n, std::string_view v) { n.far_id = kept(v); }},
        {".chassis.Bridge.enabled", [](LldpNeighbour& n, std::string_view v) { n.far_forwards |= v == "on"; }},
        {".chassis.Router.enabled", [](LldpNeighbour& n, std::string_view v) { n.far_forwards |= v == "on"; }},
        {".port.ifname", [](LldpNeighbour& n, std::string_view v) { n.far_port = kept(v); }},
        {".port.descr",
         [](LldpNeighbour& n, std::string_view v) {
           if (n.far_port.empty()) n.far_port = kept(v);
         }},
        {".port.auto-negotiation.current", [](LldpNeighbour& n, std::string_view v) { n.gbit_s = negotiated(v); }},
    };
    for (const Key& k : kKeys) {
      if (path.size() <= k.end.size() || path.substr(path.size() - k.end.size()) != k.end) continue;
      if (LldpNeighbour* n = neighbour(host, path.substr(0, path.size() - k.end.size()), false)) k.set(*n, value);
      return;
    }
  }

  // Interface:    eth0, via: LLDP, RID: 1, Time: 0 day, 00:00:22
  //     SysName:      leaf01
  void plain(std::string_view s) {
    static constexpr std::string_view kInterface = "Interface:";
    if (const std::size_t at = s.find(kInterface); at != npos && s.find(", via:") != npos) {
      std::string_view who = trim(s.substr(0, at));
      if (!who.empty() && who.back() == ':') who.remove_suffix(1);
      const std::string_view rest = s.substr(at + kInterface.size());
      const LldpNeighbour* n = neighbour(who.empty() ? host_ : who, trim(rest.substr(0, rest.find(','))), true);
      plain_[std::string(who)] = n != nullptr ? out_.size() : 0;
      return;
    }
    // pdsh prints the lines of several hosts as they come, one's between another's.
    auto told_by = plain_.find(s.substr(0, s.find_first_of(": \t")));
    if (told_by == plain_.end()) told_by = plain_.find("");
    if (told_by == plain_.end() || told_by->second == 0) return;
    LldpNeighbour& n = out_[told_by->second - 1];
    const auto after = [&](std::string_view key) {
      const std::size_t at = s.find(key);
      return at == npos ? std::string_view() : trim(s.substr(at + key.size()));
    };
    if (const auto v = after("SysName:"); !v.empty()) n.far_name = kept(v);
    if (const auto v = after("SysDescr:"); !v.empty()) n.far_description = kept(v);
    if (const auto v = after("ChassisID:"); !v.empty()) n.far_id = kept(v.substr(v.rfind(' ') == npos ? 0 : v.rfind(' ') + 1));
    if (const auto v = after("Capability:"); !v.empty())
      n.far_forwards |= forwards(v.substr(0, v.find(','))) && v.find(", on") != npos;
    if (const auto v = after("PortID:"); v.substr(0, 7) == "ifname ") n.far_port = kept(v.substr(7));
    if (const auto v = after("PortDescr:"); !v.empty() && n.far_port.empty()) n.far_port = kept(v);
    if (const auto v = after("MAU oper type:"); !v.empty()) n.gbit_s = negotiated(v);
  }

  std::string_view host_;
  std::vector<LldpNeighbour>& out_;
  std::map<std::pair<std::string, std::string>, std::size_t> at_;  // by who tells and where
  // By the name before the lines: one more than the place of the one being read; 0: none.
  std::map<std::string, std::size_t, std::less<>> plain_;
};

// ---- the fabric

bool mentions(std::string_view text, std::initializer_list<std::string_view> words) {
  const std::string low = lower(text);
  return std::any_of(words.begin(), words.end(), [&](std::string_view w) { return low.find(w) != npos; });
}

// Distributions stand in the descriptions of switches too ("SONiC ... Distribution: Debian 11"), so theirs come first.
bool is_switch(const LldpNeighbour& n) {
  if (mentions(n.far_description,
               {"sonic", "cumulus", "arista", "nx-os", "nexus", "junos", "juniper", "onyx", "mlnx-os", "dell emc networking",
                "dnos", "os10", "ios-xe", "ios xe", "ios-xr", "nokia", "sr linux", "comware", "huawei"}))
    return true;
  if (mentions(n.far_description, {"ubuntu", "debian", "red hat", "rocky", "almalinux", "centos", "suse", "oracle linux",
                                   "amazon linux", "dgx", "fedora", "nixos"}))
    return false;
  return n.far_forwards;
}

// The numbers of a name, in their order: 1 and 17 of "Ethernet1/17", 17 and 1 of "swp17s1".
std::vector<std::uint32_t> numbers_of(std::string_view name) {
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < name.size();) {
    std::size_t end = i;
    while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
    if (end == i) {
      ++i;
      continue;
    }
    const auto n = parse_uint(name.substr(i, end - i));
    if (!n || *n > 9999) return {};
    out.push_back(static_cast<std::uint32_t>(*n));
    i = end;
  }
  return out;
}

// 0: there is no number. `port_first`: "Ethernet17/1" is lane 1 of port 17, and not port 1 of slot 17.
std::uint32_t port_number(std::string_view name, bool port_first) {
  const std::vector<std::uint32_t> n = numbers_of(name);
  const bool split = name.find('s', name.find_first_of("0123456789") + 1) != npos && n.size() == 2;  // swp17s1
  if (n.empty() || n.size() > 3) return 0;
  if (n.size() == 1) return n[0];
  if (n.size() == 2 && port_first && n[1] == 1) return n[0];  // the whole port
  if (n.size() == 2 && !split && !port_first) return n[1];
  const std::uint32_t port = n[n.size() - 2], lane = n.back();
  return port <= 600 && lane < 100 ? port * 100 + lane : 0;
}

class FabricMaker {
 public:
  explicit FabricMaker(double gb_s) : gb_s_(gb_s) {}

  // Before all: who is asked goes by the name it was asked under.
  void teller(const LldpNeighbour& n) { tellers_.insert(n.host); }

  // First all that are switches: a host is only known as one by nobody saying otherwise.
  void device(const LldpNeighbour& n) {
    Device& d = devices_[name(n)];
    d.is_switch = d.is_switch || is_switch(n);
    d.port_first = d.port_first || mentions(n.far_description, {"arista"});
    if (d.id.empty()) d.id = n.far_id;
  }

  Result<void> cable(const LldpNeighbour& n) {
    const auto near = end(n.host, n.port), far = end(name(n), n.far_port);
    if (!near) return tl::unexpected(near.error());
    if (!far) return tl::unexpected(far.error());
    const std::uint32_t known = fabric_.out(near->first, near->second);
    if (known != Fabric::kNoLink && fabric_.links[known].to == far->first && fabric_.links[known ^ 1U].port == far->second)
      return {};
    if (known != Fabric::kNoLink || fabric_.out(far->first, far->second) != Fabric::kNoLink || near->first == far->first) {
      return fail(
          Code::bad_input,
          fmt::format("{} port {} or {} port {} has two cables, by what is told of them", n.host, n.port, name(n), n.far_port),
          "ask again with `lldpcli update`: neighbours that are gone may still be listed; one LLDP agent a device");
    }
    fabric_.connect(near->first, near->second, far->first, far->second, n.gbit_s > 0 ? n.gbit_s / 8 : gb_s_);
    return {};
  }

  Result<Fabric> done() {
    if (fabric_.links.empty())
      return fail(Code::bad_input, "nobody hears a neighbour", "is lldpd running on hosts and switches?");
    return std::move(fabric_);
  }

 private:
  struct Device {
    bool is_switch = false, port_first = false;
    std::string id;
  };

  // Devices announce their full names, "leaf01.dc1.example.com", where those who ask them say "leaf01".
  std::string name(const LldpNeighbour& n) const {
    const std::string& full = n.far_name.empty() ? n.far_id : n.far_name;
    std::string first = full.substr(0, full.find('.'));
    return tellers_.contains(full) || !tellers_.contains(first) ? full : first;
  }

  Result<std::pair<std::uint32_t, std::uint16_t>> end(const std::string& device, const std::string& port) {
    if (device.empty()) return fail(Code::bad_input, "a neighbour has neither a name nor an id", "give all that lldpctl prints");
    const auto it = devices_.find(device);
    const bool forwards = it != devices_.end() && it->second.is_switch;
    const std::string label = forwards ? device : device + " " + port;
    const auto [known, fresh] = ids_.try_emplace(label, 0);
    if (fresh) known->second = fabric_.add({label, guid(label, forwards ? it->second.id : ""), forwards, {}});
    if (!forwards) return std::pair(known->second, std::uint16_t{1});
    const std::uint32_t number = port_number(port, it->second.port_first);
    const std::vector<std::uint32_t> in_name = numbers_of(port);
    if (number == 0 && !in_name.empty() && in_name.size() <= 3 && in_name.back() == 0) {
      return fail(Code::bad_input,
                  fmt::format("the port \"{}\" of switch {} is number 0, and ports are counted from 1", port, device),
                  "leave the lines of that port out: its cable cannot be compared");
    }
    if (number == 0 || number > UINT16_MAX) {
      return fail(Code::bad_input, fmt::format("the port \"{}\" of switch {} has no number in its name", port, device),
                  "have the switch announce its ports by name (ifname)");
    }
    return std::pair(known->second, static_cast<std::uint16_t>(number));
  }

  // The chassis' own number where it has one, otherwise one made of its name: the same in every reading.
  static std::uint64_t guid(std::string_view label, std::string_view id) {
    std::string hex;
    for (const char c : id) {
      if (c != ':') hex += c;
    }
    const auto mac = hex.size() == 12 ? parse_hex(hex) : std::nullopt;
    return mac ? *mac : xxh64(label, 0);
  }

  double gb_s_;
  std::set<std::string> tellers_;
  std::map<std::string, Device> devices_;
  std::map<std::string, std::uint32_t> ids_;
  Fabric fabric_;
};

}  // namespace

bool looks_like_lldp(std::string_view text) {
  text = trim(text);
  if (!text.empty() && text.front() == '{') return true;
  for (bool found = false;;) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::string_view word = line.substr(0, line.find_first_of(" \t"));
    if (word == "Switch" || word == "Ca" || word == "Hca" || word == "Rt") return false;
    const std::size_t path = line.find("lldp.");
    found = found || (path != npos && path < line.find('=') && line.find('=') != npos) ||
            (line.find("Interface:") != npos && line.find(", via:") != npos);
    if (found || line.size() == text.size()) return found;
    text.remove_prefix(line.size() + 1);
  }
}

Result<std::vector<LldpNeighbour>> parse_lldp(std::string_view text, std::string_view file, std::string_view host) {
  std::vector<LldpNeighbour> out;
  if (const std::string_view s = trim(text); !s.empty() && s.front() == '{') {
    const auto v = parse_json(s);
    if (!v) return fail(v.error().code, fmt::format("{}: {}", file, v.error().what), "give what `lldpctl -f json` prints");
    JsonReader reader(file, out);
    if (auto ok = reader.document(*v, host); !ok) return tl::unexpected(ok.error());
    return out;
  }
  LineReader reader(host, out);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.line(text.substr(0, std::min<std::size_t>(end, 4096)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const auto nameless = std::find_if(out.begin(), out.end(), [](const LldpNeighbour& n) { return n.host.empty(); });
  if (nameless != out.end()) {
    return fail(Code::bad_input,
                fmt::format("{}: whose neighbour {} is at {} is not told", file, nameless->far_name, nameless->port),
                "put the host's name and a colon before each line, as pdsh does");
  }
  if (out.empty())
    return fail(Code::bad_input, fmt::format("{}: no neighbour is in it", file),
                "give what `lldpctl -f json` or `-f keyvalue` prints");
  return out;
}

Result<Fabric> lldp_fabric(std::span<const LldpNeighbour> neighbours, double gb_s) {
  FabricMaker maker(gb_s);
  for (const LldpNeighbour& n : neighbours) maker.teller(n);
  for (const LldpNeighbour& n : neighbours) maker.device(n);
  for (const LldpNeighbour& n : neighbours) {
    if (auto ok = maker.cable(n); !ok) return tl::unexpected(ok.error());
  }
  return maker.done();
}

}  // namespace muster
