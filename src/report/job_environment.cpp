#include "report/job_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/json_writer.h"
#include "base/node_list.h"
#include "base/text.h"
#include "ingest/json.h"
#include "model/codec.h"
#include "model/job_environment.h"
#include "report/document.h"
#include "report/table.h"
#include "report/units.h"

namespace muster::report {
namespace {

constexpr std::size_t kMeanwhileMax = 64;
constexpr std::string_view kAbsent = "absent";

// What a change of it would take, the outermost first; the order in which differences are told.
enum class Layer : std::uint8_t { image, libraries, driver, kernel, network, variables, config, settings, placement, other };
constexpr std::array<std::string_view, 10> names(Layer) {
  return {"image", "libraries", "driver", "kernel", "network", "variables", "config", "settings", "placement", "other"};
}

Layer layer_of(std::string_view what) {
  const std::string_view head = what.substr(0, what.find('.'));
  if (head == "image") return Layer::image;
  if (head == "driver") return Layer::driver;
  if (head == "kernel") return Layer::kernel;
  if (head == "nic" || head == "ofed") return Layer::network;
  if (head == "env") return Layer::variables;
  if (head == "config") return Layer::config;
  if (head == "setting") return Layer::settings;
  if (head == "placement") return Layer::placement;
  for (const std::string_view known : {"nccl", "cuda", "cudnn", "cublas", "torch", "python"}) {
    if (head == known) return Layer::libraries;
  }
  return Layer::other;
}

struct Spoken {
  std::string value;
  std::vector<std::string> nodes;  // empty: of the run as a whole
  std::size_t count = 0;           // of nodes; 0: of the run as a whole
};
using Values = std::vector<Spoken>;
// By layer, then by name.
using Sheet = std::map<std::pair<Layer, std::string>, Values>;

bool same_values(const Values& a, const Values& b) {
  std::set<std::string_view> x, y;
  for (const Spoken& s : a) x.insert(s.value);
  for (const Spoken& s : b) y.insert(s.value);
  return x == y;
}

void write_values(JsonWriter& w, std::string_view key, const Values& values) {
  w.key(key).array();
  for (const Spoken& s : values) {
    w.object().field("value", s.value);
    if (s.count > 0) w.field("nodes", compress_node_list(s.nodes)).field("count", s.count);
    w.end_object();
  }
  w.end_array();
}

std::string words_of(const Value& v) { return v.string() != nullptr ? *v.string() : render_json_line(v); }

// What a job asked for, as the journal spells it.
void add_settings(Sheet& sheet, const JobSpec& spec) {
  const auto v = parse_json(encode_spec(spec));
  if (!v || v->object() == nullptr) return;
  for (const Value::Member& m : *v->object())
    sheet[{Layer::settings, "setting." + m.key}] = Values{Spoken{words_of(m.value), {}, 0}};
}

std::string moment(Time t) { return t.ns == 0 ? std::string() : render_utc(t); }

}  // namespace

Result<RunName> parse_run_name(std::string_view text) {
  const auto wrong = [&]() -> Result<RunName> {
    return fail(Code::bad_input, fmt::format("'{}' names no run of a job", printable(text.substr(0, 100))),
                "4711 is a job's last attempt, 4711.2 its second, 4711_3 a member of an array");
  };
  RunName out;
  const std::size_t dot = std::min(text.find('.'), text.size());
  const std::string_view job = text.substr(0, dot);
  const std::size_t bar = std::min(job.find('_'), job.size());
  const auto number = parse_uint(job.substr(0, bar));
  const auto member = bar == job.size() ? std::optional<std::uint64_t>(0) : parse_uint(job.substr(bar + 1));
  const auto attempt = dot == text.size() ? std::optional<std::uint64_t>(0) : parse_uint(text.substr(dot + 1));
  if (!number || !member || !attempt || *number == 0 || *number > UINT32_MAX || *member >= UINT32_MAX) return wrong();
  if ((dot < text.size() && *attempt == 0) || *attempt > UINT32_MAX) return wrong();
  out.job = {static_cast<std::uint32_t>(*number), bar == job.size() ? 0 : static_cast<std::uint32_t>(*member + 1)};
  out.attempt = static_cast<std::uint32_t>(*attempt);
  return out;
}

void JobRuns::take(const Event& e) {
  const auto wanted = [&](JobId id) { return std::find(wanted_.begin(), wanted_.end(), id) != wanted_.end(); };
  if (const auto* site = std::get_if<SiteDeclared>(&e.body)) {
    site_ = site->site;
  } else if (const auto* submitted = std::get_if<JobSubmitted>(&e.body)) {
    if (wanted(submitted->job)) specs_[submitted->job] = submitted->spec;
  } else if (const auto* amended = std::get_if<JobAmended>(&e.body)) {
    if (wanted(amended->job)) specs_[amended->job] = amended->spec;
  } else if (const auto* started = std::get_if<JobStarted>(&e.body)) {
    if (!wanted(started->job)) return;
    Run& r = runs_[{started->job, started->attempt}];
    r.job = started->job;
    r.attempt = started->attempt;
    r.spec = specs_[started->job];
    r.started = started->at.ns != 0 ? started->at : e.utc;
    r.nodes = started->nodes;
  } else if (const auto* over = std::get_if<JobEnded>(&e.body)) {
    const auto it = runs_.find({over->job, over->attempt});
    if (it == runs_.end()) return;
    it->second.ended = over->at.ns != 0 ? over->at : e.utc;
    it->second.end = name_of(over->end);
  } else if (const auto* described = std::get_if<JobDescribed>(&e.body)) {
    if (wanted(described->job)) note_described(*described);
  }
}

void JobRuns::note_described(const JobDescribed& b) {
  const auto it = runs_.find({b.job, b.attempt});
  if (it == runs_.end()) return;
  Run& r = it->second;
  auto facts = std::make_shared<const Facts>(b.facts);
  if (b.facts.size() == 1 && b.facts[0].first == kSameAsNode) {
    const auto other =
        std::find_if(r.told.begin(), r.told.end(), [&](const auto& t) { return node_name(t.first) == b.facts[0].second; });
    if (other == r.told.end()) return;
    facts = other->second;
  }
  std::shared_ptr<const Facts>& kept = r.told[b.node];
  for (const auto& [what, to] : kept == nullptr ? Facts{} : *facts) {
    const auto was = std::find_if(kept->begin(), kept->end(), [&](const auto& f) { return f.first == what; });
    if (was == kept->end() || was->second == to) continue;
    const auto known = std::find_if(r.meanwhile.begin(), r.meanwhile.end(),
                                    [&](const Meanwhile& m) { return m.what == what && m.from == was->second && m.to == to; });
    if (known != r.meanwhile.end())
      known->nodes.push_back(b.node.v);
    else if (r.meanwhile.size() < kMeanwhileMax)
      r.meanwhile.push_back({what, was->second, to, {b.node.v}});
  }
  kept = std::move(facts);
}

std::string JobRuns::node_name(NodeId n) const {
  return n.v < site_.nodes.size() ? site_.nodes[n.v].name : fmt::format("node {}", n.v);
}

Result<const JobRuns::Run*> JobRuns::find(const RunName& name) const {
  const Run* last = nullptr;
  std::vector<std::string> attempts;
  for (const auto& [key, r] : runs_) {
    if (key.first != name.job) continue;
    if (key.second == name.attempt) return &r;
    attempts.push_back(fmt::format("{}.{}", render(name.job), key.second));
    last = &r;
  }
  if (last != nullptr && name.attempt == 0) return last;
  if (last != nullptr) {
    return fail(Code::not_found, fmt::format("job {} has no attempt {}", render(name.job), name.attempt),
                "there is: " + join(attempts, ", "));
  }
  if (specs_.count(name.job) != 0)
    return fail(Code::not_found, fmt::format("job {} has not run", render(name.job)), "a run is compared once it was started");
  return fail(Code::not_found, fmt::format("the record has no job {}", render(name.job)),
              "`muster get jobs` lists those there are");
}

// Writes what is known of one or two runs.
struct JobRuns::Comparison {
  const JobRuns& all;
  std::vector<const Run*> runs;
  JsonWriter w = {};

