#include "adapters/slurm/doctor.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace muster::slurm {
namespace {

constexpr std::uint64_t kJobAgeLeast_s = 30;  // a Muster that is started again misses nothing that ended meanwhile

Diagnosis fine(std::string thing, std::string found) {
  return {std::move(thing), Judgement::ok, false, std::move(found), "", ""};
}

std::string value(const Facts& f, const std::string& key) {
  const auto it = f.config.find(key);
  return it == f.config.end() || it->second == "(null)" ? std::string() : it->second;
}

// "22.05" of "22.05.8".
std::string release_of(const std::string& version) {
  const auto parts = split(version, '.');
  return parts.size() < 2 ? std::string() : fmt::format("{}.{}", parts[0], parts[1]);
}

bool has_word(std::string_view list, std::string_view word) {
  const auto parts = split(list, ',');
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view p) { return trim(p) == word; });
}

bool places(const Settings& s) {
  return s.otherwise == Mode::place ||
         std::any_of(s.partitions.begin(), s.partitions.end(), [](const auto& p) { return p.second == Mode::place; });
}

bool has_database(const Facts& f) { return value(f, "AccountingStorageType").find("slurmdbd") != std::string::npos; }

void judge_tools(const Facts& f, const Settings& s, std::vector<Diagnosis>& out) {
  const std::string server = value(f, "SLURM_VERSION");
  for (const ToolFact& t : f.tools) {
    const bool needed = t.name != "sacct" && t.name != "sinfo";
    if (!t.found) {
      const char* cost = needed              ? "Muster speaks to Slurm through it"
                         : t.name == "sacct" ? "what ended while Muster was away is not known"
                                             : "you would miss it; Muster does not need it";
      out.push_back({t.name, Judgement::missing, needed,
                     s.tools.empty() ? "not found in PATH" : fmt::format("not found in {}", s.tools), cost,
                     s.tools.empty() ? "apt-get install slurm-client" : "in the Slurm file: tools: /folder/of/squeue"});
    } else if (!server.empty() && !t.version.empty() && release_of(server) != release_of(t.version)) {
      out.push_back({t.name, Judgement::note, false, fmt::format("{}, slurmctld is {}", t.version, server),
                     "Slurm takes tools that are up to two releases older than slurmctld, and none that are newer",
                     fmt::format("install the tools of Slurm {}", release_of(server))});
    } else {
      out.push_back(fine(t.name, t.version.empty() ? "found" : t.version));
    }
  }
}

Diagnosis judge_controller(const Facts& f) {
  if (!f.silent.empty())
    return {"slurmctld",
            Judgement::missing,
            true,
            f.silent,
            "nothing can be seen or done",
            "start it (systemctl start slurmctld); see that munged runs (munge -n | unmunge); or name its slurm.conf in the "
            "Slurm file:  conf: /etc/slurm/slurm.conf"};
  return fine("slurmctld", fmt::format("{} answers, cluster {}", value(f, "SLURM_VERSION"), value(f, "ClusterName")));
}

Diagnosis judge_rights(const Facts& f) {
  const std::string owner = value(f, "SlurmUser");  // "slurm(64030)"
  const std::string who = owner.substr(0, owner.find('('));
  if (f.root || f.user == who) return fine("rights", fmt::format("{} may change nodes and all jobs", f.user));
  if (f.admin_level == "Operator" || f.admin_level == "Administrator")
    return fine("rights", fmt::format("{} is {} in Slurm's database", f.user, f.admin_level));
  return {"rights",
          Judgement::missing,
          true,
          fmt::format("{} is neither root nor SlurmUser ({}){}", f.user, who, f.admin_level.empty() ? "" : ", and no operator"),
          "Muster can look, but neither drain nodes nor place jobs",
          has_database(f) ? fmt::format("sacctmgr -i modify user {} set AdminLevel=Operator", f.user)
                          : fmt::format("run muster as {}", who)};
}

