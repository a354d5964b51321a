#include "design/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/math.h"
#include "design/search.h"
#include "predict/congestion.h"
#include "predict/ownership.h"

namespace muster::design {

using predict::owned_gpu_hour, predict::pue_saving_usd, predict::kHoursAMonth, predict::kHoursAYear;
using predict::Ownership, predict::break_even_months, predict::break_even_price, predict::break_even_utilisation;

namespace {

constexpr double kNodeKw = 10.2;         // of eight H100 or H200, at most
constexpr double kFibreKmPerMs = 200;    // light in glass
constexpr double kSwitchHopUs = 0.2;     // through one switch of InfiniBand
constexpr double kEthernetHopUs = 0.8;   // and of Ethernet
constexpr double kNodePriceUsd = 280e3;  // of eight H100

// A node with its share of the network and of what surrounds it, in a rented hall.
Ownership node(double price_usd, double residual_share) {
  constexpr double kNetworkShare = 0.15, kHallKw = 14.4, kUsdPerKwMonth = 130;
  return {price_usd * (1 + kNetworkShare), price_usd * residual_share, kHallKw * kUsdPerKwMonth};
}

class Claims {
 public:
  explicit Claims(const ClaimInputs& in) : in_(in) {}

  std::vector<Claim> all() {
    money();
    renting();
    energy();
    networks();
    machines();
    return std::move(out_);
  }

 private:
  void add(const char* id, const char* claim, Verdict v, std::string figure, std::string because) {
    out_.push_back({id, claim, v, std::move(figure), std::move(because)});
  }

  void money() {
    constexpr std::array<double, 6> kParts = {12, 2.5, 4, 3, 1.8, 3.5};
    double sum = 0;
    for (const double p : kParts) sum += p;
    std::string shares;
    for (const double p : kParts) shares += fmt::format("{}{:.1f}", shares.empty() ? "" : "/", 100 * p / sum);
    const double it_mw = 1500 * kNodeKw / 8 / 1000;
    add("O1", "27 M USD a year: GPUs 12, network 2.5, power and cooling 4, storage 3, software 1.8, people 3.5",
        Verdict::holds_if, fmt::format("sum {:.1f} M; shares {} %", sum, shares),
        fmt::format(
            "{:.0f} M a year is 1,500 GPUs at 32,000 USD over four years; 4 M for their {:.2f} MW is a rented hall ({:.0f} USD a "
            "kW and month), as electricity alone it is {:.1f} M",
            1500 * 32e3 / 4 / 1e6, it_mw, 4e6 / predict::hall_usd_a_year(it_mw * 1000, 1),
            it_mw * 1000 * 1.3 * 0.75 * kHoursAYear * 0.08 / 1e6));

    constexpr double kMonths = 18, kHours = 3500;
    std::string prices, residual;
    for (const double price : {255e3, 280e3, 320e3}) {
      prices += fmt::format("{}{:.1f}", prices.empty() ? "" : "/", break_even_price(node(price, 0), kMonths, kHours));
      residual += fmt::format("{}{:.1f}", residual.empty() ? "" : "/", break_even_price(node(price, 0.3), kMonths, kHours));
    }
    add("O2", "own hardware is cheaper than cloud after 18 months above 3,500 GPU-hours a month", Verdict::holds_if,
        fmt::format(
            "{:.0f} % of a node; break-even at {} USD a GPU-hour for nodes of 255/280/320 kUSD, {} with 30 % residual value",
            100 * kHours / (8 * kHoursAMonth), prices, residual),
        fmt::format(
            "true of a hyperscaler's list price (6.88: {:.0f} months), false of cheaper clouds: {:.0f} months at 4 USD, {:.0f} "
            "at 2.50",
            break_even_months(node(kNodePriceUsd, 0), 6.88, kHours), break_even_months(node(kNodePriceUsd, 0), 4, kHours),
            break_even_months(node(kNodePriceUsd, 0), 2.5, kHours)));

    const double gpu_hours = sum * 1e6 / 0.40;
    add("O4", "0.40 USD a GPU-hour of one's own against 0.55 to 0.60 rented, for 4,000 GPU-hours", Verdict::holds_if,
        fmt::format("saves {:.0f} to {:.0f} %", 100 * (1 - 0.40 / 0.55), 100 * (1 - 0.40 / 0.60)),
        fmt::format(
            "only of small or used GPUs (8,500 USD over five years at 90 %: {:.2f} USD with 0.15 for power and space); with the "
            "costs of O1 it would take {:.1f} million GPU-hours, {:.0f} GPUs always busy",
            owned_gpu_hour({8500, 0, 0.15 * kHoursAMonth * 0.9}, 60, 1, 0.9), gpu_hours / 1e6, gpu_hours / kHoursAYear));

    add("O5", "12 % idle to 4 % saves 2 to 3 M USD a training run", Verdict::holds_if,
        fmt::format("{:.2f} % of the run for the same work: a run of {:.0f} to {:.0f} M USD", 100 * (1 - 0.88 / 0.96),
                    2 / (1 - 0.88 / 0.96), 3 / (1 - 0.88 / 0.96)),
        fmt::format("10,000 GPUs for {:.0f} to {:.0f} days at 2.50 USD; 1,024 GPUs would need {:.0f} days at least",
                    2e6 / (1 - 0.88 / 0.96) / 2.5 / 24 / 10'000, 3e6 / (1 - 0.88 / 0.96) / 2.5 / 24 / 10'000,
                    2e6 / (1 - 0.88 / 0.96) / 2.5 / 24 / 1024));

  }

