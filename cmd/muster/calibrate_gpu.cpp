// muster calibrate gpu: what this machine's GPU takes for the products, the attention and the steps of training, and from that a
// calibration for plans.
#include <fmt/format.h>

#include "base/text.h"
#include "commands.h"
#include "files.h"
#include "gpu_sweep.h"
#include "ingest/calibration_file.h"
#include "ingest/hardware_file.h"
#include "ingest/timings_file.h"
#include "model_choice.h"
#include "report/predictions.h"
#include "report/timings.h"
#include "say.h"

namespace muster::cmd {
namespace {

Result<const GpuModel*> which_gpu(const CalibrateGpuOptions& o, const TimingsOrigin& origin) {
  if (!o.gpu.empty()) return chosen_gpu(o.gpu);
  if (const GpuModel* g = gpu_that_calls_itself(origin.gpu)) return g;
  return fail(Code::not_found, fmt::format("nothing is known of a GPU that calls itself \"{}\"", printable(origin.gpu)),
              "--gpu NAME: the one of data/hardware/gpus.csv that it is");
}

Result<std::string> timings_text(const CalibrateGpuOptions& o) {
  if (!o.from.empty()) return read_file(o.from);
  std::string shapes(shipped_timings_file());
  if (!o.shapes.empty()) {
    auto read = read_file(o.shapes);
    if (!read) return read;
    shapes = std::move(*read);
    if (const auto ok = parse_shapes(shapes, o.shapes); !ok) return tl::unexpected(ok.error());
  }
  if (!o.timings.empty()) {  // before minutes are spent
    if (auto ok = check_writable(o.timings); !ok) return tl::unexpected(ok.error());
  }
  auto measured = sweep_gpu(o.python, shapes);
  if (measured && !o.timings.empty()) {
    if (auto ok = write_file(o.timings, *measured); !ok) return tl::unexpected(ok.error());
  }
  return measured;
}

// "PyTorch 2.11.0+cu130, CUDA 13.0" is release 2.11.0.
std::string release_of(const std::string& software) {
  const auto words = split(software, ' ');
  if (words.size() < 2) return {};
  return std::string(words[1].substr(0, words[1].find_first_of("+,")));
}

}  // namespace

int run_calibrate_gpu(const CalibrateGpuOptions& o) {
  const auto text = timings_text(o);
  if (!text) return say_error(text.error());
  const auto timings = parse_timings(*text, o.from.empty() ? "what was measured" : o.from);
  if (!timings) return say_error(timings.error());
  const TimingsOrigin origin = timings_origin(*text);
  const auto gpu = which_gpu(o, origin);
  if (!gpu) return say_error(gpu.error());
  const auto families = predict::fit_timings(**gpu, *timings);
  Calibration start;
  for (const Software& s : shipped_software()) {
    if (s.start.software == "pytorch") start = s.start;
  }
  start.release = release_of(origin.software);
  const auto found = predict::calibrations(start, families);
  if (found.empty())
    return say_error({Code::bad_input, "no products in 16 bits were measured, and without them nothing can be told of a step",
                      "rows of kind gemm and dtype bf16 among the shapes"});
  const std::string table = report::render_table(report::timing_errors(families), {});
  for (const std::string_view line : split(trim(table), '\n')) say(line);
  say(fmt::format("of {} timings on {} ({}) one of three was kept back from the fit: the table says how far off it is on those",
                  timings->size(), (*gpu)->name, origin.software.empty() ? "by whom is not said" : origin.software));
  put(report::render_calibrations(found));
  return finish_output();
}

}  // namespace muster::cmd
