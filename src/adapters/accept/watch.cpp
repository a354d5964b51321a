#include "adapters/accept/watch.h"

#include <fmt/format.h>
#include <poll.h>

#include "adapters/accept/driver_trouble.h"
#include "adapters/accept/watcher.h"

namespace muster::bench {
namespace {

constexpr int kLookMs = 20;  // how soon a wish to stop is noticed
constexpr std::size_t kProcessesMax = 64;

void add(Answer& a, const Said& s) {
  const std::string name = get(s.name);
  if (s.kind == Said::Kind::figure) {
    a.figures[s.gpu][name] = s.value[0];
  } else if (name != "process") {
    a.facts[s.gpu][name] = get(s.text);
  } else if (auto& list = a.processes[s.gpu]; list.size() < kProcessesMax) {
    const std::string text = get(s.text);
    const std::size_t blank = text.find(' ');
    list.push_back({parse_int(text.substr(0, blank)).value_or(0), blank == std::string::npos ? "" : text.substr(blank + 1)});
  }
}

}  // namespace

double Answer::figure(int gpu, const std::string& name, double otherwise) const {
  const auto it = figures.find(gpu);
  if (it == figures.end()) return otherwise;
  const auto f = it->second.find(name);
  return f == it->second.end() ? otherwise : f->second;
}

std::string Answer::fact(int gpu, const std::string& name) const {
  const auto it = facts.find(gpu);
  if (it == facts.end()) return {};
  const auto f = it->second.find(name);
  return f == it->second.end() ? std::string() : f->second;
}

Result<std::unique_ptr<Watch>> Watch::start(const std::string& library, double reading_s, double limit_s,
                                            const std::function<bool()>& stop) {
  auto child = Child::start("muster-watch", [&](int socket) { watch_driver(socket, library, reading_s); });
  if (!child) return tl::unexpected(child.error());
  std::unique_ptr<Watch> w(new Watch(std::move(*child)));
  auto who = w->ask(Order::Kind::who, limit_s, stop);
  if (w->broken_) {
    return tl::unexpected(driver_trouble(static_cast<int>(w->broken_->value[0]), get(w->broken_->text), look_for_driver()));
  }
  if (!who && w->trouble_.empty()) return fail(Code::refused, "it was stopped before the driver had answered");
  if (!who) {
    return fail(Code::unreachable, w->trouble_,
                "`nvidia-smi` probably hangs as well: see `dmesg | grep -i nvrm`; reboot the node");
  }
  w->who_ = std::move(*who);
  return w;
}

std::optional<Answer> Watch::ask(Order::Kind what, double limit_s, const std::function<bool()>& stop) {
  if (!trouble_.empty()) return std::nullopt;
  Order order;
  order.kind = what;
  order.number = ++number_;
  child_->tell(order);
  Answer answer;
  for (const double until = steady_s() + limit_s;;) {
    const bool gone = child_->gone();  // asked first: what it said before it ended is still there
    while (const auto s = child_->take()) {
      heard_s_ = steady_s();
      if (s->kind == Said::Kind::broken) broken_ = *s;
      if (s->kind == Said::Kind::reading || s->kind == Said::Kind::xid) told_.push_back(*s);
      if (s->number != number_) continue;  // of a question that nobody waits for any more
      if (s->kind == Said::Kind::answered) return answer;
      if (s->kind == Said::Kind::figure || s->kind == Said::Kind::fact) add(answer, *s);
    }
    if (broken_ || gone) {
      const std::string last = child_->last_words();
      give_up(fmt::format("the process that asks the NVIDIA driver {}{}{}", gone ? child_->how() : "cannot go on",
                          last.empty() ? "" : ": ", last));
      return std::nullopt;
    }
    if (stop()) return std::nullopt;
    if (steady_s() > until) {
      give_up(fmt::format("the NVIDIA driver (NVML) did not answer within {:g} s", limit_s));
      return std::nullopt;
    }
    pollfd p{child_->fd(), POLLIN, 0};
    ::poll(&p, 1, kLookMs);
    if ((p.revents & POLLIN) == 0 && (p.revents & POLLHUP) != 0) ::poll(nullptr, 0, 1);
  }
}

void Watch::sample(std::uint64_t mask) {
  mask_ = mask;
  heard_s_ = steady_s();
  Order order;
  order.kind = mask == 0 ? Order::Kind::rest : Order::Kind::sample;
  order.number = number_;
  order.mask = mask;
  if (trouble_.empty()) child_->tell(order);
}

std::vector<Said> Watch::take(double limit_s) {
  std::vector<Said> out = std::exchange(told_, {});
  if (!trouble_.empty()) return out;
  const bool gone = child_->gone();
  while (const auto s = child_->take()) {
    heard_s_ = steady_s();
    if (s->kind == Said::Kind::reading || s->kind == Said::Kind::xid) out.push_back(*s);
  }
  if (gone) {
    give_up("the process that asks the NVIDIA driver " + child_->how());
  } else if (mask_ != 0 && steady_s() - heard_s_ > limit_s) {
    give_up(fmt::format("the NVIDIA driver (NVML) has not answered for {:g} s", limit_s));
  }
  return out;
}

void Watch::give_up(std::string why) {
  trouble_ = std::move(why);
  child_->kill();
}

void Watch::end() {
  if (trouble_.empty()) trouble_ = "it was ended";
  child_->kill();
}

}  // namespace muster::bench
