#include "ingest/ib_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/hash.h"
#include "base/text.h"
#include "ingest/ib_net.h"
#include "ingest/ib_words.h"

namespace muster {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
constexpr std::uint32_t kPortMax = 254;
constexpr std::uint32_t kSameIdMax = 256;  // blocks of one id: all are looked through for each of their cables

struct Block {
  std::string_view id;
  std::uint64_t guid = 0;
  std::string name;
  bool is_switch = false, nameless = false, base = false;
  bool repeated = false;            // says what a block before it said
  std::int32_t lid = -1;            // -1: not told
  std::uint32_t next = kNone;       // another block of the same id
  std::uint32_t same = 1;           // of the first of an id: how many there are
  std::uint32_t node = kNone;       // of a switch
  std::vector<std::uint32_t> told;  // by port: index of what is told of it
};

struct Told {
  std::uint32_t block = 0;
  std::uint16_t port = 0, far_port = 0;
  std::uint64_t own_guid = 0, far_guid = 0;
  std::string_view far_id, far_name;
  IbRate rate;
  bool lost = false;
  std::int32_t lid = -1;
  std::uint32_t node = kNone;
  std::uint32_t peer = kNone;  // what the other end tells
};

// "... lid 14 ...", from `from` on.
std::int32_t lid_in(std::string_view s) {
  const std::size_t at = s.find("lid ");
  if (at == std::string_view::npos) return -1;
  s.remove_prefix(at + 4);
  const auto lid = parse_uint(s.substr(0, s.find_first_of(" \t")));
  return lid && *lid <= 0xFFFF ? static_cast<std::int32_t>(*lid) : -1;
}

std::uint64_t guid_of(std::string_view id) {
  if (id.size() > 2 && id[1] == '-') {
    if (const auto guid = parse_hex(id.substr(2))) return *guid;
  }
  return xxh64(id) | 1ULL << 63U;  // a name of ibsim's: no device has such a guid
}

class SurveyReader {
 public:
  explicit SurveyReader(std::string_view file) : file_(file) {}

  Result<void> line(std::string_view s, int number) {
    number_ = number;
    if (s.empty()) return {};
    if (s.front() == '[') return port(s);
    if (s.front() == '#') {
      const std::size_t at = s.find("Initiated from node ");
      if (at != std::string_view::npos) {
        const std::string_view rest = s.substr(at + 20);
        out_.root_guid = parse_hex(rest.substr(0, rest.find(' '))).value_or(0);
      }
      return {};
    }
    const std::string_view word = s.substr(0, s.find_first_of(" \t"));
    if (word == "Switch" || word == "Ca" || word == "Hca" || word == "Rt") return head(s, word == "Switch");
    const std::size_t equals = s.find("guid=");
    if (equals != std::string_view::npos && s.substr(0, 3) != "sys") {
      const std::string_view rest = s.substr(equals + 5);
      guid_ = parse_hex(rest.substr(0, rest.find('('))).value_or(0);
    }
    return {};
  }

  Result<FabricSurvey> done(bool cut_short) {
    if (told_.empty()) {
      return fail(Code::bad_input, fmt::format("{}: no cable of an InfiniBand fabric is in it", file_),
                  "give what `ibnetdiscover` prints");
    }
    drop_repeats();
    for (std::uint32_t i = 0; i < told_.size(); ++i) told_[i].peer = answer(i);
    add_nodes();
    for (std::uint32_t i = 0; i < told_.size(); ++i) connect(i);
    fill_rates();
    mark_devices();
    find_duplicates();
    out_.cut_short = cut_short;
    return std::move(out_);
  }

 private:
  tl::unexpected<Error> bad(std::string_view what) const {
    return fail(Code::bad_input, fmt::format("{}:{}: {}", file_, number_, what), "give what `ibnetdiscover` prints");
  }

