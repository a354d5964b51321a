#include "ingest/lspci.h"

#include <algorithm>

#include "base/text.h"
#include "ingest/nccl_words.h"

namespace muster {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::size_t kLineMax = 4096, kWordsMax = 160;

bool hex(std::string_view s) { return !s.empty() && s.find_first_not_of("0123456789abcdefABCDEF") == npos; }

// "17:00.0" or "0000:17:00.0" at the line's beginning.
std::string_view address_of(std::string_view line) {
  const std::string_view word = until(line, " \t");
  if (word.size() < 7 || word.size() > 16) return {};
  const std::size_t dot = word.rfind('.'), colon = word.rfind(':', dot);
  if (dot == npos || colon == npos || colon < 2) return {};
  if (!hex(word.substr(dot + 1)) || !hex(word.substr(colon + 1, dot - colon - 1))) return {};
  const std::string_view bus = word.substr(0, colon);
  const std::size_t domain = bus.rfind(':');
  if (!hex(bus.substr(domain == npos ? 0 : domain + 1)) || (domain != npos && !hex(bus.substr(0, domain)))) return {};
  return word;
}

void link_words(std::string_view s, double& gt_s, std::uint32_t& lanes) {
  if (const auto speed = leading_double(trim(after(s, "Speed ")))) gt_s = std::clamp(*speed, 0.0, 1024.0);
  if (const auto width = uint_after(s, "Width x", 64)) lanes = static_cast<std::uint32_t>(*width);
}

}  // namespace

bool looks_like_lspci(std::string_view text) {
  text = text.substr(0, 1 << 20);
  return text.find("ACSCtl:") != npos || (text.find("LnkSta:") != npos && text.find("LnkCap:") != npos);
}

std::vector<PciPort> parse_lspci(std::string_view text, std::string_view file) {
  std::vector<PciPort> out;
  const std::string name = printable(file.substr(0, kWordsMax));
  std::uint32_t number = 0;
  const auto device = [&](std::string_view address, std::string_view what) {
    if (out.size() >= kPciPortsMax) return false;
    PciPort p;
    p.file = name;
    p.line = number;
    p.address = printable(address);
    p.what = printable(what.substr(0, kWordsMax));
    out.push_back(std::move(p));
    return true;
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, std::min(end, kLineMax));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (const std::string_view address = address_of(line); !address.empty()) {
      if (!device(address, trim(line.substr(address.size())))) break;
      continue;
    }
    line = trim(line);
    const bool acs = line.starts_with("ACSCtl:");
    if (!acs && !line.starts_with("LnkCap:") && !line.starts_with("LnkSta:")) continue;
    // A line that was cut out alone is of a device of its own.
    if ((out.empty() || (acs && out.back().acs)) && !device({}, {})) break;
    PciPort& p = out.back();
    if (acs) {
      p.acs = true;
      p.line = number;
      p.source_validated = line.find("SrcValid+") != npos;
      p.redirected = line.find("ReqRedir+") != npos || line.find("CmpltRedir+") != npos || line.find("UpstreamFwd+") != npos;
    } else if (line.starts_with("LnkCap:")) {
      link_words(line, p.gt_s_most, p.lanes_most);
    } else {
      link_words(line, p.gt_s, p.lanes);
    }
  }
  return out;
}

}  // namespace muster