  void renting() {
    const Ownership own = node(kNodePriceUsd, 0);
    const double even = break_even_utilisation(own, 48, 8, 2.99), bursty = even * 0.85;
    add("O14", "rented GPUs are up to 15 % cheaper than one's own for bursty work", Verdict::holds_if,
        fmt::format("at 2.99 USD renting is cheaper below {:.0f} % utilisation (four years), and 15 % cheaper at {:.0f} %",
                    100 * even, 100 * bursty),
        "bursty means below that utilisation; the fewer hours are used the more renting saves, so 15 % is no bound");

    add("O15", "a managed DGX costs 4,300 USD a GPU-hour", Verdict::refuted,
        fmt::format("37,000 USD an instance and month are {:.0f} USD a GPU and month, {:.2f} a GPU-hour", 37e3 / 8,
                    37e3 / 8 / kHoursAMonth),
        "the unit fails: it is near the price of a GPU-month");

    add("O16", "p4d.24xlarge averages 3.20 USD a GPU-hour", Verdict::holds_if,
        fmt::format("on demand {:.2f} USD before the cut of 2025, {:.2f} after", 32.7726 / 8, 21.9576 / 8),
        fmt::format("only as a mix: {:.0f} % of the hours at the old price",
                    100 * (3.20 - 21.9576 / 8) / ((32.7726 - 21.9576) / 8)));

    constexpr double kYears = 5, kStaff = 0.5, kStaffUsd = 180e3;
    const auto two = [](double price_usd) {
      return 2 * (node(price_usd, 0).capital_usd + node(price_usd, 0).monthly_usd * 12 * kYears);
    };
    const double machines = two(400e3), staff = kStaff * kStaffUsd * kYears;
    add("O17", "a 16-GPU DGX system costs more than 1.5 million USD to own", Verdict::holds_if,
        fmt::format("{:.2f} M without people, {:.2f} M with half an engineer, in five years", machines / 1e6,
                    (machines + staff) / 1e6),
        fmt::format(
            "two DGX at 400,000 USD with network and a rented hall; without people, or with servers at 280,000 ({:.2f} M with "
            "them), it does not",
            (two(280e3) + staff) / 1e6));
  }

