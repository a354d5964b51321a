#include "ingest/slurm_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/value.h"
#include "ingest/json.h"

namespace muster::slurm {
namespace {

constexpr int kDepthMost = 24;

// Errors of Slurm (slurm_errno.h) that have a meaning for whoever asks.
constexpr std::int64_t kProtocolAuthentication = 1007;
constexpr std::int64_t kNobodyThere = 1001;  // and below 1010: the connection to slurmctld
constexpr std::int64_t kAccessDenied = 2002;
constexpr std::int64_t kUnspecified = -1;  // all that 22.05 has to say of a token it does not take

// A number, or {set, infinite, number}; 0 where it is not set, infinite, or no number.
double number_of(const Value* v) {
  double d = 0;
  if (v == nullptr) return 0;
  if (v->object() == nullptr) return v->number(d) && std::isfinite(d) ? d : 0;
  const auto said = [&](const char* key) {
    const Value* flag = v->find(key);
    return flag != nullptr && flag->boolean() != nullptr && *flag->boolean();
  };
  const Value* n = v->find("number");
  if (!said("set") || said("infinite") || n == nullptr || !n->number(d) || !std::isfinite(d)) return 0;
  return d;
}
std::uint64_t whole_of(const Value* v) {
  const double d = number_of(v);
  return d <= 0 ? 0 : static_cast<std::uint64_t>(std::min(d, 9e15));
}
std::uint32_t count_of(const Value* v) { return static_cast<std::uint32_t>(std::min<std::uint64_t>(whole_of(v), UINT32_MAX)); }
Time utc_of(const Value* v) {
  constexpr std::uint64_t kLatest = 9'000'000'000;  // beyond that it is no time but Slurm's "never"
  const std::uint64_t s = whole_of(v);
  return s > kLatest ? Time{} : Time{static_cast<std::int64_t>(s) * 1'000'000'000};
}
std::string text_of(const Value* v) { return v != nullptr && v->string() != nullptr ? *v->string() : std::string(); }
bool flag_of(const Value* v) { return v != nullptr && v->boolean() != nullptr && *v->boolean(); }

// A list of texts, or one text with commas.
std::vector<std::string> words_of(const Value* v) {
  std::vector<std::string> out;
  if (v == nullptr) return out;
  if (const Value::Array* all = v->array()) {
    for (const Value& w : *all) {
      if (w.string() != nullptr && !w.string()->empty()) out.push_back(*w.string());
    }
  } else if (v->string() != nullptr) {
    for (const std::string_view w : split(*v->string(), ',')) {
      if (!w.empty()) out.emplace_back(w);
    }
  }
  return out;
}

std::string upper(std::string s) {
  for (char& c : s) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return s;
}

std::string sentence_of(const Value& error) {
  std::string out = text_of(error.find("error"));
  if (const std::string more = text_of(error.find("description")); !more.empty() && more != out)
    out += (out.empty() ? "" : ": ") + more;
  return printable(std::string_view(out).substr(0, 300));
}

Error error_of(const Value& error) {
  const Value* number = error.find("error_number") != nullptr ? error.find("error_number") : error.find("errno");
  const std::int64_t n = number != nullptr && number->integer() != nullptr ? *number->integer() : 0;
  std::string what = fmt::format("slurmrestd: {}", sentence_of(error));
  if (n == kProtocolAuthentication || n == kAccessDenied || n == kUnspecified) return {Code::not_allowed, std::move(what), {}};
  if (n >= kNobodyThere && n < 1010) return {Code::unreachable, std::move(what), "look at slurmctld: scontrol ping"};
  return {Code::refused, std::move(what), {}};
}

void read_meta(const Value& root, RestMeta& out) {
  const Value* meta = root.find("meta");
  const Value* slurm = meta == nullptr ? nullptr : meta->find("slurm");
  if (slurm == nullptr && meta != nullptr) slurm = meta->find("Slurm");
  if (slurm != nullptr) out.slurm = text_of(slurm->find("release"));
  out.updated = utc_of(root.find("last_update"));
  const Value* warnings = root.find("warnings");
  if (warnings == nullptr || warnings->array() == nullptr) return;
  for (const Value& w : *warnings->array()) {
    if (std::string s = sentence_of(w); !s.empty()) out.warnings.push_back(std::move(s));
  }
}

Error cut_off(std::string_view what) {
  return {Code::unreachable, fmt::format("slurmrestd's answer is cut off or no JSON: {}", what),
          "something between here and slurmrestd damages it"};
}

// The whole answer, if nothing is wrong with it.
Result<Value> answer_of(std::string_view text, RestMeta* meta) {
  auto root = parse_json(to_valid_utf8(text), kDepthMost);
  if (!root) return tl::unexpected(cut_off(root.error().what));
  if (root->object() == nullptr) return tl::unexpected(cut_off("it is no object"));
  if (meta != nullptr) read_meta(*root, *meta);
  const Value* errors = root->find("errors");
  if (errors != nullptr && errors->array() != nullptr && !errors->array()->empty())
    return tl::unexpected(error_of(errors->array()->front()));
  return root;
}

// Rows of the list `key`; without it the answer says nothing about what there is.
template <class Row, class Read>
Result<std::vector<Row>> rows_of(std::string_view text, RestMeta* meta, const char* key, Read read) {
  const auto root = answer_of(text, meta);
  if (!root) return tl::unexpected(root.error());
  const Value* list = root->find(key);
  if (list == nullptr || list->array() == nullptr) return tl::unexpected(cut_off(fmt::format("it has no list \"{}\"", key)));
  std::vector<Row> out;
  out.reserve(list->array()->size());
  for (const Value& v : *list->array()) {
    Row row;
    if (!read(v, row)) return tl::unexpected(cut_off(fmt::format("in \"{}\" something has no name or state", key)));
    out.push_back(std::move(row));
  }
  return out;
}

bool is_base(const std::string& s) {
  constexpr std::array<std::string_view, 7> kBase = {"UNKNOWN", "DOWN", "IDLE", "ALLOCATED", "ERROR", "MIXED", "FUTURE"};
  return std::find(kBase.begin(), kBase.end(), s) != kBase.end();
}

bool read_node(const Value& v, NodeRow& n) {
  n.name = text_of(v.find("name"));
  for (const char* key : {"state", "state_flags"}) {
    for (std::string& s : words_of(v.find(key))) {
      std::string flag = upper(std::move(s));
      n.state.push_back(flag == "NO_RESPOND" ? "NOT_RESPONDING" : std::move(flag));
    }
  }
  std::stable_partition(n.state.begin(), n.state.end(), is_base);
  n.reason = text_of(v.find("reason"));
  n.reason_by = text_of(v.find("reason_set_by_user"));
  n.reason_at = utc_of(v.find("reason_changed_at"));
  n.gpus = gpus_in(text_of(v.find("gres")), &n.gpu_type);
  n.partitions = words_of(v.find("partitions"));
  n.features = words_of(v.find("features"));
  n.version = text_of(v.find(v.find("version") != nullptr ? "version" : "slurmd_version"));
  n.booted = utc_of(v.find("boot_time"));
  return !n.name.empty() && !n.state.empty();
}

// As squeue shows them: what happens to a job before what it is.
std::string job_state(const Value* v) {
  const std::vector<std::string> all = words_of(v);
  for (const char* flag : {"COMPLETING", "STAGE_OUT", "CONFIGURING", "RESIZING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD",
                           "SPECIAL_EXIT", "STOPPED", "REVOKED", "RESV_DEL_HOLD", "SIGNALING"}) {
    if (std::find(all.begin(), all.end(), flag) != all.end()) return flag;
  }
  return all.empty() ? std::string() : all.front();
}

void read_job_id(const Value& v, JobRow& j) {
  j.id.number = count_of(v.find("job_id"));
  const std::uint32_t array = count_of(v.find("array_job_id"));
  if (array == 0) return;
  j.id.number = array;
  j.pending = text_of(v.find("array_task_string"));
  if (!j.pending.empty()) return;
  const Value* task = v.find("array_task_id");
  const bool told = task != nullptr && (task->object() == nullptr ? task->integer() != nullptr : flag_of(task->find("set")));
  const std::uint32_t member = count_of(task);
  if (told && member < UINT32_MAX) j.id.array_index = member + 1;
}

bool read_job(const Value& v, JobRow& j) {
  read_job_id(v, j);
  j.state = job_state(v.find("job_state"));
  const auto text = [&](const char* key) { return text_of(v.find(key)); };
  j.reason = text("state_reason") == "None" ? std::string() : text("state_reason");
  j.nodes = count_of(v.find("node_count"));
  j.gpus_per_node = gpus_in(text("tres_per_node"));
  j.gpus = std::max(gpus_in(text("tres_per_job")), gpus_in(text("tres_alloc_str")));
  j.node_list = text("nodes");
  j.required = text("required_nodes");
  j.priority = whole_of(v.find("priority"));
  j.submitted = utc_of(v.find("submit_time"));
  j.started = utc_of(v.find("start_time"));
  j.ended = utc_of(v.find("end_time"));
  j.eligible = utc_of(v.find("eligible_time"));
  j.time_limit_s = static_cast<double>(whole_of(v.find("time_limit"))) * 60;
  j.partition = text("partition");
  j.qos = text("qos");
  j.account = text("account");
  j.user = text("user_name");
  j.dependency = text("dependency");
  j.features = text("features");
  j.reservation = text("resv_name");
  j.name = text("name");
  j.admin_comment = text("admin_comment");
  j.restarts = count_of(v.find("restart_cnt"));
  j.switches = count_of(v.find("required_switches"));
  j.requeue = flag_of(v.find("requeue"));
  j.het = whole_of(v.find("het_job_id")) > 0;
  return j.id.number > 0 && !j.state.empty();
}

std::string sharing_of(const Value* oversubscribe) {
  if (oversubscribe == nullptr) return {};
  const std::uint32_t jobs = count_of(oversubscribe->find("jobs"));
  if (jobs == 0) return "EXCLUSIVE";
  if (!words_of(oversubscribe->find("flags")).empty()) return fmt::format("FORCE:{}", jobs);
  return jobs == 1 ? "NO" : fmt::format("YES:{}", jobs);
}

// A count that may be "infinite" or not set; 0: no limit.
std::uint32_t limit_of(const Value* v) {
  if (v != nullptr && v->object() != nullptr && (flag_of(v->find("infinite")) || !flag_of(v->find("set")))) return 0;
  const std::uint32_t n = count_of(v);
  return n < UINT32_MAX - 1 ? n : 0;
}

bool read_partition(const Value& v, PartitionRow& p) {
  p.name = text_of(v.find("name"));
  const Value* nodes = v.find("nodes");
  const Value* of = v.find("partition");
  const Value* priority = v.find("priority");
  const Value* most = v.find("maximums");
  p.nodes = text_of(nodes != nullptr && nodes->object() != nullptr ? nodes->find("configured") : nodes);
  p.tier = count_of(priority != nullptr ? priority->find("tier") : v.find("priority_tier"));
  const std::vector<std::string> state = words_of(of != nullptr ? of->find("state") : v.find("state"));
  p.up = std::find(state.begin(), state.end(), "UP") != state.end();
  // v0.0.40 to v0.0.42 do not tell of preemption; it is read from the tools where it matters.
  for (const char* key : {"preemption_mode", "preempt_mode"}) {
    for (const std::string& mode : words_of(v.find(key))) p.stoppable = p.stoppable || lower(mode) != "disabled";
  }
  p.sharing = of != nullptr ? text_of(of->find("oversubscribe")) : std::string();
  if (p.sharing.empty()) p.sharing = sharing_of(most == nullptr ? nullptr : most->find("oversubscribe"));
  if (most != nullptr) {
    p.nodes_max = limit_of(most->find("nodes"));
    p.time_max_s = 60.0 * limit_of(most->find("time"));
  }
  return !p.name.empty();
}

bool read_reservation(const Value& v, ReservationRow& r) {
  r.name = text_of(v.find("name"));
  r.nodes = text_of(v.find("node_list"));
  r.from = utc_of(v.find("start_time"));
  r.until = utc_of(v.find("end_time"));
  r.flags = words_of(v.find("flags"));
  return !r.name.empty();
}

bool read_ping(const Value& v, PingRow& p) {
  p.host = text_of(v.find("hostname"));
  const Value* responds = v.find("responding");
  p.up = responds != nullptr ? flag_of(responds) : text_of(v.find(v.find("pinged") != nullptr ? "pinged" : "ping")) == "UP";
  return !p.host.empty();
}

}  // namespace

Result<std::vector<NodeRow>> parse_nodes_json(std::string_view text, RestMeta* meta) {
  return rows_of<NodeRow>(text, meta, "nodes", read_node);
}
Result<std::vector<JobRow>> parse_jobs_json(std::string_view text, RestMeta* meta) {
  return rows_of<JobRow>(text, meta, "jobs", read_job);
}
Result<std::vector<PartitionRow>> parse_partitions_json(std::string_view text, RestMeta* meta) {
  return rows_of<PartitionRow>(text, meta, "partitions", read_partition);
}
Result<std::vector<ReservationRow>> parse_reservations_json(std::string_view text, RestMeta* meta) {
  return rows_of<ReservationRow>(text, meta, "reservations", read_reservation);
}
Result<std::vector<PingRow>> parse_ping_json(std::string_view text, RestMeta* meta) {
  return rows_of<PingRow>(text, meta, "pings", read_ping);
}

Result<DiagRow> parse_diag_json(std::string_view text, RestMeta* meta) {
  const auto root = answer_of(text, meta);
  if (!root) return tl::unexpected(root.error());
  const Value* s = root->find("statistics");
  if (s == nullptr || s->object() == nullptr) return tl::unexpected(cut_off("it has no \"statistics\""));
  return DiagRow{whole_of(s->find("jobs_pending")), whole_of(s->find("jobs_running")), whole_of(s->find("server_thread_count"))};
}

Result<std::vector<std::string>> parse_rest_versions(std::string_view text) {
  const auto root = parse_json(to_valid_utf8(text), kDepthMost * 2);
  if (!root) return tl::unexpected(cut_off(root.error().what));
  const Value* paths = root->find("paths");
  if (paths == nullptr || paths->object() == nullptr) return tl::unexpected(cut_off("it has no \"paths\""));
  std::vector<std::string> out;
  for (const Value::Member& p : *paths->object()) {
    const auto parts = split(p.key, '/');  // "/slurm/v0.0.42/nodes/": the first is empty
    if (parts.size() < 4 || parts[1] != "slurm" || parts[3] != "nodes" || (parts.size() > 4 && !parts[4].empty())) continue;
    out.emplace_back(parts[2]);
  }
  const auto number = [](const std::string& v) { return parse_uint(split(v, '.').back()).value_or(0); };
  std::sort(out.begin(), out.end(), [&](const std::string& a, const std::string& b) { return number(a) > number(b); });
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Error rest_error(int status, std::string_view body) {
  const auto answer = answer_of(body, nullptr);
  if (!answer && answer.error().what.rfind("slurmrestd: ", 0) == 0) return answer.error();
  if (status == 401 || status == 403 || status == 511)
    return {Code::not_allowed, fmt::format("slurmrestd lets nobody in without a token it knows (HTTP {})", status), {}};
  if (status == 404) return {Code::not_found, "slurmrestd has no such page (HTTP 404)", {}};
  return {Code::unreachable, fmt::format("slurmrestd answers with HTTP {}", status), "look at the log of slurmrestd"};
}

}  // namespace muster::slurm
