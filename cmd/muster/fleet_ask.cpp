// Facts from the nodes themselves: over ssh, by srun, from agents that run.
#include "fleet_ask.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "adapters/facts/ask_agents.h"
#include "adapters/facts/gather.h"
#include "adapters/http/listen.h"
#include "base/node_list.h"
#include "base/text.h"
#include "files.h"
#include "ingest/agent_list.h"
#include "ingest/facts_file.h"
#include "say.h"

namespace muster::cmd {
namespace {

// What a node may use of its CPU for it: more than a sweep that nobody asked for.
constexpr const char* kProbe = " fleet probe --cpu 50ms --node ";
constexpr std::size_t kTroublesShown = 20;

// As one word of a shell.
std::string quoted(std::string_view word) {
  std::string out = "'";
  for (const char c : word) c == '\'' ? out += "'\\''" : out += c;
  return out + "'";
}

// Runs the probe from a copy of this program that comes over standard input, and leaves nothing behind. Where nothing may be run
// from /tmp, as on hardened nodes, it is another folder: standard input can be read but once, so that is tried out before.
std::string sent_along(const std::string& node) {
  return "for t in \"${TMPDIR:-/tmp}\" /var/tmp /dev/shm; do d=$(mktemp -d \"$t/muster.XXXXXX\") || continue; "
         "printf '#!/bin/sh\\n' > \"$d/muster\" && chmod 700 \"$d/muster\" && \"$d/muster\" && break; rm -rf \"$d\"; d=; "
         "done 2> /dev/null; "
         "[ -n \"$d\" ] || { echo 'no folder from which a program can be run' >&2; exit 1; }; "
         "trap 'rm -rf \"$d\"' EXIT; trap 'exit 1' HUP INT TERM; cat > \"$d/muster\" && \"$d/muster\"" +
         (kProbe + quoted(node));
}

struct Asked {
  std::vector<facts::Errand> errands;
  bool send = false;
};

Result<Asked> errands_of(const FleetInventoryOptions& o) {
  const bool ssh = !o.ssh.empty();
  const auto nodes = expand_node_list(ssh ? o.ssh : o.srun, 100'000);
  if (!nodes) return tl::unexpected(nodes.error());
  Asked out;
  out.send = o.program.empty();
  std::set<std::string> seen;
  for (const std::string& node : *nodes) {
    if (!seen.insert(node).second) continue;
    // A name that begins so would be an option of ssh.
    if (node.front() == '-') return fail(Code::bad_input, fmt::format("{} is no name of a node", printable(node)));
    const std::string script = out.send ? sent_along(node) : quoted(o.program) + kProbe + quoted(node);
    facts::Errand e{node, {}};
    if (ssh) {
      e.argv = {"ssh", "-o", "BatchMode=yes", "-o", fmt::format("ConnectTimeout={}", static_cast<int>(o.deadline_s) + 1)};
      for (const std::string_view word : split(o.ssh_options, ' ')) {
        if (!word.empty()) e.argv.emplace_back(word);
      }
      e.argv.insert(e.argv.end(), {"--", node, "sh -c " + quoted(script)});
    } else {
      // The limit is for Slurm: a short job finds its place among long ones, and one that is left behind ends by itself.
      const int minutes = static_cast<int>(o.deadline_s / 60) + 2;
      e.argv = {
          "srun", "--nodes=1", "--ntasks=1", fmt::format("--time={}", minutes), "--job-name=muster-facts", "--nodelist=" + node,
          "sh",   "-c",        script};
    }
    out.errands.push_back(std::move(e));
  }
  return out;
}

// "gpu001" and "gpu001.cluster.local".
bool same_host(std::string_view a, std::string_view b) {
  const std::string x = lower(a), y = lower(b);
  return x == y || x.starts_with(y + ".") || y.starts_with(x + ".");
}

// What an answer says of one node, among what a login may print.
struct Told {
  std::string node, lines;
  std::string trouble;  // empty: none
};

// Whoever asked for a node wants to be told of it under the name that was asked for, and of no other. `asked` empty: an address
// was asked, and any one node is right.
Told read_answer(std::string_view text, const std::string& asked) {
  Told out{asked, {}, {}};
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with("{\"node\"")) continue;
    FactTable said;
    if (const auto read = read_facts(std::string(line) + "\n", "its answer", said); !read) return {{}, {}, read.error().what};
    const std::string name = said.nodes().front().name;
    if (out.node.empty()) out.node = name;
    const std::string plain = "{\"node\":\"" + name + "\"";
    if (name != out.node && (asked.empty() || !same_host(name, asked) || !line.starts_with(plain)))
      return {{}, {}, "answered as " + name};
    out.lines += name == out.node ? std::string(line) : "{\"node\":\"" + out.node + "\"" + std::string(line.substr(plain.size()));
    out.lines += '\n';
  }
  if (out.lines.empty()) out.trouble = "says nothing that are facts";
  return out;
}

// Puts answers into the table, and says who gave none.
class Answers {
 public:
  explicit Answers(FactTable& table) : table_(table) {}

