#include "design/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <tuple>
#include <vector>

namespace muster::design {
namespace {

std::vector<std::uint32_t> divisors(std::uint32_t n) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t d = 1; d <= n; ++d) {
    if (n % d == 0) out.push_back(d);
  }
  return out;
}

bool allows(std::uint32_t settled, std::uint32_t n) { return settled == 0 || settled == n; }

// Heads are dealt out whole; where there are fewer heads of keys and values than ranks, ranks share copies of them.
bool heads_split(const Transformer& m, std::uint32_t tp) {
  return m.heads % tp == 0 && (m.kv_rank > 0 || m.kv_heads % tp == 0 || tp % m.kv_heads == 0);
}

// Stages have the same number of layers, or the first and the last, with the embedding and the head, have fewer.
bool layers_split(const Transformer& m, std::uint32_t pp) {
  if (m.layers % pp == 0) return true;
  const std::uint32_t longest = (m.layers + pp - 1) / pp;
  return pp <= m.layers && m.layers >= longest * (pp - 2) + 2;
}

// Of what is settled, the first thing that no way of spreading the run could have.
Result<void> check_settled(const SearchAsk& a) {
  const Settled& s = a.settled;
  const auto bad = [](std::string what, std::string next) { return fail(Code::bad_input, std::move(what), std::move(next)); };
  if (s.tp > 0 && !heads_split(a.model, s.tp))
    return bad(
        fmt::format("{} heads ({} of keys and values) do not split among {} tensor ranks", a.model.heads, a.model.kv_heads, s.tp),
        "a divisor of the heads");
  if (s.pp > 0 && !layers_split(a.model, s.pp))
    return bad(
        fmt::format("{} layers do not make {} stages of which only the first and the last are shorter", a.model.layers, s.pp),
        "a number of stages that divides the layers, or nearly");
  if (s.cp > 1 && a.seq % (2 * s.cp) != 0)
    return bad(fmt::format("{} context ranks do not split {} tokens into two equal pieces each", s.cp, a.seq), "a power of two");
  if (s.ep > 0 && (a.model.experts == 0 ? s.ep > 1 : a.model.experts % s.ep != 0))
    return bad(fmt::format("{} experts do not split into {} groups", a.model.experts, s.ep), "a divisor of the experts");
  const std::uint64_t ranks = std::uint64_t{std::max(1U, s.tp)} * std::max(1U, s.cp) * std::max(1U, s.pp);
  if (a.gpus % ranks != 0)
    return bad(fmt::format("{} tensor, context and pipeline ranks do not divide {} GPUs", ranks, a.gpus),
               "ranks whose product divides the GPUs");
  if (s.pp == 1 && (s.vp > 1 || (s.schedule && *s.schedule != Schedule::one_f_one_b)))
    return bad("one stage has neither pieces nor an order of passes", "--pp 2 or more, or neither --vp nor --schedule");
  if (s.vp > 1 && s.schedule == Schedule::one_f_one_b)
    return bad(fmt::format("{} pieces a stage are interleaved, which 1f1b is not", s.vp), "--schedule interleaved, or --vp 1");
  if (s.vp > 1 && s.pp > 1 && a.model.layers % (s.pp * s.vp) != 0 && (a.model.layers + 2) % (s.pp * s.vp) != 0)
    return bad(fmt::format("{} layers do not make {} stages of {} equal pieces", a.model.layers, s.pp, s.vp),
               "pieces that divide a stage's layers");
  if (s.pp > 1 && s.shard && *s.shard >= Shard::gradients)
    return bad(fmt::format("with {} stages gradients and weights stay whole: other micro-batches are under way", s.pp),
               "--shard optimizer or none, or --pp 1");
  if (s.sequence_parallel == true && s.tp > 1 && a.seq % (std::uint64_t{s.tp} * std::max(1U, s.cp)) != 0)
    return bad(fmt::format("{} tokens do not split among {} tensor and {} context ranks", a.seq, s.tp, std::max(1U, s.cp)),
               "a sequence length that is a multiple, or no sequence parallelism");
  if (s.micro_batch > 0 && a.global_batch % s.micro_batch != 0)
    return bad(fmt::format("a batch of {} is no multiple of micro-batches of {}", a.global_batch, s.micro_batch),
               "a divisor of the batch");
  if (s.tp > 0 && s.cp > 0 && s.pp > 0) {
    const std::uint64_t sequences = a.gpus / ranks * std::max(1U, s.micro_batch);
    if (a.global_batch % sequences != 0)
      return bad(fmt::format("a batch of {} is no multiple of {} replicas with micro-batches of {}", a.global_batch,
                             a.gpus / ranks, std::max(1U, s.micro_batch)),
                 fmt::format("a batch that is a multiple of {}", sequences));
  }
  return {};
}

