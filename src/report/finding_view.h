// A finding in full, for people: where its part sits and what it is, since when, how sure, what it has cost, what it belongs to.
#pragma once
#include <string>
#include <vector>

#include "account/finding_cost.h"
#include "model/state.h"

namespace muster::report {

// Where something is, as far as the site's file and the state know; what is not known is empty or -1.
struct Whereabouts {
  std::string node, rack, pci, nic, row;
  std::string job;                              // "job 17", of what is a job's and no node's
  std::string uuid, serial;                     // of the GPU, where its agent has said so
  std::string switch_name, switch_port, cable;  // of a link: what its NIC is wired to, where the cluster file tells
  std::int64_t leaf = -1, pod = -1, domain = -1;
};
Whereabouts whereabouts(const State& s, const Finding& f);
// "node017, GPU 3 at 0000:4e:00 (GPU-1234..., serial 165...), rack r4, leaf switch 2", or
// "node017, NIC mlx5_3, cable C-00412 to port 17 of leaf03, rack r4, leaf switch 2"
std::string say(const Whereabouts& w, std::int16_t slot);

// The same in short: "node017, GPU 3", "node017, NIC mlx5_3", "leaf switch 2".
std::string say_briefly(const Whereabouts& w, std::int16_t slot);

// Its subject; of a common cause with what its nodes have: "leaf switch 2 (link_down)".
std::string say_subject(const State& s, const Finding& f);

// The finding that an incident is about: the first of its cause. What the incident itself knows of it where the state has none.
Finding leading(const State& s, const Incident& i);
// "a fault of the network on leaf switch 1: missing_cable leaf03[17] - spine02[4]"; of a common cause without the place, for
// that is what its subject says.
std::string incident_words(const State& s, const Incident& i, const Finding& lead);
// What a person would do about this one: what whoever found it said, else what is done about its kind.
std::string advice(const Finding& f);

// The findings that a common cause explains, and the names of their nodes and of their kinds, each once.
struct Members {
  std::vector<FindingId> findings;
  std::vector<std::string> nodes, kinds;
};
Members members_of(const State& s, FindingId cause);

// "12.5 GPU-hours", with money where the policy has a price.
std::string say(const account::FindingCost& c);

}  // namespace muster::report
