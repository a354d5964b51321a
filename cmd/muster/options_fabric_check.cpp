// muster fabric: networks as they were meant to be, and as they are.
#include <algorithm>

#include "options_parser.h"

namespace muster::cmd {

void Parser::add_fabric_group() {
  auto* fabric = command(app_, "fabric", "Design a network, and prove that what was built is that", kDesign,
                         "  muster fabric validate --design fabric.net --discovered found.net");
  add_fabric_design(*fabric);
  add_fabric_validate(*fabric);
  add_fabric_watch(*fabric);
  add_fabric_topology(*fabric);
}

void Parser::add_live_fabric(CLI::App* sub, LiveFabric& live, const Words& instead_of) {
  flag(sub, "--live", live.on, "Ask the InfiniBand fabric that this machine is plugged into, instead of files");
  for (const std::string& other : instead_of) sub->get_option("--live")->excludes(sub->get_option(other));
  words(sub, "--device", "NAME", "With --live: through this card, such as mlx5_0 [the first that is up]", live.device, {}, 63);
  value(sub, "--port", "N", "With --live: through this port of it [the first that is up]", [&live](const std::string& s) {
    live.port = static_cast<std::uint32_t>(checked(parse_count("--port", s, 1, 254)));
  });
  for (const char* name : {"--device", "--port"}) sub->get_option(name)->needs(sub->get_option("--live"));
}

void Parser::add_fabric_validate(CLI::App& fabric) {
  FabricValidateOptions& o = fabric_validate_;
  auto* sub = command(fabric, "validate", "What of a network is not as it was designed; exit code 6: something is not", nullptr,
                      "  ibnetdiscover > found.net; muster fabric validate --design fabric.net --discovered found.net\n"
                      "  muster fabric validate --discovered found.net -o json\n"
                      "  muster fabric validate --design fabric.net --live --device mlx5_0 --port 1\n"
                      "  muster fabric validate --design fabric.net --discovered found.net --log opensm.log \\\n"
                      "    --routes opensm-lfts.dump --errors-before 10h00.txt --errors 10h05.txt --between 5m");
  const Word file{WordKind::file, {}};
  words(sub, "--discovered", "FILE", "What ibnetdiscover printed", o.discovered, file);
  words(sub, "--lldp", "FILE", "Of an Ethernet network instead: what lldpctl printed on its nodes and switches, as JSON or pairs",
        o.lldp, file);
  sub->get_option("--lldp")->excludes(sub->get_option("--discovered"));
  words(sub, "--design", "FILE",
        "What it should have printed; with --lldp, what lldpctl printed while all was well will do [the structure that most has]",
        o.design, file);
  words(sub, "--links", "FILE", "What iblinkinfo printed: states of ports, and what they could run at", o.links, file);
  words(sub, "--errors", "FILE", "What ibqueryerrors printed, or perfquery", o.errors, file);
  words(sub, "--errors-before", "FILE", "The same, some time before: counters become rates", o.errors_before, file);
  value(sub, "--between", "TIME", "Between the two [the time that growth is told without]", [&o](const std::string& s) {
    const auto ns = parse_duration_ns(s);
    if (!ns || *ns <= 0)
      throw BadValue{{Code::bad_input, "--between must be a time such as 5m, is \"" + s + "\"", "the time between the readings"}};
    o.between_s = static_cast<double>(*ns) / 1e9;
  });
  sub->get_option("--errors-before")->needs(sub->get_option("--errors"));
  sub->get_option("--between")->needs(sub->get_option("--errors-before"));
  words(sub, "--log", "FILE", "OpenSM's log: which routing engine was asked for, and which routes", o.log, file);
  words(sub, "--routes", "FILE", "Forwarding tables: opensm-lfts.dump, or what dump_lfts.sh or ibroute print", o.routes, file);
  words(sub, "--jobs", "FILE", "Jobs whose own traffic is asked about, as squeue -h -t R -o \"%A %N\" prints them", o.jobs, file);
  for (const char* infiniband : {"--links", "--errors", "--log", "--routes"})
    sub->get_option("--lldp")->excludes(sub->get_option(infiniband));
  add_live_fabric(sub, o.live, {"--discovered", "--lldp", "--links", "--errors", "--routes"});
  add_format(sub, o.format, {Format::table, Format::json});
  chosen(sub, o);
}

void Parser::add_fabric_watch(CLI::App& fabric) {
  FabricWatchOptions& o = fabric_watch_;
  auto* sub = command(fabric, "watch", "Read a network again and again, and say what changes: faults, flaps, errors that grow",
                      nullptr,
                      "  muster fabric watch --live --design fabric.net\n"
                      "  muster fabric watch --command ibnetdiscover --errors-command \"ibqueryerrors --data\" \\\n"
                      "    --design fabric.net --every 1m -o jsonl\n"
                      "  muster fabric watch --live --design fabric.net --controller https://head:7443 \\\n"
                      "    --token-file /etc/muster/agent-token");
  words(sub, "--design", "FILE", "What ibnetdiscover should print; what it, or lldpctl, prints while all is well will do",
        o.design, {WordKind::file, {}});
  words(sub, "--command", "COMMAND",
        "Prints the fabric as ibnetdiscover does, or lldpctl; no shell is asked, quotes keep words together", o.command);
  words(sub, "--errors-command", "COMMAND", "Prints the counters as ibqueryerrors or perfquery do, and resets none",
        o.errors_command);
  words(sub, "--links-command", "COMMAND", "Prints the ports as iblinkinfo does", o.links_command);
  for (const char* name : {"--errors-command", "--links-command"}) sub->get_option(name)->needs(sub->get_option("--command"));
  add_live_fabric(sub, o.live, {"--command", "--errors-command", "--links-command"});
  value(sub, "--every", "TIME", "From one reading's beginning to the next one's, a second at least [30s]",
        [&o](const std::string& s) { o.every_s = std::max(1.0, checked(parse_some_time("--every", s, 86400))); });
  value(sub, "--window", "TIME", "What comes back within it has flapped; errors are added up over it [10m]",
        [&o](const std::string& s) { o.window_s = checked(parse_some_time("--window", s, 86400)); });
  flag(sub, "--once", o.once, "One reading, and the faults in it; exit code 6: there are some");
  words(sub, "--out", "DIR", "Keep there faults.json, all that stands, and changes.jsonl, all that changed", o.folder,
        {WordKind::directory, {}});
  value(sub, "--controller", "URL", "Tell this controller what stands, after each reading: http(s)://HOST:PORT or unix:PATH",
        [&o](const std::string& s) { o.controller = checked(parse_server("--controller", s, true)); });
  words(sub, "--token-file", "FILE",
        "File with the agents' token: agent-token in the controller's state directory [$MUSTER_TOKEN]", o.token_file,
        {WordKind::file, {}});
  value(sub, "--name", "NAME", "Which of the site's networks this is, where it has several: each is told of by itself",
        [&o](const std::string& s) {
          if (s.empty() || !valid_fabric_name(s))
            throw BadValue{{Code::bad_input, "--name must be 1 to 64 letters, digits, dots, dashes and underscores",
                            "for example --name rail3"}};
          o.name = s;
        });
  for (const char* name : {"--token-file", "--name"}) sub->get_option(name)->needs(sub->get_option("--controller"));
  add_format(sub, o.format, {Format::table, Format::jsonl});
  chosen(sub, o);
}

}  // namespace muster::cmd
