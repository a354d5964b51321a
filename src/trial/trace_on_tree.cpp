// Replays on the placement tree: the queue engine of decide/schedule with the order of the policy.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/check.h"
#include "base/prng.h"
#include "decide/cluster_view.h"
#include "decide/place/tree.h"
#include "decide/schedule/pause.h"
#include "trial/trace_engines.h"

namespace muster::trial {
namespace {

using namespace decide;

// What a job of so many GPUs asks for: one node where one holds it; above that whole nodes, or the largest equal pieces there
// are. With counts only, and where that does not fit, any GPUs.
Shape pieces_of(std::uint32_t gpus, std::uint32_t size) {
  Shape s;
  s.pieces = gpus / size;
  s.gpus = size;
  return s;
}

Shape whole_nodes(std::uint32_t gpus, std::uint32_t node_gpus) {
  for (std::uint32_t size = std::min(gpus, node_gpus);; --size) {
    if (gpus % size == 0) return pieces_of(gpus, size);
  }
}

Layout plain_layout(std::uint32_t gpus) {
  Layout l;
  for (std::uint32_t n = 0; n * kReplayNodeGpus < gpus; ++n) {
    Layout::Node node;
    node.domain = n;
    node.leaf = n / kReplayLeafNodes;
    node.pod = node.leaf / kReplayPodLeaves;
    node.gpus = std::min(kReplayNodeGpus, gpus - n * kReplayNodeGpus);
    l.nodes.push_back(node);
  }
  l.models = {""};
  return l;
}

// GPUs of the largest leaf, for any model and of each: a gang beyond that cannot ask for one leaf.
std::vector<std::uint32_t> largest_leaves(const Layout& l) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> of;  // (model, leaf), the last model being "any"
  const auto any = static_cast<std::uint32_t>(l.models.size());
  for (const Layout::Node& n : l.nodes) {
    of[{n.model, n.leaf}] += n.gpus;
    of[{any, n.leaf}] += n.gpus;
  }
  std::vector<std::uint32_t> out(l.models.size() + 1, 0);
  for (const auto& [key, gpus] : of) out[key.first] = std::max(out[key.first], gpus);
  return out;
}

class OnTree {
 public:
  OnTree(Course& course, const ReplaySpec& spec)
      : c_(course),
        spec_(spec),
        layout_(spec.site.nodes.empty() ? plain_layout(spec.gpus) : layout_of(spec.site)),
        node_gpus_(spec.site.nodes.empty() ? kReplayNodeGpus : spec.site.gpus_per_node),
        leaf_gpus_(largest_leaves(layout_)),
        tree_(layout_),
        where_(course.jobs().size()),
        faults_(spec.seed, "node failures") {
    rank_.fairness_weight = 0;
    backfill_.always_reserve = false;
    if (spec.policy == ReplayPolicy::easy) backfill_.reserve = 1;
    if (spec.policy == ReplayPolicy::sjf) backfill_.reserve = 0;
    if (spec.failures_per_gpu_hour > 0) next_failure_ = c_.now() + failure_gap();
  }

  Replay run(const std::function<void(double)>& told);

 private:
  void queue(std::uint32_t job, Time paused_until);
  void take_in();
  void correct();
  std::vector<Ranked> order() const;
  void pass();
  void carry_out(const std::vector<Start>& starts);
  void pause(const std::vector<Ranked>& order, const Pass& pass);
  void drop_started(const std::vector<Start>& a, const std::vector<Start>& b);
  void insert_runner(std::uint32_t job);
  void remove_runner(std::uint32_t job);
  Duration failure_gap();
  void fail_node();
  void repair_nodes();
  std::uint32_t job_of(JobId id) const { return id.number - 1; }

