#include "report/record_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "model/finding.h"
#include "report/table.h"
#include "report/units.h"

namespace muster::report {
namespace {

constexpr std::size_t kRowsShown = 100;

// Times in the answer's lists are milliseconds after its beginning.
class Window {
 public:
  explicit Window(const Value& v) : v_(v), origin_(time_of(v, "from_utc").value_or(Time{})) {}

  static const Value& part(const Value& row, std::size_t i) {
    static const Value kNone;
    const auto* a = row.array();
    return a != nullptr && i < a->size() ? (*a)[i] : kNone;
  }
  static std::string words(const Value& row, std::size_t i) {
    const Value& v = part(row, i);
    if (v.string() != nullptr) return *v.string();
    return v.integer() != nullptr ? std::to_string(*v.integer()) : std::string();
  }
  static std::optional<std::int64_t> number(const Value& row, std::size_t i) {
    const auto* n = part(row, i).integer();
    return n == nullptr ? std::nullopt : std::optional(*n);
  }
  // "2026-11-15 02:03:04"; where it goes on there is none.
  std::string at(const Value& row, std::size_t i) const {
    const auto ms = number(row, i);
    if (!ms) return "goes on";
    std::string utc = render_utc(origin_ + milliseconds(*ms)).substr(0, 19);
    std::replace(utc.begin(), utc.end(), 'T', ' ');
    return utc;
  }
  std::string node(const Value& row, std::size_t i) const {
    const auto n = number(row, i);
    const auto& all = list_of(v_, "nodes");
    if (!n || *n < 0 || static_cast<std::size_t>(*n) >= all.size()) return "whole site";
    const std::string* name = all[static_cast<std::size_t>(*n)].string();
    return name == nullptr ? std::string() : *name;
  }
  // Empty: it still runs.
  std::string end(const Value& row, std::size_t i) const {
    const auto n = number(row, i);
    const auto& all = list_of(v_, "ends");
    if (!n || *n < 0 || static_cast<std::size_t>(*n) >= all.size()) return {};
    const std::string* name = all[static_cast<std::size_t>(*n)].string();
    return name == nullptr ? std::string() : *name;
  }
  const Value& all() const { return v_; }

 private:
  const Value& v_;
  Time origin_;
};

bool bad(std::string_view end) { return end == "app_failed" || end == "node_failed" || end == "timed_out"; }

// Of what is about no node the slot is a row of racks, or a leaf.
std::string place_of(const Window& w, const Value& incident) {
  const std::int64_t slot = Window::number(incident, 2).value_or(-1);
  if (slot < 0) return w.node(incident, 1);
  if (Window::number(incident, 1)) return fmt::format("{} GPU {}", w.node(incident, 1), slot);
  if (Window::words(incident, 3) == name_of(FindingKind::fabric_fault)) return fmt::format("leaf switch {}", slot);
  return fmt::format("row {}", slot + 1);
}

Table incidents_of(const Window& w) {
  Table t{{{"ID", true}, {"CAUSE"}, {"WHERE"}, {"OPENED"}, {"CLOSED"}, {"HOW IT ENDED"}}, {}};
  std::vector<const Value*> rows;
  for (const Value& row : list_of(w.all(), "incidents")) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const Value* a, const Value* b) {
    return Window::number(*a, 4).value_or(0) > Window::number(*b, 4).value_or(0);
  });
  for (const Value* row : rows) {
    const std::string where = place_of(w, *row);
    const std::string how = Window::words(*row, 6);
    t.rows.push_back({Cell(Window::words(*row, 0)), Cell(Window::words(*row, 3)), Cell(where), Cell(w.at(*row, 4)),
                      Cell(w.at(*row, 5)), Cell(how.empty() ? "-" : how)});
  }
  return t;
}

std::int64_t nodes_of(const Value& job) {
  std::int64_t out = 0;
  const auto* places = Window::part(job, 4).array();
  for (std::size_t i = 0; places != nullptr && i < places->size(); ++i) out += Window::number((*places)[i], 1).value_or(0);
  return out;
}

std::string name_of_job(const Window& w, const Value& job) {
  const auto label = Window::number(job, 6);
  const auto& all = list_of(w.all(), "job_names");
  if (!label || *label < 0 || static_cast<std::size_t>(*label) >= all.size()) return {};
  return Window::words(all[static_cast<std::size_t>(*label)], 0);
}

Table ends_of(const Window& w) {
  Table t{{{"JOB", true}, {"NAME"}, {"ATTEMPT", true}, {"NODES", true}, {"STARTED"}, {"ENDED"}, {"HOW"}}, {}};
  std::vector<const Value*> rows;
  for (const Value& row : list_of(w.all(), "jobs")) {
    if (Window::number(row, 3)) rows.push_back(&row);
  }
  std::stable_sort(rows.begin(), rows.end(), [&](const Value* a, const Value* b) {
    const bool worse = bad(w.end(*a, 5)), other = bad(w.end(*b, 5));
    if (worse != other) return worse;
    return Window::number(*a, 3).value_or(0) > Window::number(*b, 3).value_or(0);
  });
  for (const Value* row : rows) {
    const std::string how = w.end(*row, 5);
    t.rows.push_back({Cell(Window::words(*row, 0)), Cell(name_of_job(w, *row)), Cell(Window::words(*row, 1)),
                      Cell(render_count(nodes_of(*row))), Cell(w.at(*row, 2)), Cell(w.at(*row, 3)),
                      Cell(how, bad(how) ? Tone::bad : Tone::plain)});
  }
  return t;
}

