#include "design/fabric_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "design/fabric_difference.h"
#include "design/fabric_match.h"

namespace muster::design {
namespace {

using Kind = FabricFaultKind;
constexpr std::uint32_t kNone = Overlay::kNone;
constexpr std::size_t kCalled = 4;  // devices whose own names one fault has
constexpr std::size_t kNamed = 32;  // devices or ports that one fault lists at most, of those it cannot speak of one by one

// A switch that lost so many cables at once more likely lost its answers.
constexpr std::uint32_t kManyMissing = 4;
constexpr double kManyMissingShare = 0.3;
// So many dead switches more likely were not reached.
constexpr std::uint32_t kManyDead = 3;
constexpr double kManyDeadShare = 0.25;

enum class Fate : std::uint8_t {
  there,
  dead,       // its neighbours are there, and see nothing
  unplugged,  // one port of a card: its cable, or the card
  behind,     // it can only be reached through dead ones
  unreached,  // its neighbours did not answer fully
};

enum class State : std::uint8_t { not_told, up, down };  // of a port

class Comparer {
 public:
  Comparer(const Fabric& design, const FabricSurvey& found, std::span<const PortState> ports, Standard against)
      : design_(design),
        survey_(found),
        against_(against),
        match_(match_fabrics(design, found.fabric)),
        over_(design, found.fabric, match_),
        rails_(rails_of(design)),
        fate_(over_.devices(), Fate::there),
        marked_(over_.devices(), false),
        listed_(over_.devices(), false),
        state_(over_.ends(), State::not_told) {
    note_up(ports);
  }

  FabricComparison run() {
    count();
    if (match_.by_guid + match_.by_name + match_.by_place == 0) return nothing_known();
    mark();
    judge_absent();
    for (const Chain& c : chains_of(over_)) explain(c);
    say_exchanged();
    doubt_dead();
    doubt_missing();
    say_dead();
    say_missing();
    say_extra();
    say_degraded();
    say_duplicates();
    say_incomplete();
    std::stable_sort(out_.faults.begin(), out_.faults.end(), [](const FabricFault& a, const FabricFault& b) {
      return std::tie(a.kind, a.ends) < std::tie(b.kind, b.ends);
    });
    note_names();
    return std::move(out_);
  }

 private:
  FabricComparison nothing_known() {
    out_.complete = false;
    out_.faults.push_back({Kind::incomplete_discovery,
                           {},
                           "no device has a guid or a name of the design's: nothing can be compared",
                           0.95,
                           "give the design of this fabric, or names to its hosts or switches"});
    return std::move(out_);
  }

  void note_names() {
    if (against_ == Standard::design) out_.notes = name_notes(design_, survey_, match_);
    for (std::string& note : repeated_names(survey_)) out_.notes.push_back(std::move(note));
  }

  std::string_view standard() const { return against_ == Standard::design ? "the design" : "the rest of the fabric"; }

  void count() {
    out_.devices_wanted = static_cast<std::uint32_t>(design_.nodes.size());
    out_.devices_found = static_cast<std::uint32_t>(survey_.fabric.nodes.size());
    out_.known_by_name = match_.by_name;
    out_.known_by_place = match_.by_place;
    for (std::uint32_t e = 0; e < over_.ends(); ++e) {
      const std::uint32_t want = over_.want(e), have = over_.have(e);
      out_.cables_wanted += want != kNone && e < want ? 1 : 0;
      out_.cables_found += have != kNone && e < have ? 1 : 0;
      out_.cables_as_wanted += want != kNone && want == have && e < want ? 1 : 0;
    }
  }

  void note_up(std::span<const PortState> ports) {
    if (ports.empty()) return;
    std::unordered_map<std::uint64_t, std::uint32_t> by_guid;
    for (std::uint32_t f = 0; f < survey_.fabric.nodes.size(); ++f) by_guid.try_emplace(survey_.fabric.nodes[f].guid, f);
    for (const PortState& p : ports) {
      const auto at = p.here.port < 1 ? by_guid.end() : by_guid.find(p.here.guid);
      if (at == by_guid.end()) continue;
      const std::uint32_t d = over_.of_found(at->second);
      const std::uint32_t e = over_.begin(d) + (over_.is_switch(d) ? static_cast<std::uint32_t>(p.here.port) : 1);
      listed_[d] = true;
      if (e < over_.begin(d + 1)) state_[e] = p.physical == "LinkUp" ? State::up : State::down;
    }
  }

