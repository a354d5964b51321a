#include "ingest/dcgm_fields.h"

#include <map>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "ingest/csv.h"
#include "ingest/embedded.h"

namespace muster {
namespace {

std::string upper(std::string_view s) {
  std::string out(s);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

struct Fields {
  std::vector<DcgmField> all;
  std::map<std::string, std::size_t, std::less<>> by_name;
};

Fields load() {
  const auto text = embedded_file("dcgm_fields.csv");
  MUSTER_CHECK(text.has_value());
  const auto csv = parse_csv(*text, "dcgm_fields.csv");
  MUSTER_CHECK(csv.has_value() && csv->column("id") == 0 && csv->column("name") == 1 && csv->column("former") == 2);
  Fields f;
  for (const auto& r : csv->rows) {
    const auto id = parse_uint(r[0]);
    MUSTER_CHECK(id.has_value());
    f.by_name.emplace(r[1], f.all.size());
    if (!r[2].empty()) f.by_name.emplace(r[2], f.all.size());
    f.all.push_back({static_cast<int>(*id), r[1], r[2]});
  }
  return f;
}

const Fields& table() {
  static const Fields f = load();
  return f;
}

}  // namespace

std::span<const DcgmField> dcgm_fields() { return table().all; }

const DcgmField* find_dcgm_field(std::string_view name_or_id) {
  name_or_id = trim(name_or_id);
  constexpr std::size_t kNameMax = 128;
  if (name_or_id.size() > kNameMax) return nullptr;
  if (const auto id = parse_uint(name_or_id)) {
    for (const DcgmField& f : table().all) {
      if (static_cast<std::uint64_t>(f.id) == *id) return &f;
    }
    return nullptr;
  }
  const auto at = table().by_name.find(upper(name_or_id));
  return at == table().by_name.end() ? nullptr : &table().all[at->second];
}

}  // namespace muster
