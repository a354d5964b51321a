// The difference as Terraform's variables, and its firmware as tasks for Redfish.
#include <fmt/core.h>

#include "base/json_writer.h"
#include "report/fleet_files.h"
#include "report/fleet_text.h"

namespace muster::report {
namespace {

using fleet::Change;
using fleet::Repair;

// Where the controller keeps what it says of a part: "BIOS" or, of a GPU, "HGX_FW_GPU_SXM_1" for gpu0.
std::string inventory_member(const Change& c) {
  const auto [target, entity] = halves(c.name);
  if (entity.empty()) return target;
  const bool gpu = entity.starts_with("gpu") && entity.size() == 4 && entity[3] >= '0' && entity[3] <= '7';
  return gpu ? fmt::format("{}_{}", target, entity[3] - '0' + 1) : fmt::format("{}_{}", target, entity);
}

bool has_firmware(const fleet::ChangeSet& s) {
  for (const Change& c : s.changes) {
    if (c.by == RemedyBy::redfish) return true;
  }
  return false;
}

void write_bundle(JsonWriter& w, const Repair& r, std::size_t set) {
  const fleet::ChangeSet& s = r.sets[set];
  w.object().field("name", change_name(r, set)).field("kind", s.cohort < r.cohorts.size() ? r.cohorts[s.cohort] : "");
  w.field("drain", s.drain);
  w.key("parts").array();
  for (const Change& c : s.changes) {
    if (c.by != RemedyBy::redfish) continue;
    const std::string member = "/redfish/v1/UpdateService/FirmwareInventory/" + inventory_member(c);
    w.object().field("fact", c.facts.front()).field("has", c.has).field("wanted", c.value).field("why", c.why);
    w.field("takes", name_of(c.takes)).field("drain", fleet::disturbs(c));
    w.key("update").object().field("method", "POST");
    w.field("uri", "/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate");
    w.key("body").object().key("ImageURI").null().key("Targets").array().value(member).end_array().end_object().end_object();
    w.key("verify").object().field("method", "GET").field("uri", member).field("Version", c.value).end_object();
    w.end_object();
  }
  w.end_array().end_object();
}

}  // namespace

std::string tfvars(const Repair& r, std::string_view whence) {
  std::string out = headline(r, "tfvars", whence) + "muster_changes = {\n";
  for (std::size_t i = 0; i < r.sets.size(); ++i) {
    const fleet::ChangeSet& s = r.sets[i];
    out += fmt::format("  {} = {{\n    takes = {}\n    drain = {}\n    set = {{\n", change_name(r, i), quoted(name_of(s.takes)),
                       s.drain);
    for (const Change& c : s.changes) {
      if (!c.absent) out += fmt::format("      {} = {}\n", quoted(fmt::format("{}:{}", name_of(c.by), c.name)), quoted(c.value));
    }
    out += "    }\n    remove = [";
    const char* comma = "";
    for (const Change& c : s.changes) {
      if (!c.absent) continue;
      out += comma + quoted(fmt::format("{}:{}", name_of(c.by), c.name));
      comma = ", ";
    }
    out += "]\n  }\n";
  }
  out += "}\n\nmuster_nodes = {\n";
  for (std::size_t i = 0; i < r.sets.size(); ++i) {
    for (const std::uint32_t n : r.sets[i].nodes) {
      out += fmt::format("  {} = {{ change = {}, kind = {}, wave = {} }}\n", quoted(r.nodes[n]), quoted(change_name(r, i)),
                         quoted(cohort_name(r.sets[i].cohort)), quoted(wave_name(r, wave_of(r, n))));
    }
  }
  return out + "}\n";
}

std::string redfish_tasks(const Repair& r) {
  JsonWriter w;
  w.object()
      .field("written_by", "muster fleet emit redfish")
      .field("about", "firmware that differs; ImageURI is the site's to fill in; a bundle is applied whole or not at all");
  w.key("bundles").array();
  for (std::size_t i = 0; i < r.sets.size(); ++i) {
    if (has_firmware(r.sets[i])) write_bundle(w, r, i);
  }
  w.end_array().key("waves").array();
  for (std::size_t v = 0; v < r.waves.size(); ++v) {
    w.object().field("name", r.waves[v].name).key("tasks").array();
    for (std::size_t i = 0; i < r.sets.size(); ++i) {
      if (!has_firmware(r.sets[i])) continue;
      for (const std::uint32_t n : r.sets[i].nodes) {
        if (wave_of(r, n) == v) w.object().field("node", r.nodes[n]).field("bundle", change_name(r, i)).end_object();
      }
    }
    w.end_array().end_object();
  }
  w.end_array().key("left_out").array();
  for (const fleet::ByHand& b : r.by_hand) w.value(told(r, b));
  for (const std::string& note : r.notes) w.value(note);
  w.end_array().end_object();
  return w.take() + "\n";
}

}  // namespace muster::report
