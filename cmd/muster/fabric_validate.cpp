// muster fabric validate: a network as it was found against its design, with all that else was read of it.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "adapters/infiniband/discover.h"
#include "base/text.h"
#include "commands.h"
#include "design/fabric_compare.h"
#include "design/fabric_difference.h"
#include "design/fabric_infer.h"
#include "design/fabric_symptoms.h"
#include "design/fabric_watch.h"
#include "fabric_net_text.h"
#include "fabric_texts.h"
#include "files.h"
#include "ingest/ib_net.h"
#include "ingest/ib_survey.h"
#include "ingest/job_nodes.h"
#include "ingest/opensm_log.h"
#include "report/fabric_faults.h"
#include "report/units.h"
#include "say.h"

namespace muster::cmd {
namespace {

constexpr int kFindings = 6;
constexpr double kInferred = 0.8;  // what a fault by inference is worth of one against a design
constexpr std::uint32_t kShiftsMeasured = 64;
constexpr std::uint32_t kPairsMeasured = 20;

class Validation {
 public:
  explicit Validation(const FabricValidateOptions& o) : o_(o) {}

  Result<report::FabricVerdict> run() {
    for (const auto step : {&Validation::read_found, &Validation::read_links, &Validation::compare, &Validation::links,
                            &Validation::errors, &Validation::log, &Validation::routes}) {
      if (auto ok = (this->*step)(); !ok) return tl::unexpected(ok.error());
    }
    return std::move(out_);
  }

 private:
  Result<void> read_found() {
    if (!o_.jobs.empty() && o_.routes.empty() && !o_.live.on)
      return fail(Code::bad_input, "--jobs needs the forwarding tables", "--routes FILE, or --live");
    if (o_.live.on) return read_live();
    if (o_.discovered.empty() && o_.lldp.empty())
      return fail(Code::bad_input, "what was found is not given",
                  "--discovered FILE, --lldp FILE of an Ethernet network, or --live on a machine that is plugged in");
    const std::string& file = o_.discovered.empty() ? o_.lldp : o_.discovered;
    const auto text = read_fabric_file(file);
    if (!text) return tl::unexpected(text.error());
    if (!o_.discovered.empty()) {
      auto survey = parse_ib_survey(*text, file);
      if (!survey) return tl::unexpected(survey.error());
      found_ = std::move(*survey);
      return {};
    }
    auto fabric = lldp_in(*text, file);
    if (!fabric) return tl::unexpected(fabric.error());
    found_.fabric = std::move(*fabric);
    return {};
  }

  Result<void> read_live() {
    infiniband::DiscoverAsk ask;
    ask.device = o_.live.device;
    ask.port = static_cast<int>(o_.live.port);
    ask.counters = ask.tables = true;
    auto found = infiniband::discover(ask);
    if (!found) return tl::unexpected(found.error());
    auto survey = parse_ib_survey(found->net, "the live fabric");
    if (!survey) return tl::unexpected(survey.error());
    found_ = std::move(*survey);
    ports_ = std::move(found->ports);
    after_ = std::move(found->counters);
    if (found->unanswered == 0) {
      tables_ = std::move(found->tables);
    } else {
      // A table with holes would tell of ways that do not arrive.
      out_.notes.push_back(fmt::format("{} about counters and forwarding tables {} not answered: routes are not judged",
                                       report::counted(found->unanswered, "question"), found->unanswered == 1 ? "was" : "were"));
    }
    return {};
  }

  Result<void> read_links() {
    if (o_.links.empty()) return {};
    const auto text = read_fabric_file(o_.links);
    if (!text) return tl::unexpected(text.error());
    auto ports = ports_in(*text, o_.links);
    if (!ports) return tl::unexpected(ports.error());
    ports_ = std::move(*ports);
    return {};
  }

