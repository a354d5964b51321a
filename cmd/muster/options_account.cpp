// muster account: where a site's GPU-hours went, from its own files or from a journal.
#include "options_parser.h"

namespace muster::cmd {

void Parser::add_account_files(CLI::App* sub, AccountFiles& f) {
  constexpr const char* kFiles = "Files of a site (with --sacct)";
  const auto file = [&](const char* name, const char* about, std::string& to) {
    words(sub, name, "FILE", about, to, {WordKind::file, {}}, 4095);
    sub->get_option(name)->group(kFiles);
  };
  add_many(sub, "--sacct", "FILE", "What `sacct -a -X -D -P` or `sacct --json` printed; may be given again; - is standard input",
           f.sacct, {WordKind::file, {}});
  file("--nodes", "What is installed: of `scontrol -o show node`, `sinfo -N -h -o '%N %G'`, slurm.conf or a cluster file",
       f.nodes);
  file("--events", "Outages: of `sacctmgr -P show event`", f.events);
  file("--activity", "Answers of Prometheus to query_range with a GPU's activity", f.activity);
  value(sub, "--prometheus", "URL", "Ask this Prometheus for it, e.g. http://head:9090",
        [&f](const std::string& s) { f.prometheus = checked(parse_server("--prometheus", s, false)); })
      ->group(kFiles)
      ->excludes(sub->get_option("--activity"));
  file("--prometheus-token-file", "File with the bearer token for it", f.prometheus_token_file);
  words(sub, "--metric", "NAME", "Of it [DCGM_FI_PROF_SM_ACTIVE, ..GR_ENGINE_ACTIVE or ..GPU_UTIL, the first there is]",
        f.metric);
  value(sub, "--step", "TIME", "Between two of its points [5m]",
        [&f](const std::string& s) { f.step_s = checked(parse_some_time("--step", s, 86400)); });
  words(sub, "--zone", "ZONE", "Of times without one, e.g. Europe/Berlin [UTC]", f.zone, {}, 100);
  for (const char* flag : {"--sacct", "--metric", "--step", "--zone"}) sub->get_option(flag)->group(kFiles);
}

void Parser::add_account() {
  auto* sub = command(app_, "account", "A site's GPU-hours, from owned to useful: from sacct's files, or from a journal", kLook,
                      "  sacct -a -X -D -P -S 2026-01-01 -E 2026-02-01 -o JobID,User,Account,Partition,QOS,State,Submit,\\\n"
                      "    Eligible,Start,End,ElapsedRaw,NNodes,NodeList,AllocTRES,ReqTRES,ConsumedEnergyRaw > jobs.txt\n"
                      "  muster account --sacct jobs.txt --zone Europe/Berlin\n"
                      "  muster account --sacct jobs.txt --nodes nodes.txt --events events.txt --prometheus http://head:9090\n"
                      "  muster account --sacct jobs.txt --cost-per-year 19e6 --by user -o csv\n"
                      "  muster account --since 30d");
  AccountOptions& o = account_;
  add_account_files(sub, o.files);
  words(sub, "--journal", "FILE", "Read a journal file instead of asking a running Muster", o.journal, {WordKind::file, {}},
        4095);
  value(sub, "--since", "TIME", "Back from the end, as 6h, 7d",
        [&o](const std::string& s) { o.since_s = checked(parse_some_time("--since", s, 3650.0 * 86400)); });
  value(sub, "--from", "UTC", "Begin, such as 2026-11-01 [as far back as is known]", [&o](const std::string& s) {
    o.from = checked(parse_moment("--from", s));
  })->excludes(sub->get_option("--since"));
  value(sub, "--to", "UTC", "End [the last that is known]",
        [&o](const std::string& s) { o.to = checked(parse_moment("--to", s)); });
  const Words ways{"account", "partition", "user", "gpu_type", "job", "day", "fault"};
  choice(sub, "--by", "WAY", "Rows by " + join(ways, ", ") + " (of a journal) [account]", ways,
         [&o, ways](std::size_t i) { o.by = ways[i]; });
  words(sub, "--account", "NAME", "Rows of this account alone (of a journal); \"(none)\": without one", o.only_account, {}, 256);
  words(sub, "--partition", "NAME", "Rows of this partition or queue alone (of a journal)", o.only_partition, {}, 256);
  words(sub, "--user", "NAME", "Rows of this user alone (of a journal)", o.only_user, {}, 256);
  value(sub, "--limit", "N", "Rows of the table; JSON and CSV have all [20]",
        [&o](const std::string& s) { o.limit = checked(parse_count("--limit", s, 1, 1'000'000)); });
  value(sub, "--price", "MONEY", "Of a GPU-hour owned",
        [&o](const std::string& s) { o.price = checked(parse_quantity("--price", s, 0, 1e6)); });
  value(sub, "--cost-per-year", "MONEY", "Instead: what all of it costs in a year of 365 days", [&o](const std::string& s) {
    o.cost_per_year = checked(parse_quantity("--cost-per-year", s, 0, 1e12));
  })->excludes(sub->get_option("--price"));
  words(sub, "--currency", "WORD", "Of that money [USD]", o.currency, {}, 8);
  value(sub, "--target", "PERCENT", "Efficiency to reach: useful GPU-hours of those that are known [94]",
        [&o](const std::string& s) { o.target_pct = checked(parse_quantity("--target", s, 0, 100, "percent")); });
  add_format(sub, o.format, {Format::table, Format::json, Format::csv});
  add_connection(sub, o.connection);
  sub->callback([this, sub] {
    if (sub->get_subcommands().empty()) command_ = account_;
  });
  add_account_charge(*sub);
  add_account_quota(*sub);
}

void Parser::add_bench_account(CLI::App& bench) {
  auto* sub =
      command(bench, "account", "Time to account for a made-up year of jobs, and whether the sums are exact", nullptr,
              "  muster bench account\n  muster bench account --jobs 2000000 --nodes 1000 -o json\n"
              "  muster bench account --jobs 20000 --write made && muster account --sacct made/jobs.txt --nodes made/nodes.txt");
  BenchAccountOptions& o = bench_account_;
  value(sub, "--jobs", "N", "Jobs [500000]",
        [&o](const std::string& s) { o.jobs = checked(parse_count("--jobs", s, 1, 20'000'000)); });
  value(sub, "--nodes", "N", "Nodes of eight GPUs [128]",
        [&o](const std::string& s) { o.nodes = static_cast<std::uint32_t>(checked(parse_count("--nodes", s, 2, 9'999))); });
  value(sub, "--days", "N", "Days [365]",
        [&o](const std::string& s) { o.days = static_cast<std::uint32_t>(checked(parse_count("--days", s, 1, 2'000))); });
  value(sub, "--seed", "N", "Of the made-up jobs [1]",
        [&o](const std::string& s) { o.seed = checked(parse_count("--seed", s, 0, UINT64_MAX)); });
  words(sub, "--write", "DIR", "Write jobs.txt, nodes.txt and events.txt there", o.write, {WordKind::directory, {}});
  add_format(sub, o.format, {Format::table, Format::json});
  chosen(sub, o);
}

}  // namespace muster::cmd
