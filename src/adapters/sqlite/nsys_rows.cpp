#include "adapters/sqlite/nsys_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/text.h"

namespace muster::sqlite {
namespace {

constexpr std::int64_t kGpusMost = 4096;                   // of one machine
constexpr std::int64_t kTimeMost = std::int64_t{1} << 61;  // 73 years: a difference of two cannot wrap

// A table, with what is there of its columns.
struct Table {
  std::string name;
  std::set<std::string, std::less<>> columns;

  bool there() const { return !columns.empty(); }
  bool has(std::string_view column) const { return columns.count(column) > 0; }
  // Of several that different versions have, the first that is there; what is not there, or not told in a row, reads as -1.
  std::string number(std::initializer_list<std::string_view> names) const {
    std::string out;
    for (const std::string_view n : names) {
      if (has(n)) out += fmt::format("\"{}\",", n);
    }
    return out.empty() ? "-1" : fmt::format("coalesce({}-1)", out);
  }
  std::string text(std::string_view column) const { return has(column) ? fmt::format("\"{}\"", column) : "NULL"; }
};

class Reader {
 public:
  Reader(Database db, std::uint64_t file_bytes) : db_(std::move(db)), rows_most_(file_bytes / 4) {}

  Result<NsysRows> read();

 private:
  template <class Visit>
  Result<void> rows(const std::string& sql, std::string_view table, Visit visit);
  Result<Table> table(std::string_view name);
  Result<void> enums();
  Result<void> kernels();
  Result<void> copies();
  Result<void> fills();
  Result<void> graphs();
  Result<void> calls();
  Result<void> waits();
  Result<void> domains(const Table& t);
  Result<void> ranges();
  Result<void> devices();
  Result<void> host();
  Result<void> resolve();

  bool span_of(const Statement& row, int first, Span& out);
  std::string copy_name(std::int64_t kind, std::int64_t from, std::int64_t to) const;
  // Where no row tells the process, there is one.
  Process& process(std::int64_t global) { return out_.processes[by_process_ ? process_of(global) : kUntold]; }
  std::uint32_t launch(const Statement& row, int first);
  GpuEvent* keep_gpu(const Statement& row, std::uint32_t name, GpuWork work);

