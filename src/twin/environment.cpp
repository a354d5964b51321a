// What gangs run in: an image that its account builds anew every few days, with the libraries of some release of PyTorch, its
// settings, and the node's own driver. Now and then a few nodes still have yesterday's image under the same name.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "model/job_environment.h"
#include "twin/cluster.h"
#include "twin/scrape.h"

namespace muster::twin {
namespace {

constexpr std::int64_t kDay_ns = 86'400LL * 1'000'000'000;
constexpr std::uint32_t kStaleFrom = 2;       // nodes of a gang from which on some may have an old image
constexpr double kStaleShare = 1.0 / 6;       // of such attempts
constexpr double kOwnSettingShare = 1.0 / 5;  // of jobs that set something of NCCL's besides

// Of PyTorch's wheels and what they bring with them.
struct Release {
  const char* torch;
  const char* cuda;
  const char* nccl;
  const char* cudnn;
};
constexpr std::array<Release, 4> kReleases = {{{"2.6.0+cu126", "12.6.77", "2.21.5+cuda12.4", "9.5.1"},
                                               {"2.7.1+cu128", "12.8.57", "2.26.2+cuda12.2", "9.7.1"},
                                               {"2.8.0+cu128", "12.8.90", "2.27.3+cuda12.9", "9.10.2"},
                                               {"2.9.0+cu128", "12.8.90", "2.27.5+cuda12.9", "9.10.2"}}};

std::string hex(std::string_view of, std::size_t digits) { return render_hex(sha256(of)).substr(0, digits); }

void add_image(Facts& f, const std::string& account, std::int64_t build) {
  const Release& r = kReleases[static_cast<std::size_t>(build) % kReleases.size()];
  f.emplace_back("image.name", fmt::format("registry.example/{}/train:latest", account));
  f.emplace_back("image.digest", "sha256:" + hex(fmt::format("{}/{}", account, build), 64));
  f.emplace_back("torch.version", r.torch);
  f.emplace_back("cuda.runtime", r.cuda);
  f.emplace_back("nccl.version", r.nccl);
  f.emplace_back("nccl.path", "/usr/local/lib/python3.12/dist-packages/nvidia/nccl/lib/libnccl.so.2");
  f.emplace_back("cudnn.version", r.cudnn);
}

// "llm-pretrain-17" and "llm-pretrain-18" are started from the same files, changed now and then.
std::string_view without_number(std::string_view name) { return name.substr(0, name.rfind('-')); }

}  // namespace

void Cluster::describe_gang(std::uint32_t g) {
  if (!config.job_environments) return;
  const Gang& x = gangs[g];
  const std::string account = x.spec.account.empty() ? "site" : x.spec.account;
  const auto every = static_cast<std::int64_t>(2 + xxh64(account) % 5);
  const std::int64_t build = utc().ns / (every * kDay_ns);
  Prng prng(config.seed, fmt::format("environment/{}/{}", render(x.id), x.attempt));
  const auto size = static_cast<std::uint32_t>(x.nodes.size());
  const std::uint32_t stale = size >= kStaleFrom && prng.chance(kStaleShare)
                                  ? 1 + static_cast<std::uint32_t>(prng.below(std::max<std::uint32_t>(1, size / 4)))
                                  : 0;
  const bool own_setting = Prng(config.seed, "setting/" + x.spec.name).chance(kOwnSettingShare);
  const std::string program(without_number(x.spec.name));
  std::map<std::pair<std::string_view, bool>, NodeId> told;  // driver and old image -> who told it in full
  for (std::uint32_t i = 0; i < size; ++i) {
    const NodeId n = x.nodes[i];
    const bool old = i < stale;
    const auto [first, fresh] = told.try_emplace({loaded_driver(node(n)), old}, n);
    Facts f;
    if (fresh) {
      add_image(f, account, old ? build - 1 : build);
      f.emplace_back("driver.loaded", loaded_driver(node(n)));
      f.emplace_back("cuda.driver_library", loaded_driver(node(n)));
      f.emplace_back("kernel.release", "6.8.0-85-generic");
      f.emplace_back("nic.firmware", "28.43.2026");
      f.emplace_back("config.program", program + ".py");
      f.emplace_back("config.file.train.yaml", hex(fmt::format("{}/{}", program, x.id.number / 3), 16));
      f.emplace_back("env.NCCL_DEBUG", "WARN");
      f.emplace_back("env.OMP_NUM_THREADS", "8");
      if (own_setting) f.emplace_back("env.NCCL_ALGO", "Ring");
      std::sort(f.begin(), f.end());
    } else {
      f.emplace_back(kSameAsNode, name(first->second));
    }
    emit(JobDescribed{x.id, x.attempt, n, std::move(f)}, false);
  }
}

}  // namespace muster::twin
