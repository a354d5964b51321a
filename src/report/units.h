// Numbers and times the way people write them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "base/value.h"

namespace muster::report {

// The inverse of render_utc: "2026-11-15T02:03:04Z", with up to nine decimals. None for a day that no calendar has.
std::optional<Time> parse_utc(std::string_view text);
// "1,048,576".
std::string render_count(std::int64_t n);
// "1,234.5" with so many decimals.
std::string render_decimal(double d, int decimals);
// "2,084 USD"; below 100 with two decimals: "12.50 USD".
std::string render_money(double amount, std::string_view currency);
// "1 block", "3 blocks", "1,024 days": the plural is with an s.
std::string counted(std::int64_t n, std::string_view one);
// "3d 4h", "12m 30s", "45s": whole seconds, two units at most, no empty second one.
std::string render_span(Duration length);
// "3d 4h ago", "in 12m 30s", "now".
std::string render_ago(Time then, Time now);
// "12.3 %"; "-" for none.
std::string render_percent(std::optional<double> share);

// Members of an object read from JSON, whatever their type: "" and none where absent or null.
std::string text_of(const Value& object, std::string_view key);
std::optional<double> number_of(const Value& object, std::string_view key);
std::optional<Time> time_of(const Value& object, std::string_view key);
// Never null: an empty list where absent.
const Value::Array& list_of(const Value& object, std::string_view key);

// "h200" as "H200": of ASCII's letters only.
std::string upper(std::string_view s);

}  // namespace muster::report
