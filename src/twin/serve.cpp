#include "twin/serve.h"

#include <fmt/core.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "model/codec.h"

namespace muster::twin {
namespace {

constexpr std::size_t kEventsPerAnswer = 2000;
constexpr std::size_t kSamplesKept = 400'000;  // a controller that is away for long misses scrapes, as it would on a real cluster

HttpResponse refuse(int status, const Error& e) {
  JsonWriter w;
  w.object().key("error").object().field("what", e.what).field("next", e.next).end_object().end_object();
  return {status, "application/json", {}, w.take()};
}

std::string render_batch(const Inbox& in) {
  JsonWriter w;
  w.object().key("samples").array();
  for (const Sample& m : in.samples) {
    w.array()
        .value(m.at.ns)
        .value(m.node.v)
        .value(static_cast<int>(m.slot))
        .value(static_cast<int>(m.field))
        .value(m.value)
        .end_array();
  }
  w.end_array().key("kernel").array();
  for (const KernelRecord& r : in.kernel) {
    w.array().value(r.at.ns).value(r.node.v).value(static_cast<int>(r.slot)).value(static_cast<int>(r.kind)).value(r.code);
    w.value(fmt::format("{:x}", r.boot)).value(r.seq).value(r.text).end_array();
  }
  w.end_array().key("steps").array();
  for (const StepReport& r : in.steps) {
    w.array().value(r.at.ns).value(render(r.job)).value(r.attempt).value(r.step).value(r.step_s).end_array();
  }
  w.end_array().end_object();
  return w.take();
}

}  // namespace

Service::Service(Twin& twin, const Site& site, std::string boot, std::string simulation, double speed,
                 std::function<Result<void>(const Order&)> received)
    : twin_(twin),
      site_(site),
      boot_(std::move(boot)),
      simulation_(std::move(simulation)),
      speed_(speed),
      received_(std::move(received)) {}

void Service::drain() {
  Inbox in;
  twin_.poll(in);
  for (const Arrival& a : in.events) {
    const std::string_view type = kBodyNames[a.body.index()];
    events_.push_back(fmt::format("{{\"seq\":{},\"utc\":{},\"type\":\"{}\",\"body\":{}}}", events_.size() + 1, a.utc.ns, type,
                                  encode_body(a.body)));
  }
  const auto take = [](auto& to, auto& from) {
    to.insert(to.end(), from.begin(), from.end());
    if (to.size() > kSamplesKept) to.erase(to.begin(), to.end() - static_cast<std::ptrdiff_t>(kSamplesKept));
  };
  take(fresh_.samples, in.samples);
  take(fresh_.kernel, in.kernel);
  take(fresh_.steps, in.steps);
}

void Service::advance_to(Time steady) {
  twin_.advance_to(steady);
  drain();
}

HttpResponse Service::cluster() const {
  JsonWriter w;
  w.object().field("boot", boot_).field("simulation", simulation_).field("speed", speed_);
  w.key("site").raw(encode_site(site_)).end_object();
  return {200, "application/json", {}, w.take()};
}

HttpResponse Service::reports(const HttpRequest& q) {
  const auto number = [&](const char* name) -> std::uint64_t {
    const auto it = q.query.find(name);
    return it == q.query.end() ? 0 : parse_uint(it->second).value_or(0);
  };
  drain();
  if (number("ack") == batch_) {
    ++batch_;
    batch_bytes_ = render_batch(fresh_);
    fresh_.clear();
  }
  const std::size_t after = std::min<std::size_t>(number("after"), events_.size());
  const std::size_t end = std::min(events_.size(), after + kEventsPerAnswer);
  const Now now = twin_.now();
  JsonWriter w;
  w.object().field("boot", boot_);
  w.key("now").array().value(now.utc.ns).value(now.steady.ns).value(now.boottime.ns).end_array();
  w.key("events").array();
  for (std::size_t i = after; i < end; ++i) w.raw(events_[i]);
  w.end_array().field("more", end < events_.size()).field("batch", batch_).key("reports").raw(batch_bytes_).end_object();
  return {200, "application/json", {}, w.take()};
}

HttpResponse Service::order(const HttpRequest& q) {
  if (!q.json) return refuse(400, {Code::bad_input, "an order is JSON: " + q.json_error, ""});
  const auto o = decode_order(*q.json);
  if (!o) return refuse(400, o.error());
  if (auto r = received_(*o); !r) return refuse(503, r.error());
  if (auto r = twin_.submit(*o); !r) return refuse(409, r.error());
  return {200, "application/json", {}, "{}"};
}

HttpResponse Service::inquire(const HttpRequest& q) {
  const Value* key = q.json ? q.json->find("key") : nullptr;
  if (key == nullptr || key->string() == nullptr) return refuse(400, {Code::bad_input, "inquire needs a \"key\"", ""});
  if (auto r = twin_.inquire(*key->string()); !r) return refuse(409, r.error());
  return {200, "application/json", {}, "{}"};
}

Result<void> read_extent(const Value& body, Stroke& stroke) {
  constexpr double kLongest_s = 30 * 86'400.0;
  double lasts_s = 0;
  if (const Value* v = body.find("lasts_s"); v != nullptr && !v->is_null()) {
    if (!v->number(lasts_s) || !(lasts_s > 0 && lasts_s <= kLongest_s))
      return fail(Code::bad_input, "\"lasts_s\" must be above 0 and at most 2592000 seconds");
    if (!of_site(stroke.kind))
      return fail(Code::bad_input,
                  fmt::format("{} lasts until it is repaired: lasts is of disasters and stalls", name_of(stroke.kind)));
    stroke.lasts = from_seconds(lasts_s);
  }
  if (const Value* v = body.find("share"); v != nullptr && !v->is_null()) {
    if (!v->number(stroke.share) || !(stroke.share > 0 && stroke.share <= 1))
      return fail(Code::bad_input, "\"share\" must be above 0 and at most 1");
    if (stroke.kind != FaultKind::bad_push)
      return fail(Code::bad_input, "share is of bad_push: the part of the nodes it reaches");
  }
  return {};
}

HttpResponse Service::inject(const HttpRequest& q) {
  const auto text = [&](const char* name) -> std::string {
    const Value* v = q.json ? q.json->find(name) : nullptr;
    return v == nullptr || v->string() == nullptr ? "" : *v->string();
  };
  FaultKind kind{};
  if (!parse_name(text("fault"), kind)) return refuse(400, {Code::bad_input, "no such fault", ""});
  const NodeId node = find_node(site_, text("node"));
  if (!node.some() && needs_node(kind)) return refuse(404, {Code::not_found, "there is no such node", ""});
  Stroke stroke{.kind = kind, .node = node};
  const Value* slot = q.json->find("slot");
  if (slot != nullptr && !slot->is_null()) {
    if (slot->integer() == nullptr || *slot->integer() < -1 || *slot->integer() >= site_.gpus_per_node)
      return refuse(400, {Code::bad_input, fmt::format("\"slot\" must be 0 to {}", site_.gpus_per_node - 1), ""});
    stroke.slot = static_cast<int>(*slot->integer());
  }
  if (const auto ok = read_extent(*q.json, stroke); !ok) return refuse(400, ok.error());
  const auto r = twin_.inject(stroke);
  if (!r) return refuse(409, r.error());
  return {200, "application/json", {}, fmt::format("{{\"fault\":{}}}", *r)};
}

HttpResponse Service::answer(const HttpRequest& q) {
  const bool get = q.method == "GET";
  if (get && q.path == "/v1/cluster") return cluster();
  if (get && q.path == "/v1/reports") return reports(q);
  if (!get && q.path == "/v1/orders") return order(q);
  if (!get && q.path == "/v1/inquire") return inquire(q);
  if (!get && q.path == "/v1/inject") return inject(q);
  return refuse(404, {Code::not_found, "no such call", "docs/twin.md lists them"});
}

HttpHandler Service::handler() {
  return [this](std::shared_ptr<HttpExchange> x) { x->respond(answer(x->request())); };
}

}  // namespace muster::twin
