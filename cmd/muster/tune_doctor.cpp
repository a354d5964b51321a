// muster tune doctor: logs, tables, topology, counters and settings, each told by its content, to causes.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "commands.h"
#include "diagnose/fabric_doctor.h"
#include "diagnose/nccl.h"
#include "diagnose_parts.h"
#include "diagnose_read.h"
#include "ingest/collective_rows.h"
#include "ingest/documents.h"
#include "ingest/hardware_file.h"
#include "ingest/ib_errors.h"
#include "ingest/json.h"
#include "ingest/lspci.h"
#include "ingest/nccl_log.h"
#include "ingest/nccl_tests.h"
#include "ingest/nccl_topology.h"
#include "ingest/roce_settings.h"
#include "input.h"
#include "model_choice.h"
#include "report/fabric_doctor.h"
#include "say.h"

namespace muster::cmd {
namespace {

constexpr std::size_t kWholeBytesMax = std::size_t{64} << 20;  // of a file that is kept in one piece

// "NAME=VALUE" on nearly every line, as `env` prints it, with something of NCCL among them.
bool looks_like_environment(std::string_view text) {
  std::size_t lines = 0, named = 0, nccl = 0;
  for (const std::string_view line : split(text.substr(0, 1 << 16), '\n')) {
    const std::string_view s = trim(line.starts_with("export ") ? line.substr(7) : line);
    if (s.empty() || s.starts_with('#')) continue;
    const std::size_t equals = s.find('=');
    const bool name = equals != std::string_view::npos && equals > 0 &&
                      s.substr(0, equals).find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
                          std::string_view::npos;
    ++lines;
    named += name;
    nccl += name && (s.starts_with("NCCL_") || s.starts_with("RCCL_"));
  }
  return nccl > 0 && 10 * named >= 9 * lines;
}

void read_environment(std::string_view text, const std::string& name, NcclLog& log) {
  const auto file = static_cast<std::uint32_t>(log.files.size());
  log.files.push_back(printable(name));
  std::uint32_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    const std::string_view s = trim(line.starts_with("export ") ? line.substr(7) : line);
    const std::size_t equals = s.find('=');
    if (equals == std::string_view::npos || (!s.starts_with("NCCL_") && !s.starts_with("RCCL_"))) continue;
    if (log.settings.size() >= kNcclSettingsMax) return;
    std::string_view value = s.substr(equals + 1);
    const bool quoted = value.size() > 1 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front();
    if (quoted) value = value.substr(1, value.size() - 2);  // as scripts have it
    log.settings.push_back(
        {printable(s.substr(0, std::min<std::size_t>(equals, 64))), printable(value.substr(0, 120)), {}, {file, number}});
  }
}

constexpr std::size_t kMarkMax = 12;  // of a launcher's, with its end: a number of a rank

constexpr std::string_view kTableHeader =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n";

// Rows of nccl-tests that were pasted without their header, each piece of which may have a launcher's mark before it ("[0]"):
// with a header before the first, one line more than there was; empty: they are none.
std::string pasted_table(std::string_view text) {
  std::string out;
  std::size_t rows = 0;
  for (std::string_view line : split(text.substr(0, 1 << 20), '\n')) {
    std::string plain;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string_view mark = line[i] == '[' ? line.substr(i + 1, kMarkMax) : std::string_view();
      const std::size_t close = mark.find(']');
      if (close != std::string_view::npos && parse_uint(mark.substr(0, close))) {
        plain += ' ';
        i += close + 1;
      } else {
        plain += line[i];
      }
    }
    std::size_t words = 0, numbers = 0;
    for (const std::string_view word : split(plain, ' ')) {
      if (trim(word).empty()) continue;
      ++words;
      numbers += parse_double(trim(word)).has_value();
    }
    rows += words == 13 && numbers == 11;
    out += plain + "\n";
  }
  return rows >= 3 ? std::string(kTableHeader) + out : std::string();
}

