#include "energy_read.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <set>

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
    if (auto ok = place(); !ok) return tl::unexpected(ok.error());
    return std::move(in_);
  }

 private:
  Result<void> sacct(const std::string& path) {
    const Time now = utc_now();
    std::uint64_t without = 0;
    SacctReader reader(path, zone_, [&](const JobRecord& r) {
      GpuHold h = hold_of(r, now);
      if (h.places.empty())
        ++without;
      else
        in_.runs.push_back(std::move(h));
    });
    auto ok = read_unpacked(path, [&](std::string_view piece) { return reader.feed(piece); });
    if (!ok) return tl::unexpected(ok.error());
    const auto counts = reader.finish();
    if (!counts) return tl::unexpected(counts.error());
    if (without > 0)
      in_.notes.push_back(fmt::format("{}: {} of {} records had no GPUs, or never began", path, without, counts->jobs));
    const std::uint64_t doubtful = counts->of(SacctFault::ambiguous_time) + counts->of(SacctFault::skipped_time);
    if (doubtful > 0) in_.notes.push_back(fmt::format("{}: {} times lie in hours of a change of the clocks", path, doubtful));
    if (counts->of(SacctFault::time_without_zone) > 0 && o_.zone == "UTC" && zone_.empty())
      in_.notes.push_back(path + ": its times name no zone and were read as UTC: --zone");
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
      if (!text)
        return fail(text.error().code, text.error().what, "--tokens is JOB=N, such as 4711=1.2e12, or a file with job,tokens");
      const auto more = parse_tokens_file(*text, word);
      if (!more) return tl::unexpected(more.error());
      for (const auto& [job, count] : *more) all[job] += count;
    }
    for (const auto& [job, count] : all) {
      const auto run = std::find_if(in_.runs.begin(), in_.runs.end(), [&](const GpuHold& h) { return h.job == job; });
      if (run == in_.runs.end()) {
        in_.notes.push_back(fmt::format("tokens were given of job {}, which is not in the records", job));
      } else {
        run->tokens = count;
      }
    }
    return {};
  }

  Result<void> power(const std::string& path) {
    auto text = whole_file(path);
    if (!text) return tl::unexpected(text.error());
    if (!is_json(*text)) return book_.take_csv(*text, path, o_.node, zone_);
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
      return fail(Code::bad_input, "the readings do not say which node they are of, and the jobs ran on several", "--node NAME");
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
  PowerBook book_;
};

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
    out.rates.price = std::move(series->price);
    if (const std::string missing = about_missing(out.rates.price); !missing.empty())
      out.notes.push_back(f.prices + ": " + missing);
  }
  if (!f.carbon.empty()) {
    if (auto ok = read_carbon(f, out); !ok) return tl::unexpected(ok.error());
  }
  if (!f.currency.empty()) out.currency = f.currency;
  return out;
}

}  // namespace muster::cmd
