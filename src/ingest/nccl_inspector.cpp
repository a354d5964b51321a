#include "ingest/nccl_inspector.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.h"
#include "ingest/json.h"
#include "ingest/nccl_words.h"

namespace muster {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::size_t kLineMax = 1 << 20;  // with NCCL_INSPECTOR_DUMP_VERBOSE each channel's times are in it
constexpr double kRanksMax = 1e8;

std::string text_of(const Value* v, std::size_t most = 120) {
  return v != nullptr && v->string() != nullptr ? printable(v->string()->substr(0, most)) : std::string();
}

std::optional<double> number_of(const Value* v) {
  double d = 0;
  if (v == nullptr || !v->number(d) || !(d >= 0) || d > 1e18) return {};
  return d;
}

// As good as random, and the same for the same operation on every rank.
std::uint64_t lot(std::uint64_t seq) {
  seq *= 0x9E3779B97F4A7C15u;
  seq ^= seq >> 32;
  seq *= 0xD6E8FEB86659FD93u;
  return seq ^ (seq >> 32);
}

}  // namespace

struct InspectorReader::Guts {
  InspectorLog out;
  std::string carry;
  bool too_long = false;
  std::map<std::pair<std::string, std::string>, std::size_t> series_index;
  std::map<std::pair<std::size_t, std::uint32_t>, std::size_t> track_index;
  std::size_t samples = 0;

  void keep_fewer() {
    out.one_of *= 2;
    samples = 0;
    for (InspectorSeries& s : out.series) {
      for (InspectorTrack& t : s.tracks) {
        std::erase_if(t.samples, [&](const InspectorSample& x) { return lot(x.seq) % out.one_of != 0; });
        samples += t.samples.size();
      }
    }
  }

  InspectorTrack* track(const Value& header, std::string op, bool pair, const Value* metadata) {
    const std::string comm = text_of(header.find("id"));
    const auto rank = number_of(header.find("rank"));
    if (!rank || *rank > kRanksMax || op.empty()) return nullptr;
    const auto key = std::pair(comm, op);
    auto series = series_index.find(key);
    if (series == series_index.end()) {
      if (track_index.size() >= kInspectorTracksMax) return nullptr;
      series = series_index.emplace(key, out.series.size()).first;
      InspectorSeries s;
      s.comm = comm;
      s.comm_name = text_of(header.find("comm_name"));
      const auto count = [&](const char* name) {
        return static_cast<std::uint32_t>(std::min(number_of(header.find(name)).value_or(0), kRanksMax));
      };
      s.ranks = count("n_ranks");
      s.nodes = count("nnodes");
      s.collective = pair ? Collective::send_recv : collective_of(op);
      s.op = std::move(op);
      out.series.push_back(std::move(s));
    }
    const auto r = static_cast<std::uint32_t>(*rank);
    InspectorSeries& s = out.series[series->second];
    auto found = track_index.find({series->second, r});
    if (found == track_index.end()) {
      if (track_index.size() >= kInspectorTracksMax) return nullptr;
      found = track_index.emplace(std::pair(series->second, r), s.tracks.size()).first;
      s.tracks.push_back({r, metadata != nullptr ? text_of(metadata->find("hostname")) : std::string(), {}});
    }
    return &s.tracks[found->second];
  }

  void record(const Value& v) {
    const Value* header = v.find("header");
    const Value* perf = v.find("coll_perf");
    const bool pair = perf == nullptr;
    if (pair) perf = v.find("p2p_perf");
    if (header == nullptr || perf == nullptr) {
      ++out.not_understood;
      return;
    }
    const Value* metadata = v.find("metadata");
    if (metadata != nullptr && out.version.empty()) out.version = text_of(metadata->find("inspector_output_format_version"), 32);
    const auto field = [&](const char* collective, const char* p2p) { return number_of(perf->find(pair ? p2p : collective)); };
    const auto seq = field("coll_sn", "p2p_sn");
    const auto bytes = field("coll_msg_size_bytes", "p2p_msg_size_bytes");
    const auto time = field("coll_exec_time_us", "p2p_exec_time_us");
    if (!seq || !bytes || !time) {
      ++out.not_understood;
      return;
    }
    ++out.records;
    InspectorSample s{static_cast<std::uint64_t>(*seq), *bytes, *time, field("coll_busbw_gbs", "p2p_busbw_gbs").value_or(0)};
    const auto peer = pair ? number_of(perf->find("p2p_peer")) : std::nullopt;
    if (peer && *peer <= kRanksMax) s.peer = static_cast<std::int32_t>(*peer);
    if (lot(s.seq) % out.one_of != 0) return;
    InspectorTrack* t = track(*header, text_of(perf->find(pair ? "p2p" : "coll"), 48), pair, metadata);
    if (t == nullptr) {
      ++out.left_out;
      return;
    }
    t->samples.push_back(s);
    if (++samples > kInspectorSamplesMax && out.one_of < (std::uint64_t{1} << 40)) keep_fewer();
  }

  void end_line() {
    const std::string_view line = trim(carry);
    if (too_long) {
      ++out.not_understood;
      ++out.damaged;
    } else if (line.starts_with('{')) {
      const auto v = parse_json(line);
      if (v) {
        record(*v);
      } else {
        ++out.not_understood;
        ++out.damaged;
      }
    } else if (!line.empty()) {
      ++out.not_understood;
    }
    carry.clear();
    too_long = false;
  }
};

bool looks_like_nccl_inspector(std::string_view text) {
  const std::string_view head = trim(text.substr(0, 8192));
  return head.starts_with('{') && head.find("\"header\"") != npos &&
         (head.find("\"inspector_output_format_version\"") != npos || head.find("\"coll_perf\"") != npos ||
          head.find("\"p2p_perf\"") != npos);
}

InspectorReader::InspectorReader() : guts_(std::make_unique<Guts>()) {}
InspectorReader::~InspectorReader() = default;

void InspectorReader::feed(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (!guts_->too_long) guts_->carry += text.substr(0, std::min(end, kLineMax + 1 - std::min(kLineMax, guts_->carry.size())));
    guts_->too_long = guts_->carry.size() > kLineMax;
    if (end == npos) return;
    guts_->end_line();
    text.remove_prefix(end + 1);
  }
}

void InspectorReader::end_file() { guts_->end_line(); }

InspectorLog InspectorReader::finish() {
  guts_->end_line();
  InspectorLog out = std::move(guts_->out);
  guts_ = std::make_unique<Guts>();
  for (InspectorSeries& s : out.series) {
    for (InspectorTrack& t : s.tracks) {
      std::stable_sort(t.samples.begin(), t.samples.end(),
                       [](const InspectorSample& x, const InspectorSample& y) { return x.seq < y.seq; });
    }
    std::sort(s.tracks.begin(), s.tracks.end(), [](const InspectorTrack& x, const InspectorTrack& y) { return x.rank < y.rank; });
  }
  std::sort(out.series.begin(), out.series.end(),
            [](const InspectorSeries& x, const InspectorSeries& y) { return std::tie(x.comm, x.op) < std::tie(y.comm, y.op); });
  return out;
}

InspectorLog parse_nccl_inspector(std::string_view text) {
  InspectorReader r;
  r.feed(text);
  return r.finish();
}

}  // namespace muster
