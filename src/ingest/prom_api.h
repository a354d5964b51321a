// Answers of Prometheus' HTTP API (VictoriaMetrics has the same) to a query for raw samples, and what such servers say when they
// refuse. An answer may have hundreds of thousands of series: it is read as it comes, without a tree of it.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ingest/node_names.h"
#include "ingest/prom_text.h"
#include "model/sample.h"

namespace muster {

struct PromPoint {
  std::int64_t ms = 0;  // utc of the sample
  double value = 0;
};

// Valid during the call.
struct PromSeries {
  std::span<const std::pair<std::string_view, std::string_view>> labels;  // __name__ among them
  std::span<const PromPoint> points;                                      // as they stand, oldest first by the API's word

  std::string_view label(std::string_view name) const;  // empty: it has none
};

constexpr std::size_t kPromLabelsMax = 64;    // of one series; one with more is refused
constexpr std::size_t kPromPointsMax = 11'000;  // likewise; as many as Prometheus itself answers with

// Visits each series of a vector or matrix, in the answer's order, and returns how many were refused. An error says what the
// server said, or that this is no such answer; series visited before that were true. `body` needs room behind it: it is padded.
Result<std::size_t> read_prom_answer(std::string& body, const std::function<void(const PromSeries&)>& visit);

// The message in an error of Prometheus or Alertmanager, or the body's first line; at most 300 bytes of it.
std::string error_in_answer(std::string_view body);

// Tells a GPU that is gone from exporters that never say whether their page is whole: one that has shown every GPU, and then
// twice the same without one of them, has lost it. A page without any GPU says nothing about them: that is a driver's or
// exporter's trouble.
class GpuRoll {
 public:
  // Bit masks of the slots a page has, and of all there are. What is visible, where that is known.
  std::optional<std::uint32_t> call(std::uint32_t seen, std::uint32_t all);
  bool whole() const { return whole_; }  // all of them were seen once

 private:
  bool whole_ = false;
  std::uint32_t last_ = 0;
};
// Slots of which the samples have a temperature or a power, as a bit mask.
std::uint32_t gpus_in(std::span<const Sample> samples);

// What the series of one answer say about the nodes of a site, newest sample of each series.
class PromReader {
 public:
  explicit PromReader(const Site& site);  // must outlive this

  // Of one query's answer; `query` numbers it. A sample that is not newer than the last taken of its instance and query is old.
  void take(const PromSeries& series, unsigned query);
  // Samples since the last call, with the times of the samples, not of the query.
  std::vector<Sample> finish();
  // Forgets what was taken since the last call of either: half a picture is none, and the next one has it again.
  void drop();

  struct Counts {
    std::uint64_t series = 0, old = 0, refused = 0, unknown = 0;  // unknown: of no node of the site
  };
  const Counts& counts() const { return counts_; }
  std::string_view some_unknown() const { return some_unknown_; }  // an instance of no node

 private:
  struct Page {
    NodeId node;
    std::int64_t ms = 0;
    std::string text;                       // as an exporter would print it
    std::map<std::string, PromPoint> xids;  // likewise, of the last Xid: a line without its value, and the newest value
  };
  NodeId node_of(const PromSeries& s);
  void forget_the_gone();

  const Site& site_;
  NodeNames names_;
  std::map<std::string, NodeId, std::less<>> instances_;   // learned from labels that name the host
  std::map<std::string, std::int64_t, std::less<>> seen_;  // time of the newest sample handed out
  std::int64_t newest_ms_ = 0;
  std::map<std::string, Page, std::less<>> pages_;  // by query and instance
  std::map<std::string, GpuRoll, std::less<>> rolls_;
  std::map<std::string, GpuPlaces, std::less<>> places_;
  std::map<std::string, Sample, std::less<>> ups_;
  Counts counts_;
  std::string some_unknown_;
};

// The selectors to ask for, together every series that detectors use, in both of DCGM's namings. What belongs together (the
// error counts of NVLink are summed) is in one. `range` is like "60s".
std::vector<std::string> prom_queries(std::string_view range);

}  // namespace muster