// What a document is that is neither a log nor anything else that is read here; empty: it may well be a log.
std::string other_document(const std::string& text) {
  const std::string_view body = trim(std::string_view(text));
  const auto kind = recognise_document(std::string_view(text).substr(0, kDocumentHeadMax), text.size() <= kDocumentHeadMax);
  const std::string_view head = body.substr(0, 1 << 16);
  const auto has = [&](std::string_view words) { return head.find(words) != std::string_view::npos; };
  const std::string_view line = trim(body.substr(0, body.find('\n')));
  if (kind == DocumentKind::nvidia_smi_xml || kind == DocumentKind::nvidia_smi) return "nvidia-smi (muster explain reads it)";
  if (kind == DocumentKind::amd_smi) return "amd-smi (muster explain reads it)";
  if (has("vendid=0x") && has("sysimgguid=0x")) return "a map of an InfiniBand fabric (muster fabric reads it)";
  if (line.starts_with("<?xml") || line.starts_with("<!DOCTYPE") || line.starts_with("<html")) return "a marked-up document";
  // A log may be made of JSON, one object a line, or begin with one: all of it as one value is no log, nor is one without an end.
  if (!body.starts_with('{') && !body.starts_with('[')) return {};
  if (parse_json(body)) return "JSON of another kind";
  const auto open = std::count(body.begin(), body.end(), '{'), closed = std::count(body.begin(), body.end(), '}');
  return body.starts_with('{') && trim(body.substr(1)).starts_with('"') && open > closed && !parse_json(line)
             ? "JSON that breaks off"
             : "";
}

// Something in it speaks as a log does.
bool speaks(const std::string& text, const std::string& name) {
  const NcclLog log = parse_nccl_log(text, name);
  if (log.nccl_lines > 0 || !log.troubles.empty() || !log.versions.empty() || looks_like_nccl_tests(text)) return true;
  if (looks_like_lspci(text) || looks_like_gpu_matrix(text)) return true;
  diagnose::SignReader signs;
  signs.feed(text);
  return !signs.finish().empty();
}

class Reader {
 public:
  Result<void> read(const std::string& path) {
    const std::string name = std::filesystem::path(path).filename().string();
    std::string text;
    bool cut = false;
    nccl_.begin_file(name);
    signs_.begin_file(name);
    // A log may be of any length; what is not one is known by its beginning.
    const auto read = read_unpacked(path, [&](std::string_view piece) -> Result<void> {
      if (!cut && text.size() + piece.size() <= kWholeBytesMax) {
        text += piece;
        return {};
      }
      if (!cut) feed(text);
      cut = true;
      feed(piece);
      return {};
    });
    if (!read) return tl::unexpected(Error{read.error().code, fmt::format("{}: {}", path, read.error().what), read.error().next});
    if (text.empty())
      return fail(Code::bad_input, fmt::format("{}: it is empty", printable(path)), "a file with something in it");
    if (text.substr(0, 4096).find('\0') != std::string::npos)
      return fail(Code::bad_input, fmt::format("{}: this is no text", printable(path)),
                  "logs, tables and settings as `muster tune doctor --help` lists them");
    if (cut) return {};
    if (const auto known = document(text, name); !known || *known) return known ? Result<void>{} : tl::unexpected(known.error());
    if (const std::string other = other_document(text); !other.empty() && !speaks(text, name))
      return fail(Code::bad_input, fmt::format("{}: not a kind that is known here: {}", printable(path), other),
                  "logs, tables and settings as `muster tune doctor --help` lists them");
    const std::string pasted = looks_like_nccl_tests(text) ? std::string() : pasted_table(text);
    if (!pasted.empty() || looks_like_nccl_tests(text)) {
      auto runs = parse_nccl_tests(pasted.empty() ? text : pasted, name);
      if (runs) {  // a test that came to no row is what a doctor is asked about: its log says why
        for (NcclTestRun& run : runs->runs) {
          for (NcclTestRow& row : run.rows) row.line -= !pasted.empty() && row.line > 0 ? 1 : 0;
        }
        m_.benches.push_back(std::move(*runs));
      }
    }
    feed(text);
    return {};
  }

  diagnose::DoctorMaterial finish() {
    NcclLog log = nccl_.finish();
    for (NcclSetting& s : environment_.settings) {
      s.at.file += static_cast<std::uint32_t>(log.files.size());
      const auto same = [&](const NcclSetting& x) { return x.name == s.name && x.value == s.value; };
      if (std::none_of(log.settings.begin(), log.settings.end(), same)) log.settings.push_back(std::move(s));
    }
    for (std::string& f : environment_.files) log.files.push_back(std::move(f));
    std::stable_sort(log.settings.begin(), log.settings.end(), [](const NcclSetting& x, const NcclSetting& y) {
      return std::tie(x.name, x.value) < std::tie(y.name, y.value);
    });
    m_.log = std::move(log);
    m_.signs = signs_.finish();
    return std::move(m_);
  }

 private:
  void feed(std::string_view text) {
    nccl_.feed(text);
    signs_.feed(text);
  }

