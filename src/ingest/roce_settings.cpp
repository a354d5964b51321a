#include "ingest/roce_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "base/text.h"
#include "base/value.h"
#include "ingest/json.h"
#include "ingest/nccl_words.h"

namespace muster {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::size_t kNameMax = 96, kLineMax = 65536;

std::string kept(std::string_view s) { return printable(s.substr(0, kNameMax)); }

void each_line(std::string_view text, const std::function<void(std::string_view, std::uint32_t)>& take) {
  std::uint32_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    take(text.substr(0, std::min(end, kLineMax)), ++number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::vector<std::string_view> words_of(std::string_view s) {
  std::vector<std::string_view> out;
  for (std::size_t at = s.find_first_not_of(" \t\r"); at != npos && out.size() < 256;) {
    const std::size_t end = std::min(s.find_first_of(" \t\r", at), s.size());
    out.push_back(s.substr(at, end - at));
    at = s.find_first_not_of(" \t\r", end);
  }
  return out;
}

// "3", "3,4", "3-4": priorities and queues, 0 to 7.
std::vector<int> priorities_of(std::string_view s) {
  std::set<int> all;
  for (const std::string_view part : split(s, ',')) {
    const std::string_view word = trim(part);
    const auto low = leading_uint(word, 7);
    const std::size_t dash = word.find('-');
    const auto high = dash == npos ? low : leading_uint(word.substr(dash + 1), 7);
    if (!low || !high) continue;
    for (auto p = *low; p <= *high; ++p) all.insert(static_cast<int>(p));
  }
  return {all.begin(), all.end()};
}

// "150", "1.43 MB", "146.48 KB": a bare number is of `unit_kb`.
std::optional<double> size_kb(std::string_view s, double unit_kb) {
  const auto n = leading_double(trim(s));
  if (!n || !(*n >= 0) || *n > 1e12) return {};
  const std::string rest = lower(s);
  if (rest.find("mb") != npos || rest.find("mib") != npos) return *n * 1000;
  if (rest.find("kb") != npos || rest.find("kib") != npos) return *n;
  if (rest.find('b') != npos) return *n / 1000;
  return *n * unit_kb;
}

void add_priority(std::optional<std::vector<int>>& list, int p) {
  if (!list) list.emplace();
  if (p >= 0 && std::find(list->begin(), list->end(), p) == list->end()) list->push_back(p);
  std::sort(list->begin(), list->end());
}

void card_line(std::string_view line, std::uint32_t number, RoceSettings& out) {
  const std::string_view s = trim(line);
  if (s.starts_with("Priority trust state:")) {
    out.trust = lower(kept(trim(s.substr(21))));
    out.line = out.line == 0 ? number : out.line;
  } else if (s.starts_with("prio:") && s.find("dscp:") != npos) {
    const auto prio = leading_uint(s.substr(5), 7);
    if (!prio) return;
    if (!out.priority_of) out.priority_of.emplace().fill(-1);
    for (const std::string_view d : split(after(s, "dscp:"), ',')) {
      if (const auto dscp = leading_uint(trim(d), 63)) (*out.priority_of)[*dscp] = static_cast<int>(*prio);
    }
  } else if (s.starts_with("Cable len:")) {
    out.cable_m = leading_double(trim(s.substr(10)));
  } else if (s.starts_with("enabled") && !out.pfc) {
    const auto cells = words_of(s);
    out.pfc.emplace();
    for (std::size_t p = 0; p < 8 && p + 1 < cells.size(); ++p) {
      if (cells[p + 1] == "1") out.pfc->push_back(static_cast<int>(p));
    }
  } else if (const std::size_t at = s.find("/ecn/roce_np/enable/"); at != npos) {
    const auto prio = leading_uint(s.substr(at + 20), 7);
    if (!prio) return;
    if (!out.ecn) out.ecn.emplace();
    if (s.ends_with(":1")) add_priority(out.ecn, static_cast<int>(*prio));
  }
}

// "Min : 150", "min-threshold    146.48 KB   146.48 KB": what follows the name, up to the second column.
std::string_view value_of(std::string_view s, std::string_view name) {
  s = trim(s.substr(name.size()));
  if (s.starts_with(':')) s = trim(s.substr(1));
  return trim(s.substr(0, s.find("  ")));
}

// Other lines begin with the same words and have no number: these take nothing away.
void keep_if(std::optional<double> value, std::optional<double>& into) {
  if (value) into = value;
}

void switch_line(std::string_view line, std::uint32_t number, RoceSettings& out) {
  const std::string_view s = trim(line);
  const std::string low = lower(s);
  const std::string_view l = low;
  if (l.starts_with("roce mode") || l.starts_with("congestion-control")) out.line = out.line == 0 ? number : out.line;
  if (l.starts_with("port trust mode") || l.starts_with("trust-mode")) {
    const bool by_dscp = l.find("l3") != npos || l.find("dscp") != npos;
    out.trust = by_dscp ? "dscp" : "pcp";
  } else if (l.starts_with("min-threshold")) {
    keep_if(size_kb(value_of(s, "min-threshold"), 0.001), out.kmin_kb);
  } else if (l.starts_with("max-threshold")) {
    keep_if(size_kb(value_of(s, "max-threshold"), 0.001), out.kmax_kb);
  } else if (l.starts_with("min ") || l.starts_with("min:")) {
    keep_if(size_kb(value_of(s, "min"), 1), out.kmin_kb);
  } else if (l.starts_with("max ") || l.starts_with("max:")) {
    keep_if(size_kb(value_of(s, "max"), 1), out.kmax_kb);
  } else if (l.starts_with("probability")) {
    if (const auto p = leading_double(value_of(s, "probability"))) out.pmax = std::clamp(*p / 100, 0.0, 1.0);
  } else if (l.starts_with("enabled-tc")) {
    out.ecn = priorities_of(value_of(s, "enabled-tc"));
  } else if (l.starts_with("pfc-priority")) {
    out.pfc = priorities_of(value_of(s, "pfc-priority"));
  } else if (l.starts_with("switch-priority ") && l.find("enabled") != npos) {
    if (const auto p = leading_uint(trim(s.substr(16)), 7)) add_priority(out.pfc, static_cast<int>(*p));
  } else if (l.starts_with("cable-length")) {
    out.cable_m = leading_double(value_of(s, "cable-length"));
  } else if (l.starts_with("mode") && l.find("ecn") != npos && !out.ecn) {
    out.ecn = std::vector<int>{3};  // Onyx marks the class that RoCE uses, which is 3
  }
}

const Value* member(const Value* v, std::string_view key) { return v == nullptr ? nullptr : v->find(key); }

std::optional<double> number_in(const Value* v, std::string_view key) {
  const Value* m = member(v, key);
  if (m == nullptr) return {};
  if (m->string() != nullptr) return leading_double(trim(*m->string()));
  double d = 0;
  return m->number(d) ? std::optional(d) : std::nullopt;
}

std::string text_in(const Value* v, std::string_view key) {
  const Value* m = member(v, key);
  return m != nullptr && m->string() != nullptr ? *m->string() : std::string();
}

// "[WRED_PROFILE|AZURE_LOSSLESS]" of older releases, "AZURE_LOSSLESS" of newer ones.
std::string reference(std::string s) {
  if (const std::size_t bar = s.rfind('|'); bar != npos) s = s.substr(bar + 1);
  if (s.ends_with(']')) s.pop_back();
  return s;
}

void sonic_marks(const Value* tree, RoceSettings& out) {
  const Value* profiles = member(tree, "WRED_PROFILE");
  const Value* used = nullptr;
  if (const Value* queues = member(tree, "QUEUE"); queues != nullptr && queues->object() != nullptr) {
    for (const Value::Member& q : *queues->object()) {
      const Value* profile = member(profiles, reference(text_in(&q.value, "wred_profile")));
      if (profile == nullptr) continue;
      const std::size_t bar = q.key.rfind('|');
      const std::string ecn = text_in(profile, "ecn");
      if (ecn.empty() || ecn == "ecn_none" || bar == npos) continue;
      if (used == nullptr) used = profile;
      for (const int p : priorities_of(std::string_view(q.key).substr(bar + 1))) add_priority(out.ecn, p);
    }
    if (!out.ecn) out.ecn.emplace();
  }
  if (used == nullptr && profiles != nullptr && profiles->object() != nullptr) {
    for (const Value::Member& p : *profiles->object()) {
      if (used == nullptr && lower(p.key).find("lossless") != npos) used = &p.value;
    }
    if (used == nullptr && !profiles->object()->empty()) used = &profiles->object()->front().value;
  }
  if (used == nullptr) return;
  if (const auto low = number_in(used, "green_min_threshold")) out.kmin_kb = *low / 1000;
  if (const auto high = number_in(used, "green_max_threshold")) out.kmax_kb = *high / 1000;
  if (const auto p = number_in(used, "green_drop_probability")) out.pmax = std::clamp(*p / 100, 0.0, 1.0);
}

void sonic_buffers(const Value* tree, RoceSettings& out) {
  const Value* profiles = member(tree, "BUFFER_PROFILE");
  if (profiles == nullptr || profiles->object() == nullptr) return;
  for (const Value::Member& p : *profiles->object()) {
    const auto xoff = number_in(&p.value, "xoff");
    if (!xoff) continue;
    if (const auto fixed = number_in(&p.value, "static_th")) out.xoff_kb = *fixed / 1000;
    const auto step = number_in(&p.value, "dynamic_th");
    const auto pool = number_in(member(member(tree, "BUFFER_POOL"), "ingress_lossless_pool"), "size");
    if (!step || !pool || *pool <= 0 || *step < -8 || *step > 8) continue;
    // A queue may hold 2^step times what is free: with sixteen of them full, this is the share of one.
    double alpha = 1;
    for (int i = 0; i < static_cast<int>(*step); ++i) alpha *= 2;
    for (int i = 0; i > static_cast<int>(*step); --i) alpha /= 2;
    out.xoff_kb = alpha * *pool / (1 + 16 * alpha) / 1000;
  }
}

// "pg_lossless_400000_40m_profile": the ports it is for, in Mb/s and metres.
std::optional<std::pair<double, double>> ports_of_profile(std::string_view name) {
  const auto parts = split(name, '_');
  if (parts.size() != 5 || parts[0] != "pg" || parts[1] != "lossless") return {};
  const auto speed = leading_double(parts[2]), m = leading_double(parts[3]);
  return speed && m ? std::optional(std::pair(*speed, *m)) : std::nullopt;
}

// What the fastest ports keep, and for which cable: of several the one with the least for its length. A profile that does not say
// whose it is counts where all ports are alike: what suits short cables is too little for long ones, and rightly so.
void sonic_headroom(const Value* tree, bool alike, RoceSettings& out) {
  const Value* profiles = member(tree, "BUFFER_PROFILE");
  if (profiles == nullptr || profiles->object() == nullptr) return;
  double least = 0;
  std::optional<double> cable_m;
  for (const Value::Member& p : *profiles->object()) {
    const auto xoff = number_in(&p.value, "xoff");
    const auto ports = ports_of_profile(p.key);
    if (!xoff || (ports ? out.line_gb_s && ports->first / 8000 != *out.line_gb_s : !alike)) continue;
    const double m = ports ? ports->second : out.cable_m.value_or(0), share = *xoff / (2000 + 10 * m);
    if (out.headroom_kb && share >= least) continue;
    least = share;
    out.headroom_kb = *xoff / 1000;
    cable_m = ports ? std::optional(m) : out.cable_m;
  }
  if (cable_m) out.cable_m = cable_m;
}

// Whether all of them have one speed and one length of cable.
bool sonic_ports(const Value* tree, RoceSettings& out) {
  bool alike = true;
  std::string map_used;
  if (const Value* ports = member(tree, "PORT_QOS_MAP"); ports != nullptr && ports->object() != nullptr) {
    for (const Value::Member& p : *ports->object()) {
      if (const std::string on = text_in(&p.value, "pfc_enable"); !on.empty()) {
        for (const int prio : priorities_of(on)) add_priority(out.pfc, prio);
      }
      const std::string map = reference(text_in(&p.value, "dscp_to_tc_map"));
      if (!map.empty()) out.trust = "dscp";
      if (map_used.empty()) map_used = map;
    }
  }
  if (const Value* maps = member(tree, "DSCP_TO_TC_MAP");
      maps != nullptr && maps->object() != nullptr && !maps->object()->empty()) {
    const Value* named = map_used.empty() ? nullptr : member(maps, map_used);
    const Value& used = named != nullptr ? *named : maps->object()->front().value;
    out.priority_of.emplace().fill(-1);
    for (std::size_t d = 0; d < 64; ++d) {
      const auto tc = number_in(&used, std::to_string(d));
      if (tc && *tc >= 0 && *tc <= 7) (*out.priority_of)[d] = static_cast<int>(*tc);
    }
  }
  if (const Value* lengths = member(tree, "CABLE_LENGTH"); lengths != nullptr && lengths->object() != nullptr) {
    for (const Value::Member& area : *lengths->object()) {
      if (area.value.object() == nullptr) continue;
      for (const Value::Member& port : *area.value.object()) {
        const auto m = number_in(&area.value, port.key);
        if (!m || *m <= 0 || *m > 100'000) continue;
        alike = alike && *m == out.cable_m.value_or(*m);
        out.cable_m = std::max(out.cable_m.value_or(0), *m);
      }
    }
  }
  if (const Value* ports = member(tree, "PORT"); ports != nullptr && ports->object() != nullptr) {
    for (const Value::Member& p : *ports->object()) {
      const auto speed = number_in(&p.value, "speed"), mtu = number_in(&p.value, "mtu");
      if (speed && *speed > 0 && *speed <= 1e7) {
        alike = alike && *speed / 8000 == out.line_gb_s.value_or(*speed / 8000);
        out.line_gb_s = std::max(out.line_gb_s.value_or(0), *speed / 8000);
      }
      if (mtu && *mtu >= 256 && *mtu <= 65536) out.mtu_b = std::max(out.mtu_b.value_or(0), *mtu);
    }
  }
  return alike;
}

// One that breaks off early has only the tables that come first.
bool sonic(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t\r\n");
  const bool object = from != npos && text[from] == '{';
  const auto has = [&](std::string_view table) { return text.find(table) != npos; };
  return has("\"WRED_PROFILE\"") || has("\"PORT_QOS_MAP\"") || has("\"BUFFER_PROFILE\"") ||
         (object && (has("\"DEVICE_METADATA\"") || has("\"CABLE_LENGTH\"") || has("\"DSCP_TO_TC_MAP\"")));
}

}  // namespace

bool looks_like_roce_settings(std::string_view text) {
  const std::string_view head = text.substr(0, 1 << 20);
  return head.find("Priority trust state:") != npos || head.find("/ecn/roce_np/enable/") != npos ||
         head.find("RoCE mode") != npos || head.find("pfc-priority") != npos || head.find("enabled-tc") != npos || sonic(head);
}

Result<RoceSettings> parse_roce_settings(std::string_view text, std::string_view file) {
  RoceSettings out;
  out.file = kept(file);
  if (sonic(text.substr(0, 1 << 20))) {
    const auto tree = parse_json(text);
    if (!tree)
      return fail(tree.error().code, fmt::format("{}: broken JSON: {}", out.file, tree.error().what), "the whole config_db.json");
    out.is_switch = true;
    out.what = "SONiC";
    sonic_marks(&*tree, out);
    sonic_buffers(&*tree, out);
    sonic_headroom(&*tree, sonic_ports(&*tree, out), out);
    return out;
  }
  out.is_switch = text.find("Priority trust state:") == npos && text.find("/ecn/roce_np/") == npos;
  out.what = out.is_switch ? "show roce" : text.find("Priority trust state:") != npos ? "mlnx_qos" : "ecn";
  each_line(text, [&](std::string_view line, std::uint32_t number) {
    out.is_switch ? switch_line(line, number, out) : card_line(line, number, out);
  });
  return out;
}

bool looks_like_roce_counters(std::string_view text) {
  const std::string_view head = text.substr(0, 1 << 16);
  return head.find("NIC statistics:") != npos || head.find("/hw_counters/") != npos ||
         head.find("/counters/link_downed") != npos || (head.find("link ") != npos && head.find("np_cnp_sent") != npos);
}

std::vector<RoceCounters> parse_roce_counters(std::string_view text, std::string_view file) {
  std::vector<RoceCounters> out;
  RoceCounters beyond;  // of cards that are too many
  std::map<std::string, std::size_t> known;
  std::size_t kept_values = 0, tables = 0;
  const auto card = [&](std::string name) -> RoceCounters& {
    if (const auto it = known.find(name); it != known.end()) return out[it->second];
    if (out.size() >= kRoceCardsMax) return beyond;
    known.emplace(name, out.size());
    out.push_back({kept(file), std::move(name), {}});
    return out.back();
  };
  const auto put = [&](RoceCounters& c, std::string_view name, std::string_view value) {
    const auto n = leading_uint(trim(value));
    if (!n || name.empty() || kept_values >= kRoceCountersMax) return;
    ++kept_values;
    c.value[kept(name)] = *n;
  };
  each_line(text, [&](std::string_view line, std::uint32_t) {
    const std::string_view s = trim(line);
    if (s.starts_with("NIC statistics:")) {
      ++tables;
    } else if (const std::size_t ports = s.find("/ports/"); ports != npos && s.find("counters/", ports) != npos) {
      // "mlx5_0/ports/1/hw_counters/packet_seq_err:9", "/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed:2"
      const std::size_t slash = s.substr(0, ports).rfind('/'), from = s.find("counters/", ports) + 9, colon = s.rfind(':');
      const std::string_view device = s.substr(0, ports).substr(slash == npos ? 0 : slash + 1);
      if (colon != npos && colon > from) put(card(kept(device)), s.substr(from, colon - from), s.substr(colon + 1));
    } else if (s.starts_with("link ")) {
      const auto words = words_of(s);
      RoceCounters& c = card(words.size() > 1 ? kept(until(words[1], "/")) : "");
      for (std::size_t i = 2; i + 1 < words.size(); i += 2) put(c, words[i], words[i + 1]);
    } else if (const std::size_t colon = s.find(": "); colon != npos && s.find(' ') == colon + 1) {
      // ethtool does not say whose they are: the second table of a file is of another card than the first.
      put(card(tables > 1 ? fmt::format("table {}", tables) : ""), s.substr(0, colon), s.substr(colon + 2));
    }
  });
  std::erase_if(out, [](const RoceCounters& c) { return c.value.empty(); });
  return out;
}

}  // namespace muster
