#include "energy_read.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "base/text.h"
#include "files.h"
#include "ingest/embedded.h"
#include "ingest/held_file.h"
#include "ingest/power_readings.h"
#include "ingest/price_file.h"
#include "ingest/sacct_file.h"
#include "ingest/tariff_file.h"
#include "input.h"
#include "report/units.h"
#include "zones.h"

namespace muster::cmd {
namespace {

Result<std::string> whole_file(const std::string& path) {
  if (path != "-") return read_fabric_file(path);
  std::string all;
  auto ok = read_unpacked(path, [&](std::string_view piece) -> Result<void> {
    all += piece;
    return {};
  });
  if (!ok) return tl::unexpected(ok.error());
  return all;
}

bool is_json(std::string_view text) {
  const auto at = text.find_first_not_of(" \t\r\n");
  return at != std::string_view::npos && text[at] == '{';
}

constexpr Time kStillRuns{std::numeric_limits<std::int64_t>::max()};

bool same_place(const GpuHold& a, const GpuHold& b) {
  return std::equal(a.places.begin(), a.places.end(), b.places.begin(), b.places.end(),
                    [](const HeldPlace& p, const HeldPlace& q) {
                      return p.node == q.node && p.gpus_milli == q.gpus_milli && p.gpus == q.gpus;
                    });
}

class Reader {
 public:
  Reader(const EnergyOptions& o, ZoneOffsets zone) : o_(o), zone_(std::move(zone)) {}

  Result<EnergyInput> read() {
    for (const std::string& path : o_.sacct) {
      if (auto ok = sacct(path); !ok) return tl::unexpected(ok.error());
    }
    if (!o_.jobs.empty()) {
      if (auto ok = table(); !ok) return tl::unexpected(ok.error());
    }
    count_once();
    if (auto ok = tokens(); !ok) return tl::unexpected(ok.error());
    for (const std::string& path : o_.power) {
      if (auto ok = power(path); !ok) return tl::unexpected(ok.error());
    }
    if (!o_.prometheus.empty()) {
      if (auto ok = prometheus(); !ok) return tl::unexpected(ok.error());
    }
    in_.readings = book_.finish();
    if (in_.readings.refused > 0)
      in_.notes.push_back(fmt::format("{} refused, the first: {}",
                                      report::counted(static_cast<std::int64_t>(in_.readings.refused), "reading"),
                                      in_.readings.some_refused));
    name_nodes();
    if (auto ok = distinct(); !ok) return tl::unexpected(ok.error());
    end_running();
    if (auto ok = place(); !ok) return tl::unexpected(ok.error());
    return std::move(in_);
  }

 private:
  Result<void> sacct(const std::string& path) {
    std::uint64_t without = 0, backwards = 0;
    std::string some_backwards;
    SacctReader reader(path, zone_, [&](const JobRecord& r) {
      GpuHold h = hold_of(r, kStillRuns);
      const bool runs = r.ended.ns <= 0 && !is_over(r.state);
      if (!h.places.empty()) {
        running_ += runs ? 1 : 0;
        in_.runs.push_back(std::move(h));
      } else if (r.ended.ns > 0 && r.started > r.ended && r.gpus_milli.value_or(0) > 0) {
        if (backwards++ == 0) some_backwards = r.id.text;
      } else {
        ++without;
      }
    });
    auto ok = read_unpacked(path, [&](std::string_view piece) { return reader.feed(piece); });
    if (!ok) return tl::unexpected(ok.error());
    const auto counts = reader.finish();
    if (!counts) return tl::unexpected(counts.error());
    if (without > 0)
      in_.notes.push_back(fmt::format("{}: {} of {} records had no GPUs, or never began", path, without, counts->jobs));
    if (backwards > 0)
      in_.notes.push_back(fmt::format("{}: {} ended before it began, and is left out (the first: job {})", path,
                                      report::counted(static_cast<std::int64_t>(backwards), "run"), some_backwards));
    about_faults(path, *counts);
    const std::uint64_t doubtful = counts->of(SacctFault::ambiguous_time) + counts->of(SacctFault::skipped_time);
    if (doubtful > 0) in_.notes.push_back(fmt::format("{}: {} times lie in hours of a change of the clocks", path, doubtful));
    if (counts->of(SacctFault::time_without_zone) > 0 && o_.zone == "UTC" && zone_.empty())
      in_.notes.push_back(path + ": its times name no zone and were read as UTC: --zone");
    return {};
  }

