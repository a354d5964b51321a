#include "ingest/tariff_file.h"

#include <fmt/core.h>

#include <optional>
#include <span>

#include "base/text.h"
#include "ingest/form.h"
#include "ingest/yaml.h"

namespace muster {
namespace {

constexpr double kPerKwhMax = 100;
constexpr double kPerKwMax = 10'000;
constexpr double kPeakKwMax = 10'000'000;
constexpr double kRatchetMonthsMax = 60;
constexpr std::string_view kDemandPrice = "price_per_kw_month";
constexpr std::string_view kMonths[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::string_view kDays[] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};

// "jun", "6": which of `n` things from `first` on.
std::optional<std::uint32_t> one_of(std::string_view word, std::span<const std::string_view> names, std::uint32_t first,
                                    std::uint32_t n) {
  const std::string small = lower(trim(word));
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    if (small == names[i]) return i;
  }
  const auto number = parse_uint(small);
  if (!number || *number < first || *number >= first + n) return std::nullopt;
  return static_cast<std::uint32_t>(*number) - first;
}

// "jun-sep, dec", "mon-fri", "22-6": bits. Ranges of hours end before their last word, others with it; both may go round.
std::optional<std::uint32_t> set_of(std::string_view text, std::span<const std::string_view> names, std::uint32_t first,
                                    std::uint32_t n, bool half_open) {
  std::uint32_t bits = 0;
  for (const std::string_view part : split(text, ',')) {
    const auto dash = part.find('-');
    const auto from = one_of(part.substr(0, dash), names, first, n);
    if (!from) return std::nullopt;
    if (dash == std::string_view::npos) {
      bits |= 1u << *from;
      continue;
    }
    const std::string_view last = trim(part.substr(dash + 1));
    const auto to = half_open && last == "24" ? std::optional(n) : one_of(last, names, first, n);
    if (!to) return std::nullopt;
    const std::uint32_t end = half_open ? *to : *to + 1;
    if (half_open && *from == end) return std::nullopt;  // "8-8": nothing, or all day?
    const std::uint32_t length = (end + n - *from - 1) % n + 1;
    for (std::uint32_t i = 0; i < length; ++i) bits |= 1u << (*from + i) % n;
  }
  return bits;
}

void read_set(Form& f, const Value& of, std::string_view key, std::span<const std::string_view> names, std::uint32_t first,
              std::uint32_t n, bool half_open, std::string_view like, std::uint32_t& out) {
  const Value* v = f.any(key);
  if (v == nullptr) return;
  const std::string text = v->string() != nullptr ? *v->string() : v->integer() != nullptr ? std::to_string(*v->integer()) : "";
  const auto bits = text.empty() || text == "all" ? std::optional((1u << n) - 1) : set_of(text, names, first, n, half_open);
  if (!bits || text.empty())
    return f.error(v->line() > 0 ? *v : of, fmt::format("{} must be like {}, is {}", key, like, quoted(text)));
  out = *bits;
}

Result<TariffRule> read_rule(const Value& v, std::string_view file, const std::string& where, std::string_view price,
                             double max) {
  Form f(v, file, where);
  TariffRule r;
  f.text("name", r.name);
  f.need(price);
  f.number(price, r.price, -max, max);
  read_set(f, v, "months", kMonths, 1, 12, false, "jun-sep", r.months);
  read_set(f, v, "days", kDays, 1, 7, false, "mon-fri", r.days);
  read_set(f, v, "hours", {}, 0, 24, true, "8-22, which ends at 22:00", r.hours);
  if (price == kDemandPrice) {
    double months = r.ratchet_months;
    f.number("ratchet", r.ratchet, 0, 1);
    f.number("ratchet_months", months, 1, kRatchetMonthsMax);
    f.number("earlier_peak_kw", r.earlier_peak_kw, 0, kPeakKwMax);
    r.ratchet_months = static_cast<std::int32_t>(months);
    if (r.ratchet == 0 && (v.find("ratchet_months") != nullptr || v.find("earlier_peak_kw") != nullptr))
      f.error(v, "ratchet_months and earlier_peak_kw are of a ratchet, and there is none");
  }
  if (auto ok = f.finish(); !ok) return tl::unexpected(ok.error());
  return r;
}

void read_rules(Form& f, const Value::Array& list, std::string_view file, std::string_view key, std::string_view price,
                double max, std::vector<TariffRule>& out) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto r = read_rule(list[i], file, fmt::format("{}[{}].", key, i), price, max);
    if (!r) return f.adopt(r.error());
    out.push_back(std::move(*r));
  }
}

// The first hour of a week of some month that no rule holds in.
std::optional<LocalHour> without_price(const Tariff& t) {
  for (std::uint32_t month = 0; month < 12; ++month) {
    for (std::uint32_t day = 0; day < 7; ++day) {
      for (std::uint32_t hour = 0; hour < 24; ++hour) {
        const LocalHour h{2000, month, day, hour};
        if (rule_of(t, h) == nullptr) return h;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

Result<Tariff> parse_tariff(std::string_view text, std::string_view file) {
  const auto tree = parse_yaml(text, file);
  if (!tree) return tl::unexpected(tree.error());
  Form f(*tree, file);
  Tariff t;
  f.text("name", t.name);
  f.text("currency", t.currency, 8);
  f.text("date", t.date, 20);
  f.text("source", t.source, 400);
  f.text("zone", t.zone, 100);
  f.flag("synthetic", t.synthetic);
  f.number("fees_per_kwh", t.fees, -kPerKwhMax, kPerKwhMax);
  f.need("energy");
  const Value* energy = tree->find("energy");
  if (energy != nullptr && energy->string() != nullptr) {
    f.any("energy");
    t.hourly = *energy->string() == "hourly";
    if (!t.hourly) f.error(*energy, "energy must be a list of rules, or hourly: then the prices come from --prices");
  } else if (const Value::Array* rules = f.list("energy", kTariffRulesMax); rules != nullptr) {
    read_rules(f, *rules, file, "energy", "price_per_kwh", kPerKwhMax, t.energy);
  }
  if (const Value::Array* rules = f.list("demand", kTariffRulesMax); rules != nullptr)
    read_rules(f, *rules, file, "demand", kDemandPrice, kPerKwMax, t.demand);
  if (t.currency.empty()) f.error(1, "currency must not be empty");
  if (auto ok = f.finish(); !ok) return tl::unexpected(ok.error());
  const auto gap = t.hourly ? std::nullopt : without_price(t);
  if (gap) {
    return fail(Code::bad_input,
                fmt::format("{}:{}: no rule of energy holds on a {} in {} at {}:00", file,
                            energy->line() > 0 ? energy->line() : 1, kDays[gap->weekday], kMonths[gap->month], gap->hour),
                "end the list with a rule that has a price_per_kwh alone: it holds at all other times");
  }
  return t;
}

}  // namespace muster
