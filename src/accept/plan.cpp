#include "accept/plan.h"

#include <fmt/core.h>

#include "base/hash.h"
#include "base/text.h"

namespace muster::accept {
namespace {

using T = AcceptTest;

// What a test takes beside what it is asked to: memory for products, the choice of a kernel, allocation of the whole memory.
constexpr double beside_s(T test) {
  switch (test) {
    case T::inventory:
    case T::counters: return 0.5;
    case T::march:
    case T::march_hot: return 0.6;
    case T::gemm_bf16:
    case T::gemm_fp16:
    case T::gemm_fp8:
    case T::gemm_tf32:
    case T::gemm_int8:
    case T::sustained: return 0.7;
    default: return 0.3;
  }
}

// A driver that works comes back within this, beyond what a test is asked to take.
constexpr double kPatience_s = 30;

Step step(T test, double seconds, bool required = true) {
  return {test, seconds, 2 * seconds + beside_s(test) + kPatience_s, required};
}

}  // namespace

std::vector<Step> plan_of(AcceptProfile profile) {
  const bool quick = profile == AcceptProfile::quick;
  const auto s = [&](double in_quick, double otherwise) { return quick ? in_quick : otherwise; };
  std::vector<Step> plan = {step(T::inventory, 0), step(T::link, s(1, 10)), step(T::sweep, s(0.2, 2)), step(T::hbm, s(1, 10)),
                            step(T::march, s(1, 40))};
  for (const T test : {T::gemm_bf16, T::gemm_fp16, T::gemm_fp8, T::gemm_tf32, T::gemm_int8}) plan.push_back(step(test, s(3, 30)));
  plan.push_back(step(T::sustained, s(7, 120)));
  plan.push_back(step(T::pulse, s(2, 30)));
  plan.push_back(step(T::sweep_hot, s(0.2, 2)));
  plan.push_back(step(T::march_hot, s(1, 40)));
  plan.push_back(step(T::peers, s(1, 20)));
  // NCCL is not on every node, and what it needs of the network is no matter of a GPU.
  if (!quick) plan.push_back(step(T::nccl, 20, false));
  plan.push_back(step(T::counters, 0));
  return plan;
}

double seconds_of(std::span<const Step> plan) {
  double sum = 0;
  for (const Step& s : plan) sum += s.seconds + beside_s(s.test);
  return sum;
}

std::string suite_hash(AcceptProfile profile) {
  std::string text = fmt::format("{} {}", kSuiteVersion, name_of(profile));
  for (const Step& s : plan_of(profile)) text += fmt::format(" {} {}", name_of(s.test), render_number(s.seconds));
  return render_hex(sha256(text)).substr(0, 16);
}

accepting::Suite suite_of(AcceptProfile profile) {
  accepting::Suite out;
  out.version = kSuiteVersion;
  out.hash = suite_hash(profile);
  out.profile = profile;
  for (const Step& s : plan_of(profile)) {
    if (s.required) out.tests.push_back(s.test);
  }
  return out;
}

}  // namespace muster::accept