  Course& c_;
  const ReplaySpec& spec_;
  Layout layout_;
  std::uint32_t node_gpus_;
  std::vector<std::uint32_t> leaf_gpus_;  // of the largest leaf: of each model, and last of any
  Tree tree_;
  RankPolicy rank_;
  BackfillPolicy backfill_;
  PausePolicy pause_;
  std::vector<Choice> where_;  // of running jobs
  std::vector<Waiter> waiting_;
  std::vector<Runner> running_;  // by (expected_end, id)
  std::uint64_t leaves_ = 0, leaves_min_ = 0, failures_ = 0;
  Prng faults_;
  Time next_failure_ = kNever;
  std::set<std::pair<Time, NodeId>> repairs_;
};

bool before(const Runner& a, const Runner& b) { return std::tie(a.expected_end, a.id) < std::tie(b.expected_end, b.id); }

void OnTree::insert_runner(std::uint32_t job) {
  const Runner r{JobId{job + 1, 0}, c_.jobs()[job].expected_end, &where_[job], 1000};
  running_.insert(std::lower_bound(running_.begin(), running_.end(), r, before), r);
}

void OnTree::remove_runner(std::uint32_t job) {
  const Runner r{JobId{job + 1, 0}, c_.jobs()[job].expected_end, nullptr, 1000};
  const auto it = std::lower_bound(running_.begin(), running_.end(), r, before);
  MUSTER_CHECK(it != running_.end() && it->id == r.id);
  running_.erase(it);
}

void OnTree::queue(std::uint32_t job, Time paused_until) {
  const CourseJob& j = c_.jobs()[job];
  Waiter w;
  w.id = JobId{job + 1, 0};
  w.gpus = j.gpus;
  w.shape = spec_.topology ? whole_nodes(j.gpus, node_gpus_) : pieces_of(j.gpus, 1);
  w.shape.model = spec_.site.nodes.empty() ? kAnyModel : model_of(layout_, *j.model);
  if (spec_.topology && j.gpus > 1) {
    w.or_else = pieces_of(j.gpus, 1);
    w.or_else->model = w.shape.model;
    if (j.gpus <= leaf_gpus_[std::min<std::size_t>(w.shape.model, layout_.models.size())]) w.or_else->required = Level::leaf;
  }
  w.order = job;
  w.queued = j.queued;
  w.waited_before = j.started_once ? j.first_wait + j.paused : Duration{};
  Duration all = j.estimate;
  while (all <= j.kept) all = all * 2;
  w.expected = all - j.kept;
  w.ran = j.kept;
  w.paused_until = paused_until;
  waiting_.push_back(w);
}

void OnTree::take_in() {
  for (const std::uint32_t job : c_.went()) {
    remove_runner(job);
    tree_.give(where_[job]);
  }
  for (const std::uint32_t job : c_.came()) queue(job, Time{INT64_MIN});
}

void OnTree::correct() {
  while (!running_.empty() && running_.front().expected_end <= c_.now()) {
    const std::uint32_t job = job_of(running_.front().id);
    running_.erase(running_.begin());
    c_.correct(job);
    insert_runner(job);
  }
}

std::vector<Ranked> OnTree::order() const {
  if (spec_.policy == ReplayPolicy::muster) return rank(waiting_, c_.now(), rank_);
  std::vector<Ranked> out;
  for (std::uint32_t i = 0; i < waiting_.size(); ++i) {
    const double score = spec_.policy == ReplayPolicy::sjf ? waiting_[i].expected.seconds() : 0;
    out.push_back({i, Band::open, score});
  }
  std::sort(out.begin(), out.end(), [&](const Ranked& a, const Ranked& b) {
    return std::tie(a.score, waiting_[a.index].order) < std::tie(b.score, waiting_[b.index].order);
  });
  return out;
}

void OnTree::carry_out(const std::vector<Start>& starts) {
  for (const Start& s : starts) {
    const std::uint32_t job = job_of(s.id);
    const Certificate& proof = s.choice.certificate;
    leaves_ += proof.leaves;
    leaves_min_ += proof.leaves_empty;
    double slowness = 1;
    if (spec_.slow_far && proof.leaves > proof.leaves_empty) slowness += kSlowerPerLeaf * (proof.leaves - proof.leaves_empty);
    where_[job] = s.choice;
    c_.start(job, slowness);
    insert_runner(job);
  }
}

void OnTree::drop_started(const std::vector<Start>& a, const std::vector<Start>& b) {
  if (a.empty() && b.empty()) return;
  std::vector<char> gone(waiting_.size(), 0);
  for (const auto* list : {&a, &b}) {
    for (const Start& s : *list) gone[s.index] = 1;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    if (gone[i] == 0) waiting_[kept++] = waiting_[i];
  }
  waiting_.resize(kept);
}

void OnTree::pause(const std::vector<Ranked>& order, const Pass& pass) {
  std::vector<char> gone(waiting_.size(), 0);
  for (const Start& s : pass.starts) gone[s.index] = 1;
  std::vector<Ranked> rest;
  for (const Ranked& r : order) {
    if (gone[r.index] == 0) rest.push_back(r);
  }
  std::vector<Pausable> running;
  for (const Runner& r : running_) {
    const CourseJob& j = c_.jobs()[job_of(r.id)];
    if (j.kept + (c_.now() - j.started) < pause_.ran_min) continue;
    Pausable p;
    p.id = r.id;
    p.ran = c_.progress(job_of(r.id));
    p.ran_since = c_.now() - j.started;
    p.lost = c_.unsafe(job_of(r.id));
    p.paused_before = j.paused;
    p.waited = j.first_wait;
    p.gpus = j.gpus;
    p.where = r.where;
    running.push_back(p);
  }
  const Pauses found = choose_pauses(tree_, waiting_, rest, running, c_.now(), pause_, pass.reservations);
  for (const Pause& p : found.pauses) {
    const std::uint32_t job = job_of(p.id);
    remove_runner(job);
    c_.stop(job, false);
    ++c_.jobs()[job].pauses;
  }
  carry_out(found.starts);
  drop_started(pass.starts, found.starts);
  for (const Pause& p : found.pauses) queue(job_of(p.id), c_.now() + p.length);
}

void OnTree::pass() {
  if (waiting_.empty()) return;
  const bool pauses = spec_.policy == ReplayPolicy::muster && spec_.pauses;
  if (tree_.free_gpus() == 0 && !pauses) return;
  correct();
  const std::vector<Ranked> line = order();
  Pass p;
  if (spec_.policy == ReplayPolicy::fifo) {
    for (const Ranked& r : line) {
      auto choice = tree_.find(waiting_[r.index].shape);
      if (!choice && waiting_[r.index].or_else) choice = tree_.find(*waiting_[r.index].or_else);
      if (!choice) break;
      tree_.take(*choice);
      p.starts.push_back({waiting_[r.index].id, r.index, std::move(*choice), false});
    }
  } else if (tree_.free_gpus() > 0) {
    p = backfill(tree_, waiting_, line, running_, c_.now(), backfill_);
  }
  carry_out(p.starts);
  if (pauses && p.starts.size() < waiting_.size())
    pause(line, p);
  else
    drop_started(p.starts, {});
}

Duration OnTree::failure_gap() { return from_seconds(faults_.exponential(3600 / (spec_.failures_per_gpu_hour * spec_.gpus))); }

// A node goes down with all that runs on it, and comes back repaired.
void OnTree::fail_node() {
  next_failure_ = c_.now() + failure_gap();
  const NodeId node{static_cast<std::uint32_t>(faults_.below(tree_.nodes()))};
  if (!tree_.is_open(node)) return;
  ++failures_;
  tree_.close(node);
  repairs_.insert({c_.now() + kNodeRepair, node});
  std::vector<std::uint32_t> hit;
  for (const Runner& r : running_) {
    if (std::find(r.where->nodes.begin(), r.where->nodes.end(), node) != r.where->nodes.end()) hit.push_back(job_of(r.id));
  }
  for (const std::uint32_t job : hit) {
    remove_runner(job);
    tree_.give(where_[job]);
    c_.stop(job, false);
    ++c_.jobs()[job].failures;
    queue(job, Time{INT64_MIN});
  }
}

void OnTree::repair_nodes() {
  while (!repairs_.empty() && repairs_.begin()->first <= c_.now()) {
    tree_.open(repairs_.begin()->second);
    repairs_.erase(repairs_.begin());
  }
}

Replay OnTree::run(const std::function<void(double)>& told) {
  const auto own = [&] { return std::min(next_failure_, repairs_.empty() ? kNever : repairs_.begin()->first); };
  bool given_up = false;
  while (!c_.over() && c_.step(own())) {
    take_in();
    repair_nodes();
    if (c_.now() >= next_failure_) fail_node();
    pass();
    if (told) told(c_.done());
    given_up = spec_.give_up > 0 && waiting_.size() > spec_.give_up;
    if (given_up || c_.now() >= spec_.stop) break;
  }
  Replay out = c_.finish();
  out.given_up = given_up;
  out.leaves = leaves_;
  out.leaves_min = spec_.topology ? leaves_min_ : 0;
  out.failures = failures_;
  return out;
}

}  // namespace

Replay replay_on_tree(Course& course, const ReplaySpec& spec, const std::function<void(double)>& told) {
  return OnTree(course, spec).run(told);
}

Replay replay_jobs(std::span<const TraceJob> trace, const ReplaySpec& spec, const std::function<void(double)>& told) {
  Course course(trace, spec);
  if (spec.policy == ReplayPolicy::las) return replay_least_attained(course, told);
  if (spec.policy != ReplayPolicy::muster && !spec.topology) return replay_counts(course, spec.policy, told);
  return replay_on_tree(course, spec, told);
}

}  // namespace muster::trial
