// Result<T>: what every function returns that the world can make fail. Callers branch on the code, people read the text.
#pragma once
#include <string>
#include <tl/expected.hpp>

namespace muster {

enum class Code {
  internal,      // our own defect or an engine's nonsense
  bad_input,     // a file, flag or body is wrong
  not_found,     // the thing named does not exist
  not_allowed,   // authentication, role
  unreachable,   // an engine, server or file system does not answer
  refused,       // a safety limit said no
  conflict,      // somebody else has it, or the state forbids it
  corrupt,       // stored bytes are not what was written
};

struct Error {
  Code code = Code::internal;
  std::string what;  // what happened and where, e.g. "policy.yaml:12: limits.drain.cluster_pct must be 0 to 100, is 400"
  std::string next;  // what to do about it; may be empty
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Code code, std::string what, std::string next = {}) {
  return tl::unexpected<Error>(Error{code, std::move(what), std::move(next)});
}

// Exit codes of the command line, part of its public contract.
inline int exit_code(Code c) {
  switch (c) {
    case Code::not_found: return 3;
    case Code::not_allowed: return 4;
    case Code::unreachable: return 5;
    case Code::refused: return 7;
    case Code::bad_input: return 2;
    case Code::internal:
    case Code::conflict:
    case Code::corrupt: return 1;
  }
  return 1;
}

}  // namespace muster
