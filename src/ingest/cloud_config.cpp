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

using Keys = std::map<std::string, std::vector<std::string>, std::less<>>;  // by section

Keys read_keys() {
  const auto text = embedded_file("fleet/cloud_config_keys.csv");
  MUSTER_CHECK(text.has_value());
  const auto csv = parse_csv(*text, "fleet/cloud_config_keys.csv");
  MUSTER_CHECK(csv.has_value());
  Keys out;
  for (std::size_t i = 0; i < csv->rows.size(); ++i) out[csv->cell(i, "section")].push_back(csv->cell(i, "key"));
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
    for (const Value::Member& m : *v.object()) {
      if (std::find(known->second.begin(), known->second.end(), m.key) == known->second.end()) {
        const auto near = nearest(m.key, known->second);
        says_.push_back(fmt::format("{}:{}: {}{} is no key that is read{}", file_, m.value.line(), name.empty() ? "" : name + ".",
                                    printable(m.key), near ? fmt::format("; {} is", *near) : ""));
        continue;
      }
      // What is to be done on the installed system is a user-data of its own.
      section(m.value, name == "autoinstall" && m.key == "user-data" ? "" : name.empty() ? m.key : name + "." + m.key);
    }
  }
  std::vector<std::string> says_;

 private:
  std::string file_;
};

}  // namespace

Result<std::vector<std::string>> check_cloud_config(std::string_view text, std::string_view file) {
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
