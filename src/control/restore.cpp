#include "control/restore.h"

#include "model/codec.h"

namespace muster::control {
namespace {

// A snapshot of another fold, or one that cannot be read, is worth nothing: the events are the truth.
bool take_snapshot(const StoredSnapshot& stored, const ParseJson& parse_json, Books& out) {
  if (stored.fold_version != kFoldVersion || !parse_json) return false;
  const Result<Value> v = parse_json(stored.bytes);
  if (!v) return false;
  const Value* state = v->find("state");
  const Value* accounts = v->find("accounts");
  if (state == nullptr || accounts == nullptr) return false;
  auto s = decode_state(*state);
  auto a = decode_accounts(*accounts);
  if (!s || !a || s->seq != stored.seq) return false;
  out = {std::move(*s), std::move(*a)};
  return true;
}

}  // namespace

std::string encode_books(const Books& b) {
  return "{\"state\":" + encode_state(b.state) + ",\"accounts\":" + encode_accounts(b.accounts) + "}";
}

Result<Books> restore(Journal& journal, const ParseJson& parse_json) {
  Books b;
  auto stored = journal.latest_snapshot();
  if (!stored) return tl::unexpected(stored.error());
  if (*stored && !take_snapshot(**stored, parse_json, b)) b = Books{};
  auto read = journal.read(b.state.seq + 1, [&](const Event& e) {
    fold_event(b, e);
    return true;
  });
  if (!read) return tl::unexpected(read.error());
  return b;
}

}  // namespace muster::control
