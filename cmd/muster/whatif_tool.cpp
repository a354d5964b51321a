#include "whatif_tool.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "adapters/memory/journal.h"
#include "adapters/sqlite/journal.h"
#include "control/restore.h"
#include "ingest/json.h"
#include "scene.h"
#include "secrets.h"

namespace muster::cmd {
namespace {

Result<control::Books> end_of(const std::string& file) {
  auto journal = sqlite::open({.path = file, .read_only = true});
  if (!journal) return tl::unexpected(journal.error());
  return control::restore(**journal, [](std::string_view text) { return parse_json(text); });
}

// On Linux a thread has a priority of its own; elsewhere it stays as it is.
void step_back() {
#ifdef SYS_gettid
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), 19);
#endif
}

Result<trial::WhatIfWorld> world_of(const Site& site, const std::optional<twin::Config>& known) {
  trial::WhatIfWorld world;
  world.own = known.has_value();
  if (known) {
    world.twin = *known;
    world.begun = known->start_utc;
  } else {
    auto scene = build_scene({}, &site);
    if (!scene) return tl::unexpected(scene.error());
    world.twin = std::move(scene->twin);
  }
  world.read_policy = [](const std::string& text) { return read_policy(text, "the policy"); };
  world.fit_policy = [](Policy& policy, const Site& to) { return fit_policy(policy, to, "the policy"); };
  world.make_journal = [] { return std::make_unique<MemoryJournal>(MemoryJournal::Keep::count); };
  return world;
}

}  // namespace

WhatIfTool::WhatIfTool(std::string journal, const View& view, std::optional<twin::Config> world)
    : desk_({.read = [journal = std::move(journal)] { return end_of(journal); },
             .latest = [&view] { return view.latest(); },
             .world = [world = std::move(world)](const Site& site) { return world_of(site, world); },
             .new_id = [] { return random_hex(4); },
             .on_thread = step_back}) {}

}  // namespace muster::cmd
