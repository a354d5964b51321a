// NVIDIA's list of data-centre drivers as rules: an object with a member for each branch, which has a type and its releases.
#include <fmt/core.h>

#include <algorithm>

#include "base/node_list.h"
#include "base/text.h"
#include "ingest/fleet_rules.h"
#include "ingest/json.h"

namespace muster {
namespace {

constexpr const char* kPlace = "docs.nvidia.com/datacenter/tesla/drivers/releases.json";

struct Branch {
  std::string name;   // "580"
  std::string first;  // day of its first release
  std::string newest;
  std::string end;  // day after which it is not kept up
  bool long_term = false;
};

std::string text_of(const Value& v, std::string_view member) {
  const Value* m = v.find(member);
  return m != nullptr && m->string() != nullptr ? *m->string() : std::string();
}

int days_of(std::uint64_t year, std::uint64_t month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month == 2 && leap ? 29 : kDays[month - 1];
}

bool is_day(std::string_view s) {
  if (s.size() != 10 || s[4] != '-' || s[7] != '-') return false;
  const auto y = parse_uint(s.substr(0, 4)), m = parse_uint(s.substr(5, 2)), d = parse_uint(s.substr(8, 2));
  return y && m && d && *m >= 1 && *m <= 12 && *d >= 1 && static_cast<int>(*d) <= days_of(*y, *m);
}

// The same day some years later; of the 29th of February the 28th where that year has none.
std::string years_after(std::string_view day, std::uint64_t years) {
  const std::uint64_t year = *parse_uint(day.substr(0, 4)) + years;
  const bool none = day.substr(4) == "-02-29" && days_of(year, 2) == 28;
  return fmt::format("{:04}{}", year, none ? "-02-28" : day.substr(4));
}

// "580.159.04" of branch "580": it is shown, and people install it.
bool version_of(std::string_view branch, std::string_view version) {
  return version.size() > branch.size() && version.substr(0, branch.size()) == branch && version[branch.size()] == '.' &&
         version.find_first_not_of("0123456789.") == std::string_view::npos;
}

Result<Branch> branch_of(const std::string& name, const Value& v) {
  Branch b;
  b.name = !name.empty() && (name[0] == 'R' || name[0] == 'r') ? name.substr(1) : name;
  if (!parse_uint(b.name) || b.name[0] == '0')
    return fail(Code::bad_input, fmt::format("\"{}\" is no branch of drivers", printable(name)));
  const std::string type = lower(text_of(v, "type"));
  b.long_term = type.find("lts") != std::string::npos || type.find("long") != std::string::npos;
  const Value* releases = v.find("driver_info");
  if (releases == nullptr || releases->array() == nullptr || releases->array()->empty())
    return fail(Code::bad_input, fmt::format("branch {} has no list driver_info", b.name));
  for (const Value& r : *releases->array()) {
    const std::string day = text_of(r, "release_date"), version = text_of(r, "release_version");
    if (!version_of(b.name, version))
      return fail(Code::bad_input,
                  fmt::format("a release of branch {} has \"{}\" as release_version", b.name, printable(version)));
    if (!is_day(day))
      return fail(Code::bad_input,
                  fmt::format("{} has \"{}\" as release_date, not a day as 2026-11-19", version, printable(day)));
    if (b.first.empty() || day < b.first) b.first = day;
    if (b.newest.empty() || natural_less(b.newest, version)) b.newest = version;
  }
  // Kept up for three years where it is a long-term branch, else for one, from its first release.
  b.end = years_after(b.first, b.long_term ? 3 : 1);
  return b;
}

FleetRule rule_of(const Branch& b, const std::string& file) {
  FleetRule r;
  r.id = "NVIDIA-R" + b.name;
  r.kind = RuleKind::date;
  r.severity = RuleSeverity::warn;
  r.a = "driver.loaded";
  r.range_a = "in " + b.name;
  r.b = "today";
  r.range_b = "<= " + b.end;
  r.says = fmt::format("driver {{driver.loaded}} is of branch R{}, which was kept up until {}", b.name, b.end);
  r.todo = "move to a branch that is kept up; the newest of this one is " + b.newest;
  r.confidence = fmt::format("computed: {} from its first release of {}", b.long_term ? "three years" : "one year", b.first);
  r.source = kPlace;
  r.file = file;
  return r;
}

}  // namespace

Result<std::vector<FleetRule>> rules_of_driver_releases(std::string_view json, const std::string& file) {
  const auto v = parse_json(json);
  if (!v) return fail(Code::bad_input, fmt::format("{}: {}", file, v.error().what), "it must be NVIDIA's releases.json");
  if (v->object() == nullptr || v->object()->empty())
    return fail(Code::bad_input, fmt::format("{}: must be an object with a member for each branch", file), kPlace);
  std::vector<FleetRule> out;
  std::string all;
  for (const Value::Member& m : *v->object()) {
    const auto b = branch_of(m.key, m.value);
    if (!b) return fail(Code::bad_input, fmt::format("{}: {}", file, b.error().what), kPlace);
    const auto same = [&](const FleetRule& r) { return r.id == "NVIDIA-R" + b->name; };
    if (std::any_of(out.begin(), out.end(), same))
      return fail(Code::bad_input, fmt::format("{}: branch {} is there twice", file, b->name), kPlace);
    out.push_back(rule_of(*b, file));
    all += (all.empty() ? "" : ", ") + b->name;
  }
  FleetRule listed;
  listed.id = "NVIDIA-listed";
  listed.kind = RuleKind::exact;
  listed.severity = RuleSeverity::warn;
  listed.b = "driver.loaded";
  listed.range_b = "in (" + all + ")";
  listed.says = "driver {driver.loaded} is of no branch that NVIDIA lists for data centres";
  listed.todo = "move to a branch of that list";
  listed.confidence = "imported";
  listed.source = kPlace;
  listed.file = file;
  out.push_back(std::move(listed));
  return out;
}

}  // namespace muster
