// The ledger's lines: JSON with the hash of the chain as their last member.
#include <fmt/core.h>

#include <algorithm>

#include "base/civil.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "ingest/charge_files.h"
#include "ingest/json.h"

namespace muster {
namespace {

constexpr std::string_view kHashKey = ",\"hash\":\"";
constexpr std::size_t kHashEnd = 66;  // 64 digits, a quote and a brace

// All of a line up to its hash.
std::string body_of(const Charge& c) {
  JsonWriter w;
  w.object().field("seq", c.seq).field("cluster", c.cluster).field("job", c.job).field("started_utc", render_utc(c.started));
  w.field("from_utc", render_utc(c.from)).field("to_utc", render_utc(c.to)).field("account", c.account).field("user", c.user);
  w.field("partition", c.partition).field("gpu_type", c.gpu_type).field("gpus_milli", c.gpus_milli).field("rate", c.rate);
  w.field("price_micro_per_gpu_hour", c.price_micro).field("discount", c.discount).field("discount_ppm", c.discount_ppm);
  w.field("currency", c.currency).field("amount_micro", c.amount_micro).field("charged_utc", render_utc(c.charged));
  w.end_object();
  std::string text = w.take();
  text.pop_back();
  return text;
}

// The members of a line, in any order; what is missing or of another kind makes it no charge.
struct Line {
  const Value& v;
  bool good = true;

  std::string text(std::string_view key) {
    const Value* m = v.find(key);
    good = good && m != nullptr && m->string() != nullptr;
    return good ? *m->string() : std::string();
  }
  std::int64_t whole(std::string_view key, std::int64_t max) {
    const Value* m = v.find(key);
    good = good && m != nullptr && m->integer() != nullptr && *m->integer() >= 0 && *m->integer() <= max;
    return good ? *m->integer() : 0;
  }
  Time moment(std::string_view key) {
    const auto t = parse_moment_utc(text(key));
    good = good && t.has_value();
    return t.value_or(Time{});
  }
};

std::optional<Charge> charge_of(const Value& v) {
  Line l{v};
  Charge c;
  c.seq = static_cast<std::uint64_t>(l.whole("seq", INT64_MAX));
  c.cluster = l.text("cluster");
  c.job = l.text("job");
  c.started = l.moment("started_utc");
  c.from = l.moment("from_utc");
  c.to = l.moment("to_utc");
  c.account = l.text("account");
  c.user = l.text("user");
  c.partition = l.text("partition");
  c.gpu_type = l.text("gpu_type");
  c.gpus_milli = l.whole("gpus_milli", 1'000'000'000);
  c.rate = l.text("rate");
  c.price_micro = l.whole("price_micro_per_gpu_hour", kPriceMax_micro);
  c.discount = l.text("discount");
  c.discount_ppm = l.whole("discount_ppm", kMicro);
  c.currency = l.text("currency");
  c.amount_micro = l.whole("amount_micro", INT64_MAX / 4);
  c.charged = l.moment("charged_utc");
  const bool sound = l.good && c.from < c.to && c.to - c.from < days(36'600);
  return sound ? std::optional(std::move(c)) : std::nullopt;
}

}  // namespace

std::string render_ledger_lines(const std::vector<Charge>& charges, Digest& head) {
  std::string out;
  for (const Charge& c : charges) {
    const std::string body = body_of(c);
    head = chain(head, body);
    out += body;
    out += kHashKey;
    out += render_hex(head) + "\"}\n";
  }
  return out;
}

Result<Ledger> parse_ledger(std::string_view text, std::string_view file) {
  Ledger out;
  std::uint64_t line = 0;
  const auto bad = [&](const std::string& why) {
    return fail(Code::corrupt, fmt::format("{}:{}: {}", file, line, why),
                "nothing is charged on a ledger that was changed: put back a copy of it from before");
  };
  while (out.bytes < text.size()) {
    ++line;
    const std::size_t end = text.find('\n', out.bytes);
    if (end == std::string_view::npos) {
      out.torn = true;
      break;
    }
    const std::string_view one = text.substr(out.bytes, end - out.bytes);
    const std::size_t tail = kHashKey.size() + kHashEnd;
    if (one.size() < tail || !one.ends_with("\"}") || one.substr(one.size() - tail, kHashKey.size()) != kHashKey)
      return bad("this is no line of a ledger");
    const std::string_view body = one.substr(0, one.size() - tail);
    const auto told = parse_digest(one.substr(one.size() - kHashEnd, 64));
    const Digest head = chain(out.head, body);
    if (!told || *told != head)
      return bad("its hash does not follow from the lines before it: it, or one before it, was changed");
    const auto value = parse_json(std::string(body) + "}");
    auto charge = value ? charge_of(*value) : std::nullopt;
    if (!charge || charge->seq != out.charges.size() + 1) return bad("this is no charge");
    out.charges.push_back(std::move(*charge));
    out.head = head;
    out.bytes = end + 1;
  }
  return out;
}

}  // namespace muster
