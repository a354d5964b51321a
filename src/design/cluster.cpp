#include "design/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "design/pareto.h"
#include "design/search.h"
#include "model/fields.h"
#include "predict/ownership.h"
#include "predict/routes.h"
#include "predict/traffic.h"

namespace muster::design {
namespace {

constexpr double kSwitchKw = 1.0;  // 64 ports of 400G with optics
constexpr double kCheckpointsKept = 20;
constexpr double kFlashTbAGpu = 0.5;  // for data in use, where no run is named
constexpr double kDataBytesPerToken = 4;
constexpr double kDataCopies = 3;  // raw, filtered, tokenized
constexpr double kRackPitchM = 0.7, kRowPitchM = 3.0, kDropM = 2.0;
constexpr std::uint32_t kRacksPerRow = 16;
constexpr double kCopperM = 3, kActiveM = 30;

constexpr double kGpuFailuresAYear = 0.04, kRepairDays = 10;  // of a GPU with its share of the server
constexpr double kSpareCables = 0.02;

// What a rack may draw in a hall.
double rack_kw_of(Cooling c) {
  switch (c) {
    case Cooling::air: return 45;
    case Cooling::rear_door: return 70;
    case Cooling::liquid: break;
  }
  return 160;
}

// Where a node or a switch stands: racks in rows, the network's own racks in the middle of what they join.
class Floor {
 public:
  explicit Floor(std::uint32_t nodes_per_rack) : nodes_per_rack_(nodes_per_rack) {}

  double rack_of_node(std::uint32_t node) const { return node / nodes_per_rack_; }
  static double length_m(double a, double b) {
    if (a == b) return kDropM;
    const auto row = [](double r) { return std::floor(r / kRacksPerRow); };
    const auto along = [](double r) { return std::fmod(r, kRacksPerRow); };
    return 2 * kDropM + std::abs(along(a) - along(b)) * kRackPitchM + std::abs(row(a) - row(b)) * kRowPitchM;
  }

 private:
  std::uint32_t nodes_per_rack_;
};

// Every node of the graph by the mean place of what it is cabled to, from the servers up.
Cables cables_of(const Fabric& f, std::uint32_t nics, const Floor& floor) {
  std::vector<double> place(f.nodes.size(), -1);
  std::uint32_t card = 0;
  for (std::size_t i = 0; i < f.nodes.size(); ++i) {
    if (!f.nodes[i].is_switch) place[i] = floor.rack_of_node(card++ / nics);
  }
  for (bool more = true; more;) {
    more = false;
    std::vector<double> next = place;
    for (std::size_t i = 0; i < f.nodes.size(); ++i) {
      if (place[i] >= 0) continue;
      double sum = 0, n = 0;
      for (const std::uint32_t link : f.nodes[i].out) {
        if (link == Fabric::kNoLink || place[f.links[link].to] < 0) continue;
        sum += place[f.links[link].to];
        ++n;
      }
      if (n > 0) next[i] = std::floor(sum / n);
      more = more || n > 0;
    }
    place = std::move(next);
  }
  Cables out;
  for (std::size_t i = 0; i < f.links.size(); i += 2) {
    const double m = Floor::length_m(place[f.links[i].from], place[f.links[i].to]);
    ++(m <= kCopperM ? out.copper : m <= kActiveM ? out.active : out.fibre);
  }
  return out;
}

// Switches that a packet crosses, mean over pairs of cards.
double mean_hops(const Fabric& f, predict::Router& router) {
  const auto ends = f.endpoints();
  double sum = 0, n = 0;
  const std::size_t step = std::max<std::size_t>(1, ends.size() / 64);
  for (std::size_t i = 0; i < ends.size(); i += step) {
    for (std::size_t j = step / 2; j < ends.size(); j += step) {
      if (i == j) continue;
      if (const auto way = router.way(ends[i], ends[j])) {
        double links = 0;
        for (const auto& u : *way) links += u.share;
        sum += links - 1;
        ++n;
      }
    }
  }
  return n > 0 ? sum / n : 0;
}

// What the narrowest tier of switches carries, a card: of the cards' rate when all of it has to cross; and with the switch gone
// that carries most of it.
struct Narrowest {
  double share = 1, one_down = 1;
};
Narrowest narrowest(const Fabric& f) {
  std::vector<int> level(f.nodes.size(), -1);  // switches between it and the nearest card
  std::vector<std::uint32_t> now;
  for (std::uint32_t i = 0; i < f.nodes.size(); ++i) {
    if (f.nodes[i].is_switch) continue;
    level[i] = 0;
    now.push_back(i);
  }
  const double cards = static_cast<double>(now.size());
  Narrowest out;
  for (int tier = 0; !now.empty(); ++tier) {
    std::vector<std::uint32_t> next;
    double links = 0, most = 0;
    std::vector<double> into(f.nodes.size(), 0);
    for (const std::uint32_t n : now) {
      for (const std::uint32_t l : f.nodes[n].out) {
        if (l == Fabric::kNoLink) continue;
        const std::uint32_t to = f.links[l].to;
        if (level[to] < 0) {
          level[to] = tier + 1;
          next.push_back(to);
        }
        if (level[to] != tier + 1) continue;
        ++links;
        most = std::max(most, ++into[to]);
      }
    }
    if (tier > 0 && !next.empty()) {  // a card without its leaf is lost anyway
      out.share = std::min(out.share, links / cards);
      out.one_down = std::min(out.one_down, (links - most) / cards);
    }
    now = std::move(next);
  }
  return out;
}

class Designer {
 public:
  explicit Designer(const ClusterAsk& ask) : a_(ask) {}