  // Rows that were left out or read with doubt.
  void about_faults(const std::string& path, const SacctCounts& counts) {
    static constexpr std::pair<SacctFault, std::string_view> kTold[] = {
        {SacctFault::cut_row, "with too few cells, left out (names with line breaks?)"},
        {SacctFault::long_row, "with too many cells, left out (the delimiter in a name?)"},
        {SacctFault::no_job_number, "without the number of a job, left out"},
        {SacctFault::wrong_time, "with a time that is none"},
        {SacctFault::wrong_gpus, "whose GPUs cannot be read"},
        {SacctFault::shards, "with parts of GPUs of unknown size, which are not counted"}};
    for (const auto& [fault, words] : kTold) {
      if (counts.of(fault) > 0)
        in_.notes.push_back(fmt::format("{}: {} {}, the first in line {}", path,
                                        report::counted(static_cast<std::int64_t>(counts.of(fault)), "row"), words,
                                        counts.first[static_cast<std::size_t>(fault)]));
    }
  }

  // Extracts overlap, and files are given twice: a run that was read before counts once, with its end where one of them has it.
  void count_once() {
    const auto order = [](const GpuHold* a, const GpuHold* b) {
      return std::tie(a->job, a->started, a->ended) < std::tie(b->job, b->started, b->ended);
    };
    std::vector<const GpuHold*> sorted;
    for (const GpuHold& h : in_.runs) sorted.push_back(&h);
    std::stable_sort(sorted.begin(), sorted.end(), order);
    std::set<const GpuHold*> again;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      for (std::size_t j = i; j-- > 0 && sorted[j]->job == sorted[i]->job && sorted[j]->started == sorted[i]->started;) {
        const bool runs = sorted[i]->ended == kStillRuns;
        if (again.contains(sorted[j]) || !same_place(*sorted[i], *sorted[j])) continue;
        if (sorted[i]->ended != sorted[j]->ended && !runs) continue;
        again.insert(sorted[i]);
        break;
      }
    }
    if (again.empty()) return;
    in_.notes.push_back(fmt::format("{} came more than once in what was given: each counts once (the first: job {})",
                                    report::counted(static_cast<std::int64_t>(again.size()), "run"),
                                    (*std::min_element(again.begin(), again.end()))->job));
    std::vector<GpuHold> once;
    for (GpuHold& h : in_.runs) {
      if (!again.contains(&h)) once.push_back(std::move(h));
    }
    in_.runs = std::move(once);
  }

  // Of a GPU whose node has several names, as of a pod and of its host, the one that jobs know counts.
  void name_nodes() {
    std::set<std::string> known;
    for (const GpuHold& h : in_.runs) {
      for (const HeldPlace& p : h.places) known.insert(account::short_node(p.node));
    }
    std::size_t several = 0;
    std::string one;
    for (PowerTrack& t : in_.readings.tracks) {
      for (std::string& other : t.other_nodes) {
        if (!known.contains(account::short_node(t.node)) && known.contains(account::short_node(other))) std::swap(other, t.node);
      }
      if (!t.other_nodes.empty() && several++ == 0)
        one = fmt::format("{} on {}, also on {}", t.gpu, t.node, t.other_nodes.front());
    }
    if (several > 0)
      in_.notes.push_back(fmt::format("{} read under several names of their nodes at the same time, and counted once ({})",
                                      report::counted(static_cast<std::int64_t>(several), "GPU"), one));
  }

