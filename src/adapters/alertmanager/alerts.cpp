#include "adapters/alertmanager/alerts.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/json_writer.h"
#include "base/text.h"

namespace muster {
namespace {

// gpu_lost -> MusterGpuLost
std::string alert_name(std::string_view kind) {
  std::string out = "Muster";
  bool up = true;
  for (const char c : kind) {
    if (c == '_') {
      up = true;
      continue;
    }
    out += up && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    up = false;
  }
  return out;
}

std::string where(const State& s, const Finding& f) {
  if (f.kind == FindingKind::row_hot) return fmt::format("row {}", f.slot);
  if (!f.node.some() || f.node.v >= s.site.nodes.size())
    return f.job.some() ? "job " + render(f.job) : f.subject.empty() ? "the site" : printable(f.subject);
  const std::string& name = s.site.nodes[f.node.v].name;
  if (f.slot < 0) return name;
  if (!of_link(f)) return fmt::format("{} GPU {}", name, f.slot);
  const Cable c = s.site.cables.at(f.node, f.slot).value_or(Cable{});
  return fmt::format("{} NIC {}{}", name, nic_name(f.slot), printable(say_far_end(c.switch_name, c.port, c.label)));
}

// The switch is a label, so that alerts of its links can be grouped; the port and the cable are for who goes there.
void name_place(const State& s, const Finding& f, Alert& a) {
  if (f.node.some() && f.node.v < s.site.nodes.size()) a.labels["node"] = to_valid_utf8(s.site.nodes[f.node.v].name);
  const char* slot_is = f.kind == FindingKind::row_hot ? "row" : f.kind == FindingKind::fabric_fault ? "leaf" : "gpu";
  if (f.slot >= 0) a.labels[slot_is] = std::to_string(f.slot);
  if (f.kind == FindingKind::fabric_fault) a.labels["fault"] = to_valid_utf8(f.subject);  // a node may have several
  if (f.kind == FindingKind::acceptance_failed) a.labels["fault"] = to_valid_utf8(f.subject);  // and so may a GPU
  if (!of_link(f)) return;
  a.labels["nic"] = nic_name(f.slot);
  const auto cable = s.site.cables.at(f.node, f.slot);
  if (!cable) return;
  a.labels["switch"] = to_valid_utf8(cable->switch_name);
  a.annotations["port"] = to_valid_utf8(cable->port);
  if (!cable->label.empty()) a.annotations["cable"] = to_valid_utf8(cable->label);
}

// Alertmanager refuses an alert whose link is no URL, and a node's name is untrusted text.
std::string url_piece(std::string_view s) {
  std::string out;
  for (const char c : s) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string evidence_text(const Finding& f) {
  constexpr std::size_t kLinesMax = 4, kLineMax = 300;
  std::string out;
  const std::size_t first = f.evidence.size() > kLinesMax ? f.evidence.size() - kLinesMax : 0;
  for (std::size_t i = first; i < f.evidence.size(); ++i) {
    const Evidence& e = f.evidence[i];
    if (!out.empty()) out += '\n';
    out += fmt::format("{} {}: {}", render_utc(e.at), name_of(e.witness), printable(e.text.substr(0, kLineMax)));
  }
  return out;
}

Alert alert_of(const State& s, const Finding& f, const Incident* incident, const std::string& page) {
  Alert a;
  const std::string_view kind = name_of(f.kind);
  a.labels = {{"alertname", alert_name(kind)},
              {"kind", std::string(kind)},
              {"severity", std::string(name_of(f.severity))},
              {"cluster", to_valid_utf8(s.site.name)}};
  const JobId job = f.job.some() || incident == nullptr ? f.job : incident->job;
  if (job.some()) a.labels["job"] = render(job);
  std::string code;
  const bool percent = f.kind == FindingKind::failure_predicted || f.kind == FindingKind::fabric_fault;
  if (f.kind == FindingKind::acceptance_failed) {
    code = f.subject.empty() ? std::string() : fmt::format(" ({})", printable(f.subject));
  } else if (f.code != 0) {
    code = percent ? fmt::format(" ({} %)", f.code) : fmt::format(" (code {})", f.code);
  }
  a.annotations = {{"summary", fmt::format("{} on {}{}", kind, where(s, f), code)},
                   {"evidence", evidence_text(f)},
                   {"confidence", fmt::format("{:.2f}", confidence(f))},
                   {"suggested_action", std::string(suggestion(f.kind))}};
  name_place(s, f, a);
  // Where no incident was opened (a cluster that is only watched), trouble on one node is one piece of trouble all the same.
  const std::string& home = f.node.some() && f.node.v < s.site.nodes.size() ? a.labels["node"] : a.labels["cluster"];
  a.labels["incident"] = incident != nullptr ? std::to_string(incident->id.v) : home;
  if (incident != nullptr) {
    a.annotations["stage"] = std::string(name_of(incident->stage));
    a.link = fmt::format("{}/?incident={}", page, incident->id.v);
  } else {
    a.link = f.node.some() ? fmt::format("{}/?node={}", page, url_piece(home)) : page + "/";
  }
  a.starts = f.opened;
  return a;
}

}  // namespace

std::vector<Alert> alerts_of(const State& s, const std::string& page) {
  std::map<FindingId, const Incident*> home;
  std::vector<Alert> out;
  for (const auto& [id, incident] : s.incidents) {
    for (const FindingId f : incident.findings) home[f] = &incident;
  }
  for (const auto& [id, f] : s.findings) {
    if (f.cleared.ns != 0) continue;
    const auto it = home.find(id);
    out.push_back(alert_of(s, f, it == home.end() ? nullptr : it->second, page));
  }
  for (const auto& [id, i] : s.incidents) {
    if (i.stage != Stage::held) continue;
    Alert a;
    a.labels = {{"alertname", "MusterIncidentHeld"},
                {"kind", std::string(name_of(i.cause))},
                {"severity", "warning"},
                {"cluster", to_valid_utf8(s.site.name)},
                {"incident", std::to_string(id.v)}};
    Finding place;
    place.kind = i.cause;
    place.node = i.node;
    place.slot = i.slot;
    a.annotations = {{"summary", fmt::format("incident {} on {} waits for a person", id.v, where(s, place))},
                     {"evidence", i.notes.empty() ? "" : printable(i.notes.back().text.substr(0, 300))},
                     {"suggested_action", std::string(suggestion(i.cause))}};
    name_place(s, place, a);
    a.link = fmt::format("{}/?incident={}", page, id.v);
    a.starts = i.opened;
    out.push_back(std::move(a));
  }
  return out;
}

std::string render_alerts(const std::vector<Posting>& postings) {
  JsonWriter w;
  w.array();
  for (const Posting& p : postings) {
    w.object().key("labels").object();
    for (const auto& [name, value] : p.alert.labels) w.field(name, value);
    w.end_object().key("annotations").object();
    for (const auto& [name, value] : p.alert.annotations) {
      if (!value.empty()) w.field(name, value);
    }
    w.end_object().field("startsAt", render_utc(p.alert.starts)).field("endsAt", render_utc(p.ends));
    if (!p.alert.link.empty()) w.field("generatorURL", p.alert.link);
    w.end_object();
  }
  w.end_array();
  return w.take();
}

std::vector<Posting> AlertBook::due(const std::vector<Alert>& wanted, Time utc, Time steady) {
  std::vector<Posting> out;
  std::set<std::map<std::string, std::string>> names;
  for (const Alert& a : wanted) {
    if (!names.insert(a.labels).second) continue;
    auto it = entries_.find(a.labels);
    if (it == entries_.end()) {
      if (entries_.size() >= kAlertsMax) {
        ++left_out_;
        continue;
      }
      it = entries_.emplace(a.labels, Entry{}).first;
    }
    Entry& e = it->second;
    if (e.ended.ns != 0) e = {};  // it is back before its end was told
    if (e.settled.ns != 0 && steady - e.settled < kAlertResend) continue;
    e.alert = a;
    out.push_back({a, true, utc + kAlertExpiry});
  }
  for (auto& [labels, e] : entries_) {
    if (names.count(labels) != 0) continue;
    if (e.ended.ns == 0) e.ended = std::max(utc, e.alert.starts);
    out.push_back({e.alert, false, e.ended});
  }
  return out;
}

void AlertBook::settled(const std::vector<Posting>& postings, Time steady) {
  for (const Posting& p : postings) {
    const auto it = entries_.find(p.alert.labels);
    if (it == entries_.end()) continue;
    if (p.firing) {
      it->second.settled = steady;
    } else if (it->second.ended.ns != 0) {
      entries_.erase(it);
    }
  }
}

Time AlertBook::next() const {
  Time t = kNever;
  for (const auto& [labels, e] : entries_) t = std::min(t, e.settled + kAlertResend);
  return t;
}

}  // namespace muster