  Result<ClusterDesigns> run() {
    for (const GpuChoice& c : a_.choices) {
      if (gives_up()) break;
      if (c.gpu.peak(a_.dtype) <= 0) {
        leave_out(c, {Code::bad_input, fmt::format("{} has no {}", c.gpu.name, name_of(a_.dtype)), "bf16 runs on all of them"});
        continue;
      }
      if (a_.gpus % unit(c.gpu) != 0) {
        const std::uint32_t below = a_.gpus / unit(c.gpu) * unit(c.gpu);
        leave_out(c, {Code::bad_input, fmt::format("{} GPUs are no whole NVLink domains of {}", a_.gpus, unit(c.gpu)),
                      fmt::format("--gpus {} or {}", below > 0 ? below : unit(c.gpu), below + unit(c.gpu))});
        continue;
      }
      const auto gpus = a_.days > 0 ? enough(c) : std::optional(a_.gpus);
      if (!gpus) {
        leave_out(c, problem_);
        continue;
      }
      for (const auto& [kind, over] : {std::pair{FabricKind::rail, 1.0}, {FabricKind::fat_tree, 1.0}, {FabricKind::rail, 3.0}}) {
        if (gives_up()) break;
        auto one = with(c, *gpus, kind, over);
        if (!one) {
          leave_out(c, one.error());
          continue;
        }
        if (one->run && a_.days > 0 && one->run->s > a_.days * 86'400) {
          left_out_.push_back(fmt::format("{} with {} {:g}:1 is left out: it would take {:.1f} days", c.gpu.name, name_of(kind),
                                          over, one->run->s / 86'400));
          continue;
        }
        out_.push_back(std::move(*one));
      }
    }
    if (gives_up()) return fail(Code::refused, "designing was given up before all were compared", "fewer kinds of GPU at once");
    if (out_.empty()) return tl::unexpected(problem_);
    std::stable_sort(out_.begin(), out_.end(), [&](const auto& x, const auto& y) { return all_usd(x) < all_usd(y); });
    mark_front();
    return ClusterDesigns{std::move(out_), std::move(left_out_)};
  }

 private:
  void leave_out(const GpuChoice& c, const Error& why) {
    problem_ = why;
    std::string line = fmt::format("{} is left out: {}", c.gpu.name, why.what);
    if (std::find(left_out_.begin(), left_out_.end(), line) == left_out_.end()) left_out_.push_back(std::move(line));
  }
  bool gives_up() const { return a_.give_up && a_.give_up(); }
  static std::uint32_t unit(const GpuModel& g) { return g.domain > 8 ? g.domain : 8; }
  double all_usd(const ClusterDesign& d) const { return d.capital_usd() + d.yearly_usd * a_.years; }

  SearchAsk search_ask(const GpuChoice& c, std::uint32_t gpus, double nic_gb_s) const {
    SearchAsk s;
    s.model = a_.model;
    s.gpu = c.gpu;
    s.calibration = c.calibration;
    s.network = {c.gpu.domain > 8 ? 4.0 : 8.0, nic_gb_s};
    s.gpus = gpus;
    s.global_batch = a_.batch;
    s.seq = a_.seq;
    s.dtype = a_.dtype;
    s.keep = 1;
    s.give_up = a_.give_up;
    return s;
  }

  WholeRun course(const GpuChoice& c, std::uint32_t gpus, double step_s, double write_gb_s) const {
    return whole_run({.step_s = step_s,
                      .tokens_a_step = static_cast<double>(a_.batch) * a_.seq,
                      .tokens = a_.tokens,
                      .gpus = gpus,
                      .gpu_w = c.gpu.tdp_w,
                      .params = a_.model.params(),
                      .storage_gb_s = write_gb_s});
  }
  double write_gb_s() const {
    return a_.tokens > 0 ? std::max(5.0, a_.model.params() * kCheckpointBytes / a_.checkpoint_s / 1e9) : 0.1 * a_.gpus;
  }

  // The fewest GPUs that are done in time, of sizes that a run can be spread over: from what would do if they were never idle.
  std::optional<std::uint32_t> enough(const GpuChoice& c) {
    const double flops = a_.model.flops_per_token(a_.seq) * a_.tokens;
    const double least = flops / (std::max(1.0, c.gpu.peak(a_.dtype)) * a_.days * 86'400);
    double best = std::numeric_limits<double>::infinity();
    const auto days = [&](std::uint32_t gpus) {
      const auto found = search(search_ask(c, gpus, c.gpu.nic_gb_s));
      if (!found || found->best.empty()) return std::numeric_limits<double>::infinity();
      return course(c, gpus, found->best.front().step_s, write_gb_s()).s / 86'400;
    };
    int slower = 0;  // sizes in a row that gained nothing: the batch has no more to share out
    for (std::uint32_t base = unit(c.gpu); base <= 131'072 && slower < 3 && !gives_up(); base *= 2) {
      if (2 * base < least) continue;
      const double d = days(base);
      if (d > a_.days) {
        slower = d < best || best > 1e300 ? 0 : slower + 1;
        best = std::min(best, d);
        continue;
      }
      // Down to the eighth between this and the size below it.
      for (std::uint32_t eighth = 9; eighth < 16 && base >= 16 * unit(c.gpu); ++eighth) {
        const std::uint32_t gpus = base / 16 * eighth;
        if (gpus >= least && gpus % unit(c.gpu) == 0 && days(gpus) <= a_.days) return gpus;
      }
      return base;
    }
    problem_ = {Code::bad_input,
                fmt::format("none of these GPUs trains {} on {:.3g} tokens in {:g} days with batches of {}: {} needs {}",
                            a_.model.name, a_.tokens, a_.days, a_.batch, c.gpu.name,
                            std::isfinite(best) ? fmt::format("{:.1f} days", best) : "more memory or another batch"),
                "more days, fewer tokens, or a larger batch: GPUs beyond the batch have nothing to do"};
    return {};
  }

  Result<ClusterDesign> with(const GpuChoice& c, std::uint32_t gpus, FabricKind kind, double over) {
    const auto price = a_.prices.gpu.find(c.gpu.name);
    if (price == a_.prices.gpu.end()) {
      return fail(Code::not_found, fmt::format("no price of {} is known", c.gpu.name),
                  fmt::format("--prices FILE with a line \"gpu {},USD\"", c.gpu.name));
    }
    ClusterDesign d;
    d.gpu = c.gpu.name;
    d.gpus = gpus;
    d.peak_pflops = gpus * c.gpu.peak(a_.dtype) / 1e15;
    d.node_gpus = c.gpu.domain > 8 ? 4 : 8;
    d.nodes = gpus / d.node_gpus;
    const double node_kw = c.gpu.tdp_w * d.node_gpus * kServerOverGpu / 1000;
    // Racks that are one domain draw more than air carries away.
    d.cooling = c.gpu.domain > 8 ? Cooling::liquid : a_.cooling;
    const double rack_kw = rack_kw_of(d.cooling);
    d.nodes_per_rack =
        c.gpu.domain > 8 ? c.gpu.domain / d.node_gpus : std::clamp(static_cast<std::uint32_t>(rack_kw / node_kw), 1U, 8U);
    d.fabric = {kind, d.nodes, d.node_gpus, a_.radix, 0, over, c.gpu.nic_gb_s};
    // Room to grow: as many levels as the later size needs.
    if (a_.grow_to > gpus) {
      FabricAsk later = d.fabric;
      later.nodes = a_.grow_to / d.node_gpus;
      const auto grown = build_fabric(later);
      if (!grown) return tl::unexpected(grown.error());
      if (levels(*grown) > 2) d.fabric.levels = 3;
      d.growth = GrowthStep{a_.grow_to, later.nodes - d.nodes};
      for (const FabricNode& n : grown->nodes) d.growth->switches += n.is_switch ? 1 : 0;
      d.growth->cables = static_cast<std::uint32_t>(grown->links.size() / 2);
    }
    const auto fabric = build_fabric(d.fabric);
    if (!fabric) return tl::unexpected(fabric.error());
    for (const FabricNode& n : fabric->nodes) d.switches += n.is_switch ? 1 : 0;
    d.leaves = leaves_of(*fabric);
    d.cables = cables_of(*fabric, d.node_gpus, Floor(d.nodes_per_rack));
    d.transceivers = 2 * d.cables.fibre;
    judge(*fabric, c, d);
    if (auto ok = store(d); !ok) return tl::unexpected(ok.error());
    buy(d, price->second, node_kw);
    if (d.growth) grow(*d.growth, d, price->second);
    if (a_.tokens > 0) {
      const auto found = search(search_ask(c, gpus, c.gpu.nic_gb_s * d.bisection));
      if (!found) return tl::unexpected(found.error());
      if (found->best.empty()) {
        return fail(
            Code::bad_input,
            fmt::format("{} cannot be spread over {} {}: {}", a_.model.name, gpus, c.gpu.name,
                        found->candidates == 0 ? "they, its layers and the batch have no divisors in common" : "it does not fit"),
            fmt::format("--batch with a multiple of {}, or another number of GPUs; or GPUs with more memory", unit(c.gpu)));
      }
      d.plan = found->best.front().plan;
      d.step_s = found->best.front().step_s;
      d.run = course(c, gpus, d.step_s, d.write_gb_s);
    }
    return d;
  }

  Result<void> store(ClusterDesign& d) const {
    d.write_gb_s = write_gb_s();
    d.read_gb_s = a_.feed_gb_s * d.gpus;
    const double most = kStoragePorts * d.fabric.gb_s / d.node_gpus;
    if (a_.feed_gb_s > most) {
      return fail(
          Code::bad_input,
          fmt::format("{:g} GB/s a GPU do not come through the {} ports of {:g} GB/s that a node of {} has towards its store",
                      a_.feed_gb_s, kStoragePorts, d.fabric.gb_s, d.node_gpus),
          fmt::format("--feed {:g} or less", most));
    }
    const double hot =
        a_.tokens > 0 ? a_.model.params() * kCheckpointBytes * kCheckpointsKept / 1e15 : kFlashTbAGpu * d.gpus / 1e3;
    auto files = size_stores(a_.stores, false, {d.read_gb_s, d.write_gb_s, hot}, a_.prices);
    if (!files) return tl::unexpected(files.error());
    const auto wanted = std::find_if(files->begin(), files->end(),
                                     [&](const SizedStore& s) { return a_.store.empty() || s.kind.name == a_.store; });
    if (wanted == files->end()) {
      std::vector<std::string> known;
      for (const SizedStore& s : *files) known.push_back(s.kind.name);
      return fail(Code::not_found, fmt::format("no store of the kind {} is known", a_.store), "there are " + join(known, ", "));
    }
    std::rotate(files->begin(), wanted, wanted + 1);
    d.stores = std::move(*files);
    // All that was ever written goes there in the end, and it must take an hour's checkpoints within that hour.
    const double cold = std::max(2 * hot, a_.tokens * kDataBytesPerToken * kDataCopies / 1e15);
    const auto objects = size_stores(a_.stores, true, {d.read_gb_s / 10, d.write_gb_s / 60, cold}, a_.prices);
    if (!objects) return tl::unexpected(objects.error());
    if (!objects->empty()) d.objects = objects->front();
    const SizedStore both[] = {d.stores.front(), d.objects};
    d.storage_network = storage_network(d.nodes, both, d.read_gb_s + d.write_gb_s, a_.radix, d.fabric.gb_s, a_.prices);
    return {};
  }

  // What it costs and draws, with what is kept on the shelf.
  void buy(ClusterDesign& d, double gpu_usd, double node_kw) const {
    const SizedStore& files = d.stores.front();
    const std::uint32_t stored = files.blocks * files.kind.rack_units + d.objects.blocks * d.objects.kind.rack_units;
    d.racks = (d.nodes + d.nodes_per_rack - 1) / d.nodes_per_rack + (d.switches + d.storage_network.switches + 7) / 8 +
              (stored + 39) / 40;
    d.it_mw = (d.nodes * node_kw + (d.switches + d.storage_network.switches) * kSwitchKw + files.kw() + d.objects.kw()) / 1000;
    d.mw = d.it_mw * predict::usual_pue(d.cooling);
    const HardwarePrices& p = a_.prices;
    d.servers_usd = d.gpus * gpu_usd;
    const double cables_usd = d.cables.copper * p.copper_cable + d.cables.active * p.active_cable + d.cables.fibre * p.fibre +
                              d.transceivers * p.transceiver;
    d.network_usd = d.switches * p.switch_usd + cables_usd;
    d.storage_usd = files.usd + d.objects.usd + d.storage_network.usd;
    d.spare_nodes = spares_for(d.nodes, kGpuFailuresAYear * d.node_gpus, kRepairDays);
    d.spare_cables = static_cast<std::uint32_t>(std::ceil(kSpareCables * d.cables.all()));
    d.spares_usd = d.spare_nodes * d.node_gpus * gpu_usd + kSpareCables * cables_usd + p.switch_usd;
    // A hall's price is for one that is cooled by air.
    const double as_in_air_kw = d.mw / predict::usual_pue(Cooling::air) * 1000;
    d.yearly_usd = predict::hall_usd_a_year(as_in_air_kw, p.hall_kw_month) + p.people_year;
  }

  // From all that there is then to what comes on top; cables as they cost on average now.
  void grow(GrowthStep& g, const ClusterDesign& d, double gpu_usd) const {
    const std::uint32_t cables = d.cables.all();
    const double switches_usd = d.switches * a_.prices.switch_usd,
                 a_cable = (d.network_usd - switches_usd) / std::max(1U, cables);
    g.switches -= std::min(g.switches, d.switches);
    g.cables -= std::min(g.cables, cables);
    g.usd = g.nodes * d.node_gpus * gpu_usd + g.switches * a_.prices.switch_usd + g.cables * a_cable +
            d.storage_usd * (static_cast<double>(g.gpus) / d.gpus - 1);
  }

  static std::uint32_t leaves_of(const Fabric& f) {
    std::uint32_t n = 0;
    for (const FabricNode& node : f.nodes) {
      n += node.is_switch && std::any_of(node.out.begin(), node.out.end(), [&](std::uint32_t l) {
             return l != Fabric::kNoLink && !f.nodes[f.links[l].to].is_switch;
           });
    }
    return n;
  }
  static int levels(const Fabric& f) {
    for (const FabricNode& n : f.nodes) {
      if (n.is_switch && n.name.starts_with("core")) return 3;
    }
    return 2;
  }

  // What the network gives. Rings of a training run are taken to cross its narrowest tier, all of them.
  void judge(const Fabric& fabric, const GpuChoice& c, ClusterDesign& d) const {
    predict::Router router(fabric, predict::Routing::hashed);
    d.hops = mean_hops(fabric, router);
    const Narrowest n = narrowest(fabric);
    d.bisection = n.share;
    d.one_down = n.one_down;
    CollectiveRow row;
    row.setup = {Collective::all_reduce, c.gpu.name, d.gpus, std::min(d.gpus, c.gpu.domain), 0, ""};
    if (d.gpus > c.gpu.domain) {
      row.setup.nic_gb_s = c.gpu.nic_gb_s;
      row.setup.network = "infiniband";
    }
    row.bytes = 1 << 30;
    const GpuModel known[] = {c.gpu};
    // One ring over all, as it lies in the network: it leaves a leaf only where the next node is under another.
    constexpr std::uint32_t kRing = 8192;  // longer ones get what this one does
    predict::Router adaptive(fabric, predict::Routing::adaptive);
    const auto ring = predict::ring_traffic(fabric, adaptive, std::min(d.gpus, kRing), std::min(d.node_gpus, row.setup.together));
    const double share = ring && row.setup.gpus > row.setup.together ? std::min(1.0, ring->slowest_mean) : 1;
    if (const auto p = predict::Collectives({}, a_.classes, known, {}).predict(row, share)) d.all_reduce_s = p->s;
  }

  void mark_front() {
    constexpr double kSlack[] = {0, 0, 0, 0.005};
    std::vector<Merits> all;
    for (const ClusterDesign& d : out_) all.push_back({d.capital_usd(), d.yearly_usd, d.run ? d.run->s : 0.0, -d.bisection});
    const std::vector<bool> front = pareto_front(all, kSlack);
    for (std::size_t i = 0; i < out_.size(); ++i) out_[i].front = front[i];
  }

  const ClusterAsk& a_;
  std::vector<ClusterDesign> out_;
  std::vector<std::string> left_out_;
  Error problem_{Code::bad_input, "no GPUs to choose from", "--gpu NAME"};
};

Result<void> check(const ClusterAsk& a) {
  const auto bad = [](std::string what, const char* next) { return fail(Code::bad_input, std::move(what), next); };
  if ((a.days > 0) == (a.gpus > 0))
    return bad("either a run with its days, or a number of GPUs", "--days N with --model and --tokens, or --gpus N");
  if (a.days > 0 && a.tokens <= 0) return bad("days for which run?", "--model NAME --tokens N");
  if (a.gpus > 131'072) return bad(fmt::format("{} GPUs", a.gpus), "at most 131,072");
  if (a.grow_to > 0 && a.grow_to <= a.gpus)
    return bad(fmt::format("{} GPUs do not grow to {}", a.gpus, a.grow_to), "--grow-to a larger number");
  if (a.stores.empty()) return bad("no stores to choose from", "data/hardware/stores.csv");
  if (a.choices.empty()) return bad("no GPUs to choose from", "--gpu NAME");
  return {};
}

}  // namespace

Result<ClusterDesigns> design_clusters(const ClusterAsk& ask) {
  if (auto ok = check(ask); !ok) return tl::unexpected(ok.error());
  return Designer(ask).run();
}

}  // namespace muster::design
