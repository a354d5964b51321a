#include "ingest/prom_api.h"

#include <fmt/core.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "ingest/json.h"
#include "ingest/prom_series.h"
#include "ingest/prom_text.h"

namespace muster {
namespace {

namespace od = simdjson::ondemand;
constexpr std::size_t kSayMax = 300;
constexpr double kTimeMax_s = 9e9;  // nanoseconds of later times do not fit
constexpr std::string_view kUsed[] = {"gpu",
                                      "device",
                                      "pci_bus_id",
                                      "Hostname",
                                      "hostname",
                                      "name",
                                      "bus",
                                      "segment",
                                      "probe",
                                      "firmware_version",
                                      "DCGM_FI_DRIVER_VERSION",
                                      "GPU_I_ID",
                                      "xid",
                                      "gpu_uuid"};

double read_value(std::string_view s) {
  double v = NAN;
  if (s == "+Inf" || s == "Inf") return INFINITY;
  if (s == "-Inf") return -INFINITY;
  const auto r = std::from_chars(s.data(), s.data() + s.size(), v);
  return r.ec == std::errc() && r.ptr == s.data() + s.size() ? v : NAN;
}

// [1763000000.123, "41"]
bool read_point(od::value v, PromPoint& out) {
  od::array pair;
  if (v.get_array().get(pair) != simdjson::SUCCESS) return false;
  int n = 0;
  for (auto item : pair) {
    od::value x;
    if (item.get(x) != simdjson::SUCCESS) return false;
    double t = 0;
    std::string_view text;
    if (n == 0) {
      if (x.get_double().get(t) != simdjson::SUCCESS || !(t > -kTimeMax_s && t < kTimeMax_s)) return false;
      out.ms = static_cast<std::int64_t>(std::llround(t * 1000));
    } else if (n == 1) {
      if (x.get_string().get(text) != simdjson::SUCCESS) return false;
      out.value = read_value(text);
    }
    ++n;
  }
  return n == 2;
}

class Answer {
 public:
  explicit Answer(const std::function<void(const PromSeries&)>& visit) : visit_(visit) {}
  std::size_t refused = 0;
  std::string status, error;
  bool has_result = false;

  bool document(od::object root) {
    for (auto field : root) {
      std::string_view key, text;
      od::value v;
      if (field.unescaped_key().get(key) != simdjson::SUCCESS || field.value().get(v) != simdjson::SUCCESS) return false;
      if (key == "status" || key == "error") {
        if (v.get_string().get(text) != simdjson::SUCCESS) return false;
        (key == "status" ? status : error) = text.substr(0, kSayMax);
      } else if (key == "data" && !data(v)) {
        return false;
      }
    }
    return true;
  }

 private:
  bool data(od::value v) {
    od::json_type type;
    if (v.type().get(type) != simdjson::SUCCESS) return false;
    if (type != od::json_type::object) return true;  // of another query than ours, or of an error
    od::object o;
    if (v.get_object().get(o) != simdjson::SUCCESS) return false;
    for (auto field : o) {
      std::string_view key;
      od::value x;
      if (field.unescaped_key().get(key) != simdjson::SUCCESS || field.value().get(x) != simdjson::SUCCESS) return false;
      if (key != "result") continue;
      od::array all;
      if (x.get_array().get(all) != simdjson::SUCCESS) return false;
      has_result = true;
      for (auto item : all) {
        od::object s;
        if (item.get_object().get(s) != simdjson::SUCCESS || !series(s)) return false;
      }
    }
    return true;
  }

  bool series(od::object s) {
    labels_.clear();
    points_.clear();
    bool good = true;
    for (auto field : s) {
      std::string_view key;
      od::value v;
      if (field.unescaped_key().get(key) != simdjson::SUCCESS || field.value().get(v) != simdjson::SUCCESS) return false;
      if (key == "metric") {
        if (!read_labels(v, good)) return false;
      } else if (key == "value") {
        points_.emplace_back();
        if (!read_point(v, points_.back())) return false;
      } else if (key == "values") {
        od::array all;
        if (v.get_array().get(all) != simdjson::SUCCESS) return false;
        for (auto item : all) {
          od::value p;
          PromPoint point;
          if (item.get(p) != simdjson::SUCCESS || !read_point(p, point)) return false;
          if (points_.size() < kPromPointsMax) {
            points_.push_back(point);
          } else {
            good = false;
          }
        }
      }
    }
    if (good && !points_.empty()) {
      visit_({labels_, points_});
    } else {
      ++refused;
    }
    return true;
  }

