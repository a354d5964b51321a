// Of `muster tune doctor`.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::cmd {

enum class DoctorFormat : std::uint8_t { text, json };
constexpr std::array<std::string_view, 2> names(DoctorFormat) { return {"text", "json"}; }

struct TuneDoctorOptions {
  std::vector<std::string> files;  // or folders
  std::string gpu;                 // GpuModel::name; empty: as the files say
  double between_s = 0;            // two readings of counters; 0: not told
  DoctorFormat format = DoctorFormat::text;
};

}  // namespace muster::cmd
