// muster cost compare: from when on owning a site has cost less than renting, cloud by cloud, along dated prices.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/civil.h"
#include "base/text.h"
#include "commands.h"
#include "cost_options.h"
#include "cost_site.h"
#include "files.h"
#include "report/price_flags.h"
#include "report/rent_or_own.h"
#include "say.h"

namespace muster::cmd {
namespace {

constexpr std::size_t kMonthsLeast = 12;  // of changes, to speak of how prices move

Result<std::vector<RentalRow>> read_rows(const CostCompareOptions& o, std::int64_t& newest) {
  std::vector<RentalRow> all;
  for (const std::string& path : o.prices) {
    const auto bytes = read_file(path);
    if (!bytes) return tl::unexpected(bytes.error());
    const auto prices = parse_price_catalogue(*bytes, path, o.ask);
    if (!prices) return tl::unexpected(prices.error());
    if (!prices->flags.empty())
      say(fmt::format("{}: {}; muster cost import --from names each", path, report::price_summary(*prices)));
    newest = std::max(newest, prices->newest);
    for (RentalRow r : prices->rows) {
      // A quotation without a machine is told by how many GPUs it was for: eight at once cost another price than one.
      if (r.instance.empty() && r.gpus > 0) r.instance = fmt::format("{} x {}", render_number(r.gpus), r.gpu);
      all.push_back(std::move(r));
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const RentalRow& x, const RentalRow& y) {
    return std::tie(x.cloud, x.gpu, x.instance, x.day) < std::tie(y.cloud, y.gpu, y.instance, y.day);
  });
  return all;
}

// One series for each machine of each cloud.
std::vector<predict::MonthlyPrices> series_of(const std::vector<RentalRow>& rows, const std::string& gpu,
                                              const predict::TermMix& mix) {
  std::vector<predict::MonthlyPrices> out;
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t end = i;
    while (end < rows.size() && rows[end].cloud == rows[i].cloud && rows[end].gpu == rows[i].gpu &&
           rows[end].instance == rows[i].instance)
      ++end;
    if (same_gpu(rows[i].gpu, gpu)) {
      if (auto s = predict::monthly_prices(std::span(rows).subspan(i, end - i), mix)) out.push_back(std::move(*s));
    }
    i = end;
  }
  return out;
}

Error nothing(const CostCompareOptions& o, const std::string& gpu, const std::vector<RentalRow>& rows) {
  std::vector<std::string> gpus, clouds;
  for (const RentalRow& r : rows) {
    if (std::find(gpus.begin(), gpus.end(), r.gpu) == gpus.end()) gpus.push_back(r.gpu);
    if (same_gpu(r.gpu, gpu) && std::find(clouds.begin(), clouds.end(), r.cloud) == clouds.end()) clouds.push_back(r.cloud);
  }
  if (rows.empty())
    return {Code::not_found, "every row of these files is left out", "muster cost import --from FILE names each with its reason"};
  if (clouds.empty())
    return {Code::not_found, fmt::format("no price of {} is in these files", printable(gpu)),
            "--gpu: there are " + join(gpus, ", ")};
  if (o.cloud.empty() || std::find(clouds.begin(), clouds.end(), o.cloud) != clouds.end())
    return {Code::not_found, fmt::format("no price of {} by the term {} is in these files", printable(gpu), o.term),
            "--term ondemand, spot, or a mix of what there is"};
  return {Code::not_found, fmt::format("{} has no price of {} in these files", printable(o.cloud), printable(gpu)),
          "--cloud: there are " + join(clouds, ", ")};
}

predict::RentOrOwnAsk ask_of(const CostCompareOptions& o, const CostSite& site, double usd) {
  predict::RentOrOwnAsk ask;
  ask.site = site;
  ask.usd_per_gpu_hour = usd;
  ask.gpu_hours_a_month = o.gpu_hours_a_month;
  ask.months = o.months;
  ask.resale = o.resale;
  ask.seed = o.seed;
  ask.draws = o.draws;
  return ask;
}

Result<void> add_dated(const CostCompareOptions& o, report::RentOrOwnView& view) {
  std::int64_t newest = 0;
  const auto rows = read_rows(o, newest);
  if (!rows) return tl::unexpected(rows.error());
  predict::TermMix paid = o.mix;
  for (std::size_t t = 0; t < kRentTerms; ++t) paid[t] *= 1 - o.off[t];
  const auto series = series_of(*rows, view.gpu, paid);
  predict::PriceMoves moves = predict::moves_of(series);
  const bool enough = predict::months_of(moves) >= kMonthsLeast;
  if (enough) {
    view.series = moves.size();
    view.months = predict::months_of(moves);
    if (!o.drift) moves = predict::without_drift(std::move(moves));
  }
  for (const predict::MonthlyPrices& s : series) {
    if (!o.cloud.empty() && s.cloud != o.cloud) continue;
    predict::RentOrOwnAsk ask = ask_of(o, view.site, s.now());
    if (enough) ask.moves = moves;
    auto answer = predict::rent_or_own(ask);
    if (!answer) return tl::unexpected(answer.error());
    const bool stale = static_cast<double>(newest - s.last_day) > o.ask.stale_days;
    view.cases.push_back({std::string(s.cloud), std::string(s.instance), render_day(s.last_day), s.now(), stale,
                          std::move(*answer), std::string(s.flags)});
  }
  if (view.cases.empty()) return tl::unexpected(nothing(o, view.gpu, *rows));
  std::stable_sort(view.cases.begin(), view.cases.end(),
                   [](const auto& x, const auto& y) { return x.usd_per_gpu_hour < y.usd_per_gpu_hour; });
  return {};
}

std::string discounts_of(const CostCompareOptions& o) {
  std::string s;
  if (!o.discounts.empty()) s = fmt::format("{} % of renting", o.discounts);
  if (o.own_off > 0)
    s += fmt::format("{}{} % of what is bought", s.empty() ? "" : ", ", render_number(std::round(o.own_off * 1e6) / 1e4));
  return s;
}

}  // namespace

