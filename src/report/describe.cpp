#include "report/describe.h"

#include <fmt/format.h>

#include "base/node_list.h"
#include "base/text.h"
#include "model/finding.h"
#include "report/lists.h"
#include "report/table.h"
#include "report/units.h"
#include "report/why.h"

namespace muster::report {
namespace {

constexpr std::size_t kLabelWidth = 14;

class Writer {
 public:
  explicit Writer(const Page& page) : page_(page) {}

  void title(const std::string& text) { out_ += paint(wrap(printable(text), page_.width, 0), Tone::plain, page_.colour) + "\n"; }

  // "State:        suspect"; nothing where there is nothing to say.
  void line(std::string_view label, const std::string& text, Tone tone = Tone::plain) {
    if (text.empty()) return;
    out_ += fmt::format("{:<{}}", fmt::format("{}:", label), kLabelWidth);
    out_ += paint(wrap(printable(text), page_.width, kLabelWidth), tone, page_.colour) + "\n";
  }

  void time(std::string_view label, const Value& item, std::string_view key) { line(label, moment(item, key)); }

  void section(std::string_view heading) { out_ += fmt::format("\n{}\n", paint(heading, Tone::dim, page_.colour)); }

  void bullet(const std::string& text, std::string_view mark = "  - ") {
    out_ += std::string(mark) + wrap(printable(text), page_.width, mark.size()) + "\n";
  }

  void sentence(const std::string& text) { out_ += wrap(printable(text), page_.width, 0) + "\n"; }

  // "2026-01-01T00:03:00Z (4m ago)".
  std::string moment(const Value& item, std::string_view key) const {
    auto text = text_of(item, key);
    const auto t = time_of(item, key);
    return t && page_.now ? text + " (" + render_ago(*t, *page_.now) + ")" : text;
  }

  const Page& page() const { return page_; }
  std::string take() { return std::move(out_); }

