// place_oracle [INSTANCES [SEED]]: the placement's answers on random small clusters against the optimum of a mixed-integer
// program.
//
// For each instance the program knows nodes, GPUs, leaves and segments, and none of the search's arithmetic. It is asked for
// - the fewest leaves inside the group that was chosen, and
// - the most pieces that each group of each lower level could take (or, where nothing was found, of the level required).
// These are independent, so that many instances go into one program whose objective is the sum of theirs.
#include <fmt/core.h>
#include <stdlib.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "decide/place/random_cluster.h"
#include "program.h"

namespace muster::oracle {
namespace {

using decide::Choice;
using decide::Layout;
using decide::Occupancy;
using decide::Shape;

struct Instance {
  Layout layout;  // nested
  Occupancy occupancy;
  Shape shape;
  std::optional<Choice> choice;
};

Instance random_instance(std::uint64_t seed) {
  Prng r(seed, "oracle");
  const Layout layout = decide::random_layout(r, 7);
  decide::Tree tree(layout);
  std::vector<decide::Running> running;
  for (std::uint64_t steps = r.below(50); steps > 0; --steps) decide::churn(tree, running, r, r.chance(0.2));
  Instance out{decide::nested(layout), tree.occupancy(), decide::random_shape(r), {}};
  // Gangs of up to all that is free, so that the upper levels are met as often as the lower ones.
  if (r.chance(0.7)) {
    out.shape.required = Level::core;
    const std::uint32_t each = out.shape.gpus == 0 ? 8 : out.shape.gpus;
    out.shape.pieces = static_cast<std::uint32_t>(1 + r.below(std::max(1U, tree.free_gpus() / each)));
  }
  out.choice = tree.find(out.shape);
  return out;
}

std::uint32_t group(const Instance& i, std::uint32_t node, Level level) {
  const auto& n = i.layout.nodes[node];
  switch (level) {
    case Level::node: return node;
    case Level::domain: return n.domain;
    case Level::leaf: return n.leaf;
    case Level::pod: return n.pod;
    case Level::core: return 0;
  }
  return 0;
}

// GPUs of a node that a piece may use, and how many of them one piece needs.
std::pair<std::uint32_t, std::uint32_t> gpus_of(const Instance& i, std::uint32_t node) {
  const auto& n = i.layout.nodes[node];
  std::uint32_t usable = 0;
  for (const std::uint16_t taken : i.occupancy.nodes[node].taken) usable += taken + i.shape.milli <= 1000 ? 1 : 0;
  if (!i.occupancy.nodes[node].open || !suits(i.shape, n.model, n.pools)) usable = 0;
  return {usable, i.shape.gpus == 0 ? n.gpus : i.shape.gpus};
}

// Pieces x of each node, as many as its GPUs allow, summed by domain. Returns domain -> terms of its pieces.
std::map<std::uint32_t, std::vector<Term>> add_nodes(Program& p, const Instance& i, const std::string& tag,
                                                     const std::vector<std::uint32_t>& nodes) {
  std::map<std::uint32_t, std::vector<Term>> domains;
  for (const std::uint32_t n : nodes) {
    const auto [usable, each] = gpus_of(i, n);
    if (usable < each) continue;
    const std::string x = fmt::format("{}x{}", tag, n);
    p.variable(x, i.shape.gpus == 0 ? 1 : 16);
    p.constrain({{each, x}}, "<=", usable);
    domains[i.layout.nodes[n].domain].emplace_back(1, x);
  }
  return domains;
}

std::vector<std::uint32_t> nodes_in(const Instance& i, Level level, std::uint32_t number) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t n = 0; n < i.layout.nodes.size(); ++n) {
    if (group(i, n, level) == number) out.push_back(n);
  }
  return out;
}

