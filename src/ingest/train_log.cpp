#include "ingest/train_log.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "base/text.h"

namespace muster {
namespace {

constexpr auto npos = std::string_view::npos;

bool has(std::string_view s, std::string_view part) { return s.find(part) != npos; }
bool digit(char c) { return c >= '0' && c <= '9'; }
std::string kept(std::string_view s) { return printable(trim(s.substr(0, kTrainTextMax))); }

// The whole number that follows `key`, which must not be the end of a longer word.
std::optional<std::int64_t> number_after(std::string_view s, std::string_view key) {
  for (std::size_t at = s.find(key); at != npos; at = s.find(key, at + 1)) {
    const char* p = s.data() + at + key.size();
    std::int64_t v = 0;
    const auto r = std::from_chars(p, s.data() + s.size(), v);
    if (r.ec == std::errc()) return v;
  }
  return std::nullopt;
}

int small(std::optional<std::int64_t> v) { return v && *v >= 0 && *v <= INT32_MAX ? static_cast<int>(*v) : -1; }

// "10.0.0.1<4242>" at the start: the address.
std::string address(std::string_view s) {
  const std::size_t end = s.find_first_of("< ,");
  return kept(s.substr(0, std::min<std::size_t>(end, 64)));
}

// "host:pid:tid [dev] file:line NCCL WARN": what stands before NCCL's mark. Launchers may put words of their own before it.
void read_nccl_prefix(std::string_view s, TrainEvent& e) {
  for (std::size_t open = s.rfind('['); open != npos && open > 0; open = s.rfind('[', open - 1)) {
    const std::size_t close = s.find(']', open);
    if (close == npos || close == open + 1) continue;
    const std::string_view inside = s.substr(open + 1, close - open - 1);
    if (inside.size() > 3 || !std::all_of(inside.begin(), inside.end(), digit)) continue;
    e.gpu = small(parse_int(inside));
    const std::string_view before = trim(s.substr(0, open));
    const std::string_view word = before.substr(before.rfind(' ') == npos ? 0 : before.rfind(' ') + 1);
    e.host = kept(word.substr(0, std::min<std::size_t>(word.find(':'), 255)));
    return;
  }
}

void read_completion(std::string_view s, TrainEvent& e) {
  e.kind = TrainKind::ib_completion;
  // "status=12", "with error 12,", "status=IBV_WC_RETRY_EXC_ERR(12)"
  if (auto v = number_after(s, "status=")) e.status = small(v);
  if (e.status < 0) e.status = small(number_after(s, "with error "));
  if (const std::size_t at = s.find("status="); e.status < 0 && at != npos) e.status = small(number_after(s.substr(at, 64), "("));
  e.vendor_err = small(number_after(s, "vendor err "));
  if (e.vendor_err < 0) e.vendor_err = small(number_after(s, "vendor_err="));
  if (const std::size_t at = s.find("from peer "); at != npos) e.peer = address(s.substr(at + 10));
  if (const std::size_t at = s.find(" hca "); at != npos) e.device = address(s.substr(at + 5));
}

// "NET/IB : mlx5_0:1 Got async error event: port error"; since 2.26 also "async fatal event".
void read_ib_event(std::string_view s, TrainEvent& e) {
  e.kind = has(s, "port error")    ? TrainKind::ib_port_error
           : has(s, "port active") ? TrainKind::ib_port_active
                                   : TrainKind::ib_event;
  const std::size_t at = s.find("NET/IB");
  if (at == npos) return;
  std::string_view rest = s.substr(at + 6);
  rest.remove_prefix(std::min(rest.find_first_not_of(" :"), rest.size()));
  const std::string_view word = rest.substr(0, rest.find(' '));
  if (word != "Got" && word.size() < 64) e.device = kept(word);
}

std::optional<TrainEvent> nccl_line(std::string_view line, std::size_t mark) {
  TrainEvent e;
  read_nccl_prefix(line.substr(0, mark), e);
  const std::string_view text = line.substr(mark + std::string_view(" NCCL WARN ").size());
  e.text = kept(text);
  if (has(text, "Got completion")) {
    read_completion(text, e);
  } else if (has(text, "Got async") || has(text, "async fatal event")) {
    read_ib_event(text, e);
  } else if (has(text, "losed by remote peer") || has(text, "Connection reset by peer") || has(text, "Call to recv from") ||
             has(text, "remote process exited") || has(text, "Broken pipe")) {
    e.kind = TrainKind::peer_closed;
    for (const std::string_view key : {"remote peer ", "recv from ", "send to "}) {
      if (const std::size_t at = text.find(key); at != npos && e.peer.empty()) e.peer = address(text.substr(at + key.size()));
    }
  } else if (has(text, "ollective mismatch") || has(text, "Mismatched collective") || has(text, "Message truncated")) {
    e.kind = TrainKind::collective_mismatch;
    e.rank = small(number_after(text, "around rank "));
  } else if (has(text, "Cuda failure") || has(text, "CUDA failure")) {
    e.kind = TrainKind::cuda_failure;
  }
  return e;
}

// "[rank118]:", "[Rank 118]", "[PG 1 Rank 0]", "[PG ID 0 PG GUID 0(default_pg) Rank 1]"
void read_torch_prefix(std::string_view s, TrainEvent& e) {
  const std::size_t at = s.rfind("Rank ");
  if (at != npos) e.rank = small(number_after(s.substr(at), "Rank "));
  if (const auto global = number_after(s, "[rank")) {
    e.rank = small(global);
    e.whole_job = true;
  }
  std::string_view group;
  if (const std::size_t guid = s.rfind("PG GUID "); guid != npos) {
    group = s.substr(guid + 8);
  } else if (const std::size_t pg = s.rfind("[PG "); pg != npos) {
    group = s.substr(pg + 4);
  }
  e.group = kept(group.substr(0, std::min<std::size_t>(group.find_first_of(" ]"), 64)));
}

void read_work(std::string_view s, TrainEvent& e) {
  const std::size_t at = s.find("WorkNCCL(");
  if (at == npos) return;
  const std::string_view inside = s.substr(at + 9);
  e.seq = number_after(inside, "SeqNum=").value_or(-1);
  e.numel_in = number_after(inside, "NumelIn=").value_or(-1);
  e.timeout_ms = number_after(inside, "Timeout(ms)=").value_or(-1);
  e.ran_ms = number_after(inside, "ran for ").value_or(-1);
  if (const std::size_t op = inside.find("OpType="); op != npos) {
    const std::string_view rest = inside.substr(op + 7);
    e.op = kept(rest.substr(0, std::min<std::size_t>(rest.find_first_of(",) "), 40)));
  }
}

void read_standing(std::string_view s, TrainEvent& e) {
  for (const std::string_view key : {"at work: ", "at work sequence id: "}) {
    if (const auto v = number_after(s, key)) e.seq = *v;
  }
  for (const std::string_view key : {"ast enqueued NCCL work: ", "ast enqueued work: "}) {
    if (const auto v = number_after(s, key)) e.last_enqueued = *v;
  }
  for (const std::string_view key : {"ast completed NCCL work: ", "ast completed work: "}) {
    if (const auto v = number_after(s, key)) e.last_completed = *v;
  }
}

struct TorchMark {
  std::string_view words;
  TrainKind kind;
};
// The first that a line has decides: a line about a timeout may quote others behind it.
constexpr TorchMark kTorchMarks[] = {
    {"Watchdog caught collective operation timeout", TrainKind::watchdog_timeout},
    {"raised the following async exception", TrainKind::nccl_error},
    {"detected by watchdog at work", TrainKind::watchdog_failure},
    {"Heartbeat monitor timed out", TrainKind::heartbeat_timeout},
    {"watchdog got stuck for", TrainKind::heartbeat_timeout},
    {"Received a dump signal", TrainKind::dump_signal},
    {"Observed flight recorder dump signal from another rank", TrainKind::dump_signal},
    {"NCCL error: ", TrainKind::nccl_error},
    {"NCCL error in: ", TrainKind::nccl_error},
};

std::optional<TrainEvent> torch_line(std::string_view line) {
  for (const TorchMark& m : kTorchMarks) {
    const std::size_t at = line.find(m.words);
    if (at == npos) continue;
    TrainEvent e;
    e.kind = m.kind;
    read_torch_prefix(line.substr(0, at), e);
    read_work(line, e);
    read_standing(line.substr(at), e);
    e.text = kept(line.substr(at));
    return e;
  }
  return std::nullopt;
}

// What follows `key`, up to a blank or a mark: "n1" of "node n1, device 5".
std::string word_after(std::string_view s, std::string_view key) {
  const std::size_t at = s.find(key);
  if (at == npos) return {};
  const std::string_view rest = s.substr(at + key.size());
  return kept(rest.substr(0, std::min<std::size_t>(rest.find_first_of(" ,:;"), 255)));
}

// Megatron's checks of its own results. "Rank 13, node n1, device 5: Possible transient error!!", "Rank 13: found NaN in local
// grad norm in backward pass ... Device: 5, node: n1", "[Rank 13] Hash not matching for ...". What it finds to be right in the
// end ("Correct result") and a loss scale that overflows are none.
std::optional<TrainEvent> result_line(std::string_view line) {
  const std::size_t rank = line.find("Rank ");
  if (rank == npos) return std::nullopt;
  const std::string_view s = line.substr(rank);
  TrainEvent e;
  if (has(s, ": Possible transient error!") || has(s, ": Possible persistent error!") || has(s, "] Hash not matching for ")) {
    e.kind = TrainKind::not_repeatable;
  } else if (has(s, ": found NaN in local ") || has(s, ": found Inf in local ") || has(s, ": Unexpected result nan ") ||
             has(s, ": Unexpected result inf ")) {
    e.kind = TrainKind::not_a_number;
  } else {
    return std::nullopt;
  }
  e.rank = small(number_after(s.substr(0, 20), "Rank "));
  if (e.rank < 0) return std::nullopt;
  e.whole_job = true;
  e.host = word_after(s, ", node ");
  if (e.host.empty()) e.host = word_after(s, ", node: ");
  e.gpu = small(number_after(s, ", device "));
  if (e.gpu < 0) e.gpu = small(number_after(s, " Device: "));
  e.text = kept(s);
  return e;
}

// The line has our words, but not what they promise.
bool incomplete(const TrainEvent& e) {
  switch (e.kind) {
    case TrainKind::ib_completion: return e.status < 0;
    case TrainKind::watchdog_timeout: return e.seq < 0;
    case TrainKind::watchdog_failure: return e.seq < 0 && e.last_completed < 0;
    default: return false;
  }
}

using Key = std::tuple<TrainKind, std::string, int, int, std::string, std::int64_t, int, std::string>;
Key key_of(const TrainEvent& e) {
  const bool same_words = e.kind == TrainKind::nccl_warning || e.kind == TrainKind::nccl_error;
  return {e.kind, e.host, e.rank, e.gpu, e.group + "/" + e.device + "/" + e.peer, e.seq, e.status, same_words ? e.text : ""};
}

}  // namespace

std::optional<TrainEvent> parse_train_line(std::string_view line) {
  // Behind a progress bar, which returns to the line's beginning.
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  line = line.substr(line.rfind('\r') + 1).substr(0, kTrainLineMax);
  if (const std::size_t mark = line.find(" NCCL WARN "); mark != npos) return nccl_line(line, mark);
  // Cheap words first: nearly all lines of a log are about something else.
  if (has(line, "NCCL") || has(line, "atchdog") || has(line, "Heartbeat") || has(line, "dump signal"))
    return has(line, " NCCL INFO ") ? std::nullopt : torch_line(line);
  if (has(line, "Possible ") || has(line, "in local ") || has(line, "Unexpected result ") || has(line, "Hash not matching"))
    return result_line(line);
  return std::nullopt;
}

TrainLog parse_train_log(std::string_view text) {
  TrainLog log;
  std::map<Key, std::size_t> seen;
  std::map<std::pair<std::string, int>, RankStanding> standings;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++log.lines;
    auto e = parse_train_line(line);
    if (!e) continue;
    if (incomplete(*e)) {
      ++log.not_understood;
      continue;
    }
    e->line = static_cast<std::uint32_t>(std::min<std::uint64_t>(log.lines, UINT32_MAX));
    if (e->rank >= 0 && (e->kind == TrainKind::watchdog_timeout || e->kind == TrainKind::watchdog_failure)) {
      const auto key = std::pair(e->group, e->rank);
      if (standings.size() < kTrainRanksMax || standings.count(key) != 0) {
        RankStanding& s = standings[key];
        s.rank = e->rank;
        s.group = e->group;
        if (e->kind == TrainKind::watchdog_timeout) s.timed_out = s.timed_out < 0 ? e->seq : std::min(s.timed_out, e->seq);
        s.last_enqueued = std::max(s.last_enqueued, e->last_enqueued);
        s.last_completed = std::max(s.last_completed, e->last_completed);
      } else {
        ++log.left_out;
      }
    }
    const auto [it, fresh] =
        seen.size() < kTrainEventsMax ? seen.try_emplace(key_of(*e), log.events.size()) : std::pair(seen.find(key_of(*e)), false);
    if (it == seen.end()) {
      ++log.left_out;
    } else if (fresh) {
      log.events.push_back(std::move(*e));
    } else {
      ++log.events[it->second].repeats;
      ++log.folded;
    }
  }
  for (auto& [key, s] : standings) log.standings.push_back(std::move(s));
  return log;
}

std::vector<int> ranks_behind(const TrainLog& log, std::string_view group) {
  std::int64_t most = -1;
  for (const RankStanding& s : log.standings) {
    if (s.group == group) most = std::max(most, s.last_enqueued);
  }
  std::vector<int> behind;
  for (const RankStanding& s : log.standings) {
    if (s.group == group && s.last_enqueued >= 0 && s.last_enqueued < most) behind.push_back(s.rank);
  }
  return behind;
}

}  // namespace muster
