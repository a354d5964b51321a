#include "report/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json_writer.h"
#include "base/math.h"
#include "base/text.h"
#include "diagnose/nccl_sizes.h"
#include "model/fields.h"
#include "predict/collectives.h"
#include "predict/nccl_cost.h"

namespace muster::report {
namespace {

using design::Tuned;
using design::TunedSize;
using design::TuneRules;
using design::TuneVerdict;
using diagnose::size_words;

std::string percent(double share) {
  const std::string out = fmt::format("{:.1f}", 100 * share);
  return out == "-0.0" ? "0.0" : out;
}
// Times that one half names and the other takes can differ by less than nothing, which is noise: for people it is none.
double regret_of(double times) { return std::max(0.0, times - 1); }

Cell number_cell(double value, const std::string& text) {
  Cell c(text);
  c.raw = render_number(value);
  c.key = value;
  return c;
}
// For programs nothing stands where there is no number.
Cell no_cell(const std::string& text = "-") {
  Cell c(text);
  c.raw = "";
  return c;
}
Cell percent_cell(double share) { return number_cell(100 * share, percent(share)); }
Cell us_cell(double us) { return us > 0 ? number_cell(us, fmt::format("{:.1f}", us)) : no_cell(); }
Cell bytes_cell(double bytes) { return number_cell(bytes, size_words(bytes)); }

// One shape's rows are under its own line for people; in CSV all shapes are in one table.
const std::vector<Column> kShapeColumns = {{"COLLECTIVE", false, true},
                                           {"NODES", true, true},
                                           {"RANKS_PER_NODE", true, true},
                                           {"NVLINK_DOMAIN", true, true},
                                           {"REGISTERED", true, true}};
std::vector<Cell> shape_cells(const TuneKey& key) {
  return {Cell(std::string(name_of(key.op))), Cell(fmt::format("{}", key.nodes)), Cell(fmt::format("{}", key.ranks_per_node)),
          Cell(fmt::format("{}", key.nvlink_domain)), Cell(key.registered ? "1" : "0")};
}
template <class T>
std::vector<T> behind(std::vector<T> first, std::vector<T> more) {
  first.insert(first.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return first;
}

// What NCCL took at a size: as it said, or as it would have reckoned.
struct Own {
  bool known = false, reckoned = false;
  NcclWay way;
};
Own own_of(const TuneView& view, const TuneKey& key, double bytes) {
  for (const TunePick& p : view.picks) {
    if (p.key == key && p.bytes == bytes) return {true, false, p.way};
  }
  const auto b = predict::nccl_takes(view.beliefs, key.op, {key.nodes, key.ranks(), 1}, bytes);
  if (!b) return {};
  return {true, true, {false, b->algorithm, b->protocol, 0, 0}};
}

// A way that was given up early may look fast: said, since it is in the times, but nothing is made of it.
std::string hasty_words(const TunedSize& s, const TuneRules& rules) {
  const bool hasty = !s.ways.empty() && s.ways[0].us < s.best_us && !rules.enough(s.ways[0].launches);
  if (!hasty) return {};
  return fmt::format("; {} was, in too few launches ({})", way_words(s.ways[0].way), s.ways[0].launches);
}

std::string why_own(const TunedSize& s, const TuneRules& rules) {
  if (!s.best.own)
    return fmt::format("{} was faster by {} %: less than a switch of ways must gain", way_words(s.best),
                       percent(s.own_us / s.best_us - 1));
  const std::string hasty = hasty_words(s, rules);
  return hasty.empty() ? "nothing was faster" : fmt::format("nothing with {} launches was faster{}", rules.repeats, hasty);
}

std::string why(const TunedSize& s, const Tuned& t, const TuneRules& rules) {
  switch (s.verdict) {
    case TuneVerdict::no_choice: return fmt::format("NCCL has one way to do {}: there is nothing to choose", name_of(t.key.op));
    case TuneVerdict::too_few:
      return s.own_us <= 0 ? "NCCL's own choice was not measured"
                           : fmt::format("too few launches: fewer than {} of NCCL's own and of another way", rules.repeats);
    case TuneVerdict::own_is_best: return why_own(s, rules);
    case TuneVerdict::within_noise:
      return fmt::format("{} gains {} %, which is within the noise of {} % or below the margin of {} %", way_words(s.proposed),
                         percent(s.here.gain), percent(s.here.noise), percent(rules.margin));
    case TuneVerdict::overridden:
      return fmt::format("gains {} %, at least {} %, on launches that had no part in choosing", percent(s.here.gain),
                         percent(s.here.low));
    case TuneVerdict::carried:
      return fmt::format("with its neighbours gains {} %, at least {} %; by itself {} %, and no loss beyond {} %",
                         percent(s.neighbours.gain), percent(s.neighbours.low), percent(s.here.gain), percent(rules.margin));
  }
  return {};
}

void put_way(JsonWriter& w, const NcclWay& way) {
  if (way.own) {
    w.null();
    return;
  }
  w.object().field("algorithm", name_of(way.algorithm)).field("protocol", name_of(way.protocol));
  w.field("channels", way.channels).end_object();
}

void put_size(JsonWriter& w, const TuneView& view, const Tuned& t, const TunedSize& s) {
  w.object().field("bytes", s.bytes).field("own_us", s.own_us).field("launches", s.repeats);
  const Own own = own_of(view, t.key, s.bytes);
  w.key("own");
  if (own.known)
    put_way(w, own.way);
  else
    w.null();
  w.field("own_reckoned", own.reckoned);
  w.key("best");
  put_way(w, s.best);
  w.field("best_us", s.best_us);
  w.key("choice");
  put_way(w, s.choice);
  w.field("choice_us", s.choice_us).field("gain", s.here.gain).field("gain_low", s.here.low).field("noise", s.here.noise);
  w.key("with_neighbours");
  if (s.verdict == TuneVerdict::carried) {
    w.object().field("gain", s.neighbours.gain).field("gain_low", s.neighbours.low).field("noise", s.neighbours.noise);
    w.end_object();
  } else {
    w.null();
  }
  w.field("regret", s.regret).field("left", s.left).field("verdict", name_of(s.verdict)).field("why", why(s, t, view.rules));
  w.key("ways").array();
  for (const design::TunedWay& way : s.ways) {
    w.object().key("way");
    put_way(w, way.way);
    w.field("us", way.us).field("launches", way.launches).end_object();
  }
  w.end_array().end_object();
}

// One way for all sizes, where the plugin is not to be: no size may lose, and the whole must gain.
struct OneWay {
  NcclWay way;
  double gain = 0;
};
std::optional<OneWay> one_way(const Tuned& t, const TuneRules& rules) {
  std::map<NcclWay, std::pair<double, std::size_t>> sums;
  for (const TunedSize& s : t.sizes) {
    for (const auto& [way, us, launches] : s.ways) {
      const bool fair = s.judged() && rules.enough(launches) && s.own_us * (1 + rules.margin) > us && way.channels == 0;
      if (!fair) continue;
      sums[way].first += det_log(s.own_us / us);
      ++sums[way].second;
    }
  }
  std::optional<OneWay> best;
  for (const auto& [way, sum] : sums) {
    if (sum.second != t.sizes.size()) continue;
    const double gain = det_exp(sum.first / static_cast<double>(sum.second)) - 1;
    if (gain > rules.margin && (!best || gain > best->gain)) best = OneWay{way, gain};
  }
  return best;
}

std::string nccl_function(Collective op) {
  std::string out;
  for (const char c : name_of(op)) {
    if (c != '_') out += c;
  }
  return out;
}

// NCCL_ALGO and NCCL_PROTO hold for every communicator of the job, and a file has one line of each that shells and NCCL's own
// reader take alike: several operations would need a semicolon. So all shapes of the operation must want the same way, and of
// several operations the one that gains most has it.
std::string one_way_lines(const TuneView& view) {
  struct Wanted {
    OneWay one;
    std::string of;
    bool alike = true;
  };
  std::map<Collective, Wanted> wanted;
  for (const Tuned& t : view.tuned) {
    const auto one = one_way(t, view.rules);
    const auto [at, first] = wanted.try_emplace(t.key.op, Wanted{one.value_or(OneWay{}), key_words(t.key), true});
    Wanted& w = at->second;
    if (first) continue;
    w.alike = w.alike && w.one.way == (one ? one->way : NcclWay{});
    w.of += "; " + key_words(t.key);
    if (one && (w.one.way.own || one->gain < w.one.gain)) w.one = *one;
  }
  std::erase_if(wanted, [](const auto& w) { return w.second.one.way.own; });
  const auto best = std::max_element(wanted.begin(), wanted.end(), [](const auto& x, const auto& y) {
    return std::pair(x.second.alike, x.second.one.gain) < std::pair(y.second.alike, y.second.one.gain);
  });
  std::string out;
  for (auto it = wanted.begin(); it != wanted.end(); ++it) {
    if (it == best && it->second.alike) continue;
    out += fmt::format("# {} would gain by {} too, which {}: `muster tune --table` writes what can.\n", name_of(it->first),
                       way_words(it->second.one.way),
                       it->second.alike ? "one line cannot say beside another operation's" : "is not the best of all its shapes");
  }
  if (best == wanted.end() || !best->second.alike) return out;
  const auto& [op, w] = *best;
  // Spelled as NCCL does, to whom "nvls_tree" is no algorithm.
  return out + fmt::format(
                   "# {} is faster by {} % on the mean, and at no size slower than NCCL's own beyond {} % ({}). NCCL 2.24 and "
                   "later.\nNCCL_ALGO={}:{}\nNCCL_PROTO={}:{}\n",
                   way_words(w.one.way), percent(w.one.gain), percent(view.rules.margin), w.of, nccl_function(op),
                   lower(tuner_algorithm_name(static_cast<int>(w.one.way.algorithm))), nccl_function(op),
                   name_of(w.one.way.protocol));
}

// One size for everything the job does: none where shapes gain by different ones.
std::string buffer_lines(const TuneView& view) {
  std::string why;
  std::vector<std::uint64_t> sizes;
  for (const Tuned& t : view.tuned) {
    const auto buffer = view.buffers.find(t.key);
    if (buffer == view.buffers.end() || buffer->second.bytes == 0) continue;
    sizes.push_back(buffer->second.bytes);
    why += fmt::format("# Buffers of {} gain {} % on the mean of {} sizes, and lose at none ({}).\n",
                       size_words(static_cast<double>(buffer->second.bytes)), percent(buffer->second.gain), buffer->second.sizes,
                       key_words(t.key));
  }
  if (sizes.empty()) return {};
  const bool alike = std::all_of(sizes.begin(), sizes.end(), [&](std::uint64_t b) { return b == sizes.front(); });
  return why + (alike ? fmt::format("NCCL_BUFFSIZE={}\n", sizes.front())
                      : "# One job has one size of buffers, and these differ: none is set.\n");
}

// What NCCL reckons a ring under Simple to carry, beside what the largest measured size got.
std::string belief_note(const TuneView& view, const Tuned& t) {
  if (t.sizes.empty()) return {};
  const TunedSize& s = t.sizes.back();
  const double us = s.us({false, NcclAlgorithm::ring, NcclProtocol::simple, 0, 0});
  for (const NcclBelief& b : view.beliefs) {
    if (b.op != t.key.op || b.algorithm != NcclAlgorithm::ring || b.protocol != NcclProtocol::simple) continue;
    if (us <= 0 || b.gb_s <= 0 || s.bytes < (1 << 24)) continue;
    const double got = s.bytes / us / 1000;
    if (got < 1.5 * b.gb_s && b.gb_s < 1.5 * got) continue;
    return fmt::format(
        "# NCCL reckons with {:.1f} GB/s for a ring where {:.1f} were measured at {}: it does not know the rate of a link.\n"
        "# A topology file with the true one, in NCCL_TOPO_FILE, would let it choose better by itself.\n",
        b.gb_s, got, size_words(s.bytes));
  }
  return {};
}

// As a shell sources it from where it lies: without a slash it would look along its PATH.
std::string sourced(std::string_view file) {
  const std::string name(file.substr(file.find_last_of('/') + 1));
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  });
  return plain ? "./" + name : "./nccl.env";
}

// Ranks of one node meet in its own memory; those of several need a folder that they share.
std::string meeting_words(const TuneView& view, const std::string& meet) {
  const bool several = std::any_of(view.tuned.begin(), view.tuned.end(), [](const Tuned& t) { return t.key.nodes > 1; });
  if (!meet.empty()) return fmt::format("# Where ranks compare their tables before any is used.\nMUSTER_TUNER_MEET={}\n", meet);
  if (!several) return {};
  return "# Over several nodes MUSTER_TUNER_MEET must name a folder that they share, where ranks compare their tables: until it\n"
         "# does, NCCL chooses by itself. `muster tune --meet` writes it here.\n";
}

}  // namespace

