#include "ingest/nvlink5.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "ingest/csv.h"
#include "ingest/embedded.h"
#include "ingest/log_cursor.h"

namespace muster {
namespace {

std::vector<NvlinkRow> load() {
  const auto text = embedded_file("nvlink5_decode.csv");
  MUSTER_CHECK(text.has_value());
  const auto csv = parse_csv(*text, "nvlink5_decode.csv");
  MUSTER_CHECK(csv.has_value() && csv->header.size() == 9);
  std::vector<NvlinkRow> rows;
  for (const auto& r : csv->rows) {
    const auto xid = parse_int(r[0]);
    MUSTER_CHECK(xid.has_value() && r[2].size() == 32 && r[3].size() == 32);
    rows.push_back({static_cast<int>(*xid), r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8]});
  }
  return rows;
}

const std::vector<NvlinkRow>& table() {
  static const std::vector<NvlinkRow> t = load();
  return t;
}

bool fits(std::uint32_t word, std::string_view pattern) {
  for (std::size_t i = 0; i < 32; ++i) {
    const bool bit = (word >> (31 - i) & 1u) != 0;
    if (pattern[i] != '-' && (pattern[i] == '1') != bit) return false;
  }
  return true;
}

std::optional<std::uint32_t> hex_word(std::string_view s) {
  const auto v = s.substr(0, 2) == "0x" ? parse_hex(s) : std::nullopt;
  return v && *v <= 0xffffffff ? std::optional(static_cast<std::uint32_t>(*v)) : std::nullopt;
}

// Whether one of the names of a row's unit is one of the line's.
bool same_unit(std::string_view row, std::string_view line) {
  for (const auto a : split(row, '/')) {
    for (const auto b : split(line, '/')) {
      if (a == b) return true;
    }
  }
  return false;
}

bool status_is(const NvlinkRow& row, std::uint32_t status) {
  if (row.status.empty()) return true;
  for (const auto one : split(row.status, '/')) {
    if (hex_word(one) == status) return true;
  }
  return false;
}

bool status_has(const NvlinkRow& row, std::uint32_t status) {
  const auto bit = hex_word(row.status);
  return bit && *bit != 0 && (*bit & (*bit - 1)) == 0 && (status & *bit) != 0;
}

int strength(std::string_view action) {
  if (action == "RESET_GPU") return 2;
  return action == "IGNORE" ? 0 : 1;
}

}  // namespace

std::optional<NvlinkWords> parse_nvlink5(std::string_view text) {
  Cursor c(text);
  NvlinkWords w;
  const std::size_t blank = text.find(' ');
  constexpr std::size_t kUnitMax = 64;
  if (blank == std::string_view::npos || blank == 0 || blank > kUnitMax) return std::nullopt;
  w.unit = text.substr(0, blank);
  c.take(w.unit);
  if (c.take(" Degraded")) w.unit = text.substr(0, blank + 9);  // "MSE Degraded" is one name
  c.blanks();
  if (c.take("Fatal"))
    w.fatal = true;
  else if (!c.take("Nonfatal") && !c.take("Non-fatal"))
    return std::nullopt;
  c.blanks();
  if (!c.take("XC") || !c.number(2)) return std::nullopt;
  c.blanks();
  if (!c.take("i") || !c.number(3)) return std::nullopt;
  c.blanks();
  if (c.take("Link")) {
    c.blanks();
    const bool none = c.take("-");
    const auto link = c.number(3, true);
    if (!link) return std::nullopt;
    if (!none) w.link = static_cast<int>(*link);
    c.blanks();
  }
  if (!c.take("(")) return std::nullopt;
  const auto words = split(c.rest().substr(0, c.rest().find(')')), ' ');
  if (words.size() < 2) return std::nullopt;
  const auto info = hex_word(words[0]);
  const auto status = hex_word(words[1]);
  if (!info || !status) return std::nullopt;
  w.info = *info;
  w.status = *status;
  return w;
}

NvlinkMeaning decode_nvlink5(int xid, const NvlinkWords& w) {
  NvlinkMeaning best;
  for (const bool from_r575 : {true, false}) {
    NvlinkMeaning m;
    m.from_r575 = from_r575;
    m.sub_code = from_r575 ? w.info & 0x7fu : w.info >> 5 & 0x1fu;
    std::vector<const NvlinkRow*> bits;
    for (const NvlinkRow& row : table()) {
      if (row.xid != xid || !same_unit(row.unit, w.unit)) continue;
      if (!fits(w.info, from_r575 ? row.info_from_r575 : row.info_before_r575)) continue;
      if (status_is(row, w.status))
        m.rows.push_back(&row);
      else if (status_has(row, w.status))
        bits.push_back(&row);
    }
    if (m.rows.empty()) m.rows = std::move(bits);
    if (!m.rows.empty()) return m;
    if (from_r575 == false) best = std::move(m);
  }
  return best;
}

std::string action_of(const NvlinkMeaning& m) {
  const NvlinkRow* best = nullptr;
  for (const NvlinkRow* r : m.rows) {
    if (best == nullptr || strength(r->action) > strength(best->action)) best = r;
  }
  return best == nullptr ? std::string() : best->action;
}

std::string say_nvlink5(const NvlinkWords& w, const NvlinkMeaning& m) {
  std::string s = fmt::format("NVLink 5 unit {}{}, {} (info 0x{:08x}, status 0x{:08x})", printable(w.unit),
                              w.link < 0 ? std::string() : fmt::format(" of link {}", w.link), w.fatal ? "fatal" : "not fatal",
                              w.info, w.status);
  if (m.rows.empty()) return s + ": these words are not in the table";
  s += fmt::format(": sub-code {} ({} layout)", m.sub_code, m.from_r575 ? "R575 and later" : "before R575");
  for (const NvlinkRow* r : m.rows) {
    s += fmt::format("; {}, {}: {}, look at {}", r->severity, r->side, r->action, r->look_at);
  }
  return s;
}

}  // namespace muster
