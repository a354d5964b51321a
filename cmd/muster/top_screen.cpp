#include "top_screen.h"

#include <fmt/format.h>

#include "base/text.h"

namespace muster::cmd {
namespace {

using Wish = TopWish::Kind;

constexpr std::size_t kFilterMax = 200;  // bytes

constexpr std::string_view kHelp =
    "j k, arrows       move            PgUp PgDn, g G   a page, first and last\n"
    "1 to 6, Tab       another list    o                also what is over, or only what is not\n"
    "/                 filter: rows with every word you type; Enter keeps it, Esc clears it\n"
    "s, S              sort by the next column; the other way round\n"
    "Enter             explain the selected thing, as `muster explain` does\n"
    "y                 the commands that give the same answers\n"
    "Esc               back\n"
    "q                 quit\n"
    "\n"
    "These act, after a y:\n"
    "p                 pause, or resume: whether Muster may act at all\n"
    "d                 drain the selected node, or undrain one that is held\n"
    "a, r              approve or reject the selected approval\n"
    "\n"
    "Letters of nodes and GPUs: s suspect, r repairing, d drained, x down or booting, l lost.\n"
    "Work and rest are shades. Times are the cluster's, which in a simulation are not yours.";

// As a word of a shell's command line, in quotes where it needs them. What steers a terminal is spelt out, and is no name any
// more.
std::string shell_word(std::string_view name) {
  const std::string text = printable(name);
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,:/@%+=";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

const Value* approval_of(const TopData& data, const std::string& id) {
  for (const Value& a : report::list_of(data.guard, "approvals")) {
    if (text_of(a, "id") == id) return &a;
  }
  return nullptr;
}

std::string selected_id(const TopFrame& frame) { return frame.row < frame.ids.size() ? frame.ids[frame.row] : std::string(); }

// What is selected, in the words of `muster explain`; of an approval, what it is about.
struct Subject {
  std::string noun, name;
  std::string words() const { return noun + " " + name; }
};
std::optional<Subject> subject_of(const TopData& data, TopList list, const std::string& id) {
  if (id.empty()) return std::nullopt;
  switch (list) {
    case TopList::incidents: return Subject{"incident", id};
    case TopList::jobs: return Subject{"job", id};
    case TopList::nodes: return Subject{"node", id};
    case TopList::findings: return Subject{"finding", id};
    case TopList::queues: return Subject{"queue", id};
    case TopList::approvals: break;
  }
  const Value* a = approval_of(data, id);
  if (a == nullptr) return std::nullopt;
  if (const auto incident = text_of(*a, "incident"); !incident.empty() && incident != "0") return Subject{"incident", incident};
  if (const auto node = text_of(*a, "node"); !node.empty()) return Subject{"node", node};
  return std::nullopt;
}

TopStep moved(TopState s, const TopFrame& frame, std::ptrdiff_t by) {
  if (s.view.pane) {
    const auto at = static_cast<std::ptrdiff_t>(frame.pane_first) + by;
    s.view.pane->first = at > 0 ? static_cast<std::size_t>(at) : 0;  // the frame knows where it ends
    return {std::move(s)};
  }
  if (frame.ids.empty()) return {std::move(s)};
  const auto last = static_cast<std::ptrdiff_t>(frame.ids.size()) - 1;
  s.view.row = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(frame.row) + by, 0, last));
  s.view.selected = frame.ids[s.view.row];
  return {std::move(s)};
}

std::optional<std::ptrdiff_t> steps_of(const Key& key, const TopFrame& frame, bool letters) {
  using enum Key::Kind;
  const auto page = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, frame.page));
  constexpr std::ptrdiff_t kFar = 1'000'000'000;
  switch (key.kind) {
    case up: return -1;
    case down: return 1;
    case page_up: return -page;
    case page_down: return page;
    case home: return -kFar;
    case end: return kFar;
    case text: break;
    default: return std::nullopt;
  }
  if (!letters) return std::nullopt;
  return key.text == "j"   ? std::optional<std::ptrdiff_t>(1)
         : key.text == "k" ? std::optional<std::ptrdiff_t>(-1)
         : key.text == "g" ? std::optional<std::ptrdiff_t>(-kFar)
         : key.text == "G" ? std::optional<std::ptrdiff_t>(kFar)
                           : std::nullopt;
}

