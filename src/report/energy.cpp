#include "report/energy.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/json_writer.h"
#include "base/text.h"
#include "report/energy_notes.h"
#include "report/units.h"

namespace muster::report {
namespace {

using account::EnergySource;

constexpr double kMjPerKwh = 3.6e9;
constexpr double kMsPerHour = 3.6e6;
constexpr std::string_view kNobody = "(idle, held by nobody)";
constexpr std::string_view kAll = "all";

std::string key_of(const GpuHold& h, EnergyBy by) {
  switch (by) {
    case EnergyBy::job: return h.job;
    case EnergyBy::account: return h.account;
    case EnergyBy::user: return h.user;
    case EnergyBy::partition: return h.partition;
    case EnergyBy::gpu_type: return h.gpu_type;
  }
  return {};
}

void add(account::EnergyBill& to, const account::EnergyBill& b) {
  to.kwh += b.kwh;
  to.energy_cost += b.energy_cost;
  to.demand_cost += b.demand_cost;
  to.unpriced_kwh += b.unpriced_kwh;
  to.carbon_kg += b.carbon_kg;
  to.embodied_kg += b.embodied_kg;
  to.unknown_carbon_kwh += b.unknown_carbon_kwh;
}

void add(EnergyRow& row, const account::RunEnergy& e, const account::EnergyBill& bill) {
  row.gpu_ms += e.gpu_ms;
  row.energy.add(e.total());
  row.apportioned_mj += e.apportioned_mj;
  row.estimate_low_mj += e.estimate_low_mj;
  row.estimate_high_mj += e.estimate_high_mj;
  row.estimate_mj += e.estimate_mj;
  row.unknown_ms += e.unknown_ms;
  add(row.bill, bill);
}

// "0.42", "12.3", "1,234": three figures or so.
std::string amount(double v) {
  const double a = std::abs(v);
  return render_decimal(v, a == 0 ? 0 : a < 0.1 ? 4 : a < 10 ? 2 : a < 1000 ? 1 : 0);
}

Cell number_cell(double v, Tone tone = Tone::plain) {
  Cell c(amount(v), tone);
  c.raw = render_number(v);
  c.key = v;
  return c;
}

Cell no_cell() {
  Cell c("-", Tone::dim);
  c.raw = "";
  return c;
}

// Nothing, and not 0, where nothing is known of all of it.
Cell gpu_kwh_cell(const EnergyRow& row) {
  return row.unknown_ms > 0 && account::sum(row.energy.gpu) == 0 ? no_cell() : number_cell(row.gpu_kwh());
}

Cell measured_cell(const EnergyRow& row) {
  const double m = row.measured();
  Cell c(m < 0 ? "-" : render_percent(m), m < 0 ? Tone::dim : m < 0.5 ? Tone::warn : Tone::plain);
  c.raw = m < 0 ? "" : render_number(m);
  c.key = m;
  return c;
}

// Which columns a report has: what nobody gave is not shown.
struct Shown {
  bool money, demand, carbon, embodied, tokens, who;
  explicit Shown(const EnergyReport& r, const std::vector<EnergyRow>& rows)
      : money(r.bills.has_money),
        demand(!r.bills.peaks.empty()),
        carbon(r.bills.has_carbon),
        embodied(r.rates.embodied_g_per_gpu_h > 0),
        tokens(std::any_of(rows.begin(), rows.end(), [](const EnergyRow& x) { return x.tokens > 0; })),
        who(r.by == EnergyBy::job) {}
};

Table table_of(const EnergyReport& r, const std::vector<EnergyRow>& rows, const Shown& s) {
  Table t;
  const std::string money = r.currency;
  std::string first(names(EnergyBy{})[static_cast<std::size_t>(r.by)]);
  t.columns = {{upper(first), false, false, false, first}};
  if (s.who)
    t.columns.insert(t.columns.end(),
                     {{"USER"}, {"ACCOUNT"}, {"PARTITION", false, true}, {"GPU", false, true, false, "gpu_type"}});
  const auto column = [&](std::string name, std::string csv, bool wide = false) {
    t.columns.push_back({std::move(name), true, wide, false, std::move(csv)});
  };
  column("RUNS", "runs");
  column("GPU-HOURS", "gpu_hours");
  column("GPU KWH", "gpu_kwh");
  column("ESTIMATED KWH", "estimated_gpu_kwh", true);
  column("UNKNOWN GPU-H", "unknown_gpu_hours", true);
  column("HOST KWH", "host_kwh", true);
  column("ASSUMED HOST KWH", "assumed_host_kwh", true);
  column("SITE KWH", "site_kwh");
  column("MEASURED", "measured_share");
  if (s.money) column("ENERGY " + money, "energy_cost");
  if (s.demand) column("DEMAND " + money, "demand_cost");
  if (s.money) column("PER KWH", "cost_per_kwh");
  if (s.carbon) column("CO2 KG", "carbon_kg");
  if (s.embodied) column("EMBODIED KG", "embodied_kg");
  if (s.tokens) column("J/TOKEN", "joules_per_token");
  if (s.tokens && s.money) column(money + "/1M TOKENS", "cost_per_million_tokens");
  for (const EnergyRow& row : rows) {
    std::vector<Cell> cells = {Cell(row.name.empty() ? "-" : row.name)};
    if (s.who) cells.insert(cells.end(), {Cell(row.user), Cell(row.account), Cell(row.partition), Cell(row.gpu_type)});
    const auto host = static_cast<double>(row.energy.host_measured + row.energy.host_assumed) / kMjPerKwh;
    Cell runs(render_count(static_cast<std::int64_t>(row.runs)));
    runs.raw = std::to_string(row.runs);
    runs.key = static_cast<double>(row.runs);
    cells.push_back(runs);
    cells.push_back(number_cell(static_cast<double>(row.gpu_ms) / kMsPerHour));
    cells.push_back(gpu_kwh_cell(row));
    for (const double v : {row.estimated_kwh(), static_cast<double>(row.unknown_ms) / kMsPerHour, host,
                           static_cast<double>(row.energy.host_assumed) / kMjPerKwh, row.bill.kwh})
      cells.push_back(number_cell(v));
    cells.push_back(measured_cell(row));
    const double cost = row.bill.energy_cost + row.bill.demand_cost;
    if (s.money) cells.push_back(number_cell(row.bill.energy_cost));
    if (s.demand) cells.push_back(number_cell(row.bill.demand_cost));
    if (s.money) cells.push_back(row.bill.kwh > 0 ? number_cell(cost / row.bill.kwh) : no_cell());
    if (s.carbon) cells.push_back(number_cell(row.bill.carbon_kg));
    if (s.embodied) cells.push_back(number_cell(row.bill.embodied_kg));
    const bool has = row.tokens > 0 && row.token_unknown_ms == 0;
    if (s.tokens) cells.push_back(has ? number_cell(row.token_kwh * 3.6e6 / row.tokens) : no_cell());
    if (s.tokens && s.money) cells.push_back(has ? number_cell(row.token_cost * 1e6 / row.tokens) : no_cell());
    t.rows.push_back(std::move(cells));
  }
  return t;
}

std::string sources_of(const EnergyRow& all) {
  const double whole = all.gpu_kwh() * kMjPerKwh;
  static constexpr std::string_view kHow[] = {"counted by the GPUs", "from samples of power", "by Slurm, hosts included",
                                              "estimated"};
  std::vector<std::string> parts;
  for (std::size_t s = 0; s < account::kEnergySources; ++s) {
    if (all.energy.gpu[s] > 0)
      parts.push_back(render_percent(static_cast<double>(all.energy.gpu[s]) / whole) + " " + std::string(kHow[s]));
  }
  if (all.unknown_ms > 0)
    parts.push_back("without " + render_decimal(static_cast<double>(all.unknown_ms) / kMsPerHour, 1) +
                    " GPU-hours of which nothing is known");
  return join(parts, ", ");
}

Table steps_of(const EnergyReport& r, const EnergyRow& all) {
  Table t;
  t.columns = {{"STEP"}, {"KWH", true}, {"HOW"}};
  const auto row = [&](std::string step, double kwh, std::string how) {
    t.rows.push_back({Cell(std::move(step)), number_cell(kwh), Cell(std::move(how))});
  };
  row("GPUs", all.gpu_kwh(), sources_of(all));
  const double told = static_cast<double>(all.energy.host_measured) / kMjPerKwh,
               not_told = static_cast<double>(all.energy.host_assumed) / kMjPerKwh;
  if (told > 0) row("+ hosts", told, "by the nodes' meters, less their GPUs");
  if (not_told > 0 || told == 0)
    row("+ hosts", not_told, fmt::format("{:g} W with each GPU{}", r.host_w, r.host_assumed ? ", assumed: --host-watts" : ""));
  row("+ cooling, losses", all.it_kwh() * (r.rates.pue - 1),
      fmt::format("PUE {:g}{}", r.rates.pue, r.pue_assumed ? ", assumed: --pue" : ""));
  row("= the site's meter", all.bill.kwh, "");
  return t;
}

void write_row(JsonWriter& w, const EnergyRow& row, const Shown& s) {
  w.object().field("name", row.name).field("runs", row.runs);
  if (s.who)
    w.field("user", row.user).field("account", row.account).field("partition", row.partition).field("gpu_type", row.gpu_type);
  w.field("gpu_hours", static_cast<double>(row.gpu_ms) / kMsPerHour).key("gpu_j").object();
  for (std::size_t i = 0; i < account::kEnergySources; ++i)
    w.field(names(EnergySource{})[i], static_cast<double>(row.energy.gpu[i]) / 1e3);
  w.end_object().field("host_measured_j", static_cast<double>(row.energy.host_measured) / 1e3);
  w.field("host_assumed_j", static_cast<double>(row.energy.host_assumed) / 1e3);
  w.field("gpu_kwh", row.gpu_kwh()).field("it_kwh", row.it_kwh()).field("site_kwh", row.bill.kwh);
  w.field("estimated_gpu_kwh", row.estimated_kwh()).field("unknown_gpu_hours", static_cast<double>(row.unknown_ms) / kMsPerHour);
  w.field("measured_share", row.measured() < 0 ? std::nan("") : row.measured());
  w.field("apportioned_j", static_cast<double>(row.apportioned_mj) / 1e3);
  const double rest = static_cast<double>(account::sum(row.energy.gpu) - row.estimate_mj);
  w.field("gpu_kwh_low", (rest + row.estimate_low_mj) / kMjPerKwh)
      .field("gpu_kwh_high", (rest + row.estimate_high_mj) / kMjPerKwh);
  if (s.money) {
    w.field("energy_cost", row.bill.energy_cost).field("demand_cost", row.bill.demand_cost);
    w.field("unpriced_kwh", row.bill.unpriced_kwh);
  }
  if (s.carbon) w.field("carbon_kg", row.bill.carbon_kg).field("unknown_carbon_kwh", row.bill.unknown_carbon_kwh);
  if (s.embodied) w.field("embodied_kg", row.bill.embodied_kg);
  if (row.tokens > 0) w.field("tokens", row.tokens);
  if (row.tokens > 0 && row.token_unknown_ms == 0) {
    w.field("joules_per_token", row.token_kwh * 3.6e6 / row.tokens);
    if (s.money) w.field("cost_per_million_tokens", row.token_cost * 1e6 / row.tokens);
    if (s.carbon) w.field("carbon_g_per_million_tokens", row.token_kg * 1e9 / row.tokens);
  }
  w.end_object();
}

}  // namespace

double EnergyRow::gpu_kwh() const { return static_cast<double>(account::sum(energy.gpu)) / kMjPerKwh; }
double EnergyRow::estimated_kwh() const {
  return static_cast<double>(energy.gpu[static_cast<std::size_t>(EnergySource::estimated)]) / kMjPerKwh;
}
double EnergyRow::it_kwh() const { return static_cast<double>(energy.it()) / kMjPerKwh; }
double EnergyRow::measured() const {
  const std::int64_t all = account::sum(energy.gpu);
  if (all <= 0) return -1;
  return static_cast<double>(all - energy.gpu[static_cast<std::size_t>(EnergySource::estimated)]) / static_cast<double>(all);
}

std::vector<EnergyRow> energy_rows(const EnergyReport& r) {
  std::map<std::string, EnergyRow> groups;
  EnergyRow all;
  all.name = kAll;
  for (std::size_t i = 0; i < r.runs.size(); ++i) {
    const GpuHold& h = r.runs[i];
    EnergyRow& row = groups[key_of(h, r.by)];
    row.name = key_of(h, r.by);
    if (row.runs++ == 0) {
      row.user = h.user;
      row.account = h.account;
      row.partition = h.partition;
      row.gpu_type = h.gpu_type;
    }
    for (EnergyRow* to : {&row, &all}) {
      add(*to, r.books.runs[i], r.bills.runs[i]);
      if (!h.tokens) continue;
      // Tokens are of a job, and stand at its first run: all its runs took energy for them.
      to->tokens += *h.tokens;
    }
    ++all.runs;
  }
  std::map<std::string, bool> counted;
  for (const GpuHold& h : r.runs) counted[h.job] = counted[h.job] || h.tokens.has_value();
  for (std::size_t i = 0; i < r.runs.size(); ++i) {
    for (EnergyRow* to : {&groups[key_of(r.runs[i], r.by)], &all}) {
      if (!counted[r.runs[i].job]) {
        to->untold_kwh += r.bills.runs[i].kwh;
        continue;
      }
      to->token_unknown_ms += r.books.runs[i].unknown_ms;
      to->token_kwh += r.bills.runs[i].kwh;
      to->token_cost += r.bills.runs[i].energy_cost + r.bills.runs[i].demand_cost;
      to->token_kg += r.bills.runs[i].carbon_kg;
    }
  }
  std::vector<EnergyRow> out;
  for (auto& [name, row] : groups) out.push_back(std::move(row));
  std::stable_sort(out.begin(), out.end(), [](const EnergyRow& a, const EnergyRow& b) { return a.energy.it() > b.energy.it(); });
  EnergyRow nobody;
  nobody.name = kNobody;
  add(nobody, r.books.nobody, r.bills.nobody);
  add(all, r.books.nobody, r.bills.nobody);
  if (nobody.energy.it() > 0) out.push_back(nobody);
  out.push_back(all);
  return out;
}

std::string render_energy_text(const EnergyReport& r, const TableStyle& style) {
  std::vector<EnergyRow> rows = energy_rows(r);
  const EnergyRow all = rows.back();
  const Shown shown(r, rows);
  std::string out = fmt::format("Energy of {}, {} to {}\n\n", counted(static_cast<std::int64_t>(r.runs.size()), "run"),
                                render_utc(r.books.begins), render_utc(r.books.ends));
  out += render_table(steps_of(r, all), style) + "\n";
  const std::size_t tail = rows.size() >= 2 && rows[rows.size() - 2].name == kNobody ? 2 : 1;
  std::size_t left_out = 0;
  if (rows.size() - tail > r.limit) {
    left_out = rows.size() - tail - r.limit;
    rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(r.limit), rows.end() - static_cast<std::ptrdiff_t>(tail));
  }
  out += render_table(table_of(r, rows, shown), style);
  if (left_out > 0) out += fmt::format("{} more, in the sums: --limit\n", left_out);
  const std::vector<std::string> notes = energy_notes(r, all);
  if (!notes.empty()) out += "\n";
  for (const std::string& n : notes) out += wrap("- " + printable(n), 118, 2) + "\n";
  return out;
}

