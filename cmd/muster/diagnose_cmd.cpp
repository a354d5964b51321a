// muster diagnose: what profiles and dumps say of a job.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "commands.h"
#include "ingest/flight_recorder.h"
#include "ingest/kineto.h"
#include "ingest/op_trace.h"
#include "input.h"
#include "report/accounting.h"
#include "report/hang.h"
#include "report/stragglers.h"
#include "say.h"

namespace muster::cmd {
namespace {

constexpr int kFindingsPresent = 6;
constexpr std::size_t kDumpBytesMax = std::size_t{512} << 20;

struct Text {
  std::string name, text;
};
struct Material {
  std::vector<report::AccountedTrace> traces;
  std::vector<FlightRecord> records;
  std::vector<Text> operations, descriptions;  // of one job
};

// Told apart by content: a profile is read as it comes, everything else is kept whole.
Result<void> read_one(const std::string& path, Material& into) {
  const std::string name = std::filesystem::path(path).filename().string();
  KinetoReader reader;
  std::string dump;
  bool first = true, is_dump = false;  // a dump, a table or a description
  const auto read = read_unpacked(path, [&](std::string_view text) -> Result<void> {
    if (std::exchange(first, false)) {
      const bool profile = looks_like_kineto(text);  // which tells of process groups as well
      is_dump = !profile && (looks_like_flight_record(text) || looks_like_op_trace(text) || looks_like_job_meta(text));
      if (!is_dump && !profile) {
        return fail(Code::bad_input, "this is nothing that Muster knows",
                    "what torch.profiler exported (JSON, or that in gzip), a dump of PyTorch's flight recorder, or a table of "
                    "operations");
      }
    }
    if (!is_dump) return reader.feed(text);
    if (dump.size() + text.size() > kDumpBytesMax)
      return fail(Code::bad_input, fmt::format("a dump of more than {} MiB", kDumpBytesMax >> 20),
                  "a smaller buffer of the recorder");
    dump += text;
    return {};
  });
  if (!read) return tl::unexpected(read.error());
  // A profile that was cut off while it was written still says what it says.
  if (is_dump && !*read) return fail(Code::bad_input, "it is packed, and cut short", "the whole file: try `gzip -t` on it");
  if (is_dump && looks_like_op_trace(dump)) {
    into.operations.push_back({name, std::move(dump)});
    return {};
  }
  if (is_dump && looks_like_job_meta(dump)) {
    into.descriptions.push_back({name, std::move(dump)});
    return {};
  }
  if (is_dump) {
    auto record = parse_flight_record(dump, name);
    if (!record) return tl::unexpected(record.error());
    into.records.push_back(std::move(*record));
    return {};
  }
  auto trace = reader.finish();
  if (!trace) return tl::unexpected(trace.error());
  if (trace->cut) say(fmt::format("{}: it ends in the middle; what is before that counts", path));
  if (trace->damaged > 0) say(fmt::format("{}: {} of {} events could not be read", path, trace->damaged, trace->events));
  if (trace->gpu.empty()) say(fmt::format("{}: nothing in it ran on a GPU", path));
  into.traces.push_back({name, std::move(*trace)});
  return {};
}

int tell_hang(const DiagnoseOptions& o, std::vector<FlightRecord> records) {
  std::stable_sort(records.begin(), records.end(), [](const auto& x, const auto& y) { return x.rank < y.rank; });
  for (std::size_t i = 1; i < records.size(); ++i) {
    if (records[i].rank == records[i - 1].rank) {
      return say_error({Code::bad_input, fmt::format("two dumps are of rank {}", records[i].rank),
                        "one form of each, pickle or JSON, of one hang"});
    }
  }
  const auto hang = diagnose::find_hang(records);
  if (o.format == report::Format::json) {
    put(report::hang_json(hang, records.size()));
  } else {
    for (const std::string& line : report::say_hang(hang, records.size())) put(line + "\n");
  }
  const int written = finish_output();
  return written != 0 ? written : hang ? kFindingsPresent : 0;
}

int tell_stragglers(const DiagnoseOptions& o, const Material& all) {
  if (all.operations.size() != 1 || all.descriptions.size() > 1)
    return say_error(
        {Code::bad_input, "operations are told of one job at a time", "one table, and its description if there is one"});
  const auto trace = parse_op_trace(all.operations.front().text, all.operations.front().name);
  if (!trace) return say_error(trace.error());
  for (const Text& d : all.descriptions) {
    if (auto ok = check_job_meta(d.text, d.name, *trace); !ok) return say_error(ok.error());
  }
  const auto found = diagnose::find_stragglers(*trace);
  if (!found) return say_error(found.error());
  if (o.format == report::Format::json) {
    put(report::stragglers_json(*found));
  } else {
    for (const std::string& line : report::say_stragglers(*found)) put(line + "\n");
  }
  const int written = finish_output();
  return written != 0 ? written : found->cause == diagnose::StragglerCause::none ? 0 : kFindingsPresent;
}

}  // namespace

int run_diagnose(const DiagnoseOptions& o) {
  Material all;
  for (const std::string& path : o.files) {
    if (auto ok = read_one(path, all); !ok) {
      Error e = ok.error();
      if (e.what.find(std::filesystem::path(path).filename().string()) == std::string::npos)
        e.what = fmt::format("{}: {}", path, e.what);
      return say_error(e);
    }
  }
  const int kinds = (all.records.empty() ? 0 : 1) + (all.traces.empty() ? 0 : 1) + (all.operations.empty() ? 0 : 1);
  if (kinds != 1) {
    return say_error(
        {Code::bad_input,
         kinds == 0 ? "a description alone says nothing" : "profiles, dumps and tables of operations are told of one at a time",
         kinds == 0 ? "with the table of operations that it describes" : "files of one kind"});
  }
  if (!all.operations.empty()) return tell_stragglers(o, all);
  if (!all.records.empty()) return tell_hang(o, std::move(all.records));
  std::vector<report::AccountedTrace>& traces = all.traces;
  std::stable_sort(traces.begin(), traces.end(), [](const auto& x, const auto& y) {
    return x.trace.rank.value_or(UINT32_MAX) < y.trace.rank.value_or(UINT32_MAX);
  });
  if (o.format == report::Format::json) {
    if (!o.accounting)
      return say_error({Code::bad_input, "what bounds a job is not told from profiles yet", "--accounting: where its time went"});
    put(report::accounting_json(traces));
    return finish_output();
  }
  const report::Table t = report::accounting_table(traces);
  put(o.format == report::Format::csv ? report::render_csv(t, true) : report::render_table(t, {.colour = colour_wanted()}));
  return finish_output();
}

}  // namespace muster::cmd
