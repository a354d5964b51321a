// The files that plugins read, from what was tuned.
#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "diagnose/nccl_sizes.h"
#include "model/fields.h"
#include "report/tune.h"

namespace muster::report {
namespace {

using design::Tuned;
using design::TunedSize;
using diagnose::size_words;

TunerChoice choice_of(const NcclWay& way) {
  if (way.own) return {};
  return {static_cast<int>(way.algorithm), static_cast<int>(way.protocol), static_cast<std::uint16_t>(way.channels), 0};
}

// Sizes that were not measured often enough tell nothing, so that nothing is laid between their neighbours either.
std::vector<TunerKnot> knots_of(const Tuned& t, const design::TuneRules& rules) {
  std::vector<TunerKnot> out;
  for (std::size_t i = 0; i < t.sizes.size(); ++i) {
    const TunedSize& s = t.sizes[i];
    TunerKnot k;
    k.bytes = static_cast<std::uint64_t>(s.bytes);
    if (!out.empty() && k.bytes <= out.back().bytes) continue;  // parts of a byte: there is nothing between the two
    k.choice = choice_of(s.choice);
    k.default_us = s.own_us;
    k.chosen_us = s.choice_us;
    if (i > 0) k.previous_us = s.us(t.sizes[i - 1].choice);
    if (i + 1 < t.sizes.size()) k.next_us = s.us(t.sizes[i + 1].choice);
    k.gain = s.choice.own ? 0 : s.held(rules).gain;
    k.noise = s.choice.own ? 0 : s.held(rules).noise;
    out.push_back(k);
  }
  return out;
}

std::string choice_words(const TunerChoice& c) {
  if (c.own()) return "NCCL's own";
  const std::string out = fmt::format("{}/{}", tuner_algorithm_name(c.algorithm), tuner_protocol_name(c.protocol));
  return c.channels == 0 ? out : fmt::format("{} x{}", out, c.channels);
}

// Of a choice that is not NCCL's own; in CSV nothing stands for none.
Cell permille_cell(const TunerChoice& choice, std::uint16_t permille) {
  Cell out(choice.own() ? "-" : fmt::format("{:.1f}", permille / 10.0));
  if (choice.own()) out.raw = "";
  return out;
}

void put_choice(JsonWriter& w, const TunerChoice& c) {
  if (c.own()) {
    w.null();
    return;
  }
  w.object().field("algorithm", name_of(static_cast<NcclAlgorithm>(c.algorithm)));
  w.field("protocol", name_of(static_cast<NcclProtocol>(c.protocol))).field("channels", unsigned{c.channels});
  w.field("chunk_bytes", c.chunk_bytes).end_object();
}

// As muster tune's own JSON and sweeps call it, rather than the plugin's word.
std::string_view collective_name(int number) {
  for (const std::string_view name : names(Collective{})) {
    if (tuner_collective(name) == number) return name;
  }
  return "?";
}

}  // namespace

TunerTable tuner_table(std::span<const Tuned> tuned, const design::TuneRules& rules, std::uint32_t nccl_version) {
  TunerTable out;
  out.margin_permille = static_cast<std::uint16_t>(std::clamp(rules.margin * 1000 + 0.5, 0.0, 1000.0));
  out.nccl_version = nccl_version;
  for (const Tuned& t : tuned) {
    const auto collective = tuner_collective(name_of(t.key.op));
    if (!collective) continue;
    TunerEntry e;
    e.key = {*collective, t.key.registered, t.key.nodes, t.key.ranks_per_node, t.key.nvlink_domain};
    e.spans = tuner_spans(knots_of(t, rules));
    // Shapes with nothing to say are entries too: ranks between two measured numbers need both.
    if (!e.spans.empty()) out.entries.push_back(std::move(e));
  }
  return out;
}

Table tuner_entries(const TunerTable& table) {
  Table out;
  out.columns = {{"COLLECTIVE"}, {"NODES", true}, {"RANKS_PER_NODE", true}, {"NVLINK", true},   {"REGISTERED"},
                 {"FROM", true}, {"CHOICE"},      {"GAIN_PCT", true},       {"NOISE_PCT", true}};
  for (const TunerEntry& e : table.entries) {
    for (const TunerSpan& s : e.spans) {
      Cell from(size_words(static_cast<double>(s.from_bytes)));
      from.raw = fmt::format("{}", s.from_bytes);
      from.key = static_cast<double>(s.from_bytes);
      out.rows.push_back({Cell(std::string(tuner_collective_name(e.key.collective))), Cell(fmt::format("{}", e.key.nodes)),
                          Cell(fmt::format("{}", e.key.ranks_per_node)), Cell(fmt::format("{}", e.key.nvlink_domain)),
                          Cell(e.key.registered ? "yes" : "no"), std::move(from),
                          Cell(choice_words(s.choice), s.choice.own() ? Tone::dim : Tone::plain),
                          permille_cell(s.choice, s.gain_permille), permille_cell(s.choice, s.noise_permille)});
    }
  }
  return out;
}

std::string tuner_json(const TunerTable& table, std::string_view hash) {
  JsonWriter w;
  w.object().field("hash", hash).field("margin", table.margin_permille / 1000.0).field("nccl_version", table.nccl_version);
  w.key("shapes").array();
  for (const TunerEntry& e : table.entries) {
    w.object().field("collective", collective_name(e.key.collective)).field("nodes", e.key.nodes);
    w.field("ranks_per_node", e.key.ranks_per_node).field("nvlink_domain", e.key.nvlink_domain);
    w.field("registered", e.key.registered).key("spans").array();
    for (const TunerSpan& s : e.spans) {
      w.object().field("from_bytes", s.from_bytes).key("choice");
      put_choice(w, s.choice);
      w.field("gain", s.gain_permille / 1000.0).field("noise", s.noise_permille / 1000.0);
      w.field("own_us", s.default_ns / 1000.0).field("choice_us", s.chosen_ns / 1000.0).end_object();
    }
    w.end_array().end_object();
  }
  w.end_array().end_object();
  return w.take() + "\n";
}

std::string tuner_csv(const TunerTable& table) {
  std::string out = "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff\n";
  for (const TunerEntry& e : table.entries) {
    for (std::size_t i = 0; i < e.spans.size(); ++i) {
      const TunerSpan& s = e.spans[i];
      if (s.choice.own()) continue;
      std::size_t last = i;
      while (last + 1 < e.spans.size() && e.spans[last + 1].choice == s.choice) ++last;
      const std::uint64_t to = last + 1 < e.spans.size() ? e.spans[last + 1].from_bytes - 1 : UINT64_MAX;
      out += fmt::format("{},{},{},{},{},{},{},{},-1,{}\n", tuner_collective_name(e.key.collective), s.from_bytes, to,
                         name_of(static_cast<NcclAlgorithm>(s.choice.algorithm)),
                         name_of(static_cast<NcclProtocol>(s.choice.protocol)),
                         s.choice.channels == 0 ? -1 : static_cast<int>(s.choice.channels), e.key.nodes,
                         e.key.nodes * e.key.ranks_per_node, e.key.registered ? 1 : 0);
      i = last;
    }
  }
  return out;
}

}  // namespace muster::report
