#include "adapters/accept/station.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace muster::bench {
namespace {

constexpr std::size_t kAtOnce = 1024;  // packets of one worker before the others have their turn

// The name of a figure, of whatever came: letters, digits and a few marks.
std::string metric_name(std::string text) {
  for (char& c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && !(c >= '0' && c <= '9') && std::string_view("_:>.-").find(c) == std::string_view::npos) c = '_';
  }
  return text;
}

}  // namespace

void Station::take_gpu(double limit_s) {
  doing_ = Doing::opening;
  limit_s_ = limit_s;
  until_s_ = steady_s() + limit_s;
  opened_.reset();
  leaving_ = false;
  share_ = 0;
  auto child = Child::start(gpus_.size() == 1 ? fmt::format("muster-gpu{}", gpus_[0]) : "muster-gpus",
                            [this](int socket) { work(socket, setup_); });
  if (!child) {
    lost_ = child.error().what;
    return;  // tend() tells of it
  }
  child_ = std::move(*child);
  Order order;
  order.kind = Order::Kind::open;
  child_->tell(order);
}

void Station::run(AcceptTest test, std::uint32_t turn, const Order& order, double limit_s) {
  doing_ = Doing::testing;
  test_ = test, turn_ = turn;
  limit_s_ = limit_s;
  until_s_ = steady_s() + limit_s;
  share_ = 0;
  figures_ = figures_left_out_ = wrongs_ = 0;
  wrongs_left_out_ = 0;
  bad_figure_.clear();
  child_->tell(order);  // if it cannot be told, it is gone: tend() finds that
}

std::optional<Outcome> Station::tend() {
  if (doing_ == Doing::nothing) return std::nullopt;
  if (!child_) return doing_ = Doing::nothing, Outcome{TestState::could_not_run, lost_};
  const bool gone = child_->gone();  // asked first: what it said before it ended is still there
  std::size_t n = 0;
  for (std::optional<Said> said; (gone || n < kAtOnce) && (said = child_->take()); ++n) {
    if (said->kind == Said::Kind::done || said->kind == Said::Kind::broken || said->kind == Said::Kind::opened) {
      const Outcome outcome = heard(*said);
      doing_ = Doing::nothing;
      return outcome;
    }
    if (doing_ != Doing::testing) continue;
    if (said->kind == Said::Kind::measured || said->kind == Said::Kind::held) tell_figure(*said);
    if (said->kind == Said::Kind::wrong) tell_wrong(*said);
    if (said->kind == Said::Kind::progress && std::isfinite(said->value[0])) share_ = std::clamp(said->value[0], 0.0, 1.0);
  }
  if (gone) return died();
  if (steady_s() <= until_s_) return std::nullopt;
  const std::string_view what = doing_ == Doing::opening ? "being opened" : names(test_)[static_cast<std::size_t>(test_)];
  const Outcome outcome = cut(TestState::hung, fmt::format("it did not come back within {:g} s and was ended", limit_s_));
  lost_ = fmt::format("the GPU did not come back from {}", what);
  return outcome;
}

Outcome Station::heard(const Said& said) {
  if (doing_ == Doing::opening) {
    if (said.kind == Said::Kind::opened) {
      const auto v = [&](int i) { return std::isfinite(said.value[i]) ? said.value[i] : -1; };
      const auto whole = [&](int i) { return static_cast<int>(std::clamp(v(i), -1.0, 2e9)); };
      opened_ = Opened{get(said.text), get(said.name), v(0), v(1) < 0 ? -1 : v(1) / (1 << 20), whole(2), whole(3), whole(4)};
      return {};
    }
    lost_ = get(said.text);
    leave();
    return {TestState::could_not_run, lost_};
  }
  tell_rest();
  std::string why = get(said.text);
  whom(why);
  const auto code = static_cast<std::int64_t>(said.count);
  if (code == 2) return {TestState::stopped, why};
  if (said.kind != Said::Kind::done || code != 0) {
    // Whatever went wrong may have left the worker's hold on the GPU broken: the next test gets another.
    leave();
    return {TestState::could_not_run, why.empty() ? fmt::format("the test answers {}", code) : why};
  }
  if (!bad_figure_.empty()) return {TestState::could_not_run, bad_figure_ + " is not a number"};
  if (figures_left_out_ > 0) {
    why += fmt::format("{}{} figures beyond {} were left out", why.empty() ? "" : "; ", figures_left_out_, kFiguresMax);
  }
  return {TestState::done, why};
}

