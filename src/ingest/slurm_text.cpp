#include "ingest/slurm_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace muster::slurm {
namespace {

// Then the admin comment and the name, which may hold anything.
constexpr std::array<std::string_view, 28> kColumns = {
    "State",       "Reason",       "NumNodes",   "tres-per-node", "tres-per-job", "tres-alloc",    "NodeList",
    "ReqNodes",    "PriorityLong", "SubmitTime", "StartTime",     "EndTime",      "EligibleTime",  "TimeLimit",
    "Partition",   "QOS",          "Account",    "UserName",      "Dependency",   "Feature",       "OverSubscribe",
    "Reservation", "RestartCnt",   "Requeue",    "ReqSwitch",     "HetJobID",     "tres-per-task", "NumTasks"};

constexpr std::string_view kSharing = "OverSubscribe";

std::string_view some(std::string_view s) {  // Slurm's words for nothing
  return s == "(null)" || s == "N/A" || s == "None" || s == "NONE" || s == "Unknown" ? std::string_view() : s;
}
std::uint32_t count_of(std::string_view s) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(parse_uint(s).value_or(0), UINT32_MAX));
}
Time utc_of(std::string_view s) {
  const auto seconds_since = parse_int(s);
  constexpr std::int64_t kLatest = 9'000'000'000;  // beyond that it is no time but Slurm's "never"
  if (!seconds_since || *seconds_since <= 0 || *seconds_since > kLatest) return {};
  return Time{*seconds_since * 1'000'000'000};
}
std::vector<std::string> words(std::string_view s, char separator) {
  std::vector<std::string> out;
  for (const std::string_view w : split(s, separator)) {
    if (!w.empty()) out.emplace_back(w);
  }
  return out;
}

// "17", "17_3", "17_[3-9]", "17+1"
bool read_id(std::string_view text, JobRow& out) {
  if (const auto plus = text.find('+'); plus != std::string_view::npos) {
    out.het = true;
    text = text.substr(0, plus);
  }
  const auto parts = split(text, '_');
  const auto number = parse_uint(parts[0]);
  if (!number || *number == 0 || *number > UINT32_MAX || parts.size() > 2) return false;
  out.id.number = static_cast<std::uint32_t>(*number);
  if (parts.size() == 1) return true;
  if (const auto member = parse_uint(parts[1]); member && *member < UINT32_MAX) {
    out.id.array_index = static_cast<std::uint32_t>(*member) + 1;
    return true;
  }
  if (parts[1].size() < 3 || parts[1].front() != '[' || parts[1].back() != ']') return false;
  out.pending = parts[1].substr(1, parts[1].size() - 2);
  return true;
}

// A name and the number at its end.
struct Numbered {
  std::string prefix;
  std::uint64_t number = 0;
  std::size_t width = 0;  // 0: no number at its end
  auto operator<=>(const Numbered&) const = default;
};
Numbered numbered(const std::string& name) {
  std::size_t at = name.size();
  while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9' && name.size() - at < 18) --at;
  if (at == name.size()) return {name, 0, 0};
  return {name.substr(0, at), parse_uint(std::string_view(name).substr(at)).value_or(0), name.size() - at};
}

Error bad_list(std::string_view list) {
  return {Code::bad_input, fmt::format("no list of nodes: {}", printable(list.substr(0, 100))),
          "write it like gpu[0001-0004,0007]"};
}

// One bracket, "0001-0004,0007", after `prefix`.
Result<void> expand_bracket(std::string_view prefix, std::string_view inside, std::string_view list, std::size_t most,
                            std::vector<std::string>& out) {
  for (const std::string_view range : split(inside, ',')) {
    const auto dash = range.find('-');
    const std::string_view low = range.substr(0, dash);
    const std::string_view high = dash == std::string_view::npos ? low : range.substr(dash + 1);
    const auto a = parse_uint(low);
    const auto b = parse_uint(high);
    if (!a || !b || *b < *a || low.size() > 18) return tl::unexpected(bad_list(list));
    if (*b - *a >= most - std::min(most, out.size())) return tl::unexpected(bad_list(list));
    for (std::uint64_t n = *a; n <= *b; ++n) out.push_back(fmt::format("{}{:0{}}", prefix, n, low.size()));
  }
  return {};
}

std::string_view until_space(std::string_view s) { return s.substr(0, s.find(' ')); }

}  // namespace

