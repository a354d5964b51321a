#include "ingest/ib_net.h"

#include <fmt/format.h>

#include <optional>

#include "base/text.h"
#include "ingest/ib_words.h"

namespace muster {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr int kLidMax = 0xBFFF;  // above are those of multicast

// The end of a cable as a file names it: "S-0002c90300004100" and a port.
struct End {
  std::uint64_t guid = 0;
  std::uint16_t port = 0;
  bool is_switch = false;
  auto operator<=>(const End&) const = default;
};

std::string say(const End& e) { return fmt::format("{}-{:016x}[{}]", e.is_switch ? 'S' : 'H', e.guid, e.port); }

class NetReader {
 public:
  explicit NetReader(std::string_view file) : file_(file) {}

  Result<void> line(std::string_view s, int number) {
    number_ = number;
    if (s.substr(0, 6) == "Switch" || s.substr(0, 3) == "Ca\t" || s.substr(0, 3) == "Ca " || s.substr(0, 2) == "Rt")
      return head(s);
    if (s.empty() || s.front() != '[') return {};  // ids, comments, blank lines
    return port(s);
  }

  Result<Fabric> done() {
    for (const auto& [here, cable] : cables_) {
      const auto back = cables_.find(cable.far);
      if (back != cables_.end() && back->second.far != here) {
        return fail(Code::bad_input,
                    fmt::format("{}:{}: {} is cabled to {}, but that says it is cabled to {}", file_, cable.line, say(here),
                                say(cable.far), say(back->second.far)),
                    "take the dump again: the fabric changed while it was read");
      }
      if (back != cables_.end() && cable.far < here) continue;  // was plugged in from its other end
      const IbRate rate = cable.rate.gb_s > 0 || back == cables_.end() ? cable.rate : back->second.rate;
      if (rate.gb_s <= 0) {
        return fail(Code::bad_input, fmt::format("{}:{}: the rate of this port is not told", file_, cable.line),
                    "a line of ibnetdiscover ends with width and speed, as 4xNDR");
      }
      const std::uint32_t a = node(here), b = node(cable.far);
      // An endpoint is one port of its card.
      fabric_.connect(a, here.is_switch ? here.port : 1, b, cable.far.is_switch ? cable.far.port : 1, rate.gb_s,
                      rate.lanes);
    }
    if (fabric_.links.empty()) {
      return fail(Code::bad_input, fmt::format("{}: no cable of an InfiniBand fabric is in it", file_),
                  "give what `ibnetdiscover` prints");
    }
    return std::move(fabric_);
  }

 private:
  struct Cable {
    End far;
    IbRate rate;
    int line;
  };

  tl::unexpected<Error> bad(std::string_view what) const {
    return fail(Code::bad_input, fmt::format("{}:{}: {}", file_, number_, what), "give what `ibnetdiscover` prints");
  }

  static std::optional<End> end(std::string_view id) {
    if (id.size() < 3 || id[1] != '-') return {};
    const auto guid = parse_hex(id.substr(2));
    if (!guid) return {};
    return End{*guid, 0, id[0] == 'S'};
  }

  // Switch	16 "S-0002c90300040100"		# "leaf-p00-00" enhanced port 0 lid 0 lmc 0
  Result<void> head(std::string_view s) {
    const auto id = take_between(s, '"', '"');
    const auto here = id ? end(*id) : std::nullopt;
    if (!here) return bad("this node has no id such as \"S-0002c90300040100\"");
    here_ = *here;
    const auto name = take_between(s, '"', '"');
    name_ = printable(name && !name->empty() ? *name : *id);
    if (here_->is_switch) names_[{here_->guid, 0, true}] = name_;
    return {};
  }

