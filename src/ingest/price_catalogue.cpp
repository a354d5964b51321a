#include "ingest/price_catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/check.h"
#include "base/civil.h"
#include "base/text.h"
#include "ingest/csv.h"
#include "ingest/embedded.h"
#include "ingest/gunzip.h"
#include "ingest/hardware_file.h"
#include "ingest/price_traps.h"

namespace muster {
namespace {

constexpr const char* kForms =
    "lists need columns such as date, cloud, accelerator, instance_type and prices a GPU-hour, or InstanceType, AcceleratorName, "
    "AcceleratorCount, Price and SpotPrice: docs/cost.md";

// Where a form keeps what we need; empty: it does not tell.
struct ListForm {
  const char* name;
  const char* date;
  const char* cloud;
  const char* gpu;
  const char* count;
  const char* instance;
  std::array<const char*, kRentTerms> price;
  bool by_instance;  // prices are those of the whole machine
  bool series;       // old rows are history, rather than stale
  const char* source;
};

constexpr std::array<ListForm, 5> kKnownForms = {
    ListForm{
        "muster",
        "date",
        "cloud",
        "gpu",
        "gpus_per_instance",
        "instance",
        {"ondemand_usd_per_gpu_hour", "spot_usd_per_gpu_hour", "reserved_1y_usd_per_gpu_hour", "reserved_3y_usd_per_gpu_hour"},
        false,
        true,
        "source"},
    ListForm{"history",
             "date",
             "cloud",
             "accelerator",
             "",
             "instance_type",
             {"ondemand_median_usd_gpu_h", "spot_median_usd_gpu_h", "", ""},
             false,
             true,
             "source"},
    ListForm{"snapshot",
             "as_of",
             "cloud",
             "accelerator",
             "gpus_per_instance",
             "instance_type",
             {"ondemand_usd_per_gpu_hour_median", "spot_usd_per_gpu_hour_median", "", ""},
             false,
             false,
             "source"},
    ListForm{"quotations",
             "date",
             "vendor",
             "hardware",
             "gpus_in_quote",
             "",
             {"ondemand_usd_gpu_h", "", "commit_1y_usd_gpu_h", "commit_3y_usd_gpu_h"},
             false,
             true,
             "primary_source"},
    ListForm{"machines",
             "",
             "",
             "AcceleratorName",
             "AcceleratorCount",
             "InstanceType",
             {"Price", "SpotPrice", "", ""},
             true,
             false,
             ""},
};

const ListForm* form_of(const Csv& csv) {
  for (const ListForm& f : kKnownForms) {
    const auto has = [&](const char* column) { return *column == '\0' || csv.column(column) >= 0; };
    if (has(f.date) && has(f.cloud) && has(f.gpu) && has(f.count) && has(f.instance) && has(f.price[0])) return &f;
  }
  return nullptr;
}

class Catalogue {
 public:
  Catalogue(const Csv& csv, const ListForm& form, std::string_view file, const CatalogueAsk& ask)
      : csv_(csv), f_(form), file_(file), ask_(ask) {}

  Result<RentalPrices> read() {
    out_.form = f_.name;
    for (std::size_t i = 0; i < csv_.rows.size(); ++i) {
      ++out_.read;
      RentalRow row;
      if (auto ok = fill(i, row); !ok) return tl::unexpected(ok.error());
      if (*f_.date != '\0' && ask_.as_of && row.day > *ask_.as_of) {
        ++later_;
        ++out_.left_out;
        continue;
      }
      out_.newest = std::max(out_.newest, row.day);
      if (bought(i)) {
        ++out_.purchases;
        ++out_.left_out;
        continue;
      }
      if (f_.by_instance && row.gpu.empty()) {  // a machine without a GPU
        ++out_.left_out;
        continue;
      }
      rows_.push_back(std::move(row));
    }
    if (later_ > 0) {
      out_.flags.push_back({0, fmt::format("{} rows", later_), PriceTrap::later,
                            fmt::format("later than {}", render_day(*ask_.as_of)), "left out"});
    }
    judge();
    std::stable_sort(out_.flags.begin(), out_.flags.end(),
                     [](const PriceFlag& x, const PriceFlag& y) { return x.line < y.line; });
    std::sort(out_.rows.begin(), out_.rows.end(), [](const RentalRow& x, const RentalRow& y) {
      return std::tie(x.cloud, x.gpu, x.instance, x.day, x.line) < std::tie(y.cloud, y.gpu, y.instance, y.day, y.line);
    });
    return std::move(out_);
  }

