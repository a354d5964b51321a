#include "report/why.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "report/table.h"
#include "report/units.h"

namespace muster::report {
namespace {

constexpr std::size_t kShown = 20;         // decisions in text; JSON has all
constexpr std::size_t kEvidenceShown = 6;  // of one decision

// What the record alone knows of an act that the state has forgotten.
Explanation of_deed(const Deed& d) {
  Explanation e;
  e.kind = "action";
  e.title = fmt::format("action {}: {}", d.order.key, say_action(d.node, d.order.action));
  e.sentences = {d.order.reason.sentence};
  return e;
}

class Block {
 public:
  explicit Block(const Page& page) : page_(page) {}
  void head(const std::string& text) { out_ += "\n" + wrap(printable(text), page_.width, 4) + "\n"; }
  void line(std::string_view label, const std::string& text) {
    if (text.empty()) return;
    // The label is part of the first line's width.
    const std::string wrapped = wrap(std::string(4 + kWidth, '.') + printable(text), page_.width, 4 + kWidth);
    out_ += fmt::format("    {:<{}}", label, kWidth) + wrapped.substr(4 + kWidth) + "\n";
  }
  std::string take() { return std::move(out_); }

 private:
  static constexpr std::size_t kWidth = 12;
  Page page_;
  std::string out_;
};

std::string evidence_line(const Value& x) {
  const std::string finding = text_of(x, "finding");
  return fmt::format("{} {}{}: {}{}", text_of(x, "at_utc"), text_of(x, "witness"),
                     finding.empty() ? "" : fmt::format(", finding {} ({})", finding, text_of(x, "kind")), text_of(x, "text"),
                     text_of(x, "ref").empty() ? "" : " [" + text_of(x, "ref") + "]");
}

std::string outcome_line(const Value& d) {
  const Value* o = d.find("outcome");
  if (o == nullptr) return {};
  const auto took = number_of(*o, "took_s");
  std::string out = text_of(*o, "status");
  if (took) out += fmt::format(" after {} ({})", render_duration(from_seconds(*took)), text_of(*o, "at_utc"));
  const std::string detail = text_of(*o, "detail");
  return detail.empty() ? out : out + ": " + detail;
}

std::string actor_line(const Value& d) {
  const Value* wish = d.find("wish");
  if (wish == nullptr || wish->is_null()) return text_of(d, "actor");
  const std::string reason = text_of(*wish, "reason");
  return fmt::format("{}, who asked to {} at {}{}", text_of(*wish, "actor"), text_of(*wish, "command"), text_of(*wish, "at_utc"),
                     reason.empty() ? "" : ": " + reason);
}

std::string held_line(const Value& h) {
  const auto times = number_of(h, "times");
  const bool often = times && *times > 1;
  return fmt::format("{}{}: {}", text_of(h, "at_utc"),
                     often ? fmt::format(" to {}, {} times", text_of(h, "last_utc"), text_of(h, "times")) : "",
                     text_of(h, "limit"));
}

void add_lines(Block& b, const Value& d, std::string_view key, std::string_view label) {
  for (const auto& v : list_of(d, key)) {
    if (v.string() != nullptr) b.line(label, *v.string());
    label = "";
  }
}

void add_evidence(Block& b, const Value::Array& evidence, bool brief) {
  if (evidence.empty()) return;
  if (brief) {
    std::string newest;
    for (const auto& x : evidence) newest = std::max(newest, text_of(x, "at_utc"));
    return b.line("evidence",
                  fmt::format("{} line{}, the newest of {}", evidence.size(), evidence.size() == 1 ? "" : "s", newest));
  }
  for (std::size_t k = 0; k < evidence.size() && k < kEvidenceShown; ++k) {
    b.line(k == 0 ? "evidence" : "", evidence_line(evidence[k]));
  }
  if (evidence.size() > kEvidenceShown) b.line("", fmt::format("and {} more: -o json", evidence.size() - kEvidenceShown));
}

void add_decision(Block& b, const Value& d, bool brief) {
  const Value* policy = d.find("policy");
  const std::string name = policy == nullptr ? "" : text_of(*policy, "name");
  const std::string hash = policy == nullptr ? "" : text_of(*policy, "hash");
  b.head(fmt::format("{}  {}  [{}]", text_of(d, "at_utc"), text_of(d, "what"), text_of(d, "key")));
  b.line("why", text_of(d, "sentence"));
  b.line("by", actor_line(d));
  b.line("rule", fmt::format("{} (rules version {}, muster {})", text_of(d, "rule"), text_of(d, "rules_version"),
                             text_of(d, "muster_version")));
  b.line("policy", fmt::format("{}, {}", name, hash.substr(0, 16)));
  add_evidence(b, list_of(d, "evidence"), brief);
  add_lines(b, d, "alternatives", "not done");
  add_lines(b, d, "alternatives_beside", "not done");
  b.line("budget", text_of(d, "budget"));
  std::string_view label = "held back";
  for (const auto& h : list_of(d, "held_back_before")) {
    b.line(label, held_line(h));
    label = "";
  }
  b.line("outcome", outcome_line(d));
}

}  // namespace

Inquiry::Inquiry(std::string_view what, const State* newest) : what_(trim(what)), newest_(newest) {
  if (auto subject = Subject::parse(what_)) {
    if (subject->incident().some()) story_.emplace(subject->incident());
    deeds_.emplace(std::move(*subject));
  }
}

void Inquiry::take(const Event& e) {
  if (story_) story_->before(e, state_);
  fold(state_, e);
  if (deeds_) deeds_->take(e, state_);
  if (story_) story_->after(e, state_);
}

Result<std::string> Inquiry::why(const Provenance& source) const {
  auto explained = newest_ != nullptr ? explain(*newest_, what_) : explain_recorded(state_, what_);
  if (!explained && newest_ != nullptr) explained = explain_recorded(state_, what_);
  if (!explained && story_ && story_->found) {  // forgotten by the state, not by the record
    Explanation e;
    e.kind = "incident";
    e.title = fmt::format("incident {} on {}", story_->incident.id.v, node_name(state_, story_->incident.node));
    e.sentences = {fmt::format("Opened {}; closed {}: {}.", render_utc(story_->incident.opened),
                               render_utc(story_->incident.closed), story_->incident.resolution)};
    explained = std::move(e);
  }
  return render_why(explained, deeds_ ? &*deeds_ : nullptr, &source);
}

Result<std::string> Inquiry::incident_report(const Provenance& source) const {
  if (!story_ || !deeds_) return fail(Code::bad_input, "an incident is named by its number", "e.g. muster incident 7");
  if (!story_->found) {
    return fail(
        Code::not_found, fmt::format("the record has no {}", printable(what_)),
        fmt::format("it has {} of them, numbered from 1; `muster get incidents` lists the newest", state_.totals.incidents));
  }
  return render_incident_json(*story_, *deeds_, state_, source);
}

Result<std::string> render_why(const Result<Explanation>& explained, const Deeds* deeds, const Provenance* source) {
  const bool told = deeds != nullptr && (!deeds->done.empty() || !deeds->refused.empty());
  if (!explained && (!told || deeds->done.empty())) return tl::unexpected(explained.error());
  const Explanation e = explained ? *explained : of_deed(deeds->done.back());
  std::string out = render_json(e);
  if (deeds == nullptr && source == nullptr) return out;
  out.pop_back();  // its closing brace: what the record tells comes after
  JsonWriter more;
  more.object().key("decisions").array();
  if (deeds != nullptr) {
    for (const Deed& d : deeds->done) write_deed(more, d);
  }
  more.end_array().field("decisions_left_out", deeds == nullptr ? std::uint64_t{0} : deeds->left_out).key("held_back").array();
  if (deeds != nullptr) {
    for (const HeldBack& h : deeds->refused) write_held_back(more, h);
  }
  more.end_array();
  if (source != nullptr) {
    more.key("record").object().field("journal", source->journal).field("events", source->events);
    more.field("digest", source->digest).end_object();
  }
  more.end_object();
  return out + "," + more.take_members() + "}";
}

std::string render_decision_list(const Value& answer, const Page& page, bool brief) {
  const auto& list = list_of(answer, "decisions");
  Block b(page);
  const std::size_t first = list.size() > kShown ? list.size() - kShown : 0;
  const auto forgotten = number_of(answer, "decisions_left_out");
  const std::size_t older = first + (forgotten ? static_cast<std::size_t>(*forgotten) : 0);
  if (older > 0) b.head(fmt::format("({} older ones; -o json has the newest {})", older, list.size()));
  for (std::size_t k = first; k < list.size(); ++k) add_decision(b, list[k], brief);
  return b.take();
}

std::string render_decisions(const Value& answer, const Page& page) {
  const auto& held = list_of(answer, "held_back");
  Block b(page);
  if (!held.empty()) b.head("Held back by limits:");
  for (const auto& h : held) b.line(text_of(h, "verb"), held_line(h));
  std::string out = render_decision_list(answer, page) + b.take();
  if (const Value* record = answer.find("record"); record != nullptr) {
    out +=
        fmt::format("\nRead from journal {}: {} events, each hash checked; digest {}.\n", printable(text_of(*record, "journal")),
                    text_of(*record, "events"), printable(text_of(*record, "digest").substr(0, 16)));
  }
  return out;
}

}  // namespace muster::report
