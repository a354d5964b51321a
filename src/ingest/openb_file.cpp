#include "ingest/openb_file.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "ingest/csv.h"
#include "ingest/gunzip.h"

namespace muster {
namespace {

constexpr std::size_t kTextBytesMax = std::size_t{256} << 20;
constexpr std::int64_t kAmountMax = 1'000'000'000;  // a million cores, or a petabyte in MiB: beyond any machine

// A list whose columns are known to be there. Reading a cell out of range leaves the first such error behind.
class Cells {
 public:
  Cells(Csv csv, std::string_view file) : csv_(std::move(csv)), file_(file) {}

  std::size_t size() const { return csv_.rows.size(); }
  int line(std::size_t row) const { return csv_.lines[row]; }

  Result<int> need(std::string_view name) const {
    const int c = csv_.column(name);
    if (c >= 0) return c;
    return fail(Code::bad_input, fmt::format("{}:1: no column {}", file_, name),
                "Is it the list you meant, with its header line?");
  }
  int column(std::string_view name) const { return csv_.column(name); }
  const std::string& text(std::size_t row, int column) const { return csv_.rows[row][static_cast<std::size_t>(column)]; }

  tl::unexpected<Error> bad(std::size_t row, std::string_view why) const {
    return fail(Code::bad_input, fmt::format("{}:{}: {}", file_, csv_.lines[row], why));
  }
  Result<std::int32_t> amount(std::size_t row, int column, std::int64_t max) const {
    const std::string& cell = text(row, column);
    const auto n = parse_int(cell);
    if (n && *n >= 0 && *n <= max) return static_cast<std::int32_t>(*n);
    return bad(row, fmt::format("{} must be a whole number from 0 to {}, is '{}'", csv_.header[static_cast<std::size_t>(column)],
                                max, printable(cell)));
  }

 private:
  Csv csv_;
  std::string_view file_;
};

Result<Cells> open_list(std::string_view bytes, std::string_view file) {
  auto text = gunzip_if_gzip(bytes, kTextBytesMax);
  if (!text) return fail(text.error().code, fmt::format("{}: {}", file, text.error().what), text.error().next);
  auto csv = parse_csv(*text, file);
  if (!csv) return tl::unexpected(csv.error());
  if (csv->rows.empty()) return fail(Code::bad_input, fmt::format("{}:1: no rows after the header", file));
  return Cells(std::move(*csv), file);
}

// The columns of these names, or the error that one is missing.
Result<std::vector<int>> columns(const Cells& cells, std::initializer_list<std::string_view> names) {
  std::vector<int> found;
  for (const std::string_view name : names) {
    const auto c = cells.need(name);
    if (!c) return tl::unexpected(c.error());
    found.push_back(*c);
  }
  return found;
}

std::vector<std::string> parse_models(std::string_view spec) {
  std::vector<std::string> models;
  for (const std::string_view m : split(spec, '|')) {
    if (!trim(m).empty()) models.emplace_back(trim(m));
  }
  std::sort(models.begin(), models.end());
  models.erase(std::unique(models.begin(), models.end()), models.end());
  return models;
}

// What a pod may ask for: nothing, a share of one GPU, or whole ones.
Result<OpenbPod> checked_gpus(const Cells& cells, std::size_t row, OpenbPod pod) {
  if (pod.gpus == 0) {
    pod.gpu_milli = 0;
  } else if (pod.gpu_milli == 0) {
    return cells.bad(row, "gpu_milli is 0, but num_gpu is not");
  } else if (pod.gpus > 1 && pod.gpu_milli != 1000) {
    return cells.bad(row, "several GPUs must be whole ones: gpu_milli 1000");
  }
  return pod;
}

}  // namespace

Result<std::vector<OpenbNode>> parse_openb_nodes(std::string_view bytes, std::string_view file) {
  const auto cells = open_list(bytes, file);
  if (!cells) return tl::unexpected(cells.error());
  const auto c = columns(*cells, {"sn", "cpu_milli", "memory_mib", "gpu", "model"});
  if (!c) return tl::unexpected(c.error());
  std::vector<OpenbNode> nodes;
  nodes.reserve(cells->size());
  for (std::size_t i = 0; i < cells->size(); ++i) {
    const auto cpu = cells->amount(i, (*c)[1], kAmountMax);
    if (!cpu) return tl::unexpected(cpu.error());
    const auto memory = cells->amount(i, (*c)[2], kAmountMax);
    if (!memory) return tl::unexpected(memory.error());
    const auto gpus = cells->amount(i, (*c)[3], kOpenbGpusPerNodeMax);
    if (!gpus) return tl::unexpected(gpus.error());
    std::string model(trim(cells->text(i, (*c)[4])));
    if (*gpus > 0 && model.empty()) return cells->bad(i, "a node with GPUs must name their model");
    nodes.push_back({cells->text(i, (*c)[0]), *cpu, *memory, *gpus, std::move(model)});
  }
  return nodes;
}

Result<std::vector<OpenbPod>> parse_openb_pods(std::string_view bytes, std::string_view file) {
  const auto cells = open_list(bytes, file);
  if (!cells) return tl::unexpected(cells.error());
  const auto c = columns(*cells, {"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"});
  if (!c) return tl::unexpected(c.error());
  const int spec = cells->column("gpu_spec");
  std::vector<OpenbPod> pods;
  pods.reserve(cells->size());
  for (std::size_t i = 0; i < cells->size(); ++i) {
    const auto cpu = cells->amount(i, (*c)[1], kAmountMax);
    if (!cpu) return tl::unexpected(cpu.error());
    const auto memory = cells->amount(i, (*c)[2], kAmountMax);
    if (!memory) return tl::unexpected(memory.error());
    const auto gpus = cells->amount(i, (*c)[3], kOpenbGpusPerNodeMax);
    if (!gpus) return tl::unexpected(gpus.error());
    const auto milli = cells->amount(i, (*c)[4], 1000);
    if (!milli) return tl::unexpected(milli.error());
    std::vector<std::string> models;
    if (spec >= 0) models = parse_models(cells->text(i, spec));
    auto pod = checked_gpus(*cells, i, {cells->text(i, (*c)[0]), *cpu, *memory, *gpus, *milli, std::move(models)});
    if (!pod) return tl::unexpected(pod.error());
    pods.push_back(std::move(*pod));
  }
  return pods;
}

}  // namespace muster