 private:
  std::string cell(std::size_t row, const char* column) const {
    return *column == '\0' ? std::string() : std::string(trim(csv_.cell(row, column)));
  }
  tl::unexpected<Error> bad(std::size_t row, std::string why) const {
    return fail(Code::bad_input, fmt::format("{}:{}: {}", file_, csv_.lines[row], why));
  }

  Result<void> fill(std::size_t i, RentalRow& row) const {
    row.line = csv_.lines[i];
    row.cloud = *f_.cloud != '\0' ? lower(cell(i, f_.cloud)) : lower(ask_.cloud);
    row.gpu = printable(clipped(cell(i, f_.gpu), 80));
    row.instance = printable(clipped(cell(i, f_.instance), 120));
    row.cloud = printable(clipped(row.cloud, 80));
    row.source = printable(clipped(cell(i, f_.source), 300));
    if (*f_.date != '\0') {
      const std::string day = cell(i, f_.date);
      const auto at = day.size() == 10 ? parse_moment_utc(day) : std::nullopt;
      if (!at) return bad(i, fmt::format("'{}' is no day such as 2026-08-22", printable(day)));
      row.day = day_of(*at);
    } else {
      row.day = *ask_.as_of;
    }
    if (const std::string count = cell(i, f_.count); !count.empty()) {
      const auto n = parse_double(count);
      if (!n || !(*n >= 0 && *n <= 1e4)) return bad(i, fmt::format("'{}' is no number of GPUs", printable(count)));
      row.gpus = *n;
    }
    for (std::size_t t = 0; t < kRentTerms; ++t) {
      const std::string price = cell(i, f_.price[t]);
      if (price.empty()) continue;
      const auto usd = parse_double(price);
      if (!usd || !(*usd >= 0 && *usd <= 1e6)) return bad(i, fmt::format("'{}' is no price of an hour", printable(price)));
      if (*usd == 0) continue;
      row.usd_per_gpu_hour[t] = f_.by_instance && row.gpus > 0 ? *usd / row.gpus : *usd;
    }
    return {};
  }

  bool bought(std::size_t i) const { return !cell(i, "purchase_usd_per_gpu").empty() && cell(i, f_.price[0]).empty(); }

  void judge() {
    TrapSet traps{f_.series, ask_.keep_stale, ask_.stale_days, out_.newest, {}};
    // A catalogue of machines says in words how much memory their GPUs have.
    if (const int info = csv_.column("GpuInfo"); info >= 0) {
      for (std::size_t i = 0; i < csv_.rows.size(); ++i) traps.told[csv_.lines[i]] = csv_.rows[i][static_cast<std::size_t>(info)];
    }
    out_.left_out += set_traps(rows_, traps, out_.flags);
    out_.rows = std::move(rows_);
    if (f_.by_instance) over_regions();
  }

  // One row a machine: the median of its regions and zones.
  void over_regions() {
    std::map<std::tuple<std::string, std::string, std::string, double>, std::vector<RentalRow>> groups;
    for (RentalRow& r : out_.rows) {
      const auto key = std::tuple(r.cloud, r.gpu, r.instance, r.gpus);
      groups[key].push_back(std::move(r));
    }
    out_.rows.clear();
    for (auto& [key, all] : groups) {
      RentalRow one = all.front();
      for (std::size_t t = 0; t < kRentTerms; ++t) {
        std::vector<double> prices;
        for (const RentalRow& r : all) {
          if (r.usd_per_gpu_hour[t]) prices.push_back(*r.usd_per_gpu_hour[t]);
        }
        std::sort(prices.begin(), prices.end());
        one.usd_per_gpu_hour[t] = prices.empty() ? std::nullopt : std::optional(prices[(prices.size() - 1) / 2]);
      }
      if (one.source.empty()) one.source = fmt::format("median of {} places in {}", all.size(), file_);
      out_.rows.push_back(std::move(one));
    }
  }

