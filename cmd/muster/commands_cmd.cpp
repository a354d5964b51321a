// Commands that act: pause, resume, drain, undrain, submit, cancel, twin inject, login. Each is durable once it says
// so.
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/json_writer.h"
#include "base/node_list.h"
#include "base/text.h"
#include "client.h"
#include "commands.h"
#include "give.h"
#include "report/document.h"
#include "report/guard_status.h"
#include "report/units.h"
#include "report/upgrade_status.h"
#include "say.h"

namespace muster::cmd {
namespace {

using report::Format;
using report::text_of;

int give_and_say(const Connection& connection, const GivenWish& wish, const std::string& done) {
  const auto client = Client::open(connection);
  if (!client) return say_error(client.error());
  const auto seq = give(*client, wish);
  if (!seq) return say_error(seq.error());
  put(fmt::format("{} (event {})\n", done, *seq));
  return 0;
}

// 0: go on. Otherwise the exit code.
int confirm(bool yes, const std::string& question, const std::string& command) {
  if (yes) return 0;
  if (::isatty(STDIN_FILENO) == 1 && stderr_is_terminal()) {
    if (ask_yes(question)) return 0;
    say("nothing was done");
    return 1;
  }
  return say_error({Code::bad_input, "nothing was done: this needs a yes", "add --yes to `" + command + "`"});
}

std::string plural(std::size_t n, std::string_view noun) { return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s"); }

// The nodes named, as the server has them, in the order named.
Result<std::vector<Value>> find_nodes(const Client& client, const std::vector<std::string>& lists) {
  const auto names = expand_node_list(join(lists, ","));
  if (!names) return tl::unexpected(names.error());
  const auto list = client.get("/api/v1/nodes", {{"name", join(lists, ",")}});
  if (!list) return tl::unexpected(list.error());
  std::map<std::string, Value> there;
  for (const auto& n : report::list_of(*list, "items")) there.emplace(text_of(n, "name"), n);
  std::vector<Value> out;
  std::set<std::string> done;
  for (const auto& name : *names) {
    const auto at = there.find(name);
    if (at == there.end()) {
      return fail(Code::not_found, fmt::format("there is no node '{}'", name), "`muster get nodes -o name` lists them");
    }
    if (done.insert(name).second) out.push_back(at->second);
  }
  return out;
}

void say_what_drain_does(const std::vector<Value>& nodes) {
  std::vector<std::string> names;
  std::map<std::string, std::size_t> jobs;
  std::size_t held = 0;
  for (const auto& n : nodes) {
    names.push_back(text_of(n, "name"));
    if (const auto job = text_of(n, "job"); !job.empty()) ++jobs[job];
    if (text_of(n, "state") == "drained") ++held;
  }
  say(fmt::format("This takes {} out of service: {}", plural(nodes.size(), "node"), compress_node_list(names)));
  for (const auto& [job, count] : jobs) {
    say(fmt::format("  job {} runs on {} of them and goes on to its end there", job, count));
  }
  if (jobs.empty()) say("  nothing runs there now");
  if (held > 0) say(fmt::format("  {} of them {} drained already", held, held == 1 ? "is" : "are"));
}

std::string own_name() {
  if (const auto* user = ::getpwuid(::geteuid()); user && user->pw_name) return to_valid_utf8(user->pw_name);
  return "uid " + std::to_string(::geteuid());
}

bool has_ended(std::string_view phase) { return phase == "completed" || phase == "failed" || phase == "cancelled"; }

// Of an array, named whole, those members that have not ended; else 0 or 1.
std::size_t left_to_cancel(const Value& j) {
  const auto* phases = j.find("phases");
  if (phases == nullptr || phases->object() == nullptr) return has_ended(text_of(j, "phase")) ? 0 : 1;
  double left = 0;
  for (const auto& m : *phases->object()) left += has_ended(m.key) ? 0 : report::number_of(*phases, m.key).value_or(0);
  return static_cast<std::size_t>(left);
}

// Nothing is previewed, and nothing done, where one of them has ended: a typing error must not cancel the others.
Result<void> check_cancel(const std::vector<Value>& jobs) {
  for (const auto& j : jobs) {
    if (left_to_cancel(j) > 0) continue;
    const auto as = j.find("phases") ? std::string(", every member of it") : " as " + printable(text_of(j, "phase"));
    return fail(Code::conflict, fmt::format("job {} has ended{}: there is nothing to cancel", printable(text_of(j, "id")), as),
                "leave it out; nothing was done");
  }
  return {};
}

void say_what_cancel_does(const std::vector<Value>& jobs) {
  for (const auto& j : jobs) {
    if (j.find("phases")) {
      say(fmt::format("This ends {} of the {} known of job {} \"{}\" of {}", left_to_cancel(j),
                      plural(report::list_of(j, "members").size(), "member"), text_of(j, "id"), printable(text_of(j, "name")),
                      printable(text_of(j, "user"))));
      continue;
    }
    const auto steps = report::number_of(j, "steps").value_or(0);
    const auto safe = report::number_of(j, "durable_steps").value_or(0);
    const auto lost =
        steps > safe ? fmt::format("; {} steps since its last checkpoint are lost", render_number(steps - safe)) : "";
    say(fmt::format("This ends job {} \"{}\" of {}, {} on {} nodes{}", text_of(j, "id"), printable(text_of(j, "name")),
                    printable(text_of(j, "user")), text_of(j, "phase"), text_of(j, "nodes_wanted"), lost));
  }
}

std::string spec_json(const SubmitOptions& o) {
  JsonWriter w;
  w.object().field("name", o.name).field("user", o.user.empty() ? own_name() : o.user).field("account", o.account);
  w.field("nodes", o.nodes).field("step_s", o.step_s).field("steps", o.steps);
  if (o.gpus_per_node > 0) w.field("gpus_per_node", o.gpus_per_node);
  if (o.gpu_milli > 0) w.field("gpu_milli", o.gpu_milli);
  if (o.segment > 0) w.field("segment", o.segment);
  if (!o.within.empty()) w.field("within", o.within);
  if (!o.prefer.empty()) w.field("prefer", o.prefer).field("prefer_wait_s", o.prefer_wait_s);
  if (!o.gpu_model.empty()) w.field("gpu_model", o.gpu_model);
  if (!o.queue.empty()) w.field("queue", o.queue);
  if (o.priority != 0) w.field("priority", o.priority);
  if (o.time_limit_s > 0) w.field("time_limit_s", o.time_limit_s);
  if (o.deadline_in_s > 0) w.field("deadline_in_s", o.deadline_in_s);
  if (o.deferrable) w.field("deferrable", true);
  if (o.no_requeue) w.field("no_requeue", true);
  if (o.paced) w.field("paced", true);
  if (o.nodes_min > 0) w.field("nodes_min", o.nodes_min);
  if (o.value_per_gpu_h > 0) w.field("value_per_gpu_h", o.value_per_gpu_h);
  if (o.array > 0) w.field("array", o.array);
  if (!o.after.empty()) {
    w.key("after").array();
    for (const std::string& id : o.after) w.value(id);
    w.end_array();
  }
  w.field("checkpoint_every_s", o.checkpoint_every_s).field("checkpoint_gb", o.checkpoint_gb).end_object();
  return w.take();
}

// The server speaks of the fields of a spec; who gave flags is told the flag.
Error by_flag(Error e) {
  static const std::map<std::string, std::string, std::less<>> others = {{"gpu_model", "gpu"},
                                                                         {"time_limit_s", "time-limit"},
                                                                         {"deadline_in_s", "deadline"},
                                                                         {"prefer_wait_s", "prefer-wait"},
                                                                         {"value_per_gpu_h", "value"},
                                                                         {"step_s", "step"},
                                                                         {"checkpoint_every_s", "checkpoint-every"}};
  constexpr std::string_view kBefore = "spec.";
  if (!e.what.starts_with(kBefore)) return e;
  const auto end = std::min(e.what.find_first_of(" :"), e.what.size());
  std::string flag = e.what.substr(kBefore.size(), end - kBefore.size());
  if (const auto it = others.find(flag); it != others.end()) flag = it->second;
  std::replace(flag.begin(), flag.end(), '_', '-');
  e.what = "--" + flag + e.what.substr(end);
  return e;
}

// The engine numbers the job a moment after the command is durable: asks until it has. Null where it takes too long.
Value wait_for_jobs(const Client& client, const std::string& command) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  auto pause = std::chrono::milliseconds(20);
  for (;;) {
    const auto answer = client.get("/api/v1/commands" + piece(command));
    if (!answer && answer.error().code != Code::not_found) return {};
    const auto status = answer ? text_of(*answer, "status") : std::string();
    if (answer && status != "pending" && status != "unknown") return *answer;
    // Not found: it is in the journal, but not in a published state yet; or the server is older and has no such path.
    if (Clock::now() - began > std::chrono::seconds(answer ? 10 : 3)) return {};
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(500));
  }
}

std::string first_of_array(const std::string& number) { return number + "_0"; }

int say_submitted(const Client& client, const SubmitOptions& o, const std::string& seq, const Value& made) {
  const auto status = text_of(made, "status");
  if (status == "refused" || status == "failed") {
    return say_error(
        {Code::refused, "the engine did not take the job: " + text_of(made, "detail"), "correct it and submit again"});
  }
  const auto job = text_of(made, "job");
  const auto last = std::to_string(o.array == 0 ? 0 : o.array - 1);
  if (o.format == Format::json) {
    JsonWriter w;
    w.object().field("job", job).field("name", o.name).field("phase", text_of(made, "phase"));
    w.field("array", o.array).field("first", o.array > 0 && !job.empty() ? first_of_array(job) : job);
    w.field("last", o.array > 0 && !job.empty() ? job + "_" + last : job).key("seq").raw(seq).end_object();
    put(w.take() + "\n");
    return 0;
  }
  if (job.empty()) {
    say("the job is durable, but the engine has not numbered it yet; `muster get jobs` shows it once it has");
    if (o.format != Format::name) put(fmt::format("{} submitted (event {})\n", printable(o.name), seq));
    return 0;
  }
  if (o.format == Format::name) {
    put(printable(job) + "\n");
    return 0;
  }
  if (o.array > 0) {
    put(fmt::format("jobs {}_0 to {}_{} ({}, {}) queued (event {})\n", printable(job), printable(job), last,
                    plural(o.array, "member"), printable(o.name), seq));
  } else {
    put(fmt::format("job {} ({}) queued (event {})\n", printable(job), printable(o.name), seq));
  }
  // That it follows another is no news to who said so.
  const auto whole = client.get("/api/v1/jobs" + piece(o.array > 0 ? first_of_array(job) : job));
  if (const auto note = whole ? text_of(*whole, "note") : std::string(); !note.empty() && o.after.empty()) say("note: " + note);
  return 0;
}

}  // namespace