Result<void> check(const SearchAsk& a) {
  const auto bad = [](std::string what, const char* next) { return fail(Code::bad_input, std::move(what), next); };
  if (a.gpus == 0) return bad("a run on no GPUs", "at least one GPU");
  if (a.global_batch == 0 || a.seq == 0) return bad("a step of no tokens", "a batch and a sequence length above 0");
  if (a.gpu.peak(a.dtype) <= 0)
    return bad(fmt::format("{} has no {}", a.gpu.name, names(Dtype{})[static_cast<std::size_t>(a.dtype)]),
               "bf16 runs on all of them");
  if (a.gpus > a.gpu.domain && a.gpus % static_cast<std::uint32_t>(a.network.node_gpus) != 0)
    return bad(fmt::format("{} GPUs are no whole nodes of {:g}", a.gpus, a.network.node_gpus), "a multiple of a node's GPUs");
  return check_settled(a);
}

constexpr Recompute kRecompute[] = {Recompute::none, Recompute::selective, Recompute::full};
using Timed = std::array<std::optional<predict::MicroTime>, std::size(kRecompute)>;

constexpr double kAlike = 1.002;
constexpr double kNone = 1e-4;

class Search {
 public:
  explicit Search(const SearchAsk& ask) : a_(ask), limit_gb_(ask.gpu.hbm_gb * ask.memory_share) {}

  Result<SearchResult> run() {
    TrainingPlan p;
    p.gpus = a_.gpus;
    p.global_batch = a_.global_batch;
    p.seq = a_.seq;
    p.dtype = a_.dtype;
    const std::vector<std::uint32_t> batches = divisors(a_.global_batch);
    for (p.tp = 1; p.tp <= a_.gpus; p.tp *= 2) {
      if (a_.gpus % p.tp != 0 || !heads_split(a_.model, p.tp) || !allows(a_.settled.tp, p.tp)) continue;
      for (p.cp = 1; p.tp * p.cp <= a_.gpus; p.cp *= 2) {
        if (a_.gpus % (p.tp * p.cp) != 0 || (p.cp > 1 && a_.seq % (2 * p.cp) != 0) || !allows(a_.settled.cp, p.cp)) continue;
        for (p.ep = 1; p.ep <= std::max(1U, a_.model.experts); p.ep *= 2) {
          if (a_.model.experts % p.ep != 0 || p.ep > a_.gpus || !allows(a_.settled.ep, p.ep)) continue;
          layer_splits(p, batches);
        }
      }
    }
    if (given_up_) {
      return fail(Code::refused, fmt::format("the search was given up after {} ways to spread the run", out_.candidates),
                  "fewer GPUs, a batch with fewer divisors, or settle some of it (tp, pp, micro...)");
    }
    std::sort(out_.best.begin(), out_.best.end(), faster);
    prefer_simple();
    drop_copies();
    if (out_.best.size() > a_.keep) out_.best.resize(a_.keep);
    return std::move(out_);
  }

 private:
  static bool faster(const Candidate& x, const Candidate& y) { return x.step_s < y.step_s; }

