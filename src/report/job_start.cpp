#include "report/job_start.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/json_writer.h"
#include "base/series.h"
#include "base/text.h"
#include "report/table.h"

namespace muster::report {
namespace {

constexpr std::size_t kFewest = 4;      // nodes: fewer show no pattern
constexpr double kWorthSaying_s = 0.2;  // of a job's start
constexpr double kRegular = 0.6;        // of the steps from end to end lie near the middle one
constexpr double kStraggles = 3;        // times what its peers take

double between_s(Time from, Time to) { return from.ns == 0 || to.ns == 0 ? -1 : (to - from).seconds(); }

std::vector<NodeStart> with_prolog(const JobStart& s) {
  std::vector<NodeStart> out;
  for (const NodeStart& n : s.nodes) {
    if (n.began.ns != 0 && n.ended >= n.began) out.push_back(n);
  }
  std::sort(out.begin(), out.end(),
            [](const NodeStart& a, const NodeStart& b) { return a.ended != b.ended ? a.ended < b.ended : a.node < b.node; });
  return out;
}

void measure(const std::vector<NodeStart>& ran, StartReport& r) {
  std::vector<double> took;
  for (const NodeStart& n : ran) took.push_back((n.ended - n.began).seconds());
  r.prolog = {ran.size(), *std::min_element(took.begin(), took.end()), median_of(took),
              *std::max_element(took.begin(), took.end()), ran.back().node};
}

// Ends that follow each other in even steps, over a time in which side by side all would have been done several times: there is
// something that lets only so many pass. Where ends come in groups of equal size, so many pass at once.
bool in_turn(const std::vector<NodeStart>& ran, StartReport& r) {
  const double span_s = (ran.back().ended - ran.front().ended).seconds();
  std::vector<double> gaps;
  for (std::size_t i = 1; i < ran.size(); ++i) gaps.push_back((ran[i].ended - ran[i - 1].ended).seconds());
  const double even_s = span_s / static_cast<double>(gaps.size());
  // The work of one, when it has not waited: the quickest of all.
  const double alone_s = std::max(r.prolog.least_s, 1e-3);
  // Noise of a busy machine spreads ends as well, but by less than what one prolog takes.
  if (span_s < std::max(kWorthSaying_s, 1.5 * alone_s)) return false;
  const auto at_a_time = static_cast<std::uint32_t>(std::max(1.0, std::round(alone_s / even_s)));
  // Where many pass at once nothing holds them up: they were only told one after the other.
  if (at_a_time * 4 > ran.size()) return false;
  r.at_a_time = at_a_time;
  std::size_t regular = 0;
  for (std::size_t i = 0; i < ran.size(); ++i) {
    // Where the i-th would end if they passed evenly: a straight line from the first end to the last.
    const double on_line_s = even_s * static_cast<double>(i);
    const double off_s = std::abs((ran[i].ended - ran.front().ended).seconds() - on_line_s);
    regular += off_s <= std::max(2.5 * even_s * r.at_a_time, 0.1 * span_s) ? 1 : 0;
  }
  if (static_cast<double>(regular) < kRegular * static_cast<double>(ran.size())) return false;
  // One late node alone makes no line: the middle one must be half way.
  const double half_s = (ran[ran.size() / 2].ended - ran.front().ended).seconds();
  if (half_s < 0.2 * span_s || half_s > 0.8 * span_s) return false;
  std::vector<Time> begins;
  for (const NodeStart& n : ran) begins.push_back(n.began);
  std::sort(begins.begin(), begins.end());
  const double begun_s = (begins.back() - begins.front()).seconds();
  r.order = begun_s > 0.5 * span_s ? StartOrder::one_by_one : StartOrder::queued;
  r.each_s = even_s;
  r.cost_s = span_s;
  return true;
}

void say_serial(const std::vector<NodeStart>& ran, StartReport& r) {
  const std::string many = r.at_a_time == 1 ? std::string("one") : fmt::format("{}", r.at_a_time);
  if (r.order == StartOrder::queued) {
    r.cause = fmt::format(
        "the prologs of {} nodes began together and ended {} at a time, {:.2f} s apart: they wait for something that "
        "all of them share",
        ran.size(), many, r.each_s);
    r.remedy =
        "look in the prolog for a lock on a shared file system, a licence or a server that answers one at a time, a download "
        "by every node; do it once a job, or on each node without asking the others";
  } else {
    r.cause = fmt::format(
        "the prologs of {} nodes began one after the other, {:.2f} s apart: nobody starts the next before one has "
        "ended",
        ran.size(), r.each_s);
    r.remedy =
        "set PrologFlags=Alloc, so that all nodes run it when the job is allocated, and keep the prolog out of srun loops; "
        "see also TreeWidth";
  }
}

void find_straggler(const std::vector<NodeStart>& ran, StartReport& r) {
  const double last_s = (ran.back().ended - ran.back().began).seconds();
  const double lead_s = (ran.back().ended - ran[ran.size() - 2].ended).seconds();
  if (lead_s < kWorthSaying_s || last_s < kStraggles * std::max(r.prolog.median_s, 1e-3)) return;
  r.straggler = ran.back().node;
  r.cost_s = lead_s;
  r.cause = fmt::format("all nodes waited for {}: its prolog took {:.2f} s, the middle one {:.2f} s", printable(r.straggler),
                        last_s, r.prolog.median_s);
  r.remedy = fmt::format("look at {}: muster check there, its mounts, its disk", printable(r.straggler));
}

std::string span(double s) {
  return s < 0 ? std::string("not known") : s < 100 ? fmt::format("{:.2f} s", s) : fmt::format("{:.0f} s", s);
}

}  // namespace

StartReport explain_start(JobStart start) {
  StartReport r;
  r.queue_s = between_s(start.submitted, start.allocated);
  const std::vector<NodeStart> ran = with_prolog(start);
  Time first_began;
  Time known = std::max(start.allocated, start.batch);
  if (ran.empty()) {
    r.missing.push_back("prologs: run muster-hook.sh as Prolog with `starts` set, and give that folder with --starts");
  } else {
    measure(ran, r);
    first_began = std::min_element(ran.begin(), ran.end(), [](const auto& a, const auto& b) { return a.began < b.began; })->began;
    // Whole seconds may be later than what came of them.
    if (start.allocated_exact || first_began >= start.allocated)
      r.to_prolog_s = std::max(0.0, between_s(start.allocated, first_began));
    r.prolog_s = between_s(first_began, ran.back().ended);
    known = std::max(known, ran.back().ended);
  }
  // The allocation in whole seconds is earlier by up to one: then the first prolog is the better beginning.
  const Time from = start.allocated_exact || ran.empty() ? start.allocated : std::max(start.allocated, first_began);
  if (start.batch.ns != 0) r.script_s = std::max(0.0, between_s(from, start.batch));
  Time everywhere;
  for (const NodeStart& n : start.nodes) {
    if (n.launched.ns != 0) everywhere = std::max({everywhere, n.launched, n.ended});
  }
  if (everywhere.ns != 0) r.step_s = between_s(start.batch.ns != 0 ? start.batch : from, everywhere);
  if (start.batch.ns == 0 && everywhere.ns == 0)
    r.missing.push_back("script and first step: give the nodes' logs with --slurmd-log '/path/%n/slurmd.log'");
  if (!start.allocated_exact) r.missing.push_back("the allocation to the millisecond: give --slurmctld-log FILE");
  const Time last = std::max(known, everywhere);
  r.total_s = last.ns != 0 && last > from ? between_s(from, last) : -1;
  if (ran.size() >= kFewest) {
    if (in_turn(ran, r)) {
      say_serial(ran, r);
    } else {
      find_straggler(ran, r);
    }
  }
  r.start = std::move(start);
  return r;
}

std::string render_start(const StartReport& r) {
  Table t;
  t.columns = {{"PART"}, {"TIME", true}, {""}};
  const auto row = [&](const char* part, double s, std::string note) {
    t.rows.push_back({Cell(part), Cell(span(s)), Cell(std::move(note))});
  };
  row("queue", r.queue_s, "from sbatch to its nodes");
  row("to the prolog", r.to_prolog_s, "from its nodes to the first prolog");
  row("prolog", r.prolog_s,
      r.prolog.nodes == 0 ? std::string()
                          : fmt::format("{} nodes: least {:.2f} s, median {:.2f} s, most {:.2f} s; last: {}", r.prolog.nodes,
                                        r.prolog.least_s, r.prolog.median_s, r.prolog.most_s, r.prolog.last));
  row("launch", r.script_s, "from its nodes to its script, which waits for the prolog of one node");
  row("first step", r.step_s, "from its script to its first step on every node, which waits for all prologs");
  row("start-up", r.total_s, "from its nodes to the last of these");
  std::string out = fmt::format("job {} on {} nodes\n\n", printable(r.start.job), r.start.nodes.size()) + render_table(t, {});
  if (!r.cause.empty()) {
    const double gpu_h = r.cost_s * static_cast<double>(r.start.nodes.size()) * r.start.gpus_per_node / 3600;
    out += "\n" + wrap(fmt::format("{}: {}", r.straggler.empty() ? "serial" : "one node", r.cause), 110, 2) + "\n";
    out += wrap(fmt::format("costs: {:.2f} s of this start, {:.2f} GPU-hours", r.cost_s, gpu_h), 110, 2) + "\n";
    out += wrap(fmt::format("do: {}", r.remedy), 110, 2) + "\n";
  } else if (r.prolog.nodes >= kFewest) {
    out += "\nnothing is serial: the prologs ran side by side\n";
  }
  for (const std::string& m : r.missing) out += wrap("not known: " + m, 110, 2) + "\n";
  return out;
}

std::string render_start_json(const StartReport& r) {
  constexpr const char* kOrders[] = {"together", "queued", "one_by_one"};
  JsonWriter w;
  const auto seconds = [&](const char* key, double s) {
    if (s >= 0) w.field(key, s);
  };
  w.object().field("job", r.start.job).field("nodes", static_cast<std::uint64_t>(r.start.nodes.size()));
  seconds("queue_s", r.queue_s);
  seconds("to_prolog_s", r.to_prolog_s);
  seconds("prolog_s", r.prolog_s);
  seconds("launch_s", r.script_s);
  seconds("step_s", r.step_s);
  seconds("start_s", r.total_s);
  if (r.prolog.nodes > 0) {
    w.key("prolog").object().field("nodes", static_cast<std::uint64_t>(r.prolog.nodes)).field("least_s", r.prolog.least_s);
    w.field("median_s", r.prolog.median_s).field("most_s", r.prolog.most_s).field("last", r.prolog.last);
    w.field("order", kOrders[static_cast<std::size_t>(r.order)]).end_object();
  }
  if (!r.cause.empty()) {
    w.key("serial").object().field("cause", r.cause).field("cost_s", r.cost_s).field("do", r.remedy);
    if (r.straggler.empty()) w.field("each_s", r.each_s).field("at_a_time", static_cast<std::uint64_t>(r.at_a_time));
    if (!r.straggler.empty()) w.field("node", r.straggler);
    w.end_object();
  }
  w.key("missing").array();
  for (const std::string& m : r.missing) w.value(m);
  w.end_array().end_object();
  return w.take();
}

}  // namespace muster::report
