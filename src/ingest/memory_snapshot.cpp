#include "ingest/memory_snapshot.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "ingest/json.h"
#include "ingest/pickle.h"
#include "model/fields.h"

namespace muster {
namespace {

constexpr std::size_t kTextMax = 200;
constexpr std::size_t kStackMax = 128;  // frames of one stack; those further out say where the program began
constexpr std::uint32_t kDevicesMax = 1024;
constexpr std::size_t kStackFramesMax = 64'000'000;

// The same questions as Pickle::Item answers.
class JsonItem {
 public:
  explicit JsonItem(const Value& v) : v_(&v) {}
  std::optional<bool> boolean() const { return v_->boolean() != nullptr ? std::optional(*v_->boolean()) : std::nullopt; }
  std::optional<std::int64_t> integer() const { return v_->integer() != nullptr ? std::optional(*v_->integer()) : std::nullopt; }
  std::optional<double> number() const {
    double d = 0;
    return v_->number(d) ? std::optional(d) : std::nullopt;
  }
  std::optional<std::string_view> text() const {
    return v_->string() != nullptr ? std::optional<std::string_view>(*v_->string()) : std::nullopt;
  }
  bool is_list() const { return v_->array() != nullptr; }
  bool is_dictionary() const { return v_->object() != nullptr; }
  std::size_t size() const { return is_list() ? v_->array()->size() : is_dictionary() ? v_->object()->size() : 0; }
  static std::optional<std::uint64_t> id() { return {}; }
  static std::optional<std::uint64_t> content() { return {}; }
  template <class F>
  void each(F f) const {
    if (!is_list()) return;
    for (const Value& v : *v_->array()) {
      if (!f(JsonItem(v))) return;
    }
  }
  template <class F>
  void each_member(F f) const {
    if (!is_dictionary()) return;
    for (const Value::Member& m : *v_->object()) {
      const Value key(m.key);
      if (!f(JsonItem(key), JsonItem(m.value))) return;
    }
  }
  std::optional<JsonItem> find(std::string_view key) const {
    const Value* v = v_->find(key);
    return v != nullptr ? std::optional(JsonItem(*v)) : std::nullopt;
  }

 private:
  const Value* v_;
};

std::uint64_t mixed(std::uint64_t hash, std::uint64_t with) {
  hash = (hash ^ with) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

// The end of a path says more than its beginning.
std::string path_of(std::string_view path) {
  return path.size() <= kTextMax ? printable(path) : "..." + printable(path.substr(path.size() - kTextMax));
}

template <class Item>
class Reader {
 public:
  // Empty when all is well.
  std::string read(const Item& root) {
    const auto segments = root.find("segments"), traces = root.find("device_traces"), settings = root.find("allocator_settings");
    if ((!segments || !segments->is_list()) && (!traces || !traces->is_list())) return "there are no segments in it";
    if (settings) read_settings(*settings);
    if (segments) {
      segments->each([&](const Item& s) {
        segment(s);
        return wrong_.empty();
      });
    }
    if (traces) {
      traces->each([&](const Item& t) {
        trace(t);
        return wrong_.empty();
      });
    }
    return wrong_;
  }
  MemorySnapshot take() { return std::move(out_); }

 private:
  static std::int64_t integer(const Item& of, std::string_view key) {
    const auto v = of.find(key);
    return v ? v->integer().value_or(0) : 0;
  }
  std::uint64_t bytes(const Item& of, std::string_view key) {
    const std::int64_t n = integer(of, key);
    if (n < 0 || static_cast<std::uint64_t>(n) > kMemoryBytesMax) {
      refuse(fmt::format("{}: {} of {} bytes, which no GPU has", where_, key, n));
      return 0;
    }
    return static_cast<std::uint64_t>(n);
  }
  // Addresses and streams; none is negative.
  static std::uint64_t address(const Item& of, std::string_view key) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, integer(of, key)));
  }
  static std::string_view text(const Item& of, std::string_view key) {
    const auto v = of.find(key);
    return v ? v->text().value_or("") : "";
  }
  void refuse(std::string why) {
    if (wrong_.empty()) wrong_ = std::move(why);
  }

