// `muster runbook`: what is done about each kind of fault: from files, or as a running controller has it.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/json_writer.h"
#include "base/text.h"
#include "client.h"
#include "commands.h"
#include "files.h"
#include "ingest/embedded.h"
#include "ingest/runbook_file.h"
#include "model/codec.h"
#include "report/table.h"
#include "say.h"
#include "scene.h"

namespace muster::cmd {
namespace {

struct Loaded {
  Policy policy;
  std::vector<RunbookText> books;  // of the policy, with their words
};

Result<Loaded> load(const std::string& name) {
  auto policy = load_policy(name);  // the whole file must be sound
  if (!policy) return tl::unexpected(policy.error());
  if (name.empty()) return Loaded{std::move(*policy), shipped_runbooks()};
  auto text = Result<std::string>();
  if (const auto shipped = embedded_file("policies/" + name + ".yaml")) {
    text = std::string(*shipped);
  } else {
    text = read_file(name);
  }
  if (!text) return tl::unexpected(text.error());
  auto books = runbooks_of_policy(*text, name);
  if (!books) return tl::unexpected(books.error());
  return Loaded{std::move(*policy), std::move(*books)};
}

// Those in force where a Muster runs. It keeps no words for people: those that ship stand in, where they speak of the same steps.
Result<Loaded> load_running(const Connection& connection) {
  const auto client = Client::open(connection);
  if (!client) return tl::unexpected(client.error());
  const auto answer = client->get("/api/v1/policy", {});
  if (!answer) return tl::unexpected(answer.error());
  auto body = decode_body("policy_applied", *answer);
  if (!body) return tl::unexpected(body.error());
  Loaded out{std::move(std::get<PolicyApplied>(*body).policy), {}};
  for (const Runbook& r : out.policy.runbooks) {
    RunbookText t{r, "", "", ""};
    for (const RunbookText& x : shipped_runbooks()) {
      if (x.book.name != r.name) continue;
      t.title = x.title;
      if (x.book.steps == r.steps) std::tie(t.why, t.source) = std::tie(x.why, x.source);
    }
    out.books.push_back(std::move(t));
  }
  return out;
}

std::string codes_of(const Runbook& r) {
  std::string out;
  for (const std::int32_t c : r.codes) out += fmt::format("{}Xid {}", out.empty() ? "" : ", ", c);
  return out;
}
std::string steps_of(const Runbook& r) {
  std::string out;
  for (const Verb v : r.steps) out += fmt::format("{}{}", out.empty() ? "" : ", ", name_of(v));
  return out;
}

void write(JsonWriter& w, const RunbookText& t) {
  const Runbook& r = t.book;
  w.object().field("name", r.name).field("version", r.version).field("kind", name_of(r.kind)).key("codes").array();
  for (const std::int32_t c : r.codes) w.value(std::int64_t{c});
  w.end_array().field("act", r.act).field("job", name_of(r.job)).field("test_first", r.test_first).field("window", r.window);
  w.key("steps").array();
  for (const Verb v : r.steps) w.value(name_of(v));
  w.end_array().field("skip_7d", r.skip_7d).field("last_28d", r.last_28d);
  w.field("title", t.title).field("why", t.why).field("source", t.source).end_object();
}

int put_json(const std::vector<RunbookText>& all) {
  JsonWriter w;
  w.array();
  for (const RunbookText& t : all) write(w, t);
  w.end_array();
  put(w.take() + "\n");
  return 0;
}

struct Change {
  std::string group;  // of nodes; empty: the whole policy
  std::string runbook, what, before, after;
  bool operator==(const Change&) const = default;
};

const Runbook* named(const std::vector<Runbook>& all, const std::string& name) {
  const auto at = std::find_if(all.begin(), all.end(), [&](const Runbook& r) { return r.name == name; });
  return at == all.end() ? nullptr : &*at;
}

std::string yes(bool v) { return v ? "yes" : "no"; }

void compare(const Runbook* a, const Runbook* b, std::vector<Change>& out) {
  const std::string& name = (a != nullptr ? a : b)->name;
  if (a == nullptr || b == nullptr) {
    out.push_back({"", name, "runbook", a != nullptr ? "there" : "absent", b != nullptr ? "there" : "absent"});
    return;
  }
  const auto note = [&](const char* what, std::string x, std::string y) {
    if (x != y) out.push_back({"", name, what, std::move(x), std::move(y)});
  };
  const auto list_or_none = [](std::string s) { return s.empty() ? std::string("none") : s; };
  note("kind", std::string(name_of(a->kind)), std::string(name_of(b->kind)));
  note("codes", list_or_none(codes_of(*a)), list_or_none(codes_of(*b)));
  note("version", std::to_string(a->version), std::to_string(b->version));
  note("act", yes(a->act), yes(b->act));
  note("job", std::string(name_of(a->job)), std::string(name_of(b->job)));
  note("test_first", yes(a->test_first), yes(b->test_first));
  note("window", yes(a->window), yes(b->window));
  note("steps", list_or_none(steps_of(*a)), list_or_none(steps_of(*b)));
  note("skip_7d", std::to_string(a->skip_7d), std::to_string(b->skip_7d));
  note("last_28d", std::to_string(a->last_28d), std::to_string(b->last_28d));
}

std::vector<Change> compare(const std::vector<Runbook>& a, const std::vector<Runbook>& b) {
  std::vector<Change> out;
  for (const Runbook& x : a) compare(&x, named(b, x.name), out);
  for (const Runbook& y : b) {
    if (named(a, y.name) == nullptr) compare(nullptr, &y, out);
  }
  return out;
}

// What holds for the nodes of a group. Where a policy has no such group, its own runbooks hold for them.
struct GroupView {
  std::string nodes = "absent";
  bool shadow = false;
  const std::vector<Runbook>* books;
};
GroupView view_of(const Policy& p, const std::string& group) {
  for (const NodeGroup& g : p.groups) {
    if (g.name == group) return {g.nodes, g.shadow, g.runbooks.empty() ? &p.runbooks : &g.runbooks};
  }
  return {"absent", false, &p.runbooks};
}

// What differs for a group beyond what differs for all nodes.
void compare_group(const Policy& a, const Policy& b, const std::string& group, const std::vector<Change>& of_all,
                   std::vector<Change>& out) {
  const GroupView x = view_of(a, group);
  const GroupView y = view_of(b, group);
  if (x.nodes != y.nodes) out.push_back({group, "", "nodes", x.nodes, y.nodes});
  if (x.shadow != y.shadow) out.push_back({group, "", "shadow", yes(x.shadow), yes(y.shadow)});
  for (Change& c : compare(*x.books, *y.books)) {
    if (std::find(of_all.begin(), of_all.end(), c) != of_all.end()) continue;
    c.group = group;
    out.push_back(std::move(c));
  }
}

std::vector<Change> compare(const Policy& a, const Policy& b) {
  const std::vector<Change> of_all = compare(a.runbooks, b.runbooks);
  std::vector<Change> out = of_all;
  std::vector<std::string> groups;
  for (const Policy* p : {&a, &b}) {
    for (const NodeGroup& g : p->groups) {
      if (std::find(groups.begin(), groups.end(), g.name) == groups.end()) groups.push_back(g.name);
    }
  }
  for (const std::string& g : groups) compare_group(a, b, g, of_all, out);
  if (a.shadow != b.shadow) out.push_back({"", "", "shadow", yes(a.shadow), yes(b.shadow)});
  return out;
}

std::string line_of(const Change& c) {
  const std::string group = c.group.empty() ? "" : fmt::format("group {}: ", printable(c.group));
  const std::string book = c.runbook.empty() ? "" : printable(c.runbook) + ": ";
  return fmt::format("{}{}{} {} -> {}\n", group, book, c.what, printable(c.before), printable(c.after));
}

// Below a list: where another runbook holds, and where nothing is done.
std::string exceptions(const Policy& p) {
  std::string out;
  for (const NodeGroup& g : p.groups) {
    const std::string of = fmt::format("group {} ({}): ", printable(g.name), printable(g.nodes));
    if (g.shadow) out += of + "in shadow: nothing is done there\n";
    if (g.runbooks.empty()) continue;
    for (const Change& c : compare(p.runbooks, g.runbooks)) out += of + line_of(c);
  }
  if (p.shadow) out += "in shadow: nothing is done at all\n";
  return out;
}

int list(const RunbookOptions& o, const Loaded& from) {
  const std::vector<RunbookText>& all = from.books;
  if (o.format == report::Format::json) return put_json(all);
  report::Table t;
  t.columns = {{"NAME"}, {"VERSION", true}, {"FOR"}, {"ACTS"}, {"JOB"}, {"STEPS"}};
  for (const RunbookText& x : all) {
    const Runbook& r = x.book;
    using report::Cell;
    t.rows.push_back(
        {Cell(r.name), Cell(std::to_string(r.version)), Cell(r.codes.empty() ? std::string(name_of(r.kind)) : codes_of(r)),
         Cell(r.act ? (r.test_first ? "after a test" : "yes") : "no", r.act ? report::Tone::plain : report::Tone::dim),
         Cell(r.act ? std::string(name_of(r.job)) : "-"), Cell(r.steps.empty() ? "-" : steps_of(r))});
  }
  put(report::render_table(t, {}) + exceptions(from.policy));
  return 0;
}

std::string_view care(JobCare j) {
  switch (j) {
    case JobCare::wait: return "the job there may end by itself; the node takes no new work meanwhile";
    case JobCare::requeue:
      return "the job there hangs: it is stopped, given a second witness, and goes on from its checkpoint, on a spare where "
             "there is one";
    case JobCare::checkpoint:
      return "the job there goes on until moving it costs least: now, at its next checkpoint, or not at all; all three are "
             "weighed";
  }
  return "";
}
std::string_view takes(Verb v) {
  switch (v) {
    case Verb::bounce_link: return "a NIC's port down and up again; half a minute";
    case Verb::reset_gpu: return "one or two minutes";
    case Verb::reload_driver: return "two minutes";
    case Verb::reboot_node: return "6 to 12 minutes";
    case Verb::power_cycle_node: return "8 to 15 minutes";
    default: return "a person, with a dossier; hours";
  }
}

std::string words(const RunbookText& t) {
  const Runbook& r = t.book;
  std::string s = fmt::format("{}, version {}: {}\n", r.name, r.version, t.title.empty() ? name_of(r.kind) : printable(t.title));
  s += fmt::format("for      {}{}{}\n", name_of(r.kind), r.codes.empty() ? "" : ", ", codes_of(r));
  if (!t.why.empty()) s += fmt::format("why      {}\n", printable(t.why));
  if (!t.source.empty()) s += fmt::format("source   {}\n", printable(t.source));
  if (!r.act) return s + "acts     no: it is noted and watched\n";
  s += fmt::format("job      {}\n", care(r.job));
  s += "steps    drain the node, within the policy's limits, and wait until it is empty\n";
  if (r.test_first) s += "         test it: only if the test fails,\n";
  for (const Verb v : r.steps) s += fmt::format("         {} ({}), then a test: passed, it returns\n", name_of(v), takes(v));
  s += "         nothing helped: it is held for a person\n";
  if (r.steps.size() > 1 && r.skip_7d > 0)
    s += fmt::format("repeats  {} such incidents in 7 days: one step further at once", r.skip_7d);
  if (r.steps.size() > 1 && r.last_28d > 0)
    s += fmt::format("{} {} in 28 days: the last step at once", r.skip_7d > 0 ? ";" : "repeats ", r.last_28d);
  if (s.back() != '\n') s += "\n";
  if (r.window) s += "when     only in the policy's maintenance windows\n";
  return s;
}

int show(const RunbookOptions& o, const std::vector<RunbookText>& all) {
  std::vector<RunbookText> found;
  for (const std::string& name : o.names) {
    const auto at = std::find_if(all.begin(), all.end(), [&](const RunbookText& t) { return t.book.name == name; });
    if (at == all.end()) {
      std::vector<std::string> known;
      for (const RunbookText& t : all) known.push_back(t.book.name);
      const auto near = nearest(name, known);
      return say_error({Code::not_found, fmt::format("no runbook is called {}", quoted(name)),
                        near ? "did you mean " + *near + "?" : "`muster runbook list` names them"});
    }
    found.push_back(*at);
  }
  if (o.format == report::Format::json) return put_json(found);
  for (std::size_t i = 0; i < found.size(); ++i) put((i > 0 ? "\n" : "") + words(found[i]));
  return 0;
}

int check(const RunbookOptions& o) {
  int worst = 0;
  JsonWriter w;
  w.array();
  for (const std::string& file : o.names) {
    const auto all = load(file);
    w.object().field("file", file).field("ok", all.has_value());
    if (!all) w.field("what", all.error().what);
    w.end_object();
    if (!all) {
      worst = std::max(worst, o.format == report::Format::json ? 1 : say_error(all.error()));
    } else if (o.format != report::Format::json) {
      const auto& books = all->books;
      const auto acting = std::count_if(books.begin(), books.end(), [](const RunbookText& t) { return t.book.act; });
      put(fmt::format("{}: sound; {} runbooks in force, {} of them act\n", printable(file), books.size(), acting));
    }
  }
  w.end_array();
  if (o.format == report::Format::json) put(w.take() + "\n");
  return worst;
}

int diff(const RunbookOptions& o) {
  if (o.names.size() != 2)
    return say_error(
        {Code::bad_input, fmt::format("diff compares two policies, not {}", o.names.size()), "muster runbook diff A B"});
  const auto a = load_policy(o.names[0]);
  if (!a) return say_error(a.error());
  const auto b = load_policy(o.names[1]);
  if (!b) return say_error(b.error());
  const std::vector<Change> changes = compare(*a, *b);
  if (o.format == report::Format::json) {
    JsonWriter w;
    w.array();
    for (const Change& c : changes) {
      w.object().field("group", c.group).field("runbook", c.runbook).field("what", c.what).field("before", c.before);
      w.field("after", c.after).end_object();
    }
    w.end_array();
    put(w.take() + "\n");
  } else if (changes.empty()) {
    put("the same runbooks\n");
  } else {
    for (const Change& c : changes) put(line_of(c));
  }
  return changes.empty() ? 0 : 6;
}

}  // namespace

int run_runbook(const RunbookOptions& o) {
  if (o.what == RunbookOptions::What::check) return check(o);
  if (o.what == RunbookOptions::What::diff) return diff(o);
  const bool running = o.running || !o.connection.state.empty() || !o.connection.server.empty();
  const auto from = running ? load_running(o.connection) : load(o.policy);
  if (!from) return say_error(from.error());
  return o.what == RunbookOptions::What::list ? list(o, *from) : show(o, from->books);
}

}  // namespace muster::cmd
