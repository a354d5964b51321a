#include "ingest/nccl_words.h"

#include <array>
#include <charconv>
#include <utility>

#include "base/text.h"

namespace muster {
namespace {

constexpr auto npos = std::string_view::npos;
bool digit(char c) { return c >= '0' && c <= '9'; }

// How long the piece of a prefix is that the text begins with; 0: none.
std::size_t launcher_piece(std::string_view s) {
  if (s.starts_with('[')) {
    // "[1,0]<stdout>:" of Open MPI, "[0]:" and "[rank0]:" of others.
    const std::size_t close = s.substr(0, 64).find(']');
    if (close == npos) return 0;
    const std::string_view behind = s.substr(close + 1);
    for (const std::string_view mark : {"<stdout>:", "<stderr>:", "<stddiag>:", ":"}) {
      if (behind.starts_with(mark)) return close + 1 + mark.size();
    }
    return 0;
  }
  // "12: " of srun's labels.
  std::size_t n = 0;
  while (n < s.size() && n < 7 && digit(s[n])) ++n;
  return n > 0 && n + 1 < s.size() && s[n] == ':' && s[n + 1] == ' ' ? n + 2 : 0;
}

}  // namespace

std::string without_escapes(std::string_view line) {
  std::string out;
  out.reserve(line.size());
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      out += line[i];
    } else if (i + 1 < line.size() && line[i + 1] == '[') {
      for (i += 2; i < line.size() && (line[i] < '@' || line[i] > '~'); ++i) {
      }
    }
  }
  return out;
}

std::string_view behind_launcher(std::string_view line) {
  for (int i = 0; i < 3; ++i) {
    const std::size_t blanks = line.find_first_not_of(" \t");
    if (blanks == npos) return {};
    const std::size_t n = launcher_piece(line.substr(blanks));
    if (n == 0) return line;
    line.remove_prefix(blanks + n);
  }
  return line;
}

std::string_view after(std::string_view s, std::string_view key) {
  const std::size_t at = s.find(key);
  return at == npos ? std::string_view{} : s.substr(at + key.size());
}

std::string_view until(std::string_view s, std::string_view ends) { return s.substr(0, s.find_first_of(ends)); }

std::optional<std::uint64_t> leading_uint(std::string_view s, std::uint64_t most) {
  std::size_t n = 0;
  while (n < s.size() && digit(s[n])) ++n;
  const auto v = parse_uint(s.substr(0, n));
  return v && *v <= most ? v : std::nullopt;
}

std::optional<std::uint64_t> uint_after(std::string_view s, std::string_view key, std::uint64_t most) {
  return leading_uint(after(s, key), most);
}

std::optional<double> leading_double(std::string_view s) {
  std::size_t n = 0;
  while (n < s.size() && (digit(s[n]) || s[n] == '.')) ++n;
  return parse_double(s.substr(0, n));
}

std::optional<Collective> collective_of(std::string_view name) {
  std::string plain;
  for (const char c : lower(name)) {
    if (c >= 'a' && c <= 'z') plain += c;
  }
  if (plain.starts_with("nccl") || plain.starts_with("rccl")) plain.erase(0, 4);
  if (plain.ends_with("perf")) plain.resize(plain.size() - 4);
  constexpr std::array<std::pair<std::string_view, Collective>, 10> kNames = {{{"allreduce", Collective::all_reduce},
                                                                               {"allgather", Collective::all_gather},
                                                                               {"reducescatter", Collective::reduce_scatter},
                                                                               {"alltoall", Collective::all_to_all},
                                                                               {"broadcast", Collective::broadcast},
                                                                               {"bcast", Collective::broadcast},
                                                                               {"reduce", Collective::reduce},
                                                                               {"sendrecv", Collective::send_recv},
                                                                               {"send", Collective::send_recv},
                                                                               {"recv", Collective::send_recv}}};
  for (const auto& [word, op] : kNames) {
    if (plain == word) return op;
  }
  return {};
}

}  // namespace muster