  Database db_;
  std::uint64_t rows_most_;
  NsysRows out_;
  std::map<std::array<std::uint64_t, 4>, std::uint32_t> launches_;
  std::map<std::int64_t, std::string> memory_kinds_, copy_kinds_, wait_kinds_;
  std::set<std::pair<std::int64_t, std::int64_t>> nccl_domains_;  // process and domain
  bool by_process_ = true;
};

std::int64_t number(const Statement& row, int column) { return static_cast<std::int64_t>(row.integer(column)); }

// Every row of a table costs four bytes at least: more rows than that are a damaged tree that leads into itself.
template <class Visit>
Result<void> Reader::rows(const std::string& sql, std::string_view table, Visit visit) {
  auto s = db_.prepare(sql);
  if (!s) return fail(s.error().code, fmt::format("table {}: {}", table, s.error().what), "export it again");
  for (std::uint64_t n = 0;; ++n) {
    const auto row = s->step();
    if (!row)
      return fail(row.error().code, fmt::format("table {}, row {}: {}", table, n + 1, row.error().what), "export it again");
    if (!*row) return {};
    if (n >= rows_most_) {
      return fail(Code::corrupt, fmt::format("table {} has more rows than the file can hold", table), "export it again");
    }
    visit(*s);
  }
}

// Tables alone: what a view would compute is not ours to run.
Result<Table> Reader::table(std::string_view name) {
  Table out;
  out.name = name;
  auto s = db_.prepare("SELECT sql FROM sqlite_master WHERE type='table' AND name=?1");
  if (!s) return fail(s.error().code, s.error().what, "export it again");
  s->bind_text(1, name);
  const auto row = s->step();
  if (!row) return fail(row.error().code, row.error().what, "export it again");
  if (!*row || !lower(s->bytes(0).substr(0, 12)).starts_with("create table")) return out;
  const auto read =
      rows(fmt::format("PRAGMA table_info(\"{}\")", name), name, [&](const Statement& r) { out.columns.emplace(r.bytes(1)); });
  if (!read) return tl::unexpected(read.error());
  return out;
}

bool Reader::span_of(const Statement& row, int first, Span& out) {
  out = {number(row, first), number(row, first + 1)};
  if (out.start_ns >= 0 && out.start_ns < kTimeMost && out.end_ns >= out.start_ns && out.end_ns < kTimeMost) return true;
  ++out_.damaged;
  return false;
}

std::string short_kind(std::string_view name) {
  const auto at = name.rfind("KIND_");
  return std::string(at == std::string_view::npos ? name : name.substr(at + 5)).substr(0, 40);
}

Result<void> Reader::enums() {
  memory_kinds_ = {{0, "Pageable"}, {1, "Pinned"}, {2, "Device"}, {3, "Array"}, {4, "Managed"}, {5, "Device"}, {6, "Managed"}};
  copy_kinds_ = {{1, "HtoD"}, {2, "DtoH"}, {3, "HtoA"},  {4, "AtoH"},  {5, "AtoA"},  {6, "AtoD"}, {7, "DtoA"},
                 {8, "DtoD"}, {9, "HtoH"}, {10, "PtoP"}, {11, "HtoD"}, {12, "DtoH"}, {13, "DtoD"}};
  struct Enum {
    const char* table;
    std::map<std::int64_t, std::string>* to;
  };
  for (const Enum& e : {Enum{"ENUM_CUDA_MEM_KIND", &memory_kinds_}, Enum{"ENUM_CUDA_MEMCPY_OPER", &copy_kinds_},
                        Enum{"ENUM_CUPTI_SYNC_TYPE", &wait_kinds_}}) {
    const auto t = table(e.table);
    if (!t) return tl::unexpected(t.error());
    if (!t->has("id") || !t->has("name")) continue;
    const auto read = rows(fmt::format("SELECT id, name FROM {}", t->name), t->name, [&](const Statement& r) {
      std::string word = short_kind(r.bytes(1));
      if (word.empty() || e.to->size() > 1000) return;
      if (e.to == &copy_kinds_) {
        // "HTOD" and "UVM_HTOD" as "HtoD".
        if (const auto at = word.rfind('_'); at != std::string::npos) word.erase(0, at + 1);
        if (word.size() != 4 || word.substr(1, 2) != "TO") return;
        word = fmt::format("{}to{}", word[0], word[3]);
      } else if (e.to == &memory_kinds_) {
        word = lower(word);
        word[0] = static_cast<char>(word[0] >= 'a' && word[0] <= 'z' ? word[0] - 'a' + 'A' : word[0]);
        if (const auto at = word.find('_'); at != std::string::npos) word.resize(at);
      } else {
        if (const auto at = word.rfind("TYPE_"); at != std::string::npos) word.erase(0, at + 5);
        word = lower(word);
      }
      (*e.to)[number(r, 0)] = word;
    });
    if (!read) return tl::unexpected(read.error());
  }
  return {};
}

// As Kineto names them: "Memcpy HtoD (Pageable -> Device)".
std::string Reader::copy_name(std::int64_t kind, std::int64_t from, std::int64_t to) const {
  const auto word = [](const auto& map, std::int64_t i) {
    const auto it = map.find(i);
    return it == map.end() ? std::string("Unknown") : it->second;
  };
  return fmt::format("Memcpy {} ({} -> {})", word(copy_kinds_, kind), word(memory_kinds_, from), word(memory_kinds_, to));
}

// Columns 0 to 5: start, end, device, stream, correlation, process. Null: the row is damaged.
GpuEvent* Reader::keep_gpu(const Statement& row, std::uint32_t name, GpuWork work) {
  GpuEvent e;
  if (!span_of(row, 0, e.span)) return nullptr;
  const std::int64_t device = number(row, 2), stream = number(row, 3), correlation = number(row, 4);
  if (device > INT16_MAX) {
    ++out_.damaged;
    return nullptr;
  }
  e.device = static_cast<std::int16_t>(std::max<std::int64_t>(device, 0));
  e.stream = static_cast<std::uint32_t>(std::max<std::int64_t>(stream, 0));
  if (correlation > 0) e.correlation = static_cast<std::uint64_t>(correlation);
  e.name = name;
  e.work = work;
  return &process(number(row, 5)).gpu.emplace_back(e);
}

// Of columns that may be damaged: what a launch can have.
std::uint64_t within(std::int64_t n, std::int64_t most) {
  return static_cast<std::uint64_t>(std::clamp<std::int64_t>(n, 0, most));
}

// Eight columns: the grid, the block, registers and shared memory.
std::uint32_t Reader::launch(const Statement& row, int first) {
  constexpr std::int64_t kSide = 0x7fffffff;
  Launch l;
  const std::uint64_t x = within(number(row, first), kSide), y = within(number(row, first + 1), 65'535);
  l.blocks = x * y * within(number(row, first + 2), 65'535);
  l.threads = 1;
  for (int i = 3; i < 6; ++i) l.threads *= static_cast<std::uint32_t>(within(number(row, first + i), 1024));
  l.registers = static_cast<std::uint32_t>(within(number(row, first + 6), 65'535));
  l.shared_bytes = static_cast<std::uint32_t>(within(number(row, first + 7), kSide));
  if (l.blocks == 0 || l.threads == 0) return kNone;
  const std::array<std::uint64_t, 4> key = {l.blocks, l.threads, l.registers, l.shared_bytes};
  const auto [it, fresh] = launches_.try_emplace(key, static_cast<std::uint32_t>(out_.launches.size()));
  if (fresh) out_.launches.push_back(l);
  return it->second;
}

std::string common_columns(const Table& t) {
  return fmt::format("{}, {}, {}, {}, {}, {}", t.number({"start"}), t.number({"end"}), t.number({"deviceId"}),
                     t.number({"streamId"}), t.number({"correlationId"}), t.number({"globalPid"}));
}

Result<void> Reader::kernels() {
  const auto t = table("CUPTI_ACTIVITY_KIND_KERNEL");
  if (!t) return tl::unexpected(t.error());
  if (!t->there()) return {};
  const std::string shared =
      fmt::format("max({}, 0) + max({}, 0)", t->number({"staticSharedMemory"}), t->number({"dynamicSharedMemory"}));
  const std::string sql =
      fmt::format("SELECT {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {} FROM {}", common_columns(*t),
                  t->number({"demangledName", "shortName", "mangledName"}), t->text("name"), t->number({"gridX"}),
                  t->number({"gridY"}), t->number({"gridZ"}), t->number({"blockX"}), t->number({"blockY"}), t->number({"blockZ"}),
                  t->number({"registersPerThread"}), shared, t->name);
  return rows(sql, t->name, [&](const Statement& r) {
    const std::int64_t id = number(r, 6);
    const std::uint32_t name = id >= 0 ? out_.texts.of_id(id) : out_.texts.of_text(r.bytes(7));
    if (GpuEvent* e = keep_gpu(r, name, GpuWork::compute)) e->detail = launch(r, 8);
  });
}

Result<void> Reader::copies() {
  const auto t = table("CUPTI_ACTIVITY_KIND_MEMCPY");
  if (!t) return tl::unexpected(t.error());
  if (!t->there()) return {};
  const std::string sql = fmt::format("SELECT {}, {}, {}, {}, {} FROM {}", common_columns(*t), t->number({"copyKind"}),
                                      t->number({"srcKind"}), t->number({"dstKind"}), t->number({"bytes"}), t->name);
  std::map<std::array<std::int64_t, 3>, std::uint32_t> names;
  return rows(sql, t->name, [&](const Statement& r) {
    const std::array<std::int64_t, 3> kinds = {number(r, 6), number(r, 7), number(r, 8)};
    auto it = names.find(kinds);
    if (it == names.end()) it = names.emplace(kinds, out_.texts.of_text(copy_name(kinds[0], kinds[1], kinds[2]))).first;
    GpuEvent* e = keep_gpu(r, it->second, GpuWork::copy);
    if (e != nullptr && number(r, 9) > 0) e->bytes = static_cast<std::uint64_t>(number(r, 9));
  });
}

Result<void> Reader::fills() {
  const auto t = table("CUPTI_ACTIVITY_KIND_MEMSET");
  if (!t) return tl::unexpected(t.error());
  if (!t->there()) return {};
  const std::string sql =
      fmt::format("SELECT {}, {}, {} FROM {}", common_columns(*t), t->number({"memKind"}), t->number({"bytes"}), t->name);
  return rows(sql, t->name, [&](const Statement& r) {
    const auto kind = memory_kinds_.find(number(r, 6));
    const std::string name = fmt::format("Memset ({})", kind == memory_kinds_.end() ? "Device" : kind->second);
    GpuEvent* e = keep_gpu(r, out_.texts.of_text(name), GpuWork::fill);
    if (e != nullptr && number(r, 7) > 0) e->bytes = static_cast<std::uint64_t>(number(r, 7));
  });
}

// A graph that was traced as one: what is in it is not told.
Result<void> Reader::graphs() {
  const auto t = table("CUPTI_ACTIVITY_KIND_GRAPH_TRACE");
  if (!t) return tl::unexpected(t.error());
  if (!t->there()) return {};
  const std::string sql = fmt::format("SELECT {}, {} FROM {}", common_columns(*t), t->number({"graphId"}), t->name);
  return rows(sql, t->name, [&](const Statement& r) {
    keep_gpu(r, out_.texts.of_text(fmt::format("CUDA graph {}", number(r, 6))), GpuWork::compute);
  });
}

Result<void> Reader::calls() {
  const auto t = table("CUPTI_ACTIVITY_KIND_RUNTIME");
  if (!t) return tl::unexpected(t.error());
  if (!t->there()) return waits();
  const std::string sql =
      fmt::format("SELECT {}, {}, {}, {}, {}, {} FROM {}", t->number({"start"}), t->number({"end"}), t->number({"globalTid"}),
                  t->number({"correlationId"}), t->number({"nameId"}), t->text("name"), t->name);
  return rows(sql, t->name, [&](const Statement& r) {
    Call c;
    if (!span_of(r, 0, c.span)) return;
    c.thread = number(r, 2);
    if (const std::int64_t n = number(r, 3); n > 0) c.correlation = static_cast<std::uint64_t>(n);
    c.name = number(r, 4) >= 0 ? out_.texts.of_id(number(r, 4)) : out_.texts.of_text(r.bytes(5));
    process(c.thread).calls.push_back(c);
  });
}

// Where calls were not traced, what the host waited for is all that is known of them.
Result<void> Reader::waits() {
  const auto t = table("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION");
  if (!t) return tl::unexpected(t.error());
  if (!t->there()) return {};
  const std::string sql = fmt::format("SELECT {}, {} FROM {}", common_columns(*t), t->number({"syncType"}), t->name);
  return rows(sql, t->name, [&](const Statement& r) {
    Call c;
    if (!span_of(r, 0, c.span)) return;
    c.thread = number(r, 5);
    const auto kind = wait_kinds_.find(number(r, 6));
    c.name = out_.texts.of_text(kind == wait_kinds_.end() ? "synchronize" : kind->second);
    process(c.thread).calls.push_back(c);
  });
}

constexpr std::int64_t kPushPop = 59, kStartEnd = 60, kDomainCreate = 75;

Result<void> Reader::domains(const Table& t) {
  if (!t.has("domainId") || !t.has("eventType") || !t.has("text")) return {};
  const std::string sql = fmt::format("SELECT {}, {}, text FROM {} WHERE eventType={}", t.number({"globalTid", "globalPid"}),
                                      t.number({"domainId"}), t.name, kDomainCreate);
  return rows(sql, t.name, [&](const Statement& r) {
    if (r.bytes(2) == "NCCL") nccl_domains_.emplace(process_of(number(r, 0)), number(r, 1));
  });
}

Result<void> Reader::ranges() {
  const auto t = table("NVTX_EVENTS");
  if (!t) return tl::unexpected(t.error());
  if (!t->there()) return {};
  if (auto r = domains(*t); !r) return r;
  const std::string sql =
      fmt::format("SELECT {}, {}, {}, {}, {}, {}, {}, {}, {} FROM {}", t->number({"start"}), t->number({"end"}),
                  t->number({"globalTid", "globalPid"}), t->number({"eventType"}), t->number({"domainId"}), t->number({"textId"}),
                  t->text("text"), t->number({"jsonTextId"}), t->text("jsonText"), t->name);
  return rows(sql, t->name, [&](const Statement& r) {
    const std::int64_t type = number(r, 3);
    if (type != kPushPop && type != kStartEnd && type != kUntold) return;
    if (number(r, 1) < 0) return;  // never ended
    Range x;
    if (!span_of(r, 0, x.span)) return;
    x.thread = number(r, 2);
    const std::string_view text = r.bytes(6);
    if (text.empty() && number(r, 5) < 0) return;
    x.name = text.empty() ? out_.texts.of_id(number(r, 5)) : out_.texts.of_text(text);
    Process& p = process(x.thread);
    if (nccl_domains_.count({process_of(x.thread), number(r, 4)}) == 0) {
      p.ranges.push_back(x);
      return;
    }
    const std::string_view payload = r.bytes(8);
    if (!payload.empty() || number(r, 7) >= 0)
      x.payload = payload.empty() ? out_.texts.of_id(number(r, 7)) : out_.texts.of_text(payload);
    p.exchanges.push_back(x);
  });
}

// A process counts its GPUs from 0, in an order of its own.
Result<void> Reader::devices() {
  std::map<std::int64_t, Gpu> gpus;
  const auto t = table("TARGET_INFO_GPU");
  if (!t) return tl::unexpected(t.error());
  if (t->has("id") && t->has("name")) {
    const std::string sql = fmt::format("SELECT {}, {}, name FROM {}", t->number({"id"}), t->number({"smCount"}), t->name);
    const auto read = rows(sql, t->name, [&](const Statement& r) {
      if (number(r, 0) < 0 || number(r, 0) >= kGpusMost) return;
      gpus[number(r, 0)] = {std::string(r.bytes(2).substr(0, Texts::kBytesMax)),
                            static_cast<std::uint32_t>(within(number(r, 1), 100'000))};
    });
    if (!read) return tl::unexpected(read.error());
  }
  for (auto& [id, p] : out_.processes) p.gpus = gpus;
  const auto of = table("TARGET_INFO_CUDA_DEVICE");
  if (!of) return tl::unexpected(of.error());
  if (!of->has("gpuId") || !of->has("cudaId") || !of->has("pid")) return {};
  std::map<std::int64_t, std::map<std::int64_t, Gpu>> by_pid;
  const auto read = rows(fmt::format("SELECT gpuId, cudaId, pid FROM {}", of->name), of->name, [&](const Statement& r) {
    const auto gpu = gpus.find(number(r, 0));
    if (gpu != gpus.end() && number(r, 1) >= 0 && number(r, 1) < kGpusMost) by_pid[number(r, 2)][number(r, 1)] = gpu->second;
  });
  if (!read) return tl::unexpected(read.error());
  for (auto& [id, p] : out_.processes) {
    // The process's number is in the lower bits of what is left of its global id.
    const auto it = id >= 0 ? by_pid.find(thread_of(id)) : by_pid.size() == 1 ? by_pid.begin() : by_pid.end();
    if (it != by_pid.end()) p.gpus = it->second;
  }
  return {};
}

Result<void> Reader::host() {
  const auto t = table("TARGET_INFO_SYSTEM_ENV");
  if (!t) return tl::unexpected(t.error());
  if (!t->has("name") || !t->has("value")) return {};
  return rows(fmt::format("SELECT value FROM {} WHERE name='Hostname'", t->name), t->name,
              [&](const Statement& r) { out_.host = r.bytes(0).substr(0, 255); });
}

Result<void> Reader::resolve() {
  if (out_.texts.empty()) return {};
  const auto t = table("StringIds");
  if (!t) return tl::unexpected(t.error());
  if (!t->has("id") || !t->has("value")) return {};
  return rows("SELECT id, value FROM StringIds", "StringIds", [&](const Statement& r) {
    if (out_.texts.wanted(number(r, 0))) out_.texts.set(number(r, 0), r.bytes(1));
  });
}

Result<NsysRows> Reader::read() {
  // Old exports do not tell the process of what ran on a GPU.
  for (const char* name : {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
                           "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"}) {
    const auto t = table(name);
    if (!t) return tl::unexpected(t.error());
    if (t->there() && !t->has("globalPid")) by_process_ = false;
  }
  for (const auto part : {&Reader::enums, &Reader::kernels, &Reader::copies, &Reader::fills, &Reader::graphs, &Reader::calls,
                          &Reader::ranges, &Reader::devices, &Reader::host, &Reader::resolve}) {
    if (auto r = (this->*part)(); !r) return tl::unexpected(r.error());
  }
  return std::move(out_);
}

}  // namespace

Result<NsysRows> read_nsys_rows(Database db, std::uint64_t file_bytes) { return Reader(std::move(db), file_bytes).read(); }

}  // namespace muster::sqlite