// Most pieces in one group: whole segments z of each domain, and a short one u in one of them.
void ask_most(Program& p, const Instance& i, const std::string& tag, const std::vector<std::uint32_t>& nodes) {
  const std::uint32_t segment = std::max(i.shape.segment, 1U);
  std::vector<Term> homes;
  for (auto& [domain, terms] : add_nodes(p, i, tag, nodes)) {
    const std::string z = fmt::format("{}z{}", tag, domain), u = fmt::format("{}u{}", tag, domain),
                      v = fmt::format("{}v{}", tag, domain);
    auto row = terms;
    row.emplace_back(-static_cast<double>(segment), z);
    p.variable(z, 1000);
    p.objective(-static_cast<double>(segment), z);
    if (segment > 1) {
      p.variable(u, segment - 1);
      p.variable(v, 1);
      p.objective(-1, u);
      row.emplace_back(-1, u);
      p.constrain({{1, u}, {-static_cast<double>(segment - 1), v}}, "<=", 0);
      homes.emplace_back(1, v);
    }
    p.constrain(row, "=", 0);
  }
  if (!homes.empty()) p.constrain(homes, "<=", 1);
}

// Fewest leaves y that hold the gang inside the chosen group.
void ask_leaves(Program& p, const Instance& i, const std::string& tag, const std::vector<std::uint32_t>& nodes) {
  const std::uint32_t segment = std::max(i.shape.segment, 1U), rest = i.shape.pieces % segment;
  std::vector<Term> whole, shorts;
  std::set<std::uint32_t> leaves;
  auto domains = add_nodes(p, i, tag, nodes);
  for (const std::uint32_t n : nodes) {
    const auto [usable, each] = gpus_of(i, n);
    if (usable < each) continue;
    const std::uint32_t leaf = i.layout.nodes[n].leaf;
    const std::string y = fmt::format("{}y{}", tag, leaf);
    if (leaves.insert(leaf).second) {
      p.variable(y, 1);
      p.objective(1, y);
    }
    p.constrain({{1, fmt::format("{}x{}", tag, n)}, {-16, y}}, "<=", 0);
  }
  for (auto& [domain, terms] : domains) {
    const std::string z = fmt::format("{}z{}", tag, domain), w = fmt::format("{}w{}", tag, domain);
    auto row = terms;
    p.variable(z, 1000);
    row.emplace_back(-static_cast<double>(segment), z);
    whole.emplace_back(1, z);
    if (rest > 0) {
      p.variable(w, 1);
      row.emplace_back(-static_cast<double>(rest), w);
      shorts.emplace_back(1, w);
    }
    p.constrain(row, "=", 0);
  }
  p.constrain(whole, "=", i.shape.pieces / segment);
  if (rest > 0) p.constrain(shorts, "=", 1);
}

void ask_level(Program& p, const Instance& i, std::size_t k, Level level) {
  std::set<std::uint32_t> groups;
  for (std::uint32_t n = 0; n < i.layout.nodes.size(); ++n) groups.insert(group(i, n, level));
  for (const std::uint32_t g : groups) {
    ask_most(p, i, fmt::format("i{}l{}g{}", k, static_cast<int>(level), g), nodes_in(i, level, g));
  }
}

void ask(Program& p, const Instance& i, std::size_t k) {
  if (!i.choice) return ask_level(p, i, k, i.shape.required);
  const auto& c = i.choice->certificate;
  ask_leaves(p, i, fmt::format("i{}c", k), nodes_in(i, c.level, c.group));
  for (std::size_t level = 0; level < static_cast<std::size_t>(c.level); ++level) ask_level(p, i, k, static_cast<Level>(level));
}

using Values = std::map<std::string, double>;

// Most pieces that the solver put into one group of a level.
std::uint32_t most_seen(const Values& values, const Instance& i, std::size_t k, Level level) {
  std::map<std::uint32_t, double> pieces;
  for (std::uint32_t n = 0; n < i.layout.nodes.size(); ++n) {
    const std::uint32_t g = group(i, n, level);
    const auto at = values.find(fmt::format("i{}l{}g{}x{}", k, static_cast<int>(level), g, n));
    if (at != values.end()) pieces[g] += at->second;
  }
  double best = 0;
  for (const auto& [g, sum] : pieces) best = std::max(best, sum);
  return static_cast<std::uint32_t>(std::lround(best));
}

