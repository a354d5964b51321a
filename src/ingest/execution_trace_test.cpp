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
      parse_execution_trace(R"j({"schema": "x", "nodes": [{"id": 1, "name": "a", "inputs": {"types": ["Int"], "values": [1]}},
                                {"id": tru}, {"name": "b"}]})j",
                            "f");
  ASSERT_TRUE(damaged);
  EXPECT_EQ(damaged->damaged, 2U);
  EXPECT_EQ(parse_execution_trace("{\"schema\": \"1\"}", "f").error().what, "f: there are no nodes in it");
  EXPECT_EQ(parse_execution_trace("{\"nodes\": []}", "f").error().what, "f: it has no nodes");
  EXPECT_FALSE(looks_like_execution_trace("{\"traceEvents\": [], \"schema\": 1, \"nodes\": 2}"));
  EXPECT_FALSE(looks_like_execution_trace("[]"));
}

// A product of 1 GFLOP, and the exchange that waits for it.
void expect_two_nodes(const Result<ExecutionTrace>& t, const char* form) {
  ASSERT_TRUE(t) << form << ": " << t.error().what;
  ASSERT_EQ(t->nodes.size(), 2U) << form;
  EXPECT_EQ(t->damaged, 0U) << form;
  EXPECT_FALSE(t->cut) << form;
  const ExecutionNode &product = t->nodes[0], &exchange = t->nodes[1];
  EXPECT_EQ(product.work, NodeWork::compute) << form;
  EXPECT_EQ(product.name, "gemm") << form;
  EXPECT_EQ(product.operations, 1e9) << form;
  EXPECT_EQ(product.bytes, 1048576) << form;
  EXPECT_EQ(product.duration_us, 500) << form;
  EXPECT_TRUE(product.on_gpu && !product.on_host) << form;
  EXPECT_FALSE(product.exchange) << form;
  EXPECT_EQ(exchange.work, NodeWork::exchange) << form;
  EXPECT_EQ(exchange.duration_us, 300) << form;
  EXPECT_EQ(exchange.waits_for, std::vector<std::uint32_t>{0}) << form;
  ASSERT_TRUE(exchange.exchange) << form;
  EXPECT_EQ(exchange.exchange->op, "reduce_scatter") << form;
  EXPECT_EQ(exchange.exchange->group, "7") << form;
  EXPECT_EQ(exchange.exchange->bytes, 67108864) << form;
}

TEST(ChakraNodes, TypesByNameAndByNumberAndAttributesInAnyFormReadAlike) {
  const std::pair<const char*, std::string_view> forms[] = {
      {"types by name, a list of attributes", R"j({"schema": "1.0.2-chakra.0.0.4", "nodes": [
        {"id": "1", "name": "gemm", "type": "COMP_NODE", "ctrl_deps": [], "data_deps": [], "duration_micros": "500",
         "attr": [{"name": "num_ops", "int64_val": "1000000000"}, {"name": "is_cpu_op", "bool_val": false},
                  {"name": "tensor_size", "uint64_val": "1048576"}]},
        {"id": "2", "name": "x", "type": "COMM_COLL_NODE", "ctrl_deps": ["1"], "duration_micros": "300",
         "attr": [{"name": "comm_type", "int64_val": "7"}, {"name": "comm_size", "int64_val": "67108864"},
                  {"name": "pg_name", "string_val": "7"}]}]})j"},
      {"types by number, an object of attributes", R"j({"nodes": [
        {"id": 1, "name": "gemm", "type": 4, "data_deps": [], "duration_micros": 500,
         "attrs": {"num_ops": 1000000000, "is_cpu_op": 0, "tensor_size": 1048576}},
        {"id": 2, "name": "x", "type": 7, "data_deps": [1], "duration_micros": 300,
         "attrs": {"comm_type": "REDUCE_SCATTER", "comm_size": 67108864, "pg_name": 7}}]})j"},
      {"plain members, as the feeder reads them", R"j({"workload_graph": [
        {"Id": 1, "Name": "gemm", "NodeType": 4, "is_cpu_op": false, "runtime": 500, "data_deps": [],
         "num_ops": 1000000000, "tensor_size": 1048576},
        {"Id": 2, "Name": "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "NodeType": 7, "is_cpu_op": false, "runtime": 300,
         "data_deps": [1], "comm_size": 67108864, "pg_name": "7"}]})j"},
      {"protobuf's JSON, one behind the other, where an id of 0 is left out", R"j({
  "version": "0.0.4"
}{
  "name": "gemm", "type": "COMP_NODE", "durationMicros": "500",
  "attr": [{"name": "num_ops", "int64Val": "1000000000"}, {"name": "tensor_size", "uint64Val": "1048576"}]
}{
  "id": "2", "name": "x", "type": "COMM_COLL_NODE", "dataDeps": ["0"], "durationMicros": "300",
  "attr": [{"name": "comm_type", "int64Val": "7"}, {"name": "comm_size", "int64Val": "67108864"},
           {"name": "pg_name", "stringVal": "7"}]
})j"},
      {"a bare list in camel case", R"j([{"id": 1, "name": "gemm", "type": "COMP_NODE", "dataDeps": [], "durationMicros": 500,
        "numOps": 1000000000, "tensorSize": 1048576},
        {"id": 2, "name": "x", "type": "COMM_COLL_NODE", "ctrlDeps": [1], "durationMicros": 300, "commType": "reduce_scatter",
         "commSize": 67108864, "pgName": "7"}])j"}};
  for (const auto& [form, text] : forms) {
    EXPECT_TRUE(looks_like_execution_trace(text)) << form;
    expect_two_nodes(parse_execution_trace(text, "et.json"), form);
  }
}