  // A run against itself is one run.
  std::vector<const Run*> distinct() const {
    std::vector<const Run*> out = runs;
    if (out.size() == 2 && out[0] == out[1]) out.pop_back();
    return out;
  }

  std::string label(const Run& r) const { return fmt::format("{}.{}", render(r.job), r.attempt); }

  void add_facts(Sheet& sheet, const Run& r) const {
    std::map<std::string, std::map<std::string, std::vector<std::string>>> by_value;
    for (const auto& [node, facts] : r.told) {
      for (const auto& [what, value] : *facts) by_value[what][value].push_back(all.node_name(node));
    }
    for (auto& [what, values] : by_value) {
      Values& out = sheet[{layer_of(what), what}];
      std::size_t has = 0;
      for (auto& [value, nodes] : values) {
        has += nodes.size();
        out.push_back({value, std::move(nodes), 0});
        out.back().count = out.back().nodes.size();
      }
      if (has < r.told.size()) {
        Spoken lacking{std::string(kAbsent), {}, r.told.size() - has};
        for (const auto& [node, facts] : r.told) {
          const auto is_it = [&](const auto& f) { return f.first == what; };
          if (std::none_of(facts->begin(), facts->end(), is_it)) lacking.nodes.push_back(all.node_name(node));
        }
        out.push_back(std::move(lacking));
      }
      std::stable_sort(out.begin(), out.end(), [](const Spoken& a, const Spoken& b) { return a.count > b.count; });
    }
  }

