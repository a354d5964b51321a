#include "trial/what_if_desk.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/json_writer.h"
#include "base/text.h"
#include "trial/what_if_answer.h"

namespace muster::trial {
namespace {

constexpr std::size_t kKept = 8;
constexpr std::array<std::string_view, 4> kStages = {"running", "done", "failed", "cancelled"};

}  // namespace

WhatIfDesk::~WhatIfDesk() {
  {
    const std::lock_guard hold(lock_);
    for (const CasePtr& c : cases_) c->stop = true;
  }
  if (thread_.joinable()) thread_.join();
}

std::string WhatIfDesk::render(const Case& c, bool whole) {
  JsonWriter w;
  w.object().field("id", c.id).field("state", kStages[static_cast<std::size_t>(c.stage)]);
  w.field("done", c.stage == Stage::done ? 1.0 : c.done.load()).field("command", c.command).field("node_days", c.node_days);
  w.field("cpu_s_about", c.node_days * kCpuPerNodeDay_s);
  w.field("asked_utc", c.asked_utc);
  if (c.stage != Stage::done || !whole) {  // else the answer says so
    w.field("days", c.ask.days).field("seeds", c.ask.seeds).field("weather", c.weather);
    w.key("changes").array();
    for (const std::string& s : c.changes) w.value(s);
    w.end_array();
  }
  if (c.stage == Stage::failed) w.key("error").object().field("what", c.error.what).field("next", c.error.next).end_object();
  w.end_object();
  std::string s = w.take();
  if (c.stage == Stage::done && whole) s.replace(s.size() - 1, 1, "," + c.answer + "}");
  return s;
}

Result<WhatIfDesk::CasePtr> WhatIfDesk::find(const Value& id) const {
  const std::string* text = id.string();
  const auto it = std::find_if(cases_.begin(), cases_.end(), [&](const CasePtr& c) { return text != nullptr && c->id == *text; });
  if (it != cases_.end()) return *it;
  return fail(Code::not_found, fmt::format("no what-if is called {}", text == nullptr ? id.kind() : printable(*text)),
              fmt::format("the last {} answers are kept, until Muster is started again; ask anew", kKept));
}

bool WhatIfDesk::only_reads(const Value& input) {
  return input.object() != nullptr && (input.object()->empty() || input.find("id") != nullptr);
}

Result<std::string> WhatIfDesk::call(const Value& input) {
  if (input.object() != nullptr && input.object()->empty()) {
    const std::lock_guard hold(lock_);
    std::string s = "{\"items\":[";
    for (const CasePtr& c : cases_) s += (c == cases_.front() ? "" : ",") + render(*c, false);
    return s + "]}";
  }
  const Value* id = input.find("id");
  const Value* cancel = input.find("cancel");
  if (id == nullptr && cancel == nullptr) return start(input);
  if (input.object()->size() > 1)
    return fail(Code::bad_input, fmt::format("{} stands alone: nothing else is asked with it", id != nullptr ? "id" : "cancel"));
  const std::lock_guard hold(lock_);
  const auto c = find(id != nullptr ? *id : *cancel);
  if (!c) return tl::unexpected(c.error());
  if (cancel != nullptr) (*c)->stop = true;
  return render(**c, true);
}

Result<std::string> WhatIfDesk::start(const Value& input) {
  auto ask = parse_what_if(input);
  if (!ask) return tl::unexpected(ask.error());
  const auto now = options_.latest();
  if (!now) return fail(Code::unreachable, "there is no state yet: the controller is starting", "try again in a moment");
  const auto world = options_.world(now->state.site);
  if (!world) return tl::unexpected(world.error());
  // What is wrong with the question is said at once; the plan that is carried out is made anew from the record.
  const auto plan = plan_what_if(*ask, now->state, *world);
  if (!plan) return tl::unexpected(plan.error());

  const std::lock_guard hold(lock_);
  for (const CasePtr& c : cases_) {
    if (c->stage != Stage::running) continue;
    return fail(Code::conflict, fmt::format("one is running: {}, {:.0f} % done", c->id, 100 * c->done.load()),
                "wait for it, or cancel it first");
  }
  if (thread_.joinable()) thread_.join();  // it has said its last word
  auto c = std::make_shared<Case>();
  c->id = options_.new_id();
  c->command = command_of(*ask);
  c->changes = plan->changes;
  c->node_days = plan->node_days;
  c->weather = plan->compare.run.twin.weather.factor;
  c->asked_utc = render_utc(now->state.now.utc);
  c->ask = std::move(*ask);
  cases_.push_front(c);
  if (cases_.size() > kKept) cases_.pop_back();
  thread_ = std::thread([this, c] { finish(*c, work(*c)); });
  return render(*c, true);
}

Result<std::string> WhatIfDesk::work(Case& c) const {
  if (options_.on_thread) options_.on_thread();
  auto books = options_.read();
  if (!books) return tl::unexpected(books.error());
  const auto world = options_.world(books->state.site);
  if (!world) return tl::unexpected(world.error());
  auto plan = plan_what_if(c.ask, books->state, *world);
  if (!plan) return tl::unexpected(plan.error());
  plan->compare.from = free_to_act(std::move(*books));
  plan->compare.progress = [&](double done) { c.done = std::min(done, 0.999); };
  plan->compare.stopped = [&] { return c.stop.load(); };
  const auto report = compare(plan->compare);
  if (!report) return tl::unexpected(report.error());
  return answer_members(c.ask, *plan, *report, plan->compare.from->state);
}

void WhatIfDesk::finish(Case& c, Result<std::string> answer) {
  const std::lock_guard hold(lock_);
  if (answer) {
    c.answer = std::move(*answer);
    c.stage = Stage::done;
  } else if (c.stop) {
    c.stage = Stage::cancelled;
  } else {
    c.error = answer.error();
    c.stage = Stage::failed;
  }
}

}  // namespace muster::trial