std::string way_words(const NcclWay& way) {
  if (way.own)
    return way.buffer_bytes == 0 ? "NCCL's own"
                                 : fmt::format("NCCL's own, buffers {}", size_words(static_cast<double>(way.buffer_bytes)));
  const std::string out = fmt::format("{}/{}", name_of(way.algorithm), name_of(way.protocol));
  return way.channels == 0 ? out : fmt::format("{} x{}", out, way.channels);
}

std::string key_words(const TuneKey& k) {
  return fmt::format("{}, {} node{} of {} rank{}, NVLink among {}{}", name_of(k.op), k.nodes, k.nodes == 1 ? "" : "s",
                     k.ranks_per_node, k.ranks_per_node == 1 ? "" : "s", k.nvlink_domain,
                     k.registered ? ", registered buffers" : "");
}

std::string tune_summary(const Tuned& t, const TuneRules& rules) {
  if (!nccl_chooses(t.key.op)) return fmt::format("{}: NCCL has one way to do it: nothing is overridden", key_words(t.key));
  const auto judged = std::count_if(t.sizes.begin(), t.sizes.end(), [](const TunedSize& s) { return s.judged(); });
  if (judged == 0) {
    return fmt::format("{}: no size has {} launches of NCCL's own choice and of another way: nothing is overridden",
                       key_words(t.key), rules.repeats);
  }
  const std::string left = percent(regret_of(t.left()));
  return fmt::format(
      "{}: NCCL's own choice takes {} % longer than the best (geometric mean of {} sizes, worst {} %); {} get another way, and "
      "{} is left; a launch differs from the next by {} %",
      key_words(t.key), percent(regret_of(t.regret())), judged, percent(t.worst_regret() - 1), t.overridden(),
      left == "0.0" ? "nothing" : left + " %", percent(t.spread));
}

