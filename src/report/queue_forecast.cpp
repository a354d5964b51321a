#include "report/queue_forecast.h"

#include <set>

#include "base/json_writer.h"
#include "decide/outlook.h"

namespace muster::report {
namespace {

constexpr std::size_t kOutOfLineMost = 200;

void start_field(JsonWriter& w, std::string_view name, const State& s, Time mono) {
  w.key(name);
  if (mono == kNever) {
    w.null();
  } else {
    w.value(render_utc(s.now.utc + std::max(Duration{}, mono - s.mono())));
  }
}

}  // namespace

std::string queue_forecast_json(const State& s) {
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "QueueForecast").field("seq", s.seq).key("items").array();
  std::set<JobId> told;
  std::int64_t place = 0;
  for (const decide::Forecast& f : decide::forecasts(s)) {
    w.object().field("job", render(f.id)).field("place", ++place);
    start_field(w, "starts_utc", s, f.at);
    start_field(w, "late_utc", s, f.late);
    w.field("reserved", f.reserved).field("why", f.held.empty() ? f.words : f.held).key("sooner").array();
    for (const decide::Sooner& x : f.sooner) {
      if (!x.words.empty()) w.value(x.words);
    }
    w.end_array().end_object();
    told.insert(f.id);
  }
  std::size_t others = 0;
  for (const auto& [order, id] : s.queue) {
    if (told.contains(id) || ++others > kOutOfLineMost) continue;
    w.object().field("job", render(id)).key("place").null().key("starts_utc").null().key("late_utc").null();
    w.field("reserved", false).field("why", decide::why_not_started(s, id)).key("sooner").array().end_array().end_object();
  }
  w.end_array().end_object();
  return w.take();
}

}  // namespace muster::report