  void energy() {
    const double it = 10'000 * kNodeKw / 8 / 1000;
    std::string saved;
    for (const double usd : {0.06, 0.08, 0.10, 0.15}) {
      saved += fmt::format("{}{:.1f}", saved.empty() ? "" : "/", pue_saving_usd(it, 1.55, 1.30, usd) / 1e6);
    }
    add("O3", "liquid cooling, PUE 1.55 to 1.30, saves 4 to 5 M USD a year for 10,000 GPUs at 150 MW", Verdict::holds_if,
        fmt::format("10,000 H100 draw {:.2f} MW ({:.1f} to {:.1f} MW with cooling): {} M at 0.06/0.08/0.10/0.15 USD a kWh", it,
                    it * 1.55, it * 1.30, saved),
        fmt::format(
            "150 MW is no figure of 10,000 GPUs: it would save {:.1f} M at 0.05; 4.5 M needs {:.1f} MW of machines at 0.08",
            pue_saving_usd(150 / 1.55, 1.55, 1.30, 0.05) / 1e6, 4.5e6 / pue_saving_usd(1, 1.55, 1.30, 0.08)));

    constexpr double kOperating = 4 + 1.8 + 3.5;  // of O1: power, software, people
    add("O6", "scheduling by the price of power saves 18 % of operating expense", Verdict::refuted,
        fmt::format("power is {:.0f} % of what O1 spends on running it: 18 % of that is {:.0f} % of the whole power bill",
                    100 * 4 / kOperating, 100 * 0.18 * kOperating / 4),
        "replayed on real hourly prices (`muster bench price`) the best that is possible is far below that; 18 % of the energy "
        "bill alone "
        "needs 60 % utilisation or less and work that can all wait");

    add("O11", "productive over allocated GPU-hours rises from 86 to 94 %", Verdict::holds_if,
        fmt::format("classes of waste must shrink from {} to {} points in sum", 100 - 86, 100 - 94),
        "restarts, stalls and GPUs held idle; `muster twin run` shows each, and all of them sum to what is installed");

    const double gpu_kw = kNodeKw / 8;
    add("O20", "training 175B takes 3 to 5 MW and 15 PB of raw data", Verdict::refuted,
        fmt::format("3 to 5 MW are {:.0f} to {:.0f} H100; 300 billion tokens are {:.1f} TB of text", 3000 / gpu_kw, 5000 / gpu_kw,
                    300e9 * 4 / 1e12),
        "the power fits; the data are four orders too many for text, and could only be images or video before filtering");
  }

  // What an all-reduce of this size gains when each of its steps crosses two switches fewer.
  double hop_gain(std::uint32_t gpus, double bytes, bool ring, double hop_us) const {
    CollectiveSetup s{Collective::all_reduce, in_.h100.name, gpus, 8, in_.h100.nic_gb_s, "infiniband"};
    const double domains = gpus / 8.0;
    const double steps = ring ? 2 * (domains - 1) : 2 * det_log(domains) / det_log(2.0);
    double now = 0;
    for (const predict::CollectiveWay& w : predict::collective_ways(s, in_.h100)) {
      if (w.algorithm != (ring ? "Ring" : "NVLSTree")) continue;
      const double t = in_.collectives.by_way(w, s, bytes).s;
      if (now == 0 || t < now) now = t;
    }
    return steps * 2 * hop_us * 1e-6 / now;
  }

  // The last of many that meet at one port, over what the port could, in the mean over 2 to 32 of them.
  void congestion() {
    predict::IncastAsk ask;
    ask.senders = 32;
    const auto best = predict::tuned(ask);
    const auto tail = [&](const predict::Dcqcn& control) {
      double sum = 0;
      int n = 0;
      for (std::uint32_t senders = 2; senders <= 32; senders *= 2, ++n) {
        predict::IncastAsk a = ask;
        a.senders = senders;
        a.control = control;
        const auto f = predict::incast(a);
        sum += f ? f->last_s / f->ideal_s : 1;
      }
      return sum / n;
    };
    const double before = tail(ask.control), after = tail(best ? *best : ask.control);
    add("O10", "tuned congestion control cuts the tail of all-reduce by 20 %", Verdict::not_measured,
        fmt::format("by the model alone: with DCQCN as cards ship it the last of 2 to 32 that meet at a port takes {:.2f} of the "
                    "best possible, tuned {:.2f}: {:.0f} % less",
                    before, after, 100 * (1 - after / before)),
        "flows must meet at a port, as all-to-alls and hash collisions make them; in a ring on rails none do, and nothing is "
        "gained. To be measured on a RoCE fabric");
  }