  // Switch	16 "S-0002c90300040100"		# "leaf-p00-00" enhanced port 0 lid 0 lmc 0
  Result<void> head(std::string_view s, bool is_switch) {
    const auto id = take_between(s, '"', '"');
    if (!id || id->empty()) return bad("this node has no id such as \"S-0002c90300040100\"");
    if (blocks_.size() >= kIbNetNodesMax) return bad(fmt::format("more than {} nodes", kIbNetNodesMax));
    Block b;
    b.id = *id;
    b.is_switch = is_switch;
    b.guid = guid_of(*id);
    if (guid_ != 0 && (b.guid >> 63U) != 0) b.guid = guid_;
    guid_ = 0;
    const auto name = take_between(s, '"', '"');
    b.nameless = name && trim(*name).empty();
    b.name = printable(name && !b.nameless ? *name : *id);
    b.base = name && s.find("base port 0") != std::string_view::npos;
    if (name && is_switch) b.lid = lid_in(s);
    const auto [at, fresh] = by_id_.try_emplace(b.id, static_cast<std::uint32_t>(blocks_.size()));
    if (!fresh) {
      if (++blocks_[at->second].same > kSameIdMax)
        return bad(fmt::format("the id {} is there more than {} times", printable(b.id), kSameIdMax));
      b.next = blocks_[at->second].next;
      blocks_[at->second].next = static_cast<std::uint32_t>(blocks_.size());
    }
    blocks_.push_back(std::move(b));
    return {};
  }

  // [1](2c90300000101)	"S-0002c90300004100"[1]		# lid 0 lmc 0 "leaf-000" lid 0 4xHDR
  Result<void> port(std::string_view s) {
    if (blocks_.empty()) return bad("a port of no node");
    Block& b = blocks_.back();
    Told t;
    t.block = static_cast<std::uint32_t>(blocks_.size() - 1);
    t.rate = rate_at_end(s);
    t.lost = without_details(s).ends_with("???");
    const auto number = take_between(s, '[', ']');
    const auto n = number ? parse_uint(*number) : std::nullopt;
    if (!n || *n == 0 || *n > kPortMax) return bad("a port's number is 1 to 254");
    t.port = static_cast<std::uint16_t>(*n);
    std::string_view own = s.substr(0, s.find('"'));
    const auto own_guid = take_between(own, '(', ')');
    t.own_guid = own_guid ? parse_hex(*own_guid).value_or(0) : 0;
    const auto far_id = take_between(s, '"', '"');
    if (!far_id || far_id->empty()) return bad("where this port is cabled to cannot be read");
    t.far_id = *far_id;
    t.far_port = 1;  // as ibsim takes it
    const std::size_t comment = std::min(s.find('#'), s.size());
    std::string_view end = s.substr(0, comment);
    if (const auto far_port = take_between(end, '[', ']')) {
      const auto f = parse_uint(*far_port);
      if (!f || *f == 0 || *f > kPortMax) return bad("where this port is cabled to cannot be read");
      t.far_port = static_cast<std::uint16_t>(*f);
    }
    const auto far_guid = take_between(end, '(', ')');
    t.far_guid = far_guid ? parse_hex(*far_guid).value_or(0) : 0;
    std::string_view rest = s.substr(comment);
    if (!b.is_switch) t.lid = lid_in(rest.substr(0, rest.find('"')));
    t.far_name = take_between(rest, '"', '"').value_or(std::string_view());
    if (b.told.size() <= t.port) b.told.resize(t.port + 1U, kNone);
    if (b.told[t.port] != kNone) return bad("this port is there twice");
    b.told[t.port] = static_cast<std::uint32_t>(told_.size());
    told_.push_back(t);
    return {};
  }

  // Two dumps in one file: what was said already is no second device.
  void drop_repeats() {
    for (Block& b : blocks_) {
      const Block& a = blocks_[by_id_.find(b.id)->second];
      if (&a == &b) continue;
      bool same = a.name == b.name && a.told.size() == b.told.size();
      for (std::size_t p = 0; same && p < a.told.size(); ++p) {
        same = (a.told[p] == kNone) == (b.told[p] == kNone) &&
               (a.told[p] == kNone ||
                (told_[a.told[p]].far_id == told_[b.told[p]].far_id && told_[a.told[p]].far_port == told_[b.told[p]].far_port));
      }
      b.repeated = same;
    }
  }

