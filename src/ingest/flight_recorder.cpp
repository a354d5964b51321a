#include "ingest/flight_recorder.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "ingest/json.h"
#include "ingest/pickle.h"

namespace muster {
namespace {

constexpr std::size_t kTextMax = 200;

// Numbers stand as texts in some versions.
std::uint64_t count_of(const Value* v) {
  if (v == nullptr) return 0;
  if (v->integer() != nullptr) return *v->integer() > 0 ? static_cast<std::uint64_t>(*v->integer()) : 0;
  return v->string() != nullptr ? parse_uint(*v->string()).value_or(0) : 0;
}

std::string text_of(const Value* v) {
  return v != nullptr && v->string() != nullptr ? printable(v->string()->substr(0, kTextMax)) : std::string();
}

// [[4096, 4096], [8]] as "[4096, 4096] [8]".
std::string shapes_of(const Value* v) {
  std::string out;
  if (v == nullptr || v->array() == nullptr) return out;
  for (const Value& one : *v->array()) {
    if (out.size() > kTextMax) return out + " ...";
    std::string shape;
    if (one.array() != nullptr) {
      for (const Value& n : *one.array())
        shape += fmt::format("{}{}", shape.empty() ? "" : ", ", n.integer() != nullptr ? *n.integer() : -1);
    }
    out += fmt::format("{}[{}]", out.empty() ? "" : " ", shape);
  }
  return out;
}

// "[0, 2, 4]" or a list.
std::vector<std::uint32_t> ranks_of(const Value* v) {
  std::vector<std::uint32_t> out;
  if (v == nullptr) return out;
  if (v->array() != nullptr) {
    for (const Value& n : *v->array()) out.push_back(static_cast<std::uint32_t>(count_of(&n)));
  } else if (v->string() != nullptr) {
    std::string plain;
    for (const char c : *v->string()) plain += c == '[' || c == ']' || c == ' ' ? ',' : c;
    for (const std::string_view word : split(plain, ',')) {
      if (const auto n = parse_uint(word); n && *n < 100'000'000) out.push_back(static_cast<std::uint32_t>(*n));
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::string op_of(const Value* v) {
  std::string name = text_of(v);
  if (const auto colon = name.find(':'); colon != std::string::npos) name.erase(0, colon + 1);
  return name;
}

std::string caller_of(const Value* frames) {
  if (frames == nullptr || frames->array() == nullptr || frames->array()->empty()) return {};
  const Value& f = frames->array()->front();
  const std::string name = text_of(f.find("name")), file = text_of(f.find("filename"));
  return name.empty() && file.empty() ? std::string() : fmt::format("{} at {}:{}", name, file, count_of(f.find("line")));
}

class Reader {
 public:
  explicit Reader(FlightRecord& out) : out_(out) {}

  std::uint32_t group(const std::string& name, const std::string& what) {
    for (std::uint32_t i = 0; i < out_.groups.size(); ++i) {
      if (out_.groups[i].name == name) {
        if (out_.groups[i].what.empty()) out_.groups[i].what = what;
        return i;
      }
    }
    out_.groups.push_back({name, what, {}});
    return static_cast<std::uint32_t>(out_.groups.size() - 1);
  }

  void groups(const Value* config, const Value* status) {
    if (config != nullptr && config->object() != nullptr) {
      for (const Value::Member& m : *config->object()) {
        ExchangeGroup& g = out_.groups[group(printable(m.key.substr(0, kTextMax)), text_of(m.value.find("desc")))];
        g.ranks = ranks_of(m.value.find("ranks"));
      }
    }
    if (status == nullptr || status->object() == nullptr) return;
    for (const Value::Member& m : *status->object()) {
      ExchangeGroup& g = out_.groups[group(printable(m.key.substr(0, kTextMax)), "")];
      g.enqueued = count_of(m.value.find("last_enqueued_collective"));
      g.started = count_of(m.value.find("last_started_collective"));
      g.completed = count_of(m.value.find("last_completed_collective"));
    }
  }

  void entry(const Value& e) {
    ExchangeCall c;
    const Value* of = e.find("process_group");
    const bool named = of != nullptr && of->array() != nullptr && of->array()->size() == 2;
    c.group = named ? group(text_of(&of->array()->front()), text_of(&of->array()->back()))
                    : group(fmt::format("{}", count_of(e.find("pg_id"))), "");
    const Value* pair = e.find("is_p2p");
    c.pair = pair != nullptr && pair->boolean() != nullptr && *pair->boolean();
    c.seq = count_of(e.find(c.pair ? "p2p_seq_id" : "collective_seq_id"));
    c.op = op_of(e.find("profiling_name"));
    c.in = shapes_of(e.find("input_sizes"));
    c.out = shapes_of(e.find("output_sizes"));
    const Value* types = e.find("input_dtypes");
    if (types != nullptr && types->array() != nullptr && !types->array()->empty()) c.dtype = text_of(&types->array()->front());
    const std::string state = text_of(e.find("state"));
    c.state = state == "completed" ? ExchangeState::completed
              : state == "started" ? ExchangeState::started
                                   : ExchangeState::scheduled;
    c.created_ns = static_cast<std::int64_t>(count_of(e.find("time_created_ns")));
    c.caller = caller_of(e.find("frames"));
    out_.calls.push_back(std::move(c));
  }

 private:
  FlightRecord& out_;
};

}  // namespace

std::optional<std::uint32_t> rank_of_file(std::string_view name) {
  for (const std::string_view ending : {".json", ".pickle", ".pkl"}) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  std::size_t from = name.size();
  while (from > 0 && name[from - 1] >= '0' && name[from - 1] <= '9') --from;
  const auto n = parse_uint(name.substr(from));
  if (!n || *n > 100'000'000) return {};
  return static_cast<std::uint32_t>(*n);
}

bool looks_like_flight_record(std::string_view bytes) {
  if (looks_like_pickle(bytes)) return true;
  const std::string_view head = bytes.substr(0, 4096);
  return trim(head).starts_with('{') &&
         (head.find("\"pg_config\"") != std::string_view::npos || head.find("\"pg_status\"") != std::string_view::npos ||
          head.find("\"collective_seq_id\"") != std::string_view::npos);
}

Result<FlightRecord> parse_flight_record(std::string_view bytes, std::string_view file) {
  const auto value = looks_like_pickle(bytes) ? parse_pickle(bytes) : parse_json(bytes);
  if (!value) return fail(Code::bad_input, fmt::format("{}: {}", file, value.error().what), value.error().next);
  const Value* entries = value->find("entries");
  if (entries == nullptr || entries->array() == nullptr) {
    return fail(Code::bad_input, fmt::format("{}: there are no entries in it", file),
                "what PyTorch's flight recorder wrote (TORCH_NCCL_TRACE_BUFFER_SIZE, TORCH_FR_BUFFER_SIZE)");
  }
  const auto rank = rank_of_file(file);
  if (!rank) {
    return fail(Code::bad_input,
                fmt::format("{}: whose is it? The rank is told by the number that the file's name ends with", file),
                "name it as nccl_trace_rank_5");
  }
  FlightRecord out;
  out.rank = *rank;
  Reader r(out);
  r.groups(value->find("pg_config"), value->find("pg_status"));
  for (const Value& e : *entries->array()) r.entry(e);
  return out;
}

}  // namespace muster
