#include "diagnose_read.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "adapters/sqlite/nsys_file.h"
#include "base/text.h"
#include "diagnose/long_profile.h"
#include "files.h"
#include "ingest/execution_trace.h"
#include "ingest/flight_recorder.h"
#include "ingest/kineto.h"
#include "ingest/memory_snapshot.h"
#include "ingest/nccl_inspector.h"
#include "ingest/nccl_log.h"
#include "ingest/nccl_tests.h"
#include "ingest/ncu_csv.h"
#include "ingest/op_trace.h"
#include "ingest/step_log.h"
#include "input.h"
#include "say.h"

namespace muster::cmd {
namespace {

constexpr std::size_t kWholeBytesMax = std::size_t{512} << 20;  // of a file that is kept in one piece
constexpr std::size_t kConfigBytesMax = std::size_t{16} << 20;

enum class Kind : std::uint8_t {
  profile,
  nsys,
  snapshot,
  flight,
  execution,
  ncu,
  inspector,
  operations,
  description,
  text,  // logs, which may be of several kinds at once
};

// By the first bytes. A profile tells of process groups as well, and any pickle may be a flight recorder's: the order matters.
std::optional<Kind> kind_of(std::string_view first) {
  if (sqlite::looks_like_sqlite(first)) return Kind::nsys;
  if (looks_like_memory_snapshot(first)) return Kind::snapshot;
  if (looks_like_nccl_inspector(first)) return Kind::inspector;
  if (looks_like_execution_trace(first)) return Kind::execution;
  if (looks_like_kineto(first)) return Kind::profile;
  if (looks_like_nccl_tests(first) || looks_like_nccl_log(first) || looks_like_step_log(first)) return Kind::text;
  if (looks_like_flight_record(first)) return Kind::flight;
  if (looks_like_op_trace(first)) return Kind::operations;
  if (looks_like_job_meta(first)) return Kind::description;
  if (looks_like_ncu_csv(first)) return Kind::ncu;
  // A log may begin with anything that is text.
  if (first.substr(0, 4096).find('\0') == std::string_view::npos) return Kind::text;
  return {};
}

tl::unexpected<Error> unknown() {
  return fail(
      Code::bad_input, "this is nothing that Muster knows",
      "profiles of torch.profiler or Nsight Systems (sqlite), dumps of the flight recorder, memory snapshots, execution traces, "
      "NCCL's or a training framework's log, nccl-tests, Inspector's lines, Nsight Compute's CSV, or a table of operations");
}

// What one file gave. Logs are read later, one after the other: their readers put several files together.
struct Piece {
  Material material;
  std::vector<std::string> said;
  bool is_log = false, is_inspector = false;
};

Result<void> parse_whole(Kind kind, std::string text, const std::string& name, Piece& out) {
  const auto keep = [&](auto&& result, auto& into) -> Result<void> {
    if (!result) return tl::unexpected(result.error());
    into.push_back({name, std::move(*result)});
    return {};
  };
  Material& m = out.material;
  switch (kind) {
    case Kind::snapshot: return keep(parse_memory_snapshot(text, name), m.snapshots);
    case Kind::execution: return keep(parse_execution_trace(text, name), m.executions);
    case Kind::ncu: return keep(parse_ncu_csv(text, name), m.kernels);
    case Kind::operations: m.operations.push_back({name, std::move(text)}); return {};
    case Kind::description: m.descriptions.push_back({name, std::move(text)}); return {};
    default: break;
  }
  auto record = parse_flight_record(text, name);
  if (!record) return tl::unexpected(record.error());
  m.records.push_back(std::move(*record));
  return {};
}

Result<void> finish_profile(KinetoReader& reader, const std::string& path, const std::string& name, bool whole, Piece& out) {
  auto trace = reader.finish();
  if (!trace) return tl::unexpected(trace.error());
  if (trace->cut) out.said.push_back(fmt::format("{}: it ends in the middle; what is before that counts", path));
  if (trace->damaged > 0)
    out.said.push_back(fmt::format("{}: {} of {} events could not be read", path, trace->damaged, trace->events));
  if (trace->gpu.empty()) out.said.push_back(fmt::format("{}: nothing in it ran on a GPU", path));
  const std::size_t events = trace->gpu.size(), steps = trace->steps.size();
  if (!whole && diagnose::keep_first_steps(*trace))
    out.material.left_out.push_back(fmt::format("{}: of {} events on the GPU in {} steps the first {} in {} are told of", name,
                                                events, steps, trace->gpu.size(), trace->steps.size()));
  out.material.traces.push_back({name, std::move(*trace)});
  return {};
}

Result<Piece> read_one(const std::string& path, const DiagnoseOptions& o) {
  Piece out;
  const std::string name = std::filesystem::path(path).filename().string();
  KinetoReader reader(o.exchange_kernels);
  std::string whole;
  std::optional<Kind> kind;
  bool first = true;
  const auto later = [&] { return *kind == Kind::text || *kind == Kind::inspector || *kind == Kind::nsys; };
  const auto read = read_unpacked(path, [&](std::string_view text) -> Result<void> {
    if (std::exchange(first, false)) {
      kind = kind_of(text);
      if (!kind) return unknown();
    }
    if (later()) return fail(Code::internal, "", "");  // it is read by others
    if (*kind == Kind::profile) return reader.feed(text);
    if (whole.size() + text.size() > kWholeBytesMax)
      return fail(Code::bad_input, fmt::format("a file of this kind of more than {} MiB", kWholeBytesMax >> 20), "a smaller one");
    whole += text;
    return {};
  });
  if (!read && !(kind && later())) return tl::unexpected(read.error());
  if (first) return fail(Code::bad_input, "it is empty", "a file with something in it");
  if (*kind == Kind::nsys) {
    auto traces = sqlite::read_nsys_file(path);
    if (!traces) return tl::unexpected(traces.error());
    for (Trace& t : *traces) out.material.traces.push_back({name, std::move(t)});
    return out;
  }
  out.is_log = *kind == Kind::text;
  out.is_inspector = *kind == Kind::inspector;
  if (out.is_log || out.is_inspector) return out;
  // A profile that was cut off while it was written still says what it says.
  if (*kind != Kind::profile && !*read)
    return fail(Code::bad_input, "it is packed, and cut short", "the whole file: try `gzip -t` on it");
  const auto parsed = *kind == Kind::profile ? finish_profile(reader, path, name, o.accounting, out)
                                             : parse_whole(*kind, std::move(whole), name, out);
  if (!parsed) return tl::unexpected(parsed.error());
  return out;
}

Error named(Error e, const std::string& path) {
  if (e.what.find(std::filesystem::path(path).filename().string() + ":") == std::string::npos)
    e.what = fmt::format("{}: {}", path, e.what);
  return e;
}

class LogReaders {
 public:
  Result<void> read(const std::string& path, bool inspector, Material& into) {
    const std::string name = std::filesystem::path(path).filename().string();
    StepLogReader steps;
    std::string bench;  // nccl-tests' output is small; a log that is not has none in it
    nccl_.begin_file(name);
    const auto read = read_unpacked(path, [&](std::string_view text) -> Result<void> {
      if (inspector) {
        inspector_.feed(text);
        return {};
      }
      steps.feed(text);
      nccl_.feed(text);
      if (bench.size() + text.size() <= kConfigBytesMax) bench += text;
      return {};
    });
    if (!read) return tl::unexpected(read.error());
    if (inspector) {
      inspector_.end_file();
      return {};
    }
    bool known = false;
    if (looks_like_nccl_tests(bench)) {
      auto runs = parse_nccl_tests(bench, name);
      if (!runs) return tl::unexpected(runs.error());
      into.benches.push_back({name, std::move(*runs)});
      known = true;
    }
    StepLog log = steps.finish();
    if (log.form != StepForm::none || !log.arguments.empty()) {
      into.logs.push_back({name, std::move(log)});
      known = true;
    }
    if (!known && !looks_like_nccl_log(bench)) return unknown();
    return {};
  }
  void finish(Material& into) {
    into.nccl = nccl_.finish();
    into.inspector = inspector_.finish();
  }