  // What the far end tells, of a block that agrees where there are several.
  std::uint32_t answer(std::uint32_t index) const {
    const Told& t = told_[index];
    std::uint32_t any = kNone;
    const auto found = by_id_.find(t.far_id);
    for (std::uint32_t b = found == by_id_.end() ? kNone : found->second; b != kNone; b = blocks_[b].next) {
      const std::uint32_t back = t.far_port < blocks_[b].told.size() ? blocks_[b].told[t.far_port] : kNone;
      if (back == kNone || blocks_[b].repeated) continue;
      if (told_[back].far_id == blocks_[t.block].id && told_[back].far_port == t.port) return back;
      any = back;
    }
    return any;
  }

  void add_nodes() {
    for (Block& b : blocks_) {
      if (b.repeated) continue;
      if (b.is_switch) b.node = out_.fabric.add({b.name, b.guid, true, {}});
      bool any = false;
      for (const std::uint32_t i : b.told) {
        if (i == kNone) continue;
        any = true;
        Told& t = told_[i];
        t.node = b.is_switch ? b.node : out_.fabric.add({b.name, t.own_guid != 0 ? t.own_guid : b.guid, false, {}, t.port});
      }
      if (!b.is_switch && !any) b.node = out_.fabric.add({b.name, 0, false, {}});
    }
  }

  // A device, or a port of a card, that only its neighbour tells of.
  std::uint32_t untold(const Told& t) {
    const auto known = by_id_.find(t.far_id);
    const bool is_switch = known != by_id_.end() ? blocks_[known->second].is_switch : t.far_id.front() == 'S';
    if (known != by_id_.end() && blocks_[known->second].node != kNone) {
      out_.oddities.push_back({SurveyMark::one_sided, blocks_[known->second].node, t.far_port});
      return blocks_[known->second].node;
    }
    const auto key = fmt::format("{}[{}]", t.far_id, is_switch ? 0 : t.far_port);
    const auto [at, fresh] = untold_.try_emplace(key, 0);
    if (!fresh) return at->second;
    const std::string_view called = known != by_id_.end() ? std::string_view(blocks_[known->second].name) : trim(t.far_name);
    const std::uint64_t guid = t.far_guid != 0 ? t.far_guid : guid_of(t.far_id);
    at->second = out_.fabric.add(
        {printable(called.empty() ? t.far_id : called), guid, is_switch, {}, is_switch ? std::uint16_t{1} : t.far_port});
    out_.oddities.push_back({SurveyMark::unheard, at->second, 0});
    return at->second;
  }

  void connect(std::uint32_t index) {
    const Told& t = told_[index];
    if (t.node == kNone) return;  // repeated
    const auto plug = [&](std::uint32_t node, std::uint16_t port) {
      return out_.fabric.nodes[node].is_switch ? port : std::uint16_t{1};
    };
    if (t.lost) out_.oddities.push_back({SurveyMark::no_rate, t.node, plug(t.node, t.port)});
    IbRate rate = t.rate;
    std::uint32_t far = kNone;
    if (t.peer != kNone) {
      const Told& back = told_[t.peer];
      if (back.peer != index) {
        out_.oddities.push_back({SurveyMark::contradicted, t.node, plug(t.node, t.port)});
        return;
      }
      if (t.peer < index) return;  // was plugged in from its other end
      far = back.node;
      if (back.rate.gb_s > 0 && (rate.gb_s <= 0 || back.rate.gb_s < rate.gb_s)) rate = back.rate;
    } else {
      far = untold(t);
    }
    const std::uint16_t a_port = plug(t.node, t.port), b_port = plug(far, t.far_port);
    if (far == t.node && a_port == b_port) return;
    if (out_.fabric.out(far, b_port) != Fabric::kNoLink || out_.fabric.out(t.node, a_port) != Fabric::kNoLink) {
      out_.oddities.push_back({SurveyMark::contradicted, t.node, a_port});
      return;
    }
    out_.fabric.connect(t.node, a_port, far, b_port, rate.gb_s, rate.lanes);
  }