Result<std::vector<std::string>> expand_names(std::string_view list, std::size_t most) {
  std::vector<std::string> out;
  std::size_t at = 0;
  while (at < list.size()) {
    const std::size_t open = list.find_first_of("[,", at);
    if (open == std::string_view::npos || list[open] == ',') {
      const std::string_view name = list.substr(at, open == std::string_view::npos ? open : open - at);
      if (name.empty() || name.find_first_of("]() \t\n") != std::string_view::npos || out.size() >= most)
        return tl::unexpected(bad_list(list));
      out.emplace_back(name);
      at = open == std::string_view::npos ? list.size() : open + 1;
      if (open != std::string_view::npos && at == list.size()) return tl::unexpected(bad_list(list));
      continue;
    }
    const std::size_t close = list.find(']', open);
    const bool ends_well = close != std::string_view::npos && (close + 1 == list.size() || list[close + 1] == ',');
    const std::string_view prefix = list.substr(at, open - at);
    if (!ends_well || close == open + 1 || prefix.find_first_of("]() \t\n") != std::string_view::npos)
      return tl::unexpected(bad_list(list));
    if (auto ok = expand_bracket(prefix, list.substr(open + 1, close - open - 1), list, most, out); !ok)
      return tl::unexpected(ok.error());
    at = close + 2;
    if (at == list.size()) return tl::unexpected(bad_list(list));  // a comma and nothing behind it
    if (at > list.size()) break;
  }
  return out;
}

std::string compress_names(std::vector<std::string> names) {
  std::vector<Numbered> all;
  all.reserve(names.size());
  for (const std::string& n : names) all.push_back(numbered(n));
  // Of one width together: "7" and "07" are two nodes.
  std::sort(all.begin(), all.end(), [](const Numbered& a, const Numbered& b) {
    return std::tie(a.prefix, a.width, a.number) < std::tie(b.prefix, b.width, b.number);
  });
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::string out;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i;
    std::string inside;
    while (end < all.size() && all[end].width == all[i].width && all[end].prefix == all[i].prefix && all[i].width > 0) {
      std::size_t last = end;
      while (last + 1 < all.size() && all[last + 1].prefix == all[i].prefix && all[last + 1].width == all[i].width &&
             all[last + 1].number == all[last].number + 1)
        ++last;
      inside += fmt::format("{}{:0{}}", inside.empty() ? "" : ",", all[end].number, all[end].width);
      if (last > end) inside += fmt::format("-{:0{}}", all[last].number, all[last].width);
      end = last + 1;
    }
    if (!out.empty()) out += ',';
    if (all[i].width == 0) {
      out += all[i].prefix;
      ++i;
      continue;
    }
    const bool single = end - i == 1;
    out += all[i].prefix + (single ? inside : "[" + inside + "]");
    i = end;
  }
  return out;
}

std::string squeue_format(std::string_view nonce, bool exclusive_apart) {
  std::string out = fmt::format("JobArrayID:#{}#", nonce);
  for (const std::string_view c : kColumns) out += fmt::format(",{}:|", exclusive_apart && c == kSharing ? "Exclusive" : c);
  return out + fmt::format(",admin_comment:%{}%,Name:|", nonce);
}

bool tells_exclusive_apart(std::string_view version) {
  version = trim(version);
  const auto parts = split(version.substr(version.rfind(' ') + 1), '.');
  const auto year = parse_uint(parts[0]), month = parse_uint(parts.size() > 1 ? parts[1] : "");
  return year && month && (*year > 26 || (*year == 26 && *month >= 5));
}