  std::uint32_t frame(const Item& f) {
    if (const auto id = f.id()) {
      if (const auto it = frame_of_id_.find(*id); it != frame_of_id_.end()) return it->second;
    }
    const std::string_view file = text(f, "filename"), name = text(f, "name");
    const auto line = static_cast<std::uint32_t>(std::clamp<std::int64_t>(integer(f, "line"), 0, 100'000'000));
    std::string key = fmt::format("{}\n{}\n{}", line, file.substr(0, 4096), name.substr(0, 4096));
    const auto [it, fresh] = frame_of_text_.emplace(std::move(key), static_cast<std::uint32_t>(out_.frames.size()));
    if (fresh) out_.frames.push_back({path_of(file), printable(name.substr(0, kTextMax)), line});
    if (const auto id = f.id()) frame_of_id_.emplace(*id, it->second);
    return it->second;
  }

  std::uint32_t stack(const Item& of) {
    const auto list = of.find("frames");
    if (!list || list->size() == 0) return 0;
    const auto content = list->content();
    if (content) {
      if (const auto it = stack_of_content_.find(*content); it != stack_of_content_.end()) return it->second;
    }
    std::vector<std::uint32_t> all;
    std::uint64_t hash = 0;
    list->each([&](const Item& f) {
      all.push_back(frame(f));
      hash = mixed(hash, all.back());
      return all.size() < kStackMax;
    });
    const std::uint32_t id = kept(all, hash);
    if (content) stack_of_content_.emplace(*content, id);
    return id;
  }
  std::uint32_t kept(const std::vector<std::uint32_t>& all, std::uint64_t hash) {
    if (const auto it = stack_of_hash_.find(hash); it != stack_of_hash_.end()) {
      const auto there = out_.stack(it->second);
      if (std::equal(there.begin(), there.end(), all.begin(), all.end())) return it->second;
    }
    if (all.empty() || out_.stack_frames.size() + all.size() > kStackFramesMax) return 0;
    out_.stack_frames.insert(out_.stack_frames.end(), all.begin(), all.end());
    out_.stack_ends.push_back(static_cast<std::uint32_t>(out_.stack_frames.size()));
    const auto id = static_cast<std::uint32_t>(out_.stack_ends.size() - 1);
    stack_of_hash_[hash] = id;
    return id;
  }

  void segment(const Item& s) {
    where_ = fmt::format("segment {}", out_.segments.size() + 1);
    MemorySegment out;
    const std::int64_t device = integer(s, "device");
    if (device < 0 || device >= kDevicesMax) return refuse(fmt::format("{}: there is no device {}", where_, device));
    out.device = static_cast<std::uint32_t>(device);
    out.address = address(s, "address");
    out.size = bytes(s, "total_size");
    out.stream = address(s, "stream");
    out.large = text(s, "segment_type") != "small";
    const auto expandable = s.find("is_expandable");
    out.expandable = expandable && expandable->boolean().value_or(false);
    if (const auto pool = s.find("segment_pool_id")) {
      pool->each([&](const Item& part) {
        out.pool = out.pool << 32 | static_cast<std::uint32_t>(part.integer().value_or(0));
        return true;
      });
    }
    if (const auto blocks = s.find("blocks")) {
      std::uint64_t at = out.address;
      blocks->each([&](const Item& b) {
        out.blocks.push_back(block(b, at));
        at = out.blocks.back().address + out.blocks.back().size;
        return wrong_.empty();
      });
    }
    std::uint64_t sum = 0;
    for (const MemoryBlock& b : out.blocks) {
      sum += b.size;
      if (sum > out.size) return refuse(fmt::format("{}: its blocks are larger than itself", where_));
    }
    total_ += out.size;
    if (total_ > kMemoryBytesMax) return refuse(fmt::format("{}: together they are more than any GPU has", where_));
    out_.segments.push_back(std::move(out));
  }
  // Old versions leave out addresses, and what was asked for.
  MemoryBlock block(const Item& b, std::uint64_t at) {
    MemoryBlock out;
    out.address = b.find("address") ? address(b, "address") : at;
    out.size = bytes(b, "size");
    const std::string_view state = text(b, "state");
    out.state = state == "active_allocated" ? BlockState::allocated
                : state == "inactive"       ? BlockState::inactive
                                            : BlockState::awaiting_free;
    out.requested = b.find("requested_size") ? std::min(bytes(b, "requested_size"), out.size) : out.size;
    out.stack = stack(b);
    if (out.stack == 0) {
      if (const auto history = b.find("history")) {  // of before version 2.1: the last that held it comes first
        history->each([&](const Item& h) {
          out.stack = stack(h);
          return false;
        });
      }
    }
    return out;
  }

