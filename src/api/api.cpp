#include "api/api.h"

#include <fmt/core.h>

#include <deque>
#include <map>
#include <mutex>

#include "api/assets.h"
#include "api/command_body.h"
#include "api/errors.h"
#include "api/event_streams.h"
#include "api/metrics.h"
#include "api/openapi.h"
#include "api/render.h"
#include "api/routes.h"
#include "base/check.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "model/codec.h"
#include "report/checkpoint_note.h"
#include "report/explain.h"
#include "report/guard_status.h"
#include "report/queue_forecast.h"
#include "report/units.h"
#include "report/upgrade_status.h"

namespace muster::api {
namespace {

using Exchange = std::shared_ptr<HttpExchange>;

constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'";

constexpr std::string_view kLinkIsSpent =
    "This login link was used already, or is too old.\n\nReading needs no login: open / instead. To act, use the muster command "
    "on the server's machine, or ask there for a new link.\n";

void secure(HttpResponse& r) {
  r.headers.emplace("Content-Security-Policy", kPolicy);
  r.headers.emplace("X-Content-Type-Options", "nosniff");
  r.headers.emplace("Referrer-Policy", "no-referrer");
  r.headers.emplace("Cross-Origin-Opener-Policy", "same-origin");
  r.headers.emplace("Cross-Origin-Resource-Policy", "same-origin");
  r.headers.emplace("Cache-Control", "no-store");
}

HttpResponse plain(int status, std::string_view text) {
  HttpResponse r;
  r.status = status;
  r.content_type = "text/plain; charset=utf-8";
  r.body = text;
  return r;
}

HttpResponse to_response(Result<std::string> body) { return body ? render_json(std::move(*body)) : render_error(body.error()); }

std::string header(const HttpRequest& q, const std::string& name) {
  const auto it = q.headers.find(name);
  return it == q.headers.end() ? std::string() : it->second;
}

HttpResponse serve_asset(const HttpRequest& q, std::string_view path) {
  for (const Asset& a : assets()) {
    if (a.path != path) continue;
    HttpResponse r;
    r.content_type = a.content_type;
    r.headers["ETag"] = a.etag;
    r.headers["Cache-Control"] = "no-cache";  // kept, but asked about: a new program has new pages
    if (header(q, "if-none-match") == a.etag) {
      r.status = 304;
      return r;
    }
    r.headers["Content-Encoding"] = "gzip";
    r.body.assign(a.gz.begin(), a.gz.end());
    return r;
  }
  return render_error({Code::not_found, fmt::format("the page has no file '{}'", printable(path)), ""});
}

// A snapshot with what is derived from it, made once however many ask.
struct Prepared {
  explicit Prepared(std::shared_ptr<const Snapshot> s) : snapshot(std::move(s)), faces(look(snapshot->state)) {}
  Frame frame() const { return {*snapshot, faces}; }
  const std::string& summary() const {
    std::call_once(summary_once, [&] { summary_text = render_summary(frame()); });
    return summary_text;
  }
  const std::string& forecast() const {
    std::call_once(forecast_once, [&] { forecast_text = report::queue_forecast_json(snapshot->state); });
    return forecast_text;
  }
  const MapCells& cells() const {
    std::call_once(cells_once, [&] { map_letters = std::make_shared<MapCells>(map_cells(frame())); });
    return *map_letters;
  }
  const std::string& map() const {
    std::call_once(map_once, [&] { map_text = render_map(frame(), cells()); });
    return map_text;
  }
  // Without parameters: every open page of it asks again and again.
  const std::string& fabric() const {
    std::call_once(fabric_once, [&] { fabric_text = render_fabric(frame(), {}).value_or("{}"); });
    return fabric_text;
  }
  std::shared_ptr<const Snapshot> snapshot;
  Faces faces;
  mutable std::once_flag summary_once, map_once, cells_once, forecast_once, fabric_once;
  mutable std::shared_ptr<const MapCells> map_letters;
  mutable std::string summary_text, map_text, forecast_text, fabric_text;
};

// What it takes to answer one request.
struct Call {
  Exchange exchange;
  const Route& route;
  std::map<std::string, std::string> pieces;
  Identity who;
  const HttpRequest& request() const { return exchange->request(); }
};

// How many more nodes may go out of service, for hooks that would drain one past the guard. In shadow mode none does.
std::uint64_t refusals_left(const State& s) {
  const Limits& l = s.policy.limits;
  const std::uint32_t most = allowance(l.out_cluster_pct, l.out_cluster_floor, static_cast<std::uint32_t>(s.nodes.size()));
  return s.policy.shadow || s.paused || s.out_nodes.size() >= most ? 0 : most - s.out_nodes.size();
}

}  // namespace

struct Api::Desk : std::enable_shared_from_this<Api::Desk> {
  explicit Desk(Deps d)
      : deps(std::move(d)),
        streams(
            deps.feed, [this] { return summary_or_empty(); }, [this] { return newest_seq(); }, {}) {}