Result<std::vector<JobRow>> parse_squeue(std::string_view text, std::string_view nonce, bool exclusive_apart) {
  std::vector<JobRow> out;
  const std::string mark = fmt::format("#{}#", nonce);
  if (text.empty()) return out;
  const auto partial = [&] { return fail(Code::unreachable, "squeue's answer is cut off: it is not taken for what there is"); };
  if (text.back() != '\n' || text.substr(0, text.size() - 1).empty() || text[text.size() - 2] != '|') return partial();
  std::size_t at = text.find(mark);
  std::size_t begin = 0;
  while (at != std::string_view::npos) {
    // The next row begins where its id does, after the last line break before its mark.
    const std::size_t next = text.find(mark, at + mark.size());
    std::size_t end = text.size();
    if (next != std::string_view::npos) end = text.rfind('\n', next) + 1;
    JobRow row;
    if (end <= at || !read_id(trim(text.substr(begin, at - begin)), row)) return partial();
    std::string_view rest = text.substr(at + mark.size(), end - at - mark.size());
    std::array<std::string_view, kColumns.size()> v;
    for (std::size_t c = 0; c < v.size(); ++c) {
      const auto bar = rest.find('|');
      if (bar == std::string_view::npos) return partial();
      v[c] = rest.substr(0, bar);
      rest.remove_prefix(bar + 1);
    }
    const std::string after = fmt::format("%{}%", nonce);
    const std::size_t comment = rest.find(after);
    if (comment == std::string_view::npos || rest.size() < comment + after.size() + 2) return partial();
    row.admin_comment = to_valid_utf8(some(rest.substr(0, comment)));
    rest.remove_prefix(comment + after.size());
    row.state = v[0];
    row.reason = some(v[1]);
    row.nodes = count_of(v[2]);
    row.gpus_per_node = gpus_in(v[3]);
    row.gpus = std::max({gpus_in(v[4]), gpus_in(v[5]), gpus_in(v[26]) * std::min<std::uint32_t>(count_of(v[27]), 1U << 20U)});
    row.node_list = some(v[6]);
    row.required = some(v[7]);
    row.priority = parse_uint(v[8]).value_or(0);
    row.submitted = utc_of(v[9]);
    row.started = utc_of(v[10]);
    row.ended = utc_of(v[11]);
    row.eligible = utc_of(v[12]);
    row.time_limit_s = parse_span_s(v[13]);
    row.partition = v[14];
    row.qos = some(v[15]);
    row.account = some(v[16]);
    row.user = v[17];
    row.dependency = some(v[18]);
    row.features = some(v[19]);
    row.sharing = exclusive_apart && v[20] == "NO" ? "OK" : v[20];
    row.reservation = some(v[21]);
    row.restarts = count_of(v[22]);
    row.requeue = v[23] == "1";
    row.switches = count_of(v[24]);
    row.het = row.het || !some(v[25]).empty();
    row.name = to_valid_utf8(rest.substr(0, rest.size() - 2));  // without its bar and line break
    out.push_back(std::move(row));
    at = next;
    begin = end;
  }
  if (out.empty()) return partial();
  return out;
}

std::string_view value_of(std::string_view line, std::string_view key) {
  const std::string with = fmt::format("{}=", key);
  std::size_t at = 0;
  while ((at = line.find(with, at)) != std::string_view::npos) {
    if (at == 0 || line[at - 1] == ' ') return line.substr(at + with.size());
    ++at;
  }
  return {};
}

bool NodeRow::has(std::string_view flag) const { return std::find(state.begin(), state.end(), flag) != state.end(); }

namespace {

// "bad fan [root@1794795095]"
void read_reason(std::string_view text, NodeRow& n) {
  text = trim(text.substr(0, text.find('\n')));
  const auto open = text.rfind(" [");
  if (open == std::string_view::npos || text.back() != ']') {
    n.reason = to_valid_utf8(text);
    return;
  }
  const std::string_view by = text.substr(open + 2, text.size() - open - 3);
  const auto at = by.rfind('@');
  n.reason = to_valid_utf8(text.substr(0, open));
  n.reason_by = to_valid_utf8(by.substr(0, at));
  if (at != std::string_view::npos) n.reason_at = utc_of(by.substr(at + 1));
}

}  // namespace

