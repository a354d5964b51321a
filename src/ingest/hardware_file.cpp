#include "ingest/hardware_file.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "ingest/csv.h"
#include "ingest/embedded.h"

namespace muster {
namespace {

// One row of a table whose columns are all known; the first thing wrong is kept.
class RowReader {
 public:
  RowReader(const Csv& csv, std::size_t row, std::string_view where) : csv_(csv), row_(row), where_(where) {}

  const std::string& text(std::string_view column) const { return csv_.cell(row_, column); }
  double number(std::string_view column) {
    const std::string& cell = text(column);
    const auto n = parse_double(cell);
    if (n && *n >= 0 && *n <= 1e9) return *n;
    if (!wrong_)
      wrong_ = fmt::format("{}:{}: {} must be a number of 0 or more, is '{}'", where_, csv_.lines[row_], column, printable(cell));
    return 0;
  }
  double positive(std::string_view column) {
    const double n = number(column);
    if (n <= 0 && !wrong_) wrong_ = fmt::format("{}:{}: {} must be above 0", where_, csv_.lines[row_], column);
    return n;
  }
  std::uint32_t whole(std::string_view column) {
    const double n = number(column);
    if (n != static_cast<double>(static_cast<std::uint32_t>(n)) && !wrong_) {
      wrong_ = fmt::format("{}:{}: {} must be a whole number", where_, csv_.lines[row_], column);
    }
    return static_cast<std::uint32_t>(n);
  }
  const std::optional<std::string>& wrong() const { return wrong_; }