 private:
  Page page_;
  std::string out_;
};

std::string where(const Value& item) {
  const auto node = text_of(item, "node");
  const auto slot = number_of(item, "gpu_slot");
  if (node.empty()) {
    const Value* place = item.find("where");
    const auto words = place == nullptr ? std::string() : text_of(*place, "words");
    if (words.empty() && slot && *slot >= 0 && text_of(item, "cause") == name_of(FindingKind::fabric_fault))
      return fmt::format("leaf switch {}", text_of(item, "gpu_slot"));
    return words.empty() ? "the whole site" : words;
  }
  return slot && *slot >= 0 ? fmt::format("{}, GPU {}", node, text_of(item, "gpu_slot")) : node;
}

std::string unless_zero(const Value& item, std::string_view key) {
  auto text = text_of(item, key);
  return text == "0" || text == "-1" ? "" : text;
}

void add_evidence(Writer& w, const Value& finding) {
  for (const auto& e : list_of(finding, "evidence")) {
    const auto ref = text_of(e, "ref");
    w.bullet(fmt::format("{}, {}: {}{}", text_of(e, "witness"), w.moment(e, "at_utc"), text_of(e, "text"),
                         ref.empty() ? "" : " [" + ref + "]"));
  }
}

// Of a finding or an incident; empty where its code is none.
std::string xid_of(const Value& item, std::string_view kind_key) {
  FindingKind kind{};
  const bool other = parse_name(text_of(item, kind_key), kind) && !code_is_xid(kind);
  return other ? std::string() : unless_zero(item, "code");
}

std::string finding_line(const Value& f) {
  const auto code = xid_of(f, "kind");
  const auto subject = text_of(f, "subject");
  return fmt::format("finding {}: {} ({}) on {}{}{}", text_of(f, "id"), text_of(f, "kind"), text_of(f, "severity"), where(f),
                     code.empty() ? "" : ", Xid " + code, subject.empty() ? "" : ": " + subject);
}

std::string action_line(const Writer& w, const Value& a) {
  std::string target = text_of(a, "node");
  if (const auto job = unless_zero(a, "job"); !job.empty()) target += (target.empty() ? "job " : ", job ") + job;
  const auto limit = text_of(a, "limit");
  return fmt::format("{} {} {}: {}{}. {}", w.moment(a, "intended_utc"), text_of(a, "verb"), target, text_of(a, "status"),
                     limit.empty() ? "" : " (" + limit + ")", text_of(a, "sentence"));
}

void describe_node(Writer& w, const Value& n) {
  w.line("Node", text_of(n, "name"));
  w.line("State", text_of(n, "state"), tone_of(text_of(n, "state")));
  w.time("Since", n, "changed_utc");
  w.line("Condition", text_of(n, "condition"));
  w.line("Hold", text_of(n, "hold"));
  w.line("Hold reason", text_of(n, "hold_reason"));
  w.line("Job", unless_zero(n, "job"));
  w.line("Incident", unless_zero(n, "incident"));
  w.line("Incidents", text_of(n, "incidents"));
  w.line("GPUs swapped", text_of(n, "swaps"));
  w.line("Place", fmt::format("{}, leaf {}, pod {}, NVLink domain {}", text_of(n, "rack"), text_of(n, "leaf"), text_of(n, "pod"),
                              text_of(n, "domain")));
}

std::string gpus_of_node(const Value& n, bool colour) {
  Value::Array gpus;
  for (const auto& g : list_of(n, "gpus")) {
    if (!g.object()) continue;
    auto members = *g.object();
    members.push_back({"node", Value(text_of(n, "name"))});
    members.push_back({"job", Value(text_of(n, "job"))});
    gpus.emplace_back(std::move(members));
  }
  auto table = list_table(Noun::gpus, gpus, std::nullopt);
  return gpus.empty() ? "" : "\n" + render_table(table, {true, false, colour});
}

std::string span_of(const Value& item, std::string_view key) {
  const auto s = number_of(item, key);
  return s && *s > 0 ? render_span(from_seconds(*s)) : std::string();
}

std::string list_text(const Value& item, std::string_view key) {
  std::vector<std::string> parts;
  for (const auto& v : list_of(item, key)) {
    if (v.string()) parts.push_back(*v.string());
  }
  return join(parts, ", ");
}

std::string wants(const Value& j) {
  const auto milli = number_of(j, "gpu_milli");
  if (milli && *milli > 0) return fmt::format("{} of one GPU", render_number(*milli / 1000));
  const auto nodes = text_of(j, "nodes_wanted");
  const auto per_node = unless_zero(j, "gpus_per_node");
  const auto what = per_node.empty() ? fmt::format("{} whole node{}", nodes, nodes == "1" ? "" : "s")
                                     : fmt::format("{} piece{} of {} GPUs", nodes, nodes == "1" ? "" : "s", per_node);
  return fmt::format("{}, {} GPUs", what, text_of(j, "gpus"));
}

// What its owner asked for beside nodes; lines that say nothing are left out.
void describe_wishes(Writer& w, const Value& j) {
  w.line("Queue", text_of(j, "queue"));
  w.line("Priority", text_of(j, "priority"));
  w.line("GPU model", text_of(j, "gpu_model"));
  if (const auto within = text_of(j, "within"); within != "core") w.line("Within one", within);
  if (const auto prefer = text_of(j, "prefer"); !prefer.empty() && prefer != "core")
    w.line("Prefers one", fmt::format("{}, and waits {} for it", prefer, span_of(j, "prefer_wait_s")));
  if (const auto segment = unless_zero(j, "segment"); !segment.empty())
    w.line("Segments", fmt::format("of {} nodes, each within one NVLink domain", segment));
  w.line("After", list_text(j, "after"));
  w.line("Waits for", list_text(j, "waits_for"));
  w.line("Time limit", span_of(j, "time_limit_s"));
  w.time("Deadline", j, "deadline_utc");
  if (const auto* d = j.find("deferrable"); d && d->boolean() && *d->boolean())
    w.line("Deferrable", "yes: it may wait for cheap power, as far as its deadline allows");
  if (const auto value = unless_zero(j, "value_per_gpu_h"); !value.empty()) w.line("Value", value + " per GPU-hour");
}

void describe_queue(Writer& w, const Value& q) {
  const auto gpus = [&](std::string_view key, std::string_view none) {
    const auto text = text_of(q, key);
    return text.empty() ? std::string(none) : text + " GPUs";
  };
  w.line("Queue", text_of(q, "name"));
  w.line("Parent", text_of(q, "parent"));
  w.line("Weight", text_of(q, "weight"));
  w.line("Guaranteed", gpus("guaranteed_gpus", "nothing"));
  w.line("Limit", gpus("limit_gpus", "none"));
  if (const auto kw = text_of(q, "limit_kw"); !kw.empty()) w.line("Power limit", kw + " kW");
  w.line("Borrows", text_of(q, "borrow") == "true" ? "yes" : "no");
  w.line("Lends", text_of(q, "lend") == "true" ? "yes" : "no");
  w.line("Holds", fmt::format("{}, {} of them borrowed; {} running", gpus("held_gpus", "0 GPUs"), text_of(q, "borrowed_gpus"),
                              text_of(q, "running_jobs")));
  w.line("Waiting", fmt::format("{} jobs for {} GPUs", text_of(q, "waiting_jobs"), text_of(q, "waiting_gpus")));
  w.line("Fair share", render_percent(number_of(q, "share_due")));
  w.line("Used", render_percent(number_of(q, "share_used")));
  w.line("Past use", gpus("past_gpus", "0 GPUs") + " on average, half-life " + span_of(q, "half_life_s"));
  for (const auto& m : list_of(q, "models")) {
    const auto limit = text_of(m, "limit_gpus");
    w.line(text_of(m, "model"), fmt::format("{} guaranteed, limit {}, {} held", text_of(m, "guaranteed_gpus"),
                                            limit.empty() ? "none" : limit, text_of(m, "held_gpus")));
  }
}

// An array, named whole.
void describe_array(Writer& w, const Value& j) {
  constexpr std::size_t kNamed = 10;
  std::vector<std::string> named;
  const auto& members = list_of(j, "members");
  for (const auto& m : members) {
    if (m.string() && named.size() < kNamed) named.push_back(*m.string());
  }
  w.line("Job", text_of(j, "id"));
  w.line("Name", text_of(j, "name"));
  w.line("User", text_of(j, "user"));
  w.line("Account", text_of(j, "account"));
  w.line("Queue", text_of(j, "queue"));
  const auto* phases = j.find("phases");
  for (const auto& m : phases && phases->object() ? *phases->object() : Value::Object{}) w.line(m.key, text_of(*phases, m.key));
  w.line("Members", join(named, ", ") + (members.size() > kNamed ? fmt::format(" and {} more", members.size() - kNamed) : ""));
}

void describe_job(Writer& w, const Value& j) {
  if (j.find("members")) return describe_array(w, j);
  std::vector<std::string> names;
  for (const auto& n : list_of(j, "nodes")) {
    if (n.string()) names.push_back(*n.string());
  }
  w.line("Job", text_of(j, "id"));
  w.line("Name", text_of(j, "name"));
  w.line("User", text_of(j, "user"));
  w.line("Account", text_of(j, "account"));
  w.line("Phase", text_of(j, "phase"), tone_of(text_of(j, "phase")));
  w.line("Note", text_of(j, "note"), Tone::warn);
  w.line("Wants", wants(j));
  describe_wishes(w, j);
  const auto phase = text_of(j, "phase");  // those of the last attempt stay known until the next one
  w.line(phase == "running" ? "Runs on" : phase == "starting" ? "Starts on" : "Ran on", compress_node_list(std::move(names)));
  if (const auto* p = j.find("placement"); p && phase != "queued" && unless_zero(*p, "leaves") != "") {
    w.line("Placement", fmt::format("{} leaf switch{}, no choice could have used fewer than {}. {}", text_of(*p, "leaves"),
                                    text_of(*p, "leaves") == "1" ? "" : "es", text_of(*p, "leaves_min"), text_of(*p, "why")));
  }
  w.line("Progress", fmt::format("{}: step {} of {}, safe in a checkpoint up to {}", render_percent(number_of(j, "progress")),
                                 text_of(j, "steps"), text_of(j, "steps_total"), text_of(j, "durable_steps")));
  if (const auto* c = j.find("checkpoint"); c && c->object()) w.line("Checkpoint", text_of(*c, "words"));
  w.line("Attempt", unless_zero(j, "attempt"));
  w.line("Restarts", text_of(j, "restarts"));
  w.time("Submitted", j, "submitted_utc");
  w.time("Started", j, "started_utc");
  w.time("Ended", j, "ended_utc");
  w.line("Last end", text_of(j, "last_end"));
  w.line("Detail", text_of(j, "last_detail"));
}

void describe_incident(Writer& w, const Value& i) {
  const bool open = text_of(i, "closed_utc").empty();
  w.line("Incident", text_of(i, "id"));
  w.line("Where", where(i));
  w.line("Cause", text_of(i, "cause"));
  w.line("What", text_of(i, "subject"));
  w.line("Xid", xid_of(i, "cause"));
  w.line("Stage", text_of(i, "stage"), open ? Tone::warn : Tone::good);
  w.line("Job", unless_zero(i, "job"));
  w.time("Opened", i, "opened_utc");
  w.time("Closed", i, "closed_utc");
  w.line("Resolution", text_of(i, "resolution"));
  if (!list_of(i, "findings").empty()) w.section("What was found");
  for (const auto& f : list_of(i, "findings")) {
    w.sentence(finding_line(f));
    add_evidence(w, f);
  }
  if (!list_of(i, "actions").empty()) w.section("What was done, and why");
  for (const auto& a : list_of(i, "actions")) w.bullet(action_line(w, a));
  if (!list_of(i, "notes").empty()) w.section("How it went");
  for (const auto& n : list_of(i, "notes")) w.bullet(w.moment(n, "at_utc") + " " + text_of(n, "text"));
}

void describe_finding(Writer& w, const Value& f) {
  w.line("Finding", text_of(f, "id"));
  w.line("Kind", text_of(f, "kind"));
  w.line("Severity", text_of(f, "severity"), tone_of(text_of(f, "severity")));
  const Value* place = f.find("where");
  w.line("Where", place != nullptr && !text_of(*place, "words").empty() ? text_of(*place, "words") : where(f));
  w.line("What", text_of(f, "subject"));
  w.line("Job", unless_zero(f, "job"));
  w.line("Xid", xid_of(f, "kind"));
  w.time("Since", f, "since_utc");
  w.time("Opened", f, "opened_utc");
  w.time("Cleared", f, "cleared_utc");
  w.line("Confidence", text_of(f, "confidence"));
  w.line("Suggestion", text_of(f, "suggestion"));
  if (const Value* cost = f.find("cost")) {
    const auto money = unless_zero(*cost, "money");
    w.line("Cost so far",
           text_of(*cost, "gpu_hours") + " GPU-hours" + (money.empty() ? "" : ", " + money + " " + text_of(*cost, "currency")));
  }
  const auto cause = unless_zero(f, "part_of");
  if (!cause.empty()) w.line("Part of", "finding " + cause + " (muster describe finding " + cause + ")");
  if (const auto members = unless_zero(f, "members"); !members.empty())
    w.line("Explains", members + " findings on " + text_of(f, "member_nodes"));
  if (!list_of(f, "evidence").empty()) w.section("Evidence");
  add_evidence(w, f);
}

void describe_action(Writer& w, const Value& a) {
  std::string findings;
  for (const auto& f : list_of(a, "findings")) {
    if (f.integer()) findings += (findings.empty() ? "" : ", ") + std::to_string(*f.integer());
  }
  w.line("Action", text_of(a, "key"));
  w.line("Verb", text_of(a, "verb"));
  if (!text_of(a, "node").empty()) w.line("Where", where(a));
  w.line("Job", unless_zero(a, "job"));
  w.line("Status", text_of(a, "status"), tone_of(text_of(a, "status")));
  w.line("Limit", text_of(a, "limit"));
  w.line("Detail", text_of(a, "detail"));
  w.time("Intended", a, "intended_utc");
  w.time("Ended", a, "ended_utc");
  w.line("Why", text_of(a, "sentence"));
  w.line("Rule", text_of(a, "rule"));
  w.line("Findings", findings);
  w.line("Incident", unless_zero(a, "incident"));
  w.line("Budget", text_of(a, "budget"));
  w.line("Actor", text_of(a, "actor"));
  if (!list_of(a, "alternatives").empty()) w.section("What else was considered");
  for (const auto& other : list_of(a, "alternatives")) {
    if (other.string()) w.bullet(*other.string());
  }
}

// A piece of an explanation is a sentence or an object with the usual members.
std::string piece_of(const Writer& w, const Value& v) {
  if (const auto* s = v.string()) return *s;
  if (v.find("verb")) return action_line(w, v);
  if (v.find("witness")) return fmt::format("{}, {}: {}", text_of(v, "witness"), w.moment(v, "at_utc"), text_of(v, "text"));
  return text_of(v, "text");
}

void add_pieces(Writer& w, const Value& answer, std::string_view key, std::string_view heading) {
  const auto& list = list_of(answer, key);
  if (list.empty()) return;
  w.section(heading);
  for (const auto& v : list) w.bullet(piece_of(w, v));
}

}  // namespace

std::string describe(Noun noun, const Value& item, const Page& page) {
  Writer w(page);
  switch (noun) {
    case Noun::nodes: describe_node(w, item); return w.take() + gpus_of_node(item, page.colour);
    case Noun::jobs: describe_job(w, item); break;
    case Noun::queues: describe_queue(w, item); break;
    case Noun::incidents: describe_incident(w, item); break;
    case Noun::findings: describe_finding(w, item); break;
    case Noun::actions: describe_action(w, item); break;
    case Noun::gpus:
    case Noun::leaves:
    case Noun::links: return render_table(list_table(noun, {item}, page.now), {true, true, page.colour});
  }
  return w.take();
}

std::string render_explanation(const Value& answer, const Page& page) {
  Writer w(page);
  w.title(text_of(answer, "title"));
  if (!list_of(answer, "sentences").empty()) w.section("In plain words");
  for (const auto& s : list_of(answer, "sentences")) w.sentence(piece_of(w, s));
  const bool recorded = answer.find("record") != nullptr;  // then each decision tells its own
  const bool decided = !list_of(answer, "decisions").empty();
  if (!decided || text_of(answer, "kind") != "action") add_pieces(w, answer, "evidence", "Evidence");
  if (const auto rule = text_of(answer, "rule"); !rule.empty() && !decided) {
    w.section("Rule");
    w.sentence(rule);
  }
  if (!decided) add_pieces(w, answer, "alternatives", "What else was considered");
  if (!decided) add_pieces(w, answer, "actions", "What was done");
  if (decided) w.section("Decisions, oldest first");
  return w.take() + (recorded ? render_decisions(answer, page) : "");
}

}  // namespace muster::report
