#include "decide/quota/quota.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"

namespace muster::decide {
namespace {

constexpr std::int64_t kNoLimit = INT64_MAX;
constexpr auto kGpus = static_cast<std::size_t>(Resource::gpus);
constexpr auto kPower = static_cast<std::size_t>(Resource::power);

std::uint32_t floor_of(const QueueSpec& s, std::string_view model) {
  for (const ModelQuota& m : s.models) {
    if (m.model == model) return m.guaranteed_gpus;
  }
  return 0;
}

Result<void> check_one(const QueueSpec& s) {
  const auto wrong = [&](std::string_view what, std::string_view next) {
    return fail(Code::bad_input, fmt::format("queue {}: {}", s.name, what), std::string(next));
  };
  if (s.name.empty()) return fail(Code::bad_input, "a queue has no name", "name it");
  if (!(s.weight > 0) || s.weight > 1e9) return wrong("weight must be above 0", "set a weight such as 1");
  if (!(s.limit_kw >= 0) || s.limit_kw > 1e9) return wrong("limit_kw must be 0 (none) or more", "correct it");
  if (s.limit_gpus != 0 && s.guaranteed_gpus > s.limit_gpus) {
    return wrong(fmt::format("guarantees {} GPUs and limits them to {}", s.guaranteed_gpus, s.limit_gpus),
                 "raise limit_gpus or lower guaranteed_gpus");
  }
  std::set<std::string_view> models;
  for (const ModelQuota& m : s.models) {
    if (m.model.empty() || !models.insert(m.model).second) return wrong("a model is unnamed or named twice", "name each once");
    if (m.limit_gpus != 0 && m.guaranteed_gpus > m.limit_gpus) {
      return wrong(fmt::format("guarantees {} {} and limits them to {}", m.guaranteed_gpus, m.model, m.limit_gpus),
                   "raise limit_gpus or lower guaranteed_gpus");
    }
  }
  if (!s.borrow && s.guaranteed_gpus == 0) return wrong("has no guarantee and may not borrow: nothing could run", "allow one");
  return {};
}

// What the queues directly below `parent` are guaranteed, of all models (empty) or of one.
std::uint64_t promised(std::span<const QueueSpec> specs, std::string_view parent, std::string_view model) {
  std::uint64_t sum = 0;
  for (const QueueSpec& s : specs) {
    if (s.parent == parent) sum += model.empty() ? s.guaranteed_gpus : floor_of(s, model);
  }
  return sum;
}

Result<void> check_promises(std::span<const QueueSpec> specs, const QueueSpec& s) {
  std::set<std::string_view> models = {""};
  for (const QueueSpec& q : specs) {
    for (const ModelQuota& m : q.models) models.insert(m.model);
  }
  for (const std::string_view model : models) {
    const std::uint64_t below = promised(specs, s.name, model);
    const std::uint32_t own = model.empty() ? s.guaranteed_gpus : floor_of(s, model);
    if (below > own) {
      return fail(Code::bad_input,
                  fmt::format("queue {}: the queues below it are guaranteed {} {}GPUs, it has {}", s.name, below,
                              model.empty() ? "" : fmt::format("{} ", model), own),
                  "raise its guaranteed_gpus to the sum, or lower theirs");
    }
  }
  return {};
}

}  // namespace

Result<void> check_queues(std::span<const QueueSpec> specs) {
  std::map<std::string_view, std::string_view> parent;
  for (const QueueSpec& s : specs) {
    if (auto r = check_one(s); !r) return r;
    if (!parent.emplace(s.name, s.parent).second) return fail(Code::bad_input, fmt::format("queue {} is there twice", s.name));
  }
  for (const QueueSpec& s : specs) {
    std::string_view up = s.parent;
    for (std::size_t steps = 0; !up.empty(); ++steps) {
      const auto it = parent.find(up);
      if (it == parent.end()) {
        return fail(Code::bad_input, fmt::format("queue {}: no queue is named {}, its parent", s.name, up), "correct the parent");
      }
      if (steps > specs.size())
        return fail(Code::bad_input, fmt::format("queue {} is its own parent", s.name), "break the circle");
      up = it->second;
    }
    if (auto r = check_promises(specs, s); !r) return r;
  }
  return {};
}

Quotas::Quotas(std::span<const QueueSpec> specs, const Pool& pool)
    : capacity_(pool.capacity), models_{pool.first_model, pool.second_model} {
  const auto ms = static_cast<std::size_t>(Resource::first_model);
  queues_.resize(specs.size() + 1);
  queues_[kRootQueue].limit.fill(kNoLimit);
  queues_[kRootQueue].guaranteed = capacity_;
  std::map<std::string_view, QueueIndex> index;
  for (QueueIndex q = 1; q <= specs.size(); ++q) index[specs[q - 1].name] = q;
  for (QueueIndex q = 1; q <= specs.size(); ++q) {
    const QueueSpec& s = specs[q - 1];
    Queue& to = queues_[q];
    to.name = s.name;
    to.weight = s.weight;
    to.bound[kGpus] = !s.borrow;
    to.lend = s.lend;
    to.limit.fill(kNoLimit);
    to.guaranteed[kGpus] = std::int64_t{s.guaranteed_gpus} * 1000;
    if (s.limit_gpus != 0) to.limit[kGpus] = std::int64_t{s.limit_gpus} * 1000;
    if (s.limit_kw > 0) to.limit[kPower] = static_cast<std::int64_t>(s.limit_kw * 1000);
    for (const ModelQuota& m : s.models) {
      for (std::size_t k = 0; k < 2; ++k) {
        if (m.model != models_[k]) continue;
        to.guaranteed[ms + k] = std::int64_t{m.guaranteed_gpus} * 1000;
        to.bound[ms + k] = !s.borrow;  // of models it does not name it may have what there is
        if (m.limit_gpus != 0) to.limit[ms + k] = std::int64_t{m.limit_gpus} * 1000;
      }
    }
    if (!s.parent.empty()) {
      const auto it = index.find(s.parent);
      MUSTER_CHECK(it != index.end());
      to.parent = it->second;
    }
    queues_[to.parent].children.push_back(q);
    for (std::size_t r = 0; r < kResources; ++r) governed_[r] = governed_[r] || to.guaranteed[r] > 0;
  }
  for (const auto& [name, q] : index) by_name_.push_back(q);
  for (Queue& q : queues_) {
    q.own_guaranteed = q.guaranteed;
    for (const QueueIndex c : q.children) {
      for (std::size_t r = 0; r < kResources; ++r) q.own_guaranteed[r] -= queues_[c].guaranteed[r];
    }
  }
  // Nothing is guaranteed to jobs of no queue.
  for (std::int64_t& a : queues_[kRootQueue].own_guaranteed) a = 0;
  // What queues that do not lend keep to themselves counts from the start, from the bottom up.
  std::vector<QueueIndex> down = {kRootQueue};
  for (std::size_t i = 0; i < down.size(); ++i)
    down.insert(down.end(), queues_[down[i]].children.begin(), queues_[down[i]].children.end());
  for (std::size_t i = down.size(); i-- > 1;) {
    const Amounts k = kept(down[i]);
    for (std::size_t r = 0; r < kResources; ++r) queues_[queues_[down[i]].parent].charge[r] += k[r];
  }
}

QueueIndex Quotas::find(std::string_view name) const {
  const auto at = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                   [&](QueueIndex q, std::string_view n) { return queues_[q].name < n; });
  return at != by_name_.end() && queues_[*at].name == name ? *at : kRootQueue;
}