Result<std::vector<NodeRow>> parse_nodes(std::string_view text) {
  std::vector<NodeRow> out;
  for (const std::string_view line : split(text, '\n')) {
    if (trim(line).empty()) continue;
    if (line.rfind("NodeName=", 0) != 0) return fail(Code::unreachable, "scontrol's list of nodes cannot be read");
    NodeRow n;
    n.name = until_space(line.substr(9));
    const std::string_view state = until_space(value_of(line, "State"));
    if (n.name.empty() || state.empty()) return fail(Code::unreachable, "scontrol's list of nodes is cut off");
    n.state = words(state, '+');
    // "IDLE*": it does not respond; "%", "#", "~" and so on say of power saving what flags say as well.
    constexpr std::string_view kMarks = "*~#!%$@^-";
    while (!n.state.empty() && !n.state.front().empty() && kMarks.find(n.state.front().back()) != kMarks.npos) {
      const bool silent = n.state.front().back() == '*';
      n.state.front().pop_back();
      if (silent) n.state.emplace_back("NOT_RESPONDING");
    }
    n.gpus = gpus_in(until_space(value_of(line, "Gres")), &n.gpu_type);
    n.partitions = words(until_space(value_of(line, "Partitions")), ',');
    n.features = words(some(until_space(value_of(line, "AvailableFeatures"))), ',');
    n.version = until_space(value_of(line, "Version"));
    n.booted = utc_of(until_space(value_of(line, "BootTime")));
    // Before it stands nothing that a user wrote.
    read_reason(value_of(line, "Reason"), n);
    out.push_back(std::move(n));
  }
  return out;
}

Result<std::vector<PartitionRow>> parse_partitions(std::string_view text) {
  std::vector<PartitionRow> out;
  for (const std::string_view line : split(text, '\n')) {
    if (trim(line).empty()) continue;
    if (line.rfind("PartitionName=", 0) != 0) return fail(Code::unreachable, "scontrol's list of partitions cannot be read");
    PartitionRow p;
    p.name = until_space(line.substr(14));
    p.nodes = some(until_space(value_of(line, "Nodes")));
    p.tier = count_of(until_space(value_of(line, "PriorityTier")));
    p.up = until_space(value_of(line, "State")) == "UP";
    p.stoppable = until_space(value_of(line, "PreemptMode")) != "OFF";
    p.sharing = until_space(value_of(line, "OverSubscribe"));
    p.nodes_max = count_of(until_space(value_of(line, "MaxNodes")));  // "UNLIMITED" is no number
    p.time_max_s = parse_span_s(until_space(value_of(line, "MaxTime")));
    out.push_back(std::move(p));
  }
  return out;
}

Result<std::vector<ReservationRow>> parse_reservations(std::string_view text) {
  std::vector<ReservationRow> out;
  for (const std::string_view line : split(text, '\n')) {
    if (line.rfind("ReservationName=", 0) != 0) continue;  // "No reservations in the system"
    ReservationRow r;
    r.name = until_space(line.substr(16));
    r.nodes = some(until_space(value_of(line, "Nodes")));
    r.from = utc_of(until_space(value_of(line, "StartTime")));
    r.until = utc_of(until_space(value_of(line, "EndTime")));
    r.flags = words(until_space(value_of(line, "Flags")), ',');
    out.push_back(std::move(r));
  }
  return out;
}

Result<std::vector<SwitchRow>> parse_topology(std::string_view text) {
  std::vector<SwitchRow> out;
  for (std::string_view line : split(text, '\n')) {
    line = trim(line.substr(0, line.find('#')));
    // A block (topology/block) is what a leaf is in a tree; "AggregatedBlock=" lines name no new nodes.
    if (line.rfind("SwitchName=", 0) != 0 && line.rfind("BlockName=", 0) != 0) continue;
    SwitchRow s;
    s.name = until_space(line.substr(line.find('=') + 1));
    s.level = count_of(until_space(value_of(line, "Level")));
    s.nodes = until_space(value_of(line, "Nodes"));
    s.switches = until_space(value_of(line, "Switches"));
    if (s.name.empty() || (s.nodes.empty() && s.switches.empty()))
      return fail(Code::bad_input, fmt::format("a switch without nodes or switches: {}", printable(line.substr(0, 100))));
    out.push_back(std::move(s));
  }
  return out;
}

