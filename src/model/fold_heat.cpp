#include "model/fold_heat.h"

namespace muster {
namespace {

RowHeat* hot_row(State& s, NodeId n) {
  const auto it = s.hot_rows.find(row_of(s.site, n));
  return it == s.hot_rows.end() ? nullptr : &it->second;
}

}  // namespace

void measure_row(State& s, const RowMeasured& m) {
  const auto it = s.hot_rows.find(m.row);
  if (it == s.hot_rows.end()) return;
  it->second.last = m;
  it->second.at = s.mono();
  s.dirty_rows.insert(m.row);
}

void limit_intended(State& s, const Action& a) {
  RowHeat* r = a.nodes.empty() ? nullptr : hot_row(s, a.nodes.front());
  if (r == nullptr) return;
  r->before_pct = r->limit_pct;
  r->limit_pct = a.limit_pct;
  r->limited = s.mono();
  r->again = false;
}

void limit_again(State& s, std::uint32_t row) {
  const auto it = s.hot_rows.find(row);
  if (it == s.hot_rows.end() || it->second.limit_pct >= 100) return;
  it->second.again = true;
  s.dirty_rows.insert(row);
}

void limit_ended(State& s, const Action& a, bool done) {
  RowHeat* r = a.nodes.empty() ? nullptr : hot_row(s, a.nodes.front());
  if (r == nullptr) return;
  if (!done) r->limit_pct = r->before_pct;
  cool_down(s, row_of(s.site, a.nodes.front()));
}

void cool_down(State& s, std::uint32_t row) {
  const auto it = s.hot_rows.find(row);
  if (it == s.hot_rows.end() || it->second.finding.some() || it->second.limit_pct < 100) return;
  s.hot_rows.erase(it);
  s.dirty_rows.erase(row);
}

}  // namespace muster