 private:
  NcclLogReader nccl_;
  InspectorReader inspector_;
};

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  for (T& x : from) to.push_back(std::move(x));
}

Result<void> read_configs(const DiagnoseOptions& o, Material& into) {
  for (const std::string& path : o.configs) {
    std::string text;
    const auto read = read_unpacked(path, [&](std::string_view piece) -> Result<void> {
      if (text.size() + piece.size() > kConfigBytesMax)
        return fail(Code::bad_input, "a configuration of more than 16 MiB", "the configuration alone");
      text += piece;
      return {};
    });
    if (!read) return tl::unexpected(named(read.error(), path));
    auto config = parse_run_config(text, std::filesystem::path(path).filename().string());
    if (!config) return tl::unexpected(config.error());
    into.config = merged(std::move(*config), into.config);
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> with_folders(const std::vector<std::string>& paths) {
  constexpr std::size_t kFilesMax = 100'000;
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  for (const std::string& path : paths) {
    std::error_code none;
    if (!fs::is_directory(path, none)) {
      out.push_back(path);
      continue;
    }
    std::vector<std::string> inside;
    std::error_code trouble;
    for (fs::directory_iterator it(path, trouble), end; !trouble && it != end; it.increment(trouble)) {
      const bool hidden = it->path().filename().native().starts_with('.');
      if (!hidden && it->is_regular_file(none)) inside.push_back(it->path().native());
    }
    if (trouble) return tl::unexpected(file_error("read", path, trouble.value()));
    if (inside.empty())
      return fail(Code::bad_input, fmt::format("there are no files in the folder {}", printable(path)),
                  "the folder that the files themselves are in");
    if (out.size() + inside.size() > kFilesMax)
      return fail(Code::bad_input, fmt::format("more than {} files", kFilesMax), "those of some of the ranks");
    std::sort(inside.begin(), inside.end());
    append(out, inside);
  }
  return out;
}

Result<Material> read_material(const DiagnoseOptions& o) {
  std::vector<std::optional<Result<Piece>>> pieces(o.files.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < o.files.size(); i = next++) pieces[i] = read_one(o.files[i], o);
  };
  std::vector<std::thread> others;
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  for (std::size_t i = 1; i < std::min(cores, o.files.size()); ++i) others.emplace_back(work);
  work();
  for (std::thread& t : others) t.join();

  Material all;
  LogReaders logs;
  const bool any = std::any_of(pieces.begin(), pieces.end(), [](const auto& p) { return p->has_value(); });
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Result<Piece>& piece = *pieces[i];
    // One file of many that is nothing known does not hide what the others say; one that is not there is a slip of the hand.
    if (!piece && (!any || piece.error().code != Code::bad_input)) return tl::unexpected(named(piece.error(), o.files[i]));
    if (!piece) {
      all.left_out.push_back(fmt::format("left out: {}", named(piece.error(), o.files[i]).what));
      continue;
    }
    for (const std::string& line : piece->said) say(line);
    Material& m = piece->material;
    append(all.left_out, m.left_out);
    append(all.traces, m.traces);
    append(all.records, m.records);
    append(all.operations, m.operations);
    append(all.descriptions, m.descriptions);
    append(all.snapshots, m.snapshots);
    append(all.kernels, m.kernels);
    append(all.executions, m.executions);
    if (!piece->is_log && !piece->is_inspector) continue;
    if (const auto ok = logs.read(o.files[i], piece->is_inspector, all); !ok)
      return tl::unexpected(named(ok.error(), o.files[i]));
  }
  logs.finish(all);
  if (const auto ok = read_configs(o, all); !ok) return tl::unexpected(ok.error());
  return all;
}

}  // namespace muster::cmd