  const Csv& csv_;
  const ListForm& f_;
  std::string_view file_;
  const CatalogueAsk& ask_;
  std::vector<RentalRow> rows_;
  std::size_t later_ = 0;
  RentalPrices out_;
};

std::string csv_text(std::string_view s) {
  if (s.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(s);
  std::string out = "\"";
  for (const char c : s) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

}  // namespace

Result<RentalPrices> parse_price_catalogue(std::string_view bytes, std::string_view file, const CatalogueAsk& ask) {
  const auto text = gunzip_if_gzip(bytes);
  if (!text) return fail(text.error().code, fmt::format("{}: {}", file, text.error().what), text.error().next);
  const auto csv = parse_csv(*text, file);
  if (!csv) return tl::unexpected(csv.error());
  const ListForm* form = form_of(*csv);
  if (form == nullptr) return fail(Code::bad_input, fmt::format("{}:1: no list of prices that is known", file), kForms);
  if (*form->date == '\0' && !ask.as_of)
    return fail(Code::bad_input, fmt::format("{}:1: the list does not say of which day it is", file), "--as-of 2026-08-22");
  if (*form->cloud == '\0' && ask.cloud.empty())
    return fail(Code::bad_input, fmt::format("{}:1: the list does not say of which cloud it is", file), "--cloud aws");
  return Catalogue(*csv, *form, file, ask).read();
}

Result<std::vector<KnownInstance>> parse_known_instances(std::string_view text, std::string_view where) {
  const auto csv = parse_csv(text, where);
  if (!csv) return tl::unexpected(csv.error());
  std::vector<KnownInstance> out;
  for (std::size_t i = 0; i < csv->rows.size(); ++i) {
    const auto gpus = parse_double(csv->cell(i, "gpus"));
    if (!gpus || !(*gpus > 0 && *gpus <= 1e4) || csv->cell(i, "instance").empty() || csv->cell(i, "cloud").empty())
      return fail(Code::bad_input, fmt::format("{}:{}: needs a cloud, an instance and its number of GPUs", where, csv->lines[i]));
    out.push_back({csv->cell(i, "cloud"), csv->cell(i, "instance"), csv->cell(i, "gpu"), *gpus});
  }
  return out;
}

const std::vector<KnownInstance>& known_instances() {
  static const std::vector<KnownInstance> shipped = [] {
    const auto text = embedded_file("cost/instances.csv");
    MUSTER_CHECK(text);
    auto read = parse_known_instances(*text);
    MUSTER_CHECK(read);
    return std::move(*read);
  }();
  return shipped;
}

std::string render_rental_csv(const RentalPrices& prices) {
  std::string out =
      "date,cloud,gpu,gpus_per_instance,instance,ondemand_usd_per_gpu_hour,spot_usd_per_gpu_hour,reserved_1y_usd_per_gpu_hour,"
      "reserved_3y_usd_per_gpu_hour,flags,source\n";
  for (const RentalRow& r : prices.rows) {
    out += fmt::format("{},{},{},{},{}", render_day(r.day), csv_text(r.cloud), csv_text(r.gpu),
                       r.gpus > 0 ? render_number(r.gpus) : "", csv_text(r.instance));
    for (const auto& usd : r.usd_per_gpu_hour) out += "," + (usd ? render_number(std::round(*usd * 1e6) / 1e6) : std::string());
    out += fmt::format(",{},{}\n", csv_text(r.flags), csv_text(r.source));
  }
  return out;
}

bool same_gpu(std::string_view one, std::string_view other) {
  const auto plain = [](std::string_view name) {
    std::string s = lower(trim(name));
    for (const std::string_view maker : {"nvidia ", "amd instinct ", "nvidia-", "tesla "}) {
      if (s.starts_with(maker)) s.erase(0, maker.size());
    }
    // Of an A100 the memory tells two products apart; of the others it tells nothing.
    const bool large = s.starts_with("a100") && s.find("80") != std::string::npos;
    if (const std::size_t sxm = s.find("sxm"); sxm != std::string::npos) s.erase(sxm);
    while (!s.empty() && (s.back() == ' ' || s.back() == '-')) s.pop_back();
    if (s == "a100-80gb") s = "a100";
    return large && s == "a100" ? "a100-80gb" : s;
  };
  return plain(one) == plain(other);
}

}  // namespace muster