int run_pause(const PauseOptions& o) {
  return give_and_say(o.connection, {.verb = "pause", .reason = o.reason},
                      "paused: nothing is acted on until `muster resume`; watching goes on");
}

int run_resume(const ResumeOptions& o) { return give_and_say(o.connection, {.verb = "resume", .reason = o.reason}, "resumed"); }

int run_approve(const ApproveOptions& o) {
  return give_and_say(o.connection, {.verb = o.reject ? "reject" : "approve", .reason = o.reason, .approval = o.id},
                      fmt::format("approval {} {}", o.id, o.reject ? "rejected: a person has it now" : "granted"));
}

int run_guard_status(const GuardOptions& o) {
  const auto client = Client::open(o.connection);
  if (!client) return say_error(client.error());
  const auto guard = client->get("/api/v1/guard", {});
  if (!guard) return say_error(guard.error());
  put(o.format == Format::json ? report::render_json(*guard) : report::guard_words(*guard));
  return 0;
}

int run_upgrade(const UpgradeOptions& o) {
  using What = UpgradeOptions::What;
  if (o.what == What::stop)
    return give_and_say(o.connection, {.verb = "upgrade_stop", .reason = o.reason}, "nothing more is begun; what is done stays");
  if (o.what == What::back)
    return give_and_say(o.connection, {.verb = "upgrade_back", .reason = o.reason}, "it is taken back, a few nodes at a time");
  if (o.what == What::status) {
    const auto client = Client::open(o.connection);
    if (!client) return say_error(client.error());
    const auto status = client->get("/api/v1/upgrade", {});
    if (!status) return say_error(status.error());
    put(o.format == Format::json ? report::render_json(*status) : report::upgrade_words(*status));
    return 0;
  }
  const UpgradeSpec& x = o.spec;
  if (o.yes) {  // where nobody answers, there is nothing to plan
    const auto client = Client::open(o.connection);
    if (!client) return say_error(client.error());
    if (const auto there = client->get("/api/v1/upgrade", {}); !there) return say_error(there.error());
  }
  say(fmt::format("{} {} comes to {}: canaries first, watched for {}; then {:g} % of the nodes at once", x.what,
                  printable(x.version), x.nodes.empty() ? "every node" : printable(x.nodes), render_duration(x.watch),
                  x.at_once_pct));
  say("within the limits of the policy, of which it leaves a part for faults; one node at a time where that is all they allow");
  say("nodes are taken when idle; work that will not end in time moves at its checkpoint; `muster upgrade stop` stops it");
  std::string again = fmt::format("muster upgrade start {} {}", x.what, x.version);
  if (!x.before.empty()) again += " --before " + x.before;
  if (!x.nodes.empty()) again += fmt::format(" --nodes '{}'", x.nodes);
  again += " ...";
  if (const int no = confirm(o.yes, "Upgrade?", again); no != 0) return no;
  JsonWriter w;
  w.object().field("what", x.what).field("version", x.version).field("before", x.before).field("nodes", x.nodes);
  w.field("canaries", x.canaries).field("watch_s", x.watch.seconds()).field("at_once_pct", x.at_once_pct);
  w.field("finish_in_s", x.finish_in.seconds()).end_object();
  return give_and_say(o.connection, {.verb = "upgrade", .reason = o.reason, .upgrade = w.take()},
                      "begun; `muster upgrade status` tells how far it is");
}