TopStep to_list(TopState s, std::size_t index) {
  s.view.list = static_cast<TopList>(index % report::kTopLists);
  s.view.sort_by.clear();
  s.view.selected.clear();
  s.view.row = s.view.first = 0;
  return {std::move(s), {Wish::list}};
}

TopStep sorted(TopState s, const TopFrame& frame, bool turn) {
  std::string& by = s.view.sort_by;
  s.view.selected.clear();  // who sorts wants to see the first ones
  s.view.row = s.view.first = 0;
  if (turn) {
    by = by.empty() ? "" : by[0] == '-' ? by.substr(1) : "-" + by;
    return {std::move(s)};
  }
  const std::string now = by.empty() || by[0] != '-' ? by : by.substr(1);
  const auto at = std::find(frame.columns.begin(), frame.columns.end(), now);
  const auto next = by.empty() ? frame.columns.begin() : at == frame.columns.end() ? at : at + 1;
  by = next == frame.columns.end() ? "" : *next;
  return {std::move(s)};
}

TopStep typed(TopState s, const Key& key, const TopFrame& frame) {
  using enum Key::Kind;
  std::string& filter = s.view.filter;
  if (const auto by = steps_of(key, frame, false)) return moved(std::move(s), frame, *by);
  switch (key.kind) {
    case enter: s.view.typing = false; break;
    case interrupt:
    case escape:
      filter.clear();
      s.view.typing = false;
      break;
    case erase_line: filter.clear(); break;
    case backspace:
      while (!filter.empty() && (static_cast<unsigned char>(filter.back()) & 0xC0) == 0x80) filter.pop_back();
      if (!filter.empty()) filter.pop_back();
      break;
    case text:
    case paste: {
      const std::string more = key.text.substr(0, key.text.find_first_of("\r\n"));
      if (filter.size() + more.size() <= kFilterMax) filter += more;
      break;
    }
    default: break;
  }
  return {std::move(s)};
}

TopStep answered(TopState s, const Key& key) {
  const auto act = std::exchange(s.asked, std::nullopt);
  s.view.question.clear();
  const bool yes = key.kind == Key::Kind::text && (key.text == "y" || key.text == "Y");
  if (!yes || !act) {
    s.view.message = "nothing was done";
    return {std::move(s)};
  }
  s.view.message = "sent: waiting for the server";
  return {std::move(s), {Wish::act, "", *act}};
}

TopStep ask_pause(TopState s, const TopData& data) {
  const Value* paused = data.summary.find("paused");
  const bool resume = paused != nullptr && paused->boolean() != nullptr && *paused->boolean();
  s.view.question = resume ? "Resume? Muster acts again, within its limits."
                           : "Pause? Nothing is acted on until somebody resumes it; watching goes on.";
  s.asked = resume ? TopAct{.verb = "resume", .done = "resumed"}
                   : TopAct{.verb = "pause", .done = "paused: nothing is acted on until it is resumed; watching goes on"};
  return {std::move(s)};
}

TopStep ask_approval(TopState s, const TopFrame& frame, const TopData& data, bool reject) {
  const auto id = selected_id(frame);
  const Value* a = s.view.list == TopList::approvals ? approval_of(data, id) : nullptr;
  const auto number = parse_uint(id);
  if (a == nullptr || !number) {
    s.view.message = "a and r answer an approval: 6 lists them";
    return {std::move(s)};
  }
  if (const auto state = text_of(*a, "state"); state != "waiting") {
    s.view.message = fmt::format("approval {} is {}: there is nothing to answer", id, state);
    return {std::move(s)};
  }
  const auto part = [a](std::string_view key) { return printable(text_of(*a, key)); };
  s.view.question =
      fmt::format("{} {}: {} {}{} (incident {})?\nWhat for: {}\nWhy it was not done at once: {}", reject ? "Reject" : "Approve",
                  id, part("verb"), part("node"), part("job").empty() ? "" : " job " + part("job"), part("incident"),
                  part("sentence"), part("why"));
  s.asked = TopAct{.verb = reject ? "reject" : "approve",
                   .approval = *number,
                   .done = fmt::format("approval {} {}", id, reject ? "rejected: a person has it now" : "granted")};
  return {std::move(s)};
}

