// `muster top`: the cluster on a terminal, again once a second, with keys that explain and act.
#include "report/top.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <tuple>

#include "background.h"
#include "base/text.h"
#include "client.h"
#include "commands.h"
#include "give.h"
#include "report/units.h"
#include "say.h"
#include "terminal.h"
#include "top_screen.h"

namespace muster::cmd {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

constexpr auto kTick = Milliseconds(1000);  // the age of the data is drawn anew

// Questions to the server on a thread of their own, and the answers back on the screen's: a server that hangs must not hold the
// keys.
class Lane {
 public:
  using Answer = Result<Value>;
  explicit Lane(std::function<void()> wake) : wake_(std::move(wake)) {}

  void ask(std::function<Answer()> question, std::function<void(const Answer&)> then) {
    ++open_;
    thread_.run([this, question = std::move(question), then = std::move(then)] {
      auto answer = std::make_shared<Answer>(question());
      {
        const std::lock_guard hold(lock_);
        answered_.push_back([then, answer] { then(*answer); });
      }
      wake_();
    });
  }
  void deliver() {
    std::deque<std::function<void()>> now;
    {
      const std::lock_guard hold(lock_);
      now.swap(answered_);
    }
    for (const auto& then : now) {
      --open_;
      then();
    }
  }
  std::size_t open() const { return open_; }

 private:
  std::function<void()> wake_;
  std::mutex lock_;
  std::deque<std::function<void()>> answered_;
  std::size_t open_ = 0;
  Background thread_;  // uses all of the above
};

std::string in_words(const Error& e) { return e.next.empty() ? e.what : e.what + "\nnext: " + e.next; }

// Its place in the journal, as text.
Result<Value> send(const Client& client, const TopAct& act) {
  auto seq = give(client, {.verb = act.verb, .node = act.node, .approval = act.approval});
  if (!seq) return tl::unexpected(seq.error());
  if (act.node.empty()) return Value(std::move(*seq));
  if (const auto done = check_not_shadow(client); !done) return tl::unexpected(done.error());
  return Value(std::move(*seq));
}

bool shows_more_than_ascii() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == 0) continue;
    const auto text = lower(value);
    return text.find("utf-8") != std::string::npos || text.find("utf8") != std::string::npos;
  }
  return false;
}

Result<TopState> first_state(const TopOptions& o, const Value& summary) {
  TopState s;
  s.view.filter = to_valid_utf8(o.filter);
  s.view.blocks = shows_more_than_ascii();
  s.view.past = !o.connection.at.empty();
  s.flags = flags_of(o.connection);
  const Value* incidents = summary.find("incidents");
  const bool open = incidents != nullptr && report::number_of(*incidents, "open").value_or(0) > 0;
  s.view.list = open ? TopList::incidents : TopList::jobs;
  if (o.list.empty()) return s;
  std::vector<std::string> known;
  for (std::size_t i = 0; i < report::kTopLists; ++i) {
    known.emplace_back(names(TopList{})[i]);
    if (known.back() == o.list) {
      s.view.list = static_cast<TopList>(i);
      return s;
    }
  }
  const auto meant = nearest(o.list, known);
  return fail(Code::bad_input, fmt::format("there is no list \"{}\"", o.list),
              (meant ? "did you mean " + *meant + "? " : std::string()) + "lists: " + join(known, ", "));
}

class Top {
 public:
  Top(const Client& client, const TopOptions& o, TopState state, Value summary, std::unique_ptr<Terminal> terminal)
      : client_(client),
        every_(static_cast<std::int64_t>(std::clamp(o.every_s, 0.1, 3600.0) * 1000)),
        state_(std::move(state)),
        terminal_(std::move(terminal)) {
    state_.view.colour = colour_wanted();
    data_.every_s = static_cast<double>(every_.count()) / 1000;
    asked_ = SteadyClock::now();
    take_summary(std::move(summary));
  }

  // Returns the signal that ended it, or 0.
  int run();
  // An answer is still to come.
  bool is_waiting() const { return reading_.open() + wishes_.open() > 0; }

