#include "ingest/policy_change.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "ingest/form.h"
#include "ingest/json.h"
#include "ingest/policy_file.h"
#include "model/codec.h"

namespace muster {
namespace {

constexpr std::string_view kSource = "a change";  // in the place of a file's name, which nobody is to read

// Durations are nanoseconds in what is stored; in a file they are written with a unit.
struct Durations {
  std::vector<std::string> names;
  std::string outer;
  template <class T>
  void operator()(std::string_view name, T& t) {
    if constexpr (std::is_same_v<T, Duration>) names.push_back(outer + std::string(name));
    if constexpr (std::is_same_v<T, Limits> || std::is_same_v<T, Lemons> || std::is_same_v<T, Approvals> ||
                  std::is_same_v<T, Scheduling>) {
      outer = std::string(name) + ".";
      fields(*this, t);
      outer.clear();
    }
  }
};

Value tree_of(const Policy& p) {
  auto v = parse_json(encode_policy(p));
  MUSTER_CHECK(v);
  return std::move(*v);
}

// As YAML has it: a number, true or false as they are, anything else in quotes.
std::string scalar(const std::string& text) {
  if (text == "true" || text == "false") return text;
  if (const auto number = parse_double(text)) return render_number(*number);
  JsonWriter w;
  w.value(text);
  return w.take();
}

std::pair<std::string, std::string> cut(const std::string& key) {
  const std::size_t dot = key.find('.');
  return dot == std::string::npos ? std::pair(std::string(), key) : std::pair(key.substr(0, dot), key.substr(dot + 1));
}

// The tree with the value at `key` taken from another tree.
Value with(const Value& tree, const Value& from, const std::string& key) {
  const auto [outer, inner] = cut(key);
  Value::Object out = *tree.object();
  for (Value::Member& m : out) {
    if (m.key == (outer.empty() ? inner : outer))
      m.value = outer.empty() ? *from.find(inner) : with(m.value, *from.find(outer), inner);
  }
  return Value(std::move(out));
}

Result<Policy> read_alone(const std::string& key, const std::string& value) {
  const auto [outer, inner] = cut(key);
  const std::string text =
      outer.empty() ? fmt::format("{}: {}\n", inner, scalar(value)) : fmt::format("{}:\n  {}: {}\n", outer, inner, scalar(value));
  auto read = parse_policy(text, kSource);
  if (read) return read;
  Error e = read.error();
  const std::size_t colon = e.what.find(": ");
  if (e.what.starts_with(kSource) && colon != std::string::npos) e.what.erase(0, colon + 2);
  if (e.next.empty()) e.next = fmt::format("docs/formats/policy.md says what {} may be", key);
  return tl::unexpected(e);
}

}  // namespace

std::vector<PolicySetting> settings_of(const Policy& policy) {
  Durations durations;
  Policy copy = policy;
  fields(durations, copy);
  const auto is_duration = [&](const std::string& key) {
    return std::find(durations.names.begin(), durations.names.end(), key) != durations.names.end();
  };
  std::vector<PolicySetting> out;
  const auto add = [&](const std::string& key, const Value& v) {
    double number = 0;
    if (const bool* flag = v.boolean()) out.emplace_back(key, *flag ? "true" : "false");
    if (v.number(number)) out.emplace_back(key, is_duration(key) ? render_number(number / 1e9) + "s" : render_number(number));
  };
  const Value tree = tree_of(policy);
  for (const Value::Member& m : *tree.object()) {
    add(m.key, m.value);
    if (m.value.object() == nullptr) continue;
    for (const Value::Member& inner : *m.value.object()) add(m.key + "." + inner.key, inner.value);
  }
  return out;
}

Result<Policy> change_policy(const Policy& policy, const std::vector<PolicySetting>& settings) {
  std::vector<std::string> known;
  for (const auto& [key, now] : settings_of(policy)) known.push_back(key);
  Value tree = tree_of(policy);
  for (const auto& [key, value] : settings) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      const auto near = nearest(key, known);
      return fail(Code::bad_input, fmt::format("no setting of a policy is called {}", quoted(key)),
                  near ? fmt::format("did you mean {}?", *near)
                       : "such as limits.out_cluster_pct or scheduling.backfill; docs/formats/policy.md has them all");
    }
    const auto alone = read_alone(key, value);
    if (!alone) return tl::unexpected(alone.error());
    tree = with(tree, tree_of(*alone), key);
  }
  Value::Object body;
  body.push_back({"policy", std::move(tree)});
  body.push_back({"hash", Value(std::string())});
  auto applied = decode_body("policy_applied", Value(std::move(body)));
  if (!applied) return tl::unexpected(applied.error());
  return std::move(std::get<PolicyApplied>(*applied).policy);
}

}  // namespace muster
