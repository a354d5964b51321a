#include "ingest/training_rows.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "ingest/hardware_file.h"
#include "model/fields.h"

namespace muster {
namespace {

// What is wrong with a row: of the table (the file is refused) or only lacking (the row is skipped).
struct Trouble {
  std::string bad;
  std::string lacking;
};

constexpr double kMost = 1e9;  // of any number in these tables; as a whole number it fits 32 bits

class Cells {
 public:
  Cells(const Csv& csv, std::size_t row) : csv_(csv), row_(row) {}

  const std::string& text(std::string_view column) const { return csv_.cell(row_, column); }
  bool has(std::string_view column) const {
    const std::string& s = text(column);
    return !s.empty() && s != "n/a";
  }
  double number(std::string_view column, double otherwise) {
    if (!has(column)) return otherwise;
    const auto n = parse_double(text(column));
    if (n && *n >= 0 && *n <= kMost) return *n;
    if (trouble.bad.empty()) trouble.bad = fmt::format("{} must be a number, is '{}'", column, printable(text(column)));
    return otherwise;
  }
  double need(std::string_view column, const char* why) {
    if (!has(column) && trouble.lacking.empty()) trouble.lacking = why;
    return number(column, 0);
  }
  std::uint32_t whole(std::string_view column, std::uint32_t otherwise) {
    return static_cast<std::uint32_t>(number(column, otherwise));
  }
  std::uint32_t need_whole(std::string_view column, const char* why) { return static_cast<std::uint32_t>(need(column, why)); }

  Trouble trouble;

