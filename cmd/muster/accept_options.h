// Of `muster accept` and what stands below it.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/acceptance.h"

namespace muster::cmd {

enum class AcceptFormat : std::uint8_t { text, json };
constexpr std::array<std::string_view, 2> names(AcceptFormat) { return {"text", "json"}; }

// Recordings that limits come from: those of the same kind of GPU, and a GPU's own past.
struct KnownGpus {
  std::vector<std::string> folders;  // or files
  bool shipped = true;               // what ships counts where there are too few
};

struct AcceptOptions {
  AcceptProfile profile = AcceptProfile::quick;
  std::vector<std::string> gpus;  // numbers, UUIDs or PCI addresses; empty: all
  std::uint32_t expected = 0;     // GPUs that the node must have; 0: nobody says
  double hours = 24;              // of burn
  std::string out = ".";          // folder the recording is written to; "none": nowhere
  KnownGpus known;
  std::string cooling;        // "air", "liquid"; empty: not told
  std::string node;           // empty: the host's name
  std::string html, rma;      // file, folder; empty: none
  std::string spool;          // the agent's folder, which tells the controller; empty: nobody is told
  std::string library, nvml;  // empty: where they usually are
  std::string kernel_log = "/dev/kmsg";
  std::string plant;  // a fault to plant, for trying the tests themselves
  std::uint64_t seed = 1;
  bool list = false;  // only what would be done
  AcceptFormat format = AcceptFormat::text;
  int progress = 0;  // ProgressMode
};

struct AcceptJudgeOptions {
  std::vector<std::string> files;
  KnownGpus known;
  std::string html, rma;
  AcceptFormat format = AcceptFormat::text;
};

struct AcceptReportOptions {
  std::vector<std::string> files;  // or folders
  bool shipped = true;
  std::string html;
  AcceptFormat format = AcceptFormat::text;
};

// Acceptance tried on simulated fleets.
struct BenchAcceptOptions {
  std::uint32_t gpus = 1024;
  std::uint32_t runs = 50;      // times as many healthy GPUs
  std::uint32_t planted = 512;  // runs with each fault
  std::uint64_t seed = 1;
  AcceptFormat format = AcceptFormat::text;
  int progress = 0;  // ProgressMode
};

struct AcceptCompareOptions {
  std::vector<std::string> sides;  // two folders or files
  std::array<std::string, 2> names, gpus;
  std::array<double, 2> prices{0, 0};  // of a GPU-hour
  std::vector<std::string> models;
  std::string html;
  AcceptFormat format = AcceptFormat::text;
};

}  // namespace muster::cmd
