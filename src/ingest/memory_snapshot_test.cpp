#include "ingest/memory_snapshot.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace muster {
namespace {

// A pickle, written by hand as Python's would be: texts and dictionaries are remembered and referred to.
class Pickler {
 public:
  Pickler& text(std::string_view s) {
    out_ += '\x8c';
    out_ += static_cast<char>(s.size());
    out_ += s;
    out_ += '\x94';
    return *this;
  }
  Pickler& number(std::uint64_t n) {
    out_ += '\x8a';
    out_ += '\x08';
    for (int i = 0; i < 8; ++i) out_ += static_cast<char>(n >> (8 * i) & 0xff);
    return *this;
  }
  Pickler& raw(std::string_view s) {
    out_ += s;
    return *this;
  }
  Pickler& begin(char what) {
    out_ += what;
    out_ += '(';
    return *this;
  }
  std::string take() { return out_ + '.'; }

 private:
  std::string out_ = "\x80\x04";
};

constexpr std::string_view kJson = R"({"segments": [
    {"device": 0, "address": 1048576, "total_size": 20971520, "stream": 0, "segment_type": "large", "segment_pool_id": [0, 0],
     "is_expandable": false, "frames": [], "blocks": [
       {"address": 1048576, "size": 4194304, "requested_size": 4190000, "state": "active_allocated", "frames": [
          {"filename": "/usr/lib/python3.11/site-packages/torch/nn/functional.py", "line": 12, "name": "linear"},
          {"filename": "train.py", "line": 88, "name": "step"}]},
       {"address": 5242880, "size": 2097152, "requested_size": 2000000, "state": "active_awaiting_free", "frames": []},
       {"address": 7340032, "size": 14680064, "requested_size": 0, "state": "inactive", "frames": []}]},
    {"device": 1, "address": 73400320, "total_size": 2097152, "stream": 7, "segment_type": "small", "segment_pool_id": [0, 3],
     "is_expandable": true, "blocks": []}],
  "device_traces": [[
    {"action": "segment_alloc", "addr": 1048576, "size": 20971520, "stream": 0, "time_us": 5, "frames": []},
    {"action": "alloc", "addr": 1048576, "size": 4190000, "stream": 0, "time_us": 6, "frames": [
          {"filename": "/usr/lib/python3.11/site-packages/torch/nn/functional.py", "line": 12, "name": "linear"},
          {"filename": "train.py", "line": 88, "name": "step"}]},
    {"action": "oom", "device_free": 12345, "size": 1073741824, "stream": 0, "time_us": 9},
    {"action": "of_tomorrow", "addr": -1}], []],
  "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:128", "max_split_size": 134217728,
    "garbage_collection_threshold": 0.8, "expandable_segments": false, "roundup_power2_divisions": {"1": 0, "2": 8, "512": 4}}})";

TEST(MemorySnapshot, Json) {
  ASSERT_TRUE(looks_like_memory_snapshot(kJson));
  const auto s = parse_memory_snapshot(kJson, "x.json");
  ASSERT_TRUE(s) << s.error().what;
  ASSERT_EQ(s->segments.size(), 2U);
  EXPECT_EQ(s->segments[0].blocks.size(), 3U);
  EXPECT_EQ(s->segments[0].blocks[0].requested, 4190000U);
  EXPECT_EQ(s->segments[0].blocks[1].state, BlockState::awaiting_free);
  EXPECT_EQ(s->segments[0].pool, 0U);
  EXPECT_EQ(s->segments[1].pool, 3U);
  EXPECT_TRUE(s->segments[1].expandable);
  EXPECT_FALSE(s->segments[1].large);
  ASSERT_EQ(s->traces.size(), 2U);
  ASSERT_EQ(s->traces[0].size(), 4U);
  EXPECT_EQ(s->traces[0][1].stack, s->segments[0].blocks[0].stack) << "the same calls are one stack";
  EXPECT_EQ(s->stack(s->traces[0][1].stack).size(), 2U);
  EXPECT_EQ(s->frames[s->stack(1)[1]].name, "step");
  EXPECT_EQ(s->traces[0][2].action, MemoryAction::oom);
  EXPECT_EQ(s->traces[0][2].address, 12345U);
  EXPECT_EQ(s->traces[0][3].action, MemoryAction::other);
  EXPECT_EQ(s->settings.max_split, std::uint64_t{128} << 20);
  EXPECT_EQ(s->settings.collection_threshold, 0.8);
  EXPECT_EQ(s->settings.divisions[1], 8U);
  EXPECT_EQ(s->settings.divisions[9], 4U);
}

