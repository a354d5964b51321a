// One remedy is one method: what it would change is tried on a replay of the profile.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnose/profile.h"

namespace muster::diagnose {

constexpr double kWorthTelling = 2;  // percent of the step
constexpr std::string_view kNothingRecorded = "nothing recorded";

inline bool has_part(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
inline double in_ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

class Remedies {
 public:
  // The profiler takes its time on the host for every event; a program that runs without it is faster by that. It took 2.3 to 6.6
  // us for each on an H200's host with PyTorch 2.11, shapes recorded; it may be nothing.
  static constexpr std::int64_t kProfilerNs[] = {3'300, 0, 5'000};

  Remedies(const Profile& p, const Replay& replay, const Peaks& peaks, const Verdict& verdict);

  std::vector<Finding> all();

 private:
  struct Ranked {
    Finding finding;
    bool first = false;  // about what bounds the step
    double weight = 0;
  };

  bool bounds(Bound b) const { return verdict_.nameless ? b == Bound::other || b == Bound::dependency : b == verdict_.bound; }
  double share(Bound b) const { return p_.shares[static_cast<std::size_t>(b)]; }
  std::int64_t a_step(std::int64_t ns) const { return static_cast<std::int64_t>(static_cast<double>(ns) / steps_); }
  std::string where(std::uint32_t e) const;

  // `rough`: points that the model itself may be off.
  void put(Bound about, Finding f, const Change* change, double rough = 3, double slower_ns = 0);

  // Calls of the host by name, within the gaps of one part.
  std::map<std::string, std::pair<std::int64_t, std::uint32_t>> during(Part part) const;
  const Gap* longest(Part part) const;
  void say_gaps(Part part, Finding& f) const;

  void input();
  void sync();
  void copies();
  std::vector<std::string> copies_words() const;
  void launches();
  std::vector<std::int64_t> measured() const;  // lengths, by event
  bool is_kind(std::uint32_t e, KernelKind kind) const {
    const std::uint32_t c = p_.kernels.of_event[e];
    return c != kNone && p_.kernels.classes[c].kind == kind;
  }
  double pct(std::int64_t own_ns) const {
    const double all = static_cast<double>(p_.line.step_ns()) * steps_;
    return all > 0 ? 100 * static_cast<double>(own_ns) / all : 0;
  }

  bool before_ampere() const;
  void plain_fp32();
  void unfused();
  void say_kernels(KernelKind kind, Finding& f) const;
  void optimizer();
  bool has_odd_size(const KernelClass& c) const;
  void slow_products();
  void fewer_bits();
  void exchanges();
  void small_grids();
  void allocations();
  void elsewhere();
  void unmended();

  const Profile& p_;
  const Trace& t_;
  const Peaks& peaks_;
  const Verdict& verdict_;
  const Replay& replay_;
  double steps_ = 1;
  std::int64_t base_[3] = {};
  std::vector<Ranked> out_;
};

}  // namespace muster::diagnose