  // That it has no neighbour, as far as told, does not say that nothing is plugged in.
  bool unheard(std::uint32_t end) const {
    return state_[end] == State::up || (state_[end] == State::not_told && listed_[over_.device(end)]);
  }

  void mark() {
    for (const SurveyOddity& odd : survey_.oddities) {
      const std::uint32_t d = over_.of_found(odd.node);
      if (odd.mark == SurveyMark::base_port) {
        base_.push_back(d);
        continue;
      }
      marked_[d] = true;
      ++marks_[static_cast<std::size_t>(odd.mark)];
    }
    // A switch that seems simpler than all others lost an answer if it also lost cables; otherwise it may be an old one.
    for (const std::uint32_t d : base_) {
      bool lost = false;
      for (std::uint32_t e = over_.begin(d); e < over_.begin(d + 1); ++e) {
        lost |= over_.want(e) != kNone && over_.have(e) == kNone;
      }
      if (!lost) continue;
      marked_[d] = true;
      ++marks_[static_cast<std::size_t>(SurveyMark::base_port)];
    }
  }

  // How many of an absent device's neighbours are there, and how many of those answered without marks.
  struct Neighbours {
    std::uint32_t there = 0, sure = 0, up = 0;
  };
  Neighbours neighbours(std::uint32_t d) const {
    Neighbours n;
    for (std::uint32_t e = over_.begin(d); e < over_.begin(d + 1); ++e) {
      if (over_.want(e) == kNone) continue;
      const std::uint32_t far = over_.device(over_.want(e));
      if (!over_.there(far)) continue;
      ++n.there;
      n.sure += marked_[far] ? 0 : 1;
      n.up += over_.have(over_.want(e)) == kNone && unheard(over_.want(e)) ? 1 : 0;
    }
    return n;
  }

  void judge_absent() {
    std::vector<std::pair<std::string_view, std::uint32_t>> cards;
    for (std::uint32_t d = 0; d < design_.nodes.size(); ++d) {
      if (!over_.is_switch(d)) cards.emplace_back(host_of(design_.nodes[d].name), d);
      if (over_.there(d)) continue;
      const Neighbours n = neighbours(d);
      silent_ += n.up > 0 ? 1 : 0;
      fate_[d] = n.up > 0      ? Fate::unreached
                 : n.sure > 0  ? over_.is_switch(d) ? Fate::dead : Fate::unplugged
                 : n.there > 0 ? Fate::unreached
                               : Fate::behind;
    }
    std::sort(cards.begin(), cards.end());
    for (std::size_t i = 0; i < cards.size();) {
      std::size_t end = i;
      std::uint32_t absent = 0, unplugged = 0;
      for (; end < cards.size() && cards[end].first == cards[i].first; ++end) {
        absent += fate_[cards[end].second] == Fate::there ? 0 : 1;
        unplugged += fate_[cards[end].second] == Fate::unplugged ? 1 : 0;
      }
      if (absent == end - i && unplugged >= 2) {
        hosts_.emplace_back(std::string(cards[i].first), std::vector<std::uint32_t>());
        for (std::size_t k = i; k < end; ++k) {
          if (fate_[cards[k].second] == Fate::unplugged) fate_[cards[k].second] = Fate::dead;
          hosts_.back().second.push_back(cards[k].second);
        }
      } else if (absent == end - i) {
        for (std::size_t k = i; k < end; ++k) alone_.push_back(cards[k].second);
      }
      i = end;
    }
    std::sort(alone_.begin(), alone_.end());
    judge_behind();
  }

