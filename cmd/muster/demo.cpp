// muster demo: the loop over a twin in this process, in step with the wall clock.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>

#include "base/text.h"
#include "commands.h"
#include "control/restore.h"
#include "fault_list.h"
#include "host.h"
#include "ingest/hardware_file.h"
#include "ingest/json.h"
#include "ingest/policy_file.h"
#include "model/codec.h"
#include "paced_twin.h"
#include "report/units.h"
#include "say.h"
#include "scene.h"
#include "twin/serve.h"

namespace muster::cmd {
namespace {

Time wall_utc() {
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count()};
}

// {"fault":"gpu_off_bus","node":"node0017","slot":3}, {"fault":"bad_push","share":0.2,"lasts_s":3600}: breaks something in the
// twin, for people to watch.
class InjectTool final : public Tool {
 public:
  InjectTool(Mailbox& mailbox, twin::Twin& twin, const Site& site) : mailbox_(mailbox), twin_(twin), site_(site) {}
  Role role() const override { return Role::operator_; }
  Role role_for(const Value& input) const override { return asks_for_faults(input) ? Role::viewer : role(); }
  Result<std::string> call(const Value& input) override {
    if (asks_for_faults(input)) return fault_list();
    const Value* fault = input.find("fault");
    const Value* node = input.find("node");
    const Value* slot = input.find("slot");
    twin::FaultKind kind{};
    if (fault == nullptr || fault->string() == nullptr || !parse_name(*fault->string(), kind)) {
      std::string all;
      for (std::string_view n : names(kind)) all += (all.empty() ? "" : ", ") + std::string(n);
      return fail(Code::bad_input, "inject needs a \"fault\" the twin knows", "one of: " + all);
    }
    NodeId id;
    if (needs_node(kind)) {
      if (node == nullptr || node->string() == nullptr) return fail(Code::bad_input, "inject needs a \"node\"");
      id = find_node(site_, *node->string());
      if (!id.some()) return fail(Code::not_found, "there is no such node", "`muster get nodes -o name` lists them");
    }
    int where = -1;
    if (slot != nullptr && !slot->is_null()) {
      if (slot->integer() == nullptr || *slot->integer() < -1 || *slot->integer() >= site_.gpus_per_node) {
        return fail(Code::bad_input, fmt::format("\"slot\" must be 0 to {}", site_.gpus_per_node - 1));
      }
      where = static_cast<int>(*slot->integer());
    }
    twin::Stroke stroke{.kind = kind, .node = id, .slot = where};
    if (auto ok = twin::read_extent(input, stroke); !ok) return tl::unexpected(ok.error());
    auto answer = std::make_shared<std::promise<Result<std::uint64_t>>>();
    auto got = answer->get_future();
    mailbox_.post([this, stroke, answer] { answer->set_value(twin_.inject(stroke)); });
    if (got.wait_for(std::chrono::seconds(5)) != std::future_status::ready)
      return fail(Code::unreachable, "the twin does not answer");
    const Result<std::uint64_t> r = got.get();
    if (!r) return tl::unexpected(r.error());
    return fmt::format("{{\"fault\":{}}}", *r);
  }

 private:
  Mailbox& mailbox_;
  twin::Twin& twin_;
  const Site& site_;
};

// Without --state each demo starts afresh: its history is kept until the next one begins.
Result<std::string> journal_path(const DemoOptions& o, const StateDir& dir) {
  if (!o.state.empty()) return dir.journal();
  const std::string path = dir.path + "/demo.db";
  std::error_code ignored;
  for (const char* tail : {"", "-wal", "-shm", "-journal"}) std::filesystem::remove(path + tail, ignored);
  return path;
}

// A demo tells what is lost in money. Where its policy is one that ships, which names no price, a public one of the GPU is taken
// and said to be assumed; a file is its owner's word, also where it names none.
void assume_price(const DemoOptions& o, const Site& site, Policy& policy) {
  const auto& shipped = preset_policy_names();
  const bool own = !o.twin.policy.empty() && std::find(shipped.begin(), shipped.end(), o.twin.policy) == shipped.end();
  const auto rent = hardware_prices().rent.find(lower(site.gpu_model));
  if (own || policy.gpu_hour_price > 0 || rent == hardware_prices().rent.end()) return;
  policy.gpu_hour_price = rent->second.usd_per_h;
  policy.currency = "USD";
  policy.price_assumed =
      fmt::format("{} {:.2f} USD, {}", report::upper(rent->first), rent->second.usd_per_h, rent->second.source);
}

}  // namespace

int run_demo(const DemoOptions& o) {
  auto scene = build_scene(o.twin);
  if (!scene) return say_error(scene.error());
  assume_price(o, scene->twin.site, scene->policy);
  auto dir = open_state_dir(state_path(o.state));
  if (!dir) return say_error(dir.error());
  const auto path = journal_path(o, *dir);
  if (!path) return say_error(path.error());
  auto journal = sqlite::open({.path = *path, .create = true});
  if (!journal) return say_error(journal.error());

  twin::Config& config = scene->twin;
  config.start_utc = wall_utc();
  begin_prices(config);
  config.job_environments = true;
  config.full_scrapes = affords_full_scrapes(config.site, o.speed);
  std::unique_ptr<twin::Twin> twin;
  if ((*journal)->last_seq() > 0) {  // an earlier demo: its cluster as it was left
    auto books = control::restore(**journal, [](std::string_view text) { return parse_json(text); });
    if (!books) return say_error(books.error());
    if (encode_site(config.site) != encode_site(books->state.site)) {
      return say_error(
          {Code::conflict,
           fmt::format("the state directory is of cluster '{}' with {} nodes, not of '{}' with {}", books->state.site.name,
                       books->state.nodes.size(), config.site.name, config.site.nodes.size()),
           "give the same --gpus or --cluster, or another --state"});
    }
    config.start_utc = std::max(config.start_utc, books->state.now.utc);
    begin_prices(config);
    twin = std::make_unique<twin::Twin>(config, books->state);
  } else {
    twin = std::make_unique<twin::Twin>(config);
  }
  Mailbox mailbox;
  PacedTwin paced(*twin, mailbox, o.speed);
  InjectTool inject(mailbox, *twin, config.site);
  HostOptions host_options;
  host_options.name = "demo";
  host_options.simulation = fmt::format("weather x{:g}, speed x{:g}, seed {}", config.weather.factor, o.speed, config.seed);
  host_options.port = o.port;
  host_options.journal = *path;
  if (o.days > 0) host_options.stop_at = twin->now().utc + from_seconds(o.days * 86400);
  host_options.site = config.site;
  host_options.world = config;
  host_options.policy = scene->policy;
  host_options.tools["inject"] = &inject;
  return host(host_options, {paced, paced, paced, mailbox}, *dir, **journal);
}

}  // namespace muster::cmd
