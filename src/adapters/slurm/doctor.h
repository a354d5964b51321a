// What a site's Slurm offers Muster and what is missing. Facts come from looking alone; judging them is a pure function.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "adapters/slurm/rest.h"
#include "adapters/slurm/tools.h"
#include "ingest/slurm_file.h"
#include "ingest/slurm_text.h"

namespace muster::slurm {

struct ToolFact {
  std::string name;
  bool found = false;
  std::string version;  // "22.05.8"; empty: not said
};

struct ProgramFact {
  Verb verb{};
  std::string path;
  bool there = false;
  bool runs = false;  // this user may execute it
};

// Nothing: it could not be found out from here.
using Known = std::optional<bool>;

struct Facts {
  std::vector<ToolFact> tools;
  std::string silent;  // why slurmctld gives no answer; empty: it does
  std::map<std::string, std::string> config;
  std::vector<NodeRow> nodes;
  std::vector<PartitionRow> partitions;
  std::vector<SwitchRow> switches;
  bool slurmctld_here = true;  // it runs on this machine
  std::string user;
  bool root = false;
  std::string admin_level;  // of this user, by slurmdbd: "None", "Operator", "Administrator"; empty: nobody says
  std::string submit_path;  // job_submit.lua
  std::optional<std::string> submit_text;
  std::string heartbeat_wrong;  // what is there in its place; empty: nothing
  Known heartbeat_writable;     // by this user
  Known heartbeat_readable;     // by SlurmUser
  Known release_seen;
  std::string release_how;  // "systemd", "process 1234"
  std::vector<ProgramFact> hands;
  Known database;                 // slurmdbd answers
  std::optional<RestFacts> rest;  // where the file names one
};

enum class Judgement : std::uint8_t { ok, note, missing, unknown, off };
constexpr std::array<std::string_view, 5> names(Judgement) { return {"ok", "note", "missing", "unknown", "off"}; }

struct Diagnosis {
  std::string thing;  // "slurmctld", "gate"
  Judgement judgement = Judgement::ok;
  bool essential = false;  // of what is missing: Muster cannot do what the file asks of it
  std::string found;
  std::string cost;  // what is lost without it; empty: nothing
  std::string line;  // exactly what would enable it, and where: "slurm.conf: RebootProgram=/usr/sbin/reboot"
};

// In the order of a person who sets it up.
std::vector<Diagnosis> judge(const Facts& facts, const Settings& settings);

// Reads, asks, changes nothing. As long as Slurm's own timeouts at most.
Facts gather(const Settings& settings);

}  // namespace muster::slurm