  void take(const facts::Answer& a, const std::string& asked) {
    Told told = a.trouble.empty() ? read_answer(a.out, asked) : Told{{}, {}, a.trouble};
    // Two addresses of one node, or two nodes of one name: which of their facts hold is not for us to guess.
    if (told.trouble.empty() && named_.contains(told.node)) told.trouble = "answered as " + told.node + ", and so did another";
    if (told.trouble.empty()) {
      if (const auto read = read_facts(told.lines, "its answer", table_); !read) told.trouble = read.error().what;
    }
    if (told.trouble.empty()) {
      named_.insert(told.node);
      out_.answered.push_back(told.node);
      return;
    }
    out_.failed.emplace_back(a.node, told.trouble);
    if (out_.failed.size() <= kTroublesShown) say(fmt::format("{}: {}", printable(a.node), printable(told.trouble)));
  }
  AskedNodes finish() {
    if (out_.failed.size() > kTroublesShown) say(fmt::format("and {} more nodes", out_.failed.size() - kTroublesShown));
    return std::move(out_);
  }

 private:
  FactTable& table_;
  std::set<std::string> named_;
  AskedNodes out_;
};

// As many as there are descriptors for: three pipes each, or a socket and what resolves its name.
std::uint32_t at_once(const FleetInventoryOptions& o) {
  constexpr std::size_t kEach = 4;
  return std::max(1U, static_cast<std::uint32_t>(http::fit_connections(o.at_once * kEach) / kEach));
}

Result<AskedNodes> ask_by_program(const FleetInventoryOptions& o, FactTable& table) {
  const auto asked = errands_of(o);
  if (!asked) return tl::unexpected(asked.error());
  std::string program;
  if (asked->send) {
    auto self = read_fabric_file("/proc/self/exe");
    if (!self) return tl::unexpected(self.error());
    program = std::move(*self);
  }
  Answers answers(table);
  facts::gather(asked->errands, {at_once(o), o.deadline_s, program}, [&](const facts::Answer& a) { answers.take(a, a.node); });
  return answers.finish();
}

Result<AskedNodes> ask_by_http(const FleetInventoryOptions& o, FactTable& table) {
  std::string text;
  const bool file = o.agents.front() == '@';
  if (file) {
    auto read = read_file(o.agents.substr(1));
    if (!read) return tl::unexpected(read.error());
    text = std::move(*read);
  }
  const auto agents = file ? parse_agent_file(text, o.agents.substr(1)) : parse_agent_list(o.agents);
  if (!agents) return tl::unexpected(agents.error());
  Answers answers(table);
  facts::ask_agents(*agents, {at_once(o), o.deadline_s, {}},
                    [&](std::size_t i, const facts::Answer& a) { answers.take(a, (*agents)[i].node); });
  return answers.finish();
}

}  // namespace

Result<AskedNodes> ask_nodes(const FleetInventoryOptions& o, FactTable& table) {
  return o.agents.empty() ? ask_by_program(o, table) : ask_by_http(o, table);
}

}  // namespace muster::cmd