Table tune_table(const TuneView& view, const Tuned& t) {
  Table out;
  out.columns = behind(kShapeColumns, {{"SIZE", true},
                                       {"NCCL_TAKES"},
                                       {"US", true},
                                       {"FASTEST"},
                                       {"FASTEST_US", true},
                                       {"REGRET_PCT", true},
                                       {"CHOICE"},
                                       {"GAIN_PCT", true},
                                       {"LOW_PCT", true},
                                       {"WHY"}});
  for (const TunedSize& s : t.sizes) {
    const Own own = own_of(view, t.key, s.bytes);
    // NCCL's own alone is the fastest of nothing.
    const bool compared = s.best_us > 0 && !(s.verdict == TuneVerdict::too_few && s.best.own);
    const bool gains = s.judged() && !s.proposed.own;
    const Cell took = own.known ? Cell(way_words(own.way) + (own.reckoned ? " (reckoned)" : "")) : no_cell();
    const Cell choice(way_words(s.choice), s.choice.own ? Tone::dim : Tone::good);
    out.rows.push_back(
        behind(shape_cells(t.key),
               {bytes_cell(s.bytes), took, us_cell(s.own_us), compared ? Cell(way_words(s.best)) : no_cell("too few launches"),
                us_cell(compared ? s.best_us : 0), s.judged() ? percent_cell(regret_of(s.regret)) : no_cell(), choice,
                gains ? percent_cell(s.here.gain) : no_cell(), gains ? percent_cell(s.here.low) : no_cell(),
                Cell(why(s, t, view.rules))}));
  }
  return out;
}

