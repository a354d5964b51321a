// What a unit of another currency was worth in US dollars on a day, as somebody said: no rate is known here.
#pragma once
#include <string>
#include <string_view>

namespace muster {

struct ExchangeRate {
  std::string currency = "USD";
  double usd = 1;
  std::string day;  // "2026-10-30"; empty: of dollars

  bool dollars() const { return currency == "USD"; }
};

// "EUR": three capital letters, as ISO 4217 has them.
inline bool is_currency(std::string_view s) {
  for (const char c : s) {
    if (c < 'A' || c > 'Z') return false;
  }
  return s.size() == 3;
}

}  // namespace muster