// What is told of several GPUs names them as the worker numbers them: "pair_gb_s:0>1", "GPU 0 to GPU 1". Here they become the
// node's. What is told of is the first that is named; where none is, all of them.
std::vector<int> Station::whom(std::string& text) const {
  if (gpus_.size() == 1) return gpus_;
  constexpr std::string_view kWord = "GPU ";
  std::vector<int> named;
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    const bool names = end > i && (out.ends_with(kWord) || out.ends_with('>') || (end < text.size() && text[end] == '>'));
    const auto number = names ? parse_uint(text.substr(i, end - i)) : std::nullopt;
    if (number && *number < gpus_.size()) {
      named.push_back(gpus_[*number]);
      out += std::to_string(named.back());
    } else {
      end = std::max(end, i + 1);
      out += text.substr(i, end - i);
    }
    i = end;
  }
  text = std::move(out);
  return named.empty() ? gpus_ : std::vector<int>{named.front()};
}

void Station::tell_figure(const Said& said) {
  std::string name = metric_name(get(said.name));
  if (!std::isfinite(said.value[0])) {
    bad_figure_ = name;
    return;
  }
  if (figures_++ >= kFiguresMax) {
    ++figures_left_out_;
    return;
  }
  accepting::Measured m;
  m.test = test_, m.turn = turn_;
  m.value = said.value[0];
  if (said.kind == Said::Kind::held) {
    m.begun_s = std::isfinite(said.value[1]) ? said.value[1] - begun_s_ : 0;
    m.took_s = std::isfinite(said.value[2]) ? said.value[2] : 0;
    m.mhz = std::isfinite(said.value[3]) ? said.value[3] : -1;
  }
  const std::vector<int> gpus = whom(name);
  m.metric = std::move(name);
  for (const int gpu : gpus) {
    m.gpu = gpu;
    sink_(m);
  }
}

void Station::tell_wrong(const Said& said) {
  const std::uint64_t count = std::max<std::uint64_t>(said.count, 1);
  if (wrongs_++ >= kWrongMax) {
    wrongs_left_out_ += count;
    return;
  }
  accepting::Wrong w;
  w.test = test_, w.turn = turn_;
  w.place = get(said.name);
  w.gpu = whom(w.place).front();
  w.count = count;
  w.detail = get(said.text);
  sink_(std::move(w));
}

// Wrong results beyond those that are told one by one are counted all the same.
void Station::tell_rest() {
  if (wrongs_left_out_ == 0) return;
  accepting::Wrong w;
  w.gpu = gpus_.front(), w.test = test_, w.turn = turn_;
  w.place = "elsewhere";
  w.count = std::exchange(wrongs_left_out_, 0);
  w.detail = fmt::format("in {} more places", wrongs_ - kWrongMax);
  sink_(std::move(w));
}

Outcome Station::died() {
  const std::string last = child_->last_words();
  const std::string how = fmt::format("the process of the test {}{}{}", child_->how(), last.empty() ? "" : ": ", last);
  const Doing was = std::exchange(doing_, Doing::nothing);
  if (was == Doing::testing) tell_rest();
  child_.reset();
  if (was == Doing::opening) lost_ = "the GPU cannot be opened: " + how;
  return {TestState::could_not_run, was == Doing::opening ? lost_ : how};
}

Outcome Station::cut(TestState state, std::string why) {
  if (doing_ == Doing::testing) tell_rest();
  doing_ = Doing::nothing;
  kill();
  return {state, std::move(why)};
}

void Station::leave() {
  if (!child_ || leaving_) return;
  leaving_ = true;
  Order order;
  order.kind = Order::Kind::end;
  if (!child_->tell(order)) child_->kill();
}

void Station::kill() {
  if (!child_) return;
  leaving_ = true;
  child_->kill();
}

bool Station::gone() {
  if (!child_) return true;
  while (leaving_ && child_->take()) {  // what nobody wants to know any more must not keep it
  }
  if (!child_->gone()) return false;
  child_.reset();
  return true;
}

}  // namespace muster::bench
