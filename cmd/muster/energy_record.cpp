// muster energy record: power and energy counters of this node's GPUs as CSV, as often as asked. It only reads.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include "adapters/agent/power_meter.h"
#include "base/text.h"
#include "energy_read.h"
#include "files.h"
#include "report/units.h"
#include "say.h"

namespace muster::cmd {
namespace {

volatile std::sig_atomic_t stopped = 0;
void on_signal(int) { stopped = 1; }

Time steady_now() {
  std::timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return Time{t.tv_sec * 1'000'000'000LL + t.tv_nsec};
}

void sleep_until(Time t) {
  const std::timespec until{t.ns / 1'000'000'000, t.ns % 1'000'000'000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

std::string cell(double v) { return v < 0 ? std::string() : render_number(v); }

std::string rows_of(agent::PowerMeter& meter, const std::string& node, std::uint64_t& silent) {
  std::string out;
  for (std::size_t i = 0; i < meter.gpus().size(); ++i) {
    const agent::PowerMeter::Gpu& gpu = meter.gpus()[i];
    const Time before = utc_now();
    const agent::PowerMeter::Reading r = meter.read(i);
    const Time at = before + Duration{(utc_now() - before).ns / 2};
    if (r.power_w < 0 && r.energy_mj < 0) {
      ++silent;
      continue;
    }
    out +=
        fmt::format("{},{},{},{},{},{},{},{}\n", render_utc(Time{at.ns / 1'000'000 * 1'000'000}), node, gpu.index, gpu.uuid,
                    gpu.model, cell(r.power_w), cell(r.instant_w), r.energy_mj < 0 ? std::string() : std::to_string(r.energy_mj));
  }
  return out;
}

}  // namespace

int run_energy_record(const EnergyRecordOptions& o) {
  auto meter = agent::PowerMeter::open(o.nvml);
  if (!meter) return say_error(meter.error());
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const std::string node = o.node.empty() ? host : o.node;
  int fd = STDOUT_FILENO;
  if (!o.out.empty()) {
    fd = ::open(o.out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) return say_error(file_error("write", o.out, errno));
  }
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  const Duration every = from_seconds(o.every_s);
  const Time begin = steady_now(), end = o.for_s > 0 ? begin + from_seconds(o.for_s) : kNever;
  std::uint64_t turns = 0, silent = 0, late = 0;
  bool ok = write_all(fd, "timestamp_utc,node,gpu,uuid,model,power_w,instant_w,energy_mj\n");
  for (Time next = begin; ok && stopped == 0 && next <= end; next = next + every) {
    sleep_until(next);
    if (stopped != 0) break;
    ok = write_all(fd, rows_of(**meter, node, silent));
    ++turns;
    // What came too late is left out: readings would only crowd behind it.
    for (; next + every < steady_now(); next = next + every) ++late;
  }
  if (!o.out.empty()) ::close(fd);
  if (!ok && o.out.empty() && errno == EPIPE) return 0;
  if (!ok) return say_error(file_error("write", o.out.empty() ? "standard output" : o.out, errno));
  say(fmt::format("{} of {}, {} late and left out{}", report::counted(static_cast<std::int64_t>(turns), "reading"),
                  report::counted(static_cast<std::int64_t>((*meter)->gpus().size()), "GPU"), late,
                  silent > 0 ? fmt::format(", {} times a GPU did not answer", silent) : std::string()));
  return 0;
}

}  // namespace muster::cmd
