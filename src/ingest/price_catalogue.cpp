#include "ingest/price_catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/check.h"
#include "base/civil.h"
#include "base/text.h"
#include "ingest/csv.h"
#include "ingest/embedded.h"
#include "ingest/gunzip.h"
#include "ingest/hardware_file.h"
#include "ingest/price_traps.h"
#include "model/fields.h"

namespace muster {
namespace {

constexpr const char* kForms =
    "lists need columns such as date, cloud, accelerator, instance_type and prices a GPU-hour, or InstanceType, AcceleratorName, "
    "AcceleratorCount, Price and SpotPrice, or instance_name, gpu_name, gpu_count, price and spot: docs/cost.md";

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
  const char* spot = "";   // whether a row's price is that of spot, or on demand
  const char* place = "";  // of a machine, and its part
  const char* zone = "";
};

constexpr std::array<ListForm, 6> kKnownForms = {
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
             "",
             "",
             "Region",
             "AvailabilityZone"},
    ListForm{
        "offers", "", "", "gpu_name", "gpu_count", "instance_name", {"price", "", "", ""}, true, false, "", "spot", "location"},
};

const ListForm* form_of(const Csv& csv) {
  for (const ListForm& f : kKnownForms) {
    const auto has = [&](const char* column) { return *column == '\0' || csv.column(column) >= 0; };
    if (has(f.date) && has(f.cloud) && has(f.gpu) && has(f.count) && has(f.instance) && has(f.price[0]) && has(f.spot)) return &f;
  }
  return nullptr;
}

// Columns say their currency in their names: "ondemand_eur_per_gpu_hour" is given the name that we know it by, and which currency
// it was is told. None: the list is in dollars, or does not say.
Result<std::string> currency_of(Csv& csv, std::string_view file) {
  std::string found, dollars;
  for (const ListForm& f : kKnownForms) {
    for (const std::string_view known : f.price) {
      const std::size_t at = known.find("usd");
      if (at == std::string_view::npos) continue;
      for (std::string& column : csv.header) {
        if (column == known) dollars = column;
        std::string unit = column.size() == known.size() ? column.substr(at, 3) : "";
        for (char& c : unit) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : '?');
        if (!is_currency(unit) || unit == "USD" || column.substr(0, at) != known.substr(0, at) ||
            column.substr(at + 3) != known.substr(at + 3))
          continue;
        if (!found.empty() && found != unit)
          return fail(Code::bad_input, fmt::format("{}:1: columns in {} and in {}", file, found, unit), "one currency a file");
        found = unit;
        column = std::string(known);
      }
    }
  }
  if (!found.empty() && !dollars.empty())
    return fail(Code::bad_input, fmt::format("{}:1: columns in {} and in USD", file, found), "one currency a file");
  return found;
}

class Catalogue {
 public:
  Catalogue(const Csv& csv, const ListForm& form, std::string currency, std::string_view file, const CatalogueAsk& ask,
            bool ended)
      : csv_(csv), f_(form), currency_(std::move(currency)), file_(file), ask_(ask), cut_(!ended) {}

