#include "fleet/golden.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "base/node_list.h"
#include "base/text.h"
#include "fleet/racks.h"
#include "fleet/same_value.h"
#include "fleet/version.h"

namespace muster::fleet {
namespace {

// Of a key that the book does not know: so many different values, and more than that share of those that know, are names.
constexpr std::size_t kNamesLeast = 8;
constexpr double kNamesShare = 0.5;
constexpr std::size_t kPartsLeast = 3;  // of a node, that can outvote one
constexpr double kPartsShare = 0.6;

bool known(FactCode c) { return c == kFactAbsent || c >= kFirstValue; }

// "*" stands for anything, at the end.
bool matches(std::string_view pattern, std::string_view text) {
  if (!pattern.empty() && pattern.back() == '*') return text.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == text;
}

// How often each value is there among some nodes. Emptied by what was touched: some columns have a value for each node.
class Tally {
 public:
  void begin(const std::vector<FactCode>& same) {
    for (const FactCode c : touched_) count_[c] = 0;
    touched_.clear();
    same_ = &same;
    known_ = 0;
    if (count_.size() < same.size()) count_.resize(same.size(), 0);
  }
  void add(FactCode c) {
    const FactCode bin = (*same_)[c];
    if (count_[bin]++ == 0) touched_.push_back(bin);
    ++known_;
  }
  std::uint32_t known_nodes() const { return known_; }
  std::size_t distinct() const { return touched_.size(); }
  std::uint32_t count(FactCode c) const { return count_[(*same_)[c]]; }
  bool same(FactCode a, FactCode b) const { return (*same_)[a] == (*same_)[b]; }
  // Most first; of equals the value that was seen first.
  std::vector<std::pair<FactCode, std::uint32_t>> split() const {
    std::vector<std::pair<FactCode, std::uint32_t>> out;
    for (const FactCode c : touched_) out.emplace_back(c, count_[c]);
    std::sort(out.begin(), out.end(),
              [](const auto& a, const auto& b) { return a.second != b.second ? a.second > b.second : a.first < b.first; });
    return out;
  }
  FactCode top() const {
    FactCode best = kFactUnknown;
    for (const FactCode c : touched_) {
      if (best == kFactUnknown || count_[c] > count_[best] || (count_[c] == count_[best] && c < best)) best = c;
    }
    return best;
  }
  double share(FactCode c) const { return known_ == 0 ? 0 : static_cast<double>(count(c)) / known_; }
  double surprise(FactCode c) const {
    const double p = static_cast<double>(count(c) + 1) / static_cast<double>(known_ + distinct());
    return p >= 1 ? 0 : -det_log(p) / det_log(2.0);
  }

 private:
  std::vector<std::uint32_t> count_;
  std::vector<FactCode> touched_;
  const std::vector<FactCode>* same_ = nullptr;
  std::uint32_t known_ = 0;
};

struct Held {
  const FactTable& table;
  const FactBook& book;
  const Declarations& declared;
  const GoldenOptions& options;
  std::vector<std::uint32_t> racks;
  std::vector<std::vector<std::int32_t>> word;  // by column, then by node: which declaration holds; -1: none. Often empty.
  std::vector<bool> split;                      // by column: the cohort at hand does not agree
  std::vector<std::string> left_out;
  std::vector<std::vector<FactCode>> same;  // by column: same_as()
  Tally tally, in_rack;
  Golden out;

  const FactColumn& column(std::size_t c) const { return table.columns()[c]; }
  std::int32_t word_of(std::size_t c, std::size_t node) const { return word[c].empty() ? -1 : word[c][node]; }
  bool knows(std::size_t c, std::size_t node) const { return known(same[c][column(c).code(node)]); }
  bool counts(std::size_t c, std::size_t node) const { return knows(c, node) && word_of(c, node) < 0; }

  Difference differing(std::uint32_t node, std::size_t c, std::size_t cohort, FactCode wanted, const Tally& among) const {
    Difference d;
    d.node = node;
    d.column = static_cast<std::uint32_t>(c);
    d.cohort = static_cast<std::uint32_t>(cohort);
    d.has = column(c).code(node);
    d.wanted_absent = wanted == kFactAbsent;
    if (!d.wanted_absent) d.wanted = column(c).values[wanted - kFirstValue];
    d.share = among.share(wanted);
    d.surprise_bits = among.surprise(d.has);
    return d;
  }