TEST(MemorySnapshot, Pickle) {
  Pickler p;
  p.begin('}').text("segments").begin(']');
  p.begin('}').text("device").number(0).text("address").number(4096).text("total_size").number(2 << 20);
  p.text("stream").number(0).text("segment_type").text("small").text("segment_pool_id").number(0).number(1).raw("\x86");
  p.text("frames").raw("]").text("blocks").begin(']');
  p.begin('}').text("size").number(512).text("requested_size").number(8).text("state").text("active_allocated");
  p.text("frames").begin(']').begin('}').text("name").text("f\x1b[31m").text("line").number(3).text("filename").text("a.py");
  p.raw("ue").raw("u").raw("e").raw("u").raw("e").raw("u");
  const std::string bytes = p.take();
  ASSERT_TRUE(looks_like_memory_snapshot(bytes));
  const auto s = parse_memory_snapshot(bytes, "x.pickle");
  ASSERT_TRUE(s) << s.error().what;
  ASSERT_EQ(s->segments.size(), 1U);
  EXPECT_EQ(s->segments[0].pool, 1U);
  ASSERT_EQ(s->segments[0].blocks.size(), 1U);
  EXPECT_EQ(s->segments[0].blocks[0].address, 4096U) << "where it is not told, blocks follow each other";
  EXPECT_EQ(s->segments[0].blocks[0].requested, 8U);
  ASSERT_EQ(s->stack(s->segments[0].blocks[0].stack).size(), 1U);
  EXPECT_EQ(s->frames[0].name, printable("f\x1b[31m"));
}

TEST(MemorySnapshot, WhatCannotBeIsRefused) {
  const auto why = [](std::string_view text) {
    const auto r = parse_memory_snapshot(text, "x");
    return r ? std::string() : r.error().what;
  };
  EXPECT_EQ(why("{}"), "x: there are no segments in it");
  EXPECT_EQ(why(R"({"segments": [{"total_size": -5}]})"), "x: segment 1: total_size of -5 bytes, which no GPU has");
  EXPECT_EQ(why(R"({"segments": [{"total_size": 9223372036854775807}]})"),
            "x: segment 1: total_size of 9223372036854775807 bytes, which no GPU has");
  EXPECT_EQ(why(R"({"segments": [{"device": 70000}]})"), "x: segment 1: there is no device 70000");
  EXPECT_EQ(why(R"({"segments": [{"total_size": 512, "blocks": [{"size": 1024}]}]})"),
            "x: segment 1: its blocks are larger than itself");
  EXPECT_EQ(why(R"({"device_traces": [[{"action": "alloc", "size": -1}]]})"),
            "x: a trace: size of -1 bytes, which no GPU has (event 1 of device 0)");
  EXPECT_FALSE(looks_like_memory_snapshot(R"({"traceEvents": []})"));
  EXPECT_FALSE(looks_like_memory_snapshot("\x80\x04}\x94(\x8c\x07version\x94"));
}

TEST(MemorySnapshot, NothingRecordedIsASnapshot) {
  const auto s = parse_memory_snapshot(R"({"segments": [], "device_traces": []})", "x");
  ASSERT_TRUE(s);
  EXPECT_FALSE(s->settings_told);
}

}  // namespace
}  // namespace muster