  Result<RentalPrices> read() {
    out_.form = f_.name;
    for (std::size_t i = 0; i < csv_.rows.size(); ++i) {
      ++out_.read;
      RentalRow row;
      if (auto ok = fill(i, row); !ok) return tl::unexpected(ok.error());
      if (*f_.date != '\0' && ask_.as_of && row.day > *ask_.as_of) {
        ++later_;
        continue;
      }
      out_.newest = std::max(out_.newest, row.day);
      if (bought(i)) {
        ++out_.purchases;
        continue;
      }
      if (f_.by_instance && row.gpu.empty()) {
        ++out_.gpuless;
        continue;
      }
      if (again(i, row)) continue;
      if (*f_.spot != '\0' && other_half(i, row)) continue;
      if (cut_ && i + 1 == csv_.rows.size()) mark(row, PriceTrap::cut_off, "the file ends within this line", "kept with flag");
      rows_.push_back(std::move(row));
    }
    if (converted_ > 0) {
      out_.flags.push_back({0, fmt::format("{} rows", converted_), PriceTrap::converted,
                            fmt::format("in {}", ask_.rate->currency),
                            fmt::format("kept with flag, at {} USD of {}, whatever their own day", render_number(ask_.rate->usd),
                                        ask_.rate->day)});
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

  void mark(RentalRow& row, PriceTrap trap, std::string why, std::string done) {
    out_.flags.push_back(
        {row.line, fmt::format("{} {} ({})", row.cloud, row.instance, row.gpu), trap, std::move(why), std::move(done)});
    add_flag(row, trap);
  }

  // The same machine in the same place on the same day: left out where it says the same again, else told.
  bool again(std::size_t i, RentalRow& row) {
    const auto key = std::tuple(row.day, row.cloud, row.gpu, row.instance, row.gpus,
                                cell(i, f_.place) + '|' + cell(i, f_.zone) + '|' + lower(cell(i, f_.spot)));
    const auto [it, fresh] = seen_.try_emplace(key, row.line, row.usd_per_gpu_hour);
    if (fresh) return false;
    const bool same = it->second.second == row.usd_per_gpu_hour;
    // Without a name for the machine two prices may well be of two machines.
    if (!same && row.instance.empty()) return false;
    mark(row, PriceTrap::twice, fmt::format("line {} has it at {}", it->second.first, same ? "the same price" : "another price"),
         same ? "left out" : "kept with flag");
    return same;
  }

  // A list that has a row for each of the two prices of a machine in a place: true where the first is there already.
  bool other_half(std::size_t i, const RentalRow& row) {
    const auto key = std::tuple(row.gpu, row.instance, row.gpus, cell(i, f_.place));
    const auto [it, fresh] = halves_.try_emplace(key, rows_.size());
    if (fresh) return false;
    RentalRow& first = rows_[it->second];
    const auto term = row.at(RentTerm::spot) ? RentTerm::spot : RentTerm::ondemand;
    if (first.at(term) || !row.at(term)) return false;
    first.at(term) = row.at(term);
    ++joined_[first.line];
    return true;
  }

  Result<void> fill(std::size_t i, RentalRow& row) {
    row.line = csv_.lines[i];
    row.cloud = *f_.cloud != '\0' ? lower(cell(i, f_.cloud)) : lower(ask_.cloud);
    row.gpu = printable(clipped(cell(i, f_.gpu), 80));
    if (const std::string maker = lower(cell(i, "gpu_vendor")); maker == "google" || maker == "tpu") row.gpu = "TPU " + row.gpu;
    row.instance = printable(clipped(cell(i, f_.instance), 120));
    row.cloud = printable(clipped(row.cloud, 80));
    row.source = printable(clipped(cell(i, f_.source), 300));
    // What an earlier import doubted stays in doubt.
    const std::string before = cell(i, "flags");
    for (const std::string_view f : split(before, ' ')) {
      PriceTrap known{};
      if (parse_name(f, known)) add_flag(row, known);
    }
    out_.marked += row.flags.empty() ? 0 : 1;
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
    const auto rate = rate_of(i, row);
    if (!rate) return tl::unexpected(rate.error());
    for (std::size_t t = 0; t < kRentTerms; ++t) {
      const std::string price = cell(i, f_.price[t]);
      if (price.empty()) continue;
      const auto asked = parse_double(price);
      if (!asked || !(*asked >= 0 && *asked <= 1e6 / *rate))
        return bad(i, fmt::format("'{}' is no price of an hour", printable(price)));
      if (*asked == 0) continue;
      const double usd = *asked * *rate;
      row.usd_per_gpu_hour[t] = f_.by_instance && row.gpus > 0 ? usd / row.gpus : usd;
    }
    if (*f_.spot == '\0') return {};
    const std::string spot = lower(cell(i, f_.spot));
    if (spot != "true" && spot != "false")
      return bad(i, fmt::format("spot must be True or False, is '{}'", printable(cell(i, f_.spot))));
    if (spot == "true") std::swap(row.at(RentTerm::ondemand), row.at(RentTerm::spot));
    return {};
  }

  // USD for a unit of what the row is priced in.
  Result<double> rate_of(std::size_t i, RentalRow& row) {
    std::string said = currency_;
    for (const char* column : {"currency", "Currency", "price_currency"}) {
      const std::string of_row = cell(i, column);
      if (of_row.empty()) continue;
      if (!is_currency(of_row)) return bad(i, fmt::format("'{}' is no currency such as EUR", printable(of_row)));
      const std::string by_column =
          said.empty() && std::string_view(f_.price[0]).find("usd") != std::string_view::npos ? "USD" : said;
      if (!by_column.empty() && by_column != of_row)
        return bad(i, fmt::format("the row is in {}, its column's name in {}", of_row, by_column));
      said = of_row;
    }
    if (said.empty() || said == "USD") return 1.0;
    if (!ask_.rate || ask_.rate->currency != said)
      return fail(Code::bad_input, fmt::format("{}:{}: prices in {}", file_, csv_.lines[i], said),
                  fmt::format("--rate {}=USD@DAY: what one was worth on a day that you know of", said));
    ++converted_;
    add_flag(row, PriceTrap::converted);
    return ask_.rate->usd;
  }

  bool bought(std::size_t i) const { return !cell(i, "purchase_usd_per_gpu").empty() && cell(i, f_.price[0]).empty(); }

  void judge() {
    TrapSet traps{f_.series, f_.by_instance, ask_.keep_stale, ask_.stale_days, out_.newest, {}};
    // A catalogue of machines says in words how much memory their GPUs have.
    if (const int info = csv_.column("GpuInfo"); info >= 0) {
      for (std::size_t i = 0; i < csv_.rows.size(); ++i) traps.told[csv_.lines[i]] = csv_.rows[i][static_cast<std::size_t>(info)];
    }
    if (const int gb = csv_.column("gpu_memory"); gb >= 0) {
      for (std::size_t i = 0; i < csv_.rows.size(); ++i) {
        const auto told = parse_double(trim(csv_.rows[i][static_cast<std::size_t>(gb)]));
        if (told && *told > 0) traps.told[csv_.lines[i]] = fmt::format("SizeInMiB {}", render_number(*told * 1024));
      }
    }
    set_traps(rows_, traps, out_.flags);
    out_.rows = std::move(rows_);
    out_.left_out = out_.read;
    for (const RentalRow& r : out_.rows) out_.left_out -= 1 + joined_[r.line];
    out_.kept = out_.read - out_.left_out;
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
      std::set<std::string_view> flags;
      for (const RentalRow& r : all) {
        for (const std::string_view f : split(r.flags, ' ')) flags.insert(f);
      }
      flags.erase("");
      one.flags = join({flags.begin(), flags.end()}, " ");
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
  std::string currency_;  // of its columns; empty: dollars, or not told
  std::string_view file_;
  const CatalogueAsk& ask_;
  bool cut_;  // the last line has no end
  std::vector<RentalRow> rows_;
  std::map<std::tuple<std::int64_t, std::string, std::string, std::string, double, std::string>,
           std::pair<int, decltype(RentalRow::usd_per_gpu_hour)>>
      seen_;  // the line and the prices of each machine in each place
  std::map<std::tuple<std::string, std::string, double, std::string>, std::size_t> halves_;  // of rows_
  std::map<int, std::size_t> joined_;  // rows that a line stands for, besides its own
  std::size_t later_ = 0, converted_ = 0;
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
  auto csv = parse_csv(*text, file);
  if (!csv) return tl::unexpected(csv.error());
  const auto currency = currency_of(*csv, file);
  if (!currency) return tl::unexpected(currency.error());
  const ListForm* form = form_of(*csv);
  if (form == nullptr) return fail(Code::bad_input, fmt::format("{}:1: no list of prices that is known", file), kForms);
  if (*form->date == '\0' && !ask.as_of)
    return fail(Code::bad_input, fmt::format("{}:1: the list does not say of which day it is", file), "--as-of 2026-08-22");
  if (*form->cloud == '\0' && ask.cloud.empty())
    return fail(Code::bad_input, fmt::format("{}:1: the list does not say of which cloud it is", file), "--cloud aws");
  if (csv->rows.empty()) return fail(Code::bad_input, fmt::format("{}:1: a header, and no rows", file), "was it cut off?");
  return Catalogue(*csv, *form, *currency, file, ask, text->ends_with('\n')).read();
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