 private:
  void draw();
  auto rows_chosen() const {
    const auto& v = state_.view;
    return std::tuple(v.list, v.all, v.typing ? std::string() : v.filter, v.sort_by, v.pane.has_value());
  }
  void refresh();
  void take_summary(Value summary);
  void ask_other(const std::string& path, Value& into, TopList list);
  void ask_list();
  void fulfil(const TopWish& wish);
  void explain(const std::string& what, bool record);
  void act(const TopAct& what);

  const Client& client_;
  Milliseconds every_;
  TopState state_;
  TopData data_;
  TopFrame frame_;
  SteadyClock::time_point heard_, asked_;
  std::uint64_t presses_ = 0;
  std::unique_ptr<Terminal> terminal_;
  Lane reading_{[this] { terminal_->wake(); }};
  Lane wishes_{[this] { terminal_->wake(); }};  // of their own: an explanation may read a long journal
};

// What is known then: the list on the screen, what stands around it, and the map where it has changed, are asked for next.
void Top::take_summary(Value summary) {
  data_.summary = std::move(summary);
  data_.trouble.clear();
  heard_ = SteadyClock::now();
  ask_list();
  ask_other("/api/v1/guard", data_.guard, TopList::approvals);
  if (data_.map.is_null() || text_of(data_.map, "seq") != text_of(data_.summary, "seq"))
    ask_other("/api/v1/map", data_.map, TopList::nodes);
}

void Top::ask_other(const std::string& path, Value& into, TopList list) {
  reading_.ask([this, path] { return client_.get(path); },
               [this, &into, list](const Result<Value>& answer) {
                 if (answer) into = *answer;
                 if (list == state_.view.list) data_.list_trouble = answer ? "" : answer.error().what;
               });
}

void Top::ask_list() {
  const auto path = top_path(state_.view);
  if (!path) return;
  reading_.ask([this, path] { return client_.get(path->path, path->query); },
               [this, list = state_.view.list, all = state_.view.all](const Result<Value>& answer) {
                 if (list != state_.view.list || all != state_.view.all) return;  // another list by now
                 data_.list_trouble = answer ? "" : answer.error().what;
                 if (answer) data_.list = *answer;
               });
}

void Top::refresh() {
  asked_ = SteadyClock::now();
  reading_.ask([this] { return client_.get("/api/v1/summary"); },
               [this](const Result<Value>& summary) {
                 if (summary) {
                   take_summary(*summary);
                 } else {
                   data_.trouble = summary.error().what;
                 }
               });
}

void Top::explain(const std::string& what, bool record) {
  Client::Query query{{"what", what}};
  if (record) query["record"] = "1";
  wishes_.ask([this, query] { return client_.get("/api/v1/explain", query); },
              [this, what, record](const Result<Value>& answer) {
                auto& pane = state_.view.pane;
                if (!pane || pane->title != what) return;  // closed by now
                if (answer) {
                  pane->explanation = *answer;
                  if (!record && !state_.view.past)
                    explain(what, true);  // the same with every decision about it, as soon as it has been read
                } else if (!record) {
                  pane->text = in_words(answer.error());
                }
              });
}

void Top::act(const TopAct& what) {
  wishes_.ask([this, what] { return send(client_, what); },
              [this, what](const Result<Value>& answer) {
                state_.view.message =
                    answer ? fmt::format("{} (event {})", what.done, *answer->string()) : in_words(answer.error());
                if (reading_.open() == 0) refresh();
              });
}

