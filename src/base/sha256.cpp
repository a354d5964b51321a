#include <openssl/evp.h>

#include "base/check.h"
#include "base/hash.h"

namespace muster {
namespace {
// One context for the life of the thread: creating one costs more than hashing an event.
struct Context {
  EVP_MD_CTX* c = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(c); }
};
Digest digest2(const void* a, std::size_t na, const void* b, std::size_t nb) {
  thread_local Context ctx;
  static const EVP_MD* const md = EVP_MD_fetch(nullptr, "SHA256", nullptr);  // once: the short name is looked up at every use
  Digest out;
  unsigned n = 0;
  const bool ok = EVP_DigestInit_ex(ctx.c, md, nullptr) == 1 && EVP_DigestUpdate(ctx.c, a, na) == 1 &&
                  EVP_DigestUpdate(ctx.c, b, nb) == 1 && EVP_DigestFinal_ex(ctx.c, out.data(), &n) == 1;
  MUSTER_CHECK(ok && n == out.size());
  return out;
}
}  // namespace

Digest sha256(std::string_view bytes) { return digest2(bytes.data(), bytes.size(), "", 0); }

Digest chain(const Digest& prev, std::string_view bytes) {
  return digest2(prev.data(), prev.size(), bytes.data(), bytes.size());
}

std::string render_hex(const Digest& d) {
  static const char* const kHex = "0123456789abcdef";
  std::string s;
  s.reserve(64);
  for (std::uint8_t b : d) {
    s += kHex[b >> 4];
    s += kHex[b & 15];
  }
  return s;
}

std::optional<Digest> parse_digest(std::string_view hex) {
  if (hex.size() != 64) return std::nullopt;
  const auto nibble = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
  };
  Digest d;
  for (std::size_t i = 0; i < 32; ++i) {
    const int hi = nibble(hex[2 * i]);
    const int lo = nibble(hex[2 * i + 1]);
    if (hi < 0 || lo < 0) return std::nullopt;
    d[i] = static_cast<std::uint8_t>(hi * 16 + lo);
  }
  return d;
}

}  // namespace muster
