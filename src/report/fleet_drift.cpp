#include "report/fleet_drift.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "base/node_list.h"
#include "base/text.h"
#include "fleet/cohorts.h"
#include "report/table.h"
#include "report/units.h"

namespace muster::report {
namespace {

constexpr std::size_t kTextBytes = 48;   // of a value in a table
constexpr std::size_t kNodesBytes = 60;  // of a list of nodes in a table
constexpr std::size_t kSplitShown = 6, kWidth = 120;

std::string value_text(const FactColumn& column, FactCode code) {
  if (code == kFactAbsent) return "absent";
  return code >= kFirstValue ? column.values[code - kFirstValue] : "unknown";
}

std::string short_text(std::string_view s, std::size_t most) {
  return printable(clipped(s, most)) + (s.size() > most ? "…" : "");
}

// "gpu[0-7]:vbios.version".
std::string fact_text(const std::string& key, const std::vector<std::string>& parts) {
  return parts.empty() ? key : compress_node_list(parts) + ":" + key;
}

std::string layer_text(const FactBook& book, const std::string& key) {
  const FactMeaning* m = book.find(key);
  return std::string(names(FactLayer{})[static_cast<std::size_t>(m == nullptr ? FactLayer::tuning : m->layer)]);
}

bool changes_by_itself(const FactBook& book, const std::string& key) {
  const FactMeaning* m = book.find(key);
  return m != nullptr && m->layer == FactLayer::state;
}

void add_once(std::vector<std::string>& list, const std::string& name) {
  if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
}

struct Group {
  DriftRow row;
  std::set<std::uint32_t> nodes;
  std::set<std::uint32_t> columns;
};

using GroupKey = std::tuple<std::uint32_t, std::string, std::string, bool, std::string, bool, int, std::string>;

DriftRow row_of(Group&& g, const FactTable& table) {
  for (const std::uint32_t n : g.nodes) g.row.nodes.push_back(table.nodes()[n].name);
  for (const std::uint32_t c : g.columns) {
    if (const std::string& part = table.columns()[c].entity; !part.empty()) add_once(g.row.parts, part);
  }
  std::sort(g.row.parts.begin(), g.row.parts.end(), natural_less);
  return std::move(g.row);
}

std::vector<DriftRow> rows_of(const FactTable& table, const FactBook& book, const fleet::Golden& golden,
                              const std::vector<bool>& asked, bool all) {
  std::map<GroupKey, Group> groups;
  for (const fleet::Difference& d : golden.differences) {
    const FactColumn& c = table.columns()[d.column];
    if (!asked[d.node] || (!all && d.basis == fleet::Basis::majority && changes_by_itself(book, c.key))) continue;
    const std::string has = value_text(c, d.has), wanted = d.wanted_absent ? "absent" : d.wanted;
    Group& g = groups[{d.cohort, c.key, has, d.has == kFactAbsent, wanted, d.wanted_absent, static_cast<int>(d.basis), d.source}];
    if (g.nodes.empty()) {
      g.row.key = c.key;
      g.row.has = has;
      g.row.has_absent = d.has == kFactAbsent;
      g.row.wanted = wanted;
      g.row.wanted_absent = d.wanted_absent;
      g.row.basis = d.basis;
      g.row.source = d.source;
      g.row.share = d.share;
      g.row.unknown = d.unknown;
      g.row.cohort = golden.cohorts[d.cohort].name;
      g.row.layer = layer_text(book, c.key);
    }
    g.row.share = std::min(g.row.share, d.share);
    g.row.surprise_bits = std::max(g.row.surprise_bits, d.surprise_bits);
    g.nodes.insert(d.node);
    g.columns.insert(d.column);
  }
  std::vector<DriftRow> out;
  for (auto& [key, g] : groups) out.push_back(row_of(std::move(g), table));
  std::stable_sort(out.begin(), out.end(), [](const DriftRow& a, const DriftRow& b) {
    if (a.basis != b.basis) return a.basis == fleet::Basis::declared;
    if (a.surprise_bits != b.surprise_bits) return a.surprise_bits > b.surprise_bits;
    return a.key < b.key;
  });
  return out;
}

std::vector<SplitRow> splits_of(const FactTable& table, const FactBook& book, const fleet::Golden& golden, bool all) {
  std::vector<SplitRow> out;
  for (const fleet::Undecided& u : golden.undecided) {
    const FactColumn& c = table.columns()[u.column];
    if (!all && changes_by_itself(book, c.key)) continue;
    SplitRow row{c.key, {}, golden.cohorts[u.cohort].name, {}, u.unknown};
    for (const auto& [code, n] : u.split) row.split.emplace_back(value_text(c, code), n);
    const auto same = std::find_if(out.begin(), out.end(), [&](const SplitRow& r) {
      return r.key == row.key && r.cohort == row.cohort && r.split == row.split && r.unknown == row.unknown;
    });
    SplitRow& into = same == out.end() ? out.emplace_back(std::move(row)) : *same;
    if (!c.entity.empty()) into.parts.push_back(c.entity);
  }
  for (SplitRow& r : out) std::sort(r.parts.begin(), r.parts.end(), natural_less);
  return out;
}

std::string why_text(const DriftRow& r) {
  if (r.basis == fleet::Basis::declared) return "declared, " + printable(r.source);
  // 99.95 % is not all.
  const double share = std::min(99.9, 100 * r.share);
  return r.unknown == 0 ? fmt::format("{:.1f} % have it", share) : fmt::format("{:.1f} % have it, {} unknown", share, r.unknown);
}

void write_row(JsonWriter& w, const DriftRow& r) {
  w.object().field("fact", fact_text(r.key, r.parts)).field("key", r.key);
  w.key("parts").array();
  for (const std::string& p : r.parts) w.value(p);
  w.end_array().key("has");
  r.has_absent ? w.null() : w.value(r.has);
  w.key("wanted");
  r.wanted_absent ? w.null() : w.value(r.wanted);
  w.field("basis", r.basis == fleet::Basis::declared ? "declared" : "majority").field("source", r.source);
  w.field("share", r.share)
      .field("unknown", std::uint64_t{r.unknown})
      .field("surprise_bits", r.surprise_bits)
      .field("layer", r.layer)
      .field("kind", r.cohort);
  w.field("count", static_cast<std::uint64_t>(r.nodes.size())).field("nodes", compress_node_list(r.nodes)).end_object();
}

void write_split(JsonWriter& w, const SplitRow& r) {
  w.object().field("fact", fact_text(r.key, r.parts)).field("key", r.key).field("basis", "undecided").field("kind", r.cohort);
  w.key("split").array();
  for (const auto& [value, n] : r.split) w.object().field("value", value).field("count", std::uint64_t{n}).end_object();
  w.end_array().field("unknown", std::uint64_t{r.unknown}).end_object();
}

// Texts are cut at so many bytes at most; 0: never.
Table table_of(const DriftView& v, std::size_t most) {
  Table t;
  t.columns = {{"NODES", true}, {"FACT"}, {"HAS"}, {"SHOULD BE"}, {"WHY"}, {"SURPRISE", true}, {"LAYER"}, {"WHICH"}};
  const auto text = [most](const std::string& s, std::size_t own) { return most == 0 ? s : short_text(s, std::min(most, own)); };
  for (const DriftRow& r : v.rows) {
    t.rows.push_back({Cell(std::to_string(r.nodes.size())), Cell(text(fact_text(r.key, r.parts), kNodesBytes)),
                      Cell(text(r.has, kTextBytes), Tone::warn), Cell(text(r.wanted, kTextBytes)), Cell(why_text(r)),
                      Cell(fmt::format("{:.1f}", r.surprise_bits)), Cell(r.layer),
                      Cell(text(compress_node_list(r.nodes), kNodesBytes))});
  }
  return t;
}

std::size_t width_of(std::string_view lines) {
  std::size_t out = 0;
  for (const std::string_view l : split(lines, '\n')) out = std::max(out, display_width(l));
  return out;
}

// As wide as a terminal; what does not fit is cut, and that is said.
std::string fitting_table(const DriftView& v, bool colour) {
  constexpr std::size_t kFewest = 12;
  std::size_t most = kNodesBytes;
  while (most > kFewest && width_of(render_table(table_of(v, most), {true, false, false})) > kWidth) most -= 2;
  const bool cut =
      most < kNodesBytes || std::any_of(v.rows.begin(), v.rows.end(), [](const DriftRow& r) {
        return compress_node_list(r.nodes).size() > kNodesBytes || r.has.size() > kTextBytes || r.wanted.size() > kTextBytes;
      });
  return render_table(table_of(v, most), {true, false, colour}) + (cut ? "… is cut to fit: -o json has all of it\n" : "");
}

// Of some kind there are as many nodes as a majority needs, and of them more is known than hardly anything.
bool any_compared(const fleet::Golden& golden, const std::vector<std::uint32_t>& hardly) {
  const std::size_t least = fleet::GoldenOptions{}.least;
  return std::any_of(golden.cohorts.begin(), golden.cohorts.end(), [&](const fleet::Cohort& k) {
    const auto known = std::count_if(k.nodes.begin(), k.nodes.end(),
                                     [&](std::uint32_t n) { return !std::binary_search(hardly.begin(), hardly.end(), n); });
    return static_cast<std::size_t>(known) >= least;
  });
}

}  // namespace

DriftView drift_view(const FactTable& table, const FactBook& book, const fleet::Golden& golden, const DriftShown& shown) {
  DriftView v;
  v.nodes = table.nodes().size();
  v.kinds = golden.cohorts.size();
  v.facts = table.columns().size();
  v.notes = golden.notes;
  std::vector<bool> asked(v.nodes, shown.nodes.empty());
  for (const std::string& name : shown.nodes) {
    if (const std::ptrdiff_t n = table.find_node(name); n >= 0) asked[static_cast<std::size_t>(n)] = true;
  }
  v.rows = rows_of(table, book, golden, asked, shown.all);
  v.undecided = splits_of(table, book, golden, shown.all);
  std::set<std::string_view> differing;
  for (const DriftRow& r : v.rows) differing.insert(r.nodes.begin(), r.nodes.end());
  v.differing = differing.size();
  const std::vector<std::uint32_t> hardly = fleet::hardly_known(table, golden.cohorts);
  for (const std::uint32_t n : hardly) {
    if (asked[n]) v.hardly_known.push_back(table.nodes()[n].name);
  }
  v.compared = !v.rows.empty() || any_compared(golden, hardly);
  return v;
}

std::string render_drift(const DriftView& v, bool colour) {
  std::string out =
      fmt::format("{} of {} differ from what is declared or from their own kind ({}, {})\n", v.differing,
                  counted(static_cast<std::int64_t>(v.nodes), "node"), counted(static_cast<std::int64_t>(v.kinds), "kind"),
                  counted(static_cast<std::int64_t>(v.facts), "fact"));
  if (!v.hardly_known.empty())
    out += wrap(fmt::format("Of {} nothing or hardly anything is known, and nobody can say: {}",
                            counted(static_cast<std::int64_t>(v.hardly_known.size()), "node"),
                            short_text(compress_node_list(v.hardly_known), 4 * kNodesBytes)),
                kWidth, 2) +
           "\n";
  if (!v.rows.empty()) out += "\n" + fitting_table(v, colour);
  if (!v.undecided.empty()) out += "\nUndecided: too few agree for anybody to be wrong\n";
  for (const SplitRow& r : v.undecided) {
    std::string line =
        fmt::format("{} ({}):", short_text(fact_text(r.key, r.parts), kNodesBytes), short_text(r.cohort, kNodesBytes));
    for (std::size_t i = 0; i < std::min(kSplitShown, r.split.size()); ++i)
      line += fmt::format("{} {} on {}", i == 0 ? "" : ",", short_text(r.split[i].first, kTextBytes), r.split[i].second);
    if (r.split.size() > kSplitShown) line += fmt::format(" and {} more, -o json has all", r.split.size() - kSplitShown);
    if (r.unknown > 0) line += fmt::format("; {} unknown", r.unknown);
    out += "  " + wrap(line, kWidth - 2, 4) + "\n";
  }
  for (const std::string& n : v.notes) out += "\n" + wrap("note: " + printable(n), 120, 2) + "\n";
  return out;
}

std::string drift_json(const DriftView& v) {
  JsonWriter w;
  w.object().field("nodes", static_cast<std::uint64_t>(v.nodes)).field("kinds", static_cast<std::uint64_t>(v.kinds));
  w.field("differing", static_cast<std::uint64_t>(v.differing));
  w.field("hardly_known", compress_node_list(v.hardly_known)).key("differences").array();
  for (const DriftRow& r : v.rows) write_row(w, r);
  w.end_array().key("undecided").array();
  for (const SplitRow& r : v.undecided) write_split(w, r);
  w.end_array().key("notes").array();
  for (const std::string& n : v.notes) w.value(n);
  w.end_array().end_object();
  return w.take() + "\n";
}

std::string drift_jsonl(const DriftView& v) {
  std::string out;
  JsonWriter w;
  for (const DriftRow& r : v.rows) {
    write_row(w, r);
    out += w.take() + "\n";
  }
  for (const SplitRow& r : v.undecided) {
    write_split(w, r);
    out += w.take() + "\n";
  }
  return out;
}

std::string drift_csv(const DriftView& v) { return render_csv(table_of(v, 0), true); }

}  // namespace muster::report
