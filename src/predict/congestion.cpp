#include "predict/congestion.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "base/prng.h"

namespace muster::predict {
namespace {

constexpr double kStepUs = 1, kPacketKb = 4.096, kFloor = 1e-4;  // of the line: no sender is ever silenced
constexpr int kRecovery = 5;                                     // steps up to the old rate before a new one is tried
constexpr double kTooLongUs = 5e6;

struct Sender {
  double left_kb, rate, target, alpha = 1;  // rates in kB a microsecond, which is GB/s
  double since_notice_us = 1e9, alpha_us = 0, timer_us = 0, counted_kb = 0;
  int timers = 0, counters = 0;
  double done_us = 0;

  void slow_down(const Dcqcn& c, double line) {
    target = rate;
    rate = std::max(kFloor * line, rate * (1 - alpha / 2));
    alpha = (1 - c.g) * alpha + c.g;
    since_notice_us = alpha_us = timer_us = counted_kb = 0;
    timers = counters = 0;
  }
  void speed_up(const Dcqcn& c, double line) {
    if (std::min(timers, counters) > kRecovery) {
      target += c.hai_gb_s;
    } else if (std::max(timers, counters) > kRecovery) {
      target += c.ai_gb_s;
    }
    target = std::min(target, line);
    rate = (rate + target) / 2;
  }
  void pass(const Dcqcn& c, double line, double sent_kb) {
    since_notice_us += kStepUs;
    alpha_us += kStepUs;
    timer_us += kStepUs;
    counted_kb += sent_kb;
    if (alpha_us >= c.alpha_us) {
      alpha *= 1 - c.g;
      alpha_us = 0;
    }
    if (timer_us >= c.rate_us) {
      timer_us = 0;
      ++timers;
      speed_up(c, line);
    }
    if (counted_kb >= c.byte_counter_mb * 1000) {
      counted_kb = 0;
      ++counters;
      speed_up(c, line);
    }
  }
};

double marked(const Dcqcn& c, double queue_kb) {
  if (queue_kb <= c.kmin_kb) return 0;
  if (queue_kb >= c.kmax_kb) return 1;
  return c.pmax * (queue_kb - c.kmin_kb) / (c.kmax_kb - c.kmin_kb);
}

Result<void> check(const IncastAsk& a) {
  const auto bad = [](std::string what, const char* next) { return fail(Code::bad_input, std::move(what), next); };
  if (a.senders < 1 || a.senders > 4096) return bad(fmt::format("{} senders", a.senders), "1 to 4,096");
  if (!(a.line_gb_s > 0) || !(a.mb > 0) || !(a.rtt_us > 0)) return bad("a port, a message and a way of no size", "above 0");
  const Dcqcn& c = a.control;
  if (c.kmin_kb >= c.kmax_kb)
    return bad(fmt::format("Kmin {:g} KB is not below Kmax {:g} KB", c.kmin_kb, c.kmax_kb), "a smaller Kmin");
  if (c.on && a.xoff_kb <= c.kmin_kb)
    return bad(fmt::format("pauses from {:g} KB come before marks from {:g} KB", a.xoff_kb, c.kmin_kb),
               "a Kmin well below the pause threshold: marks are to act first");
  if (!(c.pmax > 0 && c.pmax <= 1) || !(c.g > 0 && c.g <= 1)) return bad("Pmax and g are shares", "above 0, at most 1");
  return {};
}

}  // namespace

Result<IncastFigures> incast(const IncastAsk& a) {
  if (auto ok = check(a); !ok) return tl::unexpected(ok.error());
  const Dcqcn& c = a.control;
  Prng prng(a.seed, "incast");
  std::vector<Sender> all(a.senders, Sender{a.mb * 1000, a.line_gb_s, a.line_gb_s});
  std::vector<double> past(static_cast<std::size_t>(std::ceil(a.rtt_us / kStepUs)) + 1, 0);  // the queue, as it is felt later
  IncastFigures out;
  out.ideal_s = a.senders * a.mb / 1000 / a.line_gb_s;
  double queue = 0, queued = 0, paused = 0, now = 0;
  bool stopped = false;
  for (std::uint32_t left = a.senders; left > 0 && now < kTooLongUs; now += kStepUs) {
    double arrived = 0;
    const double felt = past[static_cast<std::size_t>(now / kStepUs) % past.size()];
    // A pause holds until half of what called for it is gone.
    stopped = felt >= a.xoff_kb || (stopped && felt > a.xoff_kb / 2);
    const double p = c.on ? marked(c, felt) : 0;
    for (Sender& s : all) {
      if (s.left_kb <= 0) continue;
      const double sent = stopped ? 0 : std::min(s.left_kb, s.rate * kStepUs);
      s.left_kb -= sent;
      arrived += sent;
      if (c.on) {
        s.pass(c, a.line_gb_s, sent);
        const double packets = sent / kPacketKb;
        if (p > 0 && s.since_notice_us >= c.cnp_us && prng.chance(p >= 1 ? 1 : 1 - det_exp(packets * det_log(1 - p))))
          s.slow_down(c, a.line_gb_s);
      }
      if (s.left_kb > 0) continue;
      s.done_us = now + kStepUs + queue / a.line_gb_s;
      if (--left == a.senders - 1) {
        double sum = 0, squares = 0;
        for (const Sender& o : all) {
          const double had = a.mb * 1000 - o.left_kb;
          sum += had;
          squares += had * had;
        }
        out.fairness = sum * sum / (a.senders * squares);
      }
    }
    queue = std::max(0.0, queue + arrived - a.line_gb_s * kStepUs);
    past[static_cast<std::size_t>(now / kStepUs) % past.size()] = queue;
    queued += queue;
    paused += stopped ? 1 : 0;
    out.most_queue_kb = std::max(out.most_queue_kb, queue);
  }
  const auto done =
      std::minmax_element(all.begin(), all.end(), [](const auto& x, const auto& y) { return x.done_us < y.done_us; });
  out.first_s = done.first->done_us * 1e-6;
  out.last_s = std::max(out.ideal_s, done.second->done_us * 1e-6);
  const double steps = std::max(1.0, now / kStepUs);
  out.mean_queue_kb = queued / steps;
  out.paused = paused / steps;
  return out;
}

Result<Dcqcn> tuned(const IncastAsk& from) {
  if (auto ok = check(from); !ok) return tl::unexpected(ok.error());
  struct Score {
    double paused = 0, slow = 0;
    bool operator<(const Score& o) const {
      const bool here = paused > 0.001, there = o.paused > 0.001;
      return here != there ? !here : slow < o.slow;
    }
  };
  const auto score = [&](const Dcqcn& c) {
    Score s;
    for (std::uint32_t n = 2; n <= std::max(2U, from.senders); n *= 2) {
      IncastAsk a = from;
      a.senders = n;
      a.control = c;
      const auto f = incast(a);
      if (!f) return Score{1, 1e9};
      s.paused += f->paused;
      s.slow += f->last_s / f->ideal_s;
    }
    return s;
  };
  Dcqcn best = from.control;
  best.on = true;
  Score least = score(best);
  // One setting after the other, until none gains.
  for (bool better = true; better;) {
    better = false;
    for (double Dcqcn::*value :
         {&Dcqcn::kmin_kb, &Dcqcn::kmax_kb, &Dcqcn::pmax, &Dcqcn::rate_us, &Dcqcn::ai_gb_s, &Dcqcn::hai_gb_s}) {
      for (const double factor : {2.0, 0.5}) {
        Dcqcn c = best;
        c.*value *= factor;
        c.pmax = std::min(1.0, c.pmax);
        const bool sane =
            c.kmin_kb >= 4 * kPacketKb && c.kmax_kb <= from.xoff_kb && c.rate_us >= 10 && c.hai_gb_s <= from.line_gb_s;
        if (!sane) continue;
        const Score s = score(c);
        if (!(s < least) || (s.slow > 0.999 * least.slow && s.paused > 0.999 * least.paused)) continue;
        least = s;
        best = c;
        better = true;
      }
    }
  }
  return best;
}

}  // namespace muster::predict
