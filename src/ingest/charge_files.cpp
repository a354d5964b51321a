#include "ingest/charge_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/civil.h"
#include "base/text.h"
#include "ingest/csv.h"

namespace muster {
namespace {

constexpr std::size_t kNameMax = 200;
constexpr const char* kNextRates =
    "columns id, valid_from, price_per_gpu_hour, currency, and where wanted valid_to, gpu_type, partition, account, discount_pct";
constexpr const char* kNextAllocations = "columns account, from, to, and gpu_hours, or money and currency";

// One row of a table, asked for by column; the first thing wrong with it is kept.
struct Row {
  const Csv& csv;
  std::size_t row;
  std::string_view file;
  const char* next;
  std::optional<Error> error = {};

  std::string text(std::string_view column) {
    const std::string_view s = trim(csv.cell(row, column));
    if (s.size() > kNameMax || !valid_utf8(s)) wrong(fmt::format("{} is too long, or is no text", column));
    return error ? std::string() : std::string(s);
  }
  std::string any(std::string_view column) {
    std::string s = text(column);
    return s == "*" ? std::string() : s;
  }
  Time moment(std::string_view column, std::optional<Time> otherwise = {}) {
    const std::string s = text(column);
    if (s.empty() && otherwise) return *otherwise;
    const auto t = parse_moment_utc(s);
    if (!t)
      wrong(fmt::format("{} is '{}', not a moment in UTC such as 2026-11-01 or 2026-11-01T06:00:00Z", column, printable(s)));
    return t.value_or(Time{});
  }
  std::optional<std::int64_t> micro(std::string_view column, std::int64_t max) {
    const std::string s = text(column);
    if (s.empty()) return std::nullopt;
    const auto n = parse_micro(s);
    if (!n || *n > max)
      wrong(fmt::format("{} is '{}', not a number from 0 to {} with at most six decimals", column, printable(s), max / kMicro));
    return n;
  }
  std::string currency() {
    const std::string s = text("currency");
    const bool letters = std::all_of(s.begin(), s.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
    if (s.size() != 3 || !letters) wrong(fmt::format("currency is '{}', not three capital letters such as USD", printable(s)));
    return s;
  }
  void wrong(std::string why) {
    if (!error) error = Error{Code::bad_input, fmt::format("{}:{}: {}", file, csv.lines[row], why), next};
  }
};

Result<Csv> table(std::string_view text, std::string_view file, std::initializer_list<std::string_view> needed,
                  std::initializer_list<std::string_view> wanted, const char* next) {
  auto csv = parse_csv(text, file);
  if (!csv) return csv;
  const auto in = [](const auto& list, std::string_view s) { return std::find(list.begin(), list.end(), s) != list.end(); };
  for (const std::string_view n : needed) {
    if (csv->column(n) < 0) return fail(Code::bad_input, fmt::format("{}:1: there is no column {}", file, n), next);
  }
  // A misspelt column would be left out without a word, and with it a discount.
  for (const std::string& h : csv->header) {
    if (!in(needed, h) && !in(wanted, h))
      return fail(Code::bad_input, fmt::format("{}:1: column '{}' is not known", file, printable(h)), next);
    if (std::count(csv->header.begin(), csv->header.end(), h) > 1)
      return fail(Code::bad_input, fmt::format("{}:1: column '{}' is there twice", file, printable(h)), next);
  }
  if (csv->rows.empty()) return fail(Code::bad_input, fmt::format("{}:1: it has no rows", file), next);
  return csv;
}

Rate read_rate(Row& r) {
  Rate x;
  x.line = r.csv.lines[r.row];
  x.id = r.text("id");
  x.from = r.moment("valid_from");
  x.to = r.moment("valid_to", kNever);
  x.gpu_type = lower(r.any("gpu_type"));
  x.partition = r.any("partition");
  x.account = r.any("account");
  x.price_micro = r.micro("price_per_gpu_hour", kPriceMax_micro);
  const auto discount = r.micro("discount_pct", 100 * kMicro);
  x.discount_ppm = discount.value_or(0) / 100;
  if (x.id.empty()) r.wrong("it has no id");
  if (x.to <= x.from) r.wrong("valid_to is not after valid_from");
  if (x.price_micro && discount) r.wrong("it has a price and a discount: a discount is a row of its own");
  if (!x.price_micro && !discount) r.wrong("it has no price_per_gpu_hour, and no discount_pct");
  if (discount && x.account.empty()) r.wrong("a discount must name its account");
  if (discount && *discount % 100 != 0) r.wrong("a discount has at most four decimals");
  if (x.price_micro) x.currency = r.currency();
  return x;
}

Allocation read_allocation(Row& r) {
  Allocation x;
  x.line = r.csv.lines[r.row];
  x.account = r.text("account");
  x.from = r.moment("from");
  x.to = r.moment("to");
  const auto hours = r.micro("gpu_hours", std::int64_t{1'000'000'000} * kMicro);
  x.money_micro = r.micro("money", std::int64_t{1'000'000'000'000} * kMicro);
  if (hours) x.gpu_milli_ms = *hours * (kMilliMsOfHour / kMicro);
  if (x.account.empty()) r.wrong("it names no account");
  if (x.to <= x.from) r.wrong("to is not after from");
  if (hours && x.money_micro) r.wrong("it grants gpu_hours and money: one of the two");
  if (!hours && !x.money_micro) r.wrong("it grants neither gpu_hours nor money");
  if (hours.value_or(1) == 0 || x.money_micro.value_or(1) == 0) r.wrong("it grants nothing");
  if (x.money_micro) x.currency = r.currency();
  return x;
}

}  // namespace

std::optional<std::int64_t> parse_micro(std::string_view text) {
  const std::size_t dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  const std::string_view rest = dot == std::string_view::npos ? std::string_view() : text.substr(dot + 1);
  const auto digits = [](std::string_view s) {
    return std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  if (whole.empty() || whole.size() > 12 || rest.size() > 6 || !digits(whole) || !digits(rest)) return std::nullopt;
  if (dot != std::string_view::npos && rest.empty()) return std::nullopt;
  std::string all(whole);
  all += rest;
  all.append(6 - rest.size(), '0');
  return parse_int(all);
}

std::string render_micro(std::int64_t micro) {
  std::string out = fmt::format("{}{}", micro < 0 ? "-" : "", std::abs(micro) / kMicro);
  const std::int64_t rest = std::abs(micro) % kMicro;
  if (rest == 0) return out;
  out += fmt::format(".{:06}", rest);
  out.erase(out.find_last_not_of('0') + 1);
  return out;
}

Result<std::vector<Rate>> parse_rates(std::string_view text, std::string_view file) {
  const auto csv = table(text, file, {"id", "valid_from", "price_per_gpu_hour", "currency"},
                         {"valid_to", "gpu_type", "partition", "account", "discount_pct", "note"}, kNextRates);
  if (!csv) return tl::unexpected(csv.error());
  std::vector<Rate> out;
  std::map<std::string, int> ids;
  std::map<std::tuple<bool, std::string, std::string, std::string, Time>, int> begins;
  for (std::size_t i = 0; i < csv->rows.size(); ++i) {
    Row r{*csv, i, file, kNextRates};
    Rate x = read_rate(r);
    const auto [id, fresh] = ids.try_emplace(x.id, x.line);
    if (!fresh) r.wrong(fmt::format("id '{}' is that of line {} already", printable(x.id), id->second));
    const auto [at, first] = begins.try_emplace({x.price_micro.has_value(), x.account, x.gpu_type, x.partition, x.from}, x.line);
    if (!first)
      r.wrong(fmt::format("line {} is for the same account, GPU type and partition from the same moment on", at->second));
    if (r.error) return tl::unexpected(*r.error);
    out.push_back(std::move(x));
  }
  return out;
}

Result<std::vector<Allocation>> parse_allocations(std::string_view text, std::string_view file) {
  const auto csv = table(text, file, {"account", "from", "to"}, {"gpu_hours", "money", "currency", "note"}, kNextAllocations);
  if (!csv) return tl::unexpected(csv.error());
  std::vector<Allocation> out;
  std::map<std::string, std::vector<std::size_t>> of_account;
  for (std::size_t i = 0; i < csv->rows.size(); ++i) {
    Row r{*csv, i, file, kNextAllocations};
    Allocation x = read_allocation(r);
    for (const std::size_t k : of_account[x.account]) {
      const bool same_kind = out[k].money_micro.has_value() == x.money_micro.has_value();
      if (same_kind && out[k].from < x.to && x.from < out[k].to)
        r.wrong(fmt::format("it overlaps with line {}, which is of the same account", out[k].line));
    }
    if (r.error) return tl::unexpected(*r.error);
    of_account[x.account].push_back(out.size());
    out.push_back(std::move(x));
  }
  return out;
}

}  // namespace muster