  // What is behind dead devices is explained by them; what is behind unreached ones is as unknown as they are.
  void judge_behind() {
    std::vector<std::uint32_t> queue;
    behind_of_.assign(over_.devices(), kNone);
    for (std::uint32_t d = 0; d < over_.devices(); ++d) {
      if (fate_[d] == Fate::dead && over_.is_switch(d)) behind_of_[d] = d, queue.push_back(d);
    }
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (std::uint32_t e = over_.begin(queue[i]); e < over_.begin(queue[i] + 1); ++e) {
        if (over_.want(e) == kNone) continue;
        const std::uint32_t far = over_.device(over_.want(e));
        if (fate_[far] != Fate::behind || behind_of_[far] != kNone) continue;
        behind_of_[far] = behind_of_[queue[i]];
        queue.push_back(far);
      }
    }
    for (std::uint32_t d = 0; d < over_.devices(); ++d) {
      if (fate_[d] == Fate::behind && behind_of_[d] == kNone) fate_[d] = Fate::unreached;
    }
  }

  void add(Kind kind, const std::vector<std::uint32_t>& ends, std::string detail, double confidence, std::string fix) {
    FabricFault f{kind, {}, std::move(detail), confidence, std::move(fix)};
    std::vector<std::string> called;
    for (const std::uint32_t e : ends) {
      f.ends.push_back(over_.say(e));
      const std::uint32_t d = over_.device(e);
      if (over_.called(d).empty() || called.size() >= kCalled) continue;
      std::string said = fmt::format("{} is called {}", over_.node(d).name, over_.called(d));
      if (std::find(called.begin(), called.end(), said) == called.end()) called.push_back(std::move(said));
    }
    if (!called.empty()) f.detail += fmt::format(" ({})", join(called, ", "));
    out_.faults.push_back(std::move(f));
  }

  // Whether a network card's cable was found on a leaf of another rail than the design's.
  bool crosses_rails(std::uint32_t end) const {
    if (rails_.empty() || over_.is_switch(over_.device(end)) || over_.want(end) == kNone || over_.have(end) == kNone)
      return false;
    const std::uint32_t should = over_.device(over_.want(end)), is = over_.device(over_.have(end));
    return over_.wanted(should) && over_.wanted(is) && rails_[should] >= 0 && rails_[is] >= 0 && rails_[should] != rails_[is];
  }

  void explain(const Chain& c) {
    if (c.ends.size() == 2 && !c.cycle) {
      if (c.wanted_first) {
        missing_.push_back({c.ends[0], c.ends[1]});
      } else {
        extra_.push_back({c.ends[0], c.ends[1]});
      }
      return;
    }
    if (c.ends.size() == 3) return moved(c.ends[1], c.ends[c.wanted_first ? 0 : 2], c.ends[c.wanted_first ? 2 : 0]);
    if (c.ends.size() == 4 && !c.cycle && !c.wanted_first) {
      moved(c.ends[1], c.ends[2], c.ends[0]);
      extra_.push_back({c.ends[2], c.ends[3]});
      return;
    }
    if (c.cycle) {
      exchanged_.push_back(c);
      return;
    }
    const bool open = c.wanted_first && c.ends.size() % 2 == 0;
    if (open && c.ends.size() == 4 && twin(c)) return;
    exchanged(c);
    if (!open) return;
    // One cable fewer than the design has. Which of them it was cannot be told: the first; beside a device that is gone, its own.
    const bool last = !over_.there(over_.device(c.ends.back()));
    const std::uint32_t end = last ? c.ends.back() : c.ends.front();
    if (over_.there(over_.device(end))) {
      fewer_.push_back(c);
    } else {
      missing_.push_back({end, over_.want(end)});
    }
  }

  // After an exchange, the cables of the design at both ends of a chain have one cable between them.
  void one_fewer(const Chain& c) {
    const std::uint32_t a = c.ends.front(), b = over_.want(a), d = c.ends.back();
    if (unheard(a) || unheard(d) || doubtful(over_.device(a)) || doubtful(over_.device(d))) {
      silent_ += unheard(a) || unheard(d) ? 1 : 0;
      untold_.push_back({a, b});
      return;
    }
    add(Kind::missing_cable, {a, b},
        fmt::format("{} and {} are empty, and where they should lead to is cabled otherwise: one cable is missing", over_.say(a),
                    over_.say(d)),
        0.9,
        fmt::format("put the other cables right, then a new one between {} and {}, or between {} and {}", over_.say(a),
                    over_.say(b), over_.say(d), over_.say(over_.want(d))));
  }