  // Of those that no one could tell apart by their time, the one with the fewest kinds of exchange is best.
  void prefer_simple() {
    if (out_.best.empty()) return;
    const auto alike = std::partition_point(out_.best.begin(), out_.best.end(),
                                            [&](const Candidate& c) { return c.step_s <= kAlike * out_.best.front().step_s; });
    const auto ranks = [](const Candidate& c) { return std::tuple(c.plan.cp, c.plan.tp * c.plan.pp, c.plan.ep, c.plan.tp); };
    const auto simplest =
        std::min_element(out_.best.begin(), alike, [&](const Candidate& x, const Candidate& y) { return ranks(x) < ranks(y); });
    std::rotate(out_.best.begin(), simplest, simplest + 1);
  }

  // Context ranks that cost nothing only repeat what is there without them.
  void drop_copies() {
    std::vector<Candidate> kept;
    for (Candidate& c : out_.best) {
      const auto copy = [&](const Candidate& k) {
        return std::tuple(k.plan.tp, k.plan.pp, k.plan.ep) == std::tuple(c.plan.tp, c.plan.pp, c.plan.ep) &&
               std::abs(k.step_s / c.step_s - 1) < kNone;
      };
      if (std::none_of(kept.begin(), kept.end(), copy)) kept.push_back(std::move(c));
    }
    out_.best = std::move(kept);
  }

  // A split of a layer is timed once, for all the stages and replicas it may be given to.
  void layer_splits(TrainingPlan p, const std::vector<std::uint32_t>& batches) {
    const std::uint32_t rest = a_.gpus / (p.tp * p.cp);
    std::vector<std::uint32_t> stages;
    for (const std::uint32_t pp : divisors(rest)) {
      if (allows(a_.settled.pp, pp) && layers_split(a_.model, pp) &&
          static_cast<std::uint64_t>(p.tp) * p.cp * (rest / pp) % p.ep == 0)
        stages.push_back(pp);
    }
    std::vector<std::optional<Candidate>> best(stages.size());
    for (const std::uint32_t micro : batches) {
      if (!allows(a_.settled.micro_batch, micro)) continue;
      given_up_ = given_up_ || (a_.give_up && a_.give_up());
      if (given_up_) return;
      p.micro_batch = micro;
      for (const bool sp : {false, true}) {
        if (sp && (p.tp == 1 || a_.seq % (std::uint64_t{p.tp} * p.cp) != 0)) continue;
        if (a_.settled.sequence_parallel && p.tp > 1 && *a_.settled.sequence_parallel != sp) continue;
        p.sequence_parallel = sp;
        Timed timed;
        for (std::size_t i = 0; i < stages.size(); ++i) {
          p.pp = stages[i];
          p.dp = rest / p.pp;
          if (a_.global_batch % (static_cast<std::uint64_t>(p.dp) * micro) != 0) continue;
          if (!timed[0]) {
            for (const Recompute r : kRecompute) {
              p.recompute = r;
              timed[static_cast<std::size_t>(r)] = predict::micro_time(a_.gpu, a_.calibration, a_.network, a_.model, p);
            }
          }
          recomputations(p, timed, best[i]);
        }
      }
    }
    for (auto& b : best) {
      if (b) out_.best.push_back(std::move(*b));
    }
  }

  // Nothing, the attention, some layers of each stage, all of them.
  void recomputations(TrainingPlan& p, const Timed& timed, std::optional<Candidate>& best) {
    for (const Recompute r : kRecompute) {
      if (a_.settled.recompute && *a_.settled.recompute != r) continue;
      p.recompute = r;
      const std::uint32_t most = r == Recompute::full ? p.stage_layers(a_.model.layers) : 1;
      for (std::uint32_t k = a_.settled.recompute_all ? most : 1; k <= most; ++k) {
        if (r == Recompute::full && a_.settled.recompute_layers > 0 && std::min(most, a_.settled.recompute_layers) != k) continue;
        p.recompute_layers = r == Recompute::full && k < most ? k : 0;
        const double share = p.recomputed(a_.model.layers);
        const predict::MicroTime& all = *timed[static_cast<std::size_t>(r)];
        schedules(p, share > 0 && share < 1 ? timed[0]->mixed(all, share) : all, best);
      }
      p.recompute_layers = 0;
    }
  }