 private:
  const Csv& csv_;
  std::size_t row_;
};

constexpr const char* kSpread = "it does not say how it was spread over the GPUs";
constexpr const char* kMeasure = "nothing was measured";
constexpr const char* kShape = "it does not say what the model looks like";

Transformer gpt(double layers, double hidden, double heads, double vocab) {
  Transformer m;
  m.layers = static_cast<std::uint32_t>(layers);
  m.hidden = static_cast<std::uint32_t>(hidden);
  m.heads = m.kv_heads = static_cast<std::uint32_t>(std::max(heads, 1.0));
  m.head_dim = m.hidden / m.heads;
  m.ffn = 4 * m.hidden;
  m.vocab = static_cast<std::uint32_t>(vocab);
  return m;
}

const Transformer* preset(Cells& c, std::string_view name) {
  const Transformer* m = find_transformer(name);
  if (m == nullptr && c.trouble.lacking.empty()) {
    c.trouble.lacking =
        fmt::format("the model {} is not known", printable(c.text("model").empty() ? c.text("benchmark") : c.text("model")));
  }
  return m;
}

// "NVIDIA H100-SXM5-80GB", "DGX-GB200", "A100-80G": the longest name of ours that is in it.
std::string gpu_named(const std::string& text) {
  const std::string low = lower(text);
  std::string found;
  for (const GpuModel& g : gpu_models()) {
    if (low.find(g.name) != std::string::npos && g.name.size() > found.size()) found = g.name;
  }
  return found;
}

// `work` of a step, over all GPUs and over its time, is what the column tells of each GPU.
void by_rate(Cells& c, TrainingRow& r, const char* column, double work) {
  r.metric = column;
  r.rate = true;
  if (r.plan.gpus > 0) r.scale = work / r.plan.gpus;
  if (const double told = c.number(column, 0); told > 0) r.step_s = r.scale / told;
}

// How it was spread, by the short names that most tables use. Replicas are what is left where the table does not count them.
void read_spread(Cells& c, TrainingPlan& p, const char* gpus = "gpus") {
  p.gpus = c.need_whole(gpus, kSpread);
  p.tp = c.need_whole("tp", kSpread);
  p.pp = c.need_whole("pp", kSpread);
  p.cp = c.whole("cp", 1);
  const std::uint64_t others = std::uint64_t{p.tp} * p.pp * p.cp;
  p.dp = c.whole("dp", others > 0 ? static_cast<std::uint32_t>(p.gpus / others) : 0);
  p.shard = Shard::optimizer;
  p.sequence_parallel = p.tp > 1;
}

// ---- one function a table

void vtrain(Cells& c, TrainingRow& r) {
  r.gpu = "a100";
  r.model = gpt(c.need("# layers", kShape), c.need("hidden size", kShape), c.need("attention heads", kShape), 51200);
  TrainingPlan& p = r.plan;
  p.gpus = c.need_whole("# GPUs", kSpread);
  p.tp = c.need_whole("tensor parallelism", kSpread);
  p.dp = c.need_whole("data parallelism", kSpread);
  p.pp = c.need_whole("pipeline parallelism", kSpread);
  p.micro_batch = c.need_whole("micro batch", kSpread);
  p.global_batch = c.need_whole("global batch", kSpread);
  p.seq = c.need_whole("sequence length", kShape);
  p.recompute = Recompute::full;
  const bool one_node = p.gpus <= 8;
  r.software = one_node ? "megatron-deepspeed-node" : "megatron-deepspeed";
  r.nic_gb_s = 12.5;  // four cards of 200 Gb/s for eight GPUs
  r.metric = "iteration time (ms)";
  r.scale = 1e3;
  r.step_s = c.number(r.metric, 0) / r.scale;
}

void megatron_core(Cells& c, TrainingRow& r) {
  r.gpu = gpu_named(c.text("gpu"));
  r.software = "megatron-core";
  const double layers = c.need("layers", kShape), hidden = c.need("hidden", kShape);
  r.model = gpt(layers, hidden, c.need("heads", kShape), 131072);
  TrainingPlan& p = r.plan;
  read_spread(c, p);
  p.global_batch = c.need_whole("global_batch", kSpread);
  p.seq = 4096;
  if (p.pp > 1) {
    p.vp = std::max(1u, r.model.layers / p.pp);
  } else if (p.dp > 0 && p.global_batch >= p.dp) {
    p.micro_batch = p.global_batch / p.dp;
  }
  // The source counts the whole matrix of scores, and the vocabulary once.
  const double flops = 12.0 * p.tokens() * layers * hidden * hidden * (6 + p.seq / hidden + 131072 / (2 * layers * hidden));
  by_rate(c, r, "model_tflops_per_gpu", flops / 1e12);
}

void llama3(Cells& c, TrainingRow& r) {
  r.gpu = gpu_named(c.text("gpu"));
  r.software = "llama3";
  if (const Transformer* m = preset(c, "llama3-405b")) r.model = *m;
  TrainingPlan& p = r.plan;
  read_spread(c, p);
  p.seq = c.need_whole("seq", kSpread);
  if (p.seq > 0) p.global_batch = static_cast<std::uint32_t>(c.need("tokens_per_batch", kSpread) / p.seq);
  p.vp = 4;
  by_rate(c, r, "model_tflops_per_gpu", p.tokens() * r.model.flops_per_token(p.seq) / 1e12);
}

void megascale(Cells& c, TrainingRow& r) {
  r.gpu = gpu_named(c.text("gpu"));
  r.software = lower(c.text("system"));
  if (c.text("model") == "175B") {
    r.model = gpt(96, 12288, 128, 64000);
  } else {
    c.trouble.lacking = "only its 175B model has all that is needed";
  }
  TrainingPlan& p = r.plan;
  read_spread(c, p);
  p.vp = 6;
  p.global_batch = c.need_whole("global_batch", kSpread);
  p.seq = 2048;
  p.recompute = Recompute::selective;
  r.metric = "iter_time_s";
  r.step_s = c.need(r.metric, kMeasure);
}

// Runs of Megatron-LM from before attention was fused, with all that these two tables share.
void early_megatron(Cells& c, TrainingRow& r, const char* software) {
  r.gpu = "a100";
  r.software = software;
  r.model = gpt(c.need("layers", kShape), c.need("hidden", kShape), c.need("heads", kShape), c.number("vocab", 51200));
  TrainingPlan& p = r.plan;
  read_spread(c, p);
  p.shard = Shard::none;
  p.sequence_parallel = false;
  p.global_batch = c.need_whole("global_batch", kSpread);
  p.micro_batch = c.whole("micro_batch", 1);
  p.seq = c.need_whole("seq", kShape);
}

void sc21(Cells& c, TrainingRow& r) {
  early_megatron(c, r, "megatron-2021");
  r.plan.recompute = Recompute::full;
  r.metric = "iter_time_s_derived";
  r.step_s = c.number(r.metric, 0);
}

void sequence_parallel(Cells& c, TrainingRow& r) {
  early_megatron(c, r, "megatron-2022");
  const bool full = c.text("mode") == "full recompute";
  r.plan.recompute = full ? Recompute::full : Recompute::selective;
  r.plan.sequence_parallel = !full;
  if (r.model.layers == 96) r.plan.vp = 3;  // as its paper says of this model
  r.metric = "iter_time_s";
  r.step_s = c.number(r.metric, 0);
}

void recipes(Cells& c, TrainingRow& r) {
  r.metric = "step_time";
  c.trouble.lacking = kSpread;
}

void mlperf(Cells& c, TrainingRow& r) {
  r.gpu = gpu_named(c.text("accelerator"));
  if (r.gpu.empty()) c.trouble.lacking = fmt::format("the accelerator {} is not known", printable(c.text("accelerator")));
  const std::string& b = c.text("benchmark");
  const std::string name = b == "gpt3" ? "gpt3-175b" : b == "llama31_405b" ? "llama3-405b" : b == "llama31_8b" ? "llama3-8b" : "";
  if (const Transformer* m = preset(c, name)) r.model = *m;
  r.software = "mlperf";
  r.release = c.text("round") + "/" + b;
  TrainingPlan& p = r.plan;
  read_spread(c, p, "accelerators");
  p.vp = c.whole("vp", b == "gpt3" ? 12 : 1);
  p.micro_batch = c.whole("mbs", 1);
  p.global_batch = c.need_whole("global_batch", kSpread);
  p.seq = c.need_whole("seq", kSpread);
  p.dtype = Dtype::fp8;
  if (const GpuModel* gpu = find_gpu_model(r.gpu); gpu != nullptr && gpu->fp4_tflops > 0 && c.text("round") == "v5.1") {
    p.dtype = Dtype::nvfp4;
  }
  r.metric = "step_time_s";
  r.step_s = c.number("train_step_time_s_median", 0);
  if (r.step_s == 0) r.step_s = c.number("step_time_from_blocks_s", 0);
}

// "LLAMA3_70B", "Qwen3_30B_a3B (tokendrop)", "GPT OSS 120B": letters and digits decide.
const Transformer* bridge_model(Cells& c) {
  const std::string full = lower(c.text("model"));
  std::string plain;
  for (const char ch : full.substr(0, full.find('('))) {
    if ((ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9')) plain += ch;
  }
  if (plain == "llama31405b") plain = "llama3405b";
  for (const Transformer& m : transformers()) {
    std::string ours;
    for (const char ch : m.name) {
      if (ch != '-') ours += ch;
    }
    if (ours == plain) return &m;
  }
  return preset(c, "");
}

void bridge(Cells& c, TrainingRow& r) {
  r.gpu = gpu_named(c.text("system"));
  if (const Transformer* m = bridge_model(c)) r.model = *m;
  if (c.text("task").find("LoRA") != std::string::npos) c.trouble.lacking = "LoRA is not predicted yet";
  TrainingPlan& p = r.plan;
  const std::string precision = lower(c.text("precision"));
  p.dtype = precision == "bf16"                         ? Dtype::bf16
            : precision == "nvfp4"                      ? Dtype::nvfp4
            : precision.find("mx") != std::string::npos ? Dtype::mxfp8
                                                        : Dtype::fp8;
  read_spread(c, p);
  p.vp = std::max(1u, c.whole("vp", 1));
  p.ep = std::max(1u, c.whole("ep", 1));
  p.micro_batch = c.need_whole("mbs", kSpread);
  p.global_batch = c.need_whole("gbs", kSpread);
  p.seq = c.need_whole("seq", kSpread);
  if (c.number("fsdp", 0) > 0) p.shard = Shard::weights;
  r.software = r.model.experts > 0 ? "bridge-moe" : "bridge";
  r.release = c.text("release");
  by_rate(c, r, "tokens_per_s_per_gpu", p.tokens());
}

struct Table {
  std::vector<std::string_view> columns;  // all of them must be there
  void (*read)(Cells&, TrainingRow&);
};

const Table kTables[] = {
    {{"# GPUs", "tensor parallelism", "iteration time (ms)"}, vtrain},
    {{"batch_per_dp", "tokens_per_batch", "model_tflops_per_gpu"}, llama3},
    {{"benchmark", "round", "accelerator"}, mlperf},
    {{"system", "precision", "tokens_per_s_per_gpu", "release"}, bridge},
    {{"system", "iter_time_s", "mfu_pct"}, megascale},
    {{"heads", "tp", "dp", "iter_time_s_derived"}, sc21},
    {{"heads", "tp", "dp", "mode", "iter_time_s"}, sequence_parallel},
    {{"recipe", "dtype", "step_time"}, recipes},
    {{"heads", "tp", "dp", "model_tflops_per_gpu", "aggregate_pflops"}, megatron_core},
};

// What a step needs to be computed at all.
std::string impossible(const TrainingRow& r) {
  const TrainingPlan& p = r.plan;
  if (r.model.layers == 0 || r.model.hidden == 0 || p.seq == 0) return kShape;
  for (const std::uint32_t part : {p.gpus, p.tp, p.cp, p.pp, p.vp, p.dp, p.ep, p.micro_batch, p.global_batch}) {
    if (part == 0) return kSpread;
  }
  if (static_cast<std::uint64_t>(p.tp) * p.cp * p.pp * p.dp != p.gpus) {
    return fmt::format("tp {} x cp {} x pp {} x dp {} are not its {} GPUs", p.tp, p.cp, p.pp, p.dp, p.gpus);
  }
  // The embedding and the loss may count as a layer each.
  if (static_cast<std::uint64_t>(p.pp) * p.vp > r.model.layers + 2) {
    return fmt::format("{} layers do not make {} stages of {} pieces", r.model.layers, p.pp, p.vp);
  }
  return {};
}

}  // namespace

Result<TrainingRows> read_training_rows(const Csv& csv, std::string_view file) {
  const auto fits = [&](const Table& t) {
    return std::all_of(t.columns.begin(), t.columns.end(), [&](std::string_view c) { return csv.column(c) >= 0; });
  };
  const auto table = std::find_if(std::begin(kTables), std::end(kTables), fits);
  if (table == std::end(kTables)) {
    return fail(Code::bad_input, fmt::format("{}:1: these are not the columns of any table of training runs that is known", file),
                "docs/formats/training.md lists them");
  }
  TrainingRows out;
  for (std::size_t i = 0; i < csv.rows.size(); ++i) {
    Cells cells(csv, i);
    TrainingRow r;
    r.row = i;
    table->read(cells, r);
    if (!cells.trouble.bad.empty()) return fail(Code::bad_input, fmt::format("{}:{}: {}", file, csv.lines[i], cells.trouble.bad));
    std::string why = cells.trouble.lacking.empty() ? impossible(r) : cells.trouble.lacking;
    if (!why.empty()) {
      out.skipped.push_back({i, std::move(why)});
      continue;
    }
    const GpuModel* gpu = find_gpu_model(r.gpu);
    if (gpu == nullptr || gpu->peak(r.plan.dtype) == 0) {
      out.skipped.push_back(
          {i, gpu == nullptr ? "its GPU is not known" : fmt::format("its GPU has no {}", name_of(r.plan.dtype))});
      continue;
    }
    if (r.nic_gb_s == 0) r.nic_gb_s = gpu->nic_gb_s;
    const TrainingPlan& p = r.plan;
    r.group = fmt::format("{} {} {} {} {}x{} {} tp{} cp{} pp{} dp{} ep{}", r.software, r.release, r.gpu, name_of(p.dtype),
                          r.model.layers, r.model.hidden, p.gpus, p.tp, p.cp, p.pp, p.dp, p.ep);
    out.rows.push_back(std::move(r));
  }
  return out;
}

}  // namespace muster