  void fill_rates() {
    std::vector<double> rates;
    for (const FabricLink& l : out_.fabric.links) {
      if (l.gb_s > 0) rates.push_back(l.gb_s);
    }
    std::sort(rates.begin(), rates.end());
    double usual = 25;
    std::size_t most = 0;
    for (std::size_t i = 0, begin = 0; i < rates.size(); ++i) {
      if (rates[i] != rates[begin]) begin = i;
      if (i + 1 - begin > most) most = i + 1 - begin, usual = rates[i];
    }
    for (FabricLink& l : out_.fabric.links) {
      if (l.gb_s <= 0) l.gb_s = usual;  // its lanes stay 0: that says it was not told
    }
  }

  // What most devices told and a few did not.
  void mark_devices() {
    std::size_t switches = 0, base = 0, with_lid = 0, lids = 0;
    for (const Block& b : blocks_) {
      if (b.repeated || !b.is_switch) continue;
      ++switches;
      base += b.base ? 1 : 0;
      lids += b.lid >= 0 ? 1 : 0;
      with_lid += b.lid > 0 ? 1 : 0;
    }
    for (const Told& t : told_) lids += t.lid >= 0 ? 1 : 0, with_lid += t.lid > 0 ? 1 : 0;
    const bool addressed = with_lid > 0 && 2 * with_lid >= lids;
    for (const Block& b : blocks_) {
      if (b.repeated) continue;
      for (const std::uint32_t i : b.told) {
        if (i == kNone || b.is_switch) continue;
        if (b.nameless) out_.oddities.push_back({SurveyMark::nameless, told_[i].node, 0});
        if (addressed && told_[i].lid == 0) out_.oddities.push_back({SurveyMark::no_lid, told_[i].node, 0});
      }
      if (!b.is_switch) continue;
      if (b.nameless) out_.oddities.push_back({SurveyMark::nameless, b.node, 0});
      if (addressed && b.lid == 0) out_.oddities.push_back({SurveyMark::no_lid, b.node, 0});
      if (b.base && 10 * base < switches) out_.oddities.push_back({SurveyMark::base_port, b.node, 0});
    }
  }

  void find_duplicates() {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> by_guid;
    for (std::uint32_t i = 0; i < out_.fabric.nodes.size(); ++i) {
      const FabricNode& n = out_.fabric.nodes[i];
      if (n.guid != 0) by_guid.emplace_back(n.guid, i);
    }
    std::sort(by_guid.begin(), by_guid.end());
    for (std::size_t i = 1; i < by_guid.size(); ++i) {
      if (by_guid[i].first != by_guid[i - 1].first) continue;
      const std::uint32_t a = by_guid[i - 1].second, b = by_guid[i].second;
      // The ports of a card whose own guids are not told share the card's.
      const FabricNode &x = out_.fabric.nodes[a], &y = out_.fabric.nodes[b];
      if (x.is_switch != y.is_switch || (!x.is_switch && x.name == y.name && x.card_port != y.card_port)) continue;
      out_.duplicates.push_back({a, b});
    }
  }

  std::string_view file_;
  int number_ = 0;
  std::uint64_t guid_ = 0;  // told before the block it belongs to
  std::vector<Block> blocks_;
  std::vector<Told> told_;
  std::unordered_map<std::string_view, std::uint32_t> by_id_;
  std::unordered_map<std::string, std::uint32_t> untold_;
  FabricSurvey out_;
};

}  // namespace

Result<FabricSurvey> parse_ib_survey(std::string_view text, std::string_view file) {
  SurveyReader reader(file);
  int number = 0;
  bool cut_short = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const bool last = end == std::string_view::npos;
    const std::string_view s = trim(text.substr(0, end));
    auto ok = reader.line(s, ++number);
    if (!ok && !last) return tl::unexpected(ok.error());
    cut_short = !ok;
    text.remove_prefix(last ? text.size() : end + 1);
  }
  return reader.done(cut_short);
}

}  // namespace muster
