#include "ingest/nccl_topology.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "ingest/nccl_words.h"
#include "ingest/xml.h"

namespace muster {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::size_t kNameMax = 64;

std::string kept(std::string_view s) { return printable(s.substr(0, kNameMax)); }

double number_of(const XmlAttributes& a, std::string_view name, double most) {
  const auto d = leading_double(trim(attribute(a, name)));
  return d ? std::clamp(*d, 0.0, most) : 0;
}

std::uint32_t count_of(const XmlAttributes& a, std::string_view name) {
  return static_cast<std::uint32_t>(leading_uint(attribute(a, name), 1'000'000).value_or(0));
}

struct Builder {
  NcclTopology out;
  struct Link {
    std::string bus;
    std::uint32_t lanes = 0;
    double gt_s = 0;
  };
  std::vector<Link> open;  // pci elements around the current one

  TopologyPart part(std::string name, std::uint32_t line) const {
    TopologyPart p;
    p.name = std::move(name);
    p.line = line;
    for (std::size_t i = 0; i + 1 < open.size(); ++i) p.switches.push_back(open[i].bus);
    if (!open.empty()) {
      p.lanes = open.back().lanes;
      p.gt_s = open.back().gt_s;
    }
    return p;
  }

  void begin(std::string_view name, const XmlAttributes& a, std::uint64_t line64) {
    const auto line = static_cast<std::uint32_t>(std::min<std::uint64_t>(line64, UINT32_MAX));
    if (name == "cpu") {
      out.numa_unknown = out.numa_unknown || attribute(a, "numaid") == "-1";
    } else if (name == "pci") {
      open.push_back({kept(attribute(a, "busid")), count_of(a, "link_width"), number_of(a, "link_speed", 1024)});
    } else if (name == "gpu" && out.gpus.size() < kTopologyPartsMax) {
      out.gpus.push_back(part("GPU " + kept(attribute(a, "dev")), line));
      out.gpus.back().gdr = attribute(a, "gdr") == "1";
    } else if (name == "net" && out.cards.size() < kTopologyPartsMax) {
      out.cards.push_back(part(kept(attribute(a, "name")), line));
      out.cards.back().gb_s = number_of(a, "speed", 1e8) / 8000;  // Mb/s
      out.cards.back().gdr = attribute(a, "gdr") != "0";          // files of a provider do not tell
    }
  }
};

Error named(const Error& e, std::string_view file) { return {e.code, fmt::format("{}: {}", kept(file), e.what), e.next}; }

}  // namespace

bool looks_like_nccl_topology(std::string_view text) {
  text = text.substr(0, 4096);
  return text.find("<system ") != npos && text.find("<cpu ") != npos;
}

Result<NcclTopology> parse_nccl_topology(std::string_view text, std::string_view file) {
  Builder b;
  b.out.file = kept(file);
  XmlEvents events;
  events.begin = [&](std::string_view name, const XmlAttributes& a, std::uint64_t line) { b.begin(name, a, line); };
  events.close = [&](std::string_view name, std::string_view) {
    if (name == "pci" && !b.open.empty()) b.open.pop_back();
  };
  if (const auto ok = read_xml(text, events); !ok) return tl::unexpected(named(ok.error(), file));
  if (b.out.gpus.empty() && b.out.cards.empty())
    return fail(Code::bad_input, fmt::format("{}: no GPU and no network card in it", kept(file)),
                "what NCCL_TOPO_DUMP_FILE names, written by the job's first start");
  return std::move(b.out);
}

bool looks_like_nccl_graph(std::string_view text) { return text.substr(0, 4096).find("<graphs ") != npos; }

Result<std::vector<NcclGraph>> parse_nccl_graph(std::string_view text, std::string_view file) {
  std::vector<NcclGraph> out;
  XmlEvents events;
  events.begin = [&](std::string_view name, const XmlAttributes& a, std::uint64_t line) {
    if (name != "graph" || out.size() >= kGraphsMax) return;
    NcclGraph g;
    g.file = kept(file);
    g.line = static_cast<std::uint32_t>(std::min<std::uint64_t>(line, UINT32_MAX));
    g.id = static_cast<int>(count_of(a, "id"));
    g.pattern = static_cast<int>(count_of(a, "pattern"));
    g.channels = count_of(a, "nchannels");
    g.gb_s_intra = number_of(a, "speedintra", 1e6);
    g.gb_s_inter = number_of(a, "speedinter", 1e6);
    g.type_intra = kept(attribute(a, "typeintra"));
    g.type_inter = kept(attribute(a, "typeinter"));
    out.push_back(std::move(g));
  };
  if (const auto ok = read_xml(text, events); !ok) return tl::unexpected(named(ok.error(), file));
  return out;
}

namespace {

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (std::size_t at = line.find_first_not_of(" \t\r"); at != npos && out.size() < kMatrixMax;) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    out.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(" \t\r", end);
  }
  return out;
}

bool gpu_name(std::string_view s) { return s.starts_with("GPU") && parse_uint(s.substr(3)).has_value(); }
bool card_name(std::string_view s) {
  return (s.starts_with("NIC") && parse_uint(s.substr(3)).has_value()) || s.starts_with("mlx") || s.starts_with("bnxt");
}

}  // namespace

bool looks_like_gpu_matrix(std::string_view text) {
  text = text.substr(0, 1 << 16);
  const std::size_t row = text.find("GPU0");
  if (row == npos) return false;
  const std::string_view line = text.substr(row, text.find('\n', row) - row);
  return (line.find("CPU Affinity") != npos || line.find("GPU1") != npos) && text.find(" X ") != npos;
}

Result<GpuMatrix> parse_gpu_matrix(std::string_view text, std::string_view file) {
  GpuMatrix out;
  out.file = kept(file);
  std::vector<std::string> columns;
  std::uint32_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string clean = without_escapes(text.substr(0, std::min<std::size_t>(end, 65536)));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    const auto cells = cells_of(clean);
    if (columns.empty()) {
      if (cells.empty() || cells[0] != "GPU0" || (cells.size() > 1 && cells[1] == "X")) continue;
      out.line = number;
      for (const std::string_view c : cells) {
        if (!gpu_name(c) && !card_name(c)) break;
        columns.push_back(kept(c));
      }
      for (const std::string& c : columns) (gpu_name(c) ? out.gpus : out.cards).push_back(c);
      continue;
    }
    if (cells.empty() || !gpu_name(cells[0]) || out.to_gpus.size() >= out.gpus.size()) continue;
    std::vector<std::string> gpus, cards;
    for (std::size_t i = 0; i < columns.size(); ++i)
      (gpu_name(columns[i]) ? gpus : cards).push_back(i + 1 < cells.size() ? kept(cells[i + 1]) : "");
    out.to_gpus.push_back(std::move(gpus));
    out.to_cards.push_back(std::move(cards));
  }
  if (out.to_gpus.empty())
    return fail(Code::bad_input, fmt::format("{}: a matrix without rows", kept(file)), "what nvidia-smi topo -m prints");
  return out;
}

}  // namespace muster
