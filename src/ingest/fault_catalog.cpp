#include "ingest/fault_catalog.h"

#include "base/check.h"
#include "base/text.h"
#include "ingest/csv.h"
#include "ingest/embedded.h"

namespace muster {
namespace {

// Letters and digits only, in lower case: "Xid 79" and "XID:79" are the same word.
std::string folded(std::string_view s) {
  std::string out;
  for (const char c : s) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
    if (c >= 'A' && c <= 'Z') out += static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

struct Catalog {
  std::vector<Fault> faults;
  std::map<std::string, std::size_t> by_word;
};

Catalog load() {
  const auto text = embedded_file("faults.csv");
  MUSTER_CHECK(text.has_value());
  const auto csv = parse_csv(*text, "faults.csv");
  MUSTER_CHECK(csv.has_value());
  constexpr std::string_view kColumns[] = {"code",  "name",       "meaning", "severity", "action",
                                           "scope", "applies_to", "seen_in", "source"};
  for (std::size_t i = 0; i < std::size(kColumns); ++i) MUSTER_CHECK(csv->column(kColumns[i]) == static_cast<int>(i));
  Catalog c;
  for (const auto& r : csv->rows) {
    c.faults.push_back({r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8]});
    c.by_word.emplace(folded(r[0]), c.faults.size() - 1);
  }
  // Names after all codes, so that no code is hidden by another row's name. Some rows have several: "A / B".
  for (std::size_t i = 0; i < c.faults.size(); ++i) {
    std::string_view names = c.faults[i].name;
    c.by_word.emplace(folded(names), i);
    for (std::size_t at = names.find(" / "); at != std::string_view::npos; at = names.find(" / ")) {
      c.by_word.emplace(folded(names.substr(0, at)), i);
      names.remove_prefix(at + 3);
    }
    c.by_word.emplace(folded(names), i);
  }
  // What the detectors call things that have no number, by the row that explains them.
  const std::pair<const char*, const char*> spoken[] = {{"off_bus", "Xid 79"}, {"link_down", "IB link_downed"}};
  for (const auto& [word, code] : spoken) {
    if (const auto at = c.by_word.find(folded(code)); at != c.by_word.end()) c.by_word.emplace(folded(word), at->second);
  }
  return c;
}

const Catalog& catalog() {
  static const Catalog c = load();
  return c;
}

}  // namespace

std::span<const Fault> faults() { return catalog().faults; }

const Fault* find_fault(std::string_view code) {
  constexpr std::size_t kCodeMax = 128;
  if (code.size() > kCodeMax) return nullptr;
  std::string word = folded(code);
  if (parse_uint(trim(code))) word = "xid" + word;
  const auto at = catalog().by_word.find(word);
  return word.empty() || at == catalog().by_word.end() ? nullptr : &catalog().faults[at->second];
}

std::vector<std::string> similar_faults(std::string_view code) {
  const std::string word = folded(code.substr(0, 128));
  std::vector<std::string> out;
  constexpr std::size_t kMost = 5;
  for (const Fault& f : faults()) {
    if (word.size() >= 3 && (folded(f.code).find(word) != std::string::npos || folded(f.name).find(word) != std::string::npos)) {
      out.push_back(f.code);
      if (out.size() == kMost) break;
    }
  }
  return out;
}

}  // namespace muster