  // A card at the place of another that is not seen, while its own place is empty: two cards with one guid look like that,
  // since a discovery takes them for one.
  bool twin(const Chain& c) {
    std::array<std::uint32_t, 4> e{};
    std::copy(c.ends.begin(), c.ends.end(), e.begin());
    if (over_.is_switch(over_.device(e[1]))) std::reverse(e.begin(), e.end());
    const std::uint32_t card = over_.device(e[1]), gone = over_.device(e[3]);
    if (over_.is_switch(card) || over_.is_switch(gone) || over_.there(gone) || !over_.there(over_.device(e[0]))) return false;
    if (match_.by[card] == FabricMatch::By::place) return false;
    const std::string seen = fmt::format("{} is seen at {}, where {} belongs", over_.say(e[1]), over_.say(e[2]), over_.say(e[3]));
    if (unheard(e[0])) {
      add(Kind::duplicate_guid, {e[1], e[3], e[0], e[2]},
          fmt::format("{}, and {} is up with nobody behind it: the two probably have one guid", seen, over_.say(e[0])), 0.8,
          "compare the guids of both cards (ibstat on both hosts); give one of them another (flint -d DEVICE sg)");
      return true;
    }
    add(crosses_rails(e[1]) ? Kind::wrong_rail : Kind::swapped_cables, {e[0], e[1], e[2], e[3]},
        fmt::format("{}; that one is not seen, and {} is empty. Two devices may share a guid: then only one of them is shown",
                    seen, over_.say(e[0])),
        0.5,
        fmt::format("compare the guids of both cards (ibstat); if they differ, cable {} to {} and look at {}", over_.say(e[1]),
                    over_.say(e[0]), over_.say_device(gone)));
    return true;
  }

  void say_exchanged() {
    std::vector<bool> said(exchanged_.size(), false);
    for (const WholeExchange& w : whole_exchanges(over_, exchanged_, match_)) {
      FabricFault f{Kind::swapped_cables, {w.names[0], w.names[1]}, {}, 0.9, {}};
      for (const std::size_t i : w.chains) {
        said[i] = true;
        for (const std::uint32_t e : exchanged_[i].ends) f.ends.push_back(over_.say(e));
      }
      f.detail = fmt::format("{} and {} stand in each other's place: the {} cables of each lead to where the other's should{}",
                             w.names[0], w.names[1], w.chains.size(),
                             w.known_by_guid ? "" : "; as far as their names tell, which may be the ones that are exchanged");
      f.fix = fmt::format("exchange the names of {} and {}, or the devices: no cable has to be moved", w.names[0], w.names[1]);
      out_.faults.push_back(std::move(f));
    }
    for (std::size_t i = 0; i < exchanged_.size(); ++i) {
      if (!said[i]) exchanged(exchanged_[i]);
    }
  }

  // A cable's plug that is at `is` and not at `should`; its other one is at `at`, as it should be.
  void moved(std::uint32_t at, std::uint32_t should, std::uint32_t is) {
    const bool rail = crosses_rails(at);
    const bool same = over_.device(should) == over_.device(is);
    add(rail ? Kind::wrong_rail : Kind::extra_cable, {at, is, should},
        fmt::format("the cable from {} ends at {}, and should end at {}{}", over_.say(at), over_.say(is), over_.say(should),
                    rail   ? fmt::format(": on rail {} instead of {}", rails_[over_.device(is)], rails_[over_.device(should)])
                    : same ? ", on the same device"
                           : ""),
        0.99, fmt::format("move the plug at {} to {}", over_.say(is), over_.say(should)));
  }

