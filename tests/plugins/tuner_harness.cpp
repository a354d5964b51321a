// Drives libnccl-tuner-muster.so as NCCL does: the five objects by name, with NCCL's layouts, cost tables and logger.
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "abi.h"
#include "report/tuner_table.h"
#include "table.h"

#if !defined(__SANITIZE_ADDRESS__)
namespace {
std::atomic<long> allocations;
}
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* malloc(std::size_t n) { return ++allocations, __libc_malloc(n); }
void* calloc(std::size_t n, std::size_t size) { return ++allocations, __libc_calloc(n, size); }
void* realloc(void* p, std::size_t n) { return ++allocations, __libc_realloc(p, n); }
}
#endif

namespace muster::report {
namespace {

namespace fs = std::filesystem;

// NCCL's ABI on 64-bit machines: a layout that drifts would be read as something else.
static_assert(sizeof(tuner_v2) == 4 * 8 && sizeof(tuner_v3) == 4 * 8 && sizeof(tuner_v4) == 4 * 8);
static_assert(sizeof(tuner_v5) == 4 * 8 && sizeof(tuner_v6) == 5 * 8 && offsetof(tuner_v6, get_chunk_size) == 32);
static_assert(sizeof(nvlink_domains_v5) == 12 && sizeof(tuner_constants_v5) == 8 * (21 + 63 + 5 * 12));
static_assert(sizeof(table_header) == 64 && sizeof(table_entry) == 32 && sizeof(table_span) == 32);
static_assert(offsetof(table_header, hash) == TABLE_HASH_AT);

std::vector<std::string> lines;

void log_line(int level, unsigned long subsystems, const char*, int, const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  EXPECT_EQ(subsystems, static_cast<unsigned long>(LOG_OF_INIT | LOG_OF_TUNING));
  lines.push_back(fmt::format("{} {}", level == LOG_WARN ? "WARN" : "INFO", text));
}

// One load of the library: what it remembers (that it has warned) is forgotten when it is closed.
class Library {
 public:
  Library() : handle_(dlopen(TUNER_LIBRARY, RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(handle_, nullptr) << dlerror();
    lines.clear();
  }
  ~Library() { dlclose(handle_); }
  template <class T>
  const T& tuner(int version) {
    return *static_cast<const T*>(dlsym(handle_, fmt::format("ncclTunerPlugin_v{}", version).c_str()));
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

 private:
  void* handle_;
};

constexpr float kNo = -1.0F;
using Costs = std::array<std::array<float, PROTOCOLS>, ALGORITHMS>;

// What NCCL expects on four nodes without NVLink: trees and rings only.
Costs costs() {
  Costs c;
  for (auto& row : c) row.fill(kNo);
  c[ALGORITHM_TREE] = {110.0F, 140.0F, 160.0F};
  c[ALGORITHM_RING] = {90.0F, 150.0F, 170.0F};
  return c;
}

TunerTable sample() {
  const auto spans = [](TunerChoice small, TunerChoice large) {
    const std::vector<TunerKnot> knots = {
        {.bytes = 1024, .choice = small, .default_us = 100, .chosen_us = 60, .gain = 0.6, .noise = 0.05},
        {.bytes = 65536, .choice = small, .default_us = 120, .chosen_us = 80, .gain = 0.5, .noise = 0.05},
        {.bytes = 1 << 20, .choice = large, .default_us = 400, .chosen_us = 300, .gain = 0.33, .noise = 0.02},
        {.bytes = 16 << 20, .choice = large, .default_us = 4000, .chosen_us = 3900, .gain = 0.025, .noise = 0.01},
        {.bytes = 64 << 20, .choice = large, .default_us = 16000, .chosen_us = 15000, .gain = 0.06, .noise = 0.07}};
    return tuner_spans(knots);
  };
  const TunerChoice tree{.algorithm = ALGORITHM_TREE, .protocol = PROTOCOL_LL, .channels = 2};
  const TunerChoice ring{.algorithm = ALGORITHM_RING, .protocol = PROTOCOL_SIMPLE, .channels = 4, .chunk_bytes = 1 << 18};
  const TunerChoice nvls{.algorithm = ALGORITHM_NVLS, .protocol = PROTOCOL_SIMPLE, .channels = 16};
  TunerTable t{.nccl_version = 22809};
  t.entries = {{{.nodes = 8}, spans(tree, tree)},
               {{.nodes = 4}, spans(tree, ring)},
               {{.nodes = 2, .ranks_per_node = 8, .nvlink_domain = 8}, spans(nvls, ring)},
               {{.nodes = 1, .ranks_per_node = 8, .nvlink_domain = 8}, spans(tree, ring)},
               {{.nodes = 1, .ranks_per_node = 4, .nvlink_domain = 4}, spans(tree, ring)},
               {{.registered = true, .nodes = 4}, spans(ring, ring)}};
  return t;
}

class Tuner : public ::testing::Test {
 protected:
  Tuner() : folder_(fs::temp_directory_path() / fmt::format("muster-tuner-test-{}", getpid())) {
    fs::create_directories(folder_ / "meet");
    use(encode_tuner_table(sample()).value());
    setenv("MUSTER_TUNER_TABLE", path().c_str(), 1);
    setenv("MUSTER_TUNER_MEET", (folder_ / "meet").c_str(), 1);
    setenv("MUSTER_TUNER_WAIT_MS", "300", 1);
    unsetenv("MUSTER_TUNER_HASH");
  }
  ~Tuner() override { fs::remove_all(folder_); }
  std::string path() const { return folder_ / "tuner.table"; }
  void use(std::string_view bytes) const {
    std::ofstream(path(), std::ios::binary).write(bytes.data(), static_cast<long>(bytes.size()));
  }
  void trust() const {
    std::ifstream in(path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    setenv("MUSTER_TUNER_MEET", "trust", 1);
    setenv("MUSTER_TUNER_HASH", tuner_table_hash(bytes).c_str(), 1);
  }
  fs::path folder_;
};

struct Answer {
  int algorithm = -1, protocol = -1, channels = 0;
  bool operator==(const Answer&) const = default;
};

// Which one entry was set to zero; {-1, -1} when none was.
Answer chosen(const Costs& before, const Costs& after, int channels) {
  Answer a{.channels = channels};
  for (int i = 0; i < ALGORITHMS; ++i) {
    for (int p = 0; p < PROTOCOLS; ++p) {
      const float b = before[static_cast<std::size_t>(i)][static_cast<std::size_t>(p)];
      const float c = after[static_cast<std::size_t>(i)][static_cast<std::size_t>(p)];
      if (b == c) continue;
      EXPECT_EQ(c, 0.0F);
      EXPECT_EQ(a.algorithm, -1) << "one choice";
      a.algorithm = i;
      a.protocol = p;
    }
  }
  return a;
}

template <class T>
Answer ask(const T& tuner, void* context, std::size_t bytes, Costs table, int collective = COLLECTIVE_ALL_REDUCE,
           int registered = 0) {
  const Costs before = table;
  int channels = 0;
  auto* block = reinterpret_cast<float**>(table.data());
  if constexpr (std::is_same_v<T, tuner_v3>) {
    EXPECT_EQ(tuner.get_coll_info(context, collective, bytes, 1, block, ALGORITHMS, PROTOCOLS, &channels), RESULT_SUCCESS);
  } else {
    EXPECT_EQ(tuner.get_coll_info(context, collective, bytes, 1, block, ALGORITHMS, PROTOCOLS, registered, &channels),
              RESULT_SUCCESS);
  }
  return chosen(before, table, channels);
}

const Answer kTree{ALGORITHM_TREE, PROTOCOL_LL, 2}, kRing{ALGORITHM_RING, PROTOCOL_SIMPLE, 4}, kOwn{};

template <class T>
void expect_choices(const T& tuner, void* context) {
  EXPECT_EQ(ask(tuner, context, 512, costs()), kOwn) << "below what was measured";
  EXPECT_EQ(ask(tuner, context, 1024, costs()), kTree);
  EXPECT_EQ(ask(tuner, context, 8192, costs()), kTree) << "between two sizes that agree";
  EXPECT_EQ(ask(tuner, context, 65536, costs()), kTree);
  EXPECT_EQ(ask(tuner, context, 1 << 20, costs()), kRing);
  EXPECT_EQ(ask(tuner, context, 16 << 20, costs()), kOwn) << "a gain of 2.5 % is below the margin";
  EXPECT_EQ(ask(tuner, context, 64 << 20, costs()), kOwn) << "a gain within its noise";
  EXPECT_EQ(ask(tuner, context, std::size_t{1} << 40, costs()), kOwn) << "above what was measured";
  EXPECT_EQ(ask(tuner, context, 1024, costs(), COLLECTIVE_BROADCAST), kOwn) << "a collective that was not measured";
  for (const int nonsense : {-1, 5, 14, 1 << 30}) EXPECT_EQ(ask(tuner, context, 1024, costs(), nonsense), kOwn);
  Costs refused = costs();
  refused[ALGORITHM_TREE][PROTOCOL_LL] = kNo;
  EXPECT_EQ(ask(tuner, context, 1024, refused), kOwn) << "what NCCL cannot use stays so";
  refused[ALGORITHM_TREE][PROTOCOL_LL] = 100000.0F;
  EXPECT_EQ(ask(tuner, context, 1024, refused), kOwn) << "what NCCL relegates stays so";
}

TEST_F(Tuner, EachVersionHandsOverWhatTheTableSays) {
  Library library;
  trust();
  void* context = nullptr;
  const auto& v2 = library.tuner<tuner_v2>(2);
  ASSERT_EQ(v2.init(4, 4, log_line, &context), RESULT_SUCCESS);
  Answer a;
  EXPECT_EQ(v2.get_coll_info(context, COLLECTIVE_ALL_REDUCE, 1024, 0, 0, 1, &a.algorithm, &a.protocol, &a.channels),
            RESULT_SUCCESS);
  EXPECT_EQ(a, kTree);
  a = {};
  EXPECT_EQ(v2.get_coll_info(context, COLLECTIVE_ALL_REDUCE, 16, 0, 0, 1, &a.algorithm, &a.protocol, &a.channels),
            RESULT_SUCCESS);
  EXPECT_EQ(a, kOwn);
  EXPECT_EQ(v2.destroy(context), RESULT_SUCCESS);

  const auto& v3 = library.tuner<tuner_v3>(3);
  ASSERT_EQ(v3.init(4, 4, log_line, &context), RESULT_SUCCESS);
  expect_choices(v3, context);
  EXPECT_EQ(v3.destroy(context), RESULT_SUCCESS);

  const auto& v4 = library.tuner<tuner_v4>(4);
  ASSERT_EQ(v4.init(4, 4, log_line, &context), RESULT_SUCCESS);
  expect_choices(v4, context);
  EXPECT_EQ(ask(v4, context, 1024, costs(), COLLECTIVE_ALL_REDUCE, 1), kRing) << "registered buffers have entries of their own";
  EXPECT_EQ(v4.destroy(context), RESULT_SUCCESS);

  nvlink_domains_v5 nvlink{4, 1, 1};
  tuner_constants_v5 constants;
  std::memset(&constants, 0x5a, sizeof constants);
  const tuner_constants_v5 before = constants;
  const auto& v5 = library.tuner<tuner_v5>(5);
  ASSERT_EQ(v5.init(&context, 77, 4, 4, log_line, &nvlink, &constants), RESULT_SUCCESS);
  expect_choices(v5, context);
  EXPECT_EQ(v5.finalize(context), RESULT_SUCCESS);

  const auto& v6 = library.tuner<tuner_v6>(6);
  ASSERT_EQ(v6.init(&context, 77, 4, 4, log_line, &nvlink, &constants), RESULT_SUCCESS);
  expect_choices(v6, context);
  EXPECT_EQ(std::memcmp(&before, &constants, sizeof before), 0) << "NCCL's constants are left alone";
  std::size_t chunk = 4096;
  EXPECT_EQ(v6.get_chunk_size(context, COLLECTIVE_ALL_REDUCE, 1 << 20, ALGORITHM_RING, PROTOCOL_SIMPLE, 4, &chunk),
            RESULT_SUCCESS);
  EXPECT_EQ(chunk, std::size_t{1} << 18);
  chunk = 4096;
  EXPECT_EQ(v6.get_chunk_size(context, COLLECTIVE_ALL_REDUCE, 1 << 20, ALGORITHM_TREE, PROTOCOL_SIMPLE, 4, &chunk),
            RESULT_SUCCESS);
  EXPECT_EQ(chunk, 4096U) << "another algorithm was taken";
  EXPECT_EQ(v6.finalize(context), RESULT_SUCCESS);
  ASSERT_EQ(lines.size(), 5U) << "one line a communicator";
  for (const std::string& line : lines) {
    EXPECT_TRUE(line.starts_with("INFO muster tuner: table " + std::string(getenv("MUSTER_TUNER_HASH")) + ", 6 entries")) << line;
    EXPECT_TRUE(line.ends_with("taken on trust: nothing was compared")) << line;
  }
}

TEST_F(Tuner, NumbersOfRanksBetweenMeasuredOnesNeedBothToAgree) {
  Library library;
  trust();
  const auto& v5 = library.tuner<tuner_v5>(5);
  nvlink_domains_v5 nvlink{6, 1, 1};
  void* context = nullptr;
  ASSERT_EQ(v5.init(&context, 1, 6, 6, log_line, &nvlink, nullptr), RESULT_SUCCESS);
  EXPECT_EQ(ask(v5, context, 4096, costs()), kTree) << "4 and 8 nodes agree";
  EXPECT_EQ(ask(v5, context, 1 << 20, costs()), kOwn) << "4 and 8 nodes differ";
  v5.finalize(context);
  ASSERT_EQ(v5.init(&context, 1, 12, 12, log_line, &nvlink, nullptr), RESULT_SUCCESS);
  EXPECT_EQ(ask(v5, context, 4096, costs()), kOwn) << "nothing above 8 nodes was measured";
  v5.finalize(context);
  nvlink = {1, 6, 6};
  ASSERT_EQ(v5.init(&context, 1, 6, 1, log_line, &nvlink, nullptr), RESULT_SUCCESS);
  EXPECT_EQ(ask(v5, context, 1 << 20, costs()), kRing) << "4 and 8 ranks of one node agree";
  v5.finalize(context);
  nvlink = {2, 1, 3};
  ASSERT_EQ(v5.init(&context, 1, 4, 4, log_line, &nvlink, nullptr), RESULT_SUCCESS);
  EXPECT_EQ(ask(v5, context, 4096, costs()), kOwn) << "NVLink domains of different sizes";
  v5.finalize(context);
}

TEST_F(Tuner, ChannelsOfAlgorithmsThatNcclDoesNotBoundAreLeftToIt) {
  Library library;
  trust();
  const auto& v5 = library.tuner<tuner_v5>(5);
  nvlink_domains_v5 nvlink{2, 8, 8};
  void* context = nullptr;
  ASSERT_EQ(v5.init(&context, 1, 16, 2, log_line, &nvlink, nullptr), RESULT_SUCCESS);
  Costs c = costs();
  c[ALGORITHM_NVLS][PROTOCOL_SIMPLE] = 50.0F;
  EXPECT_EQ(ask(v5, context, 4096, c), (Answer{ALGORITHM_NVLS, PROTOCOL_SIMPLE, 0}));
  EXPECT_EQ(ask(v5, context, 4096, costs()), kOwn);
  v5.finalize(context);
}

// One rank on one node: it starts by itself, and says one line.
std::string start_alone(int version = 5) {
  Library library;
  void* context = nullptr;
  nvlink_domains_v5 nvlink{4, 1, 1};
  if (version < 5) {
    const auto& v4 = library.tuner<tuner_v4>(4);
    const int result = v4.init(4, 4, log_line, &context);
    if (result == RESULT_SUCCESS) {
      EXPECT_EQ(ask(v4, context, 1024, costs()), kOwn);
      v4.destroy(context);
    }
    return fmt::format("{} {}", result, fmt::join(lines, "|"));
  }
  const auto& v5 = library.tuner<tuner_v5>(5);
  const int result = v5.init(&context, 99, 4, 4, log_line, &nvlink, nullptr);
  if (result == RESULT_SUCCESS) {
    EXPECT_EQ(ask(v5, context, 1024, costs()), kOwn);
    v5.finalize(context);
  }
  return fmt::format("{} {}", result, fmt::join(lines, "|"));
}

constexpr std::string_view kFallsBack = "0 WARN muster tuner: NCCL chooses by itself: ";

TEST_F(Tuner, WithoutAUsableTableNcclChoosesAndOneLineSaysWhy) {
  const std::string bytes = encode_tuner_table(sample()).value();
  fs::remove(path());
  EXPECT_EQ(start_alone(), std::string(kFallsBack) + path() + ": No such file or directory");
  fs::create_directory(path());
  EXPECT_TRUE(start_alone().starts_with(kFallsBack));
  fs::remove(path());
  use("");
  EXPECT_EQ(start_alone(), std::string(kFallsBack) + path() + ": this is no tuner table");
  std::string other = bytes;
  other[12] = 2;
  use(other);
  EXPECT_EQ(start_alone(), std::string(kFallsBack) + path() + ": it has another version than this plugin reads");
  use(bytes);
  setenv("MUSTER_TUNER_HASH", "0123456789abcdef", 1);
  EXPECT_EQ(start_alone(), fmt::format("{}{}: its hash is {}, and MUSTER_TUNER_HASH asks for 0123456789abcdef", kFallsBack,
                                       path(), tuner_table_hash(bytes)));
  unsetenv("MUSTER_TUNER_HASH");
  unsetenv("MUSTER_TUNER_MEET");
  EXPECT_NE(start_alone().find("MUSTER_TUNER_MEET is not set"), std::string::npos);
  setenv("MUSTER_TUNER_MEET", "/nowhere/at/all", 1);
  EXPECT_EQ(start_alone(), std::string(kFallsBack) + "/nowhere/at/all: No such file or directory");
  setenv("MUSTER_TUNER_MEET", (folder_ / "meet").c_str(), 1);
  EXPECT_NE(start_alone(4).find("has no number for the communicator"), std::string::npos);
  setenv("NCCL_COMM_ID", "127.0.0.1:1", 1);
  EXPECT_NE(start_alone().find("cannot be told apart"), std::string::npos);
  unsetenv("NCCL_COMM_ID");
  EXPECT_EQ(start_alone(), std::string(kFallsBack) + "1 of 4 ranks came in time");
  EXPECT_TRUE(fs::is_empty(folder_ / "meet" / fmt::format("muster-tuner-{}", geteuid()))) << "nothing is left behind";
}

TEST_F(Tuner, ARankThatBreaksATrustStopsAloud) {
  setenv("MUSTER_TUNER_MEET", "trust", 1);
  EXPECT_EQ(start_alone(),
            "5 WARN muster tuner: this rank stops: MUSTER_TUNER_MEET=trust needs MUSTER_TUNER_HASH, 16 hex digits");
  setenv("MUSTER_TUNER_HASH", "0123456789abcdef", 1);
  EXPECT_TRUE(start_alone().starts_with("5 WARN muster tuner: this rank stops: " + path() + ": its hash is "));
  fs::remove(path());
  EXPECT_TRUE(start_alone(4).starts_with("5 WARN muster tuner: this rank stops: " + path() + ": No such file"));
}

TEST_F(Tuner, EveryWrongByteAndEveryCutIsNoticed) {
  const std::string bytes = encode_tuner_table(sample()).value();
  std::vector<std::uint64_t> aligned(bytes.size() / 8 + 2);
  const auto refused = [&](const std::string& b) {
    std::memcpy(aligned.data(), b.data(), b.size());
    struct table t;
    return table_open(reinterpret_cast<const std::uint8_t*>(aligned.data()), b.size(), &t) != nullptr &&
           !decode_tuner_table(b, "t");
  };
  ASSERT_FALSE(refused(bytes));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string b = bytes;
      b[i] = static_cast<char>(b[i] ^ (1 << bit));
      ASSERT_TRUE(refused(b)) << i << ' ' << bit;
    }
    ASSERT_TRUE(refused(bytes.substr(0, i))) << i;
    if (i % 7 != 0) continue;
    std::string b = bytes;
    b[i] = static_cast<char>(~b[i]);
    use(b);
    ASSERT_TRUE(start_alone().starts_with(kFallsBack)) << i;
    use(bytes.substr(0, i));
    ASSERT_TRUE(start_alone().starts_with(kFallsBack)) << i;
  }
  ASSERT_TRUE(refused(bytes + '\0'));
}

TEST_F(Tuner, ATableThatChangesUnderARunningJobChangesNothing) {
  Library library;
  trust();
  const auto& v5 = library.tuner<tuner_v5>(5);
  nvlink_domains_v5 nvlink{4, 1, 1};
  void* context = nullptr;
  ASSERT_EQ(v5.init(&context, 1, 4, 4, log_line, &nvlink, nullptr), RESULT_SUCCESS);
  fs::resize_file(path(), 0);
  EXPECT_EQ(ask(v5, context, 1024, costs()), kTree);
  v5.finalize(context);
}

TEST_F(Tuner, TheProgramThatWritesAndThePluginThatReadsSayTheSame) {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  for (int round = 0; round < 300; ++round) {
    TunerTable t{.margin_permille = static_cast<std::uint16_t>(below(60))};
    for (std::uint64_t e = 0, n = 1 + below(12); e < n; ++e) {
      TunerEntry entry{.key = {.collective = static_cast<int>(below(2)),
                               .registered = below(2) == 0,
                               .nodes = static_cast<std::uint32_t>(1 + below(6)),
                               .ranks_per_node = static_cast<std::uint32_t>(1 + below(3)),
                               .nvlink_domain = static_cast<std::uint32_t>(1 + below(3))}};
      for (std::uint64_t at = below(50), s = 0; s < 1 + below(6); ++s, at += 1 + below(100)) {
        TunerSpan span{.from_bytes = at, .gain_permille = static_cast<std::uint16_t>(below(90))};
        if (below(3) != 0)
          span.choice = {static_cast<int>(below(3)), static_cast<int>(below(2)), static_cast<std::uint16_t>(below(2)), 0};
        span.noise_permille = static_cast<std::uint16_t>(below(60));
        entry.spans.push_back(span);
      }
      const auto twice = [&](const TunerEntry& x) { return x.key == entry.key; };
      if (std::none_of(t.entries.begin(), t.entries.end(), twice)) t.entries.push_back(entry);
    }
    const std::string bytes = encode_tuner_table(t).value();
    std::vector<std::uint64_t> aligned(bytes.size() / 8);
    std::memcpy(aligned.data(), bytes.data(), bytes.size());
    struct table opened;
    ASSERT_EQ(table_open(reinterpret_cast<const std::uint8_t*>(aligned.data()), bytes.size(), &opened), nullptr);
    const TunerTable back = decode_tuner_table(bytes, "t").value();
    for (int question = 0; question < 200; ++question) {
      const TunerKey key{static_cast<int>(below(2)), below(2) == 0, static_cast<std::uint32_t>(1 + below(7)),
                         static_cast<std::uint32_t>(1 + below(4)), static_cast<std::uint32_t>(below(4))};
      const std::uint64_t size = below(600);
      struct table_slot slot;
      TunerChoice said;
      if (table_find(&opened, key.collective, key.registered, key.nodes, key.ranks_per_node, key.nvlink_domain, &slot) != 0) {
        if (const table_span* s = table_choose(&opened, &slot, size); s != nullptr)
          said = {s->algorithm, s->protocol, s->channels, s->chunk_bytes};
      }
      ASSERT_EQ(said, tuner_choice(back, key, size)) << round << ' ' << question;
    }
  }
}

// A rank in a process of its own: what it would use, as its exit status.
enum Rank : int { kKilled = -1, kUses = 10, kLeaves = 11, kStops = 12, kDied = 13 };
struct RankPlan {
  std::string table;
  int delay_ms = 0;
  bool dies = false;
  int killed_ms = 0;  // after it came; 0: it is not
};

std::vector<int> meet(const std::vector<RankPlan>& plans, std::uint64_t communicator, std::size_t ranks, std::size_t nodes) {
  std::vector<pid_t> children;
  for (const RankPlan& plan : plans) {
    const pid_t child = fork();
    if (child == 0) {
      usleep(static_cast<unsigned>(plan.delay_ms) * 1000);
      if (plan.dies) _exit(kDied);
      if (plan.killed_ms > 0) ualarm(static_cast<unsigned>(plan.killed_ms) * 1000, 0);
      setenv("MUSTER_TUNER_TABLE", plan.table.c_str(), 1);
      void* library = dlopen(TUNER_LIBRARY, RTLD_NOW);
      const auto* v5 = static_cast<const tuner_v5*>(dlsym(library, "ncclTunerPlugin_v5"));
      nvlink_domains_v5 nvlink{4, 1, 1};
      void* context = nullptr;
      if (v5->init(&context, communicator, ranks, nodes, nullptr, &nvlink, nullptr) != RESULT_SUCCESS) _exit(kStops);
      Costs table = costs();
      int channels = 0;
      v5->get_coll_info(context, COLLECTIVE_ALL_REDUCE, 1024, 1, reinterpret_cast<float**>(table.data()), ALGORITHMS, PROTOCOLS,
                        0, &channels);
      // As a job does: it ends long after it started, one rank after the other.
      usleep(static_cast<unsigned>(plan.delay_ms) * 500);
      v5->finalize(context);
      _exit(table[ALGORITHM_TREE][PROTOCOL_LL] == 0.0F ? kUses : kLeaves);
    }
    children.push_back(child);
  }
  std::vector<int> ends;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    ends.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : kKilled);
  }
  return ends;
}

TEST_F(Tuner, RanksWithOneTableUseItTogether) {
  setenv("MUSTER_TUNER_WAIT_MS", "20000", 1);  // however busy the machine is
  EXPECT_EQ(meet({{path()}, {path(), 20}, {path(), 90}, {path(), 5}}, 5, 4, 4), (std::vector<int>{kUses, kUses, kUses, kUses}));
  EXPECT_TRUE(fs::is_empty(folder_ / "meet" / fmt::format("muster-tuner-{}", geteuid()))) << "nothing is left behind";
}

TEST_F(Tuner, OneOtherTableAmongTheRanksAndNobodyUsesIts) {
  TunerTable t = sample();
  t.margin_permille = 31;
  const std::string other = folder_ / "other.table";
  const std::string bytes = encode_tuner_table(t).value();
  std::ofstream(other, std::ios::binary).write(bytes.data(), static_cast<long>(bytes.size()));
  const std::vector<int> all(4, kLeaves);
  EXPECT_EQ(meet({{path()}, {path()}, {other, 30}, {path()}}, 6, 4, 4), all) << "a different one";
  EXPECT_EQ(meet({{path()}, {path()}, {"/nowhere", 30}, {path()}}, 7, 4, 4), all) << "a missing one";
  EXPECT_EQ(meet({{path()}, {path()}, {path(), 2500}, {path()}}, 8, 4, 4), all) << "a rank that comes too late";
  EXPECT_EQ(meet({{path()}, {path()}, {path(), 0, true}, {path()}}, 9, 4, 4),
            (std::vector<int>{kLeaves, kLeaves, kDied, kLeaves}));
}

TEST_F(Tuner, WhateverHappensTheRanksThatLiveAgree) {
  TunerTable t = sample();
  t.margin_permille = 31;
  const std::string other = folder_ / "other.table";
  const std::string bytes = encode_tuner_table(t).value();
  std::ofstream(other, std::ios::binary).write(bytes.data(), static_cast<long>(bytes.size()));
  std::mt19937_64 random(11);
  int used = 0, left = 0;
  for (std::uint64_t round = 0; round < 60; ++round) {
    setenv("MUSTER_TUNER_WAIT_MS", round % 8 == 0 ? "20000" : "40", 1);
    std::vector<RankPlan> plans(8, RankPlan{path()});
    for (RankPlan& p : plans) p.delay_ms = static_cast<int>(random() % (round % 8 == 4 ? 160 : 60));  // they wait 40
    if (round % 4 == 1) plans[random() % 8].table = other;
    if (round % 4 == 2) plans[random() % 8].table = "/nowhere";
    if (round % 8 == 3) plans[random() % 8].dies = true;
    if (round % 8 == 7) plans[random() % 8].killed_ms = static_cast<int>(1 + random() % 60);
    const std::vector<int> ends = meet(plans, 1000 + round, 8, 8);
    const auto count = [&](int what) { return std::count(ends.begin(), ends.end(), what); };
    EXPECT_TRUE(count(kUses) == 0 || count(kLeaves) == 0) << round << ": some use the table and some do not";
    EXPECT_EQ(count(kStops), 0) << round;
    EXPECT_EQ(count(kKilled), round % 8 == 7 ? count(kKilled) : 0) << round << ": none crashes";
    EXPECT_TRUE(round % 4 == 0 || round % 8 == 7 || count(kUses) == 0) << round;
    EXPECT_TRUE(round % 8 != 0 || count(kUses) == 8) << round << ": nothing was in the way";
    ++(count(kUses) > 0 ? used : left);
  }
  std::cout << "# of 60 meetings " << used << " used the table, " << left << " did not\n";
}

// A table as large as one of a big site: ten collectives and kinds of buffers, 300 shapes, 27 sizes.
TunerTable large() {
  TunerTable t;
  for (int collective = 0; collective < 5; ++collective) {
    for (const bool registered : {false, true}) {
      for (std::uint32_t nodes = 2; nodes <= 300; ++nodes) {
        TunerEntry e{.key = {collective, registered, nodes, 8, 8}};
        for (std::uint64_t s = 0; s < 27; ++s) {
          e.spans.push_back({.from_bytes = std::uint64_t{1024} << s,
                             .choice = {ALGORITHM_RING, static_cast<int>(s % 3), static_cast<std::uint16_t>(1 + s % 8), 0},
                             .gain_permille = 200});
        }
        t.entries.push_back(e);
      }
    }
  }
  return t;
}

TEST_F(Tuner, AChoiceCostsUnder200NanosecondsWithoutMemoryOrTheSystem) {
  use(encode_tuner_table(large()).value());
  trust();
  Library library;
  const auto& v5 = library.tuner<tuner_v5>(5);
  nvlink_domains_v5 nvlink{100, 8, 8};
  void* context = nullptr;
  ASSERT_EQ(v5.init(&context, 1, 800, 100, log_line, &nvlink, nullptr), RESULT_SUCCESS);
  constexpr int kCalls = 200000;
  const Costs fresh = costs();
  Costs table = fresh;
  int channels = 0;
  const auto calls = [&] {
    for (int i = 0; i < kCalls; ++i) {
      table = fresh;
      v5.get_coll_info(context, i % 5, std::size_t{1000} << (i * 7 % 27), 1, reinterpret_cast<float**>(table.data()), ALGORITHMS,
                       PROTOCOLS, i % 2, &channels);
    }
  };
  const auto cpu_ns = [] {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e9 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec);
  };
  double best = 1e9;
#if !defined(__SANITIZE_ADDRESS__)
  const long before = allocations;
#endif
  for (int round = 0; round < 7; ++round) {
    const double start = cpu_ns();
    calls();
    best = std::min(best, (cpu_ns() - start) / kCalls);
  }
#if !defined(__SANITIZE_ADDRESS__)
  EXPECT_EQ(allocations, before) << "nothing is allocated";
#endif
  EXPECT_GT(channels, 0);
  std::cout << fmt::format("# {:.1f} ns a call, of {} entries\n", best, large().entries.size());
  EXPECT_LT(best, 200);
  // In this mode the kernel kills whoever asks it for anything but to read, write or end: neither a lock nor the clock gets
  // through.
  const pid_t child = fork();
  if (child == 0) {
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(77);
    calls();
    syscall(SYS_exit, 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77))
      << "a choice asked the system for something";
  v5.finalize(context);
}

}  // namespace
}  // namespace muster::report
