// The middle of a JSON web token: who it is for and until when. Nobody here can check its signature; what it says serves to tell
// a person why slurmrestd, which can, did not take it.
#include <fmt/core.h>

#include "base/text.h"
#include "base/value.h"
#include "ingest/json.h"
#include "ingest/slurm_json.h"

namespace muster::slurm {
namespace {

// RFC 4648's base64url without padding. Empty: it is none.
std::string decode_base64url(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const auto digit = kDigits.find(c);
    if (digit == std::string_view::npos) return {};
    bits = (bits << 6U | static_cast<std::uint32_t>(digit)) & 0xFFFFFFU;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> static_cast<unsigned>(count) & 0xFFU);
  }
  return out;
}

}  // namespace

Result<TokenFacts> parse_token(std::string_view token) {
  constexpr std::size_t kMost = 64U << 10U;
  const auto parts = split(trim(token), '.');
  const auto none = [] {
    return fail(Code::bad_input, "it is no JSON web token", "make one: scontrol token username=NAME lifespan=SECONDS");
  };
  if (token.size() > kMost || parts.size() != 3 || parts[2].empty()) return none();
  const auto body = parse_json(decode_base64url(parts[1]), 8);
  if (!body || body->object() == nullptr) return none();
  TokenFacts out;
  for (const char* key : {"sun", "username"}) {
    const Value* user = body->find(key);
    if (out.user.empty() && user != nullptr && user->string() != nullptr) out.user = *user->string();
  }
  const Value* until = body->find("exp");
  constexpr std::int64_t kLatest = 9'000'000'000;
  if (until != nullptr && until->integer() != nullptr && *until->integer() > 0 && *until->integer() <= kLatest)
    out.expires = Time{*until->integer() * 1'000'000'000};
  return out;
}

}  // namespace muster::slurm