std::string disagreement(const Values& values, const Instance& i, std::size_t k) {
  if (!i.choice) {
    const std::uint32_t most = most_seen(values, i, k, i.shape.required);
    return most < i.shape.pieces ? "" : fmt::format("nothing was found, the solver places {} of {}", most, i.shape.pieces);
  }
  const auto& c = i.choice->certificate;
  std::uint32_t leaves = 0;
  for (std::uint32_t l = 0; l < i.layout.nodes.size() * 2; ++l) {
    const auto at = values.find(fmt::format("i{}cy{}", k, l));
    if (at != values.end() && at->second > 0.5) ++leaves;
  }
  if (leaves != c.leaves) return fmt::format("{} leaves used, the solver needs {}", c.leaves, leaves);
  for (std::size_t level = 0; level < static_cast<std::size_t>(c.level); ++level) {
    const std::uint32_t most = most_seen(values, i, k, static_cast<Level>(level));
    if (most != c.best_below[level])
      return fmt::format("level {}: {} at most, the solver says {}", level, c.best_below[level], most);
  }
  return {};
}

struct Tally {
  std::array<std::uint32_t, kLevels> by_level{};
  std::uint32_t nothing = 0, segments = 0, several_leaves = 0, wrong = 0;
};

void count(Tally& t, const Instance& i) {
  if (!i.choice) {
    ++t.nothing;
    return;
  }
  ++t.by_level[static_cast<std::size_t>(i.choice->certificate.level)];
  t.segments += i.shape.segment > 1 ? 1 : 0;
  t.several_leaves += i.choice->certificate.leaves > 1 ? 1 : 0;
}

int run(std::uint64_t instances, std::uint64_t seed) {
  char pattern[] = "/tmp/place-oracle-XXXXXX";
  if (mkdtemp(pattern) == nullptr) return 1;
  const std::string folder = pattern;
  Tally tally;
  constexpr std::uint64_t kBatch = 25;
  for (std::uint64_t first = 0; first < instances; first += kBatch) {
    std::vector<Instance> batch;
    Program program;
    for (std::uint64_t i = first; i < std::min(first + kBatch, instances); ++i) {
      batch.push_back(random_instance(seed + i));
      ask(program, batch.back(), batch.size() - 1);
      count(tally, batch.back());
    }
    const auto values = solve(program, folder);
    if (!values) {
      fmt::print("not ok - Cbc has no optimum for instances {} on; see {}\n", seed + first, folder);
      return 1;
    }
    for (std::size_t k = 0; k < batch.size(); ++k) {
      const std::string what = disagreement(*values, batch[k], k);
      if (what.empty()) continue;
      ++tally.wrong;
      fmt::print("not ok - instance {}: {}\n", seed + first + k, what);
    }
  }
  std::filesystem::remove_all(folder);
  fmt::print(
      "# placed in a node {}, NVLink domain {}, leaf {}, pod {}, core {}; nothing found {}; with segments {}; several leaves "
      "{}\n",
      tally.by_level[0], tally.by_level[1], tally.by_level[2], tally.by_level[3], tally.by_level[4], tally.nothing,
      tally.segments, tally.several_leaves);
  const bool enough = tally.by_level[3] + tally.by_level[4] >= instances / 10 && tally.several_leaves >= instances / 10;
  fmt::print("{} - the instances reach every level and use several leaves often enough\n", enough ? "ok" : "not ok");
  fmt::print("{} - {} random clusters: fewest leaves and every lower level equal the exact solver's\n",
             tally.wrong == 0 ? "ok" : "not ok", instances);
  return tally.wrong == 0 && enough ? 0 : 1;
}

}  // namespace
}  // namespace muster::oracle

int main(int argc, char** argv) {
  if (!muster::oracle::solver_installed()) {
    fmt::print("skip - oracle: no cbc here (package coinor-cbc)\n");
    return 77;
  }
  const std::uint64_t instances = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 800;
  return muster::oracle::run(instances, argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
}
