#include "report/fleet_nodes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "base/node_list.h"
#include "base/text.h"
#include "report/table.h"
#include "report/units.h"

namespace muster::report {
namespace {

constexpr std::size_t kValueBytes = 60, kNameBytes = 80;

struct Row {
  FactLayer layer = FactLayer::tuning;
  std::string key;
  std::vector<std::string> parts;
  std::string a, b;
  bool a_absent = false, b_absent = false;
  enum class How : std::uint8_t { same, differs, unknown } how = How::same;  // unknown: of one of them nobody knows
};

std::string value_text(const FactColumn& c, std::size_t node) {
  const FactCode code = c.code(node);
  if (code >= kFirstValue) return c.values[code - kFirstValue];
  return code == kFactAbsent ? "absent" : code == kFactUnreadable ? "unreadable" : "unknown";
}

bool known(FactCode c) { return c == kFactAbsent || c >= kFirstValue; }

// In the order of layers, then of names; parts of which the same is told are one row.
std::vector<Row> rows_of(const NodesView& v) {
  std::vector<Row> out;
  for (const FactColumn& c : v.table.columns()) {
    const FactMeaning* m = v.book.find(c.key);
    if (m != nullptr && (m->kind == FactKind::identity || m->layer == FactLayer::identity)) continue;
    const FactCode x = c.code(v.a), y = c.code(v.b);
    if (!known(x) && !known(y)) continue;
    Row r;
    r.layer = m == nullptr ? FactLayer::tuning : m->layer;
    r.key = c.key;
    r.a = value_text(c, v.a);
    r.b = value_text(c, v.b);
    r.a_absent = x == kFactAbsent;
    r.b_absent = y == kFactAbsent;
    r.how = !known(x) || !known(y) ? Row::How::unknown : x == y ? Row::How::same : Row::How::differs;
    if (r.how == Row::How::same && !v.all) continue;
    const auto same = std::find_if(out.begin(), out.end(), [&](const Row& o) {
      return o.key == r.key && o.a == r.a && o.b == r.b && o.a_absent == r.a_absent && o.b_absent == r.b_absent;
    });
    Row& into = same == out.end() ? out.emplace_back(std::move(r)) : *same;
    if (!c.entity.empty()) into.parts.push_back(c.entity);
  }
  for (Row& r : out) std::sort(r.parts.begin(), r.parts.end(), natural_less);
  std::stable_sort(out.begin(), out.end(), [](const Row& a, const Row& b) {
    if (a.layer != b.layer) return a.layer < b.layer;
    return a.how != b.how ? a.how == Row::How::differs : a.key < b.key;
  });
  return out;
}

std::string short_text(std::string_view s, std::size_t most) {
  return printable(clipped(s, most)) + (s.size() > most ? "…" : "");
}

std::string fact_text(const Row& r) { return r.parts.empty() ? r.key : compress_node_list(r.parts) + ":" + r.key; }

std::string_view layer_text(FactLayer l) { return names(FactLayer{})[static_cast<std::size_t>(l)]; }

}  // namespace

std::string render_nodes(const NodesView& v, bool colour) {
  const std::vector<Row> rows = rows_of(v);
  const std::string a = short_text(v.table.nodes()[v.a].name, kNameBytes), b = short_text(v.table.nodes()[v.b].name, kNameBytes);
  const auto count = [&](Row::How how) {
    return std::count_if(rows.begin(), rows.end(), [how](const Row& r) { return r.how == how; });
  };
  std::string out = fmt::format("{} and {}: {}", a, b, counted(count(Row::How::differs), "difference"));
  if (const auto n = count(Row::How::unknown); n > 0)
    out += fmt::format(", {} that only one of them is known by", counted(n, "fact"));
  out += "\n";
  if (rows.empty()) return out;
  Table t;
  t.columns = {{"LAYER"}, {"FACT"}, {upper(a)}, {upper(b)}};
  for (const Row& r : rows) {
    const Tone tone = r.how == Row::How::differs ? Tone::warn : Tone::dim;
    t.rows.push_back({Cell(std::string(layer_text(r.layer))), Cell(short_text(fact_text(r), kNameBytes)),
                      Cell(short_text(r.a, kValueBytes), tone), Cell(short_text(r.b, kValueBytes), tone)});
  }
  return out + "\n" + render_table(t, {true, false, colour});
}

std::string nodes_json(const NodesView& v) {
  constexpr std::array<std::string_view, 3> kHow = {"same", "differs", "unknown"};
  JsonWriter w;
  w.object().field("a", v.table.nodes()[v.a].name).field("b", v.table.nodes()[v.b].name).key("facts").array();
  for (const Row& r : rows_of(v)) {
    w.object().field("layer", layer_text(r.layer)).field("fact", fact_text(r)).field("key", r.key);
    w.key("a");
    r.a_absent ? w.null() : w.value(r.a);
    w.key("b");
    r.b_absent ? w.null() : w.value(r.b);
    w.field("is", kHow[static_cast<std::size_t>(r.how)]).end_object();
  }
  w.end_array().end_object();
  return w.take() + "\n";
}

}  // namespace muster::report