std::string tune_json(const TuneView& view) {
  JsonWriter w;
  w.object().key("shapes").array();
  for (const Tuned& t : view.tuned) {
    w.object().field("collective", name_of(t.key.op)).field("nodes", t.key.nodes).field("ranks_per_node", t.key.ranks_per_node);
    w.field("nvlink_domain", t.key.nvlink_domain).field("registered", t.key.registered);
    w.field("regret", t.regret()).field("left", t.left()).field("worst_regret", t.worst_regret()).field("spread", t.spread);
    w.field("overridden", t.overridden());
    const auto buffer = view.buffers.find(t.key);
    w.key("buffer_bytes");
    if (buffer == view.buffers.end() || buffer->second.bytes == 0)
      w.null();
    else
      w.value(buffer->second.bytes);
    w.key("sizes").array();
    for (const TunedSize& s : t.sizes) put_size(w, view, t, s);
    w.end_array().end_object();
  }
  w.end_array().key("notes").array();
  for (const std::string& n : view.notes) w.value(n);
  w.end_array().end_object();
  return w.take() + "\n";
}

Table tune_fits(std::span<const TuneTime> times, const TuneKey& key) {
  std::map<NcclWay, std::map<double, std::vector<double>>> all;
  for (const TuneTime& t : times) {
    if (t.key == key && t.time_us > 0) all[t.way][t.bytes].push_back(det_log(t.time_us * 1e-6));
  }
  Table out;
  out.columns = behind(kShapeColumns,
                       {{"WAY"}, {"START_US", true}, {"RATE_GB_S", true}, {"KNEE", true}, {"SIZES", true}, {"OFF_PCT", true}});
  for (const auto& [way, sizes] : all) {
    std::vector<std::pair<double, double>> points, taught;
    for (const auto& [bytes, logs] : sizes) {
      double sum = 0;
      for (const double l : logs) sum += l;
      points.emplace_back(bytes, det_exp(sum / static_cast<double>(logs.size())));
      if (points.size() % 3 != 0) taught.push_back(points.back());
    }
    const auto curve = predict::fit_collective_curve(points);
    double off = 0;
    std::size_t n = 0;
    if (taught.size() >= 4) {
      const auto other = predict::fit_collective_curve(taught);
      for (std::size_t i = 2; i < points.size(); i += 3, ++n) off += std::abs(other.at(points[i].first) / points[i].second - 1);
    }
    out.rows.push_back(
        behind(shape_cells(key), {Cell(way_words(way)), us_cell(curve.start_s * 1e6),
                                  number_cell(curve.bytes_per_s / 1e9, fmt::format("{:.2f}", curve.bytes_per_s / 1e9)),
                                  number_cell(curve.knee, fmt::format("{:.2f}", curve.knee)),
                                  number_cell(static_cast<double>(points.size()), fmt::format("{}", points.size())),
                                  n == 0 ? no_cell() : percent_cell(off / static_cast<double>(n))}));
  }
  return out;
}

