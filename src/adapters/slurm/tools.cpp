#include "adapters/slurm/tools.h"

#include <errno.h>
#include <fmt/core.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/text.h"

namespace muster::slurm {
namespace {

constexpr int kLook_ms = 30'000;
constexpr int kAct_ms = 15'000;

std::string fresh_nonce() {
  std::uint64_t n = 0;
  (void)!getrandom(&n, sizeof n, 0);
  return fmt::format("{:016x}", n);
}

std::string first_line(std::string_view text) {
  text = trim(text);
  return printable(text.substr(0, std::min<std::size_t>(text.find('\n'), 300)));
}

bool nobody_answered(std::string_view text) {
  for (const std::string_view words :
       {"Unable to contact slurm controller", "Connection refused", "Socket timed out", "Connection timed out",
        "Zero Bytes were transmitted", "Unexpected message received", "Unable to establish", "Slurm controller is in standby",
        "Protocol authentication error", "Communication"}) {
    if (text.find(words) != std::string_view::npos) return true;
  }
  return false;
}

Error said(const std::string& program, const Ran& r) {
  const std::string line = first_line(r.err.empty() ? r.out : r.err);
  if (nobody_answered(r.err) || nobody_answered(r.out)) {
    return {Code::unreachable, fmt::format("Slurm does not answer: {}", line), "look at slurmctld: scontrol ping"};
  }
  return {Code::refused, fmt::format("{}: {}", program, line.empty() ? fmt::format("exit code {}", r.status) : line), {}};
}

}  // namespace

Result<void> check_conf(const std::string& conf) {
  if (conf.empty() || access(conf.c_str(), R_OK) == 0) return {};
  return fail(Code::bad_input, fmt::format("conf: {} cannot be read: {}", printable(conf), strerror(errno)),
              "name the slurm.conf of the cluster, or leave `conf` out where Slurm's tools find it by themselves");
}

Result<Ran> Tools::call(std::vector<std::string> argv, int timeout_ms) {
  Command c;
  c.argv = std::move(argv);
  if (!folder_.empty()) c.argv[0] = folder_ + "/" + c.argv[0];
  c.env = {{"SLURM_TIME_FORMAT", "%s"}, {"LC_ALL", "C"}};
  if (!conf_.empty()) c.env.emplace_back("SLURM_CONF", conf_);
  c.timeout = std::chrono::milliseconds(timeout_ms);
  auto r = run(c);
  if (r) cpu_us_ += static_cast<std::uint64_t>(r->cpu_s * 1e6);
  return r;
}

Result<std::string> Tools::text_of(std::vector<std::string> argv, int timeout_ms) {
  const std::string program = argv[0];
  auto r = call(std::move(argv), timeout_ms);
  if (!r) return tl::unexpected(r.error());
  // squeue tells of a column it does not know and ends with 0 all the same.
  if (r->status != 0 || r->err.find("error:") != std::string::npos) return tl::unexpected(said(program, *r));
  return std::move(r->out);
}

// Asked once; while squeue cannot be asked, nothing else of it is of use either.
bool Tools::exclusive_apart() {
  if (exclusive_apart_ == 0) {
    const auto version = text_of({"squeue", "--version"}, kLook_ms);
    if (!version) return false;
    exclusive_apart_ = tells_exclusive_apart(*version) ? 1 : -1;
  }
  return exclusive_apart_ > 0;
}

Result<std::vector<JobRow>> Tools::jobs() {
  const std::string nonce = fresh_nonce();
  const bool apart = exclusive_apart();
  auto text = text_of({"squeue", "-h", "-t", "all", "-O", squeue_format(nonce, apart)}, kLook_ms);
  if (!text) return tl::unexpected(text.error());
  return parse_squeue(*text, nonce, apart);
}

Result<std::vector<JobRow>> Tools::job_row(JobId id) {
  const std::string nonce = fresh_nonce();
  const bool apart = exclusive_apart();
  auto text = text_of({"squeue", "-h", "-t", "all", "-j", render(id), "-O", squeue_format(nonce, apart)}, kAct_ms);
  if (!text && text.error().what.find("Invalid job id") != std::string::npos) return std::vector<JobRow>();
  if (!text) return tl::unexpected(text.error());
  return parse_squeue(*text, nonce, apart);
}

Result<std::vector<NodeRow>> Tools::nodes() {
  auto text = text_of({"scontrol", "-o", "show", "nodes"}, kLook_ms);
  if (!text) return tl::unexpected(text.error());
  return parse_nodes(*text);
}

Result<std::vector<NodeRow>> Tools::node(const std::string& name) {
  auto text = text_of({"scontrol", "-o", "show", "node", name}, kAct_ms);
  if (!text) return tl::unexpected(text.error());
  return parse_nodes(*text);
}

Result<std::vector<PartitionRow>> Tools::partitions() {
  auto text = text_of({"scontrol", "-o", "show", "partitions"}, kAct_ms);
  if (!text) return tl::unexpected(text.error());
  return parse_partitions(*text);
}

Result<std::vector<ReservationRow>> Tools::reservations() {
  auto text = text_of({"scontrol", "-o", "show", "reservations"}, kAct_ms);
  if (!text) return tl::unexpected(text.error());
  return parse_reservations(*text);
}

Result<std::vector<SwitchRow>> Tools::topology() {
  auto text = text_of({"scontrol", "show", "topology"}, kAct_ms);
  if (!text) return tl::unexpected(text.error());
  return parse_topology(*text);
}

Result<std::map<std::string, std::string>> Tools::config() {
  auto text = text_of({"scontrol", "show", "config"}, kAct_ms);
  if (!text) return tl::unexpected(text.error());
  return parse_config(*text);
}

Result<std::vector<JobRow>> Tools::history(Time from) {
  const std::string nonce = fresh_nonce();
  auto text =
      text_of({"sacct", "-a", "-X", "-n", "-P", "--delimiter=" + sacct_delimiter(nonce), "--format=" + sacct_format(),
               fmt::format("--starttime=uts{}", from.ns / 1'000'000'000), "--endtime=now", "--state=CA,CD,F,NF,TO,OOM,PR,BF,DL"},
              kLook_ms);
  if (!text) return tl::unexpected(text.error());
  return parse_sacct(*text, nonce);
}

Result<std::string> Tools::job(const std::string& id) {
  auto text = text_of({"scontrol", "-d", "-o", "show", "job", id}, kAct_ms);
  if (!text && text.error().what.find("Invalid job id") != std::string::npos) return std::string();
  return text;
}

Result<void> Tools::scontrol(std::vector<std::string> words) {
  words.insert(words.begin(), "scontrol");
  auto r = call(std::move(words), kAct_ms);
  if (!r) {
    Error e = r.error();
    // Stopped while it waited for an answer: what it asked for may have been done.
    if (e.code == Code::unreachable) e.code = Code::internal;
    return tl::unexpected(std::move(e));
  }
  if (r->status != 0 || r->err.find("error:") != std::string::npos) return tl::unexpected(said("scontrol", *r));
  return {};
}

Result<void> Tools::scancel(const std::string& id) {
  auto r = call({"scancel", id}, kAct_ms);
  if (!r) return tl::unexpected(r.error());
  if (r->status != 0) return tl::unexpected(said("scancel", *r));
  return {};
}

}  // namespace muster::slurm