  // Runs whose records do not say when they ended, nor for how long they had run, last as long as anything else is known.
  void end_running() {
    Time last{};
    for (const PowerTrack& t : in_.readings.tracks) last = std::max(last, t.points.back().at);
    for (const GpuHold& h : in_.runs) last = std::max({last, h.started, h.ended == kStillRuns ? Time{} : h.ended});
    if (moment_of(o_.to).ns > 0) last = moment_of(o_.to);
    for (GpuHold& h : in_.runs) {
      if (h.ended == kStillRuns) h.ended = std::max(last, h.started);
    }
    if (running_ > 0)
      in_.notes.push_back(fmt::format("{} had not ended: counted as far as the records and readings go",
                                      report::counted(static_cast<std::int64_t>(running_), "run")));
  }

  // Two GPUs cannot be one and the same of a node at once: then files of several nodes were called one.
  Result<void> distinct() {
    std::map<std::pair<std::string, int>, std::vector<const PowerTrack*>> by_index;
    for (const PowerTrack& t : in_.readings.tracks) {
      if (!t.whole_node && t.index >= 0) by_index[{account::short_node(t.node), t.index}].push_back(&t);
    }
    for (const auto& [at, tracks] : by_index) {
      for (std::size_t i = 1; i < tracks.size(); ++i) {
        const PowerTrack &a = *tracks[0], &b = *tracks[i];
        if (a.points.back().at < b.points.front().at || b.points.back().at < a.points.front().at) continue;
        return fail(Code::bad_input,
                    fmt::format("{} and {} are both read as GPU {} of {}, at the same time", printable(a.gpu), printable(b.gpu),
                                at.second, at.first.empty() ? "a node that is not named" : printable(at.first)),
                    "say of which node each file is: --power gpu001=FILE --power gpu002=FILE");
      }
    }
    return {};
  }

  Result<void> table() {
    const auto text = whole_file(o_.jobs);
    if (!text) return tl::unexpected(text.error());
    auto held = parse_held(*text, o_.jobs, zone_);
    if (!held) return tl::unexpected(held.error());
    std::move(held->begin(), held->end(), std::back_inserter(in_.runs));
    return {};
  }

  Result<void> tokens() {
    std::map<std::string, double> all;
    for (const std::string& word : o_.tokens) {
      const auto equals = word.find('=');
      const auto n = equals == std::string::npos ? std::nullopt : parse_double(word.substr(equals + 1));
      if (n && *n > 0 && *n < 1e21) {
        all[word.substr(0, equals)] += *n;
        continue;
      }
      const auto text = whole_file(word);
      if (!text && n)
        return fail(Code::bad_input, fmt::format("--tokens {}: so many tokens are none", word), "JOB=N, such as 4711=1.2e12");
      if (!text)
        return fail(text.error().code, text.error().what, "--tokens is JOB=N, such as 4711=1.2e12, or a file with job,tokens");
      const auto more = parse_tokens_file(*text, word);
      if (!more) return tl::unexpected(more.error());
      for (const auto& [job, count] : *more) all[job] += count;
    }
    std::vector<std::string> strange;
    for (const auto& [job, count] : all) {
      const auto run = std::find_if(in_.runs.begin(), in_.runs.end(), [&](const GpuHold& h) { return h.job == job; });
      if (run == in_.runs.end()) {
        strange.push_back(job);
        continue;
      }
      bool otherwise = false;  // the table of jobs has some too
      for (GpuHold& h : in_.runs) {
        if (h.job != job) continue;
        otherwise = otherwise || h.tokens.has_value();
        h.tokens.reset();
      }
      run->tokens = count;
      if (otherwise) in_.notes.push_back(fmt::format("tokens of job {}: --tokens counts, and not the table of jobs", job));
    }
    if (!strange.empty())
      in_.notes.push_back(fmt::format("tokens were given of {} not in the records, such as {}",
                                      strange.size() == 1 ? "a job that is" : fmt::format("{} jobs that are", strange.size()),
                                      strange.front()));
    return {};
  }