Table out_of(const Window& w) {
  Table t{{{"NODE"}, {"FROM"}, {"TO"}, {"STATE"}, {"BY"}, {"WHY"}}, {}};
  for (const Value& row : list_of(w.all(), "holds")) {
    t.rows.push_back({Cell(w.node(row, 0)), Cell(w.at(row, 1)), Cell(w.at(row, 2)), Cell("held: " + Window::words(row, 3)),
                      Cell(Window::words(row, 4)), Cell(Window::words(row, 5))});
  }
  for (const Value& row : list_of(w.all(), "down")) {
    t.rows.push_back({Cell(w.node(row, 0)), Cell(w.at(row, 1)), Cell(w.at(row, 2)), Cell(Window::words(row, 3)), Cell(""),
                      Cell(Window::words(row, 4))});
  }
  std::stable_sort(t.rows.begin(), t.rows.end(), [](const auto& a, const auto& b) { return a[1].text > b[1].text; });
  return t;
}

// A table under its name, as much of it as a person reads.
std::string section(std::string_view name, Table t, const Page& page) {
  const std::size_t all = t.rows.size();
  if (all > kRowsShown) t.rows.resize(kRowsShown);
  std::string out = fmt::format("\n{}\n", name);
  if (all == 0) return out + "none\n";
  out += render_table(t, {true, false, page.colour});
  if (all > kRowsShown) out += fmt::format("{} more: a shorter stretch has fewer, `-o json` has all.\n", all - kRowsShown);
  return out;
}

bool has_words(const Value& item, const std::vector<std::string_view>& wanted) {
  std::string text;
  for (const char* key : {"who", "verb", "on", "reason", "came_of", "kind"}) text += text_of(item, key) + " ";
  text = lower(text + "#" + text_of(item, "seq"));
  return std::all_of(wanted.begin(), wanted.end(), [&](std::string_view w) { return text.find(lower(w)) != std::string::npos; });
}

}  // namespace

std::string render_timeline_text(const Value& window, const Page& page) {
  const Window w(window);
  const Table incidents = incidents_of(w), ends = ends_of(w);
  const auto failed = std::count_if(ends.rows.begin(), ends.rows.end(), [](const auto& r) { return r.back().tone == Tone::bad; });
  std::string out =
      fmt::format("From {} to {}: {}, {} of jobs in and around it, {} of which ended badly, {}.\n", text_of(window, "from_utc"),
                  text_of(window, "to_utc"), counted(static_cast<std::int64_t>(list_of(window, "nodes").size()), "node"),
                  counted(static_cast<std::int64_t>(number_of(window, "attempts").value_or(0)), "attempt"), render_count(failed),
                  counted(static_cast<std::int64_t>(incidents.rows.size()), "incident"));
  const Value* merged = window.find("merged");
  if (merged != nullptr && merged->boolean() != nullptr && *merged->boolean())
    out += "There are too many attempts to tell each: the longest are told. A shorter stretch has all.\n";
  out += section("Incidents, the newest first", incidents, page);
  out += section("Ends of attempts of jobs, those that ended badly first", ends, page);
  return out + section("Nodes kept from work or down, the newest first", out_of(w), page);
}

Value filter_audit(const Value& audit, std::string_view filter) {
  std::vector<std::string_view> wanted;
  for (const std::string_view word : split(filter, ' ')) {
    if (!word.empty()) wanted.push_back(word);
  }
  Value::Object out;
  for (const auto& m : audit.object() != nullptr ? *audit.object() : Value::Object{}) {
    if (m.key != "items" || wanted.empty() || m.value.array() == nullptr) {
      out.push_back(m);
      continue;
    }
    Value::Array items;
    for (const Value& item : *m.value.array()) {
      if (has_words(item, wanted)) items.push_back(item);
    }
    out.push_back({m.key, Value(std::move(items))});
  }
  return Value(std::move(out));
}

std::string render_audit_text(const Value& audit, std::string_view filter, const Page& page) {
  const Value chosen = filter_audit(audit, filter);
  Table t{{{"TIME (UTC)"}, {"WHO"}, {"DID"}, {"ON"}, {"WHY"}, {"WHAT CAME OF IT"}, {"EVENT", true}}, {}};
  for (const Value& item : list_of(chosen, "items")) {
    std::string at = text_of(item, "at_utc").substr(0, 19);
    std::replace(at.begin(), at.end(), 'T', ' ');
    const std::string who = text_of(item, "who");
    t.rows.push_back({Cell(at), Cell(who.empty() ? "not recorded" : who, who.empty() ? Tone::dim : Tone::plain),
                      Cell(text_of(item, "verb")), Cell(text_of(item, "on")), Cell(text_of(item, "reason")),
                      Cell(text_of(item, "came_of")), Cell(text_of(item, "seq"))});
  }
  std::string out = t.rows.empty() ? "Nothing of that is on record.\n" : render_table(t, {true, false, page.colour});
  const auto older = static_cast<std::int64_t>(number_of(audit, "older").value_or(0));
  if (older > 0) out += fmt::format("{} older in the record only: `muster journal export`.\n", render_count(older));
  static const Value kNone;
  const Value* found = audit.find("chain");
  const Value& chain = found != nullptr ? *found : kNone;
  const auto events = static_cast<std::int64_t>(number_of(chain, "events").value_or(0));
  return out + fmt::format("\nchain of {} verified, digest {}\n", counted(events, "event"), printable(text_of(chain, "digest")));
}

}  // namespace muster::report