  // [1](2c90300000101)	"S-0002c90300004100"[1]		# lid 0 lmc 0 "leaf-000" lid 0 4xHDR
  Result<void> port(std::string_view s) {
    if (!here_) return bad("a port of no node");
    const IbRate rate = rate_at_end(s);
    const auto number = take_between(s, '[', ']');
    const auto n = number ? parse_uint(*number) : std::nullopt;
    if (!n || *n == 0 || *n > 254) return bad("a port's number is 1 to 254");
    End from = *here_;
    from.port = static_cast<std::uint16_t>(*n);
    std::string_view own = s.substr(0, s.find('"'));
    const auto own_guid = take_between(own, '(', ')');
    if (!from.is_switch) {
      names_[from] = name_;
      if (const auto g = own_guid ? parse_hex(*own_guid) : std::nullopt) port_guids_[from] = *g;
    }
    const auto far_id = take_between(s, '"', '"');
    auto far = far_id ? end(*far_id) : std::nullopt;
    const auto far_port = take_between(s, '[', ']');
    const auto f = far_port ? parse_uint(*far_port) : std::nullopt;
    if (!far || !f || *f == 0 || *f > 254) return bad("where this port is cabled to cannot be read");
    far->port = static_cast<std::uint16_t>(*f);
    if (names_.size() > kIbNetNodesMax) return bad(fmt::format("more than {} nodes", kIbNetNodesMax));
    if (!cables_.try_emplace(from, Cable{*far, rate, number_}).second) return bad("this port is there twice");
    return {};
  }

  std::uint32_t node(const End& e) {
    const End key = e.is_switch ? End{e.guid, 0, true} : e;
    const auto known = ids_.find(key);
    if (known != ids_.end()) return known->second;
    const auto name = names_.find(key);
    const auto guid = port_guids_.find(key);
    const std::uint32_t id = fabric_.add({name == names_.end() ? say(e) : name->second,
                                          guid == port_guids_.end() ? e.guid : guid->second, e.is_switch, {},
                                          e.is_switch ? std::uint16_t{1} : e.port});
    return ids_[key] = id;
  }

  std::string_view file_;
  int number_ = 0;
  std::optional<End> here_;
  std::string name_;
  std::map<End, std::string> names_;
  std::map<End, std::uint64_t> port_guids_;
  std::map<End, Cable> cables_;
  std::map<End, std::uint32_t> ids_;
  Fabric fabric_;
};

}  // namespace

Result<Fabric> parse_ib_net(std::string_view text, std::string_view file) {
  NetReader reader(file);
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (auto ok = reader.line(trim(text.substr(0, end)), ++number); !ok) return tl::unexpected(ok.error());
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.done();
}

Result<ForwardingTables> parse_ib_routes(std::string_view text, std::string_view file) {
  ForwardingTables out;
  std::vector<std::uint8_t>* table = nullptr;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view s = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    const auto bad = [&](std::string_view what) {
      return fail(Code::bad_input, fmt::format("{}:{}: {}", file, number, what),
                  "give opensm-lfts.dump of OpenSM's dump_files_dir, or what `dump_lfts.sh` prints");
    };
    if (s.substr(0, 7) == "Unicast") {
      const std::size_t at = s.find("guid ");
      const auto guid = at == npos ? std::nullopt : parse_hex(s.substr(at + 5, s.find(' ', at + 5) - at - 5));
      if (!guid) return bad("a table of a switch without a guid");
      table = &out.switches[*guid];
      continue;
    }
    if (s.substr(0, 2) != "0x") continue;  // headings, sums
    if (table == nullptr) return bad("a route of no switch");
    const std::size_t space = s.find(' ');
    const auto lid = parse_hex(s.substr(0, space == npos ? 0 : space));
    const std::string_view rest = space == npos ? std::string_view() : trim(s.substr(space));
    const auto port = parse_uint(rest.substr(0, rest.find(' ')));
    if (!lid || *lid > kLidMax) return bad("this is no lid");
    if (!port || *port > 255) continue;  // "UNREACHABLE", as OpenSM says it
    if (table->size() <= *lid) table->resize(*lid + 1, ForwardingTables::kNoPort);
    (*table)[*lid] = static_cast<std::uint8_t>(*port);
    const std::size_t guid_at = rest.find("portguid 0x");
    if (guid_at == npos) continue;
    const std::string_view guid_text = rest.substr(guid_at + 9, rest.find_first_of(": ", guid_at + 9) - guid_at - 9);
    if (const auto guid = parse_hex(guid_text)) out.lids[*guid] = static_cast<std::uint16_t>(*lid);
  }
  if (out.switches.empty()) {
    return fail(Code::bad_input, fmt::format("{}: no forwarding table is in it", file),
                "give opensm-lfts.dump of OpenSM's dump_files_dir, or what `dump_lfts.sh` prints");
  }
  return out;
}

}  // namespace muster