  // FILE, or NODE=FILE.
  Result<void> power(const std::string& word) {
    auto text = whole_file(word);
    const auto equals = word.find('=');
    const bool named = !text && equals != std::string::npos && equals > 0;
    const std::string path = named ? word.substr(equals + 1) : word, node = named ? word.substr(0, equals) : o_.node;
    if (named) text = whole_file(path);
    if (!text) return tl::unexpected(text.error());
    if (!is_json(*text)) return book_.take_csv(*text, path, node, zone_);
    const auto used = book_.take_answer(*text, path);
    if (!used) return tl::unexpected(used.error());
    if (*used == 0)
      return fail(Code::bad_input, path + ": no series of power or energy in it", "query_range of " + power_query());
    return {};
  }

  Result<void> prometheus() {
    Time from = moment_of(o_.from), to = moment_of(o_.to);
    if (to.ns == 0) to = utc_now();
    if (o_.since_s > 0) from = to - from_seconds(o_.since_s);
    for (const GpuHold& h : in_.runs) {
      if (from.ns == 0 || (moment_of(o_.from).ns == 0 && o_.since_s <= 0 && h.started < from)) from = h.started;
    }
    if (from.ns == 0) from = to - hours(24);
    std::size_t used = 0;
    auto ok = ask_prometheus(o_, from, to, [&](std::string& body) -> Result<void> {
      const auto n = book_.take_answer(body, o_.prometheus);
      if (!n) return tl::unexpected(n.error());
      used += *n;
      return {};
    });
    if (ok && used == 0) in_.notes.push_back(o_.prometheus + " has no series of power or energy of that time");
    return ok;
  }

  // Readings that name no node, and what to hold where nobody said who held it.
  Result<void> place() {
    std::set<std::string> nodes;
    for (const GpuHold& h : in_.runs) {
      for (const HeldPlace& p : h.places) nodes.insert(account::short_node(p.node));
    }
    bool unnamed = false;
    for (PowerTrack& t : in_.readings.tracks) {
      if (!t.node.empty()) continue;
      if (nodes.size() == 1) t.node = *nodes.begin();
      unnamed = unnamed || nodes.size() > 1;
    }
    const bool by_uuid = std::any_of(in_.runs.begin(), in_.runs.end(), [](const GpuHold& h) {
      return std::any_of(h.places.begin(), h.places.end(),
                         [](const HeldPlace& p) { return !p.gpus.empty() && p.gpus[0].size() > 4; });
    });
    if (unnamed && !by_uuid)
      return fail(Code::bad_input, "the readings do not say which node they are of, and the jobs ran on several",
                  "--node NAME, or of several files --power gpu001=FILE --power gpu002=FILE");
    if (in_.runs.empty() && !in_.readings.tracks.empty()) everything();
    return {};
  }

  void everything() {
    GpuHold all;
    all.job = "(all that was read)";
    std::map<std::string, std::int64_t> gpus;
    for (const PowerTrack& t : in_.readings.tracks) {
      if (t.whole_node) continue;
      gpus[t.node] += kGpuThousandths;
      if (all.gpu_type.empty()) all.gpu_type = lower(t.model);
      if (all.started.ns == 0 || t.points.front().at < all.started) all.started = t.points.front().at;
      all.ended = std::max(all.ended, t.points.back().at);
    }
    for (const auto& [node, milli] : gpus) all.places.push_back({node, milli, {}});
    if (!gpus.empty()) in_.runs.push_back(std::move(all));
  }

