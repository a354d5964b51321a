#include "fleet/joining.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/node_list.h"
#include "base/text.h"
#include "fleet/version.h"

namespace muster::fleet {
namespace {

// Without these nobody can say what a node is.
constexpr std::string_view kLeast[] = {"node.product", "cpu.model",      "memory.gib", "gpu.count",
                                       "os.id",        "kernel.release", "nic.count",  "driver.loaded"};

const Cohort* cohort_of(const Golden& golden, std::uint32_t node) {
  for (const Cohort& c : golden.cohorts) {
    if (std::binary_search(c.nodes.begin(), c.nodes.end(), node)) return &c;
  }
  return nullptr;
}

// Share of the others of its kind who have the fact, or of whom it is known that it is absent.
double known_share(const FactColumn& column, const Cohort& cohort, std::uint32_t node) {
  std::size_t others = 0, known = 0;
  for (const std::uint32_t n : cohort.nodes) {
    if (n == node) continue;
    ++others;
    const FactCode c = column.code(n);
    known += c != kFactUnknown && c != kFactUnreadable ? 1 : 0;
  }
  return others == 0 ? 0 : static_cast<double>(known) / static_cast<double>(others);
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 6;
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < kShown; ++i) out += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kShown ? fmt::format("{} and {} more", out, names.size() - kShown) : out;
}

// Of which one can say at least what it is, and what has to run on it.
constexpr std::string_view kDeclaredLeast[] = {"gpu.count", "kernel.release", "driver.loaded"};

struct Unlooked {
  std::vector<std::string> missing, unreadable;
};

Unlooked unlooked(const FactTable& table, const FactBook& book, std::uint32_t node, const Golden& golden) {
  Unlooked out;
  const Cohort* cohort = cohort_of(golden, node);
  for (const FactColumn& column : table.columns()) {
    const FactCode code = column.code(node);
    if (code != kFactUnknown && code != kFactUnreadable) continue;
    const FactMeaning* meaning = book.find(column.key);
    if (meaning != nullptr && meaning->kind == FactKind::identity) continue;
    if (cohort == nullptr || known_share(column, *cohort, node) < 0.8) continue;
    (code == kFactUnknown ? out.missing : out.unreadable).push_back(fact_name(column.entity, column.key));
  }
  for (const std::string_view key : kLeast) {
    const std::ptrdiff_t at = table.find_column("", key);
    const FactCode code = at < 0 ? kFactUnknown : table.columns()[static_cast<std::size_t>(at)].code(node);
    auto& list = code == kFactUnreadable ? out.unreadable : out.missing;
    if (code <= kFactUnreadable && code != kFactAbsent && std::find(list.begin(), list.end(), key) == list.end())
      list.emplace_back(key);
  }
  return out;
}

// "gpu*:vbios.version": of any GPU.
bool known_of_node(const FactTable& table, std::uint32_t node, const std::string& fact) {
  const std::size_t colon = fact.find(':');
  const std::string key = colon == std::string::npos ? fact : fact.substr(colon + 1);
  std::string entity = colon == std::string::npos ? "" : fact.substr(0, colon);
  const bool any = entity.ends_with('*');
  if (any) entity.pop_back();
  for (const std::size_t c : table.columns_of(key)) {
    const FactColumn& column = table.columns()[c];
    const FactCode code = column.code(node);
    if ((any ? column.entity.starts_with(entity) : column.entity == entity) && code != kFactUnknown && code != kFactUnreadable)
      return true;
  }
  return false;
}

bool is_declared(const std::vector<std::string>& declared, const FactColumn& column) {
  return std::any_of(declared.begin(), declared.end(), [&](const std::string& fact) {
    const std::size_t colon = fact.find(':');
    std::string_view entity = colon == std::string::npos ? "" : std::string_view(fact).substr(0, colon);
    if (std::string_view(fact).substr(colon == std::string::npos ? 0 : colon + 1) != column.key) return false;
    if (!entity.ends_with('*')) return entity == column.entity;
    entity.remove_suffix(1);
    return column.entity.starts_with(entity);
  });
}

// Facts of it about which its kind does not agree, so that nobody says what it should be. States come and go by themselves:
// whether one is bad, rules say.
std::vector<std::size_t> undecided_of(const FactTable& table, const FactBook& book, std::uint32_t node, const Golden& golden,
                                      const std::vector<std::string>& declared) {
  std::vector<std::size_t> out;
  for (const Undecided& u : golden.undecided) {
    const FactColumn& column = table.columns()[u.column];
    const FactMeaning* m = book.find(column.key);
    if (m != nullptr && m->layer == FactLayer::state) continue;
    const auto& nodes = golden.cohorts[u.cohort].nodes;
    if (!std::binary_search(nodes.begin(), nodes.end(), node) || is_declared(declared, column)) continue;
    const FactCode code = column.code(node);
    if (code != kFactUnknown && code != kFactUnreadable) out.push_back(u.column);
  }
  return out;
}

// Facts of it that enough of its kind agree on: those that it was held against.
std::size_t compared(const FactTable& table, const FactBook& book, const Golden& golden, const Cohort& cohort, std::uint32_t node,
                     const GoldenOptions& options) {
  std::vector<bool> not_compared(table.columns().size(), false);
  for (const Undecided& u : golden.undecided)
    not_compared[u.column] = not_compared[u.column] || &golden.cohorts[u.cohort] == &cohort;
  for (const auto& [kind, column] : golden.own) not_compared[column] = not_compared[column] || &golden.cohorts[kind] == &cohort;
  std::size_t out = 0;
  for (std::size_t c = 0; c < table.columns().size(); ++c) {
    const FactColumn& column = table.columns()[c];
    const FactMeaning* m = book.find(column.key);
    const bool name = m != nullptr && (m->kind == FactKind::identity || m->layer == FactLayer::identity);
    const FactCode code = column.code(node);
    if (not_compared[c] || name || code == kFactUnknown || code == kFactUnreadable) continue;
    const double share = known_share(column, cohort, node);
    const double others = share * static_cast<double>(cohort.nodes.size() - 1);
    out += share >= 0.5 && others + 1 >= options.least ? 1 : 0;
  }
  return out;
}

// What board makers write where they have not numbered a machine.
bool is_placeholder(const std::string& text) {
  std::string plain;
  for (const char c : lower(text)) {
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z')) plain += c;
  }
  constexpr std::string_view kWords[] = {"oem",          "default", "serial",  "notspecified",
                                         "notavailable", "chassis", "invalid", "uninitialized"};
  const bool word =
      std::any_of(std::begin(kWords), std::end(kWords), [&](std::string_view w) { return plain.find(w) != std::string::npos; });
  const bool one_letter = plain.find_first_not_of(plain.substr(0, 1)) == std::string::npos;
  return plain.size() < 4 || word || one_letter || std::string_view("01234567890").find(plain) != std::string_view::npos ||
         text.find('?') != std::string::npos || no_answer(text);
}

// What each of its parts says of one key, placeholders left out.
std::vector<std::string> told_of_parts(const FactTable& table, std::uint32_t node, std::string_view key) {
  std::vector<std::string> out;
  for (const std::size_t c : table.columns_of(key)) {
    const std::string* v = table.columns()[c].value(node);
    if (v != nullptr && !no_answer(*v) && v->find('?') == std::string::npos) out.push_back(lower(*v));
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string next_for(const FactBook& book, const std::string& key) {
  const FactMeaning* m = book.find(key);
  if (m != nullptr && m->layer == FactLayer::hardware) return "look at the hardware: no file changes it";
  if (m != nullptr && m->layer == FactLayer::state) return "look at the part: it is a state and no setting";
  return "muster fleet emit says how it is changed";
}

std::string shown(const FactColumn& column, FactCode code) {
  constexpr std::string_view kWords[] = {"unknown", "absent", "unreadable"};
  return code < kFirstValue ? std::string(kWords[code]) : column.values[code - kFirstValue];
}

}  // namespace

std::vector<std::string> declared_of(const FactTable& table, const Declarations& declared, std::uint32_t node) {
  std::vector<std::string> out;
  for (const Declaration& d : declared) {
    const bool named = d.nodes.empty() || std::find(d.nodes.begin(), d.nodes.end(), table.nodes()[node].name) != d.nodes.end();
    const bool fits = std::all_of(d.where.begin(), d.where.end(), [&](const auto& w) {
      const std::size_t colon = w.first.find(':');
      const bool part = colon != std::string::npos;
      const std::string* v = table.value(node, part ? w.first.substr(0, colon) : "", part ? w.first.substr(colon + 1) : w.first);
      return v != nullptr && *v == w.second;
    });
    std::string fact = fact_name(d.entity, d.key);
    if (named && fits && std::find(out.begin(), out.end(), fact) == out.end()) out.push_back(std::move(fact));
  }
  return out;
}

std::vector<Reason> facts_reasons(const FactTable& table, const FactBook& book, std::uint32_t node, const Golden& golden) {
  const Unlooked u = unlooked(table, book, node, golden);
  if (u.missing.empty() && u.unreadable.empty())
    return {{"facts", Fitness::fit, "everything is known of it that is known of its kind", ""}};
  std::vector<Reason> out;
  if (!u.missing.empty())
    out.push_back({"facts", Fitness::unknown, fmt::format("nobody looked at {}", list_of(u.missing)),
                   "muster fleet probe on the node, as root"});
  if (!u.unreadable.empty())
    out.push_back({"facts", Fitness::unknown, fmt::format("could not be read: {}", list_of(u.unreadable)),
                   "muster fleet probe on the node, as root"});
  return out;
}

std::vector<Reason> age_reasons(const FactTable& table, std::uint32_t node, const Freshness& f) {
  const Time at = table.nodes()[node].at;
  const char* again = "muster fleet probe on the node, now";
  if (at.ns <= 0) return {{"age", Fitness::unknown, "its facts do not say when they were read", again}};
  if (at > f.now + hours(1))
    return {{"age", Fitness::unknown, fmt::format("its facts are of {}, which is not yet", render_utc(at)), again}};
  const std::string age =
      fmt::format("its facts are of {}, {} old", render_utc(at), render_duration(std::max(f.now - at, Duration{0})));
  if (f.now - at > f.most)
    return {{"age", Fitness::unknown, fmt::format("{}; {} is the most", age, render_duration(f.most)), again}};
  return {{"age", Fitness::fit, age, ""}};
}

std::vector<Reason> peers_age_reasons(const FactTable& table, std::uint32_t node, const Golden& golden,
                                      const GoldenOptions& options, const Freshness& f) {
  const Cohort* cohort = cohort_of(golden, node);
  if (cohort == nullptr || cohort->nodes.size() < options.least) return {};  // nobody is asked what it should be
  std::size_t peers = 0, old = 0;
  Time oldest = kNever;
  for (const std::uint32_t n : cohort->nodes) {
    if (n == node) continue;
    ++peers;
    const Time at = table.nodes()[n].at;
    if (at.ns > 0 && f.now - at <= f.most) continue;
    ++old;
    oldest = std::min(oldest, at);
  }
  if (old == 0) return {};
  const std::string since = oldest.ns <= 0 ? "some without a time" : "the oldest of " + render_utc(oldest);
  std::string what = fmt::format("the facts of {} of {} others of its kind are more than {} old ({})", old, peers,
                                 render_duration(f.most), since);
  const bool enough = static_cast<double>(peers - old) >= options.share * static_cast<double>(peers);
  if (enough) return {{"age", Fitness::fit, what + "; those of the others say what it should be", ""}};
  return {
      {"age", Fitness::unknown, what + ": what its kind is now, they do not say", "muster fleet inventory of the fleet, now"}};
}

std::vector<Reason> kind_reasons(const FactTable& table, const FactBook& book, std::uint32_t node, const Golden& golden,
                                 const std::vector<std::string>& declared, const GoldenOptions& options) {
  std::vector<Reason> out;
  for (const Difference& d : golden.differences) {
    if (d.node != node) continue;
    const FactColumn& column = table.columns()[d.column];
    const std::string whence = d.basis == Basis::declared ? d.source : fmt::format("{:.0f} % of its kind", 100 * d.share);
    const Fitness f = d.has == kFactUnknown || d.has == kFactUnreadable ? Fitness::unknown : Fitness::unfit;
    out.push_back({"kind", f,
                   fmt::format("{} is {}, should be {} ({})", fact_name(column.entity, column.key), shown(column, d.has),
                               d.wanted_absent ? "absent" : d.wanted, whence),
                   next_for(book, column.key)});
  }
  std::vector<std::string> open;
  for (const std::size_t c : undecided_of(table, book, node, golden, declared)) {
    const FactColumn& column = table.columns()[c];
    const auto& nodes = cohort_of(golden, node)->nodes;
    const auto alike =
        std::count_if(nodes.begin(), nodes.end(), [&](std::uint32_t n) { return column.code(n) == column.code(node); });
    open.push_back(fmt::format("{} ({}, as {} others have)", fact_name(column.entity, column.key),
                               shown(column, column.code(node)), alike - 1));
  }
  if (!open.empty())
    out.push_back({"kind", Fitness::unknown,
                   fmt::format("its kind does not agree on {}, so nobody says what is right", list_of(open)),
                   "declare it, or bring its kind to one value: muster fleet drift shows who has which"});
  const Unlooked u = unlooked(table, book, node, golden);
  if (const std::size_t n = u.missing.size() + u.unreadable.size(); n > 0)
    out.push_back({"kind", Fitness::unknown, fmt::format("{} facts of it are not known and were compared with nothing", n),
                   "muster fleet probe on the node, as root"});
  std::vector<std::string> blind;
  for (const std::string& fact : declared) {
    if (!known_of_node(table, node, fact)) blind.push_back(fact);
  }
  if (!blind.empty())
    out.push_back({"kind", Fitness::unknown, fmt::format("declared, and nobody looked: {}", list_of(blind)),
                   "muster fleet probe on the node, as root"});
  const Cohort* cohort = cohort_of(golden, node);
  const std::size_t peers = cohort == nullptr || cohort->nodes.empty() ? 0 : cohort->nodes.size() - 1;
  if (peers + 1 < options.least) {
    std::vector<std::string> needed;
    for (const std::string_view key : kDeclaredLeast) {
      if (std::find(declared.begin(), declared.end(), key) == declared.end()) needed.emplace_back(key);
    }
    if (!needed.empty())
      out.push_back(
          {"kind", Fitness::unknown,
           fmt::format("{} others of its kind are there ({}), too few to say what it should be; {} facts are declared for it, "
                       "without {}",
                       peers, cohort == nullptr ? "no kind" : cohort->name, declared.size(), list_of(needed)),
           "give the facts of the whole fleet, or declare what such a node is"});
  }
  if (out.empty())
    out.push_back({"kind", Fitness::fit,
                   fmt::format("it is as its kind is: {}; {} facts held against {} others, {} against what is declared",
                               cohort->name, compared(table, book, golden, *cohort, node, options), peers, declared.size()),
                   ""});
  return out;
}

std::vector<Reason> identity_reasons(const FactTable& table, std::uint32_t node) {
  constexpr std::string_view kOnlyOne[] = {"node.serial", "node.machine_id", "gpu.uuid"};
  std::vector<Reason> out;
  for (const std::string_view key : kOnlyOne) {
    std::set<std::string> mine;
    for (const std::size_t c : table.columns_of(key)) {
      const std::string* v = table.columns()[c].value(node);
      if (v != nullptr && !is_placeholder(*v)) mine.insert(lower(*v));
    }
    std::set<std::string> who;
    for (const std::size_t c : table.columns_of(key)) {
      for (std::uint32_t n = 0; n < table.nodes().size() && !mine.empty(); ++n) {
        const std::string* v = n == node ? nullptr : table.columns()[c].value(n);
        if (v != nullptr && mine.count(lower(*v)) != 0) who.insert(table.nodes()[n].name);
      }
    }
    if (who.empty()) continue;
    out.push_back({"identity", Fitness::unfit,
                   fmt::format("its {} is that of {} too", key, compress_node_list({who.begin(), who.end()})),
                   key == "node.machine_id" ? "an image was copied with it: empty /etc/machine-id, and boot"
                                            : "if it was called so before, leave out the old facts; else read both anew"});
  }
  return out;
}

std::vector<Reason> rules_reasons(const FactBook& book, std::uint32_t node, std::span<const FleetRule> rules,
                                  const Verdicts& verdicts) {
  std::vector<Reason> out;
  std::size_t held = 0;
  std::vector<std::string> undecided, nobody_knows;
  for (const Verdict& v : verdicts.all) {
    if (!std::binary_search(v.nodes.begin(), v.nodes.end(), node)) continue;
    const FleetRule& rule = rules[v.rule];
    held += v.status == RuleStatus::ok ? 1 : 0;
    if (v.status == RuleStatus::broken && v.severity != RuleSeverity::info)
      out.push_back({"rules", Fitness::unfit, fmt::format("{}: {} ({})", rule.id, v.says, v.found), rule.todo});
    if (v.status != RuleStatus::unknown || v.severity != RuleSeverity::error) continue;
    bool matters = v.missing.empty();  // a value that the rule does not know
    for (const std::string& fact : v.missing) {
      const std::size_t colon = fact.find(':');
      const FactMeaning* m = book.find(colon == std::string::npos ? fact : fact.substr(colon + 1));
      if (m != nullptr && m->read == "given") continue;
      matters = true;
      if (std::find(nobody_knows.begin(), nobody_knows.end(), fact) == nobody_knows.end()) nobody_knows.push_back(fact);
    }
    if (matters) undecided.push_back(rule.id);
  }
  if (!undecided.empty()) {
    const std::string why = nobody_knows.empty() ? "their values are of no known form" : "nobody knows " + list_of(nobody_knows);
    out.push_back({"rules", Fitness::unknown,
                   fmt::format("{} rules cannot be judged ({}): {}", undecided.size(), list_of(undecided), why),
                   "muster fleet probe as root; muster fleet rules ID says what it asks"});
  }
  if (out.empty()) out.push_back({"rules", Fitness::fit, fmt::format("{} rules hold, none is broken", held), ""});
  return out;
}

namespace {

// How the GPUs that were tried are not those of the node; empty: they are, as far as both sides say. Of what not all of them say
// nothing is concluded.
std::string other_gpus(const FactTable& table, std::uint32_t node, const Accepted& a) {
  constexpr std::pair<std::string_view, std::string AcceptedGpu::*> kSaid[] = {
      {"gpu.uuid", &AcceptedGpu::uuid}, {"gpu.model", &AcceptedGpu::model}, {"vbios.version", &AcceptedGpu::vbios}};
  for (const auto& [key, member] : kSaid) {
    std::vector<std::string> tried;
    for (const AcceptedGpu& g : a.each) {
      if (!(g.*member).empty() && !no_answer(g.*member)) tried.push_back(lower(g.*member));
    }
    std::sort(tried.begin(), tried.end());
    const std::vector<std::string> has = told_of_parts(table, node, key);
    // Of another number of GPUs that is said by itself.
    if (tried.empty() || tried.size() != has.size() || tried == has) continue;
    std::vector<std::string> gone;
    std::set_difference(tried.begin(), tried.end(), has.begin(), has.end(), std::back_inserter(gone));
    const std::size_t others = gone.size();
    gone.erase(std::unique(gone.begin(), gone.end()), gone.end());
    return fmt::format("other GPUs were tried: {} of {} with a {} that it has not ({})", others, tried.size(), key,
                       list_of(gone));
  }
  return {};
}

}  // namespace

std::vector<Reason> acceptance_reasons(const FactTable& table, std::uint32_t node, const Accepted& a, const Freshness& f) {
  const std::string& name = table.nodes()[node].name;
  if (!a.recorded)
    return {
        {"acceptance", Fitness::unknown, "its GPUs were not tried", "muster accept quick on the node, then --acceptance FILE"}};
  if (a.node != name)
    return {{"acceptance", Fitness::unknown, fmt::format("the recording is of {}", a.node.empty() ? "nobody" : a.node),
             "record it on this node"}};
  std::vector<Reason> out;
  const std::string age = a.begun.ns <= 0 ? "at no time that it says"
                                          : fmt::format("on {}, {} ago", render_utc(a.begun),
                                                        render_duration(std::max(f.now - a.begun, Duration{0})));
  if (a.begun.ns <= 0 || f.now - a.begun > f.most || a.begun > f.now + hours(1))
    out.push_back({"acceptance", Fitness::unknown, fmt::format("recorded {}; {} is the most", age, render_duration(f.most)),
                   "muster accept quick again"});
  if (a.begun.ns > 0 && a.begun < f.installed_after)
    out.push_back(
        {"acceptance", Fitness::unknown,
         fmt::format("recorded {}, and on {} it was still another installation or boot", age, render_utc(f.installed_after)),
         "muster accept quick again"});
  const std::string* driver = table.value(node, "", "driver.loaded");
  if (driver != nullptr && a.driver != *driver)
    out.push_back(
        {"acceptance", Fitness::unknown,
         fmt::format("measured under driver {}, and {} is loaded now", a.driver.empty() ? "unknown" : a.driver, *driver),
         "muster accept quick again"});
  const std::string* gpus = table.value(node, "", "gpu.count");
  if (gpus != nullptr && parse_uint(*gpus) != a.gpus)
    out.push_back({"acceptance", Fitness::unfit, fmt::format("{} GPUs were tried, the node has {}", a.gpus, *gpus),
                   "muster accept quick again, all GPUs"});
  if (const std::string other = other_gpus(table, node, a); !other.empty())
    out.push_back({"acceptance", Fitness::unknown, other, "muster accept quick again, on the GPUs that are in it now"});
  if (!a.pass) out.push_back({"acceptance", Fitness::unfit, a.verdict, "muster accept judge shows what to do"});
  if (out.empty()) out.push_back({"acceptance", Fitness::fit, fmt::format("{}; recorded {}", a.verdict, age), ""});
  return out;
}

Fitness worst(const std::vector<Reason>& reasons) {
  Fitness out = Fitness::fit;
  for (const Reason& r : reasons) out = std::max(out, r.fitness);
  return out;
}

}  // namespace muster::fleet