void judge_gpus(const Facts& f, std::vector<Diagnosis>& out) {
  const std::string select = value(f, "SelectType");
  if (select == "select/cons_tres") {
    out.push_back(fine("select", select));
  } else {
    out.push_back(
        {"select", Judgement::missing, true, select, "Slurm gives out no GPUs", "slurm.conf: SelectType=select/cons_tres"});
  }
  std::map<std::string, std::size_t> counted;
  for (const NodeRow& n : f.nodes) {
    if (n.gpus > 0) ++counted[fmt::format("{} x {}", n.gpus, n.gpu_type.empty() ? "gpu" : n.gpu_type)];
  }
  std::vector<std::string> said;
  for (const auto& [what, count] : counted) said.push_back(fmt::format("{} nodes of {}", count, what));
  if (!said.empty() && has_word(value(f, "GresTypes"), "gpu")) {
    out.push_back(fine("gpus", join(said, ", ")));
  } else {
    out.push_back(
        {"gpus", Judgement::missing, true, "no node has GPUs for Slurm", "Muster sees no cluster",
         "slurm.conf: GresTypes=gpu, and Gres=gpu:8 on each NodeName; `muster fleet emit slurm` writes it and gres.conf"});
  }
}

Diagnosis judge_topology(const Facts& f) {
  const std::string plugin = value(f, "TopologyPlugin");
  const auto leaves =
      std::count_if(f.switches.begin(), f.switches.end(), [](const SwitchRow& s) { return s.level == 0 && !s.nodes.empty(); });
  if (plugin == "topology/tree" || leaves > 0)
    return fine("topology", fmt::format("{}, {} leaves", plugin.empty() ? "tree" : plugin, leaves));
  return {"topology",
          Judgement::missing,
          false,
          plugin.empty() ? "none" : plugin,
          "all nodes count as one leaf: gangs are not kept close",
          "slurm.conf: TopologyPlugin=topology/tree, with a topology.conf; `muster fleet emit slurm` writes both"};
}

void judge_partitions(const Facts& f, const Settings& s, std::vector<Diagnosis>& out) {
  std::vector<std::string> have;
  for (const PartitionRow& p : f.partitions) have.push_back(p.name);
  std::vector<std::string> modes;
  for (const auto& [name, mode] : s.partitions) {
    if (std::find(have.begin(), have.end(), name) != have.end()) {
      modes.push_back(fmt::format("{} {}", name, name_of(mode)));
      continue;
    }
    const auto meant = nearest(name, have);
    out.push_back({"partition " + name, Judgement::missing, mode == Mode::place, "Slurm has no such partition",
                   "what the Slurm file says of it is never used",
                   meant ? fmt::format("in the Slurm file: {}: {}", *meant, name_of(mode))
                         : fmt::format("slurm.conf: PartitionName={} Nodes=ALL State=UP", name)});
  }
  modes.push_back(fmt::format("others {}", name_of(s.otherwise)));
  out.push_back(fine("partitions", join(modes, ", ")));
}

// Whether a line that is no comment calls the gate.
bool calls_gate(std::string_view text) {
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view code = line.substr(0, line.find("--"));
    if (code.find("muster.gate") != std::string_view::npos) return true;
  }
  return false;
}

Diagnosis judge_gate(const Facts& f, const Settings& s) {
  const std::string cost = "jobs of partitions in mode place are not held for Muster: Slurm chooses their nodes";
  if (!has_word(value(f, "JobSubmitPlugins"), "lua"))
    return {"gate", Judgement::missing,
            true,   "no lua among JobSubmitPlugins",
            cost,   "slurm.conf: JobSubmitPlugins=lua, with the job_submit.lua of `muster fleet emit slurm`"};
  if (!f.submit_text)
    return {"gate", Judgement::unknown,
            false,  fmt::format("{} cannot be read from here", f.submit_path),
            cost,   fmt::format("{}: call muster.gate as `muster fleet emit slurm` shows", f.submit_path)};
  if (!calls_gate(*f.submit_text))
    return {"gate",
            Judgement::missing,
            true,
            fmt::format("{} does not call muster.gate", f.submit_path),
            cost,
            fmt::format("in slurm_job_submit of {}: pcall(function() local muster = dofile(\"/etc/slurm/muster.lua\"); "
                        "muster.heartbeat = \"{}\"; muster.partitions = {{ batch = true }}; "
                        "muster.gate(job_desc, part_list, submit_uid) end)",
                        f.submit_path, s.heartbeat)};
  // The line has all of them: whoever puts it there replaces what stands there.
  std::string all, lacks;
  for (const auto& [name, mode] : s.partitions) {
    const bool there =
        std::any_of(f.partitions.begin(), f.partitions.end(), [&, n = name](const auto& p) { return p.name == n; });
    if (mode != Mode::place || !there) continue;  // one that Slurm does not have is said elsewhere
    all += fmt::format("{}[\"{}\"] = true", all.empty() ? "" : ", ", name);
    if (lacks.empty() && f.submit_text->find(name) == std::string::npos) lacks = name;
  }
  if (!lacks.empty())
    return {"gate", Judgement::missing,
            true,   fmt::format("{} does not name partition {}", f.submit_path, lacks),
            cost,   fmt::format("{}: muster.partitions = {{ {} }}", f.submit_path, all)};
  if (s.heartbeat != "/run/muster/heartbeat" && f.submit_text->find(s.heartbeat) == std::string::npos)
    return {"gate", Judgement::missing,
            true,   fmt::format("{} looks at another heartbeat", f.submit_path),
            cost,   fmt::format("{}: muster.heartbeat = \"{}\"", f.submit_path, s.heartbeat)};
  return fine("gate", fmt::format("{} calls it", f.submit_path));
}