  void networks() {
    const auto up_to = [&](std::uint32_t gpus, bool ring) -> std::string {
      double largest = 0;
      for (double b = 8; b <= 1e10; b *= 2) {
        if (hop_gain(gpus, b, ring, kEthernetHopUs) >= 0.07) largest = b;
      }
      if (largest == 0) return "at no size";
      return largest < (1 << 20) ? fmt::format("up to {:.0f} KiB", largest / 1024)
                                 : fmt::format("up to {:.0f} MiB", largest / (1 << 20));
    };
    add("O7", "two switches fewer on the way make collectives 7 % faster", Verdict::holds_if,
        fmt::format(
            "switches of {:g} us (InfiniBand): {:.1f} % at most by a tree and {:.1f} % by a ring, on 1,024 GPUs; of {:g} us "
            "(Ethernet): 7 % by a tree {} on 1,024 GPUs, by a ring {}, on 8,192 {}",
            kSwitchHopUs, 100 * hop_gain(1024, 8, false, kSwitchHopUs), 100 * hop_gain(1024, 8, true, kSwitchHopUs),
            kEthernetHopUs, up_to(1024, false), up_to(1024, true), up_to(8192, true)),
        fmt::format("latency must be all there is, and switches slow: of 1 GiB a tree's gain is {:.2f} %",
                    100 * hop_gain(1024, 1 << 30, false, kEthernetHopUs)));

    misrouted();

    add("O9", "no serial checks in the prolog: job start-up 65 % shorter", Verdict::holds_if,
        fmt::format("400 nodes at 0.3 s one after the other are {:.0f} s; with 64 s of the rest that is {:.0f} %", 400 * 0.3,
                    100 * 400 * 0.3 / (400 * 0.3 + 64)),
        "true where the serial part is 65 % of the start; `muster explain job` measures it on a real one");
    congestion();

    constexpr std::uint32_t kRegion = 4496;  // whole nodes of 4,500
    CollectiveRow r;
    r.setup = {Collective::all_reduce, in_.h100.name, kRegion, 8, in_.h100.nic_gb_s, "infiniband"};
    double fits = 0;
    for (r.bytes = 1024; r.bytes < 1e11; r.bytes *= 1.1) {
      if (in_.collectives.predict(r)->s <= 1.2e-3) fits = r.bytes;
    }
    add("O21", "4,500 H100 in three regions reach 1.2 ms all-reduce", Verdict::refuted,
        fmt::format("in one region up to {:.0f} MiB; across regions light alone allows {:.0f} km of fibre", fits / (1 << 20),
                    1.2 * kFibreKmPerMs / 2),
        "regions are further apart than that; in one place it depends on the size");

    std::string exposed;
    for (const char* name : {"llama3-8b", "llama3-70b"}) {
      if (const Transformer* m = model(name)) {
        const double s =
            2 * m->params() * 2 / (1.25e9 * 8);  // a node of eight sends its gradients once up and down, over eight cards
        exposed += fmt::format("{}{} {:.1f} s a step", exposed.empty() ? "" : ", ", name, s);
      }
    }
    add("O22", "10 GbE uplinks suffice for 100 GPUs", Verdict::refuted, fmt::format("gradients alone take {}", exposed),
        "even with one card of 1.25 GB/s for each GPU; only small models, or many micro-batches a step, hide that");
  }

  // What a training step loses when the network gives a share of its rate: on the plan that is best when it gives all.
  void misrouted() {
    std::string lost;
    int between = 0;
    for (const Transformer& m : in_.models) {
      if (m.name != "llama3-8b" && m.name != "llama3-70b" && m.name != "gpt3-175b" && m.name != "deepseek-v3") continue;
      SearchAsk ask;
      ask.model = m;
      ask.gpu = in_.h100;
      ask.calibration = in_.on_h100;
      ask.network = {8, in_.h100.nic_gb_s};
      ask.gpus = 1024;
      ask.global_batch = 1024;
      ask.seq = 4096;
      ask.keep = 1;
      const auto found = search(ask);
      if (!found || found->best.empty()) continue;
      const Candidate& best = found->best.front();
      const auto loss = [&](double share) {
        const double s = predict::step_time(ask.gpu, ask.calibration, {8, in_.h100.nic_gb_s * share}, m, best.plan).all_s();
        return 100 * (1 - best.step_s / s);
      };
      lost += fmt::format("{}{} {:.0f} and {:.0f} %", lost.empty() ? "" : ", ", m.name, loss(0.651), loss(0.196));
      between += loss(0.196) >= 30 ? 1 : 0;
    }
    add("O8", "a misconfigured fabric costs 30 to 40 % of training throughput", Verdict::holds_if,
        fmt::format("at 0.65 and 0.20 of the cards' rate: {}", lost),
        fmt::format("only where much is exposed: {} of these on 1,024 H100 lose 30 % or more at 0.20; a cable cut under OpenSM's "
                    "fallback routing does that (`./test live_fabric`)",
                    between));
  }

