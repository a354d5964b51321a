#include "ingest/execution_trace.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr std::string_view kChakra = R"j({"schema": "1.1.0-chakra.0.0.4", "pid": 1, "nodes": [
 {"id": 5, "name": "aten::conv2d", "ctrl_deps": 4,
  "inputs": {"values": [[14, 15, 0, 96, 4, "cuda:0"], "<None>", [2, 2], true], "shapes": [[2, 3, 4, 4], [], [[], []], []],
             "types": ["Tensor(float)", "None", "GenericList[Int,Int]", "Bool"]},
  "outputs": {"values": [[20, 21, 0, 8, 4, "cuda:0"]], "shapes": [[2, 4]], "types": ["Tensor(float)"]},
  "attrs": [{"name": "tid", "type": "uint64", "value": 1}]},
 {"id": 4, "name": "forward", "ctrl_deps": 1, "inputs": {"values": [], "shapes": [], "types": []},
  "outputs": {"values": [], "shapes": [], "types": []}, "attrs": []},
 {"id": 7, "name": "record_param_comms", "ctrl_deps": 4,
  "inputs": {"values": [[[34, 35, 0, 100, 4, "cuda:0"]], 47, ["0", "default_pg"], 0, "allreduce"],
   "shapes": [[[100]], [], [[], []], [], []],
   "types": ["GenericList[Tensor(float)]", "Int", "Tuple[String,String]", "Int", "String"]},
  "outputs": {"values": [[[34, 35, 0, 100, 4, "cuda:0"]]], "shapes": [[[100]]], "types": ["GenericList[Tensor(float)]"]},
  "attrs": [{"name": "collective_name", "type": "string", "value": "allreduce"},
   {"name": "dtype", "type": "string", "value": "Float"}, {"name": "in_msg_nelems", "type": "uint64", "value": 100},
   {"name": "out_msg_nelems", "type": "uint64", "value": 100}, {"name": "pg_size", "type": "uint64", "value": 8}]}
], "finish_ts": 9})j";

TEST(ExecutionTrace, Chakra) {
  EXPECT_TRUE(looks_like_execution_trace(kChakra));
  const auto t = parse_execution_trace(kChakra, "et.json");
  ASSERT_TRUE(t) << t.error().what;
  EXPECT_EQ(t->schema, "1.1.0-chakra.0.0.4");
  EXPECT_FALSE(t->cut);
  ASSERT_EQ(t->nodes.size(), 3U);
  EXPECT_EQ(t->nodes[0].name, "forward") << "in the order of beginning";
  EXPECT_EQ(t->nodes[0].parent, kNoNode);
  const ExecutionNode& n = t->nodes[1];
  EXPECT_EQ(n.parent, 0U);
  EXPECT_TRUE(n.on_gpu);
  ASSERT_EQ(n.inputs.size(), 4U);
  EXPECT_EQ(n.inputs[0].shapes, (std::vector<std::vector<std::int64_t>>{{2, 3, 4, 4}}));
  EXPECT_EQ(n.inputs[0].storages, std::vector<std::uint64_t>{15});
  EXPECT_EQ(n.inputs[1].value, "");
  EXPECT_EQ(n.inputs[2].value, "[2, 2]");
  EXPECT_EQ(n.inputs[3].value, "True");
  ASSERT_TRUE(t->nodes[2].exchange);
  EXPECT_EQ(t->nodes[2].exchange->op, "allreduce");
  EXPECT_EQ(t->nodes[2].exchange->group, "0");
  EXPECT_EQ(t->nodes[2].exchange->in_elements, 100U);
  EXPECT_EQ(t->nodes[2].exchange->ranks, 8U);
}

TEST(ExecutionTrace, TheOldForm) {
  const auto t = parse_execution_trace(R"j({"schema": "1.0.1", "nodes": [
    {"name": "aten::add", "id": 8, "rf_id": 4, "parent": 4, "tid": 1, "inputs": [[6, 7, 0, 65536, 4, "cpu"], 2.5],
     "input_shapes": [[256, 256], []], "input_types": ["Tensor(float)", "Double"],
     "outputs": [[6, 7, 0, 65536, 4, "cpu"]], "output_shapes": [[256, 256]], "output_types": ["Tensor(float)"]},
    {"name": "root", "id": 4, "parent": 4}]})j",
                                       "et.json");
  ASSERT_TRUE(t) << t.error().what;
  ASSERT_EQ(t->nodes.size(), 2U);
  const ExecutionNode& n = t->nodes[1];
  EXPECT_EQ(n.name, "aten::add");
  EXPECT_EQ(n.parent, 0U);
  EXPECT_FALSE(n.on_gpu);
  EXPECT_EQ(n.inputs[0].shapes[0], (std::vector<std::int64_t>{256, 256}));
  EXPECT_EQ(n.inputs[1].value, "2.5");
  EXPECT_EQ(n.outputs[0].storages, std::vector<std::uint64_t>{7});
}

TEST(ExecutionTrace, ExchangesOfOldSchemas) {
  const auto t = parse_execution_trace(R"j({"schema": "1.0.3-chakra.0.0.4", "nodes": [
    {"id": 7, "name": "record_param_comms", "ctrl_deps": 4, "inputs": {
      "values": [[[34, 35, 0, 12, 2, "cuda:0"], [36, 37, 0, 8, 2, "cuda:0"]], 3, ["5", "tp"], 0, "reduce_scatter"],
      "shapes": [[[3, 4], [8]], [], [[], []], [], []],
      "types": ["GenericList[Tensor(c10::BFloat16),Tensor(c10::BFloat16)]", "Int", "Tuple[String,String]", "Int", "String"]},
     "outputs": {"values": [], "shapes": [], "types": []}},
    {"id": 8, "name": "record_param_comms", "ctrl_deps": 4, "inputs": {"values": [3, "wait"], "shapes": [[], []],
      "types": ["Int", "String"]}}]})j",
                                       "et.json");
  ASSERT_TRUE(t) << t.error().what;
  ASSERT_TRUE(t->nodes[0].exchange);
  EXPECT_EQ(t->nodes[0].exchange->op, "reduce_scatter");
  EXPECT_EQ(t->nodes[0].exchange->group, "5");
  EXPECT_EQ(t->nodes[0].exchange->in_elements, 20U);
  EXPECT_FALSE(t->nodes[1].exchange) << "a wait moves nothing";
}

TEST(ExecutionTrace, CutAndDamaged) {
  const auto cut = parse_execution_trace(kChakra.substr(0, kChakra.size() - 100), "et.json");
  ASSERT_TRUE(cut);
  EXPECT_TRUE(cut->cut);
  EXPECT_EQ(cut->nodes.size(), 2U);
  const auto damaged =
      parse_execution_trace(R"j({"schema": "x", "nodes": [{"id": 1, "name": "a"}, {"id": tru}, {"name": "b"}]})j", "f");
  ASSERT_TRUE(damaged);
  EXPECT_EQ(damaged->damaged, 2U);
  EXPECT_EQ(parse_execution_trace("{\"schema\": \"1\"}", "f").error().what, "f: there are no nodes in it");
  EXPECT_EQ(parse_execution_trace("{\"nodes\": []}", "f").error().what, "f: it has no nodes");
  EXPECT_FALSE(looks_like_execution_trace("{\"traceEvents\": [], \"schema\": 1, \"nodes\": 2}"));
  EXPECT_FALSE(looks_like_execution_trace("[]"));
}

}  // namespace
}  // namespace muster