  const EnergyOptions& o_;
  ZoneOffsets zone_;
  EnergyInput in_;
  std::uint64_t running_ = 0;
  PowerBook book_;
};

constexpr double kPerMwhOdd = 2;  // cheaper than any hour that is not free

Result<void> read_carbon(const EnergyRateFiles& f, EnergyRatesRead& out) {
  if (const auto flat = parse_double(f.carbon)) {
    if (!(*flat >= 0 && *flat < 5000)) return fail(Code::bad_input, "--carbon must be 0 to 5,000 g/kWh, or a file");
    out.rates.carbon_flat = *flat;
    return {};
  }
  const auto text = read_file(f.carbon);
  if (!text) return tl::unexpected(text.error());
  auto series = parse_power(*text, f.carbon);
  if (!series) return tl::unexpected(series.error());
  if (series->carbon.hours() == 0) return fail(Code::bad_input, f.carbon + ":1: no column carbon_g_per_kwh or actual_g_per_kwh");
  out.rates.carbon = std::move(series->carbon);
  if (const std::string missing = about_missing(out.rates.carbon); !missing.empty())
    out.notes.push_back(f.carbon + ": " + missing);
  return {};
}

Result<void> read_tariff(const EnergyRateFiles& f, EnergyRatesRead& out) {
  std::string text;
  if (f.tariff == "example") {
    text = embedded_file("energy/tariff_industrial.yaml").value_or("");
  } else {
    auto read = read_file(f.tariff);
    if (!read) return tl::unexpected(read.error());
    text = std::move(*read);
  }
  auto tariff = parse_tariff(text, f.tariff);
  if (!tariff) return tl::unexpected(tariff.error());
  auto offsets = zone_offsets(f.tariff + ": zone", tariff->zone);
  if (!offsets) return tl::unexpected(offsets.error());
  tariff->offsets = std::move(*offsets);
  if (tariff->hourly && f.prices.empty())
    return fail(Code::bad_input, f.tariff + ":1: its energy is priced by the hour, and no prices were given", "--prices FILE");
  if (!tariff->hourly && !f.prices.empty())
    return fail(Code::bad_input, f.tariff + " has prices of its own for every hour",
                "leave --prices out, or write `energy: hourly` into it");
  out.currency = tariff->currency;
  out.rates.tariff = std::move(*tariff);
  return {};
}

}  // namespace

Time utc_now() {
  return Time{std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count()};
}

Time moment_of(const std::string& flag) { return flag.empty() ? Time{} : report::parse_utc(flag).value_or(Time{}); }

Result<EnergyInput> read_energy_input(const EnergyOptions& o) {
  auto zone = zone_offsets("--zone", o.zone);
  if (!zone) return tl::unexpected(zone.error());
  return Reader(o, std::move(*zone)).read();
}

Result<EnergyRatesRead> read_energy_rates(const EnergyRateFiles& f) {
  EnergyRatesRead out;
  if (!f.tariff.empty()) {
    if (auto ok = read_tariff(f, out); !ok) return tl::unexpected(ok.error());
  }
  if (!f.prices.empty()) {
    const auto text = read_file(f.prices);
    if (!text) return tl::unexpected(text.error());
    auto series = parse_power(*text, f.prices);
    if (!series) return tl::unexpected(series.error());
    if (!series->has_price)
      return fail(Code::bad_input, f.prices + ":1: the column price_per_mwh is missing", "hourly rows: timestamp, price_per_mwh");
    out.rates.price = std::move(series->price);
    if (std::all_of(out.rates.price.actual.begin(), out.rates.price.actual.end(),
                    [](double v) { return std::abs(v) < kPerMwhOdd; }))
      out.notes.push_back(fmt::format("{}: no hour costs {} a MWh: are these prices of a kWh?", f.prices, kPerMwhOdd));
    if (const std::string missing = about_missing(out.rates.price); !missing.empty())
      out.notes.push_back(f.prices + ": " + missing);
  }
  if (!f.carbon.empty()) {
    if (auto ok = read_carbon(f, out); !ok) return tl::unexpected(ok.error());
  }
  if (out.rates.tariff && !f.currency.empty() && f.currency != out.currency)
    return fail(Code::bad_input, fmt::format("{} is in {}, and --currency is {}", f.tariff, out.currency, f.currency),
                "nothing is converted here: leave --currency out, or give a tariff in it");
  if (!f.currency.empty()) out.currency = f.currency;
  return out;
}

}  // namespace muster::cmd
