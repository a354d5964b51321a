#include "ingest/cloud_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/check.h"
#include "base/text.h"
#include "ingest/csv.h"
#include "ingest/embedded.h"
#include "ingest/yaml.h"

namespace muster {
namespace {

struct Key {
  std::string name;
  std::vector<std::string> types, items;  // of the value, and of what a list holds; empty: anything
  bool needed = false;
};
using Keys = std::map<std::string, std::vector<Key>, std::less<>>;  // by section

std::vector<std::string> words_of(const std::string& cell) {
  std::vector<std::string> out;
  if (cell.empty()) return out;
  for (const std::string_view word : split(cell, '|')) out.emplace_back(word);
  return out;
}

Keys read_keys() {
  const auto text = embedded_file("fleet/cloud_config_keys.csv");
  MUSTER_CHECK(text.has_value());
  const auto csv = parse_csv(*text, "fleet/cloud_config_keys.csv");
  MUSTER_CHECK(csv.has_value());
  Keys out;
  for (std::size_t i = 0; i < csv->rows.size(); ++i)
    out[csv->cell(i, "section")].push_back(
        {csv->cell(i, "key"), words_of(csv->cell(i, "type")), words_of(csv->cell(i, "items")), csv->cell(i, "needed") == "yes"});
  return out;
}

// cloud-init reads YAML 1.1, where these are true and false; whether they stood in quotes is not known here.
bool old_boolean(std::string_view text) {
  constexpr std::string_view kWords[] = {"yes", "no", "on", "off"};
  return std::find(std::begin(kWords), std::end(kWords), lower(text)) != std::end(kWords);
}

bool is_one_of(const Value& v, const std::vector<std::string>& types) {
  double number = 0;
  return types.empty() || std::any_of(types.begin(), types.end(), [&](const std::string& type) {
           if (type == "text") return v.string() != nullptr;
           if (type == "bool") return v.boolean() != nullptr || (v.string() != nullptr && old_boolean(*v.string()));
           if (type == "whole") return v.integer() != nullptr;
           if (type == "number") return v.number(number);
           if (type == "list") return v.array() != nullptr;
           if (type == "object") return v.object() != nullptr;
           return type == "null" && v.is_null();
         });
}

// "text, a list or an object", in the words that Value::kind has.
std::string in_words(const std::vector<std::string>& types) {
  static const std::map<std::string, std::string, std::less<>> kWords = {
      {"text", "text"},   {"bool", "true or false"}, {"whole", "a whole number"}, {"number", "a number"},
      {"list", "a list"}, {"null", "empty"},         {"object", "an object"}};
  std::string out;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto word = kWords.find(types[i]);
    MUSTER_CHECK(word != kWords.end());
    out += (i == 0 ? "" : i + 1 == types.size() ? " or " : ", ") + word->second;
  }
  return out;
}

class Checker {
 public:
  explicit Checker(std::string_view file) : file_(file) {}

  void section(const Value& v, const std::string& name) {
    static const Keys kKeys = read_keys();
    const auto known = kKeys.find(name);
    if (known == kKeys.end()) return;
    if (const Value::Array* items = v.array(); items != nullptr) {
      for (const Value& item : *items) section(item, name);
    }
    if (v.object() == nullptr) return;
    for (const Key& key : known->second) {
      if (key.needed && v.find(key.name) == nullptr) say(v, fmt::format("{} without {} is refused", name, key.name));
    }
    for (const Value::Member& m : *v.object()) {
      const auto key = std::find_if(known->second.begin(), known->second.end(), [&m](const Key& k) { return k.name == m.key; });
      const std::string path = name.empty() ? m.key : name + "." + m.key;
      if (key == known->second.end()) {
        unknown(m, path, known->second);
        continue;
      }
      type(m.value, path, *key);
      // What is to be done on the installed system is a user-data of its own. Where a list of such is usual, an object has names
      // for keys: "users: {ann: true}".
      const bool of_names = m.value.object() != nullptr && std::count(key->types.begin(), key->types.end(), "list") > 0;
      if (!of_names) section(m.value, name == "autoinstall" && m.key == "user-data" ? "" : path);
    }
  }
  std::vector<std::string> says_;

 private:
  void say(const Value& at, std::string_view what) { says_.push_back(fmt::format("{}:{}: {}", file_, at.line(), what)); }

  void unknown(const Value::Member& m, const std::string& path, const std::vector<Key>& known) {
    std::vector<std::string> names;
    for (const Key& k : known) names.push_back(k.name);
    const auto near = nearest(m.key, names);
    say(m.value, fmt::format("{} is no key that is read{}", printable(path), near ? fmt::format("; {} is", *near) : ""));
  }

  void type(const Value& v, const std::string& path, const Key& key) {
    if (!is_one_of(v, key.types)) {
      const bool quotes = key.types == std::vector<std::string>{"text"} && (v.boolean() != nullptr || v.integer() != nullptr);
      return say(
          v, fmt::format("{} must be {}, is {}{}", path, in_words(key.types), v.kind(), quotes ? ": write it in quotes" : ""));
    }
    if (v.array() == nullptr) return;
    for (const Value& item : *v.array()) {
      if (!is_one_of(item, key.items))
        say(item, fmt::format("each of {} must be {}, and one is {}", path, in_words(key.items), item.kind()));
    }
  }

  std::string file_;
};

}  // namespace

Result<std::vector<std::string>> check_cloud_config(std::string_view text, std::string_view file) {
  if (text.starts_with("#!"))
    return std::vector<std::string>{
        fmt::format("{}:1: a script, which cloud-init runs as it is at the first boot: it has no keys to check", file)};
  const auto value = parse_yaml(text, file);
  if (!value) return tl::unexpected(value.error());
  Checker c(file);
  if (!text.starts_with("#cloud-config\n") && !text.starts_with("#cloud-config\r\n"))
    c.says_.push_back(fmt::format("{}:1: the first line must be #cloud-config, or all of it is passed over", file));
  if (value->object() == nullptr) {
    c.says_.push_back(fmt::format("{}:1: must be a mapping of keys, is {}", file, value->kind()));
  } else {
    c.section(*value, "");
  }
  return std::move(c.says_);
}

}  // namespace muster
