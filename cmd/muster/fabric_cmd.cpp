// muster design fabric, muster predict fabric and congestion: networks from a few numbers, and what they give to traffic.
#include <fmt/format.h>

#include "commands.h"
#include "files.h"
#include "ingest/ib_net.h"
#include "report/ib_net.h"
#include "report/traffic.h"
#include "say.h"

namespace muster::cmd {

int run_design_fabric(const DesignFabricOptions& o) {
  const auto fabric = design::build_fabric(o.ask);
  if (!fabric) return say_error(fabric.error());
  std::size_t switches = 0;
  for (const FabricNode& n : fabric->nodes) switches += n.is_switch ? 1 : 0;
  put(report::render_ib_net(*fabric));
  say(fmt::format("{} network cards, {} switches, {} cables", fabric->nodes.size() - switches, switches,
                  fabric->links.size() / 2));
  return finish_output();
}

int run_predict_fabric(const PredictFabricOptions& o) {
  const auto net = read_fabric_file(o.net);
  if (!net) return say_error(net.error());
  auto fabric = parse_ib_net(*net, o.net);
  if (!fabric) return say_error(fabric.error());
  if (auto ok = predict::cut_cables(*fabric, o.cut, o.seed); !ok) return say_error(ok.error());
  ForwardingTables tables;
  if (!o.routes.empty()) {
    const auto text = read_fabric_file(o.routes);
    if (!text) return say_error(text.error());
    auto read = parse_ib_routes(*text, o.routes);
    if (!read) return say_error(read.error());
    tables = std::move(*read);
  }
  predict::Router router =
      o.routes.empty() ? predict::Router(*fabric, o.adaptive ? predict::Routing::adaptive : predict::Routing::hashed, o.seed)
                       : predict::Router(*fabric, tables);
  report::Traffic t;
  predict::Conditions conditions = o.conditions;
  conditions.seed = o.seed;
  const auto shifts = predict::shift_traffic(*fabric, router, o.every, conditions);
  if (!shifts) return say_error(shifts.error());
  t.shifts = *shifts;
  const auto pairs = predict::bisection_traffic(*fabric, router, o.pairs, o.seed, conditions);
  if (!pairs) return say_error(pairs.error());
  t.pairs = *pairs;
  const report::Table table = report::traffic_table(t);
  put(o.format == report::Format::csv ? report::render_csv(table, true)
                                      : report::render_table(table, {.colour = colour_wanted()}));
  return finish_output();
}

int run_predict_congestion(const PredictCongestionOptions& o) {
  std::vector<report::Incast> all;
  const auto add = [&](const char* name, const predict::Dcqcn& control) -> Result<void> {
    predict::IncastAsk a = o.ask;
    a.control = control;
    const auto f = predict::incast(a);
    if (!f) return tl::unexpected(f.error());
    all.push_back({name, *f});
    return {};
  };
  if (auto ok = add("DCQCN", o.ask.control); !ok) return say_error(ok.error());
  predict::Dcqcn off = o.ask.control;
  off.on = false;
  if (auto ok = add("pauses alone", off); !ok) return say_error(ok.error());
  if (o.tune) {
    const auto best = predict::tuned(o.ask);
    if (!best) return say_error(best.error());
    if (auto ok = add("DCQCN tuned", *best); !ok) return say_error(ok.error());
    say(fmt::format("tuned: --kmin {:g} --kmax {:g} --pmax {:g} --timer {:g} --ai {:g} --hai {:g}", best->kmin_kb, best->kmax_kb,
                    100 * best->pmax, best->rate_us, 1000 * best->ai_gb_s, 1000 * best->hai_gb_s));
  }
  constexpr double kBufferKb = 64'000;  // of a large switch, all of it
  if (all.front().figures.most_queue_kb > kBufferKb)
    say("no switch holds such a queue: packets would be lost before pauses act on so many senders");
  const report::Table table = report::incast_table(all);
  put(o.format == report::Format::csv ? report::render_csv(table, true)
                                      : report::render_table(table, {.colour = colour_wanted()}));
  return finish_output();
}

}  // namespace muster::cmd
