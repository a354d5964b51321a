#include "ingest/timings_file.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(TimingsFile, KindsAreRead) {
  const auto t = parse_timings(
      "# a GPU\nkind,dtype,m,n,k,groups,forward_us,backward_us,note\n"
      "gemm,fp8,8192,4096,1024,1,50,,\n"
      "attention,cudnn,2,32,4096,128,400,1000,\n"
      "add,bf16,1000,1,1,1,5,,\n"
      "step,bf16,16,4096,14336,32000,500000,,heads 32 kv 8 mb 2 seq 4096\n");
  ASSERT_TRUE(t) << t.error().what;
  ASSERT_EQ(t->size(), 4U);
  EXPECT_EQ(t->at(0).dtype, Dtype::fp8);
  EXPECT_DOUBLE_EQ(t->at(0).forward_s, 50e-6);
  EXPECT_DOUBLE_EQ(t->at(0).backward_s, 0);
  EXPECT_DOUBLE_EQ(t->at(1).seq, 4096);
  EXPECT_DOUBLE_EQ(t->at(1).backward_s, 1e-3);
  EXPECT_DOUBLE_EQ(t->at(2).bytes, 6000) << "two read and one written, two bytes each";
  EXPECT_EQ(t->at(3).model.kv_heads, 8U);
  EXPECT_EQ(t->at(3).plan.micro_batch, 2U);
}

TEST(TimingsFile, WhatIsWrongHasItsLine) {
  const char* head = "kind,dtype,m,n,k,groups,forward_us,backward_us,note\n";
  const auto error = [&](const char* row) {
    const auto t = parse_timings(std::string(head) + row, "t.csv");
    return t ? std::string() : t.error().what;
  };
  EXPECT_EQ(error("gemm,bf16,0,1,1,1,5,,\n"), "t.csv:2: m must be a number above 0, is '0'");
  EXPECT_EQ(error("gemm,bf16,1,1,1,1,fast,,\n"), "t.csv:2: forward_us must be a number above 0, is 'fast'");
  EXPECT_EQ(error("sort,bf16,1,1,1,1,5,,\n"), "t.csv:2: kind 'sort' is not known");
  EXPECT_EQ(error("step,bf16,1,1,1,1,5,,heads 1 kv 1 mb 1\n"), "t.csv:2: note has no seq");
}

TEST(TimingsFile, ShapesNeedNoTimesAndAFileSaysWhereItIsFrom) {
  const std::string text =
      "# gpu: NVIDIA H200\n# software: PyTorch 2.11.0+cu130, CUDA 13.0\n"
      "kind,dtype,m,n,k,groups,forward_us,backward_us,note\ngemm,bf16,512,4096,7168,16,,,\n";
  EXPECT_EQ(timings_origin(text).gpu, "NVIDIA H200");
  EXPECT_EQ(timings_origin(text).software, "PyTorch 2.11.0+cu130, CUDA 13.0");
  EXPECT_EQ(timings_origin("kind\n# gpu: late\n").gpu, "");
  EXPECT_FALSE(parse_timings(text));
  const auto shapes = parse_shapes(text);
  ASSERT_TRUE(shapes);
  EXPECT_EQ(shapes->at(0).groups, 16);
}

TEST(TimingsFile, WhatShipsIsRead) { EXPECT_GE(shipped_timings().size(), 200U); }

}  // namespace
}  // namespace muster
