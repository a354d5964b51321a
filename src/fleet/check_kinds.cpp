#include "fleet/check_kinds.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/check.h"
#include "base/node_list.h"
#include "base/text.h"
#include "fleet/version.h"

namespace muster::fleet {
namespace {

// What one node has of one thing, where the rule applies.
struct Has {
  std::uint32_t node = 0;
  std::string entity;
  Known value;
  std::string means{};  // of a job: what its value comes to, "2.27.5" of "v2.27.5+cuda12.9"
};
using Groups = std::map<std::string, std::vector<Has>>;

std::string names_of(const FactTable& table, std::vector<std::uint32_t> nodes) {
  std::vector<std::string> names;
  for (const std::uint32_t n : nodes) names.push_back(table.nodes()[n].name);
  const std::string all = compress_node_list(std::move(names));
  return all.size() <= 60 ? all : std::string(clipped(all, 57)) + "...";
}

std::vector<std::uint32_t> ascending(std::vector<std::uint32_t> nodes) {
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

Verdict plain(RuleStatus status, std::vector<std::uint32_t> nodes) {
  Verdict v;
  v.status = status;
  v.nodes = ascending(std::move(nodes));
  return v;
}

// Nodes by how the rule applies to them, and what they have.
struct Where {
  std::vector<std::uint32_t> not_applicable, unknown;
  std::vector<std::string> missing;
  Groups things;  // by kind of thing: the part's name, or the value of the fact after "by"
};

// Of the facts that are compared the first that has a value: what jobs have mapped, else what is installed. `which`: its place.
Known compared(const ReadRule& read, const std::vector<Known>& known, std::size_t& which) {
  Known out{Known::State::absent, {}};
  which = 0;
  for (std::size_t i = 0; i < read.of_wants.size(); ++i) {
    if (!read.by.empty() && i + 1 == read.of_wants.size()) break;
    const Known& k = known[read.of_wants[i]];
    which = i;
    if (k.state == Known::State::value) return k;
    if (k.state == Known::State::unknown) out = k;
  }
  return out;
}

// How the rule applies to nodes with the same values, and what they have.
struct Sorted {
  Truth applies = Truth::no;
  std::vector<std::string> missing;
  std::string of;  // of Where::things
  Known value;
};

Sorted sorted_node(const ReadRule& read, const Bound& b, std::uint32_t n, const std::string& today) {
  const std::vector<Known> known = known_of(read, b, n, today);
  const auto for_applies = picked(known, read.of_applies);
  const std::uint32_t by = read.of_wants.back();
  std::size_t which = 0;
  Sorted out;
  out.value = compared(read, known, which);
  out.applies = applies_to_any(read, known);
  if (out.applies == Truth::no) return out;
  const bool unknown_by = !read.by.empty() && known[by].state == Known::State::unknown;
  if (out.applies == Truth::unknown || out.value.state == Known::State::unknown || unknown_by) {
    out.applies = Truth::unknown;
    for (const std::uint32_t m : read.applies.missing(for_applies)) out.missing.push_back(read.applies.facts()[m]);
    if (out.value.state == Known::State::unknown) out.missing.push_back(read.facts[read.of_wants.front()]);
    if (unknown_by) out.missing.push_back(read.facts[by]);
    return out;
  }
  // What jobs have mapped and what is installed are two things.
  out.of = read.by.empty() ? b.entity + (which == 0 ? "" : " " + read.facts[read.of_wants[which]]) : spoken(known[by]);
  return out;
}

// `nodes` that have the part; those with the same values are looked at once.
void sort_nodes(const ReadRule& read, const Bound& b, const std::vector<std::uint32_t>& nodes, const std::string& today,
                Where& out) {
  const Alike alike = alike_nodes(b.columns, nodes);
  std::vector<Sorted> sorted;
  std::vector<std::vector<Has>*> things;
  for (const std::uint32_t at : alike.example) {
    sorted.push_back(sorted_node(read, b, nodes[at], today));
    things.push_back(sorted.back().applies == Truth::yes ? &out.things[sorted.back().of] : nullptr);
    for (std::string& m : sorted.back().missing) out.missing.push_back(std::move(m));
  }
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    const std::uint32_t k = alike.of_node[at];
    switch (sorted[k].applies) {
      case Truth::no: out.not_applicable.push_back(nodes[at]); break;
      case Truth::unknown: out.unknown.push_back(nodes[at]); break;
      case Truth::yes: things[k]->push_back({nodes[at], b.entity, sorted[k].value}); break;
    }
  }
}

Where sorted_out(const FactTable& table, const Parts& parts, const ReadRule& read, const std::vector<std::uint32_t>& nodes,
                 const std::string& today) {
  Where out;
  std::vector<bool> any(table.nodes().size(), false);
  for (const Bound& b : bind(table, parts, read)) {
    std::vector<std::uint32_t> have;
    for (const std::uint32_t n : nodes) {
      if (has_part(read, b, n)) have.push_back(n);
    }
    for (const std::uint32_t n : have) any[n] = true;
    sort_nodes(read, b, have, today, out);
  }
  for (const std::uint32_t n : nodes) {
    if (any[n] || counted_none(table, read, n)) continue;
    out.unknown.push_back(n);
    for (std::string& f : facts_of_part(read)) out.missing.push_back(std::move(f));
  }
  std::sort(out.missing.begin(), out.missing.end());
  out.missing.erase(std::unique(out.missing.begin(), out.missing.end()), out.missing.end());
  return out;
}

std::map<std::string, std::vector<const Has*>> by_value(const std::vector<Has>& things) {
  std::map<std::string, std::vector<const Has*>> out;
  for (const Has& h : things) out[h.means.empty() ? spoken(h.value) : h.means].push_back(&h);
  return out;
}

std::vector<std::uint32_t> nodes_of(const std::vector<const Has*>& who) {
  std::vector<std::uint32_t> out;
  for (const Has* h : who) out.push_back(h->node);
  return ascending(std::move(out));
}

std::string split_text(const FactTable& table, const std::map<std::string, std::vector<const Has*>>& values) {
  std::vector<std::pair<std::string, std::vector<std::uint32_t>>> rows;
  for (const auto& [value, who] : values) rows.emplace_back(value, nodes_of(who));
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  std::string out;
  for (std::size_t i = 0; i < rows.size() && i < 6; ++i)
    out += fmt::format("{}{} on {}", i == 0 ? "" : ", ", rows[i].first, names_of(table, rows[i].second));
  if (rows.size() > 6) out += fmt::format(", and {} more", rows.size() - 6);
  return out;
}

void judge_things(const FactTable& table, const FleetRule& rule, const ReadRule& read, const std::string& of,
                  const std::vector<Has>& things, const CheckOptions& options, std::vector<Verdict>& out) {
  const auto values = by_value(things);
  const std::string& key = read.facts[read.of_wants.front()];
  if (values.size() <= 1) return;
  auto most = values.begin();
  for (auto it = values.begin(); it != values.end(); ++it) {
    if (it->second.size() > most->second.size()) most = it;
  }
  const double share = static_cast<double>(most->second.size()) / static_cast<double>(things.size());
  const bool decided = things.size() >= options.agree.least && share >= options.agree.share;
  if (!decided) {
    std::vector<const Has*> all;
    for (const Has& h : things) all.push_back(&h);
    Verdict v = plain(RuleStatus::unknown, nodes_of(all));
    v.found = fmt::format("{} is undecided: {}", key, split_text(table, values));
    if (read.by.empty() && !of.empty()) v.parts.push_back(of);
    out.push_back(std::move(v));
    return;
  }
  for (const auto& [value, who] : values) {
    if (value == most->first) continue;
    Verdict v = plain(RuleStatus::broken, nodes_of(who));
    v.found = fmt::format("{} {}; {} of {} {}have {}", key, value, most->second.size(), things.size(),
                          read.by.empty() ? "of this kind " : "of " + of + " ", most->first);
    v.says = rule.says + ": " + v.found;
    std::vector<std::string> parts;
    for (const Has* h : who) parts.push_back(h->entity);
    std::sort(parts.begin(), parts.end(), natural_less);
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    if (!(parts.size() == 1 && parts[0].empty())) v.parts = std::move(parts);
    for (const SettingEffect& e : options.effects) {
      const bool same = e.absent ? who.front()->value.state == Known::State::absent : e.value == value;
      if (e.key == key && same && rule.kind == RuleKind::alike) v.effect = e;
    }
    out.push_back(std::move(v));
  }
}

// 2.27.05 is 2.27.5.
std::string without_zeros(std::string_view version) {
  std::string out;
  for (const std::string_view number : split(version, '.')) {
    const bool digits = !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
    const auto first = digits ? std::min(number.find_first_not_of('0'), number.size() - 1) : 0;
    out += (out.empty() ? "" : ".") + std::string(number.substr(first));
  }
  return out;
}

// What several processes have mapped stands with commas: a set, ascending. Versions as they are without what packages put around
// them.
std::vector<std::string> versions_in(const Known& k) {
  std::vector<std::string> out;
  const std::string all = spoken(k);  // outlives its pieces
  for (const std::string_view s : split(all, ',')) {
    const auto version = version_in(s);
    out.push_back(version ? without_zeros(version->substr(0, version->find_first_of("-+"))) : std::string(trim(s)));
  }
  std::sort(out.begin(), out.end(), natural_less);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// What the nodes of a job have in use says of the job itself. A node with several versions runs, or ran, several jobs or images:
// the job has one of them there, nobody knows which.
enum class Agree : std::uint8_t { one, none, undecided };
Agree agreement(const std::vector<Has>& things) {
  std::vector<std::string> common = versions_in(things.front().value);
  bool several = false;
  for (const Has& h : things) {
    const auto has = versions_in(h.value);
    several = several || has.size() > 1;
    std::erase_if(common, [&](const std::string& v) { return std::find(has.begin(), has.end(), v) == has.end(); });
  }
  if (common.empty()) return Agree::none;  // whichever it has on each, they are not all the same
  return several ? Agree::undecided : Agree::one;
}

// Of nodes that a job is known to span all are undecided, since one decides with the others. Of nodes that some job might span it
// is those with several versions: without them the rest agree.
Verdict undecided_job(const FactTable& table, const std::string& fact, const std::vector<Has>& things, bool known_job) {
  std::vector<const Has*> who;
  for (const Has& h : things) {
    if (known_job || versions_in(h.value).size() > 1) who.push_back(&h);
  }
  Verdict v = plain(RuleStatus::unknown, nodes_of(who));
  v.found = fmt::format("{} is undecided: several are in use, and which of them a job has is not known: {}", fact,
                        split_text(table, by_value(things)));
  return v;
}

// Those whose value holds no version, where a job's nodes are to have the same one; they are taken out of `things`.
std::vector<Has> without_version(std::vector<Has>& things) {
  std::vector<Has> out;
  std::erase_if(things, [&](const Has& h) {
    const std::string text = spoken(h.value);
    const auto all = split(text, ',');
    const bool has = std::all_of(all.begin(), all.end(), [](std::string_view s) { return version_in(s).has_value(); });
    if (!has) out.push_back(h);
    return !has;
  });
  return out;
}

// Of the rest of `nodes`, those that no verdict names are fine, or none of the rule's business.
void add_rest(const std::vector<std::uint32_t>& nodes, const Where& where, std::vector<Verdict>& out) {
  std::vector<std::uint32_t> told, fine;
  for (const Verdict& v : out) told.insert(told.end(), v.nodes.begin(), v.nodes.end());
  for (const auto& [of, things] : where.things) {
    for (const Has& h : things) fine.push_back(h.node);
  }
  told = ascending(std::move(told));
  fine = ascending(std::move(fine));
  std::vector<std::uint32_t> ok, other;
  for (const std::uint32_t n : nodes) {
    if (std::binary_search(told.begin(), told.end(), n)) continue;
    (std::binary_search(fine.begin(), fine.end(), n) ? ok : other).push_back(n);
  }
  if (!ok.empty()) out.push_back(plain(RuleStatus::ok, std::move(ok)));
  if (!other.empty()) out.push_back(plain(RuleStatus::not_applicable, std::move(other)));
}

void add_unknown(const Where& where, std::vector<Verdict>& out) {
  if (where.unknown.empty()) return;
  Verdict v = plain(RuleStatus::unknown, where.unknown);
  v.missing = where.missing;
  out.push_back(std::move(v));
}

// The same by the same reason, of several kinds or jobs, is one verdict.
std::vector<Verdict> merged(std::vector<Verdict> all) {
  std::vector<Verdict> out;
  for (Verdict& v : all) {
    const auto it = std::find_if(out.begin(), out.end(), [&](const Verdict& o) {
      return o.status == v.status && o.found == v.found && o.missing == v.missing && o.parts == v.parts;
    });
    if (it == out.end()) {
      out.push_back(std::move(v));
    } else {
      it->nodes.insert(it->nodes.end(), v.nodes.begin(), v.nodes.end());
    }
  }
  for (Verdict& v : out) v.nodes = ascending(std::move(v.nodes));
  return out;
}

}  // namespace

std::string found_text(const ReadRule& read, const std::vector<Known>& known) {
  std::string out;
  for (const std::uint32_t w : read.of_wants) {
    if (!out.empty()) out += ", ";
    out += read.facts[w] + " " + spoken(known[w]);
  }
  return out;
}

std::vector<Verdict> judge_alike(const FactTable& table, const Parts& parts, const FleetRule& rule, const ReadRule& read,
                                 const CheckOptions& options) {
  std::vector<Verdict> out;
  for (const Cohort& kind : options.kinds) {
    const Where where = sorted_out(table, parts, read, kind.nodes, options.today);
    std::vector<Verdict> of_kind;
    for (const auto& [of, things] : where.things) judge_things(table, rule, read, of, things, options, of_kind);
    add_unknown(where, of_kind);
    add_rest(kind.nodes, where, of_kind);
    for (Verdict& v : of_kind) out.push_back(std::move(v));
  }
  return merged(std::move(out));
}

namespace {

// The nodes of one job, or those that one might span.
std::vector<Verdict> judge_job(const FactTable& table, const Parts& parts, const FleetRule& rule, const ReadRule& read,
                               const std::vector<std::uint32_t>& nodes, const CheckOptions& options) {
  Where where = sorted_out(table, parts, read, nodes, options.today);
  const bool versions = std::find(read.kinds.begin(), read.kinds.end(), FactKind::version) != read.kinds.end();
  const std::string& first = read.facts[read.of_wants.front()];
  const bool any_first = where.things.count({}) != 0;  // what jobs have mapped is known of some
  std::vector<Verdict> out;
  for (auto& [of, things] : where.things) {
    if (versions) {
      const std::vector<Has> none = without_version(things);
      if (!none.empty()) {
        const auto values = by_value(none);
        Verdict v = plain(RuleStatus::unknown, {});
        for (const Has& h : none) v.nodes.push_back(h.node);
        v.nodes = ascending(std::move(v.nodes));
        v.found = "no version: " + split_text(table, values);
        out.push_back(std::move(v));
      }
    }
    if (things.empty()) continue;
    for (Has& h : things) h.means = join(versions_in(h.value), " and ");
    const Agree agree = agreement(things);
    if (agree == Agree::none) {
      const auto values = by_value(things);
      std::vector<const Has*> all;
      for (const Has& h : things) all.push_back(&h);
      Verdict v = plain(RuleStatus::broken, nodes_of(all));
      v.found = fmt::format("{} different{}: {}", values.size(), of.empty() ? "" : " of" + of, split_text(table, values));
      v.says = rule.says + ": " + v.found;
      out.push_back(std::move(v));
    } else if (any_first && !of.empty() && read.part.empty()) {
      // What idle nodes have installed says nothing of what the others' jobs brought.
      for (const Has& h : things) where.unknown.push_back(h.node);
      where.missing.push_back(first);
      things.clear();
    } else if (agree == Agree::undecided) {
      out.push_back(undecided_job(table, of.empty() ? first : std::string(trim(of)), things, !options.jobs.empty()));
    }
  }
  add_unknown(where, out);
  add_rest(nodes, where, out);
  return out;
}

}  // namespace

std::vector<Verdict> judge_jobs(const FactTable& table, const Parts& parts, const FleetRule& rule, const ReadRule& read,
                                const CheckOptions& options) {
  std::vector<std::vector<std::uint32_t>> jobs = options.jobs;
  if (jobs.empty()) {
    for (const Cohort& kind : options.kinds) jobs.push_back(kind.nodes);
  }
  std::vector<Verdict> out;
  for (const std::vector<std::uint32_t>& nodes : jobs) {
    for (Verdict& v : judge_job(table, parts, rule, read, nodes, options)) out.push_back(std::move(v));
  }
  return merged(std::move(out));
}

Result<std::vector<BundleItem>> bundle_items(const FleetRule& rule, const FactBook& book) {
  std::vector<BundleItem> out;
  if (rule.kind != RuleKind::bundle) return out;
  std::string_view rest = rule.range_b;
  while (!rest.empty()) {
    const auto end = rest.find(" and ");
    FleetRule item = rule;
    item.kind = RuleKind::need;
    item.a.clear();
    item.applies_to.clear();
    item.b.clear();
    item.range_b = std::string(trim(rest.substr(0, end)));
    auto read = read_rule(item, book);
    if (!read) return tl::unexpected(read.error());
    const bool exact = read->wants.parts().back().op == Expression::Op::equal;
    out.push_back({std::move(*read), exact});
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 5);
  }
  return out;
}

namespace {

// How one version of a recipe stands at a node, over all its parts: the worst of them.
Truth item_at(const BundleItem& item, const std::vector<Bound>& bound, std::uint32_t node, const std::string& today,
              std::string& found) {
  Truth out = Truth::unknown;
  bool any = false;
  for (const Bound& b : bound) {
    if (!has_part(item.read, b, node)) continue;
    const std::vector<Known> known = known_of(item.read, b, node, today);
    Truth t = Truth::yes;
    for (const auto& row : in_use(item.read, known)) t = std::min(t, item.read.wants.holds(picked(row, item.read.of_wants)));
    const bool worse = !any || t < out;
    if (worse) out = t;
    if (worse) found = (b.entity.empty() ? "" : b.entity + ":") + found_text(item.read, known);
    any = true;
  }
  if (!any) found = item.read.facts.front() + " unknown";
  return out;
}

struct BundleState {
  Truth anchored = Truth::no, holds = Truth::yes;
  std::vector<std::string> differ, missing;
};

BundleState bundle_at(const std::vector<BundleItem>& items, const std::vector<std::vector<Bound>>& bound, std::uint32_t node,
                      const std::string& today) {
  BundleState s;
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::string found;
    const Truth t = item_at(items[i], bound[i], node, today, found);
    if (items[i].exact) s.anchored = std::max(s.anchored, t);
    s.holds = std::min(s.holds, t);
    if (t == Truth::no) s.differ.push_back(found);
    if (t == Truth::unknown) s.missing.push_back(items[i].read.facts.front());
  }
  return s;
}

}  // namespace

