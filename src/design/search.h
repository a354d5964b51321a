// All the ways to spread a training run over GPUs, and which of them is fastest.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "model/calibration.h"
#include "model/gpu_model.h"
#include "model/training_plan.h"
#include "model/transformer.h"
#include "predict/groups.h"
#include "predict/memory.h"
#include "predict/step.h"

namespace muster::design {

// What is settled already; 0 and none: free.
struct Settled {
  std::uint32_t tp = 0, cp = 0, pp = 0, vp = 0, ep = 0, micro_batch = 0;
  std::optional<Recompute> recompute;
  std::optional<Shard> shard;
  std::optional<Schedule> schedule;       // none: one that every framework has
  std::uint32_t shard_ranks = 0;          // replicas that share one copy of the weights, where those are in pieces
  bool recompute_all = false;             // where layers are computed again: all of them
  std::uint32_t recompute_layers = 0;     // or so many of a stage
  bool one_copy = false;                  // weights in pieces are among all replicas
  std::optional<bool> sequence_parallel;  // none: where it is faster
};

// Asked now and then during long work; yes: it ends with an error of the code refused. Empty: never.
using GiveUp = std::function<bool()>;

struct SearchAsk {
  Transformer model;
  GpuModel gpu;
  Calibration calibration;
  predict::Network network;
  predict::MemoryHabits habits;
  std::uint32_t gpus = 0;
  std::uint32_t global_batch = 0;
  std::uint32_t seq = 0;
  Dtype dtype = Dtype::bf16;
  double memory_share = 0.94;  // of a GPU's that may be used: beyond it allocators fail
  std::uint32_t keep = 5;
  Settled settled;
  GiveUp give_up;
};

struct Candidate {
  TrainingPlan plan;
  double step_s = 0;
  double memory_gb = 0;
};

struct SearchResult {
  std::uint64_t candidates = 0;  // ways to spread it
  std::uint64_t fit = 0;         // of these, in memory
  // Fastest first (of those within 0.2 % the simplest), no two with the same split into tensor, context, pipeline and expert
  // ranks.
  std::vector<Candidate> best;
  std::optional<Candidate> smallest;  // the one that needs the least memory
};

// An error says which of the inputs cannot be.
Result<SearchResult> search(const SearchAsk& ask);

}  // namespace muster::design