Diagnosis judge_heartbeat(const Facts& f, const Settings& s) {
  const std::string cost = "no job is held for Muster, and those behind the gate are let go";
  const std::string owner = value(f, "SlurmUser");
  const std::string folder = s.heartbeat.substr(0, s.heartbeat.rfind('/'));
  if (f.heartbeat_writable == false)
    return {"heartbeat", Judgement::missing,
            true,        fmt::format("{} cannot write {}", f.user, s.heartbeat),
            cost,        fmt::format("install -d -o {} -m 755 {}", f.user, folder)};
  if (f.heartbeat_readable == false)
    return {"heartbeat", Judgement::missing,
            true,        fmt::format("{} cannot read {}", owner.substr(0, owner.find('(')), s.heartbeat),
            cost,        fmt::format("chmod a+rx {}", folder)};
  if (!f.slurmctld_here)
    return {"heartbeat",
            Judgement::unknown,
            false,
            fmt::format("slurmctld runs on {}", value(f, "SlurmctldHost[0]")),
            cost,
            fmt::format("{} must be the same file there: run Muster beside slurmctld, or use a shared folder", s.heartbeat)};
  return fine("heartbeat", s.heartbeat);
}

Diagnosis judge_release(const Facts& f) {
  const std::string cost = "if Muster is killed, jobs behind the gate wait out their hour instead of half a minute";
  const std::string line = "systemctl enable --now muster-release.timer, beside slurmctld; `muster fleet emit slurm` writes it";
  if (f.release_seen == true) return fine("release timer", f.release_how);
  if (!f.slurmctld_here || !f.release_seen)
    return {"release timer", Judgement::unknown, false, "it belongs beside slurmctld, and cannot be seen from here", cost, line};
  return {"release timer", Judgement::missing, true, "not seen on this machine", cost, line};
}

void judge_hands(const Facts& f, const Settings& s, std::vector<Diagnosis>& out) {
  std::vector<std::string> good;
  for (const ProgramFact& p : f.hands) {
    if (p.there && p.runs) {
      good.emplace_back(name_of(p.verb));
      continue;
    }
    out.push_back({fmt::format("hand {}", name_of(p.verb)), Judgement::missing, true,
                   fmt::format("{} {}", p.path, p.there ? "may not be executed" : "is not there"),
                   fmt::format("{} fails whenever a runbook asks for it", name_of(p.verb)),
                   p.there
                       ? fmt::format("chmod a+x {}", p.path)
                       : fmt::format("in the Slurm file, under hands:  {}: [/path/to/program, \"{{node}}\"]", name_of(p.verb))});
  }
  if (!good.empty()) out.push_back(fine("hands", join(good, ", ")));
  const std::pair<Verb, const char*> wanted[] = {
      {Verb::test_node, "a repaired node is not tested, so it stays drained until a person returns it"},
      {Verb::reset_gpu, "a GPU that a reset would cure costs a reboot or a person"}};
  for (const auto& [verb, cost] : wanted) {
    if (s.hands.count(verb) != 0) continue;
    const std::string line = verb == Verb::test_node
                                 ? R"([/usr/bin/ssh, "{node}", muster, accept, --profile, quick])"
                                 : fmt::format(R"([/usr/local/sbin/{}, "{{node}}", "{{slot}}"])", name_of(verb));
    out.push_back({fmt::format("hand {}", name_of(verb)), Judgement::note, false, "no program is named", cost,
                   fmt::format("in the Slurm file, under hands:  {}: {}", name_of(verb), line)});
  }
}

Diagnosis judge_reboot(const Facts& f, const Settings& s) {
  if (s.hands.count(Verb::reboot_node) != 0) return fine("reboot", "hands.reboot_node");
  if (const std::string program = value(f, "RebootProgram"); !program.empty()) return fine("reboot", "RebootProgram=" + program);
  return {"reboot",
          Judgement::missing,
          false,
          "neither RebootProgram nor hands.reboot_node",
          "nodes that need a reboot wait for a person",
          "slurm.conf: RebootProgram=/usr/sbin/reboot"};
}