  const Transformer* model(std::string_view name) const {
    const auto it = std::find_if(in_.models.begin(), in_.models.end(), [&](const Transformer& m) { return m.name == name; });
    return it == in_.models.end() ? nullptr : &*it;
  }

  void machines() {
    add("O12", "host settings together are worth 10 to 15 % utilisation", Verdict::not_measured, "none",
        "few of the published settings carry a number; to be measured host by host");
    add("O13", "placement by memory pressure raises utilisation 5 to 6 %", Verdict::holds_if,
        "GPUs allocated on the Alibaba lists with 40 and 100 % of shared ones: 84.8 and 79.0 % at random, 91.5 and 84.6 by best "
        "fit, 94.3 and 86.9 by what would be stranded (`muster bench openb`)",
        "GPUs must be shared, and what went before must have looked at the whole GPU alone: against best fit it is 2 to 3 "
        "points, "
        "and gangs that have their GPUs whole gain nothing");

    std::optional<double> faster;
    if (const Transformer* m = model("llama3-70b")) {
      SearchAsk ask;
      ask.model = *m;
      ask.calibration = in_.on_h100;
      ask.network = {8, in_.h100.nic_gb_s};
      ask.gpus = 256;
      ask.global_batch = 1024;
      ask.seq = 8192;
      ask.keep = 1;
      ask.gpu = in_.h100;
      const auto before = search(ask);
      ask.gpu = in_.h200;
      const auto after = search(ask);
      if (before && after && !before->best.empty() && !after->best.empty())
        faster = 100 * (1 - after->best.front().step_s / before->best.front().step_s);
    }
    add("O18", "an H200 has 30 TFLOP/s in single precision and twice the bandwidth, and trains in 45 % less time than an H100",
        Verdict::refuted,
        fmt::format("bandwidth {:.2f}-fold, the same matrix rate ({:.0f} TFLOP/s); 70B on 256 GPUs: {}",
                    in_.h200.hbm_tb_s / in_.h100.hbm_tb_s, in_.h200.bf16_tflops,
                    faster ? fmt::format("{:.0f} % less time", *faster) : "does not fit"),
        fmt::format("single precision is {:.0f} and {:.0f} TFLOP/s; what is bound by memory alone takes {:.0f} % less at best",
                    in_.h100.fp32_tflops, in_.h200.fp32_tflops, 100 * (1 - in_.h100.hbm_tb_s / in_.h200.hbm_tb_s)));

    add("O19", "NVLink 3 offers 600 GB/s for each pair of GPUs", Verdict::refuted,
        fmt::format("12 links of 25 GB/s are {:.0f} GB/s one way, {:.0f} both ways, of one GPU", 12 * 25.0,
                    2 * in_.a100.nvlink_gb_s),
        "it is each GPU's total, both ways; a pair can have it only while neither talks to anyone else");
    add("O23", "BERT from TensorRT to ONNX on another vendor costs 7 % latency", Verdict::not_measured, "none",
        "needs both stacks and both vendors' GPUs");
  }

  const ClaimInputs& in_;
  std::vector<Claim> out_;
};

}  // namespace

std::vector<Claim> claims(const ClaimInputs& in) {
  std::vector<Claim> out = Claims(in).all();
  const auto number = [](const Claim& c) { return std::stoi(c.id.substr(1)); };
  std::sort(out.begin(), out.end(), [&](const Claim& x, const Claim& y) { return number(x) < number(y); });
  return out;
}

}  // namespace muster::design