int run_drain(const DrainOptions& o) {
  const auto client = Client::open(o.connection);
  if (!client) return say_error(client.error());
  const auto nodes = find_nodes(*client, o.nodes);
  if (!nodes) return say_error(nodes.error());
  if (!o.undo) {
    say_what_drain_does(*nodes);
    if (const int no = confirm(o.yes, "Drain?", "muster drain " + join(o.nodes, " ")); no != 0) return no;
  }
  for (const auto& n : *nodes) {
    const auto name = text_of(n, "name");
    const auto seq = give(*client, {.verb = o.undo ? "undrain" : "drain", .node = name, .reason = o.reason});
    if (!seq) return say_error(seq.error());
    if (const auto done = check_not_shadow(*client); !done) return say_error(done.error());
    put(fmt::format("{} {} (event {})\n", printable(name), o.undo ? "takes work again" : "takes no new work", *seq));
  }
  return 0;
}

int run_submit(const SubmitOptions& o) {
  const auto client = Client::open(o.connection);
  if (!client) return say_error(client.error());
  const auto id = new_command_id();
  const auto seq = give(*client, {.verb = "submit", .spec = spec_json(o)}, id);
  if (!seq) return say_error(by_flag(seq.error()));
  return say_submitted(*client, o, *seq, wait_for_jobs(*client, id));
}