  void schedules(TrainingPlan& p, const predict::MicroTime& micro, std::optional<Candidate>& best) {
    // Where layers do not divide, the embedding and the head count as one each.
    const std::uint32_t layers = a_.model.layers % p.pp == 0 ? a_.model.layers : a_.model.layers + 2, per_stage = layers / p.pp;
    const bool interleaves = p.pp > 1 && layers % p.pp == 0 && a_.global_batch / (p.dp * p.micro_batch) % p.pp == 0;
    p.zero_bubble = a_.settled.schedule == Schedule::zero_bubble && p.pp > 1;
    for (p.vp = 1; p.vp <= (interleaves ? per_stage : 1); ++p.vp) {
      if (per_stage % p.vp != 0 || p.recompute_layers % p.vp != 0) continue;  // each piece has as many
      if (!allows(a_.settled.vp, p.vp) || (a_.settled.schedule && *a_.settled.schedule != p.schedule())) continue;
      for (const Shard s : {Shard::none, Shard::optimizer, Shard::gradients, Shard::weights}) {
        if ((s != Shard::none && !copies(p)) || (a_.settled.shard && *a_.settled.shard != s)) continue;
        if (s >= Shard::gradients && p.pp > 1)
          continue;  // gradients stay whole while micro-batches of other stages are under way
        p.shard = s;
        p.shard_ranks = 0;  // a copy among all replicas
        const std::uint32_t asked = a_.settled.shard_ranks;
        if (asked == 0 || asked >= p.dp * p.cp || s != Shard::weights) one(p, micro, best);
        if (s == Shard::weights && !a_.settled.one_copy) copies_of_few(p, micro, best);
      }
    }
    p.vp = 1;
  }

  // Is anything there more than once?
  bool copies(const TrainingPlan& p) const { return p.replicas() > 1 || (a_.model.experts > 0 && p.expert_replicas() > 1); }

  // A copy among the replicas of one domain, two, four...: groups are equal, and context ranks, which work on the same
  // sequences, are not torn apart.
  void copies_of_few(TrainingPlan& p, const predict::MicroTime& micro, std::optional<Candidate>& best) {
    const std::uint32_t asked = a_.settled.shard_ranks;
    for (std::uint32_t n = asked > 0 ? asked : std::bit_floor(std::max(2U, a_.gpu.domain / p.tp)); n < p.dp * p.cp; n *= 2) {
      if (p.dp * p.cp % n != 0 || n % p.cp != 0 || !allows(asked, n)) continue;
      // There are as many copies of the experts, or none.
      if (a_.model.experts > 0 && static_cast<std::uint64_t>(p.expert_replicas()) % (p.dp * p.cp / n) != 0) continue;
      p.shard_ranks = n;
      one(p, micro, best);
    }
    p.shard_ranks = 0;
  }

  void one(const TrainingPlan& p, const predict::MicroTime& micro, std::optional<Candidate>& best) {
    ++out_.candidates;
    const double gb = predict::memory_use(a_.model, p, a_.habits).all();
    if (!out_.smallest || gb < out_.smallest->memory_gb) out_.smallest = Candidate{p, 0, gb};
    if (gb > limit_gb_) return;
    ++out_.fit;
    const double s = predict::step_time(a_.gpu, a_.calibration, a_.network, a_.model, p, micro).all_s();
    // Of two that are as fast the one that keeps less is the safer.
    if (!best || s < best->step_s || (s == best->step_s && gb < best->memory_gb)) best = Candidate{p, s, gb};
  }

  const SearchAsk& a_;
  double limit_gb_;
  bool given_up_ = false;
  SearchResult out_;
};

}  // namespace

Result<SearchResult> search(const SearchAsk& ask) {
  if (auto ok = check(ask); !ok) return tl::unexpected(ok.error());
  return Search(ask).run();
}

}  // namespace muster::design
