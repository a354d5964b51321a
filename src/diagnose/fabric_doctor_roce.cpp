// Lossless Ethernet: marks first (ECN), then slower senders (DCQCN), pauses (PFC) as the last resort; the same priority for all
// of them, room for what still arrives after a pause, and counters that say how it went.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "diagnose/fabric_doctor.h"

namespace muster::diagnose {
namespace {

std::string list_of(const std::vector<int>& priorities) {
  std::string out;
  for (const int p : priorities) out += fmt::format("{}{}", out.empty() ? "" : ", ", p);
  return out.empty() ? "none" : out;
}

std::string place(const RoceSettings& s) { return s.line > 0 ? fmt::format("{}:{}", s.file, s.line) : s.file; }

const NcclSetting* setting(const NcclLog& log, std::string_view name) {
  const auto it = std::find_if(log.settings.begin(), log.settings.end(), [&](const NcclSetting& s) { return s.name == name; });
  return it == log.settings.end() ? nullptr : &*it;
}

bool among(const std::vector<int>& list, int p) { return std::find(list.begin(), list.end(), p) != list.end(); }

// Priorities that cards pause; empty: no card tells. A switch that pauses others as well only keeps room for nobody.
std::vector<int> of_cards(std::span<const RoceSettings> all) {
  std::vector<int> out;
  for (const RoceSettings& s : all) {
    if (s.is_switch || !s.pfc) continue;
    std::copy_if(s.pfc->begin(), s.pfc->end(), std::back_inserter(out), [&](int p) { return !among(out, p); });
  }
  std::sort(out.begin(), out.end());
  return out;
}

// What a card marks may stand in another file than what it pauses.
std::vector<int> paused(const RoceSettings& s, const std::vector<int>& cards) {
  return s.pfc ? *s.pfc : s.is_switch ? std::vector<int>() : cards;
}

// Of those that matter, the ones that are paused and never marked.
std::vector<int> unmarked(const RoceSettings& s, const std::vector<int>& cards) {
  std::vector<int> out;
  if (!s.ecn) return out;
  for (const int p : paused(s, cards)) {
    const bool used = !s.is_switch || cards.empty() || among(cards, p);
    if (used && !among(*s.ecn, p)) out.push_back(p);
  }
  return out;
}

// The thresholds as the fixes below say them.
struct Mended {
  double kmin_kb = 0, kmax_kb = 0, pmax = 0;
};
constexpr double kPmax = 0.05;

bool late_marks(const RoceSettings& s) { return s.kmax_kb && s.xoff_kb && *s.kmax_kb >= *s.xoff_kb; }

Mended mended(const RoceSettings& s) {
  Mended out{*s.kmin_kb, *s.kmax_kb, s.pmax.value_or(predict::Dcqcn{}.pmax)};
  if (late_marks(s)) out.kmax_kb = *s.xoff_kb / 2;
  if (late_marks(s) || out.kmin_kb > out.kmax_kb) out.kmin_kb = out.kmax_kb / 3;
  if (out.pmax <= 0) out.pmax = kPmax;
  return out;
}

void order(const RoceSettings& s, std::vector<Finding>& out) {
  const auto late = [&](const std::string& what, const std::string& remedy) {
    Finding f = doctor_finding("roce_threshold_order", "marks, full marking and pauses do not come in that order: " + what,
                               Confidence::high);
    f.evidence.push_back(fmt::format("{}: {}: Kmin {}, Kmax {}, pause from {}", place(s), s.what,
                                     s.kmin_kb ? fmt::format("{:.0f} KB", *s.kmin_kb) : "not told",
                                     s.kmax_kb ? fmt::format("{:.0f} KB", *s.kmax_kb) : "not told",
                                     s.xoff_kb ? fmt::format("{:.0f} KB", *s.xoff_kb) : "not told"));
    f.expected = "Kmin < Kmax < pause threshold";
    f.remedy = remedy;
    f.verify = "under incast np_ecn_marked_roce_packets grows and rx_prioN_pause does not";
    out.push_back(std::move(f));
  };
  if (late_marks(s)) {
    late(s.kmin_kb && *s.kmin_kb > *s.kmax_kb ? "Kmin is above Kmax, and pauses come before all packets are marked"
                                              : "pauses come before all packets are marked",
         fmt::format("Kmax of at most {:.0f} KB, Kmin a third of it", *s.xoff_kb / 2));
  } else if (s.kmin_kb && s.kmax_kb && *s.kmin_kb > *s.kmax_kb) {
    late("Kmin is above Kmax", fmt::format("a Kmin below Kmax: a third of it, {:.0f} KB", *s.kmax_kb / 3));
  }
  if (s.pmax && *s.pmax <= 0) late("no packet below Kmax is marked (Pmax 0)", fmt::format("Pmax of {:.0f} to 20 %", 100 * kPmax));
}

void headroom(const RoceSettings& s, std::vector<Finding>& out) {
  if (!s.headroom_kb || !s.line_gb_s || !s.cable_m) return;
  const double mtu = s.mtu_b.value_or(9216), needed = headroom_needed_kb(*s.line_gb_s, *s.cable_m, mtu);
  if (*s.headroom_kb >= needed) return;
  Finding f = doctor_finding("roce_headroom", "what arrives after a pause does not fit: packets of the lossless class are lost",
                             Confidence::medium);
  f.evidence.push_back(
      fmt::format("{}: {:.1f} KB of headroom; {:.0f} Gb/s over {:.0f} m with packets of {:.0f} B needs {:.1f} KB", place(s),
                  *s.headroom_kb, *s.line_gb_s * 8, *s.cable_m, mtu, needed));
  f.remedy = fmt::format("xoff of at least {:.0f} KB for these ports, or the true cable length if it is shorter", needed);
  f.verify = "rx_prioN_discards and the switch's drops of that class stay at 0";
  out.push_back(std::move(f));
}

// The priorities themselves: one that loses nothing.
void priorities(const RoceSettings& s, std::vector<Finding>& out) {
  if (s.trust == "pcp") {
    Finding f = doctor_finding("roce_trust", "priorities come from VLAN tags (pcp), which RoCE v2 across subnets has not",
                               Confidence::medium);
    f.evidence.push_back(fmt::format("{}: {}: trust pcp", place(s), s.what));
    f.remedy = "mlnx_qos -i IFACE --trust=dscp on the cards, trust L3 on the switches";
    f.verify = "rx_prio3_bytes grows with the job's traffic, rx_prio0_bytes does not";
    out.push_back(std::move(f));
  }
  if (!s.pfc) return;
  if (s.pfc->size() != 1) {
    const bool none = s.pfc->empty();
    Finding f = doctor_finding("roce_pfc_priorities",
                               none ? "no priority is lossless (PFC is off)" : "more than one priority is lossless",
                               none ? Confidence::medium : Confidence::low);
    f.evidence.push_back(fmt::format("{}: {}: PFC on {}", place(s), s.what, list_of(*s.pfc)));
    f.remedy =
        none ? "PFC on the one priority of RoCE (mlnx_qos -i IFACE --pfc 0,0,0,1,0,0,0,0), the same on switches; or adaptive "
               "retransmission and no PFC at all, by decision"
             : "leave PFC on the one priority that RoCE uses: each needs its own headroom, and can stop others";
    f.verify = "mlnx_qos and the switches show the same one";
    out.push_back(std::move(f));
  }
}

// And marks on the same.
void marks(const RoceSettings& s, const std::vector<int>& cards, std::vector<Finding>& out) {
  for (const int p : unmarked(s, cards)) {
    Finding f =
        doctor_finding("roce_ecn_off", fmt::format("priority {} is paused but never marked: nothing slows the senders before", p),
                       Confidence::high);
    f.evidence.push_back(
        fmt::format("{}: {}: PFC on {}, ECN on {}", place(s), s.what, list_of(paused(s, cards)), list_of(*s.ecn)));
    f.remedy = fmt::format(
        "ECN on priority {} at every hop: the queue's WRED profile with ecn_all on switches, roce_np and roce_rp "
        "enable on cards",
        p);
    f.verify = "np_cnp_sent and rp_cnp_handled grow under incast";
    out.push_back(std::move(f));
  }
}

// Cards and switches that do not say the same. What is measured by: a card where one tells.
void agreement(const std::vector<RoceSettings>& all, std::vector<Finding>& out) {
  const RoceSettings* by = nullptr;
  for (const RoceSettings& s : all) {
    if (s.pfc && (by == nullptr || (by->is_switch && !s.is_switch))) by = &s;
  }
  for (const RoceSettings& s : all) {
    if (!s.pfc || *s.pfc == *by->pfc) continue;
    const bool more = !by->pfc->empty() && std::all_of(by->pfc->begin(), by->pfc->end(), [&](int p) { return among(*s.pfc, p); });
    // A class that no card uses takes room and stops nothing: it is told as one priority too many.
    if (more && s.is_switch && !by->is_switch) continue;
    Finding f = doctor_finding("roce_pfc_mismatch",
                               "PFC is not on the same priorities everywhere: one end pauses what the other "
                               "does not stop",
                               Confidence::high);
    f.evidence.push_back(fmt::format("{}: {}", place(*by), list_of(*by->pfc)));
    f.evidence.push_back(fmt::format("{}: {}", place(s), list_of(*s.pfc)));
    f.remedy =
        s.is_switch && !by->is_switch && !by->pfc->empty()
            ? fmt::format("PFC on priority {} at the switch too, as on the cards, with its marks and headroom", list_of(*by->pfc))
            : "one priority, the same on all cards and switches";
    f.verify = "mlnx_qos and the switches show the same";
    return out.push_back(std::move(f));
  }
}

bool maps(const RoceSettings& s) { return s.priority_of && s.pfc && !s.pfc->empty(); }

// The priority on which a packet with that mark loses nothing; -1: it is on none.
int lossless_at(const RoceSettings& s, std::size_t dscp) {
  const int p = (*s.priority_of)[dscp];
  return among(*s.pfc, p) ? p : -1;
}

// One that leads to the same lossless priority wherever maps are told: a pause names the priority, and both ends must mean the
// same by it. What most guides take, where it does; -1: there is none.
int lossless_dscp(const std::vector<RoceSettings>& all) {
  const auto good = [&](std::size_t dscp) {
    int one = -1;
    for (const RoceSettings& s : all) {
      if (!maps(s)) continue;
      const int p = lossless_at(s, dscp);
      if (p < 0 || (one >= 0 && p != one)) return false;
      one = p;
    }
    return one >= 0;
  };
  if (good(26)) return 26;
  for (std::size_t dscp = 0; dscp < 64; ++dscp) {
    if (good(dscp)) return static_cast<int>(dscp);
  }
  return -1;
}

std::string class_remedy(const std::vector<RoceSettings>& all, const RoceSettings& failing, std::size_t dscp, int wanted) {
  if (wanted >= 0)
    return fmt::format("NCCL_IB_TC={} on all ranks (DSCP {} is priority {} here)", 4 * wanted, wanted,
                       (*failing.priority_of)[static_cast<std::size_t>(wanted)]);
  const auto carries = [&](const RoceSettings& s) { return maps(s) && lossless_at(s, dscp) >= 0; };
  const auto other = std::find_if(all.begin(), all.end(), carries);
  if (other != all.end())
    return fmt::format("map DSCP {} to priority {} in {} too, as {} does", dscp, lossless_at(*other, dscp), failing.file,
                       other->file);
  return "one DSCP that leads to one priority with PFC on all cards and switches, and NCCL_IB_TC of four times that DSCP";
}

// The class that NCCL puts on its packets, through the maps of cards and switches.
void traffic_class(const DoctorMaterial& m, std::vector<Finding>& out) {
  const NcclSetting* tc = setting(m.log, "NCCL_IB_TC");
  const auto value = tc == nullptr ? std::optional<std::uint64_t>(0) : parse_uint(tc->value);
  if (!value || *value > 255) return;
  // Without a job's settings nothing is known of what it asks for.
  if (tc == nullptr && m.log.settings.empty()) return;
  const std::size_t dscp = *value >> 2;
  const auto fails = [&](const RoceSettings& s) { return maps(s) && lossless_at(s, dscp) < 0; };
  const auto it = std::find_if(m.roce.begin(), m.roce.end(), fails);
  if (it == m.roce.end()) return;
  const RoceSettings& s = *it;
  // The class is the cards' lossless one, and the switch has its PFC on another: that is the mismatch above, and not NCCL's.
  const auto card_carries = [&](const RoceSettings& c) {
    return !c.is_switch && maps(c) && lossless_at(c, dscp) >= 0 && !among(*s.pfc, lossless_at(c, dscp));
  };
  const int wanted = lossless_dscp(m.roce);
  if (s.is_switch && wanted < 0 && std::any_of(m.roce.begin(), m.roce.end(), card_carries)) return;
  // A card may have a class of its own for whoever asks for none.
  Finding f = doctor_finding("roce_class", "NCCL's packets do not travel in the lossless class",
                             tc == nullptr ? Confidence::medium : Confidence::high);
  f.evidence.push_back(tc == nullptr ? "NCCL_IB_TC is not set: DSCP 0, unless the cards have tc/1/traffic_class set"
                                     : fmt::format("NCCL_IB_TC is {}: DSCP {}", tc->value, dscp));
  for (const RoceSettings& x : m.roce) {
    if (maps(x) && f.evidence.size() < 6)
      f.evidence.push_back(fmt::format("{}: {}: DSCP {} is priority {}, PFC on {}", place(x), x.what, dscp,
                                       (*x.priority_of)[dscp], list_of(*x.pfc)));
  }
  f.remedy = class_remedy(m.roce, s, dscp, wanted);
  f.verify = fmt::format("tx_prio{}_bytes of the cards grows with the job",
                         wanted >= 0 ? (*s.priority_of)[static_cast<std::size_t>(wanted)] : s.pfc->front());
  out.push_back(std::move(f));
}

void adaptive(const DoctorMaterial& m, std::vector<Finding>& out) {
  const NcclSetting* ar = setting(m.log, "NCCL_IB_ADAPTIVE_ROUTING");
  const bool roce = !m.roce.empty() || std::any_of(m.log.hosts.begin(), m.log.hosts.end(), [](const NcclHost& h) {
    return !h.devices.empty() && h.devices.front().link.starts_with("RoCE");
  });
  if (ar == nullptr && !roce) return;
  Finding f;
  f.confidence = Confidence::low;
  if (ar == nullptr) {
    f.title = "adaptive routing is left to NCCL, which takes it for InfiniBand and not for RoCE";
    f.evidence.emplace_back("NCCL_IB_ADAPTIVE_ROUTING is not set");
    f.remedy =
        "where the switches route RoCE adaptively, set NCCL_IB_ADAPTIVE_ROUTING=1; where they hash, "
        "NCCL_IB_QPS_PER_CONNECTION=4 gives the hash more to choose from";
  } else {
    f.title = fmt::format("adaptive routing is set to {} for NCCL", ar->value);
    f.evidence.push_back(fmt::format("NCCL_IB_ADAPTIVE_ROUTING is {}", ar->value));
    f.remedy = ar->value == "1"
                   ? "the switches, and the service level (NCCL_IB_SL), must allow it, else large sends pay for nothing"
                   : "on a fabric that routes adaptively unset it";
  }
  f.verify = "all_reduce_perf over many nodes with 0 and 1";
  out.push_back(std::move(f));
}

// The thresholds with which the last sender is done soonest, of those in their order that pause at most one percent of the time
// more than now: a proposal that trades marks for pauses is none.
void gentlest(const predict::IncastAsk& from, RoceForecast& out) {
  constexpr double kMorePauses = 0.01;
  out.proposed = out.now;
  out.proposed_figures = out.now_figures;
  for (const double low : {64, 32, 16, 8, 4}) {
    for (const double high : {16, 8, 4, 2}) {
      for (const double most : {0.01, 0.05, 0.2, 0.5, 1.0}) {
        predict::IncastAsk ask = from;
        ask.control.on = true;
        ask.control.kmin_kb = from.xoff_kb / low;
        ask.control.kmax_kb = from.xoff_kb / high;
        ask.control.pmax = most;
        if (ask.control.kmin_kb >= ask.control.kmax_kb) continue;
        const auto f = predict::incast(ask);
        if (!f || f->paused > out.now_figures.paused + kMorePauses || f->last_s >= out.proposed_figures.last_s) continue;
        out.proposed = ask;
        out.proposed_figures = *f;
      }
    }
  }
}

}  // namespace

double headroom_needed_kb(double line_gb_s, double cable_m, double mtu_b) {
  // GB/s are bytes a nanosecond.
  return (2 * cable_m * 5 * line_gb_s + 2 * mtu_b + 2000 * line_gb_s) / 1000;
}

std::vector<Finding> check_roce(const DoctorMaterial& m) {
  std::vector<Finding> out;
  const std::vector<int> cards = of_cards(m.roce);
  for (const RoceSettings& s : m.roce) {
    order(s, out);
    headroom(s, out);
    priorities(s, out);
    marks(s, cards, out);
  }
  if (m.roce.size() > 1) agreement(m.roce, out);
  traffic_class(m, out);
  for (Finding& f : check_counters(m)) out.push_back(std::move(f));
  adaptive(m, out);
  return out;
}

std::optional<RoceForecast> forecast_roce(std::span<const RoceSettings> settings) {
  const auto it = std::find_if(settings.begin(), settings.end(), [](const RoceSettings& s) { return s.kmin_kb && s.kmax_kb; });
  // Nobody runs RoCE below 10 Gb/s, and the model takes every microsecond: minutes there.
  if (it == settings.end() || it->line_gb_s.value_or(50) < 1) return {};
  const std::vector<int> cards = of_cards(settings);
  RoceForecast out;
  predict::IncastAsk& now = out.now;
  now.senders = 16;
  if (it->line_gb_s) now.line_gb_s = *it->line_gb_s;
  out.xoff_told = it->xoff_kb.has_value();
  if (it->xoff_kb) now.xoff_kb = *it->xoff_kb;
  now.control.kmin_kb = *it->kmin_kb;
  now.control.kmax_kb = *it->kmax_kb;
  // The model takes no nothing: as good as none are marked below Kmax.
  if (it->pmax) now.control.pmax = std::max(*it->pmax, 1e-6);
  predict::IncastAsk from = now;
  const Mended fix = mended(*it);
  from.control.kmin_kb = fix.kmin_kb;
  from.control.kmax_kb = fix.kmax_kb;
  from.control.pmax = fix.pmax;
  // Both the same is a step: all are marked from there on.
  for (predict::IncastAsk* ask : {&now, &from}) {
    if (ask->control.kmin_kb == ask->control.kmax_kb) ask->control.kmin_kb *= 0.9999;
  }
  if (std::any_of(settings.begin(), settings.end(), [&](const RoceSettings& s) { return !unmarked(s, cards).empty(); })) {
    out.why = "marking is off";
  } else if (*it->kmin_kb > *it->kmax_kb) {
    out.why = "Kmin is above Kmax, which each switch takes in its own way";
  } else if (it->xoff_kb && *it->xoff_kb <= *it->kmin_kb) {
    out.why = "pauses come before any mark";
  }
  out.now_orderly = out.why.empty();
  if (!out.now_orderly) {
    now.control = {};
    now.control.on = false;
  }
  const auto figures = predict::incast(now);
  if (!figures) return {};
  out.now_figures = *figures;
  // Where a verdict says what to set, that is what is played beside it.
  out.by_fix = !out.now_orderly || late_marks(*it) || (it->pmax && *it->pmax <= 0);
  if (out.by_fix) {
    const auto mending = predict::incast(from);
    if (!mending) return {};
    out.proposed = from;
    out.proposed_figures = *mending;
  } else {
    gentlest(from, out);
  }
  return out;
}

}  // namespace muster::diagnose