Amounts Quotas::ask(std::uint32_t milli_gpus, std::string_view model, std::int64_t power_w) const {
  Amounts a{};
  a[kGpus] = milli_gpus;
  for (std::size_t k = 0; k < 2; ++k) {
    if (!model.empty() && model == models_[k]) a[static_cast<std::size_t>(Resource::first_model) + k] = milli_gpus;
  }
  a[kPower] = power_w;
  return a;
}

Amounts Quotas::kept(QueueIndex q) const {
  const Queue& x = queues_[q];
  Amounts out = x.charge;
  if (!x.lend) {
    for (std::size_t r = 0; r < kResources; ++r) out[r] = std::max(out[r], x.guaranteed[r]);
  }
  return out;
}

std::int64_t Quotas::most(QueueIndex q, std::size_t r) const {
  const Queue& x = queues_[q];
  if (q == kRootQueue) return capacity_[r] > 0 ? capacity_[r] : kNoLimit;
  return x.bound[r] && governed_[r] ? std::min(x.limit[r], x.guaranteed[r]) : x.limit[r];
}

Quotas::Block Quotas::blocked(QueueIndex q, const Amounts& ask) const {
  Amounts more = ask;
  for (;; q = queues_[q].parent) {
    const Queue& x = queues_[q];
    for (std::size_t r = 0; r < kResources; ++r) {
      // A queue already beyond what it may have (the policy or the capacity shrank) blocks only what makes it worse.
      if (more[r] > 0 && x.charge[r] + more[r] > most(q, r)) return {q, r, true};
    }
    if (q == kRootQueue) return {};
    for (std::size_t r = 0; r < kResources; ++r) {
      const std::int64_t floor = x.lend ? 0 : x.guaranteed[r];
      more[r] = std::max(x.charge[r] + more[r], floor) - std::max(x.charge[r], floor);
    }
  }
}