  // One of the kinds that are no logs; false: it is none.
  Result<bool> document(const std::string& text, const std::string& name) {
    const auto keep = [](auto&& result, auto& into) -> Result<bool> {
      if (!result) return tl::unexpected(result.error());
      into.push_back(std::move(*result));
      return true;
    };
    if (looks_like_nccl_topology(text)) return keep(parse_nccl_topology(text, name), m_.topologies);
    if (looks_like_nccl_graph(text)) {
      auto graphs = parse_nccl_graph(text, name);
      if (!graphs) return tl::unexpected(graphs.error());
      for (NcclGraph& g : *graphs) m_.graphs.push_back(std::move(g));
      return true;
    }
    // Jobs print settings and counters at their beginning: where NCCL speaks as well, it is a log too.
    if (looks_like_roce_settings(text)) {
      const auto kept = keep(parse_roce_settings(text, name), m_.roce);
      if (!kept || !speaks(text, name)) return kept;
    }
    if (looks_like_roce_counters(text)) {
      for (RoceCounters& c : parse_roce_counters(text, name)) m_.counters.push_back(std::move(c));
      if (!speaks(text, name)) return true;
    }
    if (!looks_like_nccl_tests(text) && looks_like_environment(text)) {
      read_environment(text, name, environment_);
      return true;
    }
    const auto kind = recognise_document(std::string_view(text).substr(0, kDocumentHeadMax), text.size() <= kDocumentHeadMax);
    if (kind == DocumentKind::ibqueryerrors) {
      for (const IbPortErrors& p : parse_ib_errors(text).ports) m_.errors.push_back({name, p.node, p.port, p.counters});
      return true;
    }
    // These may stand in a log as well, or in a pasted session.
    if (looks_like_lspci(text)) {
      for (PciPort& p : parse_lspci(text, name)) m_.ports.push_back(std::move(p));
    }
    if (looks_like_gpu_matrix(text)) {
      if (auto matrix = parse_gpu_matrix(text, name)) m_.matrices.push_back(std::move(*matrix));
    }
    return false;
  }

  NcclLogReader nccl_;
  diagnose::SignReader signs_;
  NcclLog environment_;
  diagnose::DoctorMaterial m_;
};

// What the tables say against what their links promise.
Result<void> judge(const TuneDoctorOptions& o, diagnose::DoctorMaterial& m, diagnose::NcclHint& hint) {
  if (!o.gpu.empty()) {
    const auto gpu = chosen_gpu(o.gpu);
    if (!gpu) return tl::unexpected(gpu.error());
    hint.gpu = (*gpu)->name;
  }
  hint.network = diagnose::network_of(m.log);
  if (m.benches.empty()) return {};
  const predict::Collectives collectives(shipped_collectives(), shipped_collective_classes(), gpu_models(),
                                         shipped_collective_spread());
  const diagnose::NcclYardstick yardstick{collectives, gpu_models(), hint, shipped_collectives()};
  for (const NcclTestLog& log : m.benches) {
    std::vector<diagnose::JudgedRun> runs = diagnose::judge_runs(log, yardstick);
    for (diagnose::JudgedRun& run : runs) run.wrong = 0;  // no matter of speed: a cause of its own
    for (diagnose::Finding& f : diagnose::find_in_runs(runs)) {
      f.cause = "slow_exchange";
      m.slow.push_back(std::move(f));
    }
  }
  return {};
}

}  // namespace

int run_tune_doctor(const TuneDoctorOptions& o) {
  const auto files = with_folders(o.files);
  if (!files) return say_error(files.error());
  Reader reader;
  std::size_t read = 0;
  std::optional<Error> first;
  for (const std::string& path : *files) {
    const auto ok = reader.read(path);
    read += ok.has_value();
    if (ok) continue;
    // One file of many that cannot be read does not hide what the others say; one that is not there is a slip of the hand.
    if (ok.error().code != Code::bad_input) return say_error(ok.error());
    if (!first) first = ok.error();
    if (files->size() > 1) say("left out: " + ok.error().what);
  }
  if (read == 0) return say_error(*first);
  diagnose::DoctorMaterial m = reader.finish();
  m.between_s = o.between_s;
  diagnose::NcclHint hint;
  if (const auto ok = judge(o, m, hint); !ok) return say_error(ok.error());
  const diagnose::Examination found = diagnose::examine(m, gpu_models(), hint);
  if (o.format == DoctorFormat::json) {
    put(report::examination_json(found));
  } else {
    for (const std::string& line : report::say_examination(found)) put(line + "\n");
  }
  const int written = finish_output();
  return written != 0 ? written : found.verdicts.empty() ? 0 : kFindingsPresent;
}

}  // namespace muster::cmd
