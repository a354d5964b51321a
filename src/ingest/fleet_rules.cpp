#include "ingest/fleet_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/text.h"
#include "ingest/csv.h"
#include "ingest/embedded.h"

namespace muster {
namespace {

using Column = std::pair<std::string_view, std::string FleetRule::*>;
constexpr Column kColumns[] = {{"id", &FleetRule::id},           {"a", &FleetRule::a},
                               {"range_a", &FleetRule::range_a}, {"b", &FleetRule::b},
                               {"range_b", &FleetRule::range_b}, {"applies_to", &FleetRule::applies_to},
                               {"says", &FleetRule::says},       {"do", &FleetRule::todo},
                               {"effect", &FleetRule::effect},   {"confidence", &FleetRule::confidence},
                               {"source", &FleetRule::source}};

template <NamedEnum E>
Result<void> put_word(const std::string& text, std::string_view column, E& out) {
  if (parse_name(text, out)) return {};
  std::string all;
  for (const std::string_view n : names(E{})) all += (all.empty() ? "" : ", ") + std::string(n);
  return fail(Code::bad_input, fmt::format("{} must be one of {}, is \"{}\"", column, all, printable(text)));
}

Result<FleetRule> rule_of(const Csv& csv, std::size_t row) {
  FleetRule r;
  for (const auto& [name, member] : kColumns) r.*member = std::string(trim(csv.cell(row, name)));
  if (r.id.empty()) return fail(Code::bad_input, "id is empty");
  if (auto ok = put_word(csv.cell(row, "kind"), "kind", r.kind); !ok) return tl::unexpected(ok.error());
  if (auto ok = put_word(csv.cell(row, "severity"), "severity", r.severity); !ok) return tl::unexpected(ok.error());
  const auto need = [&](const std::string& value, const char* column) -> Result<void> {
    if (!value.empty()) return {};
    return fail(Code::bad_input, fmt::format("{} of {} is empty", column, printable(r.id)));
  };
  for (const auto& [value, column] : {std::pair{&r.says, "says"}, std::pair{&r.source, "source"}}) {
    if (auto ok = need(*value, column); !ok) return tl::unexpected(ok.error());
  }
  if (r.a.empty() && !r.range_a.empty())
    return fail(Code::bad_input,
                fmt::format("range_a of {} is \"{}\", but a names no fact", printable(r.id), printable(r.range_a)));
  const bool compares_nodes = r.kind == RuleKind::alike || r.kind == RuleKind::job;
  if (auto ok = compares_nodes ? need(r.b, "b") : need(r.range_b, "range_b"); !ok) return tl::unexpected(ok.error());
  return r;
}

// A column that is passed over is one that somebody meant: without its applies_to a rule is held against every node.
Result<void> check_header(const std::vector<std::string>& header, const std::string& file) {
  std::vector<std::string> known{"kind", "severity"};
  for (const auto& [name, member] : kColumns) known.emplace_back(name);
  std::set<std::string> seen;
  for (const std::string& h : header) {
    const bool twice = !seen.insert(h).second;
    if (!twice && std::find(known.begin(), known.end(), h) != known.end()) continue;
    const auto meant = nearest(h, known);
    return fail(Code::bad_input,
                fmt::format("{}:1: column \"{}\" {}", file, printable(h), twice ? "is there twice" : "is unknown"),
                meant && !twice ? "did you mean " + *meant + "?" : "columns are " + join(known, ", "));
  }
  return {};
}

std::vector<FleetRule> shipped() {
  std::vector<FleetRule> out;
  for (const char* path : {"fleet/compat.csv", "fleet/host_settings.csv"}) {
    const auto text = embedded_file(path);
    MUSTER_CHECK(text.has_value());
    auto rules = read_fleet_rules(*text, path);
    MUSTER_CHECK(rules.has_value());
    out.insert(out.end(), std::make_move_iterator(rules->begin()), std::make_move_iterator(rules->end()));
  }
  return out;
}

std::string csv_cell(std::string_view s) {
  if (s.find_first_of(",\"\n\r#") == std::string_view::npos) return std::string(s);
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

}  // namespace

const std::vector<FleetRule>& fleet_rules() {
  static const std::vector<FleetRule> kRules = shipped();
  return kRules;
}

Result<std::vector<FleetRule>> read_fleet_rules(std::string_view text, const std::string& file) {
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(nul), '\n');
    return fail(Code::bad_input, fmt::format("{}:{}: it has a byte that is zero", file, line), "save it as CSV in UTF-8");
  }
  const auto csv = parse_csv(text, file);
  if (!csv) return tl::unexpected(csv.error());
  if (auto ok = check_header(csv->header, file); !ok) return tl::unexpected(ok.error());
  for (const char* column : {"id", "kind", "b", "range_b", "severity", "says", "source"}) {
    if (csv->column(column) < 0)
      return fail(Code::bad_input, fmt::format("{}:1: there is no column {}", file, column),
                  "docs/formats/fleet_rules.md; muster fleet rules -o csv prints rules in this form");
  }
  std::vector<FleetRule> out;
  std::set<std::string> ids;
  for (std::size_t row = 0; row < csv->rows.size(); ++row) {
    auto r = rule_of(*csv, row);
    if (!r) return fail(Code::bad_input, fmt::format("{}:{}: {}", file, csv->lines[row], r.error().what));
    r->file = file;
    r->line = csv->lines[row];
    if (!ids.insert(r->id).second)
      return fail(Code::bad_input, fmt::format("{}:{}: {} is there twice", file, r->line, printable(r->id)));
    out.push_back(std::move(*r));
  }
  return out;
}

std::string render_fleet_rules(const std::vector<FleetRule>& rules) {
  std::string out = "id,kind,severity";
  for (const auto& [name, member] : kColumns) {
    if (name != "id") out += "," + std::string(name);
  }
  out += "\n";
  for (const FleetRule& r : rules) {
    out += fmt::format("{},{},{}", csv_cell(r.id), name_of(r.kind), name_of(r.severity));
    for (const auto& [name, member] : kColumns) {
      if (name != "id") out += "," + csv_cell(r.*member);
    }
    out += "\n";
  }
  return out;
}

}  // namespace muster
