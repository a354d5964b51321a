// `muster whatif`: asks a running Muster what a change would do, shows how far it is, and what came of it. Ctrl-C stops it there
// too. Earlier ones are listed, read again and stopped from any terminal.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "base/json_writer.h"
#include "base/text.h"
#include "client.h"
#include "commands.h"
#include "files.h"
#include "ingest/policy_file.h"
#include "progress.h"
#include "report/document.h"
#include "report/table.h"
#include "report/units.h"
#include "say.h"

namespace muster::cmd {
namespace {

constexpr const char* kPath = "/api/v1/tools/whatif";
constexpr auto kEvery = std::chrono::milliseconds(300);
constexpr int kInterrupted = 130;

std::atomic<bool> interrupted{false};

// A shipped one by its name, another by its text: the server need not have the file.
Result<void> write_policy(JsonWriter& w, const std::string& policy) {
  const auto presets = preset_policy_names();
  if (std::find(presets.begin(), presets.end(), policy) != presets.end()) {
    w.field("policy_name", policy);
    return {};
  }
  const auto text = read_file(policy);
  if (!text) return tl::unexpected(text.error());
  w.field("policy_yaml", *text).field("policy_file", policy);
  return {};
}

Result<std::string> question(const WhatIfOptions& o) {
  JsonWriter w;
  w.object();
  if (!o.policy.empty()) {
    if (const auto ok = write_policy(w, o.policy); !ok) return tl::unexpected(ok.error());
  }
  if (!o.set.empty()) {
    w.key("policy").object();
    for (const auto& [key, value] : o.set) w.field(key, value);
    w.end_object();
  }
  if (o.add_nodes > 0) w.field("add_nodes", o.add_nodes);
  if (o.remove_nodes > 0) w.field("remove_nodes", o.remove_nodes);
  if (!o.remove.empty()) {
    w.key("remove").array();
    for (const std::string& list : o.remove) w.value(list);
    w.end_array();
  }
  if (o.spares) w.field("spares", *o.spares);
  w.field("days", o.days).field("seeds", o.seeds);
  if (o.weather) w.field("weather", *o.weather);
  if (!o.mix.empty()) w.field("mix", o.mix);
  if (o.load) w.field("load", *o.load);
  w.end_object();
  return w.take();
}

std::string about(std::string_view key, const std::string& id) {
  JsonWriter w;
  w.object().field(key, id).end_object();
  return w.take();
}

// Until it is over, or somebody presses Ctrl-C: then one that is `ours` is stopped at the server too.
Result<Value> wait_for(const Client& client, const std::string& id, ProgressMode mode, bool ours) {
  Progress progress("trying", mode);
  for (;;) {
    auto now = client.post(kPath, about(interrupted && ours ? "cancel" : "id", id));
    if (!now || report::text_of(*now, "state") != "running" || interrupted) return now;
    progress.update(report::number_of(*now, "done").value_or(0));
    std::this_thread::sleep_for(kEvery);
  }
}

void add_lines(std::string& s, const Value& answer, std::string_view key, std::string_view lead) {
  const Value* lines = answer.find(key);
  if (lines == nullptr || lines->array() == nullptr) return;
  for (const Value& line : *lines->array()) {
    if (line.string() != nullptr) s += report::wrap(std::string(lead) + printable(*line.string()), 110, lead.size()) + "\n";
  }
}

std::string estimate_text(const Value& metric, std::string_view key) {
  const Value* e = metric.find(key);
  const auto mean = e == nullptr ? std::nullopt : report::number_of(*e, "mean");
  if (!mean) return "-";
  const int decimals = static_cast<int>(report::number_of(metric, "decimals").value_or(2));
  const auto high = report::number_of(*e, "high");
  return fmt::format("{:.{}f}", *mean, decimals) + (high ? fmt::format(" ± {:.{}f}", *high - *mean, decimals) : "");
}

std::string side_text(const Value& answer, std::string_view key) {
  const Value* side = answer.find(key);
  if (side == nullptr) return {};
  const auto spares = report::number_of(*side, "spares").value_or(0);
  return fmt::format("{:.0f} nodes, {:.0f} GPUs, policy {}{}", report::number_of(*side, "nodes").value_or(0),
                     report::number_of(*side, "gpus").value_or(0), printable(report::text_of(*side, "policy")),
                     spares > 0 ? fmt::format(", {:.0f} kept free", spares) : "");
}

std::string render_text(const Value& answer) {
  std::string s;
  add_lines(s, answer, "sentences", "");
  s += fmt::format("\nas it is    {}\nthe change  {}\n", side_text(answer, "base"), side_text(answer, "changed"));
  s += fmt::format("each        {:.0f} seeds of {:g} days, weather x{:g} (simulated)\n\n",
                   report::number_of(answer, "seeds").value_or(0), report::number_of(answer, "days").value_or(0),
                   report::number_of(answer, "weather").value_or(1));
  report::Table t;
  t.columns = {{"METRIC", false, false}, {"AS IT IS", true, false}, {"THE CHANGE", true, false}, {"VERDICT", false, false}};
  const Value* metrics = answer.find("metrics");
  for (const Value& m : metrics != nullptr && metrics->array() != nullptr ? *metrics->array() : Value::Array{}) {
    const std::string unit = report::text_of(m, "unit");
    const std::string outcome = report::text_of(m, "outcome");
    const auto tone = outcome == "better" ? report::Tone::good : outcome == "worse" ? report::Tone::bad : report::Tone::plain;
    const Value* part = m.find("part");
    const std::string indent = part != nullptr && part->boolean() != nullptr && *part->boolean() ? "  " : "";
    t.rows.push_back({report::Cell(indent + report::text_of(m, "title") + (unit.empty() ? "" : ", " + unit)),
                      report::Cell(estimate_text(m, "base")), report::Cell(estimate_text(m, "changed")),
                      report::Cell(report::text_of(m, "verdict"), tone)});
  }
  s += report::render_table(t, {.colour = colour_wanted()});
  s += "\nassumed\n";
  add_lines(s, answer, "assumptions", "  ");
  return s + "\nmethod  " + report::wrap(printable(report::text_of(answer, "method")), 110, 8) + "\n";
}

Value::Array items_of(const Value& list) {
  const Value* items = list.find("items");
  return items == nullptr || items->array() == nullptr ? Value::Array{} : *items->array();
}

// "8 more nodes, silent_after 5m instead of 180s".
std::string changes_of(const Value& item) {
  std::vector<std::string> words;
  const Value* all = item.find("changes");
  for (const Value& one : all == nullptr || all->array() == nullptr ? Value::Array{} : *all->array()) {
    if (one.string() != nullptr) words.push_back(printable(*one.string()));
  }
  return join(words, ", ");
}

int list_all(const Client& client, report::Format format) {
  const auto list = client.post(kPath, "{}");
  if (!list) return say_error(list.error());
  if (format == report::Format::json) {
    put(report::render_json(*list));
    return finish_output();
  }
  report::Table t;
  t.columns = {{"ID", false, false},   {"STATE", false, false},   {"ASKED", false, false}, {"DAYS", true, false},
               {"SEEDS", true, false}, {"WEATHER", true, false}, {"CHANGE", false, false}};
  for (const Value& c : items_of(*list)) {
    const auto number = [&c](const char* key) { return report::number_of(c, key).value_or(0); };
    const std::string state = report::text_of(c, "state");
    t.rows.push_back({report::Cell(report::text_of(c, "id")),
                      report::Cell(state == "running" ? fmt::format("{:.0f} %", 100 * number("done")) : state),
                      report::Cell(report::text_of(c, "asked_utc").substr(0, 19)),
                      report::Cell(fmt::format("{:g}", number("days"))), report::Cell(fmt::format("{:g}", number("seeds"))),
                      report::Cell(fmt::format("x{:g}", number("weather"))), report::Cell(changes_of(c))});
  }
  if (t.rows.empty())
    put("nothing has been asked since Muster was started\n");
  else
    put(report::render_table(t, {.colour = colour_wanted()}));
  return finish_output();
}

int cancel_one(const Client& client, std::string id) {
  if (id.empty()) {
    const auto list = client.post(kPath, "{}");
    if (!list) return say_error(list.error());
    for (const Value& c : items_of(*list)) {
      if (report::text_of(c, "state") == "running") id = report::text_of(c, "id");
    }
    if (id.empty()) return say_error({Code::not_found, "no what-if is running", "`muster whatif --list` shows the last ones"});
  }
  const auto answer = client.post(kPath, about("cancel", id));
  if (!answer) return say_error(answer.error());
  const std::string state = report::text_of(*answer, "state");
  put(state == "running" ? fmt::format("{} is being stopped\n", printable(id))
                         : fmt::format("{} is over already: {}\n", printable(id), printable(state)));
  return finish_output();
}

// Follows one to its end and prints what came of it. `ours`: it was asked for by this command, and ends with it.
int follow(const Client& client, const std::string& id, const WhatIfOptions& o, bool ours) {
  const auto answer = wait_for(client, id, o.progress, ours);
  if (!answer) return say_error(answer.error());
  if (const Value* error = answer->find("error"); error != nullptr)
    return say_error({Code::internal, report::text_of(*error, "what"), report::text_of(*error, "next")});
  if (report::text_of(*answer, "state") != "done") {
    say(!interrupted ? "it was stopped by somebody else" : ours ? "stopped" : "it goes on: `muster whatif --cancel` stops it");
    return interrupted ? kInterrupted : 1;
  }
  put(o.format == report::Format::json ? report::render_json(*answer) : render_text(*answer));
  return finish_output();
}

}  // namespace

int run_whatif(const WhatIfOptions& o) {
  if (o.list || o.cancel || !o.id.empty()) {
    const auto client = Client::open(o.connection);
    if (!client) return say_error(client.error());
    if (o.list) return list_all(*client, o.format);
    if (o.cancel) return cancel_one(*client, o.id);
    std::signal(SIGINT, [](int) { interrupted = true; });
    return follow(*client, o.id, o, false);
  }
  const auto ask = question(o);
  if (!ask) return say_error(ask.error());
  const auto client = Client::open(o.connection);
  if (!client) return say_error(client.error());
  std::signal(SIGINT, [](int) { interrupted = true; });
  const auto started = client->post(kPath, *ask);
  if (!started) return say_error(started.error());
  return follow(*client, report::text_of(*started, "id"), o, true);
}

}  // namespace muster::cmd
