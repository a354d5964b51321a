#include <fmt/core.h>

#include "api/render.h"
#include "base/text.h"
#include "report/queues.h"

namespace muster::api {
namespace {

void bound_field(JsonWriter& w, std::string_view name, std::optional<double> bound) {
  w.key(name);
  if (bound) {
    w.value(*bound);
  } else {
    w.null();
  }
}

double rounded(double x, double to) { return static_cast<double>(static_cast<std::int64_t>(x * to + 0.5)) / to; }

void write_queue(JsonWriter& w, const State& s, const report::QueueUseRow& q) {
  w.object().field("name", q.name).field("parent", q.parent).field("weight", q.weight);
  w.field("guaranteed_gpus", q.guaranteed);
  bound_field(w, "limit_gpus", q.limit);
  bound_field(w, "limit_kw", q.limit_kw);
  w.field("borrow", q.borrow).field("lend", q.lend);
  w.field("held_gpus", q.held).field("borrowed_gpus", q.borrowed).field("running_jobs", q.running);
  w.field("waiting_jobs", q.waiting).field("waiting_gpus", q.waiting_gpus);
  w.field("share_due", rounded(q.due, 1e6)).field("share_used", rounded(q.used, 1e6)).field("past_gpus", rounded(q.past, 1e3));
  w.field("half_life_s", s.policy.scheduling.half_life.seconds()).key("models").array();
  for (const report::ModelUse& m : q.models) {
    w.object().field("model", m.model).field("guaranteed_gpus", m.guaranteed);
    bound_field(w, "limit_gpus", m.limit);
    w.field("held_gpus", m.held).end_object();
  }
  w.end_array().end_object();
}

// The jobs a submit made, by the engine's word: a job's id, or the number of an array.
void write_jobs_made(JsonWriter& w, const State& s, const std::string& detail, std::uint32_t array) {
  const auto id = parse_job_id(detail);
  w.field("job", id ? render(*id) : std::string()).field("array", array);
  const Job* j = id ? find_job(s, array > 0 ? JobId{id->number, 1} : *id) : nullptr;
  w.field("phase", j != nullptr ? name_of(j->phase) : std::string_view());
}

}  // namespace

Result<std::string> render_queues(const Frame& f, const Query&) {
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "QueueList").field("seq", f.state().seq).key("items").array();
  for (const report::QueueUseRow& q : report::queue_rows(f.state())) write_queue(w, f.state(), q);
  w.end_array().end_object();
  return w.take();
}

Result<std::string> render_queue(const Frame& f, const std::string& name) {
  std::vector<std::string> known;
  for (const report::QueueUseRow& q : report::queue_rows(f.state())) {
    known.push_back(q.name);
    if (q.name != name) continue;
    JsonWriter w;
    write_queue(w, f.state(), q);
    return w.take();
  }
  const auto meant = nearest(name, known);
  return fail(Code::not_found, fmt::format("there is no queue '{}'", printable(name)),
              meant ? fmt::format("did you mean '{}'?", printable(*meant)) : "GET /api/v1/queues lists them");
}

Result<std::string> render_command(const Frame& f, const std::string& id) {
  const State& s = f.state();
  const auto at = std::find_if(s.commands.begin(), s.commands.end(), [&](const CommandRecord& c) { return c.id == id; });
  if (at == s.commands.end()) {
    return fail(Code::not_found, fmt::format("there is no command '{}'", printable(id)),
                "it may not have arrived yet; only the last ones are remembered");
  }
  JsonWriter w;
  w.object().field("id", id).field("seq", at->seq);
  for (const auto& [key, r] : s.orders) {
    if (r.order.reason.wish != id || r.status == Status::not_received) continue;
    w.field("status", name_of(r.status)).field("action", key).field("detail", r.detail);
    const Action& a = r.order.action;
    if (a.verb == Verb::submit_job && r.status == Status::done) write_jobs_made(w, s, r.detail, a.spec.array);
    w.end_object();
    return w.take();
  }
  const auto waits = [&](const CommandGiven& c) { return c.id == id; };
  w.field("status", std::any_of(s.wishes.begin(), s.wishes.end(), waits) ? "pending" : "answered").end_object();
  return w.take();
}

}  // namespace muster::api