 private:
  const Csv& csv_;
  std::size_t row_;
  std::string_view where_;
  std::optional<std::string> wrong_;
};

GpuModel gpu_of(RowReader& r) {
  GpuModel g;
  g.name = r.text("name");
  g.bf16_tflops = r.number("bf16_tflops");
  g.fp8_tflops = r.number("fp8_tflops");
  g.fp4_tflops = r.number("fp4_tflops");
  g.hbm_gb = r.number("hbm_gb");
  g.hbm_tb_s = r.number("hbm_tb_s");
  g.nvlink_gb_s = r.number("nvlink_gb_s");
  g.domain = r.whole("domain");
  g.nvls = r.text("nvls") == "true";
  g.pair_gb_s = r.number("pair_gb_s");
  g.sms = r.whole("sms");
  g.nic_gb_s = r.number("nic_gb_s");
  g.tdp_w = r.number("tdp_w");
  g.fp32_tflops = r.number("fp32_tflops");
  g.host_gb_s = r.number("host_gb_s");
  g.source = r.text("source");
  return g;
}

StoreKind store_of(RowReader& r) {
  StoreKind s;
  s.name = r.text("name");
  s.objects = r.text("tier") == "object";
  s.read_gb_s = r.positive("read_gb_s");
  s.write_gb_s = r.positive("write_gb_s");
  s.usable_pb = r.positive("usable_pb");
  s.kw = r.number("kw");
  s.rack_units = r.whole("rack_units");
  s.ports = r.whole("ports");
  s.least = r.whole("least");
  s.source = r.text("source");
  return s;
}

Transformer transformer_of(RowReader& r) {
  Transformer m;
  m.name = r.text("name");
  m.layers = r.whole("layers");
  m.hidden = r.whole("hidden");
  m.heads = r.whole("heads");
  m.kv_heads = r.whole("kv_heads");
  m.head_dim = r.whole("head_dim");
  m.ffn = r.whole("ffn");
  m.gated = r.text("gated") == "true";
  m.vocab = r.whole("vocab");
  m.window = r.whole("window");
  m.windowed = r.number("windowed");
  m.experts = r.whole("experts");
  m.top_k = r.whole("top_k");
  m.expert_ffn = r.whole("expert_ffn");
  m.shared_ffn = r.whole("shared_ffn");
  m.dense_layers = r.whole("dense_layers");
  m.q_rank = r.whole("q_rank");
  m.kv_rank = r.whole("kv_rank");
  m.rope_dim = r.whole("rope_dim");
  m.nope_dim = r.whole("nope_dim");
  m.v_dim = r.whole("v_dim");
  return m;
}

template <class T>
Result<std::vector<T>> parse_all(std::string_view text, std::string_view where, T (*read)(RowReader&)) {
  const auto csv = parse_csv(text, where);
  if (!csv) return tl::unexpected(csv.error());
  std::vector<T> out;
  for (std::size_t i = 0; i < csv->rows.size(); ++i) {
    RowReader r(*csv, i, where);
    out.push_back(read(r));
    if (r.wrong()) return fail(Code::bad_input, *r.wrong());
  }
  return out;
}

template <class T>
const T* named(const std::vector<T>& all, std::string_view name) {
  const auto it = std::find_if(all.begin(), all.end(), [&](const T& t) { return t.name == name; });
  return it == all.end() ? nullptr : &*it;
}

}  // namespace

Result<std::vector<GpuModel>> parse_gpu_models(std::string_view csv, std::string_view where) {
  return parse_all<GpuModel>(csv, where, gpu_of);
}

Result<std::vector<Transformer>> parse_transformers(std::string_view csv, std::string_view where) {
  return parse_all<Transformer>(csv, where, transformer_of);
}

Result<std::vector<StoreKind>> parse_stores(std::string_view csv, std::string_view where) {
  return parse_all<StoreKind>(csv, where, store_of);
}

namespace {

Result<HardwarePrices> priced(std::string_view text, std::string_view where, HardwarePrices out) {
  const std::pair<std::string_view, double HardwarePrices::*> kItems[] = {
      {"switch", &HardwarePrices::switch_usd},
      {"transceiver", &HardwarePrices::transceiver},
      {"copper cable", &HardwarePrices::copper_cable},
      {"active copper cable", &HardwarePrices::active_copper_cable},
      {"active cable", &HardwarePrices::active_cable},
      {"fibre", &HardwarePrices::fibre},
      {"storage switch", &HardwarePrices::storage_switch},
      {"hall", &HardwarePrices::hall_kw_month},
      {"people", &HardwarePrices::people_year},
  };
  const auto csv = parse_csv(text, where);
  if (!csv) return tl::unexpected(csv.error());
  for (std::size_t i = 0; i < csv->rows.size(); ++i) {
    RowReader r(*csv, i, where);
    const std::string& item = r.text("item");
    const double usd = r.number("usd");
    if (r.wrong()) return fail(Code::bad_input, *r.wrong(), "a price in USD, 0 or more");
    out.sources[item] = fmt::format("{}:{}: {}", where, csv->lines[i], printable(r.text("source")));
    if (item.starts_with("gpu ")) {
      out.gpu[item.substr(4)] = usd;
      continue;
    }
    if (item.starts_with("rent ")) {
      out.rent[item.substr(5)] = {usd, r.text("source")};
      if (r.wrong()) return fail(Code::bad_input, *r.wrong(), "who asks for that price, and when");
      continue;
    }
    if (item.starts_with("store ")) {
      out.store_pb[item.substr(6)] = usd;
      continue;
    }
    const auto known = std::find_if(std::begin(kItems), std::end(kItems), [&](const auto& k) { return k.first == item; });
    if (known == std::end(kItems)) {
      std::vector<std::string> names = {"gpu NAME", "rent NAME", "store NAME"};
      for (const auto& [name, to] : kItems) names.emplace_back(name);
      return fail(Code::bad_input,
                  fmt::format("{}:{}: nothing is bought by the name '{}'", where, csv->lines[i], printable(item)),
                  "there are " + join(names, ", "));
    }
    out.*known->second = usd;
  }
  return out;
}

}  // namespace

Result<HardwarePrices> parse_hardware_prices(std::string_view csv, std::string_view where) {
  return priced(csv, where, hardware_prices());
}

const HardwarePrices& hardware_prices() {
  static const HardwarePrices all = [] {
    auto read = priced(embedded_file("hardware/prices.csv").value_or(""), "prices.csv", {});
    MUSTER_CHECK(read.has_value());
    return std::move(*read);
  }();
  return all;
}

const std::vector<GpuModel>& gpu_models() {
  static const std::vector<GpuModel> all = [] {
    auto read = parse_gpu_models(embedded_file("hardware/gpus.csv").value_or(""));
    MUSTER_CHECK(read.has_value());
    return std::move(*read);
  }();
  return all;
}

const std::vector<StoreKind>& store_kinds() {
  static const std::vector<StoreKind> all = [] {
    auto read = parse_stores(embedded_file("hardware/stores.csv").value_or(""));
    MUSTER_CHECK(read.has_value());
    return std::move(*read);
  }();
  return all;
}

const std::vector<Transformer>& transformers() {
  static const std::vector<Transformer> all = [] {
    auto read = parse_transformers(embedded_file("models.csv").value_or(""));
    MUSTER_CHECK(read.has_value());
    return std::move(*read);
  }();
  return all;
}

const GpuModel* find_gpu_model(std::string_view name) { return named(gpu_models(), name); }
const Transformer* find_transformer(std::string_view name) { return named(transformers(), name); }

}  // namespace muster