void Top::fulfil(const TopWish& wish) {
  switch (wish.kind) {
    case TopWish::Kind::none: break;
    case TopWish::Kind::list:
      data_.list = Value();
      data_.list_trouble.clear();
      ask_list();
      break;
    case TopWish::Kind::explain: explain(wish.what, false); break;
    case TopWish::Kind::node:
      wishes_.ask([this, wish] { return client_.get("/api/v1/nodes" + piece(wish.what)); },
                  [this, then = presses_](const Result<Value>& node) {
                    // A question that comes up under the fingers of somebody who has gone on would be answered by chance.
                    if (presses_ != then) return;
                    state_.view.message.clear();
                    if (node) {
                      state_ = propose_drain(std::move(state_), *node);
                    } else {
                      state_.view.message = in_words(node.error());
                    }
                  });
      break;
    case TopWish::Kind::act: act(wish.act); break;
    case TopWish::Kind::suspend: terminal_->suspend(); break;
    case TopWish::Kind::redraw: terminal_->forget(); break;
  }
}

void Top::draw() {
  const auto size = terminal_size({});
  state_.view.width = size.width;
  state_.view.height = size.height;
  state_.view.command = list_command(state_);
  data_.age_s = std::chrono::duration<double>(SteadyClock::now() - heard_).count();
  frame_ = report::top_frame(data_, state_.view);
  state_ = seen(std::move(state_), frame_);
  terminal_->draw(frame_.lines);
}

int Top::run() {
  while (!state_.leave) {
    draw();
    const auto due = std::chrono::duration_cast<Milliseconds>(asked_ + every_ - SteadyClock::now());
    const auto patience = reading_.open() > 0 || state_.view.past ? kTick : std::clamp(due, Milliseconds(0), kTick);
    const auto happened = terminal_->wait(patience);
    if (happened.ended_by != 0) return happened.ended_by;
    if (happened.resized) terminal_->forget();
    for (const Key& key : happened.keys) {
      const auto before = rows_chosen();
      auto step = press(std::move(state_), key, frame_, data_);
      state_ = std::move(step.state);
      ++presses_;
      fulfil(step.wish);
      if (state_.leave) return 0;
      // The next key of a burst must see what this one has changed.
      if (rows_chosen() != before) draw();
      frame_.row = state_.view.row;
    }
    reading_.deliver();
    wishes_.deliver();
    if (!state_.view.past && reading_.open() == 0 && SteadyClock::now() >= asked_ + every_) refresh();
  }
  return 0;
}

// One screen as text, for pipes and for terminals that cannot do more.
int print_once(const Client& client, TopState state, Value summary) {
  TopData data;
  data.summary = std::move(summary);
  if (const auto path = top_path(state.view)) {
    auto list = client.get(path->path, path->query);
    if (!list) return say_error(list.error());
    data.list = std::move(*list);
  }
  auto guard = client.get("/api/v1/guard");
  if (!guard) return say_error(guard.error());
  auto map = client.get("/api/v1/map");
  if (!map) return say_error(map.error());
  data.guard = std::move(*guard);
  data.map = std::move(*map);
  const auto size = terminal_size({120, 50});
  state.view.width = size.width;
  state.view.height = size.height;
  state.view.to_paper = true;
  state.view.command = list_command(state);
  for (const auto& line : report::top_frame(data, state.view).lines) put(line + "\n");
  return 0;
}

bool can_be_a_screen() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDIN_FILENO) == 1 && stdout_is_terminal() && term != nullptr && *term != 0 && std::string_view(term) != "dumb";
}

}  // namespace

int run_top(const TopOptions& o) {
  const auto client = Client::open(o.connection);
  if (!client) return say_error(client.error());
  auto summary = client->get("/api/v1/summary");
  if (!summary) return say_error(summary.error());
  auto state = first_state(o, *summary);
  if (!state) return say_error(state.error());
  if (o.once || !can_be_a_screen()) return print_once(*client, std::move(*state), std::move(*summary));
  auto terminal = Terminal::open();
  if (!terminal) return say_error(terminal.error());
  Terminal& screen = **terminal;
  Top top(*client, o, std::move(*state), std::move(*summary), std::move(*terminal));
  const int signal = top.run();
  screen.close();
  if (signal != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  // Who leaves does not wait for a server that hangs.
  if (top.is_waiting()) std::_Exit(0);
  return 0;
}

}  // namespace muster::cmd