  void declare(const Declaration& d, std::size_t index);
  void hold_declared(std::size_t cohort);
  void hold_column(std::size_t cohort, std::size_t c);
  bool hold_by_rack(std::size_t cohort, std::size_t c);
  void hold_parts(std::size_t cohort);
  void hold_part(std::size_t cohort, std::uint32_t node, const std::vector<std::size_t>& columns);
};

std::vector<std::uint32_t> nodes_of(const FactTable& table, const Declaration& d) {
  std::vector<std::uint32_t> out;
  std::vector<std::ptrdiff_t> where;
  for (const auto& [key, value] : d.where) {
    const auto colon = key.find(':');
    where.push_back(colon == std::string::npos ? table.find_column("", key)
                                               : table.find_column(key.substr(0, colon), key.substr(colon + 1)));
  }
  const auto fits = [&](std::size_t node) {
    for (std::size_t i = 0; i < where.size(); ++i) {
      const std::string* v = where[i] < 0 ? nullptr : table.columns()[static_cast<std::size_t>(where[i])].value(node);
      if (v == nullptr || *v != d.where[i].second) return false;
    }
    return true;
  };
  if (d.nodes.empty()) {
    for (std::size_t n = 0; n < table.nodes().size(); ++n) {
      if (fits(n)) out.push_back(static_cast<std::uint32_t>(n));
    }
  }
  for (const std::string& name : d.nodes) {
    const std::ptrdiff_t n = table.find_node(name);
    if (n >= 0 && fits(static_cast<std::size_t>(n))) out.push_back(static_cast<std::uint32_t>(n));
  }
  return out;
}

void Held::declare(const Declaration& d, std::size_t index) {
  const std::vector<std::uint32_t> nodes = nodes_of(table, d);
  if (nodes.empty()) {
    out.notes.push_back(fmt::format("{}: no node is meant by it", d.source));
    return;
  }
  bool any = false;
  std::vector<bool> looked(table.nodes().size(), false);
  for (const std::size_t c : table.columns_of(d.key)) {
    if (!matches(d.entity, column(c).entity)) continue;
    any = true;
    if (word[c].empty()) word[c].assign(table.nodes().size(), -1);
    for (const std::uint32_t n : nodes) {
      word[c][n] = static_cast<std::int32_t>(index);
      if (knows(c, n)) looked[n] = true;
    }
  }
  const auto unknown = std::count_if(nodes.begin(), nodes.end(), [&](std::uint32_t n) { return !looked[n]; });
  if (!any) {
    out.notes.push_back(fmt::format("{}: nobody looked at {} anywhere", d.source, fact_name(d.entity, d.key)));
  } else if (unknown > 0) {
    out.notes.push_back(
        fmt::format("{}: {} of {} nodes were not looked at for {}", d.source, unknown, nodes.size(), fact_name(d.entity, d.key)));
  }
}

bool as_declared(const Declaration& d, FactCode code, const FactColumn& column, const FactBook& book) {
  if (d.absent || code == kFactAbsent) return d.absent && code == kFactAbsent;
  const std::string& v = column.values[code - kFirstValue];
  const FactMeaning* m = book.find(column.key);
  return v == d.value || (m != nullptr && m->kind == FactKind::version && compare_versions(v, d.value) == 0);
}

void Held::hold_declared(std::size_t cohort) {
  const std::vector<std::uint32_t>& nodes = out.cohorts[cohort].nodes;
  for (std::size_t c = 0; c < word.size(); ++c) {
    if (word[c].empty()) continue;
    tally.begin(same[c]);
    std::uint32_t right = 0;
    for (const std::uint32_t n : nodes) {
      const FactCode code = column(c).code(n);
      if (word[c][n] < 0 || !knows(c, n)) continue;
      tally.add(code);
      right += as_declared(declared[static_cast<std::size_t>(word[c][n])], code, column(c), book);
    }
    for (const std::uint32_t n : nodes) {
      const FactCode code = column(c).code(n);
      if (word[c][n] < 0 || !knows(c, n)) continue;
      const Declaration& w = declared[static_cast<std::size_t>(word[c][n])];
      if (as_declared(w, code, column(c), book)) continue;
      Difference d;
      d.node = n;
      d.column = static_cast<std::uint32_t>(c);
      d.cohort = static_cast<std::uint32_t>(cohort);
      d.has = code;
      d.wanted = w.value;
      d.wanted_absent = w.absent;
      d.basis = Basis::declared;
      d.source = w.source;
      d.share = static_cast<double>(right) / tally.known_nodes();
      d.surprise_bits = tally.surprise(code);
      out.differences.push_back(std::move(d));
    }
  }
}

// A value that each rack has of its own, as a gateway: then the rack is what a node is held against.
bool Held::hold_by_rack(std::size_t cohort, std::size_t c) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> racks_here;
  for (const std::uint32_t n : out.cohorts[cohort].nodes) {
    if (counts(c, n) && racks[n] != 0) racks_here[racks[n]].push_back(n);
  }
  std::size_t agree = 0;
  std::vector<FactCode> values;
  std::vector<Difference> odd;
  for (const auto& [rack, nodes] : racks_here) {
    if (nodes.size() < options.least) continue;
    in_rack.begin(same[c]);
    for (const std::uint32_t n : nodes) in_rack.add(column(c).code(n));
    const FactCode top = in_rack.top();
    if (in_rack.share(top) < std::min(options.share, 1 - 1.5 / static_cast<double>(nodes.size()))) continue;
    agree += nodes.size();
    values.push_back(top);
    for (const std::uint32_t n : nodes) {
      if (!in_rack.same(column(c).code(n), top)) odd.push_back(differing(n, c, cohort, top, in_rack));
    }
  }
  if (static_cast<double>(agree) < options.share * tally.known_nodes()) return false;
  const std::size_t groups = values.size();
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  // A few values over many racks are a change that is half rolled out, or two policies: somebody has to say which is right.
  if (values.size() < 3 || values.size() * 4 < groups) return false;
  out.differences.insert(out.differences.end(), odd.begin(), odd.end());
  return true;
}

void Held::hold_column(std::size_t cohort, std::size_t c) {
  const Cohort& k = out.cohorts[cohort];
  tally.begin(same[c]);
  for (const std::uint32_t n : k.nodes) {
    if (counts(c, n)) tally.add(column(c).code(n));
  }
  if (tally.known_nodes() < options.least || tally.distinct() < 2) return;
  const FactCode top = tally.top();
  std::uint32_t asked = 0;
  for (const std::uint32_t n : k.nodes) asked += word_of(c, n) < 0;
  const std::uint32_t unknown = asked - tally.known_nodes();
  const bool enough = unknown <= tally.known_nodes();  // few that know do not speak for the many of which nobody does
  if (enough && tally.share(top) >= options.share) {
    const std::size_t first = out.differences.size();
    for (const std::uint32_t n : k.nodes) {
      if (counts(c, n) && !tally.same(column(c).code(n), top)) out.differences.push_back(differing(n, c, cohort, top, tally));
    }
    for (std::size_t d = first; d < out.differences.size(); ++d) out.differences[d].unknown = unknown;
    return;
  }
  split[c] = true;
  if (enough && hold_by_rack(cohort, c)) return;
  // What the book knows and calls no identity is a setting, however many values it has.
  if (book.find(column(c).key) == nullptr && tally.distinct() >= kNamesLeast &&
      static_cast<double>(tally.distinct()) > kNamesShare * tally.known_nodes()) {
    out.own.emplace_back(static_cast<std::uint32_t>(cohort), static_cast<std::uint32_t>(c));
    left_out.push_back(fact_name(column(c).entity, column(c).key));
    return;
  }
  out.undecided.push_back({static_cast<std::uint32_t>(c), static_cast<std::uint32_t>(cohort), tally.split(), unknown});
}

void Held::hold_part(std::size_t cohort, std::uint32_t node, const std::vector<std::size_t>& columns) {
  std::map<std::string_view, std::vector<std::size_t>> with;
  std::size_t total = 0;
  for (const std::size_t c : columns) {
    if (const std::string* v = column(c).value(node); v != nullptr && word_of(c, node) < 0) {
      with[*v].push_back(c);
      ++total;
    }
  }
  if (total < kPartsLeast || with.size() < 2) return;
  const auto most =
      std::max_element(with.begin(), with.end(), [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  const double share = static_cast<double>(most->second.size()) / static_cast<double>(total);
  if (share < kPartsShare) return;
  for (const auto& [value, odd] : with) {
    if (value == most->first) continue;
    for (const std::size_t c : odd) {
      if (!split[c]) continue;  // the cohort has said what is right there
      Difference d;
      d.node = node;
      d.column = static_cast<std::uint32_t>(c);
      d.cohort = static_cast<std::uint32_t>(cohort);
      d.has = column(c).code(node);
      d.wanted = most->first;
      d.share = share;
      d.surprise_bits = -det_log(static_cast<double>(odd.size() + 1) / static_cast<double>(total + with.size())) / det_log(2.0);
      out.differences.push_back(std::move(d));
    }
  }
}

// Where a cohort does not agree on the firmware of its GPUs, one GPU of a node may still differ from the seven beside it.
void Held::hold_parts(std::size_t cohort) {
  std::set<std::string_view> done;
  for (std::size_t c = 0; c < table.columns().size(); ++c) {
    if (!split[c] || column(c).entity.empty() || !done.insert(column(c).key).second) continue;
    const std::vector<std::size_t> columns = table.columns_of(column(c).key);
    std::size_t alike = 0, several = 0;
    for (const std::uint32_t n : out.cohorts[cohort].nodes) {
      std::size_t total = 0;
      std::string_view first;
      bool all_same = true;
      for (const std::size_t k : columns) {
        const std::string* v = column(k).value(n);
        if (v == nullptr) continue;
        if (total++ == 0) first = *v;
        all_same = all_same && *v == first;
      }
      several += total >= kPartsLeast;
      alike += total >= kPartsLeast && all_same;
    }
    if (several == 0 || static_cast<double>(alike) < options.share * static_cast<double>(several)) continue;
    for (const std::uint32_t n : out.cohorts[cohort].nodes) hold_part(cohort, n, columns);
  }
}

void tell_small(Golden& out, const FactTable& table, std::uint32_t least) {
  std::vector<std::string> alone;
  for (const Cohort& k : out.cohorts) {
    if (k.nodes.size() >= least) continue;
    for (const std::uint32_t n : k.nodes) alone.push_back(table.nodes()[n].name);
  }
  if (alone.empty()) return;
  const std::size_t n = alone.size();
  out.notes.push_back(fmt::format("{} {} of kinds with fewer than {}, which no majority speaks for: {}", n,
                                  n == 1 ? "node is" : "nodes are", least, compress_node_list(std::move(alone))));
}

}  // namespace

Golden hold_against_kind(const FactTable& table, const FactBook& book, const Declarations& declared,
                         const GoldenOptions& options) {
  Held h{table, book, declared, options, racks_of(table), {}, {}, {}, {}, {}, {}, {}};
  h.word.resize(table.columns().size());
  h.out.cohorts = cohorts_of(table, book);
  for (const FactColumn& c : table.columns()) h.same.push_back(same_as(c, book.find(c.key)));
  for (std::size_t i = 0; i < declared.size(); ++i) h.declare(declared[i], i);
  for (std::size_t k = 0; k < h.out.cohorts.size(); ++k) {
    h.split.assign(table.columns().size(), false);
    h.hold_declared(k);
    for (std::size_t c = 0; c < table.columns().size(); ++c) {
      const FactMeaning* m = book.find(table.columns()[c].key);
      const bool name = m != nullptr && (m->kind == FactKind::identity || m->layer == FactLayer::identity);
      if (!name) h.hold_column(k, c);
    }
    h.hold_parts(k);
  }
  std::stable_sort(h.out.differences.begin(), h.out.differences.end(), [](const Difference& a, const Difference& b) {
    if (a.node != b.node) return a.node < b.node;
    return a.surprise_bits != b.surprise_bits ? a.surprise_bits > b.surprise_bits : a.column < b.column;
  });
  tell_small(h.out, table, options.least);
  std::sort(h.left_out.begin(), h.left_out.end());
  h.left_out.erase(std::unique(h.left_out.begin(), h.left_out.end()), h.left_out.end());
  if (!h.left_out.empty()) {
    h.out.notes.push_back(fmt::format("left out, since nearly each node has its own: {}", fmt::join(h.left_out, ", ")));
  }
  return std::move(h.out);
}

}  // namespace muster::fleet