  void handle(Exchange exchange);
  void answer(Call call);
  void answer_past(Call call, const std::string& at);
  HttpResponse read(const Call& call, const Prepared& now);
  void command(Call call, const State& state);
  void take_in(Call call);
  NodeId node_named(const std::string& name, const Site& site);
  void use_tool(Call call, const std::string& name, Value input, Code missing);
  void stream(const Call& call);
  HttpResponse log_in(const HttpRequest& q);
  HttpResponse new_login();
  HttpResponse session(const Identity& who) const;
  HttpResponse list_tools() const;
  std::string metrics_page(const Frame& frame);

  Result<std::string> map_or_changes(const Prepared& now, const Query& query);

  void send(const Exchange& to, HttpResponse r);
  std::shared_ptr<const Prepared> prepared();
  Result<std::shared_ptr<const Prepared>> prepared_at(Time utc);
  std::string summary_or_empty();
  std::uint64_t newest_seq();

  Deps deps;
  Traffic traffic;
  std::mutex mutex;
  std::shared_ptr<const Prepared> newest;
  std::deque<std::pair<Time, std::shared_ptr<const Prepared>>> earlier;  // asked for last: a page asks for many things at once
  std::deque<std::shared_ptr<const MapCells>> maps;  // that were asked for last, the newest in front
  std::mutex names_lock;
  std::map<std::string, NodeId> node_ids;
  EventStreams streams;  // its thread uses all of the above
};

void Api::Desk::send(const Exchange& to, HttpResponse r) {
  secure(r);
  const auto hundreds = static_cast<std::size_t>(r.status / 100);
  if (hundreds < traffic.responses.size()) ++traffic.responses[hundreds];
  to->respond(std::move(r));
}

std::shared_ptr<const Prepared> Api::Desk::prepared() {
  auto snapshot = deps.view.latest();
  if (!snapshot) return nullptr;
  const std::lock_guard lock(mutex);
  if (!newest || newest->snapshot != snapshot) newest = std::make_shared<Prepared>(std::move(snapshot));
  return newest;
}

std::string Api::Desk::summary_or_empty() {
  const auto now = prepared();
  return now ? now->summary() : "{}";
}

std::uint64_t Api::Desk::newest_seq() {
  const auto snapshot = deps.view.latest();
  return snapshot ? snapshot->state.seq : 0;
}

// Every request passes here: first whether we talk to it at all, then what it wants, then whether it may.
void Api::Desk::handle(Exchange exchange) {
  const HttpRequest& q = exchange->request();
  if (auto denial = deps.auth.screen(q)) {
    ++traffic.denied;
    return send(exchange, render_error(denial->status, denial->error));
  }
  auto found = match(q.method, q.path);
  if (!found) {
    HttpResponse r = render_error(found.error());
    if (found.error().code == Code::bad_input) {
      r = render_error(405, {Code::bad_input, found.error().what, "use " + found.error().next});
      r.headers["Allow"] = found.error().next;
    }
    return send(exchange, std::move(r));
  }
  auto who = deps.auth.identify(q);
  std::optional<Denial> denial;
  if (!who) {
    denial = Denial{401, who.error()};
  } else {
    denial = Auth::require(*who, found->route->role);
  }
  if (denial) {
    ++traffic.denied;
    HttpResponse r = render_error(denial->status, denial->error);
    if (denial->status == 401) r.headers["WWW-Authenticate"] = "Bearer";
    return send(exchange, std::move(r));
  }
  // The page keeps its own state in its address; what it asks of the API has known parameters.
  const bool page = found->route->id == RouteId::page;
  if (auto ok = page ? Result<void>{} : check_query(*found->route, q.query); !ok) return send(exchange, render_error(ok.error()));
  if (q.body.size() > found->route->body_max) {
    return send(exchange, render_error(413, {Code::bad_input,
                                             fmt::format("the body is larger than {} bytes", found->route->body_max), ""}));
  }
  if (!q.json_error.empty()) return send(exchange, render_error({Code::bad_input, "the body: " + q.json_error, ""}));
  answer({std::move(exchange), *found->route, std::move(found->pieces), std::move(*who)});
}

void Api::Desk::answer(Call call) {
  const HttpRequest& q = call.request();
  switch (call.route.id) {
    case RouteId::page: return send(call.exchange, serve_asset(q, "index.html"));
    case RouteId::asset: return send(call.exchange, serve_asset(q, call.pieces.at("file")));
    case RouteId::login: return send(call.exchange, log_in(q));
    case RouteId::openapi: return send(call.exchange, render_json(render_openapi(deps.tools, deps.sheets)));
    case RouteId::session: return send(call.exchange, session(call.who));
    case RouteId::new_login: return send(call.exchange, new_login());
    case RouteId::tools: return send(call.exchange, list_tools());
    case RouteId::intake: return take_in(std::move(call));
    default: break;
  }
  if (const auto at = q.query.find("at"); at != q.query.end()) {
    const std::string when = at->second;
    return answer_past(std::move(call), when);
  }
  const auto now = prepared();
  if (!now) {
    return send(call.exchange,
                render_error({Code::unreachable, "there is no state yet: the controller is starting", "try again in a moment"}));
  }
  switch (call.route.id) {
    case RouteId::events: return stream(call);
    case RouteId::commands: return command(std::move(call), now->snapshot->state);
    case RouteId::explain: {
      const auto what = q.query.find("what");
      if (what == q.query.end() || what->second.empty()) {
        return send(call.exchange, render_error({Code::bad_input, "explain needs ?what=", "e.g. /api/v1/explain?what=node001"}));
      }
      Value::Object input;
      input.push_back({"what", Value(what->second)});
      if (const auto record = q.query.find("record"); record != q.query.end()) input.push_back({"record", Value(record->second)});
      return use_tool(std::move(call), "explain", Value(std::move(input)), Code::unreachable);
    }
    case RouteId::incident_report: {
      Value::Object input;
      input.push_back({"id", Value(call.pieces.at("id"))});
      return use_tool(std::move(call), "incident_report", Value(std::move(input)), Code::unreachable);
    }
    case RouteId::tool: {
      const std::string name = call.pieces.at("name");
      Value input = q.json ? *q.json : Value(Value::Object{});
      return use_tool(std::move(call), name, std::move(input), Code::not_found);
    }
    default: return send(call.exchange, read(call, *now));
  }
}

Result<std::shared_ptr<const Prepared>> Api::Desk::prepared_at(Time utc) {
  constexpr std::size_t kEarlierKept = 4;
  const auto newest_now = deps.view.latest();
  {
    const std::lock_guard lock(mutex);
    for (const auto& [when, then] : earlier) {
      if (when == utc) return then;
    }
  }
  auto snapshot = deps.past->at(utc);
  if (!snapshot) return tl::unexpected(snapshot.error());
  auto then = std::make_shared<const Prepared>(std::move(*snapshot));
  if (newest_now && utc >= newest_now->state.now.utc) return then;  // not over yet
  const std::lock_guard lock(mutex);
  earlier.emplace_front(utc, then);
  if (earlier.size() > kEarlierKept) earlier.pop_back();
  return then;
}

void Api::Desk::answer_past(Call call, const std::string& at) {
  const auto utc = report::parse_utc(at);
  if (!utc)
    return send(call.exchange, render_error({Code::bad_input, fmt::format("at is '{}'", printable(at)),
                                             "it must be a time in UTC, e.g. 2026-11-15T02:03:04Z"}));
  if (deps.past == nullptr)
    return send(call.exchange, render_error({Code::unreachable, "there is no record of the past here", "leave out at"}));
  auto work = [desk = shared_from_this(), call = std::move(call), utc = *utc] {
    const auto then = desk->prepared_at(utc);
    if (!then) return desk->send(call.exchange, render_error(then.error()));
    if (call.route.id != RouteId::explain) return desk->send(call.exchange, desk->read(call, **then));
    const Query& query = call.request().query;
    const auto what = query.find("what");
    if (what == query.end() || query.contains("record"))
      return desk->send(call.exchange, render_error({Code::bad_input, "explain needs ?what=, and at or record",
                                                     "the record tells of all times by itself"}));
    const auto answer = report::explain_recorded((*then)->snapshot->state, what->second);
    desk->send(call.exchange, answer ? render_json(report::render_json(*answer)) : render_error(answer.error()));
  };
  if (deps.background) {
    deps.background(std::move(work));
  } else {
    work();
  }
}

HttpResponse Api::Desk::read(const Call& call, const Prepared& now) {
  const Query& query = call.request().query;
  const Frame frame = now.frame();
  switch (call.route.id) {
    case RouteId::healthz: {
      JsonWriter w;
      const std::string& trouble = frame.snapshot.trouble;
      w.object().field("status", trouble.empty() ? "ok" : "trouble").field("trouble", trouble);
      w.field("seq", frame.state().seq).field("turn", frame.state().turn).end_object();
      // 200 all the same: whoever restarts what is not healthy would not mend an engine that is away.
      return render_json(w.take());
    }
    case RouteId::metrics: {
      HttpResponse r;
      r.content_type = "text/plain; version=0.0.4; charset=utf-8";
      r.body = metrics_page(frame);
      return r;
    }
    case RouteId::summary: return render_json(now.summary());
    case RouteId::map: return to_response(map_or_changes(now, query));
    case RouteId::map_values: return to_response(render_map_values(frame, query));
    case RouteId::fabric: {
      const bool all = !query.contains("leaf") && !query.contains("job");
      return all ? render_json(now.fabric()) : to_response(render_fabric(frame, query));
    }
    case RouteId::nodes: return to_response(render_nodes(frame, query));
    case RouteId::node: return to_response(render_node(frame, call.pieces.at("name")));
    case RouteId::gpus: return to_response(render_gpus(frame, query));
    case RouteId::jobs: return to_response(render_jobs(frame, query));
    case RouteId::job: return to_response(render_job(frame, call.pieces.at("id")));
    case RouteId::queues: return to_response(render_queues(frame, query));
    case RouteId::queue: return to_response(render_queue(frame, call.pieces.at("name")));
    case RouteId::forecast: return render_json(now.forecast());
    case RouteId::command: return to_response(render_command(frame, call.pieces.at("id")));
    case RouteId::findings: return to_response(render_findings(frame, query));
    case RouteId::incidents: return to_response(render_incidents(frame, query));
    case RouteId::incident: return to_response(render_incident(frame, call.pieces.at("id")));
    case RouteId::upgrade: return render_json(report::upgrade_json(frame.state()));
    case RouteId::guard: return render_json(report::guard_json(frame.state()));
    case RouteId::policy:
      return render_json(encode_body(PolicyApplied{frame.state().policy, frame.state().policy_hash}));
    case RouteId::actions: return to_response(render_actions(frame, query));
    default: return render_error({Code::internal, fmt::format("{} has no answer", call.route.pattern), ""});
  }
}

// Live pages ask again and again: they are told what changed.
Result<std::string> Api::Desk::map_or_changes(const Prepared& now, const Query& query) {
  constexpr std::size_t kMapsKept = 32;
  std::shared_ptr<const MapCells> before;
  std::optional<std::uint64_t> since;
  if (const auto it = query.find("since"); it != query.end()) {
    since = parse_uint(it->second);
    if (!since) return fail(Code::bad_input, fmt::format("since is '{}'", printable(it->second)), "the seq of an earlier map");
  }
  now.cells();
  if (!query.contains("at")) {
    const std::lock_guard lock(mutex);
    for (const auto& m : maps) {
      if (since && m->seq == *since) before = m;
    }
    if (maps.empty() || maps.front()->seq != now.map_letters->seq) maps.push_front(now.map_letters);
    if (maps.size() > kMapsKept) maps.pop_back();
  }
  if (before == nullptr || before->jobs.size() != now.map_letters->jobs.size()) return now.map();
  return render_map_changes(*before, *now.map_letters, now.snapshot->state.site.gpus_per_node);
}

void Api::Desk::command(Call call, const State& state) {
  if (!call.request().json) return send(call.exchange, render_error({Code::bad_input, "the body is empty", "it must be JSON"}));
  auto wish = parse_command(*call.request().json, state);
  if (!wish) return send(call.exchange, render_error(wish.error()));
  wish->actor = call.who.name;
  if (wish->id.empty()) wish->id = new_token(deps.random).substr(5, 24);
  const std::string id = wish->id;
  deps.commands.submit(std::move(*wish), [desk = shared_from_this(), to = call.exchange, id](Result<std::uint64_t> seq) {
    if (!seq) return desk->send(to, render_error(seq.error()));
    JsonWriter w;
    w.object().field("seq", *seq).field("id", id).end_object();
    desk->send(to, render_json(w.take()));
  });
}

// The site never changes: an index over its names is made once.
NodeId Api::Desk::node_named(const std::string& name, const Site& site) {
  const std::lock_guard hold(names_lock);
  for (std::uint32_t n = static_cast<std::uint32_t>(node_ids.size()); n < site.nodes.size(); ++n)
    node_ids.emplace(site.nodes[n].name, NodeId{n});
  const auto it = node_ids.find(name);
  return it == node_ids.end() ? NodeId{} : it->second;
}

void Api::Desk::take_in(Call call) {
  if (deps.intake == nullptr) return send(call.exchange, render_error({Code::unreachable, "no agents are listened to here", ""}));
  if (!call.request().json) return send(call.exchange, render_error({Code::bad_input, "the body is empty", "it must be JSON"}));
  const Value* name = call.request().json->find("node");
  std::string node = name != nullptr && name->string() != nullptr ? *name->string() : std::string();
  deps.intake->take(*call.request().json, [desk = shared_from_this(), to = call.exchange, node](Result<std::uint64_t> seq) {
    if (!seq) return desk->send(to, render_error(seq.error()));
    JsonWriter w;
    w.object().field("seq", *seq);
    if (const auto now = desk->deps.view.latest()) {  // what the agent may tell the jobs on its node
      JsonWriter paces;
      report::write_paces(paces, now->state, desk->node_named(node, now->state.site));
      if (paces.view() != "[]") w.key("jobs").raw(paces.view());
      w.field("refusals_left", refusals_left(now->state));
    }
    w.end_object();
    desk->send(to, render_json(w.take()));
  });
}

void Api::Desk::use_tool(Call call, const std::string& name, Value input, Code missing) {
  const auto it = deps.tools.find(name);
  if (it == deps.tools.end()) {
    return send(call.exchange, render_error({missing, fmt::format("there is no tool '{}' here", printable(name)),
                                             "GET /api/v1/tools lists them"}));
  }
  if (auto denial = Auth::require(call.who, it->second->role_for(input))) {
    ++traffic.denied;
    return send(call.exchange, render_error(denial->status, denial->error));
  }
  auto work = [desk = shared_from_this(), to = call.exchange, tool = it->second, input = std::move(input)] {
    desk->send(to, to_response(tool->call(input)));
  };
  if (deps.background) {
    deps.background(std::move(work));
  } else {
    work();
  }
}

void Api::Desk::stream(const Call& call) {
  const HttpRequest& q = call.request();
  std::optional<std::uint64_t> from;
  if (const auto it = q.query.find("from"); it != q.query.end()) {
    from = parse_uint(it->second);
    if (!from) {
      return send(call.exchange, render_error({Code::bad_input, fmt::format("from is '{}'", printable(it->second)),
                                               "it must be an event's seq"}));
    }
  }
  // A browser that reconnects repeats the address it began with: what it has seen since then counts.
  if (const auto last = parse_uint(header(q, "last-event-id"))) from = *last + 1;
  HttpResponse head;
  head.content_type = "text/event-stream";
  head.headers["X-Accel-Buffering"] = "no";
  secure(head);
  ++traffic.responses[2];
  streams.add(call.exchange->stream(std::move(head)), from);
}

HttpResponse Api::Desk::log_in(const HttpRequest& q) {
  const auto code = q.query.find("code");
  const auto cookie = code == q.query.end() ? std::nullopt : deps.auth.redeem(code->second, q);
  if (!cookie) return plain(403, kLinkIsSpent);
  HttpResponse r = plain(303, "");
  r.headers["Location"] = "/";
  r.headers["Set-Cookie"] = *cookie;
  return r;
}

HttpResponse Api::Desk::new_login() {
  JsonWriter w;
  w.object().field("path", "/login?code=" + deps.auth.new_login_code(Role::operator_)).end_object();
  return render_json(w.take());
}

HttpResponse Api::Desk::session(const Identity& who) const {
  JsonWriter w;
  w.object().field("name", who.name).field("role", name_of(who.role)).field("can_act", who.role >= Role::operator_).end_object();
  return render_json(w.take());
}

HttpResponse Api::Desk::list_tools() const {
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "ToolList").key("items").array();
  for (const auto& [name, tool] : deps.tools) {
    w.object().field("name", name).field("role", name_of(tool->role()));
    if (const ToolSheet sheet = deps.sheets ? deps.sheets(name) : ToolSheet{}; !sheet.answer.empty())
      w.field("answer", sheet.answer);
    w.end_object();
  }
  w.end_array().end_object();
  return render_json(w.take());
}

std::string Api::Desk::metrics_page(const Frame& frame) {
  traffic.streams = streams.open();
  return render_metrics(frame, traffic, deps.meters ? deps.meters() : std::vector<Meter>());
}

Api::Api(Deps deps) : desk_(std::make_shared<Desk>(std::move(deps))) { MUSTER_CHECK(desk_->deps.random); }
Api::~Api() = default;

std::string Api::metrics() const {
  const auto now = desk_->prepared();
  return now == nullptr ? std::string() : desk_->metrics_page(now->frame());
}

HttpHandler Api::handler() {
  return [desk = desk_](std::shared_ptr<HttpExchange> exchange) { desk->handle(std::move(exchange)); };
}

}  // namespace muster::api