  void add_placement(Sheet& sheet, const Run& r) const {
    std::vector<std::string> nodes;
    std::set<std::string> racks;
    std::set<std::uint32_t> leaves;
    for (const NodeId n : r.nodes) {
      nodes.push_back(all.node_name(n));
      if (n.v >= all.site_.nodes.size()) continue;
      const NodeSpec& spec = all.site_.nodes[n.v];
      leaves.insert(spec.leaf);
      if (spec.rack < all.site_.racks.size()) racks.insert(all.site_.racks[spec.rack]);
    }
    const auto put = [&](const char* what, std::string value) {
      sheet[{Layer::placement, std::string("placement.") + what}] = Values{Spoken{std::move(value), {}, 0}};
    };
    put("nodes", compress_node_list(nodes));
    put("racks", compress_node_list({racks.begin(), racks.end()}));
    put("leaves", std::to_string(leaves.size()));
  }

  // `environment` false: of one of the two it is not recorded, and everything would seem new.
  Sheet sheet_of(const Run& r, bool environment) const {
    Sheet sheet;
    if (environment) add_facts(sheet, r);
    add_settings(sheet, r.spec);
    add_placement(sheet, r);
    return sheet;
  }

  void write_runs() {
    w.key("runs").array();
    for (const Run* r : runs) {
      std::vector<std::string> nodes;
      for (const NodeId n : r->nodes) nodes.push_back(all.node_name(n));
      w.object().field("run", label(*r)).field("job", render(r->job)).field("attempt", r->attempt);
      w.field("name", r->spec.name).field("user", r->spec.user).field("started_utc", moment(r->started));
      w.field("ended_utc", moment(r->ended)).field("end", r->end).field("nodes", compress_node_list(nodes));
      w.field("node_count", r->nodes.size()).field("described", r->told.size()).end_object();
    }
    w.end_array();
  }

  void write_splits(const Run& r) {
    Sheet sheet;
    add_facts(sheet, r);
    for (const auto& [key, values] : sheet) {
      if (values.size() < 2) continue;
      w.object().field("run", label(r)).field("layer", name_of(key.first)).field("what", key.second);
      write_values(w, "values", values);
      w.end_object();
    }
  }