void judge_accounting(const Facts& f, std::vector<Diagnosis>& out) {
  if (!has_database(f)) {
    out.push_back({"accounting", Judgement::note, false, "no slurmdbd",
                   "no history by sacct, no fair share, no QOS, no operators beside root and SlurmUser",
                   "slurm.conf: AccountingStorageType=accounting_storage/slurmdbd"});
  } else if (f.database == false) {
    out.push_back({"accounting", Judgement::note, false, "slurmdbd does not answer", "no history by sacct until it does",
                   "systemctl start slurmdbd"});
  } else {
    out.push_back(fine("accounting", "slurmdbd"));
  }
  const double weight = parse_double(value(f, "PriorityWeightAge")).value_or(0);
  if (weight > 0 && !has_database(f)) {
    out.push_back({"priority by age", Judgement::note, false, fmt::format("PriorityWeightAge={} without slurmdbd", weight),
                   "without a database Slurm lets no job grow in priority while it waits; Muster keeps that order",
                   "slurm.conf: AccountingStorageType=accounting_storage/slurmdbd, or PriorityWeightAge=0 to say what happens"});
  }
}

void judge_jobs(const Facts& f, std::vector<Diagnosis>& out) {
  const std::string age = value(f, "MinJobAge");  // "300 sec"
  const auto seconds = parse_uint(age.substr(0, age.find(' ')));
  // 0: records are kept for ever.
  if (seconds && *seconds > 0 && *seconds < kJobAgeLeast_s) {
    out.push_back({"MinJobAge", Judgement::missing, false, age,
                   "jobs that end while Muster is away are known as gone, without how they ended", "slurm.conf: MinJobAge=300"});
  } else {
    out.push_back(fine("MinJobAge", age));
  }
  if (value(f, "JobRequeue") == "0") {
    out.push_back({"requeue", Judgement::missing, false, "JobRequeue=0",
                   "a job on a broken node is lost, unless its owner said --requeue", "slurm.conf: JobRequeue=1"});
  } else {
    out.push_back(fine("requeue", "JobRequeue=1"));
  }
  constexpr const char* kNoHold = "nohold_on_prolog_fail";
  if (value(f, "SchedulerParameters").find(kNoHold) == std::string::npos) {
    out.push_back({"failed launches", Judgement::missing, false, fmt::format("SchedulerParameters has no {}", kNoHold),
                   "a job whose launch fails on a broken node is held until a person releases it",
                   fmt::format("slurm.conf: SchedulerParameters=...,{}", kNoHold)});
  } else {
    out.push_back(fine("failed launches", kNoHold));
  }
}

Diagnosis judge_rest(const Facts& f) {
  if (!f.rest) return {"REST", Judgement::off, false, "not configured", "", ""};
  const RestFacts& r = *f.rest;
  if (!r.problem.empty()) {
    return {"REST", Judgement::missing, false, r.problem, "nodes and reservations are read with scontrol instead", r.next};
  }
  return fine("REST", fmt::format("slurmrestd {} ({}, {}) at {}: nodes and reservations are read from it", r.slurm, r.version,
                                  r.auth, r.url));
}

}  // namespace

std::vector<Diagnosis> judge(const Facts& f, const Settings& s) {
  std::vector<Diagnosis> out;
  judge_tools(f, s, out);
  out.push_back(judge_controller(f));
  if (!f.heartbeat_wrong.empty()) {
    out.push_back({"heartbeat", Judgement::missing, true, f.heartbeat_wrong, "`muster up --slurm` does not start",
                   "name another file in the Slurm file:  heartbeat: /run/muster/heartbeat"});
  }
  if (f.silent.empty()) {
    out.push_back(judge_rights(f));
    judge_gpus(f, out);
    out.push_back(judge_topology(f));
    judge_partitions(f, s, out);
    if (places(s)) {
      out.push_back(judge_gate(f, s));
      if (f.heartbeat_wrong.empty()) out.push_back(judge_heartbeat(f, s));
      out.push_back(judge_release(f));
    } else {
      out.push_back({"placing", Judgement::off, false, "no partition is in mode place", "", ""});
    }
    out.push_back(judge_reboot(f, s));
    judge_accounting(f, out);
    judge_jobs(f, out);
  }
  judge_hands(f, s, out);
  out.push_back(judge_rest(f));
  return out;
}

}  // namespace muster::slurm
