// What NCCL and RCCL write with NCCL_DEBUG=INFO or WARN, of one rank or of many mixed into one file, between whatever else the
// job prints and behind what its launcher puts before each line. Memory is bounded whatever the log's length.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "model/nccl_run.h"

namespace muster {

constexpr std::size_t kNcclLineMax = 16384;   // bytes of a line that are looked at
constexpr std::size_t kNcclCommsMax = 65536;  // ranks in communicators
constexpr std::size_t kNcclHostsMax = 8192;
constexpr std::size_t kNcclPathsMax = 1024;  // of one node
constexpr std::size_t kNcclPathsAllMax = 131072;  // of all nodes
constexpr std::size_t kNcclDevicesMax = 64;  // of one node
constexpr std::size_t kNcclSettingsMax = 1024;
constexpr std::size_t kNcclChoicesMax = 1024;
constexpr std::size_t kNcclCallsMax = 4096;
constexpr std::size_t kNcclPicksMax = 4096;
constexpr std::size_t kNcclTroublesMax = 4096;
constexpr std::size_t kNcclFilesMax = 65536;

// By its first pieces: NCCL's own mark with its prefix, or its version.
bool looks_like_nccl_log(std::string_view text);

class NcclLogReader {
 public:
  NcclLogReader();
  ~NcclLogReader();
  NcclLogReader(const NcclLogReader&) = delete;
  NcclLogReader& operator=(const NcclLogReader&) = delete;

  // What follows comes from this file: lines are counted anew, and one that was not ended ends here.
  void begin_file(std::string_view name);
  // Pieces of any size; lines may lie across them.
  void feed(std::string_view text);
  NcclLog finish();

 private:
  struct Guts;
  std::unique_ptr<Guts> guts_;
};

// The whole at once.
NcclLog parse_nccl_log(std::string_view text, std::string_view file);

}  // namespace muster