std::string tune_environment(const TuneView& view, const TunerPlace& place) {
  // No comment may hold an equals sign: NCCL's own reader would take it for a setting.
  std::string out = fmt::format(
      "# By muster tune. The same on every rank. /etc/nccl.conf can hold it, EnvironmentFile of systemd reads it; in shells and\n"
      "# job scripts, so that what they start sees it too: set -a; . {}; set +a\n",
      sourced(place.file));
  for (const Tuned& t : view.tuned) out += fmt::format("# {}.\n{}", tune_summary(t, view.rules), belief_note(view, t));
  const auto changed = std::count_if(view.tuned.begin(), view.tuned.end(), [](const Tuned& t) { return t.overridden() > 0; });
  if (!place.table.empty() && changed > 0) {
    out += fmt::format(
        "# {} of {} shapes have sizes at which another way gains more than the noise and {} %: the plugin hands these to NCCL.\n"
        "NCCL_TUNER_PLUGIN=libnccl-tuner-muster.so\n"
        "# Where the table lies, on every node.\nMUSTER_TUNER_TABLE={}\n"
        "# That it is this one: ranks with different tables would choose differently, and hang.\nMUSTER_TUNER_HASH={}\n",
        changed, view.tuned.size(), percent(view.rules.margin), place.table, place.hash);
    out += meeting_words(view, place.meet);
  }
  if (place.table.empty()) out += one_way_lines(view);
  out += buffer_lines(view);
  if (out.find("\nNCCL_") == std::string::npos)
    out += "# Nothing to set: no other way gains more than the noise and the margin.\n";
  return out;
}

std::string sweep_header() {
  return "collective,nodes,ranks_per_node,nvlink_domain,registered,bytes,algorithm,protocol,channels,run,time_us,buffer_bytes,"
         "seconds,failure\n";
}

std::string sweep_command_line(std::span<const std::string> words) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  std::string out = "# command:";
  for (const std::string& word : words) {
    const bool plain = !word.empty() && word.find_first_not_of(kPlain) == std::string::npos;
    std::string quoted = word;
    for (std::size_t at = quoted.find('\''); at != std::string::npos; at = quoted.find('\'', at + 4)) {
      quoted.replace(at, 1, "'\\''");
    }
    out += plain ? " " + word : fmt::format(" '{}'", quoted);
  }
  return printable(out) + '\n';
}

std::string sweep_rows(const SweepRun& r) {
  const std::string shape = fmt::format("{},{},{},{},{}", name_of(r.key.op), r.key.nodes, r.key.ranks_per_node,
                                        r.key.nvlink_domain, r.key.registered ? 1 : 0);
  const std::string way =
      r.way.own ? "default,," : fmt::format("{},{},{}", name_of(r.way.algorithm), name_of(r.way.protocol), r.way.channels);
  // What a program said goes between quotes, on one line.
  std::string failure = printable(r.failure);
  for (std::size_t at = failure.find('"'); at != std::string::npos; at = failure.find('"', at + 2)) failure.insert(at, 1, '"');
  const std::string behind =
      fmt::format("{},{:.3f},{}", r.way.buffer_bytes, r.seconds, failure.empty() ? "" : "\"" + failure + "\"");
  if (!r.failure.empty()) return fmt::format("{},0,{},{},0,{}\n", shape, way, r.run, behind);
  std::string out;
  for (const auto& [bytes, us] : r.times)
    out += fmt::format("{},{},{},{},{},{}\n", shape, render_number(bytes), way, r.run, render_number(us), behind);
  return out;
}

}  // namespace muster::report