  void trace(const Item& t) {
    if (out_.traces.size() >= kDevicesMax) return refuse(fmt::format("traces of more than {} devices", kDevicesMax));
    std::vector<MemoryEvent> all;
    all.reserve(t.size());
    t.each([&](const Item& e) {
      where_ = "a trace";
      all.push_back(event(e));
      if (!wrong_.empty()) wrong_ += fmt::format(" (event {} of device {})", all.size(), out_.traces.size());
      return wrong_.empty();
    });
    out_.traces.push_back(std::move(all));
  }
  MemoryEvent event(const Item& e) {
    MemoryEvent out;
    if (!parse_name(text(e, "action"), out.action)) out.action = MemoryAction::other;
    if (out.action == MemoryAction::other) return out;
    out.address = out.action == MemoryAction::oom ? bytes(e, "device_free") : address(e, "addr");
    out.size = bytes(e, "size");
    out.stream = address(e, "stream");
    out.time_us = std::max<std::int64_t>(0, integer(e, "time_us"));
    out.stack = stack(e);
    return out;
  }

  void read_settings(const Item& s) {
    AllocatorSettings& out = out_.settings;
    out_.settings_told = s.is_dictionary();
    std::string_view all = text(s, "PYTORCH_CUDA_ALLOC_CONF");
    if (all.empty()) all = text(s, "PYTORCH_ALLOC_CONF");
    out.text = printable(all.substr(0, kTextMax));
    const std::int64_t split = integer(s, "max_split_size");  // "no limit" is -1, or as large as it can be
    if (split > 0 && static_cast<std::uint64_t>(split) <= kMemoryBytesMax) out.max_split = static_cast<std::uint64_t>(split);
    if (const auto threshold = s.find("garbage_collection_threshold")) {
      const double d = threshold->number().value_or(0);
      out.collection_threshold = d > 0 && d < 1 ? d : 0;
    }
    const auto expandable = s.find("expandable_segments");
    out.expandable = expandable && expandable->boolean().value_or(false);
    const auto divisions = s.find("roundup_power2_divisions");
    if (!divisions) return;
    divisions->each_member([&](const Item& key, const Item& value) {  // {"1": 0, "2": 8, ...}: from so many MiB
      const auto mib = key.text() ? parse_uint(*key.text()) : std::optional<std::uint64_t>(key.integer().value_or(0));
      for (std::size_t i = 0; i < out.divisions.size(); ++i) {
        if (mib == std::uint64_t{1} << i)
          out.divisions[i] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(value.integer().value_or(0), 0, 64));
      }
      return true;
    });
  }

  MemorySnapshot out_;
  std::string where_, wrong_;
  std::uint64_t total_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> frame_of_id_, stack_of_content_, stack_of_hash_;
  std::unordered_map<std::string, std::uint32_t> frame_of_text_;
};

template <class Item>
Result<MemorySnapshot> read(const Item& root, std::string_view file) {
  Reader<Item> r;
  if (const std::string wrong = r.read(root); !wrong.empty()) {
    return fail(Code::bad_input, fmt::format("{}: {}", file, wrong),
                "what torch.cuda.memory._dump_snapshot wrote, after torch.cuda.memory._record_memory_history()");
  }
  return r.take();
}

}  // namespace

bool looks_like_memory_snapshot(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, 8192);
  if (looks_like_pickle(bytes)) {
    // As the first key of the outermost dictionary, or near it.
    return head.find("segments") != std::string_view::npos || head.find("device_traces") != std::string_view::npos;
  }
  return trim(head).starts_with('{') &&
         (head.find("\"segments\"") != std::string_view::npos || head.find("\"device_traces\"") != std::string_view::npos);
}

Result<MemorySnapshot> parse_memory_snapshot(std::string_view bytes, std::string_view file) {
  if (looks_like_pickle(bytes)) {
    const auto all = read_pickle(bytes);
    if (!all) return fail(Code::bad_input, fmt::format("{}: {}", file, all.error().what), all.error().next);
    return read(all->root(), file);
  }
  if (bytes.size() > kSnapshotJsonBytesMax) {
    return fail(Code::bad_input, fmt::format("{}: as JSON it may have {} MiB at most", file, kSnapshotJsonBytesMax >> 20),
                "the pickle itself, of which 512 MiB are read");
  }
  const auto all = parse_json(bytes);
  if (!all) return fail(Code::bad_input, fmt::format("{}: {}", file, all.error().what), all.error().next);
  return read(JsonItem(*all), file);
}

}  // namespace muster
