// The network as JSON: leaves by rails, and links with both ends of their cables.
#include <algorithm>

#include "api/render.h"
#include "report/fabric_view.h"

namespace muster::api {
namespace {

using report::FabricView;
using report::LeafView;
using report::LinkCounts;
using report::LinkState;
using report::LinkView;

double rounded(double x) { return static_cast<double>(static_cast<std::int64_t>(x * 1e3 + 0.5)) / 1e3; }

void time_field(JsonWriter& w, std::string_view name, Time t) {
  w.key(name);
  if (t.ns == 0) {
    w.null();
  } else {
    w.value(render_utc(t));
  }
}

void write_counts(JsonWriter& w, const LinkCounts& counts) {
  for (std::size_t i = 0; i < counts.size(); ++i) w.field(name_of(static_cast<LinkState>(i)), counts[i]);
}

char worst(const LinkCounts& counts) {
  for (std::size_t i = counts.size(); i-- > 1;) {
    if (counts[i] > 0) return report::letter(static_cast<LinkState>(i));
  }
  return report::letter(LinkState::up);
}

// A cell is the letter of the worst link of a rail; `cell_counts` tells of those that are not all up.
void write_leaf(JsonWriter& w, const LeafView& leaf, bool of_job) {
  std::string cells;
  std::uint32_t links = 0;
  for (const LinkCounts& rail : leaf.rails) cells += worst(rail);
  for (const std::uint32_t n : leaf.links) links += n;
  w.object().field("id", leaf.id).field("name", leaf.name).field("pod", leaf.pod).field("nodes", leaf.nodes);
  w.field("links", links);
  write_counts(w, leaf.links);
  w.field("cells", cells).key("cell_counts").array();
  for (std::size_t rail = 0; rail < leaf.rails.size(); ++rail) {
    if (cells[rail] == report::letter(LinkState::up)) continue;
    w.object().field("rail", rail);
    write_counts(w, leaf.rails[rail]);
    w.end_object();
  }
  w.end_array().field("crossing_jobs", leaf.load.jobs).field("capacity_gbps", rounded(leaf.load.capacity_gbps));
  w.field("ring_gbps", rounded(leaf.load.ring_gbps)).field("worst_case_gbps", rounded(leaf.load.worst_case_gbps));
  w.field("worst_case_share", rounded(leaf.load.worst_case_share()));
  if (of_job) w.field("job_links", leaf.asked_links);
  if (!leaf.switches.empty()) {
    w.key("switches").array();
    for (const std::string& name : leaf.switches) w.value(name);
    w.end_array();
  }
  w.end_object();
}

void write_link(JsonWriter& w, const State& s, const std::vector<std::string>& leaf_names, const LinkView& link) {
  const NodeSpec& node = s.site.nodes[link.node.v];
  const Finding* f = find_finding(s, link.finding);
  const auto cable = link.nvlink ? std::nullopt : s.site.cables.at(link.node, link.slot);
  w.object().field("node", node.name).field("slot", static_cast<int>(link.slot));
  w.field("net", link.nvlink ? "nvlink" : "fabric").field("nic", link.nvlink ? std::string() : nic_name(link.slot));
  w.field("leaf", leaf_names[node.leaf]).field("pod", node.pod);
  w.field("rack", node.rack < s.site.racks.size() ? s.site.racks[node.rack] : std::string());
  w.field("switch", cable ? cable->switch_name : std::string_view()).field("port", cable ? cable->port : std::string_view());
  w.field("cable", cable ? cable->label : std::string_view()).field("state", name_of(link.state));
  time_field(w, "since_utc", link.since);
  w.field("finding", link.finding.v).field("kind", f != nullptr ? name_of(f->kind) : std::string_view());
  w.field("part_of", f != nullptr ? f->part_of.v : 0).field("incident", link.incident.v);
  w.field("job", link.job.some() ? render(link.job) : std::string());
  w.field("hurt", link.hurt.some() ? render(link.hurt) : std::string());
  time_field(w, "bounced_utc", link.bounced);
  w.field("evidence", f != nullptr && !f->evidence.empty() ? std::string_view(f->evidence.back().text) : std::string_view());
  w.field("suggestion", f != nullptr ? suggestion(f->kind) : std::string_view()).end_object();
}

void write_job(JsonWriter& w, const std::string& id, const report::JobOnFabric& j) {
  w.key("job").object().field("id", id).field("links", j.links).field("bad_links", j.bad_links).field("leaves", j.leaves);
  w.field("pods", j.pods).field("crosses_leaves", j.crosses_leaves).field("crosses_pods", j.crosses_pods);
  w.field("bottleneck_leaf", j.crosses_leaves ? j.bottleneck_name : std::string());
  w.field("bottleneck_share", j.crosses_leaves ? rounded(j.bottleneck_share) : 0.0).field("words", j.words).end_object();
}

}  // namespace

Result<std::string> render_fabric(const Frame& f, const Query& q) {
  const State& s = f.state();
  report::FabricQuestion question;
  if (const auto it = q.find("leaf"); it != q.end()) question.leaf = it->second;
  std::string job;
  if (const auto it = q.find("job"); it != q.end() && !it->second.empty()) {
    const auto id = parse_job_id(it->second);
    if (!id) return tl::unexpected(id.error());
    question.jobs = members_of(s, *id);
    if (question.jobs.empty()) return unknown_job(s, *id);
    job = it->second;
  }
  const auto view = report::fabric_view(s, question);
  if (!view) return tl::unexpected(view.error());
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "Fabric").field("seq", s.seq).field("rails", view->rails);
  w.field("pods", view->pods).field("link_gbps", s.site.link_gbps).field("oversubscription", s.site.oversubscription);
  w.field("cables_known", !s.site.cables.empty()).field("load_words", report::kLoadWords).key("links").object();
  write_counts(w, view->links);
  w.end_object();
  if (view->job) write_job(w, job, *view->job);
  w.key("leaves").array();
  for (const LeafView& leaf : view->leaves) write_leaf(w, leaf, view->job.has_value());
  w.end_array().key("items").array();
  for (const LinkView& link : view->items) write_link(w, s, view->leaf_names, link);
  w.end_array().field("left_out", view->left_out).end_object();
  return w.take();
}

}  // namespace muster::api
