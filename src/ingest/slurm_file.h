// The file that `muster up --slurm` names: how this site's Slurm is reached and what Muster may do there. docs/formats/slurm.md.
#pragma once
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/action.h"

namespace muster::slurm {

enum class Mode : std::uint8_t {
  advise,  // Slurm schedules; Muster says what its own placement would have gained
  place,   // Muster chooses the nodes of what its gate holds
  off,     // Muster only sees who is on which node
};
constexpr std::array<std::string_view, 3> names(Mode) { return {"advise", "place", "off"}; }

// slurmrestd, a second way to read. Empty url: not used.
struct RestSettings {
  std::string url;         // "unix:/run/slurmrestd.socket" or "http://host:6820"
  std::string user;        // sent with the token; empty: the token's own
  std::string token_file;  // a JSON web token, read anew when the file changes; empty: none is sent
  std::string version;     // "v0.0.42"; empty: the newest of those that are known here
};

struct Settings {
  std::string conf;   // slurm.conf; empty: as the tools find it themselves
  std::string tools;  // folder of squeue, scontrol and the others; empty: as PATH says
  RestSettings rest;
  std::string heartbeat;  // file that says the gate may hold jobs; empty: nothing is ever held
  std::map<std::string, Mode> partitions;
  Mode otherwise = Mode::advise;
  std::map<Verb, std::vector<std::string>> hands;  // programs for acts on nodes; {node}, {slot}, {key}, {version} are replaced
  Duration poll = milliseconds(500);               // between two looks at the jobs, where that costs little
  double poll_share = 0.05;                        // of a core that looking at jobs may take
  std::string spool;                               // set by the host: what came of programs that were started
  std::string owner;                               // set by the host: its journal's id, which stands in its heartbeat
};

Result<Settings> parse_settings(const std::string& text, const std::string& file);

}  // namespace muster::slurm