  void exchanged(const Chain& c) {
    std::vector<std::uint32_t> ends;  // cable by cable of the design
    std::unordered_set<std::uint32_t> told;
    std::vector<std::string> seen;
    bool rail = false, parallel = true;
    for (const std::uint32_t e : c.ends) {
      rail |= crosses_rails(e);
      const std::uint32_t want = over_.want(e), have = over_.have(e);
      if (want != kNone && told.insert(e).second) {
        told.insert(want);
        ends.insert(ends.end(), {e, want});
      }
      if (have != kNone && want != kNone) {
        parallel &= over_.device(want) == over_.device(have);
        if (seen.size() < 4)
          seen.push_back(fmt::format("{} leads to {}, not {}", over_.say(e), over_.say(have), over_.say(want)));
      }
    }
    for (const std::uint32_t e : c.ends) {
      if (over_.want(e) == kNone) ends.push_back(e);
    }
    std::string detail = join(seen, "; ");
    if (parallel) detail += "; all between the same two devices: traffic does not suffer, whoever follows the labels does";
    add(rail ? Kind::wrong_rail : Kind::swapped_cables, ends, std::move(detail), 0.99, how_to_exchange(c));
  }

  std::string how_to_exchange(const Chain& c) const {
    if (!c.cycle || c.ends.size() != 4) {
      std::vector<std::string> moves;
      std::unordered_set<std::uint32_t> told;  // cables of the design, by the first of their ends
      for (const std::uint32_t e : c.ends) {
        const std::uint32_t want = over_.want(e);
        if (want == kNone || over_.have(e) == kNone || !told.insert(std::min(e, want)).second || moves.size() >= kNamed) continue;
        moves.push_back(fmt::format("{} to {}", over_.say(e), over_.say(want)));
      }
      const std::size_t left = told.size() - moves.size();
      return "cable " + join(moves, ", ") + (left > 0 ? fmt::format(" and {} more alike", left) : "");
    }
    // Of a pair either two plugs may be exchanged: those on one device are the shorter walk.
    const std::uint32_t a = c.ends[0], b = over_.want(a), d = over_.have(a), other = over_.want(d);
    const bool near = over_.device(a) == over_.device(other) && over_.device(b) != over_.device(d);
    return fmt::format("exchange the plugs at {} and {}", over_.say(near ? a : b), over_.say(near ? other : d));
  }

  bool doubtful(std::uint32_t device) const { return marked_[device] || fate_[device] == Fate::unreached; }

  // Most of the switches are gone: what asked did not get to them.
  void doubt_dead() {
    std::uint32_t switches = 0, dead = 0, absent = 0;
    for (std::uint32_t d = 0; d < design_.nodes.size(); ++d) {
      switches += over_.is_switch(d) ? 1 : 0;
      dead += over_.is_switch(d) && fate_[d] == Fate::dead ? 1 : 0;
      absent += fate_[d] == Fate::there ? 0 : 1;
    }
    const bool many = dead >= kManyDead && dead >= kManyDeadShare * switches;
    if (!many && (dead < kManyDead || 2 * absent <= design_.nodes.size())) return;
    large_part_ = true;
    for (std::uint32_t d = 0; d < design_.nodes.size(); ++d) {
      if (fate_[d] != Fate::there) fate_[d] = Fate::unreached;
    }
    hosts_.clear();
  }

  void doubt_missing() {
    std::vector<std::uint32_t> lost(over_.devices(), 0);
    for (const Cable& m : missing_) {
      for (const std::uint32_t e : {m.a, m.b}) {
        const std::uint32_t far = over_.device(e == m.a ? m.b : m.a);
        if (fate_[far] == Fate::there || fate_[far] == Fate::unplugged) ++lost[over_.device(e)];
      }
    }
    for (const Chain& c : fewer_) ++lost[over_.device(c.ends.front())], ++lost[over_.device(c.ends.back())];
    for (std::uint32_t d = 0; d < over_.devices(); ++d) {
      if (lost[d] < kManyMissing || !over_.is_switch(d) || marked_[d] || fate_[d] != Fate::there) continue;
      std::uint32_t cables = 0;
      for (std::uint32_t e = over_.begin(d); e < over_.begin(d + 1); ++e) cables += over_.want(e) == kNone ? 0 : 1;
      if (lost[d] < kManyMissingShare * cables) continue;
      marked_[d] = true;
      suspects_.push_back(d);
    }
  }