TEST(ChakraNodes, WhatTheHostDoesIsToldApartAndItsOperandsAreReadFromPythonsText) {
  const auto t = parse_execution_trace(R"j({"version": "0.0.4"}
{"id": "1", "name": "[pytorch|profiler|execution_trace|process]", "type": "METADATA_NODE"}
{"id": "2", "name": "aten::mm", "type": "COMP_NODE", "ctrlDeps": ["1"], "durationMicros": "9",
 "inputs": {"values": "[[1, 2, 0, 64, 4, 'cuda:0'], [3, 4, 0, 64, 4, 'cuda:0'], None, True]",
  "shapes": "[[8, 8], [8, 8], [], []]", "types": "['Tensor(float)', 'Tensor(float)', 'None', 'Bool']"},
 "outputs": {"values": "[]", "shapes": "[]", "types": "[]"}, "attr": [{"name": "is_cpu_op", "boolVal": true}]}
{"id": "3", "name": "sgemm", "type": "COMP_NODE", "ctrlDeps": ["2"], "dataDeps": ["2"], "durationMicros": "40",
 "attr": [{"name": "is_cpu_op", "boolVal": false}]}
{"id": "4", "name": "nccl:send", "type": "COMM_SEND_NODE", "attr": [{"name": "comm_size", "int64Val": "64"}]})j",
                                       "et.json");
  ASSERT_TRUE(t) << t.error().what;
  ASSERT_EQ(t->nodes.size(), 4U);
  EXPECT_EQ(t->schema, "0.0.4");
  const ExecutionNode& host = t->nodes[1];
  EXPECT_TRUE(host.on_host);
  EXPECT_TRUE(host.on_gpu) << "its operands are there";
  ASSERT_EQ(host.inputs.size(), 4U);
  EXPECT_EQ(host.inputs[1].shapes, (std::vector<std::vector<std::int64_t>>{{8, 8}}));
  EXPECT_EQ(host.inputs[1].storages, std::vector<std::uint64_t>{4});
  EXPECT_EQ(host.inputs[3].value, "True");
  EXPECT_FALSE(t->nodes[2].on_host);
  EXPECT_EQ(t->nodes[2].parent, 1U);
  EXPECT_EQ(t->nodes[3].exchange->op, "send");
}

TEST(ChakraNodes, AFileOfWhichNothingIsUnderstoodIsAnError) {
  const auto bare = parse_execution_trace(
      R"j({"schema": "1", "nodes": [{"id": 1, "name": "a"}, {"id": 2, "name": "b", "type": "COMP_NODE", "data_deps": [1]},
          {"id": 3, "name": "c", "type": "METADATA_NODE", "duration_micros": 5}]})j",
      "f");
  ASSERT_FALSE(bare);
  EXPECT_EQ(bare.error().what,
            "f: its 3 nodes have names and no more: neither operands with types and shapes, as PyTorch's have, nor a "
            "duration_micros, num_ops, tensor_size or comm_size, as Chakra's");
}

TEST(ChakraNodes, OneBehindTheOtherAndCutOff) {
  const auto t = parse_execution_trace(
      R"j({"version": "0.0.4"}{"id": "1", "type": "COMP_NODE", "durationMicros": "5"}{"id": "2", "type": "COMP_)j", "f");
  ASSERT_TRUE(t) << t.error().what;
  EXPECT_TRUE(t->cut);
  EXPECT_EQ(t->nodes.size(), 1U);
}

}  // namespace
}  // namespace muster