  bool read_labels(od::value v, bool& good) {
    od::object o;
    if (v.get_object().get(o) != simdjson::SUCCESS) return false;
    for (auto field : o) {
      std::string_view key, text;
      if (field.unescaped_key().get(key) != simdjson::SUCCESS || field.value().get_string().get(text) != simdjson::SUCCESS)
        return false;
      if (labels_.size() >= kPromLabelsMax || text.size() > kScrapeLineMax) {
        good = false;
      } else {
        labels_.emplace_back(key, text);
      }
    }
    return true;
  }

  const std::function<void(const PromSeries&)>& visit_;
  std::vector<std::pair<std::string_view, std::string_view>> labels_;
  std::vector<PromPoint> points_;
};

}  // namespace

std::string_view PromSeries::label(std::string_view name) const {
  for (const auto& [n, v] : labels) {
    if (n == name) return v;
  }
  return {};
}

Result<std::size_t> read_prom_answer(std::string& body, const std::function<void(const PromSeries&)>& visit) {
  const auto nonsense = [&] {
    return fail(Code::bad_input, fmt::format("not an answer of Prometheus' API: \"{}\"", printable(body.substr(0, 60))),
                "give the address that Prometheus' own page has, e.g. --prometheus http://head:9090");
  };
  const std::size_t size = body.size();
  // What is not asked for is skipped without a look at its bytes.
  if (!valid_utf8(body)) return nonsense();
  body.resize(size + simdjson::SIMDJSON_PADDING);
  od::parser parser;
  od::document doc;
  od::object root;
  Answer answer(visit);
  bool read = parser.iterate(body.data(), size, body.size()).get(doc) == simdjson::SUCCESS &&
              doc.get_object().get(root) == simdjson::SUCCESS && answer.document(root);
  const char* behind = nullptr;  // out of bounds is where the iterator belongs now
  read = read && doc.current_location().get(behind) != simdjson::SUCCESS;
  body.resize(size);
  if (!read || answer.status.empty()) return nonsense();
  if (answer.status != "success") return fail(Code::bad_input, fmt::format("it says: {}", printable(answer.error)));
  if (!answer.has_result) return nonsense();
  return answer.refused;
}

std::string error_in_answer(std::string_view body) {
  if (body.size() < (1 << 20)) {
    if (const auto v = parse_json(body, 8)) {
      for (const char* name : {"error", "message"}) {
        if (const Value* x = v->find(name); x != nullptr && x->string() != nullptr)
          return to_valid_utf8(x->string()->substr(0, kSayMax));
      }
    }
  }
  const std::string_view first = trim(body.substr(0, std::min(body.find('\n'), kSayMax)));
  return to_valid_utf8(first);
}

PromReader::PromReader(const Site& site) : site_(site), names_(site) {}

NodeId PromReader::node_of(const PromSeries& s) {
  const std::string_view instance = s.label("instance");
  for (const char* name : {"node", "Hostname", "hostname", "kubernetes_node", "instance"}) {
    const std::string_view value = s.label(name);
    if (value.empty()) continue;
    if (const NodeId n = names_.find(value); n.some()) {
      if (instances_.size() >= site_.nodes.size() * 8 + 1024) instances_.clear();  // learned again from the next series
      if (!instance.empty()) instances_[std::string(instance)] = n;
      return n;
    }
  }
  const auto it = instances_.find(instance);
  return it == instances_.end() ? NodeId{} : it->second;
}

void PromReader::take(const PromSeries& s, unsigned query) {
  ++counts_.series;
  const auto newest =
      std::max_element(s.points.begin(), s.points.end(), [](const auto& a, const auto& b) { return a.ms < b.ms; });
  const NodeId node = node_of(s);
  if (!node.some()) {
    ++counts_.unknown;
    if (some_unknown_.empty()) some_unknown_ = printable(s.label("instance").substr(0, 80));
    return;
  }
  const std::string_view name = s.label("__name__");
  const Series* known = find_series(name);
  if (newest == s.points.end() || (name != "up" && known == nullptr)) {
    ++counts_.refused;
    return;
  }
  std::string key = name == "up" ? "up" : std::string(1, static_cast<char>('0' + query));
  key.append("\t").append(s.label("job")).append("\t").append(s.label("instance"));
  key.append("\t").append(std::to_string(node.v));
  const auto seen = seen_.find(key);
  if (seen != seen_.end() && newest->ms <= seen->second) {
    ++counts_.old;
    return;
  }
  if (name == "up") {
    const Time at{newest->ms * 1'000'000};
    const auto [up, first] = ups_.try_emplace(key);
    if (first || at >= up->second.at) up->second = {at, node, -1, Field::up, newest->value > 0 ? 1.0 : 0.0};
    return;
  }
  Page& page = pages_[key];
  page.node = node;
  page.ms = std::max(page.ms, newest->ms);
  const bool xid = known->field == Field::xid_last;
  std::string line(name);
  line += '{';
  for (const auto& [label, value] : s.labels) {
    // The lines of links name their GPU by its UUID: one series that every GPU has brings it, not all of them.
    const bool used = std::find(std::begin(kUsed), std::end(kUsed), label) != std::end(kUsed) || (xid && label == "UUID");
    if (!used || value.find_first_of("\"\\\n\r") != std::string_view::npos) continue;
    line.append(label).append("=\"").append(value).append("\",");
  }
  line.append("} ");
  if (!xid) {
    page.text.append(line).append(render_number(newest->value)).append("\n");
    return;
  }
  // dcgm-exporter has the code in a label as well (err_code), so that each code is a series of its own and the one before it is
  // still in range: the GPU's newest counts.
  PromPoint& last = page.xids[line];
  if (newest->ms >= last.ms) last = *newest;
}

std::vector<Sample> PromReader::finish() {
  std::vector<Sample> out;
  for (auto& [key, up] : ups_) {
    seen_[key] = up.at.ms();
    out.push_back(up);
  }
  for (auto& [key, page] : pages_) {
    seen_[key] = page.ms;
    newest_ms_ = std::max(newest_ms_, page.ms);
    const std::size_t first = out.size();
    const Time at{page.ms * 1'000'000};
    std::string text;
    for (const auto& [line, point] : page.xids) text.append(line).append(render_number(point.value)).append("\n");
    page.text.insert(0, text);
    counts_.refused += parse_scrape(page.text, page.node, at, site_, out, &places_[key]);
    const std::uint32_t seen = gpus_in(std::span(out).subspan(first));
    if (seen == 0) continue;
    if (const auto visible = rolls_[key].call(seen, (1U << site_.gpus_per_node) - 1)) {
      out.push_back({at, page.node, -1, Field::gpus_visible, static_cast<double>(*visible)});
    }
  }
  drop();
  forget_the_gone();
  return out;
}

void PromReader::drop() {
  ups_.clear();
  pages_.clear();
}

// Instances come and go (a pod has a new address each time); those not heard for an hour are not kept for ever.
void PromReader::forget_the_gone() {
  constexpr std::int64_t kHourMs = 3'600'000;
  const std::size_t most = site_.nodes.size() * 16 + 1024;
  if (seen_.size() < most) return;
  std::erase_if(seen_, [&](const auto& k) { return k.second < newest_ms_ - kHourMs; });
  if (seen_.size() > 4 * most) seen_.clear();  // no cluster has so many: better to take some samples twice than to grow
  std::erase_if(rolls_, [&](const auto& k) { return seen_.count(k.first) == 0; });
}

std::vector<std::string> prom_queries(std::string_view range) {
  std::vector<std::string> names(3);
  for (const Series& s : kSeries) {
    const bool dcgm = s.name.substr(0, 5) == "DCGM_";
    const bool counts = s.field == Field::nvlink_errors_total || s.field == Field::pcie_replay_total ||
                        s.field == Field::pcie_width || s.field == Field::clock_reasons || s.field == Field::pcie_gen ||
                        s.field == Field::sram_exceeded || s.field == Field::recovery_action ||
                        s.field == Field::nvlink_failures_total || s.field == Field::pcie_corrected_total ||
                        s.field == Field::xid_last || s.field == Field::xid_count;
    std::string& list = names[!dcgm ? 2 : counts ? 1 : 0];
    list += (list.empty() ? "" : "|") + std::string(s.name);
  }
  names[2] += "|up";
  for (std::string& n : names) n = fmt::format("{{__name__=~\"{}\"}}[{}]", n, range);
  return names;
}

std::optional<std::uint32_t> GpuRoll::call(std::uint32_t seen, std::uint32_t all) {
  const bool twice = seen == last_;
  last_ = seen;
  if (seen == all) whole_ = true;
  if (seen == all || (whole_ && seen != 0 && twice)) return seen;
  return std::nullopt;
}

std::uint32_t gpus_in(std::span<const Sample> samples) {
  std::uint32_t mask = 0;
  for (const Sample& s : samples) {
    if (s.slot >= 0 && s.slot < 32 && (s.field == Field::gpu_temp_c || s.field == Field::power_w)) mask |= 1U << s.slot;
  }
  return mask;
}

}  // namespace muster