bool Quotas::allows(QueueIndex q, const Amounts& ask) const { return !blocked(q, ask).found; }

bool Quotas::allows_but_for_room(QueueIndex q, const Amounts& ask) const {
  const Block b = blocked(q, ask);
  return !b.found || b.queue == kRootQueue;
}

bool Quotas::within_guarantee(QueueIndex q, const Amounts& ask) const {
  const Queue& x = queues_[q];
  bool guaranteed = false;
  for (std::size_t r = 0; r < kResources; ++r) {
    if (!governed_[r] || ask[r] <= 0) continue;
    if (x.own[r] + ask[r] > x.own_guaranteed[r]) return false;
    guaranteed = true;
  }
  return guaranteed;
}

bool Quotas::guarded(const Amounts& ask) const {
  for (std::size_t r = 0; r < kResources; ++r) {
    if (governed_[r] && ask[r] > 0) return true;
  }
  return false;
}

std::optional<std::int64_t> Quotas::bound(QueueIndex q, Resource r) const {
  if (q == kRootQueue) return std::nullopt;
  const std::int64_t most_of_it = most(q, static_cast<std::size_t>(r));
  return most_of_it == kNoLimit ? std::nullopt : std::optional<std::int64_t>(most_of_it);
}

std::string Quotas::never(QueueIndex q, const Amounts& ask) const {
  for (QueueIndex up = q; up != kRootQueue; up = queues_[up].parent) {
    for (std::size_t r = 0; r < kResources; ++r) {
      if (ask[r] <= 0 || ask[r] <= most(up, r)) continue;
      const auto number = [&](std::int64_t v) { return fmt::format("{:.6g}", static_cast<double>(v) / 1000); };
      const std::string who =
          up == q ? fmt::format("its queue {}", name(q)) : fmt::format("{}, above its queue {},", name(up), name(q));
      const bool limit = most(up, r) == queues_[up].limit[r];
      return fmt::format("{} has a {} of {} {}{}, and it asks for {}", who, limit ? "limit" : "guarantee", number(most(up, r)),
                         unit(r), limit ? "" : " and may not borrow", number(ask[r]));
    }
  }
  return {};
}

double Quotas::due(QueueIndex q) const {
  double part = 1;
  for (; q != kRootQueue; q = queues_[q].parent) {
    double all = 0;
    for (const QueueIndex c : queues_[queues_[q].parent].children) all += queues_[c].weight;
    part *= queues_[q].weight / all;
  }
  return part;
}

std::string Quotas::unit(std::size_t r) const {
  if (r == kPower) return "kW";
  return r == kGpus ? "GPUs" : models_[r - static_cast<std::size_t>(Resource::first_model)] + " GPUs";
}

std::string Quotas::words(const Block& b, const Amounts& ask) const {
  const Queue& x = queues_[b.queue];
  const std::string who = b.queue == kRootQueue ? "the cluster" : x.name;
  const auto number = [&](std::int64_t v) { return fmt::format("{:.6g}", static_cast<double>(v) / 1000); };
  const std::int64_t cap = most(b.queue, b.resource);
  const std::string what = b.queue == kRootQueue        ? "all that is there"
                           : cap == x.limit[b.resource] ? "its limit"
                                                        : "its guarantee, and it may not borrow";
  std::string kept_words;
  if (x.charge[b.resource] > x.use[b.resource]) {
    kept_words = fmt::format(" ({} of them kept for queues that do not lend)", number(x.charge[b.resource] - x.use[b.resource]));
  }
  return fmt::format("{} has {} of {} {} taken{}, {} more are asked: beyond {}", who, number(x.charge[b.resource]), number(cap),
                     unit(b.resource), kept_words, number(ask[b.resource]), what);
}

QuotaVerdict Quotas::may_start(QueueIndex q, const Amounts& ask) const {
  MUSTER_CHECK(q < queues_.size());
  QuotaVerdict v;
  const bool within = within_guarantee(q, ask);
  const bool any = guarded(ask);
  const Block b = blocked(q, ask);
  v.ok = !b.found;
  v.borrowed = v.ok && !within && any;
  v.reclaim = b.found && within && governed_[b.resource];
  const std::string& who = queues_[q].name;
  if (b.found) {
    v.why = words(b, ask);
    if (v.reclaim) v.why += fmt::format("; {} is within its guarantee: who borrowed must give back", who);
  } else if (v.borrowed) {
    v.why = fmt::format("{} borrows: {:.6g} of {:.6g} guaranteed GPUs in use, {:.6g} asked",
                        q == kRootQueue ? "a job of no queue" : who, static_cast<double>(queues_[q].own[kGpus]) / 1000,
                        static_cast<double>(queues_[q].own_guaranteed[kGpus]) / 1000, static_cast<double>(ask[kGpus]) / 1000);
  } else {
    v.why = any ? fmt::format("within the guarantee of {}", who) : "no quota stands against it";
  }
  return v;
}

