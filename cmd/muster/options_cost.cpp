// muster cost.
#include <set>

#include "ingest/cost_file.h"
#include "options_parser.h"

namespace muster::cmd {
namespace {

// "gpu_price=30000,years=4": any number of them.
void read_settings(const std::string& text, std::vector<std::pair<std::string, std::string>>& to) {
  for (const std::string_view one : split(text, ',')) {
    const std::size_t at = one.find('=');
    if (at == std::string_view::npos || trim(one.substr(0, at)).empty() || trim(one.substr(at + 1)).empty())
      throw BadValue{{Code::bad_input, "--set must be KEY=VALUE, is \"" + printable(one) + "\"",
                      "such as --set gpu_price=30000,years=4,cooling=liquid"}};
    to.emplace_back(trim(one.substr(0, at)), trim(one.substr(at + 1)));
  }
}

// "25", of every term, or "ondemand=20,reserved_1y=40": shares off list prices.
predict::TermMix discounts_of(const std::string& text) {
  const auto percent = [](std::string_view s) { return checked(parse_quantity("--discount", s, 0, 95, "percent")) / 100; };
  predict::TermMix off{};
  if (text.find('=') == std::string::npos) {
    off.fill(percent(text));
    return off;
  }
  std::set<RentTerm> named;
  for (const std::string_view one : split(text, ',')) {
    const std::size_t at = one.find('=');
    RentTerm term{};
    if (at == std::string_view::npos || !parse_name(trim(one.substr(0, at)), term) || !named.insert(term).second)
      throw BadValue{{Code::bad_input,
                      "--discount must be a number of percent, or one for each term, is \"" + printable(text) + "\"",
                      "such as --discount 25, or --discount ondemand=20,reserved_1y=40"}};
    off[static_cast<std::size_t>(term)] = percent(one.substr(at + 1));
  }
  return off;
}

// "EUR=1.08@2026-10-30".
ExchangeRate rate_of(const std::string& text) {
  ExchangeRate out;
  const std::size_t is = text.find('='), on = text.find('@');
  if (is != 3 || on == std::string::npos || on < is || !is_currency(text.substr(0, is)) || text.starts_with("USD"))
    throw BadValue{{Code::bad_input, "--rate must be CURRENCY=USD@DAY, is \"" + printable(text) + "\"",
                    "such as --rate EUR=1.08@2026-10-30: what one was worth in USD on a day that you know of"}};
  out.currency = text.substr(0, is);
  out.usd = checked(parse_quantity("--rate", text.substr(is + 1, on - is - 1), 1e-6, 1e3));
  out.day = text.substr(on + 1);
  checked(parse_day("--rate", out.day));
  return out;
}

// Flags that would be read and then not used.
void needs(CLI::App* sub, std::initializer_list<const char*> flags, bool there, const char* why, const char* next) {
  if (there) return;
  for (const char* flag : flags) {
    if (sub->get_option(flag)->count() > 0) throw BadValue{{Code::bad_input, std::string(flag) + " " + why, next}};
  }
}

// "ondemand", or shares: "ondemand=50,reserved_1y=30,spot=20".
predict::TermMix mix_of(const std::string& text) {
  predict::TermMix mix{};
  const Words known = as_words(names(RentTerm{}));
  double sum = 0;
  std::set<RentTerm> named;
  for (const std::string_view one : split(text, ',')) {
    const std::size_t at = one.find('=');
    const std::string name(trim(one.substr(0, at)));
    RentTerm term{};
    if (!parse_name(name, term)) {
      const auto meant = nearest(name, known);
      throw BadValue{{Code::bad_input,
                      "--term must be one of " + join(known, ", ") + ", or shares of them, is \"" + printable(text) + "\"",
                      meant ? "did you mean " + *meant + "?" : "such as --term ondemand=50,reserved_1y=30,spot=20"}};
    }
    const double share =
        at == std::string_view::npos ? 100 : checked(parse_quantity("--term", one.substr(at + 1), 0, 100, "percent"));
    if (!named.insert(term).second)
      throw BadValue{{Code::bad_input, "--term: " + name + " is there twice", "such as --term ondemand=70,spot=30"}};
    mix[static_cast<std::size_t>(term)] += share / 100;
    sum += share;
  }
  if (sum < 99.99 || sum > 100.01)
    throw BadValue{
        {Code::bad_input, "--term: shares must sum to 100, here to " + render_number(sum), "such as --term ondemand=70,spot=30"}};
  return mix;
}

// "20TB", "500GB": in TB. A bare number would be bytes, which nobody means who speaks of a peak's data.
double terabytes(const char* flag, const std::string& text) {
  if (text == "0") return 0;
  if (parse_double(text))
    throw BadValue{{Code::bad_input, std::string(flag) + " must say of what it is a number, is \"" + printable(text) + "\"",
                    std::string(flag) + " 20TB, 500GB or 3TiB"}};
  return checked(parse_bytes(flag, text)) / 1e12;
}

// "10Gbit/s", "400Mbit/s", "10": in Gbit/s.
double gigabits(const std::string& text) {
  double unit = 1;
  std::string_view number = text;
  for (const auto& [suffix, of] :
       {std::pair<std::string_view, double>{"Gbit/s", 1.0}, {"Mbit/s", 1e-3}, {"Tbit/s", 1e3}, {"Gbps", 1.0}, {"Mbps", 1e-3}}) {
    if (!number.ends_with(suffix)) continue;
    number.remove_suffix(suffix.size());
    unit = of;
    break;
  }
  const auto n = parse_double(trim(number));
  if (!n || !(*n > 0) || *n * unit > 1e5)
    throw BadValue{{Code::bad_input, "--link must be a rate such as 10Gbit/s, is \"" + printable(text) + "\"", ""}};
  return *n * unit;
}

void number(const char* flag, const std::string& text, double& to, double min, double max) {
  to = checked(parse_quantity(flag, text, min, max));
}

}  // namespace

void Parser::add_cost_site(CLI::App* sub, SiteChoice& site) {
  words(sub, "--site", "NAME|FILE", "A site: " + join(shipped_cost_site_names(), ", ") + ", or a cost file (docs/cost.md)",
        site.site, {WordKind::file, shipped_cost_site_names()}, 4095);
  value(sub, "--set", "KEY=VALUE",
        "Another value for some of its numbers, as gpu_price=30000,years=4,cooling=liquid; or low/likely/high",
        [&site](const std::string& s) { read_settings(s, site.set); })
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->needs(sub->get_option("--site"));
}

void Parser::add_cost_draws(CLI::App* sub, std::uint64_t& seed, std::uint32_t& draws) {
  value(sub, "--seed", "N", "The same seed gives the same draws [1]",
        [&seed](const std::string& s) { seed = checked(parse_count("--seed", s, 0, UINT64_MAX)); });
  value(sub, "--draws", "N", "Of what is uncertain [" + std::to_string(draws) + "]", [&draws](const std::string& s) {
    draws = static_cast<std::uint32_t>(checked(parse_count("--draws", s, 100, 1'000'000)));
  });
}

void Parser::add_cost() {
  auto* cost = command(app_, "cost", "What owning GPUs costs, a year and an hour; against renting; what if", kDesign,
                       "  muster cost --site h200-1024-colo\n"
                       "  muster cost --site mine.yaml --set utilisation=0.6,years=4 --set cooling=liquid\n"
                       "  muster cost --site mine.yaml --set gpu_price=32000/39000/45000 -o json\n"
                       "  muster cost import --from vms.csv --cloud aws --as-of 2026-08-22 --out prices.csv\n"
                       "  muster cost compare --site mine.yaml --prices prices.csv --gpu h200 --cloud aws\n"
                       "  muster cost burst --gpu-hours 20000 --gpus 256 --price 3.5 --data 20TB --link 10Gbit/s");
  add_cost_site(cost, cost_.table.site);
  add_cost_draws(cost, cost_.table.seed, cost_.table.draws);
  add_format(cost, cost_.table.format, {Format::table, Format::wide, Format::json, Format::csv});
  cost->callback([this, cost] {
    if (!cost->get_subcommands().empty()) return;
    if (cost_.table.site.site.empty())
      throw BadValue{
          {Code::bad_input, "muster cost needs a site", "muster cost --site h200-1024-colo, or a cost file; muster cost --help"}};
    command_ = CostCommand(cost_.table);
  });
  add_cost_import(*cost);
  add_cost_compare(*cost);
  add_cost_burst(*cost);
}

void Parser::add_cost_import(CLI::App& cost) {
  auto* sub = command(cost, "import", "Check somebody's list of cloud prices, and keep what can be trusted", nullptr,
                      "  muster cost import --from cloud_prices.csv --out prices.csv\n"
                      "  muster cost import --from vms.csv --cloud aws --as-of 2026-08-22 --out prices.csv\n"
                      "  muster cost import --from cloud_prices.csv --keep-stale -o json");
  CostImportOptions& o = cost_.import;
  words(sub, "--from", "FILE", "The list, CSV or .gz: dated prices, a snapshot, quotations, or a catalogue of machines", o.from,
        {WordKind::file, {}}, 4095);
  sub->get_option("--from")->required();
  words(sub, "--out", "FILE", "Write what was kept there", o.out, {WordKind::file, {}}, 4095);
  add_cost_list(sub, o.ask);
  words(sub, "--cloud", "NAME", "Whose list it is, where it does not say", o.ask.cloud, {}, 80);
  add_format(sub, o.format, {Format::table, Format::json, Format::csv});
  sub->callback([this] { command_ = CostCommand(cost_.import); });
}

void Parser::add_cost_list(CLI::App* sub, CatalogueAsk& ask) {
  value(sub, "--as-of", "DAY", "Nothing later is read; of lists without days, the day they were taken",
        [&ask](const std::string& s) { ask.as_of = checked(parse_day("--as-of", s)).ns / 86'400'000'000'000; });
  value(sub, "--stale", "DAYS", "Rows so much older than the newest of the file are stale [90]",
        [&ask](const std::string& s) { number("--stale", s, ask.stale_days, 0, 36'500); });
  flag(sub, "--keep-stale", ask.keep_stale, "Keep them, with a flag");
  value(sub, "--rate", "CUR=USD@DAY", "Of a list in another currency, as EUR=1.08@2026-10-30; none is known here",
        [&ask](const std::string& s) { ask.rate = rate_of(s); });
}

void Parser::add_cost_compare(CLI::App& cost) {
  auto* sub = command(cost, "compare", "From when on owning has cost less than renting, along dated prices", nullptr,
                      "  muster cost compare --site mine.yaml --price 3.99\n"
                      "  muster cost compare --site mine.yaml --prices prices.csv --discount 20 --own-discount 12\n"
                      "  muster cost compare --site mine.yaml --prices prices.csv --gpu h100 --cloud aws --term spot\n"
                      "  muster cost compare --site mine.yaml --prices prices.csv --term ondemand=60,spot=40 --resale straight");
  CostCompareOptions& o = cost_.compare;
  add_cost_site(sub, o.site);
  sub->get_option("--site")->required();
  value(sub, "--prices", "FILE", "Dated prices, as muster cost import writes or reads them; may be given again",
        [&o](const std::string& s) { o.prices.push_back(checked(parse_words("--prices", s, 4095))); }, {WordKind::file, {}})
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  value(sub, "--price", "USD", "Of a rented GPU-hour, that stays as it is", [&o](const std::string& s) {
    double usd = 0;
    number("--price", s, usd, 0.001, 1e4);
    o.price = usd;
  });
  add_cost_list(sub, o.ask);
  words(sub, "--gpu", "NAME", "As h100 [the site's]", o.gpu, {WordKind::none, gpu_names()}, 80);
  value(sub, "--cloud", "NAME", "One alone, with its course [each]",
        [&o](const std::string& s) { o.cloud = lower(checked(parse_words("--cloud", s, 80))); });
  value(sub, "--term", "TERM", "ondemand, spot, reserved_1y, reserved_3y, or shares: ondemand=50,spot=50 [ondemand]",
        [&o](const std::string& s) {
          o.mix = mix_of(s);
          o.term = s;
        },
        {WordKind::choice, as_words(names(RentTerm{}))});
  value(sub, "--discount", "PCT", "Off what clouds list: of every term, or ondemand=20,reserved_1y=40 [0]",
        [&o](const std::string& s) {
          o.off = discounts_of(s);
          o.discounts = s;
        });
  value(sub, "--own-discount", "PCT", "Off what the site's file pays at once, for GPUs and the rest [0]",
        [&o](const std::string& s) { o.own_off = checked(parse_quantity("--own-discount", s, 0, 95, "percent")) / 100; });
  value(sub, "--gpu-hours", "N", "A month that would be rented [those the site says are allocated]",
        [&o](const std::string& s) { number("--gpu-hours", s, o.gpu_hours_a_month, 0.001, 1e10); });
  value(sub, "--months", "N", "To look ahead, 1 to 360 [the life of the site's GPUs]",
        [&o](const std::string& s) { number("--months", s, o.months, 1, 360); });
  choice(sub, "--resale", "HOW",
         "What is sold when it is given up: none, at_end (what is left then, at any time), straight [none]",
         as_words(names(predict::Resale{})), [&o](std::size_t i) { o.resale = static_cast<predict::Resale>(i); });
  sub->add_flag_callback(
         "--no-drift", [&o] { o.drift = false; }, "Take the mean out of how prices moved: they wander, and go nowhere")
      ->option_text(" ");
  add_cost_draws(sub, o.seed, o.draws);
  words(sub, "--svg", "FILE", "Write the course of the first one there", o.svg, {WordKind::file, {}}, 4095);
  add_format(sub, o.format, {Format::table, Format::json, Format::csv});
  sub->callback([this, sub] {
    const CostCompareOptions& c = cost_.compare;
    if (c.prices.empty() && !c.price)
      throw BadValue{{Code::bad_input, "there is nothing to compare with", "--prices FILE, or --price USD"}};
    if (c.prices.empty() && (!c.cloud.empty() || !c.gpu.empty()))
      throw BadValue{{Code::bad_input, "--cloud and --gpu choose among --prices", "--prices FILE"}};
    needs(sub, {"--term", "--as-of", "--stale", "--keep-stale", "--no-drift", "--rate"}, !c.prices.empty(),
          "says how --prices are read, and there are none", "--prices FILE");
    if (c.price && c.discounts.find('=') != std::string::npos)
      throw BadValue{{Code::bad_input, "--price has no term, and --discount names some", "--discount 25"}};
    command_ = CostCommand(c);
  });
}

void Parser::add_cost_burst(CLI::App& cost) {
  auto* sub = command(cost, "burst", "A peak of work: rent for it with its data on the way, wait, or buy", nullptr,
                      "  muster cost burst --gpu-hours 20000 --gpus 256 --price 3.5 --data 20TB --results 1TB \\\n"
                      "    --link 10Gbit/s --rtt-ms 20 --egress-usd-per-gb 0.09 --own-gpus 128 --queue 5d --by 7d\n"
                      "  muster cost burst --gpu-hours 500000 --gpus 512 --price 2.5 --site mine.yaml --lead-days 120");
  CostBurstOptions& o = cost_.burst;
  predict::BurstAsk& a = o.ask;
  add_cost_site(sub, o.site);
  const auto add = [&](const char* flag, const char* type, const char* about, double& to, double min, double max) {
    value(sub, flag, type, about, [flag, &to, min, max](const std::string& s) { number(flag, s, to, min, max); });
  };
  add("--gpu-hours", "N", "That the peak takes", a.gpu_hours, 0.001, 1e10);
  add("--gpus", "N", "Rented, or bought, at once", a.gpus, 1, 1e7);
  add("--price", "USD", "Of a rented GPU-hour", a.usd_per_gpu_hour, 0.001, 1e4);
  for (const char* flag : {"--gpu-hours", "--gpus", "--price"}) sub->get_option(flag)->required();
  value(sub, "--data", "SIZE", "That must go there, as 20TB [0]",
        [&a](const std::string& s) { a.data_tb = terabytes("--data", s); });
  value(sub, "--results", "SIZE", "That must come back [0]",
        [&a](const std::string& s) { a.results_tb = terabytes("--results", s); });
  value(sub, "--link", "RATE", "They move over, as 10Gbit/s", [&a](const std::string& s) { a.link_gbit_s = gigabits(s); });
  add("--rtt-ms", "MS", "A round trip over it [0]", a.rtt_ms, 0, 1e4);
  add("--streams", "N", "At once [8]", a.streams, 1, 1e4);
  add("--window", "MIB", "Of a stream [4]", a.window_mib, 0.001, 1e4);
  add("--egress-usd-per-gb", "USD", "What leaves the cloud [0]", a.egress_usd_per_gb, 0, 100);
  add("--leaving-usd-per-gb", "USD", "What leaves the place the data are in [0]", a.leaving_usd_per_gb, 0, 100);
  add("--storage-usd-per-gb-month", "USD", "In the cloud, meanwhile [0]", a.storage_usd_per_gb_month, 0, 100);
  value(sub, "--slower", "PCT", "Rented GPUs need so much more time, lost work of spot ones included [0]",
        [&a](const std::string& s) { a.slower = checked(parse_quantity("--slower", s, 0, 1000, "percent")) / 100; });
  value(sub, "--start", "TIME", "Until rented GPUs run [30m]",
        [&a](const std::string& s) { a.start_hours = checked(parse_duration_s("--start", s, 365 * 86400.0)) / 3600; });
  add("--own-gpus", "N", "Of one's own that the peak would get after waiting", a.own_gpus, 1, 1e7);
  value(sub, "--queue", "TIME", "Until it gets them [0]",
        [&a](const std::string& s) { a.queue_hours = checked(parse_duration_s("--queue", s, 3650 * 86400.0)) / 3600; });
  add("--own-price", "USD", "Of one more hour of a GPU that is there: its power [of --site]", a.own_usd_per_gpu_hour, 0, 1e4);
  add("--lead-days", "N", "Until bought GPUs work [90]", a.lead_days, 0, 3650);
  add("--peaks-a-year", "N", "That bought GPUs serve [1]", a.peaks_a_year, 0.01, 1e4);
  value(sub, "--by", "TIME", "Results later than this are worth nothing, as 7d",
        [&a](const std::string& s) { a.by_hours = checked(parse_some_time("--by", s, 3650 * 86400.0)) / 3600; });
  add("--late-usd-per-day", "USD", "What each day without the results costs [0]", a.late_usd_per_day, 0, 1e9);
  value(sub, "--from", "UTC", "When it begins, to tell days instead of hours",
        [&o](const std::string& s) { o.from = checked(parse_moment("--from", s)); });
  add_format(sub, o.format, {Format::table, Format::json});
  sub->callback([this, sub] {
    const predict::BurstAsk& b = cost_.burst.ask;
    const auto given = [&](const char* flag) { return sub->get_option(flag)->count() > 0; };
    needs(sub, {"--queue", "--own-price"}, b.own_gpus > 0, "is of waiting for GPUs of one's own", "--own-gpus N");
    needs(sub, {"--lead-days", "--peaks-a-year"}, given("--site"), "is of buying, which the site's costs decide", "--site FILE");
    needs(sub, {"--link", "--rtt-ms", "--streams", "--window", "--storage-usd-per-gb-month"},
          given("--data") || given("--results"), "is of data, and there are none", "--data 20TB");
    needs(sub, {"--leaving-usd-per-gb"}, given("--data"), "is of the data that go there", "--data 20TB");
    needs(sub, {"--egress-usd-per-gb"}, given("--results"), "is of the results that come back", "--results 1TB");
    command_ = CostCommand(cost_.burst);
  });
}

}  // namespace muster::cmd
