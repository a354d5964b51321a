// muster accept judge, report, compare: what recordings say, without any GPU.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "accept/compare.h"
#include "accept/fleet.h"
#include "accept_known.h"
#include "accept_shown.h"
#include "base/text.h"
#include "commands.h"
#include "files.h"
#include "ingest/hardware_file.h"
#include "model_choice.h"
#include "report/accept_compare.h"
#include "report/accept_fleet_page.h"
#include "say.h"

namespace muster::cmd {

namespace {

// The newest recording of each node, then the older ones, of which limits are made; how many there are of the first.
std::size_t newest_first(std::vector<Acceptance>& all) {
  std::map<std::string, Time> newest;
  for (const Acceptance& a : all) {
    Time& t = newest.try_emplace(a.host.name, a.host.begun).first->second;
    t = std::max(t, a.host.begun);
  }
  const auto older = std::stable_partition(
      all.begin(), all.end(), [&](const Acceptance& a) { return a.host.name.empty() || a.host.begun == newest.at(a.host.name); });
  return static_cast<std::size_t>(older - all.begin());
}

}  // namespace

int run_accept_judge(const AcceptJudgeOptions& o) {
  if (o.files.size() > 1 && (!o.html.empty() || !o.rma.empty()))
    return say_error(
        {Code::bad_input, "--html and --rma are of one recording", "give one, or use muster accept report --html for a fleet"});
  const auto recordings = read_recordings(o.files, WithReadings::yes);
  if (!recordings) return say_error(recordings.error());
  if (recordings->all.empty())
    return say_error({Code::not_found, "there is no recording", fmt::format("files that end in {}", kRecordingEnd)});
  const auto limits = known_limits(o.known);
  if (!limits) return say_error(limits.error());
  accept::Verdict worst = accept::Verdict::pass;
  for (const Acceptance& a : recordings->all) {
    const accept::Judgement j = accept::judge(a, *limits);
    worst = std::max(worst, j.verdict);
    if (auto ok = show_accepted({a, j, *limits}, {o.format, o.html, o.rma}); !ok) return say_error(ok.error());
  }
  const int output = finish_output();
  return output != 0 ? output : exit_code_of(worst);
}

int run_accept_report(const AcceptReportOptions& o) {
  auto recordings = read_recordings(o.files, WithReadings::no);
  if (!recordings) return say_error(recordings.error());
  if (recordings->all.empty())
    return say_error({Code::not_found, "there is no recording", fmt::format("files that end in {}", kRecordingEnd)});
  const std::size_t nodes = newest_first(recordings->all);
  const std::vector<accept::NodeFigures> figures = accept::figures_of(recordings->all);
  const accept::Limits limits = accept::Limits::of(figures, shipped_references(o.shipped));
  const accept::Fleet fleet = accept::fleet_of(std::span(figures).first(nodes), limits);
  const report::AcceptedFleet shown{std::span(recordings->all).first(nodes),
                                    fleet,
                                    &limits,
                                    o.files.front(),
                                    [](std::string_view model) { return gpu_that_calls_itself(std::string(model)); },
                                    recordings->left_out,
                                    recordings->all.size() - nodes};
  if (!o.html.empty()) {
    if (auto ok = write_file(o.html, report::accept_fleet_page(shown)); !ok) return say_error(ok.error());
    say(fmt::format("written to {}", o.html));
  }
  put(o.format == AcceptFormat::json ? report::accept_fleet_json(shown) : report::render_accept_fleet(shown, colour_wanted()));
  const int output = finish_output();
  accept::Verdict worst = recordings->left_out.empty() ? accept::Verdict::pass : accept::Verdict::could_not_run;
  for (const accept::Judgement& j : fleet.judgements) worst = std::max(worst, j.verdict);
  return output != 0 ? output : exit_code_of(worst);
}

int run_accept_compare(const AcceptCompareOptions& o) {
  if (o.sides.size() != 2)
    return say_error({Code::bad_input, fmt::format("two sides are compared, {} are given", o.sides.size()),
                      "muster accept compare A B: two recordings, or folders of them"});
  std::array<std::vector<Acceptance>, 2> recordings;
  std::array<accept::Side, 2> sides;
  for (std::size_t i = 0; i < 2; ++i) {
    auto read = read_recordings({o.sides[i]}, WithReadings::no);
    if (!read) return say_error(read.error());
    if (read->all.empty())
      return say_error({Code::not_found, fmt::format("there is no recording in {}", printable(o.sides[i])), ""});
    recordings[i] = std::move(read->all);
    accept::Side& s = sides[i];
    s.recordings = recordings[i];
    s.price_per_h = o.prices[i];
    s.model = sheet_of(recordings[i].front());
    if (!o.gpus[i].empty()) {
      const auto chosen = chosen_gpu(o.gpus[i]);
      if (!chosen) return say_error(chosen.error());
      s.model = *chosen;
    }
    const auto& gpus = recordings[i].front().gpus;
    s.name = !o.names[i].empty() ? o.names[i] : !gpus.empty() && !gpus[0].model.empty() ? gpus[0].model : i == 0 ? "A" : "B";
  }
  const accepting::Suite &a = recordings[0].front().suite, &b = recordings[1].front().suite;
  if (a.version != b.version)
    return say_error(
        {Code::bad_input,
         fmt::format("suite {} and suite {} are not compared: their tests differ", printable(a.version), printable(b.version)),
         "record both with the same muster"});
  std::vector<Transformer> models;
  for (const std::string& name : o.models.empty() ? std::vector<std::string>{"llama3-8b", "llama3-70b"} : o.models) {
    auto model = chosen_model(name);
    if (!model) return say_error(model.error());
    models.push_back(std::move(*model));
  }
  const accept::Comparison c = accept::compare(sides[0], sides[1], models);
  if (!o.html.empty()) {
    if (auto ok = write_file(o.html, report::accept_compare_page(c)); !ok) return say_error(ok.error());
    say(fmt::format("written to {}", o.html));
  }
  put(o.format == AcceptFormat::json ? report::accept_compare_json(c) : report::render_accept_compare(c, colour_wanted()));
  return finish_output();
}

}  // namespace muster::cmd