TopStep explain_selected(TopState s, const TopFrame& frame, const TopData& data) {
  const auto subject = subject_of(data, s.view.list, selected_id(frame));
  if (!subject) {
    s.view.message = "nothing is selected that could be explained";
    return {std::move(s)};
  }
  s.view.pane = TopPane{.title = subject->words(),
                        .text = "asking the server",
                        .explanation = std::nullopt,
                        .command = fmt::format("muster explain {} {}{}", subject->noun, shell_word(subject->name), s.flags)};
  return {std::move(s), {Wish::explain, subject->words()}};
}

TopStep show_commands(TopState s, const TopFrame& frame, const TopData& data) {
  const auto id = selected_id(frame);
  std::string text = fmt::format("This list:\n  {}\n", list_command(s));
  if (s.view.list == TopList::jobs && !s.view.all) text += "  (it prints the jobs that have ended, too)\n";
  if (const auto subject = subject_of(data, s.view.list, id)) {
    text += fmt::format("\nWhat is selected:\n  muster explain {} {}{}\n", subject->noun, shell_word(subject->name), s.flags);
    text += fmt::format("  muster describe {} {}{}\n", subject->noun, shell_word(subject->name), s.flags);
  }
  if (s.view.list == TopList::nodes && !id.empty())
    text += fmt::format("  muster drain {0}{1}\n  muster undrain {0}{1}\n", shell_word(id), s.flags);
  if (s.view.list == TopList::approvals && !id.empty())
    text += fmt::format("  muster approve {0}{1}\n  muster reject {0}{1}\n", shell_word(id), s.flags);
  text += fmt::format("\nActing at all:\n  muster pause{0}\n  muster resume{0}\n", s.flags);
  s.view.pane =
      TopPane{.title = "the same on the command line", .text = std::move(text), .explanation = std::nullopt, .command = ""};
  return {std::move(s)};
}

// One letter, where nothing is typed or asked.
TopStep letter(TopState s, const std::string& c, const TopFrame& frame, const TopData& data) {
  if (c == "q") {
    s.leave = true;
    return {std::move(s)};
  }
  if (c == "?") {
    s.view.pane =
        TopPane{.title = "keys", .text = std::string(kHelp), .explanation = std::nullopt, .command = "muster top --help"};
    return {std::move(s)};
  }
  if (s.view.past && (c == "p" || c == "a" || c == "r" || c == "d")) {
    s.view.message = "this is the past: nothing can be done about it";
    return {std::move(s)};
  }
  if (c == "p") return ask_pause(std::move(s), data);
  if (s.view.pane) return {std::move(s)};
  if (c.size() == 1 && c[0] >= '1' && c[0] < '1' + static_cast<char>(report::kTopLists))
    return to_list(std::move(s), static_cast<std::size_t>(c[0] - '1'));
  if (c == "/") {
    s.view.typing = true;
    return {std::move(s)};
  }
  if (c == "o") {
    s.view.all = !s.view.all;
    return {std::move(s), {Wish::list}};
  }
  if (c == "s" || c == "S") return sorted(std::move(s), frame, c == "S");
  if (c == "a" || c == "r") return ask_approval(std::move(s), frame, data, c == "r");
  if (c == "y") return show_commands(std::move(s), frame, data);
  if (c == "d") {
    const auto id = selected_id(frame);
    const bool node = s.view.list == TopList::nodes && !id.empty();
    s.view.message = node                            ? "asking about " + id
                     : s.view.list == TopList::nodes ? std::string("no node is selected")
                                                     : std::string("d drains a node: 3 lists them");
    return {std::move(s), node ? TopWish{Wish::node, id} : TopWish{}};
  }
  s.view.message = fmt::format("{} does nothing: ? shows the keys", c);
  return {std::move(s)};
}

}  // namespace

TopStep press(TopState s, const Key& key, const TopFrame& frame, const TopData& data) {
  using enum Key::Kind;
  if (key.kind == suspend) return {std::move(s), {Wish::suspend}};
  if (key.kind == redraw) return {std::move(s), {Wish::redraw}};
  s.view.message.clear();
  if (!s.view.question.empty()) return answered(std::move(s), key);
  if (s.view.typing) return typed(std::move(s), key, frame);
  if (const auto by = steps_of(key, frame, true)) return moved(std::move(s), frame, *by);
  const auto list = static_cast<std::size_t>(s.view.list);
  switch (key.kind) {
    case interrupt: s.leave = true; break;
    case escape:
    case backspace:
      if (s.view.pane) {
        s.view.pane.reset();
      } else {
        s.view.filter.clear();
      }
      break;
    case enter:
      if (!s.view.pane) return explain_selected(std::move(s), frame, data);
      break;
    case tab:
    case right:
      if (!s.view.pane) return to_list(std::move(s), list + 1);
      break;
    case back_tab:
    case left:
      if (!s.view.pane) return to_list(std::move(s), list + report::kTopLists - 1);
      break;
    case paste: s.view.message = "pasted text does nothing here: it is typed after /"; break;
    case text: return letter(std::move(s), key.text, frame, data);
    default: break;
  }
  return {std::move(s)};
}

