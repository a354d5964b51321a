#include "ingest/amd_smi.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>

#include "base/text.h"
#include "ingest/json.h"

namespace muster {
namespace {

std::string kept(std::string_view s) { return printable(s.substr(0, kAmdTextMax)); }

// The member at the end of a path, whatever case its names are in: ROCm 6 and 7 differ in it.
const Value* at(const Value& from, std::initializer_list<std::string_view> path) {
  const Value* v = &from;
  for (const std::string_view key : path) {
    const auto* o = v->object();
    if (o == nullptr) return nullptr;
    const auto same = [&](const Value::Member& m) {
      return std::equal(m.key.begin(), m.key.end(), key.begin(), key.end(),
                        [](char a, char b) { return a == b || (a >= 'A' && a <= 'Z' && a + ('a' - 'A') == b); });
    };
    const auto it = std::find_if(o->begin(), o->end(), same);
    if (it == o->end()) return nullptr;
    v = &it->value;
  }
  return v;
}

bool absent(const Value* v) {
  if (v == nullptr || v->is_null()) return true;
  const auto* s = v->string();
  return s != nullptr && (s->empty() || *s == "N/A" || *s == "n/a");
}

class Reader {
 public:
  explicit Reader(AmdSmi& out) : out_(out) {}

  void gpu(const Value& v) {
    if (out_.gpus.size() == kAmdGpusMax) {
      ++out_.left_out;
      return;
    }
    const Value* index = at(v, {"gpu"});
    if (index == nullptr || index->integer() == nullptr || *index->integer() < 0) {
      ++out_.not_understood;
      return;
    }
    AmdGpu& g = out_.gpus.emplace_back();
    g.gpu = *index->integer();
    words(g, v);
    heat(g, v);
    errors(g, v);
    number(g.memory_used_mb, at(v, {"mem_usage", "used_vram"}));
    number(g.memory_total_mb, at(v, {"mem_usage", "total_vram"}));
    pages(g.pages_retired, at(v, {"retired"}));
    pages(g.pages_pending, at(v, {"pending"}));
    pages(g.pages_unreservable, at(v, {"un_res"}));
  }

 private:
  void words(AmdGpu& g, const Value& v) {
    text(g.name, at(v, {"asic", "market_name"}));
    text(g.serial, at(v, {"asic", "asic_serial"}));
    text(g.bdf, at(v, {"bus", "bdf"}));
    text(g.vbios, at(v, {"vbios", "version"}));
    text(g.driver, at(v, {"driver", "version"}));
  }
  void heat(AmdGpu& g, const Value& v) {
    number(g.edge_c, at(v, {"temperature", "edge"}));
    number(g.hotspot_c, at(v, {"temperature", "hotspot"}));
    number(g.memory_c, at(v, {"temperature", "mem"}));
    number(g.slowdown_hotspot_c, at(v, {"limit", "slowdown_hotspot_temperature"}));
    number(g.shutdown_hotspot_c, at(v, {"limit", "shutdown_hotspot_temperature"}));
    number(g.power_w, at(v, {"power", "socket_power"}));
    if (!g.power_w) number(g.power_w, at(v, {"power", "average_socket_power"}));
    number(g.power_limit_w, at(v, {"limit", "max_power"}));
    number(g.gfx_pct, at(v, {"usage", "gfx_activity"}));
    number(g.gfx_mhz, at(v, {"clock", "gfx_0", "clk"}));
  }
  void errors(AmdGpu& g, const Value& v) {
    number(g.corrected, at(v, {"ecc", "total_correctable_count"}));
    number(g.uncorrected, at(v, {"ecc", "total_uncorrectable_count"}));
    number(g.deferred, at(v, {"ecc", "total_deferred_count"}));
    number(g.pcie_width, at(v, {"pcie", "width"}));
    number(g.pcie_gts, at(v, {"pcie", "speed"}));
    number(g.pcie_replays, at(v, {"pcie", "replay_count"}));
    number(g.pcie_recoveries, at(v, {"pcie", "l0_to_recovery_count"}));
    number(g.pcie_width_max, at(v, {"bus", "max_pcie_width"}));
    number(g.pcie_gts_max, at(v, {"bus", "max_pcie_speed"}));
  }

  void text(std::string& into, const Value* v) {
    if (absent(v)) return;
    if (const auto* s = v->string()) {
      into = kept(*s);
    } else {
      ++out_.not_understood;
    }
  }
  // 41, "41", "41 W" or {"value": 41, "unit": "W"}
  void number(std::optional<double>& into, const Value* v) {
    if (absent(v)) return;
    if (v->object() != nullptr) {
      v = v->find("value");
      if (absent(v)) return;
    }
    double d = 0;
    if (const auto* s = v->string()) {
      const auto r = std::from_chars(s->data(), s->data() + s->size(), d);
      if (r.ec != std::errc() || (r.ptr != s->data() + s->size() && *r.ptr != ' ')) return void(++out_.not_understood);
    } else if (!v->number(d)) {
      return void(++out_.not_understood);
    }
    if (!std::isfinite(d)) return void(++out_.not_understood);
    into = d;
  }
  // A list of pages, or words that there is none.
  void pages(std::optional<double>& into, const Value* v) {
    if (absent(v)) return;
    if (const auto* a = v->array()) {
      into = static_cast<double>(a->size());
    } else if (const auto* s = v->string(); s != nullptr && s->rfind("No bad pages", 0) == 0) {
      into = 0;
    } else {
      ++out_.not_understood;
    }
  }

  AmdSmi& out_;
};

}  // namespace

Result<AmdSmi> parse_amd_smi(std::string_view text) {
  if (text.size() > kAmdBytesMax) return fail(Code::bad_input, "byte 0: longer than 16 MiB");
  const auto json = parse_json(text, 16);
  if (!json) return tl::unexpected(json.error());
  const Value* list = json->object() != nullptr ? json->find("gpu_data") : &*json;
  if (list == nullptr || list->array() == nullptr) {
    return fail(Code::bad_input, "byte 0: no list of GPUs", "it should be the output of `amd-smi metric --json` or the like");
  }
  AmdSmi out;
  Reader reader(out);
  for (const Value& v : *list->array()) reader.gpu(v);
  return out;
}

}  // namespace muster