  void say_dead() {
    std::vector<std::uint32_t> cards(over_.devices(), 0), switches(over_.devices(), 0);
    for (std::uint32_t d = 0; d < over_.devices(); ++d) {
      if (fate_[d] == Fate::behind) ++(over_.is_switch(d) ? switches : cards)[behind_of_[d]];
    }
    for (std::uint32_t d = 0; d < over_.devices(); ++d) {
      if (fate_[d] != Fate::dead || !over_.is_switch(d)) continue;
      std::uint32_t cables = 0;
      for (std::uint32_t e = over_.begin(d); e < over_.begin(d + 1); ++e) cables += over_.want(e) == kNone ? 0 : 1;
      std::string detail = fmt::format("it does not answer, and none of its {} cables is seen from its neighbours", cables);
      if (cards[d] + switches[d] > 0)
        detail += fmt::format("; {} network cards and {} switches are only reached through it", cards[d], switches[d]);
      out_.faults.push_back({Kind::dead_switch,
                             {over_.say_device(d)},
                             std::move(detail),
                             neighbours(d).sure > 1 ? 0.9 : 0.5,
                             "look at its power and its management port; if it runs, its management agent hangs: restart it"});
    }
    for (const auto& [host, cards_of] : hosts_) {
      FabricFault f{Kind::dead_host, {host}, {}, 0.9, "look whether the node is on, and whether its driver found the cards"};
      for (const std::uint32_t d : cards_of) {
        for (std::uint32_t e = over_.begin(d); e < over_.begin(d + 1); ++e) {
          if (over_.want(e) != kNone) f.ends.push_back(over_.say(over_.want(e)));
        }
      }
      f.detail = fmt::format("none of its {} network cards is seen from the leaves", cards_of.size());
      out_.faults.push_back(std::move(f));
    }
  }

  void say_missing() {
    for (const Cable& m : missing_) {
      const std::uint32_t a = over_.device(m.a), b = over_.device(m.b);
      const auto gone = [&](std::uint32_t d) { return fate_[d] == Fate::dead || fate_[d] == Fate::behind; };
      if (gone(a) || gone(b)) continue;
      const bool up = unheard(m.a) || unheard(m.b);
      silent_ += up ? 1 : 0;
      if (up || doubtful(a) || doubtful(b)) {
        untold_.push_back(m);
        continue;
      }
      const std::uint32_t card = fate_[a] == Fate::unplugged ? a : fate_[b] == Fate::unplugged ? b : kNone;
      const bool alone = card != kNone && std::binary_search(alone_.begin(), alone_.end(), card);
      // The switch's port first: that is where to look.
      const bool turn = !over_.is_switch(a) && over_.is_switch(b);
      add(Kind::missing_cable, {turn ? m.b : m.a, turn ? m.a : m.b},
          alone           ? "the card is not seen: its cable is gone, or the node is off"
          : card != kNone ? "the card is not seen, others of the same node are: its cable is gone, or the card is dead"
                          : "both ports are empty or down",
          alone           ? 0.6
          : card != kNone ? 0.9
                          : 0.95,
          fmt::format("look at both plugs, replace the cable between {} and {}", over_.say(m.a), over_.say(m.b)));
    }
    for (const Chain& c : fewer_) one_fewer(c);
  }

  std::string what_to_do_with_extra() const {
    return against_ == Standard::design ? "take it out, or put it into the design" : "take it out, or give the design it is of";
  }

  // All cables of one device that the design does not have are one fault.
  void say_extra() {
    std::vector<std::pair<std::uint32_t, std::size_t>> of_stranger;
    for (std::size_t i = 0; i < extra_.size(); ++i) {
      const std::uint32_t a = over_.device(extra_[i].a), b = over_.device(extra_[i].b);
      if (over_.wanted(a) && over_.wanted(b)) {
        add(Kind::extra_cable, {extra_[i].a, extra_[i].b},
            against_ == Standard::design ? "the design leaves both ports empty" : "the rest of the fabric has no such cable",
            0.99, what_to_do_with_extra());
        continue;
      }
      const bool b_is_it = over_.wanted(a) || (over_.is_switch(b) && !over_.is_switch(a) && !over_.wanted(b));
      of_stranger.emplace_back(b_is_it ? b : a, i);
    }
    std::sort(of_stranger.begin(), of_stranger.end());
    for (std::size_t i = 0; i < of_stranger.size();) {
      const std::uint32_t d = of_stranger[i].first;
      std::vector<std::uint32_t> ends;
      for (; i < of_stranger.size() && of_stranger[i].first == d; ++i) {
        const Cable& x = extra_[of_stranger[i].second];
        ends.insert(ends.end(), {x.a, x.b});
      }
      add(Kind::extra_cable, ends,
          fmt::format("{} is not in the design: {} cable(s) lead to it", over_.say_device(d), ends.size() / 2), 0.95,
          what_to_do_with_extra());
    }
  }