  Result<void> compare() {
    if (!o_.design.empty()) {
      if (auto ok = read_design(); !ok) return ok;
      out_.compared = design::compare_fabrics(design_, found_, ports_);
      if (!o_.lldp.empty()) design::advise_for_lldp(out_.compared.faults);
      return {};
    }
    auto inferred = design::infer_fabric(found_.fabric);
    design_ = std::move(inferred.design);
    out_.inferred = true;
    out_.compared = design::compare_fabrics(design_, found_, ports_, design::Standard::the_rest);
    for (FabricFault& f : out_.compared.faults) f.confidence = design::rounded_confidence(kInferred * f.confidence);
    add({std::move(inferred.faults), {}});
    return {};
  }

  Result<void> read_design() {
    const auto text = read_fabric_file(o_.design);
    if (!text) return tl::unexpected(text.error());
    auto design = net_in(*text, o_.design);
    if (!design) return tl::unexpected(design.error());
    if (design->ethernet && o_.lldp.empty())
      return fail(Code::bad_input, fmt::format("{} is of an Ethernet network, and what was found is of InfiniBand", o_.design),
                  "--lldp FILE with what lldpctl prints now");
    design_ = std::move(design->survey.fabric);
    if (!o_.lldp.empty() && leave_out_trunks(design_, found_.fabric)) out_.notes.emplace_back(kTrunksNotJudged);
    return {};
  }

  // What another source says of the same ports is the same fault.
  void add(design::FabricSymptoms more) {
    auto& all = out_.compared.faults;
    const auto ends = [](const FabricFault& f) {
      auto sorted = f.ends;
      std::sort(sorted.begin(), sorted.end());
      return sorted;
    };
    std::set<std::pair<FabricFaultKind, std::vector<std::string>>> told;  // a bad day has a fault for every port
    for (const FabricFault& f : all) told.emplace(f.kind, ends(f));
    for (FabricFault& f : more.faults) {
      if (told.emplace(f.kind, ends(f)).second) all.push_back(std::move(f));
    }
    out_.notes.insert(out_.notes.end(), more.notes.begin(), more.notes.end());
  }

  Result<void> links() {
    if (ports_.empty()) return {};
    auto said = design::link_symptoms(ports_, o_.design.empty() ? nullptr : &design_, out_.compared.faults);
    // Which cables are gone was settled with the rest of the fabric in sight: a dead switch is not its cables.
    std::erase_if(said.faults, [](const FabricFault& f) { return f.kind == FabricFaultKind::missing_cable; });
    add(std::move(said));
    return {};
  }

  Result<void> errors() {
    if (o_.errors.empty()) {
      if (after_) add(design::counter_symptoms(nullptr, *after_, 0, &found_.fabric));
      return {};
    }
    const auto read = [](const std::string& file) -> Result<CounterReading> {
      const auto text = read_fabric_file(file);
      if (!text) return tl::unexpected(text.error());
      return counters_in(*text, file);
    };
    const auto after = read(o_.errors);
    if (!after) return tl::unexpected(after.error());
    CounterReading before;
    if (!o_.errors_before.empty()) {
      auto first = read(o_.errors_before);
      if (!first) return tl::unexpected(first.error());
      before = std::move(*first);
    }
    add(design::counter_symptoms(o_.errors_before.empty() ? nullptr : &before, *after, o_.between_s, &found_.fabric));
    return {};
  }

  Result<void> log() {
    if (o_.log.empty()) return {};
    const auto text = read_fabric_file(o_.log);
    if (!text) return tl::unexpected(text.error());
    const SubnetLog log = parse_opensm_log(*text);
    if (log.lines == log.not_understood) {
      return fail(Code::bad_input, fmt::format("{}: no line of it is one of OpenSM's log", o_.log),
                  "OpenSM writes it to /var/log/opensm.log unless it is told otherwise (-f)");
    }
    add(design::log_symptoms(log, &found_.fabric));
    return {};
  }

