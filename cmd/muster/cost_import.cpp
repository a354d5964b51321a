// muster cost import: somebody's list of cloud prices, checked, in our own form.
#include <fmt/core.h>

#include "commands.h"
#include "cost_options.h"
#include "files.h"
#include "report/price_flags.h"
#include "say.h"

namespace muster::cmd {

int run_cost_import(const CostImportOptions& o) {
  const auto bytes = read_file(o.from);
  if (!bytes) return say_error(bytes.error());
  const auto prices = parse_price_catalogue(*bytes, o.from, o.ask);
  if (!prices) return say_error(prices.error());
  if (!o.out.empty()) {
    if (const auto ok = write_file(o.out, render_rental_csv(*prices)); !ok) return say_error(ok.error());
    say(fmt::format("wrote {}: {} rows", o.out, prices->rows.size()));
  }
  if (o.format == report::Format::json) {
    put(report::price_json(*prices));
  } else if (o.format == report::Format::csv) {
    put(render_rental_csv(*prices));
  } else {
    put(report::price_summary(*prices) + "\n");
    if (!prices->flags.empty()) put("\n" + report::render_table(report::price_flags(*prices), {.colour = colour_wanted()}));
  }
  return finish_output();
}

}  // namespace muster::cmd
