#include "report/lists.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/node_list.h"
#include "base/text.h"
#include "model/finding.h"
#include "report/queues.h"
#include "report/units.h"

namespace muster::report {
namespace {

constexpr auto kRight = true;
constexpr auto kWide = true;

Cell words(std::string text, Tone tone = Tone::plain) {
  Cell c(text.empty() ? "-" : text, text.empty() ? Tone::dim : tone);
  if (text.empty()) c.raw = "";
  return c;
}

Cell state(const Value& item, std::string_view key) {
  auto text = text_of(item, key);
  const auto tone = tone_of(text);
  return words(std::move(text), tone);
}

Cell field(const Value& item, std::string_view key) { return words(text_of(item, key)); }

// Ids and counts; 0 and -1 mean none where `none_below` says so.
Cell whole(const Value& item, std::string_view key, double none_below = 0) {
  const auto n = number_of(item, key);
  if (!n || *n < none_below) return words(n ? "" : text_of(item, key));
  Cell c(text_of(item, key));
  c.key = n;
  return c;
}

Cell reading(std::optional<double> n, int decimals = 0) {
  if (!n || *n < 0) return words("");
  Cell c(render_decimal(*n, decimals));
  c.raw = render_number(*n);
  c.key = n;
  return c;
}

Cell age(const Value& item, std::string_view key, std::optional<Time> now) {
  const auto t = time_of(item, key);
  if (!t || !now) return words(text_of(item, key));
  Cell c(render_span(*now - *t));
  c.raw = text_of(item, key);
  c.key = (*now - *t).seconds();
  return c;
}

// From `from` to `to`, or to now while `to` is not there yet.
Cell lasted(const Value& item, std::string_view from, std::string_view to, std::optional<Time> now) {
  const auto a = time_of(item, from);
  const auto b = time_of(item, to);
  if (!a || (!b && !now)) return words("");
  const auto length = (b ? *b : *now) - *a;
  Cell c(render_span(length));
  c.raw = render_number(length.seconds());
  c.key = length.seconds();
  return c;
}

Cell share(const Value& item, std::string_view key) {
  const auto n = number_of(item, key);
  if (!n) return words("");
  Cell c(render_percent(n));
  c.raw = render_number(*n);
  c.key = n;
  return c;
}

std::string node_names(const Value& item) {
  std::vector<std::string> names;
  for (const auto& n : list_of(item, "nodes")) {
    if (n.string()) names.push_back(*n.string());
  }
  return compress_node_list(std::move(names));
}

// The hottest, or the sum, over a node's GPUs.
std::optional<double> over_gpus(const Value& node, std::string_view key, bool sum) {
  std::optional<double> out;
  for (const auto& gpu : list_of(node, "gpus")) {
    const auto n = number_of(gpu, key);
    if (n && *n >= 0) out = !out ? *n : sum ? *out + *n : std::max(*out, *n);
  }
  return out;
}

Table nodes(const Value::Array& items, std::optional<Time> now) {
  Table t{{{"NAME"},
           {"STATE"},
           {"JOB"},
           {"INCIDENT", kRight},
           {"RACK"},
           {"LEAF", kRight},
           {"GPUS", kRight},
           {"MAX C", kRight},
           {"KW", kRight},
           {"SINCE"},
           {"CONDITION", false, kWide},
           {"HOLD", false, kWide},
           {"POD", kRight, kWide},
           {"DOMAIN", kRight, kWide},
           {"INCIDENTS", kRight, kWide},
           {"SWAPS", kRight, kWide},
           {"REASON", false, kWide}},
          {}};
  for (const auto& i : items) {
    auto kw = over_gpus(i, "power_w", true);
    if (kw) *kw /= 1000;
    Cell gpus(std::to_string(list_of(i, "gpus").size()));
    t.rows.push_back({field(i, "name"), state(i, "state"), field(i, "job"), whole(i, "incident", 1), field(i, "rack"),
                      whole(i, "leaf"), std::move(gpus), reading(over_gpus(i, "temp_c", false)), reading(kw, 1),
                      age(i, "changed_utc", now), field(i, "condition"), field(i, "hold"), whole(i, "pod"), whole(i, "domain"),
                      whole(i, "incidents"), whole(i, "swaps"), field(i, "hold_reason")});
  }
  return t;
}

// "3.59 USD/h"; nothing where nothing is lost.
Cell losing(const Value& gpu) {
  const auto n = number_of(gpu, "losing");
  if (!n || *n <= 0) return words("");
  Cell c = reading(n, 2);
  c.text += " " + text_of(gpu, "losing_unit");
  return c;
}

Table gpus(const Value::Array& items) {
  Table t{{{"NODE"},
           {"SLOT", kRight},
           {"STATE"},
           {"JOB"},
           {"TEMP C", kRight},
           {"POWER W", kRight},
           {"UTIL %", kRight},
           {"SM MHZ", kRight},
           {"PEERS MAD", kRight, kWide},
           {"RISK", kRight, kWide},
           {"LOSING", kRight, kWide}},
          {}};
  for (const auto& i : items) {
    t.rows.push_back({field(i, "node"), whole(i, "slot"), state(i, "state"), field(i, "job"), reading(number_of(i, "temp_c")),
                      reading(number_of(i, "power_w")), reading(number_of(i, "util_pct")),
                      reading(number_of(i, "sm_clock_mhz")), reading(number_of(i, "peers_mad"), 1),
                      reading(number_of(i, "risk")), losing(i)});
  }
  return t;
}

// A share of one GPU counts in part.
Cell job_gpus(const Value& job) {
  const auto milli = number_of(job, "gpu_milli");
  if (!milli || *milli <= 0) return whole(job, "gpus");
  Cell c(render_number(*milli / 1000));
  c.key = *milli / 1000;
  return c;
}

Table jobs(const Value::Array& items, std::optional<Time> now) {
  Table t{{{"ID", kRight},
           {"NAME"},
           {"USER"},
           {"PHASE"},
           {"NODES", kRight},
           {"GPUS", kRight},
           {"PROGRESS", kRight},
           {"RESTARTS", kRight},
           {"AGE"},
           {"RUNS FOR"},
           {"NOTE"},
           {"ACCOUNT", false, kWide},
           {"QUEUE", false, kWide},
           {"PRIORITY", kRight, kWide},
           {"STEPS", kRight, kWide},
           {"SAFE", kRight, kWide},
           {"LEAVES", kRight, kWide},
           {"LAST END", false, kWide},
           {"WHERE", false, kWide}},
          {}};
  for (const auto& i : items) {
    const bool runs = text_of(i, "phase") == "running";
    const auto* placement = i.find("placement");
    t.rows.push_back({whole(i, "id"), field(i, "name"), field(i, "user"), state(i, "phase"), whole(i, "nodes_wanted"),
                      job_gpus(i), share(i, "progress"), whole(i, "restarts"), age(i, "submitted_utc", now),
                      runs ? age(i, "started_utc", now) : words(""), field(i, "note"), field(i, "account"), field(i, "queue"),
                      whole(i, "priority", -1e9), whole(i, "steps"), whole(i, "durable_steps"),
                      placement ? whole(*placement, "leaves", 1) : words(""), field(i, "last_end"), words(node_names(i))});
  }
  return t;
}

// GPUs, of which a shared one counts in part: "0.3".
Cell part(const Value& item, std::string_view key) {
  const auto n = number_of(item, key);
  if (!n) return words("");
  Cell c(render_number(*n));
  c.key = n;
  return c;
}

Table queues(const Value::Array& items) {
  Table t{{{"NAME"},
           {"GUARANTEED", kRight},
           {"LIMIT", kRight},
           {"HELD", kRight},
           {"BORROWED", kRight},
           {"RUNNING", kRight},
           {"WAITING", kRight},
           {"GPUS WANTED", kRight},
           {"FAIR SHARE", kRight},
           {"USED", kRight},
           {"PAST GPUS", kRight},
           {"PARENT", false, kWide},
           {"WEIGHT", kRight, kWide},
           {"LIMIT KW", kRight, kWide},
           {"BORROWS", false, kWide},
           {"LENDS", false, kWide}},
          {}};
  for (const auto& i : items) {
    const bool no_queue = text_of(i, "name") == kNoQueue;  // nothing is due to it
    t.rows.push_back({field(i, "name"), part(i, "guaranteed_gpus"), part(i, "limit_gpus"), part(i, "held_gpus"),
                      part(i, "borrowed_gpus"), whole(i, "running_jobs"), whole(i, "waiting_jobs"), part(i, "waiting_gpus"),
                      no_queue ? words("") : share(i, "share_due"), share(i, "share_used"), reading(number_of(i, "past_gpus"), 1),
                      field(i, "parent"), part(i, "weight"), part(i, "limit_kw"), field(i, "borrow"), field(i, "lend")});
  }
  return t;
}

const Value& part_of(const Value& item, std::string_view key) {
  static const Value kNone;
  const Value* v = item.find(key);
  return v != nullptr ? *v : kNone;
}

// What is about no node: in its place where it is, for people only.
Cell node_or_place(const Value& item) {
  Cell c = field(item, "node");
  if (!text_of(item, "node").empty()) return c;
  if (const std::string place = text_of(part_of(item, "where"), "words"); !place.empty()) c.text = place;
  return c;
}

// Of what is about no node the slot is none of a GPU.
Cell gpu(const Value& item) { return text_of(item, "node").empty() ? words("") : whole(item, "gpu_slot"); }

// What many nodes share is told with what they have.
Cell subject(const Value& item) {
  std::vector<std::string> kinds;
  for (const Value& kind : list_of(item, "member_kinds")) {
    if (kind.string() != nullptr) kinds.push_back(*kind.string());
  }
  const std::string text = text_of(item, "subject");
  if (kinds.empty()) return words(text);
  Cell c = words(fmt::format("{} ({})", text, join(kinds, ", ")));
  c.raw = text;
  return c;
}

// An Xid; of some kinds it says how sure they are, which has its own column, or what their subject says in words.
Cell xid(const Value& item, std::string_view kind_key) {
  FindingKind kind{};
  const bool other = parse_name(text_of(item, kind_key), kind) && !code_is_xid(kind);
  return other ? words("") : whole(item, "code", 1);
}

Table findings(const Value::Array& items, std::optional<Time> now) {
  Table t{{{"ID", kRight},
           {"KIND"},
           {"SEVERITY"},
           {"NODE"},
           {"GPU", kRight},
           {"JOB"},
           {"CODE", kRight},
           {"WITNESSES", kRight},
           {"AGE"},
           {"LASTED"},
           {"STATE"},
           {"SUBJECT"},
           {"PART OF", kRight, kWide},
           {"SINCE", false, kWide},
           {"WHERE", false, kWide},
           {"RACK", false, kWide},
           {"NIC", false, kWide},
           {"SWITCH", false, kWide},
           {"PORT", false, kWide},
           {"CABLE", false, kWide},
           {"PCI", false, kWide},
           {"UUID", false, kWide},
           {"SERIAL", false, kWide},
           {"SURE", kRight, kWide},
           {"GPU-HOURS", kRight, kWide},
           {"COST", kRight, kWide},
           {"SUGGESTION", false, kWide},
           {"NEWEST EVIDENCE", false, kWide}},
          {}};
  for (const auto& i : items) {
    std::set<std::string> witnesses;
    const auto& evidence = list_of(i, "evidence");
    for (const auto& e : evidence) witnesses.insert(text_of(e, "witness"));
    Cell seen(std::to_string(witnesses.size()));
    seen.key = static_cast<double>(witnesses.size());
    const bool open = text_of(i, "cleared_utc").empty();
    const Value &where = part_of(i, "where"), &cost = part_of(i, "cost");
    t.rows.push_back({whole(i, "id"),
                      field(i, "kind"),
                      state(i, "severity"),
                      node_or_place(i),
                      gpu(i),
                      field(i, "job"),
                      xid(i, "kind"),
                      std::move(seen),
                      age(i, "opened_utc", now),
                      lasted(i, "opened_utc", "cleared_utc", now),
                      open ? words("open", Tone::warn) : words("cleared", Tone::good),
                      subject(i),
                      whole(i, "part_of", 1),
                      field(i, "since_utc"),
                      words(text_of(where, "words")),
                      words(text_of(where, "rack")),
                      words(text_of(where, "nic")),
                      words(text_of(where, "switch")),
                      words(text_of(where, "port")),
                      words(text_of(where, "cable")),
                      words(text_of(where, "pci")),
                      words(text_of(where, "uuid")),
                      words(text_of(where, "serial")),
                      reading(number_of(i, "confidence"), 2),
                      reading(number_of(cost, "gpu_hours"), 1),
                      reading(number_of(cost, "money"), 2),
                      field(i, "suggestion"),
                      words(evidence.empty() ? "" : text_of(evidence.back(), "text"))});
  }
  return t;
}

Table incidents(const Value::Array& items, std::optional<Time> now) {
  // Most incidents have no other subject than their node: a column of dashes would take its name's room.
  const bool subjects = std::any_of(items.begin(), items.end(), [](const Value& i) { return !text_of(i, "subject").empty(); });
  Table t{{{"ID", kRight},
           {"NODE"},
           {"GPU", kRight},
           {"CAUSE"},
           {"STAGE"},
           {"JOB"},
           {"AGE"},
           {"LASTED"},
           {"RESOLUTION"},
           {"SUBJECT", false, !subjects},
           {"CODE", kRight, kWide},
           {"RUNG", kRight, kWide},
           {"FINDINGS", kRight, kWide},
           {"ACTIONS", kRight, kWide},
           {"LAST NOTE", false, kWide}},
          {}};
  for (const auto& i : items) {
    const auto& notes = list_of(i, "notes");
    const bool open = text_of(i, "closed_utc").empty();
    t.rows.push_back({whole(i, "id"), node_or_place(i), gpu(i), field(i, "cause"),
                      words(text_of(i, "stage"), open ? Tone::warn : Tone::good), field(i, "job"), age(i, "opened_utc", now),
                      lasted(i, "opened_utc", "closed_utc", now), field(i, "resolution"), field(i, "subject"), xid(i, "cause"),
                      whole(i, "rung"), Cell(std::to_string(list_of(i, "findings").size())),
                      Cell(std::to_string(list_of(i, "actions").size())),
                      words(notes.empty() ? "" : text_of(notes.back(), "text"))});
  }
  return t;
}

Table actions(const Value::Array& items, std::optional<Time> now) {
  Table t{{{"AGE"},
           {"VERB"},
           {"NODE"},
           {"GPU", kRight},
           {"JOB"},
           {"STATUS"},
           {"WHY"},
           {"TOOK", false, kWide},
           {"RULE", false, kWide},
           {"INCIDENT", kRight, kWide},
           {"ACTOR", false, kWide},
           {"LIMIT", false, kWide},
           {"KEY", false, kWide}},
          {}};
  for (const auto& i : items) {
    auto limit = text_of(i, "limit");
    if (limit.empty()) limit = text_of(i, "budget");
    t.rows.push_back({age(i, "intended_utc", now), field(i, "verb"), field(i, "node"), whole(i, "gpu_slot"), field(i, "job"),
                      state(i, "status"), field(i, "sentence"), lasted(i, "intended_utc", "ended_utc", std::nullopt),
                      field(i, "rule"), whole(i, "incident", 1), field(i, "actor"), words(std::move(limit)), field(i, "key")});
  }
  return t;
}

// How many of a rail's links are not up, worst first: "down 1, unknown 3".
std::string trouble_on(const Value& counts) {
  std::string out;
  for (const std::string_view state : {"down", "errors", "flapped", "told", "unknown"}) {
    const auto n = number_of(counts, state);
    if (n && *n > 0) out += fmt::format("{}{} {:.0f}", out.empty() ? "" : ", ", state, *n);
  }
  return out;
}

Table leaves(const Value::Array& items) {
  Table t{{{"NAME"},
           {"POD", kRight},
           {"NODES", kRight},
           {"LINKS", kRight},
           {"DOWN", kRight},
           {"ERRORS", kRight},
           {"FLAPPED", kRight},
           {"UNKNOWN", kRight},
           {"RAILS"},
           {"JOBS UP", kRight},
           {"AT WORST", kRight},
           {"TOLD", kRight, kWide},
           {"RING GBPS", kRight, kWide},
           {"WORST GBPS", kRight, kWide},
           {"CARRIES GBPS", kRight, kWide},
           {"WHERE", false, kWide}},
          {}};
  for (const auto& i : items) {
    std::string where;
    for (const auto& rail : list_of(i, "cell_counts")) {
      where += fmt::format("{}rail {}: {}", where.empty() ? "" : "; ", text_of(rail, "rail"), trouble_on(rail));
    }
    const bool bad = number_of(i, "down").value_or(0) > 0;
    Cell down = whole(i, "down");
    if (bad) down.tone = Tone::bad;
    t.rows.push_back({field(i, "name"), whole(i, "pod"), whole(i, "nodes"), whole(i, "links"), std::move(down),
                      whole(i, "errors"), whole(i, "flapped"), whole(i, "unknown"), field(i, "cells"), whole(i, "crossing_jobs"),
                      share(i, "worst_case_share"), whole(i, "told"), reading(number_of(i, "ring_gbps")),
                      reading(number_of(i, "worst_case_gbps")), reading(number_of(i, "capacity_gbps")), words(std::move(where))});
  }
  return t;
}

// The node's end of a link: its NIC; of NVLinks the GPU.
std::string near_end(const Value& link) {
  const auto nic = text_of(link, "nic");
  return nic.empty() ? "GPU " + text_of(link, "slot") : nic;
}

Table links(const Value::Array& items, std::optional<Time> now) {
  Table t{{{"NODE"},
           {"NIC"},
           {"STATE"},
           {"FOR"},
           {"LEAF"},
           {"SWITCH"},
           {"PORT"},
           {"CABLE"},
           {"JOB"},
           {"JOB HURT"},
           {"INCIDENT", kRight},
           {"KIND", false, kWide},
           {"FINDING", kRight, kWide},
           {"PART OF", kRight, kWide},
           {"POD", kRight, kWide},
           {"RACK", false, kWide},
           {"BOUNCED", false, kWide},
           {"EVIDENCE", false, kWide},
           {"SUGGESTION", false, kWide}},
          {}};
  for (const auto& i : items) {
    t.rows.push_back({field(i, "node"), words(near_end(i)), state(i, "state"), age(i, "since_utc", now), field(i, "leaf"),
                      field(i, "switch"), field(i, "port"), field(i, "cable"), field(i, "job"), field(i, "hurt"),
                      whole(i, "incident", 1), field(i, "kind"), whole(i, "finding", 1), whole(i, "part_of", 1), whole(i, "pod"),
                      field(i, "rack"), age(i, "bounced_utc", now), field(i, "evidence"), field(i, "suggestion")});
  }
  return t;
}

}  // namespace

Tone tone_of(std::string_view word) {
  for (const std::string_view w : {"busy", "running", "completed", "done", "healthy", "up", "closed", "cleared"}) {
    if (word == w) return Tone::good;
  }
  for (const std::string_view w :
       {"suspect", "repairing", "booting", "starting", "warning", "broken", "unknown", "pending", "lost", "errors", "flapped"}) {
    if (word == w) return Tone::warn;
  }
  for (const std::string_view w : {"down", "failed", "critical", "refused_by_guard", "refused"}) {
    if (word == w) return Tone::bad;
  }
  for (const std::string_view w : {"drained", "cancelled"}) {
    if (word == w) return Tone::dim;
  }
  return Tone::plain;
}

std::string name_of(Noun noun, const Value& item) {
  switch (noun) {
    case Noun::nodes:
    case Noun::queues:
    case Noun::leaves: return text_of(item, "name");
    case Noun::links: return text_of(item, "node") + ":" + near_end(item);
    case Noun::gpus: return text_of(item, "node") + ":" + text_of(item, "slot");
    case Noun::actions: return text_of(item, "key");
    case Noun::jobs:
    case Noun::findings:
    case Noun::incidents: return text_of(item, "id");
  }
  return "";
}

Table list_table(Noun noun, const Value::Array& items, std::optional<Time> now) {
  switch (noun) {
    case Noun::nodes: return nodes(items, now);
    case Noun::gpus: return gpus(items);
    case Noun::jobs: return jobs(items, now);
    case Noun::queues: return queues(items);
    case Noun::findings: return findings(items, now);
    case Noun::incidents: return incidents(items, now);
    case Noun::actions: return actions(items, now);
    case Noun::leaves: return leaves(items);
    case Noun::links: return links(items, now);
  }
  return {};
}

}  // namespace muster::report