  void write_meanwhile(const Run& r) {
    for (const Meanwhile& m : r.meanwhile) {
      std::vector<std::string> nodes;
      for (const std::uint32_t n : m.nodes) nodes.push_back(all.node_name(NodeId{n}));
      w.object().field("run", label(r)).field("what", m.what).field("nodes", compress_node_list(nodes));
      w.field("count", nodes.size()).field("from", m.from).field("to", m.to).end_object();
    }
  }

  void write_notes() {
    w.key("notes").array();
    for (const Run* r : distinct()) {
      if (r->told.empty()) {
        w.value(
            fmt::format("nothing is recorded of what {} ran in: `muster agent` on its nodes records it from the next start on, "
                        "where it may look into processes (CAP_SYS_PTRACE; docs/fleet/runs.md)",
                        label(*r)));
      } else if (r->told.size() < r->nodes.size()) {
        w.value(fmt::format("of {}, {} of {} nodes told what it ran in; the others count for nothing here", label(*r),
                            r->told.size(), r->nodes.size()));
      }
      Sheet sheet;
      add_facts(sheet, *r);
      const auto unseen = sheet.find({Layer::other, std::string(kUnseenFact)});
      if (unseen != sheet.end() && !unseen->second.empty())
        w.value(fmt::format("of {}, libraries and variables were not seen on {} nodes: {}", label(*r), unseen->second[0].count,
                            unseen->second[0].value));
    }
    w.end_array();
  }

  void write_rest() {
    w.key("split").array();
    for (const Run* r : distinct()) write_splits(*r);
    w.end_array().key("changed_meanwhile").array();
    for (const Run* r : distinct()) write_meanwhile(*r);
    w.end_array();
    write_notes();
  }

  std::string difference(bool with_same) {
    const bool environment = !runs[0]->told.empty() && !runs[1]->told.empty();
    Sheet a = sheet_of(*runs[0], environment), b = sheet_of(*runs[1], environment);
    for (const auto& [key, values] : b) a.try_emplace(key);
    w.object();
    write_runs();
    w.key("changes").array();
    std::vector<const Sheet::value_type*> same;
    for (const auto& entry : a) {
      const Values& other = b[entry.first];
      if (same_values(entry.second, other)) {
        same.push_back(&entry);
        continue;
      }
      w.object().field("layer", name_of(entry.first.first)).field("what", entry.first.second);
      write_values(w, "a", entry.second);
      write_values(w, "b", other);
      w.end_object();
    }
    w.end_array().field("same_count", same.size()).key("same").array();
    for (const auto* entry : with_same ? same : std::vector<const Sheet::value_type*>()) {
      w.object().field("layer", name_of(entry->first.first)).field("what", entry->first.second);
      write_values(w, "a", entry->second);
      w.end_object();
    }
    w.end_array();
    write_rest();
    w.end_object();
    return w.take();
  }

  std::string environment() {
    Sheet sheet;
    add_facts(sheet, *runs[0]);
    w.object();
    write_runs();
    w.key("facts").array();
    for (const auto& [key, values] : sheet) {
      w.object().field("layer", name_of(key.first)).field("what", key.second);
      write_values(w, "values", values);
      w.end_object();
    }
    w.end_array();
    write_rest();
    w.end_object();
    return w.take();
  }
};

Result<std::string> JobRuns::difference_json(const RunName& a, const RunName& b, bool all) const {
  const auto first = find(a), second = find(b);
  if (!first) return tl::unexpected(first.error());
  if (!second) return tl::unexpected(second.error());
  return Comparison{*this, {*first, *second}}.difference(all);
}

Result<std::string> JobRuns::environment_json(const RunName& run) const {
  const auto one = find(run);
  if (!one) return tl::unexpected(one.error());
  return Comparison{*this, {*one}}.environment();
}

}  // namespace muster::report
