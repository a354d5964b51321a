// The examples of the documentation, the fixtures, and the public samples, through the parsers they are for.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "ingest/cluster_file.h"
#include "ingest/fault_catalog.h"
#include "ingest/kernel_log.h"
#include "ingest/policy_file.h"
#include "ingest/prom_text.h"
#include "ingest/workload_file.h"

namespace muster {
namespace {

std::optional<std::string> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::stringstream s;
  s << file.rdbuf();
  return s.str();
}

std::string of_repo(const std::string& path) {
  const auto text = read(std::string(SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(text) << path;
  return text.value_or("");
}

// Lines that are neither empty nor comments.
std::vector<std::string> records(const std::string& text) {
  std::vector<std::string> all;
  for (const auto line : split(text, '\n')) {
    if (!line.empty() && line[0] != '#') all.emplace_back(line);
  }
  return all;
}

Site site() {
  Site s = *plain_cluster(8);
  return s;
}

// The fenced examples marked "yaml KIND" (or "csv KIND") of a page.
std::vector<std::string> examples(const std::string& page, const std::string& kind, const std::string& format = "yaml") {
  const std::string text = of_repo(page);
  const std::string mark = "```" + format + " " + kind + "\n";
  std::vector<std::string> all;
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const std::size_t from = at + mark.size();
    all.push_back(text.substr(from, text.find("```", from) - from));
  }
  return all;
}

TEST(Docs, ExamplesOfClusterFilesAreRight) {
  const auto all = examples("docs/formats/cluster.md", "cluster");
  const auto tables = examples("docs/formats/cluster.md", "cables", "csv");
  EXPECT_GE(all.size(), 4u);
  ASSERT_EQ(tables.size(), 1u);
  std::size_t cables = 0;
  for (const auto& text : all) {
    const auto s = parse_cluster(text, "cluster.md", [&](const std::string& path) -> Result<std::string> {
      return path == "cabling.csv" ? tables[0] : "";
    });
    ASSERT_TRUE(s) << s.error().what << "\n" << text;
    cables += s->cables.table().nics.size();
  }
  EXPECT_EQ(cables, 4u) << "three of the table and one of the list";
}

TEST(Docs, ExamplesOfPoliciesAreRight) {
  const auto all = examples("docs/formats/policy.md", "policy");
  ASSERT_GE(all.size(), 2u);
  for (const auto& text : all) {
    const auto p = parse_policy(text, "docs/formats/policy.md");
    EXPECT_TRUE(p) << p.error().what << "\n" << text;
  }
  EXPECT_EQ(all.back(), of_repo("data/policies/default.yaml")) << "the page shows the shipped default";
}

TEST(Docs, ExamplesOfWorkloadsAreRight) {
  const auto all = examples("docs/formats/workload.md", "workload");
  EXPECT_GE(all.size(), 2u);
  for (const auto& text : all) {
    const auto w = parse_workload(text, "docs/formats/workload.md");
    EXPECT_TRUE(w) << w.error().what << "\n" << text;
  }
}

TEST(Kmsg, ForgedRecordsMeanNothing) {
  const auto all = records(of_repo("tests/fixtures/kmsg_forged.txt"));
  EXPECT_GE(all.size(), 200u);
  const Site s = site();
  for (const auto& record : all) EXPECT_FALSE(parse_kmsg(record, NodeId{0}, 1, Time{1}, s)) << record;
}

// Events of a log are only told, but they must not be told wrongly either. What a user can always cause by dying is the user's
// own.
TEST(LogFile, ForgedLinesAreNoEvents) {
  auto all = records(of_repo("tests/fixtures/log_forged.txt"));
  EXPECT_GE(all.size(), 200u);
  for (const auto& record : records(of_repo("tests/fixtures/kmsg_forged.txt"))) {
    // Some are no records at all; as lines of a file they would be fine.
    if (record[0] >= '0' && record[0] <= '9') all.push_back(record);
  }
  for (const auto& line : all) {
    LogReader reader;
    reader.feed(line);
    reader.finish();
    for (const LogEvent& e : reader.take()) {
      const Fault* f = find_fault(e.code);
      EXPECT_TRUE(f != nullptr && f->scope == "app" && e.pci.empty()) << e.code << ": " << line;
    }
  }
}

TEST(Kmsg, GenuineRecordsMeanWhatTheySay) {
  const Site s = site();
  for (const auto& line : records(of_repo("tests/fixtures/kmsg_genuine.txt"))) {
    const auto words = split(line, ' ');
    const std::string record = line.substr(words[0].size() + words[1].size() + words[2].size() + 3);
    const auto r = parse_kmsg(record, NodeId{0}, 1, Time{1}, s);
    ASSERT_TRUE(r) << record;
    EXPECT_EQ(name_of(r->kind), words[0]) << record;
    EXPECT_EQ(r->code, parse_int(words[1])) << record;
    EXPECT_EQ(r->slot, parse_int(words[2])) << record;
    EXPECT_TRUE(parse_log_line(record)) << record;
  }
}

TEST(Scrape, OldAndNewNamesGiveTheSameSamples) {
  std::vector<Sample> samples[2];
  const Site s = site();
  EXPECT_EQ(parse_scrape(of_repo("tests/fixtures/scrape_h200.prom"), NodeId{0}, Time{1}, s, samples[0]), 0u);
  EXPECT_EQ(parse_scrape(of_repo("tests/fixtures/scrape_h200_dcgm46.prom"), NodeId{0}, Time{1}, s, samples[1]), 0u);
  // 16 fields of 8 GPUs (two of the series are one field) less two blank values, 2 of 8 NICs, boot time, the mask, two versions.
  ASSERT_EQ(samples[0].size(), 16u * 8 - 2 + 16 + 4);
  ASSERT_EQ(samples[0].size(), samples[1].size());
  for (std::size_t i = 0; i < samples[0].size(); ++i) {
    EXPECT_EQ(samples[0][i].field, samples[1][i].field);
    EXPECT_EQ(samples[0][i].slot, samples[1][i].slot);
    EXPECT_EQ(samples[0][i].value, samples[1][i].value);
  }
  EXPECT_EQ(samples[0].back().field, Field::gpus_visible);
  EXPECT_EQ(samples[0].back().value, 255);
}

TEST(PublicData, TheSampleKernelLogIsUnderstood) {
  const char* data = std::getenv("MUSTER_DATA");
  if (data == nullptr) GTEST_SKIP() << "MUSTER_DATA is not set: the sample kernel log is not here";
  const auto text = read(std::string(data) + "/faults/sample_kernel_log.txt");
  if (!text) GTEST_SKIP() << "faults/sample_kernel_log.txt is not there";
  int captured = 0;
  int xids = 0;
  for (const auto& line : records(*text)) {
    if (line.find("NVRM: Xid") == std::string::npos) continue;
    const auto l = parse_log_line(line);
    ASSERT_TRUE(l) << line;
    EXPECT_EQ(l->event.code.rfind("Xid ", 0), 0u) << line;
    ++xids;
    if (line[0] != 'M') continue;
    EXPECT_TRUE(parse_kmsg(line.substr(2), NodeId{0}, 1, Time{1}, site())) << line;
    ++captured;
  }
  EXPECT_EQ(captured, 7);
  EXPECT_GE(xids, 20);
}

}  // namespace
}  // namespace muster