TopState seen(TopState s, const TopFrame& frame) {
  if (s.view.pane) {
    s.view.pane->first = frame.pane_first;
    return s;
  }
  s.view.row = frame.row;
  s.view.first = frame.first;
  if (!frame.ids.empty()) s.view.selected = frame.ids[frame.row];
  return s;
}

TopState propose_drain(TopState s, const Value& node) {
  const auto name = text_of(node, "name");
  const auto shown = printable(name);  // it must not add lines of its own to the question
  const auto hold = text_of(node, "hold");
  const auto reason = printable(text_of(node, "hold_reason"));
  const auto incident = text_of(node, "incident");
  std::vector<std::string> jobs;
  for (const Value& j : report::list_of(node, "jobs")) {
    if (j.string() != nullptr) jobs.push_back(printable(*j.string()));
  }
  if (const auto job = text_of(node, "job"); jobs.empty() && !job.empty()) jobs.push_back(printable(job));
  const std::size_t named = std::min<std::size_t>(jobs.size(), 5);
  const std::string who = fmt::format("{}{}", join({jobs.begin(), jobs.begin() + static_cast<std::ptrdiff_t>(named)}, ", "),
                                      jobs.size() > named ? fmt::format(" and {} more", jobs.size() - named) : "");
  if ((!hold.empty() && hold != "none") || text_of(node, "state") == "drained") {
    s.view.question = fmt::format("Undrain {}? It takes work again.", shown);
    if (!hold.empty() && hold != "none")
      s.view.question += fmt::format("\nHeld by: {}{}", hold, reason.empty() ? "" : ", " + reason);
    if (!incident.empty() && incident != "0") s.view.question += fmt::format("\nIncident {} is open on it.", incident);
    s.asked = TopAct{.verb = "undrain", .node = name, .done = shown + " takes work again"};
    return s;
  }
  s.view.question = fmt::format("Drain {}? This takes it out of service: it takes no new work.", shown);
  s.view.question += jobs.empty()       ? std::string("\nNothing runs there now.")
                     : jobs.size() == 1 ? fmt::format("\nJob {} runs there and goes on to its end.", who)
                                        : fmt::format("\nJobs {} run there and go on to their end.", who);
  s.asked = TopAct{.verb = "drain", .node = name, .done = shown + " takes no new work"};
  return s;
}

std::optional<TopPath> top_path(const TopView& view) {
  if (view.list == TopList::nodes || view.list == TopList::approvals) return std::nullopt;
  TopPath out{"/api/v1/" + std::string(report::name_of(view.list)), {}};
  const bool closes = view.list == TopList::incidents || view.list == TopList::findings;
  if (closes && !view.all) out.query["open"] = "1";
  return out;
}

std::string list_command(const TopState& state) {
  const TopView& v = state.view;
  const bool closes = v.list == TopList::incidents || v.list == TopList::findings;
  std::string out = v.list == TopList::approvals ? "muster guard status" : "muster get " + std::string(report::name_of(v.list));
  if (closes && !v.all) out += " --open";
  if (!v.sort_by.empty() && v.list != TopList::approvals) out += " --sort-by " + shell_word(v.sort_by);
  out += state.flags;
  for (const auto word : split(v.filter, ' ')) {
    if (!word.empty()) out += " | grep -iF -e " + shell_word(word);
  }
  return out;
}

std::string flags_of(const Connection& c) {
  std::string out;
  if (!c.server.empty()) out += " --server " + shell_word(c.server);
  if (!c.state.empty()) out += " --state " + shell_word(c.state);
  if (!c.at.empty()) out += " --at " + shell_word(c.at);
  if (!c.token_file.empty()) out += " --token-file " + shell_word(c.token_file);
  return out;
}

}  // namespace muster::cmd