std::vector<Verdict> judge_bundle(const FactTable& table, const Parts& parts, const FactBook& book, const FleetRule& rule,
                                  const ReadRule& read, const CheckOptions& options) {
  const auto items = bundle_items(rule, book);
  MUSTER_CHECK(items.has_value());
  std::vector<std::vector<Bound>> bound;
  for (const BundleItem& i : *items) bound.push_back(bind(table, parts, i.read));
  std::vector<Verdict> out;
  for (const Bound& b : bind(table, parts, read)) {
    for (std::uint32_t n = 0; n < table.nodes().size(); ++n) {
      const std::vector<Known> known = known_of(read, b, n, options.today);
      const auto for_applies = picked(known, read.of_applies);
      const Truth applies = applies_to_any(read, known);
      Verdict v = plain(RuleStatus::not_applicable, {n});
      if (applies != Truth::no) {
        const BundleState s = bundle_at(*items, bound, n, options.today);
        if (s.holds == Truth::yes) {
          v.status = RuleStatus::ok;
        } else if (applies == Truth::yes && s.anchored == Truth::yes && s.holds == Truth::no) {
          v.status = RuleStatus::broken;
          v.found = join(s.differ, ", ");
          v.says = filled_in(rule.says, read, known) + ": " + v.found;
        } else if (s.anchored != Truth::no) {
          v.status = RuleStatus::unknown;
          v.missing = s.missing;
          for (const std::uint32_t m : read.applies.missing(for_applies)) v.missing.push_back(read.applies.facts()[m]);
        }
      }
      out.push_back(std::move(v));
    }
    break;  // a recipe is of the node; its first binding has the node's own facts
  }
  return merged(std::move(out));
}

}  // namespace muster::fleet