  struct Slow {
    std::uint32_t end;
    const FabricLink* want;
    const FabricLink* have;
  };

  // A cable in another's place should run at what both its ports should.
  const FabricLink* rate_wanted(std::uint32_t e) const {
    const FabricLink *here = over_.want_link(e), *there = over_.want_link(over_.have(e));
    if (here == nullptr || there == nullptr) return nullptr;
    return here->gb_s <= there->gb_s ? here : there;
  }

  void say_degraded() {
    std::vector<Slow> slow;
    std::uint32_t compared = 0;
    for (std::uint32_t e = 0; e < over_.ends(); ++e) {
      if (over_.have(e) == kNone || over_.have(e) < e) continue;
      const FabricLink *w = rate_wanted(e), *h = over_.have_link(e);
      if (w == nullptr) continue;
      if ((w->lanes == 0) != (h->lanes == 0)) continue;  // of one of them it is not told
      ++compared;
      if (h->gb_s < w->gb_s * 0.999) slow.push_back({e, w, h});
    }
    // What most cables share is one fault; a cable that is slower still is another.
    std::map<double, std::size_t> alike;
    for (const Slow& s : slow) ++alike[s.have->gb_s];
    const auto shared = std::find_if(alike.begin(), alike.end(), [&](const auto& rate) {
      return rate.second > 8 && 2 * rate.second > compared;
    });
    bool said = false;
    for (const auto& [end, w, h] : slow) {
      if (shared != alike.end() && h->gb_s == shared->first) {
        if (std::exchange(said, true)) continue;
        add(Kind::degraded_link, {end, over_.have(end)},
            fmt::format("{} of {} cables run at {}, {} has {}: the first is named", shared->second, compared,
                        say_rate(h->gb_s, h->lanes), standard(), say_rate(w->gb_s, w->lanes)),
            0.9, "compare the speed that the switches are set to with the design's");
        continue;
      }
      add(Kind::degraded_link, {end, over_.have(end)},
          fmt::format("it runs at {}, {} has {}", say_rate(h->gb_s, h->lanes), standard(), say_rate(w->gb_s, w->lanes)), 0.99,
          h->lanes < w->lanes ? "clean and plug in the cable again; if lanes stay away, replace it"
                              : "look at the speeds that both ports are set to, then replace the cable");
    }
  }

  void say_duplicates() {
    const EndNames names(survey_.fabric);
    for (const auto& [a, b] : survey_.duplicates) {
      FabricFault f{Kind::duplicate_guid, {}, {}, 0.95, "give one of them another guid (flint -d DEVICE sg), or replace it"};
      for (const std::uint32_t n : {a, b}) {
        const FabricNode& node = survey_.fabric.nodes[n];
        std::string end = node.name;
        for (std::size_t p = 1; !node.is_switch && p < node.out.size(); ++p) {
          if (node.out[p] != Fabric::kNoLink) end = fmt::format("{}[{}]", node.name, node.card_port);
        }
        f.ends.push_back(std::move(end));
      }
      f.detail = fmt::format("two devices have the guid 0x{:016x}", survey_.fabric.nodes[a].guid);
      out_.faults.push_back(std::move(f));
    }
  }

