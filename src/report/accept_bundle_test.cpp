#include "report/accept_bundle.h"

#include <gtest/gtest.h>

#include "accept/sample.h"
#include "base/text.h"
#include "ingest/json.h"
#include "model/codec.h"

namespace muster::report {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::string file(const std::vector<BundleFile>& all, std::string_view name) {
  for (const BundleFile& f : all) {
    if (f.name == name) return f.text;
  }
  return {};
}

TEST(AcceptBundle, ASupportDeskFindsEverythingItAsksFor) {
  const auto [a, j] = accept::sample_failed();
  const std::string s = file(accept_bundle({a, j}, "recorded"), "summary.txt");
  for (const char* words :
       {"1650000000103", "GPU-00000001-0000-4000-8000-000000000003", "692-2G520-0280-001", "96.00.A5.00.0C", "0000:48:00.0",
        "580.159.04", "SM 17 computes wrongly", "2026-10-26T07:34:2", "How it was measured", "how often", "1 round of the test",
        "before and after", "ecc_corrected: 0 to 14 (+14)", "Xid 94: NVRM", "suite 1, hash ", "reset the GPU and test again"})
    EXPECT_TRUE(has(s, words)) << words << "\n" << s;
  EXPECT_LT(s.find("GPU 3: FAIL"), s.find("GPU 5: DEGRADED")) << "the worst first";
  EXPECT_TRUE(has(s, "PASS on the same node: GPU 0"));
}

TEST(AcceptBundle, ThatATestWasRepeatedIsSaid) {
  auto [a, j] = accept::sample_failed();
  a.ran.push_back({5, AcceptTest::hbm, 1, TestState::done, "", 36, 1.3});
  a.measured.push_back({5, AcceptTest::hbm, 1, "hbm_read", 4412, 0, 0, -1});
  const std::string s = file(accept_bundle({a, j}, ""), "summary.txt");
  EXPECT_TRUE(has(s, "2 rounds of the test, repeated because the first turn was short of a limit; 2")) << s;
  EXPECT_TRUE(has(s, "36.0 s to 37.3 s after the beginning")) << s;
}

TEST(AcceptBundle, TheRecordingIsKeptByteByByteOrWrittenAnew) {
  const auto [a, j] = accept::sample_failed();
  EXPECT_EQ(file(accept_bundle({a, j}, "recorded\n"), "recording.jsonl"), "recorded\n");
  const std::string anew = file(accept_bundle({a, j}, ""), "recording.jsonl");
  Acceptance again;
  for (const std::string_view line : split(anew, '\n')) {
    if (line.empty()) continue;
    const auto value = parse_json(line);
    ASSERT_TRUE(value);
    auto row = decode_row(*value);
    ASSERT_TRUE(row) << row.error().what;
    again.add(std::move(*row));
  }
  EXPECT_EQ(again.measured.size(), a.measured.size());
  EXPECT_EQ(again.readings.size(), a.readings.size());
  EXPECT_EQ(again.wrong.size(), 2U);
  EXPECT_EQ(again.host.name, "gpu0001");
  EXPECT_EQ(again.end.size(), 1U);
}

TEST(AcceptBundle, NamesOfNodesNeverBecomePathsMarkupOrFormulas) {
  auto [a, j] = accept::sample_failed();
  a.host.name = "../../etc/=cmd|' /C calc'!A0<script>\x1b[2J";
  a.gpus[3].serial = "=1+1";
  for (const BundleFile& f : accept_bundle({a, j}, "")) {
    EXPECT_EQ(f.name.find_first_of("/\\"), std::string::npos) << f.name;
    EXPECT_EQ(f.text.find('\x1b'), std::string::npos) << f.name;
  }
  const std::vector<BundleFile> all = accept_bundle({a, j}, "");
  EXPECT_FALSE(has(file(all, "report.html"), "<script"));
  EXPECT_TRUE(has(file(all, "troubles.csv"), "'=1+1"));
  const std::string folder = bundle_folder(a);
  EXPECT_EQ(folder.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"), std::string::npos)
      << folder;
  EXPECT_LT(folder.size(), 100U);
  a.host.name.clear();
  EXPECT_TRUE(has(bundle_folder(a), "rma-node-2026"));
}

TEST(AcceptBundle, EachTroubleIsARowForASpreadsheet) {
  const auto [a, j] = accept::sample_failed();
  const std::string csv = file(accept_bundle({a, j}, ""), "troubles.csv");
  const auto lines = split(csv, '\n');
  ASSERT_EQ(lines.size(), 4U) << csv;  // heading, two troubles, and the end of the last line
  EXPECT_TRUE(lines[0].starts_with("node,gpu,serial,uuid,part_number,vbios"));
  EXPECT_TRUE(lines[1].starts_with("gpu0001,3,1650000000103,"));
  EXPECT_TRUE(has(lines[2], "hbm_read,4410,4650,fleet"));
}

TEST(AcceptBundle, ANodeWithoutATroubleHasNothingToReturn) {
  const Acceptance a = accept::sample_node(1, 2, 0);
  EXPECT_TRUE(has(file(accept_bundle({a, accept::sample_pass(a)}, ""), "summary.txt"), "there is nothing to return"));
  const Acceptance none;
  const std::string s = file(accept_bundle({none, accept::judge(none, accept::Limits({}))}, ""), "summary.txt");
  EXPECT_TRUE(has(s, "Nothing was measured"));
  EXPECT_FALSE(has(s, "PASS"));
}

}  // namespace
}  // namespace muster::report
