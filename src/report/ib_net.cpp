#include "report/ib_net.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/text.h"

namespace muster::report {
namespace {

constexpr int kLanes = 4;
constexpr double kHdrGbS = 25;

// The speed of a lane, as ibnetdiscover calls it: the first that carries the rate.
std::string_view speed(double gb_s) {
  const double lane = gb_s * 8 / kLanes;  // gigabits
  return lane <= 2       ? "SDR"
         : lane <= 4     ? "DDR"
         : lane <= 8     ? "QDR"
         : lane <= 13.64 ? "FDR"
         : lane <= 25    ? "EDR"
         : lane <= 50    ? "HDR"
         : lane <= 100   ? "NDR"
                         : "XDR";
}

// An endpoint is a port of a card, and that has the guid after the card's own.
std::uint64_t own_guid(const FabricNode& n) { return n.is_switch ? n.guid : n.guid - 1; }
std::string id(const FabricNode& n) { return fmt::format("\"{}-{:016x}\"", n.is_switch ? 'S' : 'H', own_guid(n)); }
std::string port_guid(const FabricNode& n) { return n.is_switch ? std::string() : fmt::format("({:x})", n.guid); }

}  // namespace

std::string say_ib_rate(double gb_s) { return fmt::format("{}x{}", kLanes, speed(gb_s)); }

std::string render_ib_net(const Fabric& f, const IbNetStyle& style) {
  fmt::memory_buffer out;
  const auto to = std::back_inserter(out);
  if (!style.heading.empty()) {
    for (const std::string_view line : split(style.heading, '\n')) fmt::format_to(to, "#{}{}\n", line.empty() ? "" : " ", line);
    fmt::format_to(to, "\n");
  }
  for (const FabricNode& n : f.nodes) {
    fmt::format_to(to, "vendid=0x2c9\ndevid=0x{}\nsysimgguid=0x{:x}\n{}guid=0x{:x}\n", n.is_switch ? "d2f2" : "1021", own_guid(n),
                   n.is_switch ? "switch" : "ca", own_guid(n));
    if (n.is_switch) {
      const std::size_t ports = std::max<std::size_t>(style.switch_ports, n.out.empty() ? 0 : n.out.size() - 1);
      fmt::format_to(to, "Switch\t{} {}\t\t# \"{}\" enhanced port 0 lid 0 lmc 0\n", ports, id(n), n.name);
    } else {
      fmt::format_to(to, "Ca\t{} {}\t\t# \"{}\"\n", n.out.size() - 1, id(n), n.name);
    }
    for (std::size_t p = 1; p < n.out.size(); ++p) {
      if (n.out[p] == Fabric::kNoLink) continue;
      const FabricLink& l = f.links[n.out[p]];
      const FabricNode& far = f.nodes[l.to];
      fmt::format_to(to, "[{}]{}\t{}[{}]{}\t\t# {}\"{}\" lid 0 {}x{}\n", p, port_guid(n), id(far), f.links[n.out[p] ^ 1U].port,
                     port_guid(far), n.is_switch ? "" : "lid 0 lmc 0 ", far.name, kLanes,
                     speed(style.for_ibsim ? std::min(l.gb_s, kHdrGbS) : l.gb_s));
    }
    fmt::format_to(to, "\n");
  }
  return fmt::to_string(out);
}

}  // namespace muster::report
