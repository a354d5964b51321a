#include "scenario.h"

#include <fmt/core.h>

#include "base/text.h"
#include "ingest/cluster_file.h"
#include "ingest/form.h"
#include "ingest/policy_file.h"
#include "ingest/workload_file.h"
#include "ingest/yaml.h"

namespace muster::scenarios {
namespace {

constexpr std::size_t kItemsMax = 1000;

// The lines of one top-level key, everything else blank so that line numbers stay. `inner`: without the key and its indentation.
std::string block(const std::string& text, std::string_view key, bool inner) {
  std::string out;
  bool in_block = false;
  for (const std::string_view line : split(text, '\n')) {
    const bool top = !line.empty() && line[0] != ' ' && line[0] != '#' && line[0] != '-';
    const bool head = top && line.substr(0, key.size() + 1) == std::string(key) + ":";
    if (top) in_block = head;
    if (in_block && !(inner && head)) out += inner && line.substr(0, 2) == "  " ? line.substr(2) : line;
    out += '\n';
  }
  return out;
}

NodeId read_node(Form& f, const Value& v, std::string_view key, const Site& site) {
  std::string name;
  if (!f.text(key, name)) return {};
  const NodeId n = find_node(site, name);
  if (!n.some()) f.error(v, fmt::format("no node is called {}", quoted(name)));
  return n;
}

Injection read_injection(Form& outer, const Value& v, const Scenario& s) {
  Form f(v, s.file, "inject[].");
  Injection i;
  std::uint32_t slot = 0;
  f.need("at");
  f.duration("at", i.at, seconds(0), days(30));
  f.need("fault");
  f.name("fault", i.stroke.kind);
  i.stroke.node = read_node(f, v, "node", s.site);
  if (f.whole("slot", slot, 0, s.site.gpus_per_node - 1)) i.stroke.slot = static_cast<int>(slot);
  f.duration("lasts", i.stroke.lasts, seconds(1), days(30));
  f.number("share", i.stroke.share, 0, 1);
  f.whole("count", i.stroke.count, 1, 10'000'000);
  f.duration("forward", i.stroke.by, seconds(1), days(3650));
  if (Duration back; f.duration("back", back, seconds(1), days(3650))) i.stroke.by = Duration{-back.ns};
  if (const auto r = f.finish(); !r) outer.adopt(r.error());
  return i;
}

Command read_command(Form& outer, const Value& v, const Scenario& s) {
  Form f(v, s.file, "commands[].");
  Command c;
  c.given.actor = "ada";
  c.given.id = fmt::format("command-{}", s.commands.size() + 1);
  f.need("at");
  f.duration("at", c.at, seconds(0), days(30));
  f.need("command");
  f.name("command", c.given.verb);
  f.text("reason", c.given.reason);
  c.given.node = read_node(f, v, "node", s.site);
  if (const auto r = f.finish(); !r) outer.adopt(r.error());
  return c;
}

// Times count from the first injection on the same node, else from the first one of all, unless `after` says otherwise.
Duration origin(const Scenario& s, NodeId node) {
  for (const Injection& i : s.inject) {
    if (node.some() && i.stroke.node == node) return i.at;
  }
  return s.inject.empty() ? Duration{} : s.inject.front().at;
}

Match read_match(Form& outer, const Value& v, const Scenario& s, bool expected) {
  Form f(v, s.file, expected ? "expect[]." : "never[].");
  Match m;
  const auto verb = [&](std::string_view key) {
    Verb x{};
    return f.name(key, x) ? std::optional<Verb>(x) : std::nullopt;
  };
  m.action = verb("action");
  m.refused = verb("refused");
  FindingKind kind{};
  if (f.name("finding", kind)) m.finding = kind;
  f.text("started", m.started);
  f.text("frozen", m.frozen);
  f.text("thawed", m.thawed);
  FindingKind cause{};
  if (f.name("incident", cause)) m.incident = cause;
  f.whole("times", m.times, 1, 1000);
  m.node = read_node(f, v, "node", s.site);
  if (const NodeId n = read_node(f, v, "incident_closed", s.site); n.some()) {
    m.incident_closed = true;
    m.node = n;
  }
  f.text("because", m.because);
  Duration after = expected ? origin(s, m.node) : Duration{};
  Duration within = expected ? s.run : days(365);
  f.duration("after", after, seconds(0), days(30));
  f.duration(expected ? "within" : "until", within, seconds(0), days(365));
  m.after = Time{after.ns};
  m.until = Time{expected ? after.ns + within.ns : within.ns};
  const int given = (m.action ? 1 : 0) + (m.refused ? 1 : 0) + (m.finding ? 1 : 0) + (m.incident_closed ? 1 : 0) +
                    (m.started.empty() ? 0 : 1) + (m.frozen.empty() ? 0 : 1) + (m.thawed.empty() ? 0 : 1) + (m.incident ? 1 : 0);
  if (given != 1) f.error(v, "give one of action, refused, finding, incident, incident_closed, started, frozen, thawed");
  if (const auto r = f.finish(); !r) outer.adopt(r.error());
  return m;
}

Bounds read_bounds(Form& outer, const Scenario& s) {
  Bounds b;
  const Value* v = outer.object("bounds");
  if (v == nullptr) return b;
  Form f(*v, s.file, "bounds.");
  const auto count = [&](std::string_view key) {
    std::uint32_t n = 0;
    return f.whole(key, n, 0, 10'000'000) ? std::optional<std::uint32_t>(n) : std::nullopt;
  };
  b.drained_at_most = count("drained_at_most");
  b.incidents_at_most = count("incidents_at_most");
  b.findings_at_least = count("findings_at_least");
  b.cpu_s_at_most = count("cpu_s_at_most");
  b.memory_mb_at_most = count("memory_mb_at_most");
  f.flag("all_well", b.all_well);
  if (const auto r = f.finish(); !r) outer.adopt(r.error());
  return b;
}

template <class T, class Read>
void read_list(Form& f, const std::string& text, std::string_view key, std::vector<T>& out, Read read) {
  const Value::Array* items = f.list(key, kItemsMax);
  if (items == nullptr) return;
  const auto lines = split(text, '\n');
  for (const Value& v : *items) {
    if (!f.ok()) return;
    out.push_back(read(v));
    if constexpr (requires { out.back().text; }) {
      const auto line = static_cast<std::size_t>(v.line());
      if (line >= 1 && line <= lines.size()) out.back().text = std::string(trim(lines[line - 1]));
    }
  }
}

}  // namespace

Result<Scenario> parse_scenario(const std::string& text, const std::string& file) {
  auto root = parse_yaml(text, file);
  if (!root) return tl::unexpected(root.error());
  Form f(*root, file);
  Scenario s;
  s.file = file;
  f.need("about");
  f.text("about", s.about, 400);
  std::uint32_t gpus = 64;
  std::string preset;
  f.whole("gpus", gpus, 8, 100'000);
  f.text("cluster", preset);
  auto site = preset.empty() ? plain_cluster(gpus) : preset_cluster(preset);
  if (!site) return tl::unexpected(site.error());
  s.site = std::move(*site);
  std::uint32_t per_row = 0;
  if (f.whole("racks_per_row", per_row, 1, 1000)) {
    for (std::uint32_t r = 0; r < s.site.racks.size(); ++r) s.site.rack_row.push_back(r / per_row);
  }
  f.whole("seed", s.seed, std::uint64_t{0}, std::uint64_t{1} << 62);
  f.whole("seeds", s.seeds, 1, 1000);
  f.need("run");
  f.duration("run", s.run, seconds(1), days(30));
  s.policy = default_policy();
  if (f.object("policy") != nullptr) {
    auto p = parse_policy(block(text, "policy", true), file);
    if (!p) return tl::unexpected(p.error());
    s.policy = std::move(*p);
  }
  s.workload.mix.clear();
  if (f.list("jobs", kItemsMax) != nullptr) {
    auto w = parse_workload(block(text, "jobs", false), file);
    if (!w) return tl::unexpected(w.error());
    s.workload = std::move(*w);
  }
  read_list(f, text, "inject", s.inject, [&](const Value& v) { return read_injection(f, v, s); });
  read_list(f, text, "commands", s.commands, [&](const Value& v) { return read_command(f, v, s); });
  read_list(f, text, "expect", s.expect, [&](const Value& v) { return read_match(f, v, s, true); });
  read_list(f, text, "never", s.never, [&](const Value& v) { return read_match(f, v, s, false); });
  s.bounds = read_bounds(f, s);
  if (f.ok() && s.expect.empty() && s.never.empty()) f.error(*root, "nothing is expected: it could not fail");
  if (const auto r = f.finish(); !r) return tl::unexpected(r.error());
  return s;
}

}  // namespace muster::scenarios
