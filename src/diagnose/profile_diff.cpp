#include "diagnose/profile_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace muster::diagnose {
namespace {

constexpr std::size_t kKept = 40;

double step_ms(const Profile& p) { return static_cast<double>(p.line.step_ns()) / 1e6; }

}  // namespace

Result<ProfileDiff> compare_profiles(const Profile& before, const Profile& after) {
  for (const Profile* p : {&before, &after}) {
    if (p->line.events.empty())
      return fail(Code::bad_input, fmt::format("{}: nothing in it ran on a GPU", p->file), "two profiles with GPU events");
  }
  ProfileDiff d;
  d.before_file = before.file;
  d.after_file = after.file;
  d.before_ms = step_ms(before);
  d.after_ms = step_ms(after);
  for (std::size_t b = 0; b < kBounds; ++b) {
    d.before_share_ms[b] = before.shares[b] / 100 * d.before_ms;
    d.after_share_ms[b] = after.shares[b] / 100 * d.after_ms;
  }
  std::map<std::string, KernelChange> all;
  const auto add = [&](const Profile& p, double KernelChange::*ms, double KernelChange::*n) {
    const auto steps = static_cast<double>(p.line.steps.size());
    for (const KernelClass& k : p.kernels.classes) {
      KernelChange& c = all[k.name];
      c.*ms += static_cast<double>(k.own_ns) / 1e6 / steps;
      c.*n += static_cast<double>(k.count) / steps;
    }
  };
  add(before, &KernelChange::before_ms, &KernelChange::before_n);
  add(after, &KernelChange::after_ms, &KernelChange::after_n);
  for (auto& [name, c] : all) {
    c.name = name;
    d.kernels.push_back(c);
  }
  const auto by = [](const KernelChange& c) { return std::abs(c.after_ms - c.before_ms); };
  std::stable_sort(d.kernels.begin(), d.kernels.end(),
                   [&](const KernelChange& x, const KernelChange& y) { return by(x) > by(y); });
  if (d.kernels.size() > kKept) d.kernels.resize(kKept);
  return d;
}

}  // namespace muster::diagnose