int run_cost_compare(const CostCompareOptions& o) {
  auto site = chosen_site(o.site);
  if (!site) return say_error(site.error());
  *site = predict::at_discount(std::move(*site), o.own_off);
  report::RentOrOwnView view;
  view.site = *site;
  view.gpu = o.gpu.empty() ? site->gpu : o.gpu;
  view.term = o.term;
  view.drift = o.drift;
  view.resale = o.resale;
  view.seed = o.seed;
  view.discounts = discounts_of(o);
  view.asked_gpu_hours = o.gpu_hours_a_month;
  if (o.price) {
    const double paid = *o.price * (1 - o.off[0]);
    auto answer = predict::rent_or_own(ask_of(o, *site, paid));
    if (!answer) return say_error(answer.error());
    view.cases.push_back({"", "", "", paid, false, std::move(*answer), ""});
  }
  if (!o.prices.empty()) {
    if (view.gpu.empty()) return say_error({Code::bad_input, "the site does not say which GPU it has", "--gpu h100"});
    if (const auto ok = add_dated(o, view); !ok) return say_error(ok.error());
  }
  if (!o.svg.empty()) {
    if (const auto ok = write_file(o.svg, report::render_svg(report::rent_or_own_chart(view, view.cases.front()))); !ok)
      return say_error(ok.error());
    say("wrote " + o.svg);
  }
  if (o.format == report::Format::json) {
    put(report::rent_or_own_json(view));
  } else if (o.format == report::Format::csv) {
    put(report::rent_or_own_csv(view));
  } else {
    put(report::rent_or_own_text(view, colour_wanted(), stdout_is_terminal()));
  }
  return finish_output();
}

}  // namespace muster::cmd
