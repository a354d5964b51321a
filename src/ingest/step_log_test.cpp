#include "ingest/step_log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(StepLog, MegatronTellsTimesRatesAndWhatWentWrong) {
  const StepLog log = parse_step_log(
      " [2024-05-01 10:00:00] iteration       10/     100 | consumed samples:         2560 | elapsed time per iteration (ms): "
      "5123.4 | "
      "throughput per GPU (TFLOP/s/GPU): 412.1 | learning rate: 1.2E-05 | global batch size:   256 | lm loss: 7.1E+00 | loss "
      "scale: "
      "1.0 | grad norm: 1.2 | number of skipped iterations:   2 | number of nan iterations:   1 |\n"
      " [2024-05-01 10:00:51] iteration       20/     100 | consumed samples:         5120 | elapsed time per iteration (ms): "
      "5100.0 | "
      "throughput per GPU (TFLOP/s/GPU): 413.9 | global batch size:   256 |\n");
  EXPECT_EQ(log.form, StepForm::megatron);
  EXPECT_EQ(log.framework, "Megatron-LM");
  ASSERT_EQ(log.steps.size(), 2U);
  EXPECT_EQ(log.steps[0].step, 10U);
  EXPECT_DOUBLE_EQ(log.steps[0].time_s, 5.1234);
  EXPECT_DOUBLE_EQ(log.steps[0].tflops, 412.1);
  EXPECT_EQ(log.steps[0].batch, 256U);
  EXPECT_EQ(log.steps[0].skipped, 2U);
  EXPECT_EQ(log.steps[0].nan, 1U);
  EXPECT_DOUBLE_EQ(log.steps[1].at_s - log.steps[0].at_s, 51);
  EXPECT_DOUBLE_EQ(log.steps[0].at_s, 1714557600);
}

TEST(StepLog, WhatLaunchersPutBeforeALineDoesNotMatter) {
  for (const char* tag : {"", "[1,15]<stdout>:", "[default7]:", "15: ", "gpu-node-17: ", "[rank15]: "}) {
    const StepLog log = parse_step_log(fmt::format(
        "{0} iteration 1/ 5 | elapsed time per iteration (ms): 76015.3 | samples per second: 26.942 | TFLOPs: 147.61 |\n"
        "{0}(min, max) time across ranks (ms):\n{0}    forward-backward ...............: (5001.33, 5101.50)\n"
        "{0}    optimizer ......................: (10.00, 12.00)\n{0} something else\n",
        tag));
    ASSERT_EQ(log.steps.size(), 1U) << tag;
    EXPECT_DOUBLE_EQ(log.steps[0].tflops, 147.61) << tag;
    ASSERT_EQ(log.timers.size(), 2U) << tag;
    EXPECT_EQ(log.timers[0].name, "forward-backward");
    EXPECT_DOUBLE_EQ(log.timers[0].min_ms, 5001.33);
    EXPECT_DOUBLE_EQ(log.timers[0].max_ms, 5101.5);
    EXPECT_TRUE(log.timers[0].ranks);
  }
}

TEST(StepLog, TimersInTheirOtherForms) {
  const StepLog log = parse_step_log(
      "max time across ranks (ms):\n    forward-backward .......: 500.25\n iteration 1/ 5 | elapsed time per iteration (ms): 600 "
      "|\n"
      "times across ranks (ms):\n  optimizer:\n     rank  0: 10.00\n     rank  1: 14.00\n     rank  2: 8.00\n"
      " iteration 2/ 5 | elapsed time per iteration (ms): 600 |\n"
      "[Rank 0] time (ms) | fwd: 10.5 | bwd: 20.5 | bwd_allreduce: 5.0 | step: 3.0\n");
  ASSERT_EQ(log.timers.size(), 6U);
  EXPECT_DOUBLE_EQ(log.timers[0].max_ms, 500.25);
  EXPECT_FALSE(log.timers[0].ranks);
  EXPECT_EQ(log.timers[1].name, "optimizer");
  EXPECT_DOUBLE_EQ(log.timers[1].min_ms, 8);
  EXPECT_DOUBLE_EQ(log.timers[1].max_ms, 14);
  EXPECT_TRUE(log.timers[1].ranks);
  EXPECT_EQ(log.timers[4].name, "bwd_allreduce");
  EXPECT_DOUBLE_EQ(log.timers[4].max_ms, 5);
}

