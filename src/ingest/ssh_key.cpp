#include "ingest/ssh_key.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace muster {
namespace {

struct Kind {
  std::string_view name;
  std::size_t parts;  // of the key, its name among them
};
constexpr Kind kKinds[] = {{"ssh-ed25519", 2},
                           {"ssh-rsa", 3},
                           {"ecdsa-sha2-nistp256", 3},
                           {"ecdsa-sha2-nistp384", 3},
                           {"ecdsa-sha2-nistp521", 3},
                           {"sk-ssh-ed25519@openssh.com", 3},
                           {"sk-ecdsa-sha2-nistp256@openssh.com", 4}};
constexpr std::size_t kRsaBytesMin = 2048 / 8, kEd25519Bytes = 32;

// RFC 4648, padded; nothing: it is none.
std::optional<std::string> decode_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text.substr(0, text.size() - padding)) {
    const auto digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = (bits << 6U | static_cast<std::uint32_t>(digit)) & 0xFFFFFFU;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> static_cast<unsigned>(count) & 0xFFU);
  }
  return out;
}

// Strings with their lengths in front (RFC 4251, section 5), to the last byte; nothing: they do not end where it does.
std::optional<std::vector<std::string>> parts_of(std::string_view blob) {
  std::vector<std::string> out;
  while (!blob.empty()) {
    if (blob.size() < 4) return std::nullopt;
    std::size_t length = 0;
    for (int i = 0; i < 4; ++i) length = length << 8U | static_cast<unsigned char>(blob[i]);
    blob.remove_prefix(4);
    if (length > blob.size()) return std::nullopt;
    out.emplace_back(blob.substr(0, length));
    blob.remove_prefix(length);
  }
  return out;
}

// Why a line is no public key; empty: it is one. Nothing of the line is told: it might be a secret in another form.
std::string wrong_with(std::string_view name, std::string_view base64) {
  const auto kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return k.name == name; });
  if (name == "ssh-dss") return "sshd takes no DSA keys any more: ssh-keygen -t ed25519 makes another";
  if (name.find("-cert-v01@") != std::string_view::npos) return "it is a certificate: name the public key that it was made for";
  if (kind == std::end(kKinds)) return "it does not begin with a kind of key, as ssh-ed25519 and ssh-rsa are";
  const auto blob = decode_base64(base64);
  const auto parts = blob ? parts_of(*blob) : std::nullopt;
  if (!parts || parts->size() != kind->parts) return fmt::format("what follows {} is no such key, or is cut off", name);
  if (parts->front() != name) return fmt::format("it says {} and holds another kind of key", name);
  if (name == "ssh-rsa" && (*parts)[2].size() < kRsaBytesMin) return "RSA keys of less than 2048 bits can be broken";
  if (name.find("ed25519") != std::string_view::npos && (*parts)[1].size() != kEd25519Bytes)
    return fmt::format("what follows {} is no such key, or is cut off", name);
  return "";
}

// Of the person, for people: what could end a line or a string, and what is no ASCII, becomes a question mark.
std::string plain_comment(std::string_view text) {
  std::string out;
  for (const char c : trim(text)) out += c >= ' ' && c <= '~' && c != '"' && c != '\\' ? c : '?';
  return out;
}

}  // namespace

Result<std::vector<std::string>> parse_ssh_keys(std::string_view text, std::string_view file) {
  constexpr const char* kNext = "name the .pub file that ssh-keygen wrote";
  const std::string name = printable(file);
  if (text.size() > kSshKeyFileMax)
    return fail(Code::bad_input, fmt::format("{} is larger than 1 MiB: no file of keys", name), kNext);
  for (const std::string_view mark : {"PRIVATE KEY", "PuTTY-User-Key-File", "SSH PRIVATE KEY FILE FORMAT"}) {
    if (text.find(mark) != std::string_view::npos)
      return fail(Code::bad_input, fmt::format("{} holds a private key, which no node may be given", name),
                  "name the public key beside it, which ends in .pub");
  }
  if (text.find("BEGIN SSH2 PUBLIC KEY") != std::string_view::npos)
    return fail(Code::bad_input, fmt::format("{} is a public key, but not as OpenSSH writes it", name),
                "convert it: ssh-keygen -i -f FILE > FILE.pub");
  std::vector<std::string> out;
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line);
    if (line.empty() || line.front() == '#') continue;
    const std::size_t first = std::min(line.find_first_of(" \t"), line.size());
    const std::string_view rest = trim(line.substr(first));
    const std::size_t second = std::min(rest.find_first_of(" \t"), rest.size());
    const std::string_view kind = line.substr(0, first), base64 = rest.substr(0, second);
    if (const std::string why = wrong_with(kind, base64); !why.empty())
      return fail(Code::bad_input, fmt::format("{}:{}: no public key of OpenSSH: {}", name, number, why), kNext);
    const std::string comment = plain_comment(rest.substr(second));
    out.push_back(fmt::format("{} {}{}{}", kind, base64, comment.empty() ? "" : " ", comment));
  }
  if (out.empty()) return fail(Code::bad_input, fmt::format("{} holds no public key", name), kNext);
  return out;
}

}  // namespace muster
