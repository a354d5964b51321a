// What the counters of cards and ports say: lost packets, pauses, a link that errs or goes down. Two readings are a rate; one
// counts from the boot on, as do two of which the later one is less.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "diagnose/fabric_doctor.h"

namespace muster::diagnose {
namespace {

constexpr std::array<const char*, 6> kLosses = {"out_of_sequence",   "packet_seq_err",      "local_ack_timeout_err",
                                                "rnr_nak_retry_err", "implied_nak_seq_err", "rx_discards_phy"};
constexpr std::array<const char*, 5> kLinkErrors = {"rx_symbol_err_phy", "rx_crc_errors_phy", "symbol_error", "port_rcv_errors",
                                                    "local_link_integrity_errors"};
constexpr std::array<const char*, 2> kLinkDowns = {"link_down_events_phy", "link_downed"};

struct Growth {
  const RoceCounters *first = nullptr, *last = nullptr;
  std::uint64_t of(const std::string& name) const {
    const auto b = last->value.find(name);
    if (b == last->value.end()) return 0;
    if (first == nullptr) return b->second;
    // What the earlier reading does not tell may all have been there.
    const auto a = first->value.find(name);
    return a != first->value.end() && b->second > a->second ? b->second - a->second : 0;
  }
  std::uint64_t of_priorities(const char* kind) const {
    std::uint64_t sum = 0;
    for (int p = 0; p < 8; ++p) sum += of(fmt::format("rx_prio{}_{}", p, kind)) + of(fmt::format("tx_prio{}_{}", p, kind));
    return sum;
  }
};

std::string count_words(const std::string& name, std::uint64_t n, double seconds) {
  return seconds > 0 ? fmt::format("{} {} ({:.1f} a second)", name, n, static_cast<double>(n) / seconds)
                     : fmt::format("{} {}", name, n);
}

void growth(const DoctorMaterial& m, const Growth& g, std::vector<Finding>& out) {
  // One reading alone counts from the boot on.
  const bool rates = g.first != nullptr;
  const double s = rates ? m.between_s : 0;
  const std::string where = fmt::format("{}{}{}", g.last->file, g.last->card.empty() ? "" : ": ", g.last->card);
  const std::uint64_t pauses = g.of_priorities("pause"), cnp = g.of("np_cnp_sent") + g.of("rp_cnp_handled");
  const std::uint64_t marks = g.of("np_ecn_marked_roce_packets");
  std::uint64_t lost = 0;
  std::vector<std::string> losses;
  for (const char* name : kLosses) {
    const std::uint64_t n = g.of(name);
    lost += n;
    if (n > 0) losses.push_back(count_words(name, n, s));
  }
  if (lost > (rates ? 0U : 1000U)) {
    const bool reordered = g.of("local_ack_timeout_err") == 0 && g.of("out_of_sequence") > 0 && marks == 0;
    Finding f = doctor_finding(reordered ? "ecmp_congestion" : "roce_loss",
                               reordered ? "packets arrive out of order, or some are lost on single paths (ECMP)"
                                         : "packets of RDMA are lost and sent again",
                               rates ? Confidence::high : Confidence::low);
    for (std::string& e : losses) f.evidence.push_back(where + ": " + e);
    if (const std::uint64_t again = g.of("roce_adp_retrans"); again > 0)
      f.evidence.push_back(where + ": " + count_words("roce_adp_retrans", again, s));
    f.remedy = reordered
                   ? std::string(cause_named("ecmp_congestion")->remedy)
                   : "find the hop: drops of the lossless class on switches, headroom, PFC on the same priority at every hop, "
                     "cables that count errors";
    f.verify = "out_of_sequence and local_ack_timeout_err do not grow during an all-to-all of ten minutes";
    out.push_back(std::move(f));
  }
  if (pauses > (rates ? 0U : 1'000'000U)) {
    Finding f = doctor_finding("roce_pauses", "ports pause each other in steady state: ECN acts too late or not at all",
                               rates ? Confidence::medium : Confidence::low);
    f.evidence.push_back(where + ": " + count_words("pause frames", pauses, s));
    f.evidence.push_back(where + ": " + count_words("CNPs", cnp, s) + ", " + count_words("marked packets", marks, s));
    f.remedy = cnp == 0 ? "turn ECN and DCQCN on for that priority at every hop" : "lower Kmin and Kmax; see the forecast";
    f.verify = "rx_prioN_pause stays while np_cnp_sent grows";
    out.push_back(std::move(f));
  }
}

// Errors of the cable and the transceiver below all of it.
void link_growth(const DoctorMaterial& m, const Growth& g, std::vector<Finding>& out) {
  const bool rates = g.first != nullptr;
  const double s = rates ? m.between_s : 0;
  const std::string where = fmt::format("{}{}{}", g.last->file, g.last->card.empty() ? "" : ": ", g.last->card);
  const auto judge = [&](const char* cause, const auto& names, std::uint64_t history, std::uint64_t sure) {
    std::uint64_t sum = 0;
    std::vector<std::string> words;
    for (const char* name : names) {
      const std::uint64_t n = g.of(name);
      sum += n;
      if (n > 0) words.push_back(where + ": " + count_words(name, n, s));
    }
    const Cause* c = cause_named(cause);
    if (c == nullptr || sum <= (rates ? 0U : history)) return;
    Finding f = finding_of(*c, !rates ? Confidence::low : sum >= sure ? Confidence::high : Confidence::medium);
    f.evidence = std::move(words);
    out.push_back(std::move(f));
  };
  judge("link_flap", kLinkDowns, 100, 1);
  judge("link_errors", kLinkErrors, 100'000, 100);
}

// Counters only grow: what is less later was read in the other order, or began anew in between.
std::string backwards(const Growth& g) {
  const auto watched = [](std::string_view name) {
    const auto is = [&](const char* x) { return name == x; };
    return name.ends_with("_packets") || name.ends_with("_bytes") || name.ends_with("_pause") ||
           std::any_of(kLosses.begin(), kLosses.end(), is) || std::any_of(kLinkErrors.begin(), kLinkErrors.end(), is) ||
           std::any_of(kLinkDowns.begin(), kLinkDowns.end(), is) || name == "np_cnp_sent" || name == "rp_cnp_handled";
  };
  if (g.first == nullptr) return {};
  for (const auto& [name, before] : g.first->value) {
    const auto after = g.last->value.find(name);
    if (after != g.last->value.end() && after->second < before && watched(name))
      return fmt::format("{} is {} in {} and {} in {}", name, before, g.first->file, after->second, g.last->file);
  }
  return {};
}

}  // namespace

std::vector<Finding> check_counters(const DoctorMaterial& m) {
  std::vector<Finding> out;
  std::map<std::string, Growth> cards;
  for (const RoceCounters& c : m.counters) {
    Growth& g = cards[c.card];
    if (g.last != nullptr && g.first == nullptr) g.first = g.last;
    g.last = &c;
  }
  for (auto& [card, g] : cards) {
    if (std::string less = backwards(g); !less.empty()) {
      Finding f = doctor_finding("", "counters go backwards: the two files are in the other order, or were reset in between",
                                 Confidence::low);
      f.evidence.push_back(card.empty() ? std::move(less) : card + ": " + less);
      f.remedy = "the earlier reading first, then the later one, with no reboot and no reset of the driver between them";
      f.verify = "every counter of the second file is at least that of the first";
      out.push_back(std::move(f));
      g.first = nullptr;  // history
    }
    growth(m, g, out);
    link_growth(m, g, out);
  }
  return out;
}

}  // namespace muster::diagnose
