// muster tune, muster tune show.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/text.h"
#include "commands.h"
#include "files.h"
#include "ingest/nccl_log.h"
#include "ingest/nccl_sweep.h"
#include "ingest/nccl_tests.h"
#include "input.h"
#include "report/tune.h"
#include "say.h"

namespace muster::cmd {
namespace {

constexpr std::size_t kFileMax = std::size_t{1} << 30;

Result<std::string> read_whole(const std::string& path) {
  std::string text;
  const auto read = read_unpacked(path, [&](std::string_view piece) -> Result<void> {
    if (text.size() + piece.size() > kFileMax)
      return fail(Code::bad_input, fmt::format("{}: more than {} MiB", path, kFileMax >> 20), "one launch a file");
    text += piece;
    return {};
  });
  if (!read) return tl::unexpected(read.error());
  return text;
}

Result<TuneInput> read_times(const std::string& path, const TuneHint& hint) {
  const auto text = read_whole(path);
  if (!text) return tl::unexpected(text.error());
  if (looks_like_sweep(*text)) return parse_sweep(*text, path);
  const NcclLog log = parse_nccl_log(*text, path);
  if (looks_like_nccl_tests(*text)) {
    const auto tests = parse_nccl_tests(*text, path);
    if (!tests) return tl::unexpected(tests.error());
    return tune_input(*tests, log, hint);
  }
  if (!log.picks.empty() || !log.beliefs.empty()) return tune_input(log, hint);
  return fail(Code::bad_input, fmt::format("{}: neither a sweep, nor what nccl-tests prints, nor NCCL's log of its tuner", path),
              "muster tune sweep -- COMMAND measures; NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,TUNING lets NCCL tell");
}

report::TuneView view_of(TuneInput&& in, const std::vector<TuneTime>& times, const design::TuneRules& rules) {
  report::TuneView view;
  view.rules = rules;
  view.tuned = design::tune(times, rules);
  for (const design::Tuned& t : view.tuned) view.buffers[t.key] = design::tune_buffer(times, t.key, rules);
  std::map<NcclWay, std::string> failed;
  for (const SweepRun& r : in.runs) {
    if (!r.failure.empty() && failed.emplace(r.way, r.failure).second)
      in.notes.push_back(fmt::format("{} was not measured: {}", report::way_words(r.way), r.failure));
  }
  view.picks = std::move(in.picks);
  view.beliefs = std::move(in.beliefs);
  view.notes = std::move(in.notes);
  return view;
}

// A shell, systemd and NCCL read KEY=VALUE each in its own way as soon as there is something to quote.
Result<void> plain_in_settings(const std::string& path) {
  static constexpr std::string_view kQuoted = "\"'\\$`;&|<>()*?[]{}~#!";
  const bool plain = std::none_of(path.begin(), path.end(), [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == 0x7f || kQuoted.find(c) != std::string_view::npos;
  });
  if (plain) return {};
  return fail(Code::bad_input,
              fmt::format("settings cannot hold the path \"{}\": shells, systemd and NCCL would read it each in its way",
                          printable(path)),
              "a path without blanks and quotes: --place PATH, --meet DIR");
}

Result<void> write_files(const TuneOptions& o, const report::TuneView& view) {
  std::error_code ignored;
  const std::string here = o.table.empty() ? "" : std::filesystem::absolute(o.table, ignored).string();
  const std::string place = o.place.empty() ? here : o.place;
  for (const std::string& path : {place, o.meet}) {
    if (auto ok = o.env.empty() ? Result<void>{} : plain_in_settings(path); !ok) return ok;
  }
  const report::TunerTable table = report::tuner_table(view.tuned, view.rules);
  std::string hash;
  if (!o.table.empty()) {
    const auto bytes = report::encode_tuner_table(table);
    if (!bytes) return tl::unexpected(bytes.error());
    if (auto ok = write_file(o.table, *bytes); !ok) return ok;
    hash = report::tuner_table_hash(*bytes);
    say(fmt::format("wrote {}: {} shapes, hash {}", o.table, table.entries.size(), hash));
  }
  if (!o.csv.empty()) {
    if (auto ok = write_file(o.csv, report::tuner_csv(table)); !ok) return ok;
    say(fmt::format("wrote {}", o.csv));
  }
  if (!o.env.empty()) {
    const std::string text = report::tune_environment(view, {place, hash, o.meet, o.env});
    if (auto ok = write_file(o.env, text); !ok) return ok;
    say(fmt::format("wrote {}", o.env));
  }
  return {};
}

void put_tables(const TuneOptions& o, const report::TuneView& view, const std::vector<TuneTime>& times) {
  bool first = true;
  for (const design::Tuned& t : view.tuned) {
    const report::Table table = o.model ? report::tune_fits(times, t.key) : report::tune_table(view, t);
    if (o.format == report::Format::csv) {
      put(report::render_csv(table, first));
    } else {
      const std::string about = o.model ? report::key_words(t.key) : report::tune_summary(t, o.rules);
      put(fmt::format("{}{}\n{}", first ? "" : "\n", about, report::render_table(table, {.colour = colour_wanted()})));
    }
    first = false;
  }
}

}  // namespace

int run_tune(const TuneOptions& o) {
  TuneInput in;
  for (const std::string& path : o.files) {
    auto one = read_times(path, o.hint);
    if (!one) return say_error(one.error());
    in.add(std::move(*one));
  }
  if (in.runs.empty()) {
    for (const std::string& n : in.notes) say(n);
    return say_error({Code::bad_input, "no measured time is in these files",
                      "muster tune sweep -- COMMAND measures; what nccl-tests printed will do too"});
  }
  count_once(in);
  number_runs(in.runs);
  const std::vector<TuneTime> times = times_of(in.runs);
  const report::TuneView view = view_of(std::move(in), times, o.rules);
  if (const auto ok = write_files(o, view); !ok) return say_error(ok.error());
  if (o.format == report::Format::json) {
    put(report::tune_json(view));
  } else {
    put_tables(o, view, times);
    for (const std::string& n : view.notes) say("note: " + n);
  }
  return finish_output();
}

int run_tune_show(const TuneShowOptions& o) {
  const auto bytes = read_file(o.table);
  if (!bytes) return say_error(bytes.error());
  const auto table = report::decode_tuner_table(*bytes, o.table);
  if (!table) return say_error(table.error());
  const report::Table entries = report::tuner_entries(*table);
  if (o.format == report::Format::csv) {
    put(report::render_csv(entries, true));
  } else if (o.format == report::Format::json) {
    put(report::tuner_json(*table, report::tuner_table_hash(*bytes)));
  } else {
    put(fmt::format("hash {}, {} shapes, margin {:.1f} %\n", report::tuner_table_hash(*bytes), table->entries.size(),
                    table->margin_permille / 10.0));
    put(report::render_table(entries, {.colour = colour_wanted()}));
  }
  return finish_output();
}

}  // namespace muster::cmd