std::map<std::string, std::string> parse_config(std::string_view text) {
  std::map<std::string, std::string> out;
  for (const std::string_view line : split(text, '\n')) {
    const auto equals = line.find(" = ");
    if (equals == std::string_view::npos) continue;
    out.emplace(trim(line.substr(0, equals)), trim(line.substr(equals + 3)));
  }
  return out;
}

double parse_span_s(std::string_view text) {
  double days = 0;
  const auto dash = text.find('-');
  if (dash != std::string_view::npos) {
    days = static_cast<double>(parse_uint(text.substr(0, dash)).value_or(0));
    text.remove_prefix(dash + 1);
  }
  const auto parts = split(text, ':');
  if (parts.size() > 3) return 0;
  std::array<double, 3> v{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto n = parse_uint(parts[i]);
    if (!n || *n > 1'000'000'000) return 0;
    v[i] = static_cast<double>(*n);
  }
  if (dash != std::string_view::npos) return days * 86400 + v[0] * 3600 + v[1] * 60 + v[2];
  if (parts.size() == 3) return v[0] * 3600 + v[1] * 60 + v[2];
  return v[0] * 60 + v[1];
}

std::uint32_t gpus_in(std::string_view tres, std::string* type) {
  std::uint64_t total = 0;
  for (std::string_view part : split(tres, ',')) {
    for (const std::string_view prefix : {"gres/", "gres:"}) {
      if (part.rfind(prefix, 0) == 0) part.remove_prefix(prefix.size());
    }
    if (part.rfind("gpu", 0) != 0 || (part.size() > 3 && part[3] != ':' && part[3] != '=')) continue;
    part = part.substr(0, part.find('('));
    if (const auto equals = part.find('='); equals != std::string_view::npos) {
      // "gres/gpu=16,gres/gpu:h200=16" counts the same GPUs twice.
      if (part[3] == ':') continue;
      total += parse_uint(part.substr(equals + 1)).value_or(0);
      continue;
    }
    const auto fields = split(part, ':');
    const auto last = fields.size() > 1 ? parse_uint(fields.back()) : std::nullopt;
    total += last.value_or(1);
    const bool typed = fields.size() == 3 || (fields.size() == 2 && !last);
    if (typed && type != nullptr && type->empty()) *type = fields[1];
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(total, UINT32_MAX));
}

std::map<std::string, std::uint16_t> parse_slots(std::string_view line) {
  std::map<std::string, std::uint16_t> out;
  // A job's name, command and comment are in the same line, and may say anything: where the details could be in two places, none
  // are believed.
  constexpr std::string_view kBegin = " JOB_GRES=";
  const auto begin = line.find(kBegin);
  if (begin == std::string_view::npos || line.find(kBegin, begin + 1) != std::string_view::npos) return out;
  line = line.substr(begin);
  line = line.substr(0, line.find(" MinCPUsNode="));
  std::size_t at = 0;
  while ((at = line.find("(IDX:", at)) != std::string_view::npos) {
    const auto close = line.find(')', at);
    const auto nodes = line.rfind(" Nodes=", at);
    if (close == std::string_view::npos || nodes == std::string_view::npos) break;
    std::uint16_t mask = 0;
    for (const std::string_view range : split(line.substr(at + 5, close - at - 5), ',')) {
      const auto dash = range.find('-');
      const auto a = parse_uint(range.substr(0, dash));
      const auto b = dash == std::string_view::npos ? a : parse_uint(range.substr(dash + 1));
      if (!a || !b || *b > 15) continue;
      for (std::uint64_t i = *a; i <= *b; ++i) mask = static_cast<std::uint16_t>(mask | 1U << i);
    }
    if (auto names = expand_names(until_space(line.substr(nodes + 7)))) {
      for (const std::string& n : *names) out[n] = static_cast<std::uint16_t>(out[n] | mask);
    }
    at = close;
  }
  return out;
}

}  // namespace muster::slurm