void Quotas::take(QueueIndex q, const Amounts& a) {
  MUSTER_CHECK(q < queues_.size());
  for (std::size_t r = 0; r < kResources; ++r) {
    queues_[q].own[r] += a[r];
    MUSTER_CHECK(queues_[q].own[r] >= 0);
  }
  Amounts more = a;
  for (QueueIndex i = q;; i = queues_[i].parent) {
    Queue& x = queues_[i];
    const Amounts before = kept(i);
    for (std::size_t r = 0; r < kResources; ++r) {
      x.use[r] += a[r];
      x.charge[r] += more[r];
    }
    if (i == kRootQueue) return;
    const Amounts after = kept(i);
    for (std::size_t r = 0; r < kResources; ++r) more[r] = after[r] - before[r];
  }
}

void Quotas::give(QueueIndex q, const Amounts& a) {
  Amounts less = a;
  for (std::int64_t& x : less) x = -x;
  take(q, less);
}

bool Quotas::must_give(QueueIndex from, QueueIndex asker, const Amounts& ask) const {
  if (from == asker) return false;
  const auto above = [&](QueueIndex q) {  // whether q is the asker or one of its parents
    for (QueueIndex a = asker;; a = queues_[a].parent) {
      if (a == q) return true;
      if (a == kRootQueue) return false;
    }
  };
  for (std::size_t r = 0; r < kResources; ++r) {
    if (!governed_[r] || ask[r] <= 0) continue;
    bool over = queues_[from].own[r] > queues_[from].own_guaranteed[r];
    for (QueueIndex q = from; over && !above(q); q = queues_[q].parent) over = queues_[q].charge[r] > queues_[q].guaranteed[r];
    if (over) return true;
  }
  return false;
}

std::vector<QueueIndex> Quotas::givers(QueueIndex asker, const Amounts& ask) const {
  std::vector<QueueIndex> out = order();
  std::reverse(out.begin(), out.end());
  std::erase_if(out, [&](QueueIndex q) { return !must_give(q, asker, ask); });
  return out;
}

void Quotas::set_past(std::span<const Usage> past, Duration half_life) {
  has_past_ = half_life.ns > 0 && !past.empty();
  for (QueueIndex q = 0; q < queues_.size(); ++q) {
    queues_[q].past = has_past_ && q < past.size() ? mean_use(past[q], half_life) : std::array<double, kResources>{};
  }
}

double Quotas::share_of(const Amounts& use, const std::array<double, kResources>& past, double weight) const {
  double most = 0;
  for (std::size_t r = 0; r < kResources; ++r) {
    if (capacity_[r] <= 0) continue;
    const double now = static_cast<double>(use[r]);
    most = std::max(most, (has_past_ ? (now + past[r]) / 2 : now) / static_cast<double>(capacity_[r]));
  }
  return most / weight;
}

double Quotas::share(QueueIndex q) const { return share_of(queues_[q].use, queues_[q].past, queues_[q].weight); }

// A queue's own jobs stand beside its children, as one more child of weight 1.
void Quotas::serve(QueueIndex q, std::vector<QueueIndex>& out) const {
  const Queue& x = queues_[q];
  std::array<double, kResources> own_past = x.past;
  std::vector<std::pair<double, QueueIndex>> next;
  for (const QueueIndex c : x.children) {
    next.emplace_back(share(c), c);
    for (std::size_t r = 0; r < kResources; ++r) own_past[r] = std::max(0.0, own_past[r] - queues_[c].past[r]);
  }
  next.emplace_back(share_of(x.own, own_past, 1), q);
  std::sort(next.begin(), next.end());
  for (const auto& [s, c] : next) {
    if (c == q) {
      out.push_back(q);
    } else {
      serve(c, out);
    }
  }
}

std::vector<QueueIndex> Quotas::order() const {
  std::vector<QueueIndex> out;
  out.reserve(queues_.size());
  serve(kRootQueue, out);
  return out;
}

std::vector<double> Quotas::factors() const {
  std::vector<double> out(queues_.size());
  double place = 0;
  for (const QueueIndex q : order()) out[q] = place++ / static_cast<double>(queues_.size());
  return out;
}

}  // namespace muster::decide