int run_cancel(const CancelOptions& o) {
  const auto client = Client::open(o.connection);
  if (!client) return say_error(client.error());
  std::vector<Value> jobs;
  for (const auto& id : o.jobs) {
    auto job = client->get("/api/v1/jobs" + piece(id));
    if (!job) return say_error(job.error());
    jobs.push_back(std::move(*job));
  }
  if (const auto ok = check_cancel(jobs); !ok) return say_error(ok.error());
  say_what_cancel_does(jobs);
  if (const int no = confirm(o.yes, "Cancel?", "muster cancel " + join(o.jobs, " ")); no != 0) return no;
  for (const auto& j : jobs) {
    const auto seq = give(*client, {.verb = "cancel", .job = text_of(j, "id"), .reason = o.reason});
    if (!seq) return say_error(seq.error());
    if (const auto done = check_not_shadow(*client); !done) return say_error(done.error());
    const auto members = j.find("phases") ? fmt::format(", {},", plural(left_to_cancel(j), "member")) : std::string();
    put(fmt::format("job {}{} is cancelled (event {})\n", printable(text_of(j, "id")), members, *seq));
  }
  return 0;
}

int run_twin_inject(const TwinInjectOptions& o) {
  const auto client = Client::open(o.connection);
  if (!client) return say_error(client.error());
  JsonWriter w;
  w.object().field("fault", o.fault);
  if (!o.node.empty()) w.field("node", o.node);
  if (o.slot >= 0) w.field("slot", o.slot);
  if (o.lasts_s > 0) w.field("lasts_s", o.lasts_s);
  if (o.share >= 0) w.field("share", o.share);
  w.end_object();
  const auto answer = client->post("/api/v1/tools/inject", w.take());
  if (!answer) return say_error(answer.error());
  put(fmt::format("{} on {}: done; `muster get incidents --open` shows what comes of it\n", o.fault,
                  o.node.empty() ? "the site" : printable(o.node)));
  return 0;
}

int run_login(const LoginOptions& o) {
  const auto client = Client::open(o.connection);
  if (!client) return say_error(client.error());
  const auto answer = client->post("/api/v1/logins", "{}");
  if (!answer) return say_error(answer.error());
  const auto page = client->page();
  if (page.empty()) say("the server did not leave its address here: put http://HOST:PORT in front");
  put(printable(page + text_of(*answer, "path")) + "\n");
  return 0;
}

}  // namespace muster::cmd