std::string render_energy_json(const EnergyReport& r) {
  const std::vector<EnergyRow> rows = energy_rows(r);
  const Shown shown(r, rows);
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "EnergyReport");
  w.field("from_utc", render_utc(r.books.begins)).field("to_utc", render_utc(r.books.ends));
  w.field("by", names(EnergyBy{})[static_cast<std::size_t>(r.by)]).field("currency", r.currency);
  w.field("host_w_per_gpu", r.host_w)
      .field("host_assumed", r.host_assumed)
      .field("pue", r.rates.pue)
      .field("pue_assumed", r.pue_assumed);
  w.field("tariff", r.rates.tariff ? r.rates.tariff->name : "")
      .field("tariff_synthetic", r.rates.tariff && r.rates.tariff->synthetic);
  w.field("tariff_date", r.rates.tariff ? r.rates.tariff->date : "");
  w.key("rows").array();
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) write_row(w, rows[i], shown);
  w.end_array().key("all");
  write_row(w, rows.back(), shown);
  write_energy_details(w, r);
  w.key("notes").array();
  for (const std::string& n : energy_notes(r, rows.back())) w.value(n);
  w.end_array().end_object();
  return w.take() + "\n";
}

std::string render_energy_csv(const EnergyReport& r) {
  std::vector<EnergyRow> rows = energy_rows(r);
  const Shown shown(r, rows);
  rows.pop_back();
  Table t = table_of(r, rows, shown);
  // What the figures rest upon stands beside them: a sheet has no notes.
  t.columns.insert(t.columns.end(), {{"pue"}, {"pue_assumed"}, {"tariff_made_up"}});
  for (std::vector<Cell>& row : t.rows) {
    row.emplace_back(render_number(r.rates.pue));
    row.emplace_back(r.pue_assumed ? "true" : "false");
    row.emplace_back(r.rates.tariff && r.rates.tariff->synthetic ? "true" : "false");
  }
  return render_csv(t, true);
}

}  // namespace muster::report
