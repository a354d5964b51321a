// muster whatif.
#include "options_parser.h"

namespace muster::cmd {
namespace {

// Either something new is asked, or it is about an earlier one.
void check(const WhatIfOptions& w) {
  const bool asks = !w.policy.empty() || !w.set.empty() || w.add_nodes > 0 || w.remove_nodes > 0 || !w.remove.empty() || w.spares;
  const bool earlier = w.list || w.cancel || !w.id.empty();
  if (!earlier && !asks) {
    throw BadValue{{Code::bad_input, "nothing is changed: there is nothing to compare",
                    "give --policy, --set, --add-nodes, --remove-nodes, --remove or --spares"}};
  }
  if ((earlier && asks) || (w.list && (w.cancel || !w.id.empty()))) {
    throw BadValue{{Code::bad_input, "ID, --list and --cancel are of earlier what-ifs: nothing new is asked with them",
                    "muster whatif --list, muster whatif ID, or muster whatif --cancel [ID]"}};
  }
}

}  // namespace

void Parser::add_whatif() {
  auto* sub =
      command(app_, "whatif",
              "What another policy, more or fewer nodes or spares would do: tried on a twin of the cluster, from now", kLook,
              "  muster whatif --add-nodes 8\n"
              "  muster whatif --set limits.out_cluster_pct=20 --set silent_after=5m --days 14\n"
              "  muster whatif --policy mine.yaml --seeds 20 -o json\n"
              "  muster whatif --remove node[0001-0004] --spares 2\n"
              "  muster whatif --list\n"
              "  muster whatif 3f2a91c0            # its answer once more\n"
              "  muster whatif --cancel            # the one that runs, whoever asked for it");
  WhatIfOptions& o = whatif_;
  const auto count = [&](const char* flag, const char* about, std::uint64_t min, std::uint64_t max, auto set) {
    value(sub, flag, "N", about, [flag, min, max, set](const std::string& s) {
      set(static_cast<std::uint32_t>(checked(parse_count(flag, s, min, max))));
    });
  };
  add_policy(sub, o.policy, "Another policy: " + join(preset_policy_names(), ", ") + " or a file [the one in force]");
  value(sub, "--set", "KEY=VALUE", "A setting of the policy, such as limits.out_cluster_pct=20; may be given several times",
        [&o](const std::string& s) {
          const std::size_t at = s.find('=');
          if (at == 0 || at == std::string::npos || at + 1 == s.size()) {
            throw BadValue{{Code::bad_input, "--set must be KEY=VALUE, is \"" + printable(s) + "\"",
                            "such as --set limits.out_cluster_pct=20"}};
          }
          o.set.emplace_back(s.substr(0, at), s.substr(at + 1));
        })
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  count("--add-nodes", "So many more, like the last one", 1, 131'072, [&o](std::uint32_t n) { o.add_nodes = n; });
  count("--remove-nodes", "So many fewer: the last ones", 1, 131'072, [&o](std::uint32_t n) { o.remove_nodes = n; });
  value(sub, "--remove", "NODES", "Without these: names or lists, such as node[0001-0004]; may be given several times",
        [&o](const std::string& s) { o.remove.push_back(checked(parse_words("--remove", s, 4096))); }, {WordKind::node, {}})
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  count("--spares", "Nodes that the policy keeps free for repairs, in all", 0, 131'072, [&o](std::uint32_t n) { o.spares = n; });
  value(sub, "--days", "N", "How far to look ahead, 0.25 to 60 [7]",
        [&o](const std::string& s) { o.days = checked(parse_quantity("--days", s, 0.25, 60)); });
  count("--seeds", "How many times, by other chances; 6 are the fewest that can show a difference [8]", 2, 64,
        [&o](std::uint32_t n) { o.seeds = n; });
  value(sub, "--weather", "xN", "Multiply the published fault rates by N, up to 1000 [a demo's own; else x1]",
        [&o](const std::string& s) { o.weather = checked(parse_weather(s)); });
  const Words mixes{"mix:llm", "mix:research", "mix:mixed", "mix:shared"};
  choice(sub, "--jobs", "mix:NAME", "Work that arrives: " + join(mixes, ", ") + " [a demo's own; else mix:mixed]", mixes,
         [&o, mixes](std::size_t i) { o.mix = mixes[i].substr(4); });
  value(sub, "--load", "X", "That work, over what the cluster can do now, 0.01 to 5 [a demo's own; else 1.15]",
        [&o](const std::string& s) { o.load = checked(parse_quantity("--load", s, 0.01, 5)); });
  words(sub, "ID", "ID", "An earlier one: its answer, or with --cancel the one to stop [the one that runs]", o.id, {}, 64);
  flag(sub, "--list", o.list, "The last ones, the newest first, instead of a new one");
  flag(sub, "--cancel", o.cancel, "Stop one that runs, instead of a new one");
  add_format(sub, o.format, {Format::table, Format::json});
  add_progress(sub, o.progress);
  add_connection(sub, o.connection);
  sub->callback([this] {
    check(whatif_);
    command_ = whatif_;
  });
}

}  // namespace muster::cmd
