#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/page_style.h"
#include "report/svg.h"

namespace muster::report {

std::string brief(std::string_view s, std::size_t bytes_max) {
  // A name of megabytes must not be looked at more than it is shown.
  const bool long_one = s.size() > 4 * bytes_max;
  std::string plain = printable(s.substr(0, long_one ? 4 * bytes_max : s.size()));
  const auto cut = [&plain](std::size_t n) {
    while (n > 0 && (static_cast<unsigned char>(plain[n]) & 0xc0) == 0x80) --n;  // not within a character
    plain.resize(n);
  };
  bool shorter = long_one;
  if (plain.size() > bytes_max) {
    cut(bytes_max);
    shorter = true;
  }
  std::string out = escape(plain);
  while (out.size() > 2 * bytes_max && plain.size() > 1) {
    cut(plain.size() / 2);
    out = escape(plain);
    shorter = true;
  }
  return shorter ? out + "…" : out;
}

std::string render_thousands(double v) {
  if (!(std::abs(v) >= 100) || std::abs(v) > 1e15) return fmt::format("{:.3g}", v);
  std::string out = fmt::format("{:.0f}", v);
  for (std::ptrdiff_t at = std::ssize(out) - 3; at > (v < 0 ? 1 : 0); at -= 3) out.insert(static_cast<std::size_t>(at), ",");
  return out;
}

double within(double v, double most) { return v > 0 ? std::min(v, most) : 0; }

std::string swatch(std::string_view colour) { return fmt::format("<span class=\"sw {}\"></span>", colour); }

std::string page_begin(std::string_view title, std::string_view styles) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
      "form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>";
  out += escape(title);
  out += "</title>\n<style>";
  out += kPageStyle;
  out += styles;
  return out + "</style></head>\n<body><main>\n";
}

std::string page_end(std::string_view who) {
  return fmt::format("<footer>{}. This page is one file and asks nothing of any network.</footer></main></body></html>\n", who);
}

}  // namespace muster::report
