#include "ingest/flight_recorder.h"

#include <gtest/gtest.h>

#include "ingest/pickle.h"

namespace muster {
namespace {

std::string_view bytes(const char* s, std::size_t n) { return {s, n}; }
#define PICKLE(s) bytes(s, sizeof(s) - 1)

TEST(Pickle, DataAreRead) {
  // {"a": [1, -2, 2.5, True, None], "b": ("x", "x")}, as Python 3.11 writes it in protocol 2.
  const auto v =
      parse_pickle(PICKLE("\x80\x02}q\x00(X\x01\x00\x00\x00"
                          "aq\x01]q\x02(K\x01J\xfe\xff\xff\xffG@\x04\x00\x00\x00\x00\x00\x00\x88NeX\x01\x00\x00\x00"
                          "bq\x03X\x01\x00\x00\x00xq\x04h\x04\x86q\x05u."));
  ASSERT_TRUE(v) << v.error().what;
  const Value* a = v->find("a");
  ASSERT_TRUE(a != nullptr && a->array() != nullptr);
  EXPECT_EQ(a->array()->size(), 5U);
  EXPECT_EQ(*(*a->array())[1].integer(), -2);
  double d = 0;
  EXPECT_TRUE((*a->array())[2].number(d));
  EXPECT_EQ(d, 2.5);
  EXPECT_EQ(*(*v->find("b")->array())[1].string(), "x");
}

TEST(Pickle, WhatWouldRunIsRefused) {
  // os.system("true")
  const auto evil =
      parse_pickle(PICKLE("\x80\x02"
                          "cposix\nsystem\nX\x04\x00\x00\x00true\x85R."));
  ASSERT_FALSE(evil);
  EXPECT_EQ(evil.error().what, "byte 2: it would name or call something, which data have no need of");
  EXPECT_FALSE(parse_pickle(PICKLE("\x80\x02]q\x00")));
  EXPECT_FALSE(parse_pickle(PICKLE("\x80\x02X\xff\xff\xff\xff.")));
  EXPECT_FALSE(parse_pickle(PICKLE("\x80\x02.")));
  EXPECT_FALSE(parse_pickle(PICKLE("\x80\x02h\x07.")));
  EXPECT_FALSE(parse_pickle(PICKLE("\x80\x02]q\x00h\x00\x61."))) << "a list that holds itself has no end";
  // Each list holds the one before ten times.
  std::string laughs = "\x80\x02]q" + std::string(1, '\0');
  for (char i = 0; i < 12; ++i) {
    laughs += "](";
    for (int k = 0; k < 10; ++k) laughs += std::string("h") + i;
    laughs += "eq";
    laughs += static_cast<char>(i + 1);
  }
  EXPECT_FALSE(parse_pickle(laughs + "."));
}

TEST(FlightRecorder, RanksOfFiles) {
  EXPECT_EQ(rank_of_file("nccl_trace_rank_5"), 5U);
  EXPECT_EQ(rank_of_file("host12_17.json"), 17U);
  EXPECT_EQ(rank_of_file("comm_lib_trace_rank_0.pickle"), 0U);
  EXPECT_FALSE(rank_of_file("dump"));
}

TEST(FlightRecorder, JsonOfAnyVersion) {
  const auto r = parse_flight_record(R"({"version": "2.4", "pg_config": {"6": {"name": "6", "desc": "dp", "ranks": "[1, 3]"}},
    "pg_status": {"6": {"last_enqueued_collective": "21", "last_started_collective": 21, "last_completed_collective": 20}},
    "entries": [{"pg_id": 6, "process_group": ["6", "dp"], "collective_seq_id": 21, "profiling_name": "nccl:_all_gather_base",
    "input_sizes": [[8, 2], []], "output_sizes": [[16, 2]], "input_dtypes": ["BFloat16"], "state": "started", "is_p2p": false,
    "time_created_ns": 5, "frames": [{"name": "step", "filename": "train.py", "line": 88}]}]})",
                                     "x_3.json");
  ASSERT_TRUE(r) << r.error().what;
  EXPECT_EQ(r->rank, 3U);
  ASSERT_EQ(r->groups.size(), 1U);
  EXPECT_EQ(r->groups[0].ranks, (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(r->groups[0].enqueued, 21U);
  ASSERT_EQ(r->calls.size(), 1U);
  EXPECT_EQ(r->calls[0].op, "_all_gather_base");
  EXPECT_EQ(r->calls[0].in, "[8, 2] []");
  EXPECT_EQ(r->calls[0].caller, "step at train.py:88");
  EXPECT_EQ(parse_flight_record("{\"entries\": 5}", "f_1").error().what, "f_1: there are no entries in it");
  EXPECT_NE(parse_flight_record("{\"entries\": []}", "dump").error().what.find("whose is it"), std::string::npos);
}

}  // namespace
}  // namespace muster
