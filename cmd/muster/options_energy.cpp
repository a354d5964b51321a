// muster energy: what jobs draw, cost and emit; power caps; the best hours; recording power.
#include "options_parser.h"

namespace muster::cmd {
namespace {

constexpr const char* kReadings = "Readings and jobs";
constexpr const char* kRates = "Money and carbon";
constexpr const char* kAssumed = "What is not measured";

}  // namespace

void Parser::add_energy() {
  auto* sub = command(
      app_, "energy", "Energy of jobs, measured or marked as estimated, with money and carbon; caps; the best hours", kLook,
      "  nvidia-smi --query-gpu=timestamp,uuid,index,name,power.draw --format=csv -lms 1000 > power.csv\n"
      "  muster energy --power power.csv --node gpu001 --sacct jobs.txt --zone Europe/Berlin --pue 1.25\n"
      "  muster energy --sacct jobs.txt --prometheus http://head:9090 --tariff contract.yaml --carbon grid.csv --by account\n"
      "  muster energy --sacct jobs.txt --gpu h200 --carbon 380          without any reading: estimated, and marked so\n"
      "  muster energy cap --gpu h200 --to 500 --rate 2.50               does a power cap pay?\n"
      "  muster energy hours --prices day_ahead.csv --hours 6 --kw 500   when should this wait for?\n"
      "  muster energy record --every 0.1 --for 60 > power.csv           needs NVIDIA's driver");
  EnergyOptions& o = energy_.report;
  add_energy_sources(sub, o);
  add_energy_rates(sub, o);
  add_energy_assumed(sub, o);
  choice(sub, "--by", "WAY", "Rows by " + join(as_words(names(report::EnergyBy{})), ", ") + " [job]",
         as_words(names(report::EnergyBy{})), [&o](std::size_t i) { o.by = static_cast<report::EnergyBy>(i); });
  value(sub, "--limit", "N", "Rows of the table; JSON and CSV have all [20]",
        [&o](const std::string& s) { o.limit = checked(parse_count("--limit", s, 1, 1'000'000)); });
  add_format(sub, o.format, {Format::table, Format::wide, Format::json, Format::csv});
  sub->callback([this, sub] {
    if (sub->get_subcommands().empty()) command_ = EnergyCommand(energy_.report);
  });
  add_energy_cap(*sub);
  add_energy_hours(*sub);
  add_energy_record(*sub);
}

void Parser::add_energy_sources(CLI::App* sub, EnergyOptions& o) {
  add_many(sub, "--power", "FILE",
           "Readings: what nvidia-smi --query-gpu=timestamp,uuid,power.draw --format=csv -lms or muster energy record wrote, or "
           "an answer of "
           "Prometheus to query_range; NODE=FILE where it names no node; may be given again",
           o.power, {WordKind::file, {}});
  value(sub, "--prometheus", "URL", "Ask this Prometheus for them, e.g. http://head:9090",
        [&o](const std::string& s) { o.prometheus = checked(parse_server("--prometheus", s, false)); });
  words(sub, "--prometheus-token-file", "FILE", "File with the bearer token for it", o.prometheus_token_file,
        {WordKind::file, {}}, 4095);
  value(sub, "--step", "TIME", "Between two of its points [15s]",
        [&o](const std::string& s) { o.step_s = checked(parse_some_time("--step", s, 3600)); });
  add_many(sub, "--sacct", "FILE", "Who held the GPUs: what `sacct -a -X -D -P` or `sacct --json` printed; may be given again",
           o.sacct, {WordKind::file, {}});
  words(sub, "--jobs", "FILE", "Or a table: job,node,gpus,start,end and gpu_index, gpu_uuid, gpu_type, user, account, tokens",
        o.jobs, {WordKind::file, {}}, 4095);
  words(sub, "--node", "NAME", "Node of files with readings that name none, as nvidia-smi's", o.node, {}, 253);
  words(sub, "--zone", "ZONE", "Of times without one, e.g. Europe/Berlin [UTC]", o.zone, {}, 100);
  value(sub, "--from", "UTC", "Begin, such as 2026-11-01 [as far back as is known]",
        [&o](const std::string& s) { o.from = checked(parse_moment("--from", s)); });
  value(sub, "--to", "UTC", "End [the last that is known]",
        [&o](const std::string& s) { o.to = checked(parse_moment("--to", s)); });
  value(sub, "--since", "TIME", "Instead of --from: back from now, as 24h", [&o](const std::string& s) {
    o.since_s = checked(parse_some_time("--since", s, 3650.0 * 86400));
  })->excludes(sub->get_option("--from"));
  const auto meters = as_words(names(account::Meter{}));
  choice(sub, "--meter", "WHICH", "counter, sampled, or best: the counter where there is one [best]", meters,
         [&o](std::size_t i) { o.meter = static_cast<account::Meter>(i); });
  value(sub, "--gap", "TIME", "Readings further apart are a gap [three times the usual, 1s to 10m]",
        [&o](const std::string& s) { o.gap_s = checked(parse_some_time("--gap", s, 86400)); });
  add_many(sub, "--tokens", "JOB=N|FILE", "Tokens of a job, for joules and money a token; or a table job,tokens", o.tokens,
           {WordKind::file, {}});
  for (const char* name : {"--power", "--prometheus", "--prometheus-token-file", "--step", "--sacct", "--jobs", "--node",
                           "--zone", "--from", "--to", "--since", "--meter", "--gap", "--tokens"})
    sub->get_option(name)->group(kReadings);
}

void Parser::add_energy_rates(CLI::App* sub, EnergyOptions& o) {
  words(sub, "--tariff", "FILE|example", "Electricity tariff (docs/formats/tariff.md); `example` is a made-up one that ships",
        o.rates.tariff, {WordKind::file, {"example"}}, 4095);
  words(sub, "--prices", "FILE",
        "Hourly prices, UTC: timestamp, price_per_mwh; a tariff beside them adds its fees and demand charges", o.rates.prices,
        {WordKind::file, {}}, 4095);
  words(sub, "--carbon", "G|FILE", "Of the grid: g/kWh, or hourly: timestamp_utc, actual_g_per_kwh", o.rates.carbon,
        {WordKind::file, {}}, 4095);
  words(sub, "--currency", "WORD", "Of the prices [the tariff's, else USD]", o.rates.currency, {}, 8);
  value(sub, "--embodied", "KG", "CO2 of making one server, spread over its life",
        [&o](const std::string& s) { o.embodied_kg = checked(parse_quantity("--embodied", s, 0, 1e6, "kg")); });
  value(sub, "--server-gpus", "N", "GPUs of one server [8]",
        [&o](const std::string& s) { o.server_gpus = checked(parse_quantity("--server-gpus", s, 1, 1024)); });
  value(sub, "--server-years", "N", "Its life [5]",
        [&o](const std::string& s) { o.server_years = checked(parse_quantity("--server-years", s, 0.1, 50)); });
  for (const char* name : {"--tariff", "--prices", "--carbon", "--currency", "--embodied", "--server-gpus", "--server-years"})
    sub->get_option(name)->group(kRates);
}

void Parser::add_energy_assumed(CLI::App* sub, EnergyOptions& o) {
  value(sub, "--pue", "RATIO", "The site's energy over that of its computers [1.3, and said to be assumed]",
        [&o](const std::string& s) { o.pue = checked(parse_quantity("--pue", s, 1, 5)); });
  value(sub, "--host-watts", "W", "Of a node without its GPUs, for each GPU held [350, and said to be assumed]",
        [&o](const std::string& s) { o.host_w = checked(parse_quantity("--host-watts", s, 0, 5000, "watts")); });
  words(sub, "--gpu", "NAME", "Model of GPU of jobs that do not say, to estimate what was not measured", o.gpu,
        {WordKind::choice, gpu_names()}, 60);
  words(sub, "--watts", "FILE", "What models draw, instead of data/energy/gpu_watts.csv: gpu,idle_w,typical_w,max_w", o.watts,
        {WordKind::file, {}}, 4095);
  for (const char* name : {"--pue", "--host-watts", "--gpu", "--watts"}) sub->get_option(name)->group(kAssumed);
}

void Parser::add_energy_cap(CLI::App& energy) {
  EnergyCapOptions& o = energy_.cap;
  auto* sub = command(energy, "cap", "What a power cap saves and costs, by measured curves, and whether it pays", nullptr,
                      "  muster energy cap --gpu h200 --to 500\n"
                      "  muster energy cap --gpu h200 --bound memory --rate 2.50 --kwh 0.12 --gpus 512 --hours 100\n"
                      "  muster energy cap --bound measured --measured caps.csv --to 450");
  words(sub, "--gpu", "NAME", "h200, v100 or a40: what was measured [h200]", o.gpu, {WordKind::choice, {"h200", "v100", "a40"}},
        60);
  value(sub, "--to", "W", "The cap [all that were measured]",
        [&o](const std::string& s) { o.to_w = checked(parse_quantity("--to", s, 1, 5000, "watts")); });
  choice(sub, "--bound", "BY", "What bounds the work: compute, memory, training (a mix), measured [compute]",
         {"compute", "memory", "training", "measured"}, [&o](std::size_t i) {
           o.bound = std::array{"compute", "memory", "training", "measured"}[i];
         });
  words(sub, "--measured", "FILE", "Your own caps: cap_w, throughput, power_w; the highest counts as none", o.measured,
        {WordKind::file, {}}, 4095);
  const auto money = [&](const char* name, const char* about, double& to) {
    const std::string shown = name;
    value(sub, name, "MONEY", about, [&to, shown](const std::string& s) { to = checked(parse_quantity(shown, s, 0, 1e6)); });
  };
  money("--rate", "What a GPU-hour costs, without its electricity [1.00]", o.rate);
  money("--kwh", "Of a kWh [0.08]", o.per_kwh);
  value(sub, "--pue", "RATIO", "The site's energy over that of its computers [1.3]",
        [&o](const std::string& s) { o.pue = checked(parse_quantity("--pue", s, 1, 5)); });
  value(sub, "--host-watts", "W", "Of a node without its GPUs, for each of them; a cap does not lower it [350]",
        [&o](const std::string& s) { o.host_w = checked(parse_quantity("--host-watts", s, 0, 5000, "watts")); });
  value(sub, "--gpus", "N", "Of the job [8]",
        [&o](const std::string& s) { o.gpus = checked(parse_quantity("--gpus", s, 0.001, 1e7)); });
  value(sub, "--hours", "N", "It takes without a cap [24]",
        [&o](const std::string& s) { o.hours = checked(parse_quantity("--hours", s, 0.001, 1e6)); });
  words(sub, "--currency", "WORD", "[USD]", o.currency, {}, 8);
  add_format(sub, o.format, {Format::table, Format::json, Format::csv});
  sub->callback([this] { command_ = EnergyCommand(energy_.cap); });
}

void Parser::add_energy_hours(CLI::App& energy) {
  EnergyHoursOptions& o = energy_.hours;
  auto* sub = command(energy, "hours", "When a job that can wait should run: now, by forecast, and as who knows the future would",
                      nullptr,
                      "  muster energy hours --prices day_ahead.csv --hours 6 --kw 500 --within 48\n"
                      "  muster energy hours --carbon grid.csv --hours 6 --kw 500 --pausable\n"
                      "  muster energy hours --prices year.csv --hours 6 --year      what waiting saves over a year");
  words(sub, "--prices", "FILE", "Hourly: timestamp, price_per_mwh, forecast_per_mwh", o.prices, {WordKind::file, {}}, 4095);
  words(sub, "--carbon", "FILE", "Hourly: timestamp_utc, actual_g_per_kwh, forecast_24h_g_per_kwh", o.carbon,
        {WordKind::file, {}}, 4095);
  const auto whole = [&](const char* name, const char* about, std::uint32_t& to) {
    const std::string shown = name;
    value(sub, name, "N", about,
          [&to, shown](const std::string& s) { to = static_cast<std::uint32_t>(checked(parse_count(shown, s, 1, 14 * 24))); });
  };
  whole("--hours", "Hours that the job takes [6]", o.hours);
  whole("--within", "Hours from now in which it must be done [24]", o.within);
  value(sub, "--kw", "KW", "It draws, at the site's meter [100]",
        [&o](const std::string& s) { o.kw = checked(parse_quantity("--kw", s, 0.001, 1e7, "kW")); });
  flag(sub, "--pausable", o.pausable, "It can pause at checkpoints: its hours need not stand together");
  flag(sub, "--market", o.market, "A day-ahead market: prices of today, and from noon of tomorrow, are published and binding");
  flag(sub, "--year", o.year,
       "Ask anew in every hour of the series, and a day's work at 50 to 90 % utilisation: what waiting saved");
  value(sub, "--at", "UTC",
        "Now is then, in the series' own time [now where the series has it, else the last hour that leaves room]",
        [&o](const std::string& s) { o.at = checked(parse_moment("--at", s)); });
  words(sub, "--currency", "WORD", "Of the prices [USD]", o.currency, {}, 8);
  add_format(sub, o.format, {Format::table, Format::json});
  sub->callback([this] { command_ = EnergyCommand(energy_.hours); });
}

void Parser::add_energy_record(CLI::App& energy) {
  EnergyRecordOptions& o = energy_.record;
  auto* sub =
      command(energy, "record", "Write this node's GPU power and energy counters as CSV; changes nothing on them", nullptr,
              "  muster energy record --every 0.1 --for 60 > power.csv\n"
              "  muster energy record --out power.csv &          until it is interrupted");
  value(sub, "--every", "SECONDS", "Between two readings [1]",
        [&o](const std::string& s) { o.every_s = checked(parse_quantity("--every", s, 0.02, 3600)); });
  value(sub, "--for", "TIME", "For so long [until interrupted]",
        [&o](const std::string& s) { o.for_s = checked(parse_some_time("--for", s, 30.0 * 86400)); });
  words(sub, "--node", "NAME", "What the node is called [the host's name]", o.node, {}, 253);
  words(sub, "--out", "FILE", "Where to [standard output]", o.out, {WordKind::file, {}}, 4095);
  words(sub, "--nvml-library", "FILE", "NVIDIA's management library [libnvidia-ml.so.1]", o.nvml, {WordKind::file, {}}, 4095);
  sub->callback([this] { command_ = EnergyCommand(energy_.record); });
}

}  // namespace muster::cmd
