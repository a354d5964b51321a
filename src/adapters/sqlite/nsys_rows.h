// The rows of a profile of Nsight Systems, process by process, before traces are made of them.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "adapters/sqlite/database.h"
#include "model/trace.h"

namespace muster::sqlite {

constexpr std::int64_t kUntold = -1;  // of an id

// A global id has the machine and the process in its upper bits and the thread in its lower 24.
constexpr int kThreadBits = 24;
constexpr std::int64_t process_of(std::int64_t global) { return global < 0 ? kUntold : global >> kThreadBits; }
constexpr std::int64_t thread_of(std::int64_t global) { return global & ((std::int64_t{1} << kThreadBits) - 1); }

// Names by number, shared by all processes until the traces are made. Rows name texts by their ids in StringIds, which are looked
// up once, when all ids that are wanted are known.
class Texts {
 public:
  Texts() = default;
  Texts(Texts&&) = default;
  Texts& operator=(Texts&&) = default;

  static constexpr std::size_t kBytesMax = 4096;  // of one

  std::uint32_t of_id(std::int64_t id) {
    const auto [it, fresh] = by_id_.try_emplace(id, static_cast<std::uint32_t>(all_.size()));
    if (fresh) all_.emplace_back();
    return it->second;
  }
  std::uint32_t of_text(std::string_view text) {
    text = text.substr(0, kBytesMax);
    if (const auto it = by_text_.find(text); it != by_text_.end()) return it->second;
    const auto i = static_cast<std::uint32_t>(all_.size());
    by_text_.emplace(all_.emplace_back(text), i);
    return i;
  }
  bool wanted(std::int64_t id) const { return by_id_.count(id) > 0; }
  void set(std::int64_t id, std::string_view text) { all_[by_id_.at(id)] = text.substr(0, kBytesMax); }
  const std::string& operator[](std::uint32_t i) const { return all_[i]; }
  bool empty() const { return by_id_.empty(); }

 private:
  std::deque<std::string> all_;  // which stay where they are, for the views of them
  std::unordered_map<std::int64_t, std::uint32_t> by_id_;
  std::unordered_map<std::string_view, std::uint32_t> by_text_;
};

struct Range {
  Span span;
  std::int64_t thread = 0;  // global
  std::uint32_t name = 0;
  std::uint32_t payload = kNone;  // JSON
};

struct Call {
  Span span;
  std::uint64_t correlation = kNoCorrelation;
  std::int64_t thread = 0;
  std::uint32_t name = 0;
};

struct Gpu {
  std::string name;
  std::uint32_t units = 0;
};

// What one process did.
struct Process {
  std::vector<GpuEvent> gpu;  // names are of Texts; `detail` is of NsysRows::launches
  std::vector<Call> calls;
  std::vector<Range> ranges;
  std::vector<Range> exchanges;      // NCCL's own
  std::map<std::int64_t, Gpu> gpus;  // by the number that the process knows it by
};

struct NsysRows {
  Texts texts;
  std::map<std::int64_t, Process> processes;
  std::vector<Launch> launches;  // each once
  std::string host;
  std::uint64_t damaged = 0;
};

Result<NsysRows> read_nsys_rows(Database db, std::uint64_t file_bytes);

}  // namespace muster::sqlite