TEST(StepLog, TorchtitanByTokensAndTheirRate) {
  const StepLog log = parse_step_log(
      "[rank0]:[titan] 2025-11-25 19:44:50,100 - root - INFO - CUDA capacity: NVIDIA H100 80GB HBM3 with 79.10GiB memory\n"
      "[rank0]:[titan] 2025-11-25 19:44:50,837 - root - INFO - Building device mesh with parallelism: pp=1, dp_replicate=1, "
      "dp_shard=8, "
      "cp=1, tp=2, ep=1, etp=1\n"
      "[rank0]:[titan] 2025-11-25 19:44:51,000 - root - INFO - \x1b[34mModel llama3 8B \x1b[31msize: 8,030,261,248 total "
      "parameters\x1b[39m\n"
      "[rank0]:[titan] 2025-11-25 19:44:52,000 - root - INFO - Applied selective activation checkpointing to the model\n"
      "[rank0]:[titan] 2025-11-25 19:44:58,838 - root - INFO - Trainer is initialized with local batch size 1, global batch size "
      "64, "
      "gradient accumulation steps 8, sequence length 8192, total steps 1000 (warmup 200)\n"
      "[rank0]:[titan] 2025-11-25 19:45:01,441 - root - INFO - \x1b[31mstep:  1  \x1b[32mloss: 12.2  \x1b[38mgrad_norm: 1.4  "
      "memory: "
      "42.00GiB(53.10%)  tps: 700  tflops: 40.1  mfu: 4.1%\x1b[39m\n"
      "[rank0]:[titan] 2025-11-25 19:45:11,441 - root - INFO - step:  2  loss:  7.7  grad_norm:  1.5  memory: 42.50GiB(53.70%)  "
      "tps: 8,192  "
      "tflops: 410.2  mfu: 41.48%\n");
  EXPECT_EQ(log.framework, "torchtitan");
  ASSERT_EQ(log.steps.size(), 2U);
  EXPECT_DOUBLE_EQ(log.steps[1].tokens_per_s, 8192);
  EXPECT_DOUBLE_EQ(log.steps[1].mfu_pct, 41.48);
  EXPECT_EQ(log.gpus, 16U);
  EXPECT_DOUBLE_EQ(log.steps[1].time_s, 64.0 / 16);
  EXPECT_EQ(log.mesh.shard, 8U);
  EXPECT_EQ(log.mesh.tp, 2U);
  EXPECT_EQ(log.model, "llama3 8B");
  EXPECT_DOUBLE_EQ(log.parameters, 8030261248);
  EXPECT_EQ(log.gpu_name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(log.recompute, "selective");
  EXPECT_NEAR(log.gpu_memory_gb, 84.9, 0.1);
  EXPECT_NEAR(log.used_memory_gb, 45.6, 0.1);
}

TEST(StepLog, NemoAndMegatronBridge) {
  const StepLog nemo = parse_step_log(
      "[NeMo I] Training epoch 0, iteration 9/99 | lr: 1e-05 | global_batch_size: 512 | global_step: 9 | reduced_train_loss: "
      "10.3 | "
      "train_step_timing in s: 5.25 | consumed_samples: 5120\n"
      "Epoch 0: :  10%|# | 10/100 [00:20<03:00, v_num=0, reduced_train_loss=9.8, global_step=10.00, train_step_timing in "
      "s=5.300]\n");
  EXPECT_EQ(nemo.framework, "NeMo");
  ASSERT_EQ(nemo.steps.size(), 2U);
  EXPECT_DOUBLE_EQ(nemo.steps[0].time_s, 5.25);
  EXPECT_EQ(nemo.steps[1].step, 10U);
  EXPECT_DOUBLE_EQ(nemo.steps[1].time_s, 5.3);
  const StepLog bridge = parse_step_log(
      "run/0 Step Time : 9.09s GPU utilization: 663.5MODEL_TFLOP/s/GPU\n"
      "run/0  [2025-12-22 15:18:33] iteration       50/      50 | elapsed time per iteration (ms): 9089.0 | global batch size:   "
      "512 |\n");
  EXPECT_EQ(bridge.framework, "Megatron-Bridge");
  ASSERT_EQ(bridge.steps.size(), 1U);
  EXPECT_DOUBLE_EQ(bridge.steps[0].tflops, 663.5);
  EXPECT_EQ(
      parse_step_log(
          "Step Time : 9.0s GPU utilization: 6.5MODEL_TFLOP/s/GPU\nStep Time : 8.0s GPU utilization: 7.5MODEL_TFLOP/s/GPU\n")
          .steps.size(),
      2U);
}

TEST(StepLog, DeepSpeedByTheTimesOfItsLines) {
  const StepLog log = parse_step_log(
      "[2023-11-29 08:52:27,500] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=1, lr=[1.2e-07], mom=[(0.9, 0.95)]\n"
      "[2023-11-29 08:52:37,500] [INFO] [logging.py:96:log_dist] [Rank 0] step=20, skipped=4, lr=[1.2e-07], mom=[(0.9, 0.95)]\n");
  EXPECT_EQ(log.framework, "DeepSpeed");
  ASSERT_EQ(log.steps.size(), 2U);
  EXPECT_DOUBLE_EQ(log.steps[1].time_s, 1);
  EXPECT_EQ(log.steps[1].skipped, 3U);
}

std::string deepspeed_steps(int first, int last, bool batch) {
  std::string out;
  if (batch) {
    out =
        "[2025-03-01 10:00:00,000] [INFO] [config.py:1005:print]   train_batch_size ............. 128\n"
        "[2025-03-01 10:00:00,000] [INFO] [config.py:1001:print]   world_size ................... 16\n"
        "[2025-03-01 10:00:00,000] [INFO] [config.py:1001:print]   train_micro_batch_size_per_gpu  4\n";
  }
  for (int i = first; i <= last; i += 10) {
    out += fmt::format(
        "[2025-03-01 10:{0:02}:{1:02},500] [INFO] [logging.py:96:log_dist] [Rank 0] step={2}, skipped=0, lr=[1e-05], mom=[(0.9, "
        "0.999)]\n"
        "[2025-03-01 10:{0:02}:{1:02},502] [INFO] [timer.py:215:stop] epoch=0/micro_step={3}/global_step={4}, "
        "RunningAvgSamplesPerSec=31.9, CurrSamplesPerSec=32.0, MemAllocated=14.53GB, MaxMemAllocated=40.1GB\n",
        i * 5 / 60 % 60, i * 5 % 60, i, 2 * (i - first + 10), i - first + 10);
  }
  return out;
}

TEST(StepLog, DeepSpeedBySamplesASecondAndTheBatchOfItsHeader) {
  const StepLog log = parse_step_log(deepspeed_steps(10, 50, true));
  EXPECT_EQ(log.form, StepForm::deepspeed);
  EXPECT_EQ(log.framework, "DeepSpeed");
  EXPECT_EQ(log.clock, StepClock::rate);
  ASSERT_EQ(log.steps.size(), 5U);
  EXPECT_EQ(log.steps[4].step, 50U);
  EXPECT_DOUBLE_EQ(log.steps[4].time_s, 4);
  EXPECT_EQ(log.batch, 128U);
  EXPECT_EQ(log.micro_batch, 4U);
  EXPECT_EQ(log.gpus, 16U);
  EXPECT_EQ(log.accumulation, 2U);
  EXPECT_NEAR(log.used_memory_gb, 43.06, 0.01);
}

TEST(StepLog, DeepSpeedWithoutABatchIsTimedByItsLines) {
  const StepLog log = parse_step_log(deepspeed_steps(10, 50, false));
  EXPECT_EQ(log.clock, StepClock::stamps);
  ASSERT_EQ(log.steps.size(), 5U);
  EXPECT_DOUBLE_EQ(log.steps[1].time_s, 5);
  EXPECT_DOUBLE_EQ(log.steps[1].samples_per_s, 32);
}

TEST(StepLog, DeepSpeedsCountThatBeginsAnewIsNoRestart) {
  const StepLog log = parse_step_log(deepspeed_steps(510, 550, false));  // the engine says 510, its timer 10
  ASSERT_EQ(log.steps.size(), 5U);
  EXPECT_EQ(log.steps[0].step, 510U);
  EXPECT_EQ(log.steps[4].step, 550U);
  EXPECT_DOUBLE_EQ(log.steps[4].samples_per_s, 32);
}

TEST(StepLog, DeepSpeedsSamplesASecondAloneAreALogOfSteps) {
  for (const char* at : {"epoch=0/micro_step=80/global_step=40", "0/40"}) {
    const std::string text =
        fmt::format("[timer.py:189:stop] {}, SamplesPerSec=83.4, MemAllocated=0.26GB, MaxMemAllocated=9.02GB\n", at);
    EXPECT_TRUE(looks_like_step_log(text));
    const StepLog log = parse_step_log(text);
    EXPECT_EQ(log.form, StepForm::deepspeed) << at;
    EXPECT_EQ(log.clock, StepClock::none) << "how many samples a step has is not told";
    ASSERT_EQ(log.steps.size(), 1U);
    EXPECT_EQ(log.steps[0].step, 40U);
    EXPECT_DOUBLE_EQ(log.steps[0].samples_per_s, 83.4);
  }
}

TEST(StepLog, DeepSpeedByItsTimersOfEveryStep) {
  std::string text;
  for (int i = 1; i <= 20; ++i) {
    text += "[Rank 0] time (ms) | fwd_microstep: 50 | bwd_microstep: 100 | bwd_inner_microstep: 90 | step_microstep: 0.1\n";
    if (i % 10 == 0) text += fmt::format("[Rank 0] step={}, skipped=1, lr=[1e-05], mom=[(0.9, 0.95)]\n", i);
    text += "[Rank 0] time (ms) | fwd_microstep: 50 | bwd_microstep: 100 | bwd_inner_microstep: 90 | step_microstep: 40\n";
    text +=
        fmt::format("[Rank 0] rank=0 time (ms) | fwd: 100 | bwd: 200 | bwd_inner: 180 | bwd_allreduce: 20 | step: {}\n", 40 + i);
  }
  const StepLog log = parse_step_log(text);
  EXPECT_EQ(log.clock, StepClock::timers);
  ASSERT_EQ(log.steps.size(), 20U);
  EXPECT_EQ(log.steps[19].step, 20U);
  EXPECT_NEAR(log.steps[19].time_s, 0.36, 1e-9);
  EXPECT_EQ(log.steps[9].skipped, 1U);
  ASSERT_FALSE(log.timers.empty());
  EXPECT_EQ(log.timers[0].name, "fwd_microstep");
  EXPECT_TRUE(log.timers[0].micro);
}

TEST(StepLog, DeepSpeedByTheTimersOfItsMicroBatches) {
  std::string text;
  for (int i = 1; i <= 40; ++i) {
    for (int k = 0; k < 4; ++k) text += "time (ms) | forward_microstep: 50 | backward_microstep: 100 | step_microstep: 10\n";
    if (i % 10 == 0) text += fmt::format("[Rank 0] step={}, skipped=0, lr=[1e-05], mom=[(0.9, 0.95)]\n", i);
  }
  const StepLog log = parse_step_log(text);
  EXPECT_EQ(log.clock, StepClock::timers);
  ASSERT_EQ(log.steps.size(), 4U);
  EXPECT_NEAR(log.steps[1].time_s, 0.64, 1e-9);
}

TEST(StepLog, DeepSpeedsPipelinePrintsItsTime) {
  const StepLog log = parse_step_log(
      "[2025-03-01 10:00:00,000] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, lr=[1e-05], mom=[(0.9, 0.999)]\n"
      "rank=0 time (ms) | pipe_send_output: 100.0 | pipe_recv_grad: 500.0\n"
      "steps: 10 loss: 2.1234 lm loss: 2.1 iter time (s): 5.747 samples/sec: 22.300\n"
      "[2025-03-01 10:00:57,000] [INFO] [logging.py:96:log_dist] [Rank 0] step=20, skipped=0, lr=[1e-05], mom=[(0.9, 0.999)]\n"
      "rank=0 time (ms) | pipe_send_output: 100.0 | pipe_recv_grad: 500.0\n"
      "steps: 20 loss: 2.1234 iter time (s): 5.613 samples/sec: 22.800\n");
  EXPECT_EQ(log.framework, "DeepSpeed");
  EXPECT_EQ(log.clock, StepClock::printed);
  ASSERT_EQ(log.steps.size(), 2U);
  EXPECT_DOUBLE_EQ(log.steps[1].time_s, 5.613);
  EXPECT_GT(log.steps[1].at_s, 0);
  ASSERT_EQ(log.timers.size(), 2U);
  EXPECT_DOUBLE_EQ(log.timers[1].max_ms / log.timers[1].times, 50) << "they are of ten steps";
}

TEST(StepLog, EveryFormOfTorchtitansMeshTellsHowManyGpusThereAre) {
  const auto mesh = [](const char* line) {
    return parse_step_log(std::string("[rank0]:[titan] - root - INFO - ") + line + "\n");
  };
  EXPECT_EQ(mesh("Building 1-D device mesh with ['dp_shard'], [8]").gpus, 8U);
  const StepLog two = mesh("Building 2-D device mesh with ['dp', 'tp'], [4, 2]");
  EXPECT_EQ(two.gpus, 8U);
  EXPECT_EQ(two.mesh.shard, 4U);
  EXPECT_EQ(two.mesh.tp, 2U);
  const StepLog experts =
      mesh("Building 4-D device mesh with ['pp', 'dp_replicate', 'dp_shard_mod_ep', 'dp_shard_in_ep'], [2, 2, 4, 8]");
  EXPECT_EQ(experts.gpus, 128U);
  EXPECT_EQ(experts.mesh.shard, 32U);
  EXPECT_EQ(experts.mesh.pp, 2U);
  EXPECT_EQ(mesh("Building 1-D device mesh with ['dp_replicate'], [16]").gpus, 16U);
  EXPECT_EQ(mesh("Building 0-D device mesh with [], []").gpus, 1U);
  EXPECT_EQ(mesh("ParallelDims(dp_replicate=1, dp_shard=8, cp=1, tp=2, pp=1, ep=1, world_size=16)").gpus, 16U);
  EXPECT_EQ(mesh("Building 2-D device mesh with ['dp_shard'], [8, 2]").gpus, 0U) << "it is broken";
}

TEST(StepLog, ProgressBarsAndTheTrainersSummary) {
  const StepLog log = parse_step_log(
      "Loading checkpoint shards: 100%|##########| 4/4 [00:10<00:00,  2.50s/it]\n"
      "  0%|          | 0/500 [00:00<?, ?it/s]\r  2%|2         | 10/500 [00:20<16:20,  2.00s/it]\r  4%|4         | 20/500 "
      "[00:41<16:20,  "
      "2.10s/it]\n{'loss': 2.31, 'grad_norm': 1.1, 'learning_rate': 5e-05, 'epoch': 0.04}\n"
      "{'train_runtime': 1000.0, 'train_samples_per_second': 8.0, 'train_steps_per_second': 0.5, 'train_loss': 1.2, 'epoch': "
      "1.0}\n");
  EXPECT_EQ(log.framework, "Hugging Face Trainer");
  ASSERT_EQ(log.steps.size(), 2U);
  EXPECT_DOUBLE_EQ(log.steps[1].time_s, 2.1);
  EXPECT_DOUBLE_EQ(log.mean_step_s, 2);
  EXPECT_DOUBLE_EQ(log.samples_per_s, 8);
}

TEST(StepLog, ArgumentsOnlyBetweenTheirLines) {
  const StepLog log = parse_step_log(
      "n1: ninja .................. [OKAY]\nn1: using world size: 16, data-parallel-size: 16\n"
      "n1: ------------------------ arguments ------------------------\nn1:   num_layers ...................................... "
      "32\n"
      "n2: some other rank's line\nn1:   data_path ....................................... ['/data/x']\n"
      "n1:   deepspeed ....................................... True\n"
      "n1: -------------------- end of arguments ---------------------\n"
      "n1:   hidden_size ..................................... 7\n > padded vocab (size: 50257) with 47 dummy tokens (new size: "
      "50304)\n"
      "n1: torch hip version ................ 5.7.31920-f5021ed14\n"
      "n1: [Rank 0] (after 1 iterations) memory (MB) | allocated: 17956.4 | max reserved: 90178.0\n");
  EXPECT_EQ(log.arguments.size(), 3U);
  EXPECT_EQ(log.arguments.at("num_layers"), "32");
  EXPECT_EQ(log.arguments.at("data_path"), "['/data/x']");
  EXPECT_EQ(log.gpus, 16U);
  EXPECT_EQ(log.padded_vocab, 50304U);
  EXPECT_EQ(log.framework, "Megatron-DeepSpeed");
  EXPECT_EQ(log.amd, true);
  EXPECT_NEAR(log.used_memory_gb, 94.56, 0.01);
}

TEST(StepLog, DeepSpeedsEngineAndItsConfiguration) {
  const StepLog log = parse_step_log(
      "n1: [2023-11-29 08:51:11,653] [INFO] [config.py:978:print]   zero_config .................. stage=1 overlap_comm=False "
      "reduce_bucket_size=500,000,000\n"
      "n1: [2023-11-29 08:51:11,653] [INFO] [config.py:964:print_user_config]   json = {\nn1:     \"zero_optimization\": {\n"
      "n2: not of it\nn1:         \"stage\": 1\nn1:     }\nn1: }\nn1: {\n");
  EXPECT_EQ(log.engine.at("zero_config.overlap_comm"), "False");
  EXPECT_EQ(log.engine.at("zero_config.reduce_bucket_size"), "500,000,000");
  EXPECT_EQ(log.deepspeed_json, "{\n    \"zero_optimization\": {\n        \"stage\": 1\n    }\n}\n");
}

TEST(StepLog, RanksThatSayTheSameCountOnceAndWhatGoesBackIsKept) {
  std::string text;
  const auto line = [&](int rank, int step, double ms) {
    text += fmt::format("[default{}]: iteration {}/ 50 | elapsed time per iteration (ms): {} |\n", rank, step, ms);
  };
  line(0, 10, 100);
  line(1, 10, 120);
  line(1, 11, 100);
  line(0, 11, 90);
  line(1, 12, 100);
  line(0, 11, 90);  // a line behind
  line(0, 12, 100);
  line(0, 5, 100);  // started again
  const StepLog log = parse_step_log(text);
  ASSERT_EQ(log.steps.size(), 4U);
  EXPECT_DOUBLE_EQ(log.steps[0].time_s, 0.12);
  EXPECT_EQ(log.steps[3].step, 5U);
}

TEST(StepLog, CheckpointsAndEvaluations) {
  const StepLog log = parse_step_log(
      " iteration 500/ 1000 | elapsed time per iteration (ms): 10 |\nsaving checkpoint at iteration     500 to /ckpt\n"
      "saving checkpoint at iteration     500 to /ckpt\n validation loss at iteration 500 | lm loss value: 2.1\n"
      "Saving model checkpoint to ./out/checkpoint-600\n");
  ASSERT_EQ(log.marks.size(), 3U);
  EXPECT_EQ(log.marks[0].step, 500U);
  EXPECT_EQ(log.marks[1].kind, MarkKind::evaluation);
  EXPECT_EQ(log.marks[2].step, 600U);
}

TEST(StepLog, PiecesOfAnySizeGiveTheSame) {
  std::string text;
  for (int i = 1; i <= 40; ++i) text += fmt::format(" iteration {}/ 50 | elapsed time per iteration (ms): {} |\n", i, 100 + i);
  const StepLog whole = parse_step_log(text);
  StepLogReader reader;
  for (std::size_t i = 0; i < text.size(); i += 7) reader.feed(std::string_view(text).substr(i, 7));
  const StepLog pieces = reader.finish();
  ASSERT_EQ(whole.steps.size(), 40U);
  ASSERT_EQ(pieces.steps.size(), 40U);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(whole.steps[i].time_s, pieces.steps[i].time_s);
}

TEST(StepLog, WhatIsNone) {
  EXPECT_FALSE(looks_like_step_log(""));
  EXPECT_FALSE(looks_like_step_log("{\"traceEvents\": []}"));
  EXPECT_FALSE(looks_like_step_log(std::string("iteration 1/ 5 | elapsed time per iteration (ms): 1 |\0", 54)));
  EXPECT_TRUE(looks_like_step_log(" iteration 1/ 5 | elapsed time per iteration (ms): 1 |"));
  const StepLog log = parse_step_log("nothing\nat all ..... 5\n");
  EXPECT_EQ(log.form, StepForm::none);
  EXPECT_TRUE(log.steps.empty() && log.framework.empty() && log.arguments.empty());
  EXPECT_EQ(log.lines, 2U);
}

}  // namespace
}  // namespace muster