  Result<void> routes() {
    if (!o_.routes.empty()) {
      const auto text = read_fabric_file(o_.routes);
      if (!text) return tl::unexpected(text.error());
      auto tables = parse_ib_routes(*text, o_.routes);
      if (!tables) return tl::unexpected(tables.error());
      tables_ = std::move(*tables);
    }
    if (!tables_) return {};
    // Ports of switches for aggregation send no traffic of jobs, and would make every spine a leaf.
    std::uint32_t left_out = 0;
    const Fabric fabric = design::without_aggregation(found_, left_out).fabric;
    out_.routes = predict::route_check(fabric, *tables_);
    predict::Router router(fabric, *tables_);
    const auto cards = static_cast<std::uint32_t>(fabric.endpoints().size());
    // Ways that do not arrive are faults below; then there is no share to measure.
    if (auto t = predict::shift_traffic(fabric, router, std::max(1U, cards / kShiftsMeasured))) {
      out_.shifts = *t;
    } else {
      out_.notes.push_back(fmt::format("what shifts get cannot be measured: {}", t.error().what));
    }
    if (auto t = predict::bisection_traffic(fabric, router, kPairsMeasured, 1)) out_.pairs = *t;
    add(design::route_symptoms(fabric, *out_.routes, out_.shifts ? &*out_.shifts : nullptr));
    return jobs(fabric, router);
  }

  Result<void> jobs(const Fabric& fabric, predict::Router& router) {
    if (o_.jobs.empty()) return {};
    const auto text = read_file(o_.jobs);
    if (!text) return tl::unexpected(text.error());
    auto all = parse_job_nodes(*text, o_.jobs);
    if (!all) return tl::unexpected(all.error());
    if (all->empty()) out_.notes.push_back(fmt::format("no job is in {}", o_.jobs));
    note_dropped(predict::drop_jobs_elsewhere(fabric, *all));
    // What the fabric has is worth more than what one job cannot be told.
    if (auto traffic = predict::job_traffic(fabric, router, *all)) {
      out_.jobs = std::move(*traffic);
    } else {
      out_.notes.push_back(fmt::format("what jobs get cannot be measured: {}", traffic.error().what));
    }
    return {};
  }

  void note_dropped(const std::vector<std::pair<std::string, std::string>>& dropped) {
    std::vector<std::string> elsewhere;
    std::int64_t waiting = 0;
    for (const auto& [job, node] : dropped) {
      if (node.empty()) {
        ++waiting;
      } else {
        elsewhere.push_back(fmt::format("job {} runs on {}", job, printable(node)));
      }
    }
    if (waiting > 0)
      out_.notes.push_back(fmt::format("{} left out that wait: they have no nodes", report::counted(waiting, "job")));
    if (elsewhere.empty()) return;
    out_.notes.push_back(
        fmt::format("{} left out: {}{}, and no network card of the fabric belongs to that node (their names "
                    "begin with the node's, as in \"gpu0063 mlx5_0\")",
                    report::counted(static_cast<std::int64_t>(elsewhere.size()), "job"), elsewhere.front(),
                    elsewhere.size() > 1 ? " and so on" : ""));
  }

  const FabricValidateOptions& o_;
  FabricSurvey found_;
  Fabric design_;
  std::vector<PortState> ports_;
  std::optional<CounterReading> after_;  // of the live fabric
  std::optional<ForwardingTables> tables_;
  report::FabricVerdict out_;
};

}  // namespace

int run_fabric_validate(const FabricValidateOptions& o) {
  const auto verdict = Validation(o).run();
  if (!verdict) return say_error(verdict.error());
  put(o.format == report::Format::json ? report::fabric_verdict_json(*verdict)
                                       : report::render_fabric_verdict(*verdict, colour_wanted()));
  const int written = finish_output();
  return written != 0 ? written : verdict->compared.faults.empty() ? 0 : kFindings;
}

}  // namespace muster::cmd