  void say_incomplete() {
    FabricFault f{Kind::incomplete_discovery, {}, {}, 0.95, {}};
    std::uint32_t switches = 0, cards = 0;
    for (std::uint32_t d = 0; d < over_.devices(); ++d) {
      if (marked_[d] && f.ends.size() < kNamed) f.ends.push_back(over_.say_device(d));
      if (fate_[d] == Fate::unreached) ++(over_.is_switch(d) ? switches : cards);
    }
    std::vector<std::string> why;
    constexpr std::array<std::string_view, 7> kWhy = {"devices did not say their names",
                                                      "devices have no address",
                                                      "ports did not say their states",
                                                      "devices are only told of by a neighbour",
                                                      "cables are only told of by one end",
                                                      "ends of cables contradict each other",
                                                      "switches that lost cables are simpler than all others"};
    for (std::size_t i = 0; i < kWhy.size(); ++i) {
      if (marks_[i] > 0) why.push_back(fmt::format("{} {}", marks_[i], kWhy[i]));
    }
    if (silent_ > 0) why.push_back(fmt::format("{} cables are not told of though their ports are up or did not say", silent_));
    if (survey_.cut_short) why.emplace_back("the text ends within a line");
    if (large_part_) why.emplace_back("a large part is not there at all");
    if (!suspects_.empty()) why.push_back(fmt::format("{} switches lost many cables at once", suspects_.size()));
    if (why.empty() && switches + cards == 0) return;
    if (why.size() == (large_part_ ? 1U : 0U) + (suspects_.empty() ? 0U : 1U)) f.confidence = 0.6;
    f.detail = join(why, ", ");
    if (switches + cards > 0) f.detail += fmt::format("; {} switches and {} network cards were not reached", switches, cards);
    if (!untold_.empty()) {
      std::vector<std::string> some;
      for (std::size_t i = 0; i < std::min(untold_.size(), kNamed / 4); ++i)
        some.push_back(fmt::format("{} - {}", over_.say(untold_[i].a), over_.say(untold_[i].b)));
      f.detail += fmt::format("; of {} cables nothing is known: {}{}", untold_.size(), join(some, ", "),
                              untold_.size() > some.size() ? ", ..." : "");
    }
    for (std::uint32_t d = 0; d < over_.devices() && f.ends.size() < kNamed; ++d) {
      if (fate_[d] == Fate::unreached && over_.is_switch(d)) f.ends.push_back(over_.say_device(d));
    }
    f.fix =
        "discover again, with longer timeouts (ibnetdiscover --timeout 2000) and from another node; then look at the devices "
        "named";
    out_.complete = false;
    out_.faults.push_back(std::move(f));
  }

  struct Cable {
    std::uint32_t a, b;  // ends
  };

  const Fabric& design_;
  const FabricSurvey& survey_;
  Standard against_;
  FabricMatch match_;
  Overlay over_;
  std::vector<int> rails_;
  std::vector<Fate> fate_;    // by device
  std::vector<bool> marked_;  // likewise: its answers are not all there
  std::vector<bool> listed_;  // likewise: states of its ports were told
  std::vector<State> state_;  // by end
  std::vector<std::uint32_t> behind_of_;
  std::vector<std::uint32_t> base_, suspects_, alone_;
  std::array<std::uint32_t, 7> marks_{};
  std::vector<std::pair<std::string, std::vector<std::uint32_t>>> hosts_;  // dead ones, and their cards
  std::vector<Cable> missing_, extra_, untold_;
  std::vector<Chain> exchanged_;  // whole sets of cables
  std::vector<Chain> fewer_;      // sets with one cable fewer than the design has
  std::uint32_t silent_ = 0;
  bool large_part_ = false;
  FabricComparison out_;
};

}  // namespace

FabricComparison compare_fabrics(const Fabric& design, const FabricSurvey& found, std::span<const PortState> ports,
                                 Standard against) {
  const auto has_any = [](const Fabric& f) { return std::any_of(f.nodes.begin(), f.nodes.end(), is_aggregation_node); };
  if (has_any(design) || !has_any(found.fabric)) return Comparer(design, found, ports, against).run();
  std::uint32_t left_out = 0;
  const FabricSurvey kept = without_aggregation(found, left_out);
  FabricComparison out = Comparer(design, kept, ports, against).run();
  out.notes.push_back(fmt::format("{} ports of switches for aggregation in the network (SHARP) are left out", left_out));
  return out;
}

}  // namespace muster::design
