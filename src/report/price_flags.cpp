#include "report/price_flags.h"

#include <fmt/format.h>

#include <array>

#include "base/civil.h"
#include "base/json_writer.h"
#include "model/fields.h"
#include "report/units.h"

namespace muster::report {

Table price_flags(const RentalPrices& prices) {
  Table t;
  t.columns = {{"LINE", true}, {"ROW"}, {"FLAG"}, {"WHY"}, {"DONE"}};
  for (const PriceFlag& f : prices.flags) {
    t.rows.push_back({Cell(f.line > 0 ? std::to_string(f.line) : ""), Cell(f.row), Cell(std::string(name_of(f.trap))),
                      Cell(f.why), Cell(f.done, f.done.starts_with("left") ? Tone::bad : Tone::warn)});
  }
  return t;
}

std::string price_summary(const RentalPrices& prices) {
  std::array<std::size_t, names(PriceTrap{}).size()> by{};
  for (const PriceFlag& f : prices.flags) ++by[static_cast<std::size_t>(f.trap)];
  std::string kinds;
  for (std::size_t i = 0; i < by.size(); ++i) {
    if (by[i] > 0) kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", by[i], name_of(static_cast<PriceTrap>(i)));
  }
  std::string bought =
      prices.purchases > 0 ? fmt::format(" ({} of them prices to buy at, which are no rent)", prices.purchases) : "";
  if (prices.gpuless > 0) bought += fmt::format(" ({} of them without a GPU)", prices.gpuless);
  const std::string as = prices.kept == prices.rows.size()
                             ? ""
                             : fmt::format(" as {}, each at the median of its places",
                                           counted(static_cast<std::int64_t>(prices.rows.size()), "machine"));
  return fmt::format(
      "{} read ({}), {} left out{}, {} kept{}; {}{}", counted(static_cast<std::int64_t>(prices.read), "row"), prices.form,
      render_count(static_cast<std::int64_t>(prices.left_out)), bought, render_count(static_cast<std::int64_t>(prices.kept)), as,
      prices.flags.empty() ? (prices.marked > 0 ? "nothing more is doubtful" : "nothing is doubtful")
                           : counted(static_cast<std::int64_t>(prices.flags.size()), "flag") + ": ",
      kinds + (prices.marked > 0
                   ? fmt::format("; {} flagged by an earlier import", counted(static_cast<std::int64_t>(prices.marked), "row"))
                   : ""));
}

std::string price_json(const RentalPrices& prices) {
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "RentalPrices").field("currency", "USD").field("form", prices.form);
  w.field("rows_read", prices.read).field("rows_left_out", prices.left_out).field("rows_purchases", prices.purchases);
  w.field("rows_without_gpu", prices.gpuless).field("rows_kept", prices.kept).field("rows_flagged_before", prices.marked);
  w.field("newest", render_day(prices.newest)).key("flags").array();
  for (const PriceFlag& f : prices.flags) {
    w.object().field("line", f.line).field("row", f.row).field("flag", name_of(f.trap)).field("why", f.why).field("done", f.done);
    w.end_object();
  }
  w.end_array().key("items").array();
  for (const RentalRow& r : prices.rows) {
    w.object().field("date", render_day(r.day)).field("cloud", r.cloud).field("gpu", r.gpu).field("instance", r.instance);
    w.field("gpus_per_instance", r.gpus);
    for (std::size_t t = 0; t < kRentTerms; ++t) {
      w.key(fmt::format("{}_usd_per_gpu_hour", name_of(static_cast<RentTerm>(t))));
      r.usd_per_gpu_hour[t] ? w.value(*r.usd_per_gpu_hour[t]) : w.null();
    }
    w.field("flags", r.flags).field("source", r.source).end_object();
  }
  w.end_array().end_object();
  return w.take() + "\n";
}

}  // namespace muster::report
