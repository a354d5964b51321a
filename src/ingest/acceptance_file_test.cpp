#include "ingest/acceptance_file.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace accepting;

std::string recording() {
  std::string text = render_row(Suite{"1", "0123456789abcdef", AcceptProfile::quick, "0.1.0", 7, {AcceptTest::hbm}});
  text += render_row(Host{"gpu0001", Time{1'800'000'000'000'000'000}, "6.8.0", "580.159.04", "13.0", "13.1.0", "air"});
  text += render_row(Gpu{3, "GPU-1", "165", "NVIDIA H200", "00000000:1B:00.0", "96.00", "692", 132, 143771, 700, 700, 5, 16});
  text += render_row(Reading{3, 1.5, 690.25, 1484, 62, 54, 4});
  text += render_row(Measured{3, AcceptTest::hbm, 0, "hbm_read", 4693.5, 2.0, 0.1, -1});
  text += render_row(Wrong{3, AcceptTest::march, 0, "address 0x40", 2, "0x1 instead of 0x0"});
  text += render_row(Ran{3, AcceptTest::hbm, 0, TestState::done, "", 2.0, 1.4});
  text += render_row(Counter{3, "ecc_uncorrected", 0, 1});
  text += render_row(KernelWord{3, 79, 3.5, "NVRM: Xid 79"});
  return text + render_row(End{41.5, false, 0, 0});
}

TEST(AcceptanceFile, WhatIsWrittenIsReadAgain) {
  const auto a = parse_acceptance(recording(), "r.jsonl");
  ASSERT_TRUE(a) << a.error().what;
  EXPECT_EQ(a->suite.tests, (std::vector{AcceptTest::hbm}));
  EXPECT_EQ(a->host.driver, "580.159.04");
  ASSERT_EQ(a->gpus.size(), 1U);
  EXPECT_EQ(a->gpus[0].sms, 132);
  ASSERT_EQ(a->measured.size(), 1U);
  EXPECT_EQ(a->measured[0].value, 4693.5);
  EXPECT_EQ(a->measured[0].mhz, -1);
  EXPECT_EQ(a->readings.size(), 1U);
  EXPECT_EQ(a->wrong[0].place, "address 0x40");
  EXPECT_EQ(a->ran[0].state, TestState::done);
  EXPECT_EQ(a->counters[0].after, 1);
  EXPECT_EQ(a->kernel[0].code, 79);
  ASSERT_EQ(a->end.size(), 1U);
  EXPECT_EQ(a->end[0].at_s, 41.5);
}

TEST(AcceptanceFile, ReadingsCanBeLeftOut) {
  const auto a = parse_acceptance(recording(), "r.jsonl", WithReadings::no);
  ASSERT_TRUE(a);
  EXPECT_TRUE(a->readings.empty());
  EXPECT_EQ(a->measured.size(), 1U);
}

TEST(AcceptanceFile, ACutRecordingIsReadAsFarAsItGoes) {
  const std::string text = recording();
  for (std::size_t size = text.find('\n') + 1; size < text.size(); ++size) {
    const auto a = parse_acceptance(text.substr(0, size), "r.jsonl");
    ASSERT_TRUE(a) << size;
    EXPECT_TRUE(a->end.empty()) << "what was cut off has no end";
  }
}

TEST(AcceptanceFile, AnErrorNamesTheLine) {
  std::string text = recording();
  text.insert(text.find("{\"row\":\"measured\""), "{\"row\":\"ran\",\"gpu\":3,\"test\":\"magic\"}\n");
  const auto a = parse_acceptance(text, "r.jsonl");
  ASSERT_FALSE(a);
  EXPECT_EQ(a.error().code, Code::bad_input);
  EXPECT_NE(a.error().what.find("r.jsonl:5: "), std::string::npos) << a.error().what;
}

TEST(AcceptanceFile, FiguresThatAreNoNumbersAreRefused) {
  const std::string suite = recording().substr(0, recording().find('\n') + 1);
  for (const char* row : {"{\"row\":\"measured\",\"gpu\":0,\"metric\":\"hbm_read\",\"value\":null}\n",
                          "{\"row\":\"measured\",\"gpu\":-4,\"metric\":\"hbm_read\",\"value\":1}\n",
                          "{\"row\":\"counter\",\"gpu\":0,\"name\":\"x\",\"before\":1e300,\"after\":0}\n", "[]\n", "{}\n"}) {
    EXPECT_FALSE(parse_acceptance(suite + row, "r")) << row;
  }
}

TEST(AcceptanceFile, RowsOfALaterVersionAreLeftOut) {
  const std::string text = recording() + "{\"row\":\"aura\",\"gpu\":0}\n";
  EXPECT_TRUE(parse_acceptance(text, "r"));
}

TEST(AcceptanceFile, AnotherFileIsNoRecording) {
  EXPECT_FALSE(parse_acceptance("", "r"));
  EXPECT_FALSE(parse_acceptance("hello\n", "r"));
  EXPECT_FALSE(parse_acceptance("{\"row\":\"end\",\"at_s\":1}\n", "r"));
}

}  // namespace
}  // namespace muster
