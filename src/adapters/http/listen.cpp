#include "adapters/http/listen.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace muster::http {
namespace {

constexpr std::size_t kFilesKept = 256;  // descriptors left for everything that is not a connection
constexpr int kBacklog = 4096;

struct Fd {
  int fd = -1;
  ~Fd() {
    if (fd >= 0) close(fd);
  }
  int release() { return std::exchange(fd, -1); }
};

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  bool loopback = false;
};

std::optional<Address> parse_address(const std::string& text, int port) {
  Address a;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&a.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&a.storage);
  if (inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(static_cast<std::uint16_t>(port));
    a.size = sizeof *v4;
    a.loopback = ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    return a;
  }
  if (inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<std::uint16_t>(port));
    a.size = sizeof *v6;
    a.loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    return a;
  }
  return std::nullopt;
}

bool somebody_answers(const sockaddr_un& address) {
  const Fd probe{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  return connect(probe.fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  path.copy(a.sun_path, sizeof a.sun_path - 1);
  return a;
}

}  // namespace

Result<Listener> listen_tcp(const std::string& address, int port, bool anywhere) {
  const std::string name = address == "localhost" ? "127.0.0.1" : address;
  if (port > 65535) return fail(Code::bad_input, fmt::format("port {} is above 65535", port), "use --port N with N up to 65535");
  const auto to = parse_address(name, port);
  if (!to) return fail(Code::bad_input, fmt::format("'{}' is not an IP address", printable(address)), "use 127.0.0.1 or ::1");
  if (!to->loopback && !anywhere) {
    return fail(Code::bad_input,
                fmt::format("refusing to listen on {}: there is no TLS, so tokens and the cluster's state would cross the "
                            "network in the clear", name),
                "listen on 127.0.0.1 and reach it from elsewhere with: ssh -L 7070:127.0.0.1:7070 HOST");
  }
  Fd fd{socket(to->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const int on = 1;
  const bool ok = fd.fd >= 0 && setsockopt(fd.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                  bind(fd.fd, reinterpret_cast<const sockaddr*>(&to->storage), to->size) == 0 && listen(fd.fd, kBacklog) == 0;
  const int error = errno;
  if (!ok && error == EADDRINUSE) {
    return fail(Code::conflict, fmt::format("port {} is in use by another program", port),
                "use --port N (--port 0 takes any free one), or stop the other program");
  }
  if (!ok && error == EACCES) {
    return fail(Code::not_allowed, fmt::format("port {} needs root", port), "use --port N with N above 1023");
  }
  if (!ok) return fail(Code::unreachable, fmt::format("cannot listen on {}:{}: {}", name, port, std::strerror(error)));
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  getsockname(fd.fd, reinterpret_cast<sockaddr*>(&bound), &size);
  const auto number = bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                                  : reinterpret_cast<sockaddr_in*>(&bound)->sin_port;
  Listener out;
  out.fd = fd.release();
  out.port = ntohs(number);
  return out;
}

// Bound under a temporary name, made 0600, and only then given its name: nobody can ever reach it with other permissions,
// whatever the umask.
Result<Listener> listen_unix(const std::string& path) {
  const std::string temporary = fmt::format("{}.{}", path, getpid());
  if (temporary.size() >= sizeof(sockaddr_un::sun_path)) {
    return fail(Code::bad_input, fmt::format("{} is too long a path for a unix socket", printable(path)),
                "use a state directory with a shorter path");
  }
  struct stat there {};
  if (lstat(path.c_str(), &there) == 0) {
    if (!S_ISSOCK(there.st_mode)) {
      return fail(Code::conflict, fmt::format("{} is in the way: it is not a socket", printable(path)), "move it away");
    }
    if (somebody_answers(unix_address(path))) {
      return fail(Code::conflict, fmt::format("another muster listens on {}", printable(path)),
                  "stop it, or use another state directory");
    }
  }
  const sockaddr_un to = unix_address(temporary);
  unlink(temporary.c_str());
  Fd fd{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const bool ok = fd.fd >= 0 && bind(fd.fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 &&
                  chmod(temporary.c_str(), 0600) == 0 && listen(fd.fd, kBacklog) == 0 &&
                  rename(temporary.c_str(), path.c_str()) == 0;
  if (!ok) {
    const int error = errno;
    unlink(temporary.c_str());
    return fail(Code::unreachable, fmt::format("cannot listen on {}: {}", printable(path), std::strerror(error)),
                "the folder must exist and be writable");
  }
  Listener out;
  out.fd = fd.release();
  out.path = path;
  lstat(path.c_str(), &out.file);
  return out;
}

void remove_socket(const Listener& l) {
  struct stat now {};
  if (l.path.empty() || lstat(l.path.c_str(), &now) != 0) return;
  if (now.st_ino == l.file.st_ino && now.st_dev == l.file.st_dev) unlink(l.path.c_str());
}

std::size_t fit_connections(std::size_t wanted) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return wanted;
  const rlim_t want = wanted + kFilesKept;
  if (files.rlim_cur < want) {
    rlimit raised = files;
    raised.rlim_cur = std::min<rlim_t>(want, files.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) files = raised;
  }
  if (files.rlim_cur >= want) return wanted;
  return files.rlim_cur > 2 * kFilesKept ? files.rlim_cur - kFilesKept : files.rlim_cur / 2;
}

Peer peer_of(int fd, bool unix_socket) {
  Peer peer;
  peer.unix_socket = unix_socket;
  if (unix_socket) {
    ucred cred{};
    socklen_t size = sizeof cred;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) == 0) peer.uid = cred.uid;
    return peer;
  }
  sockaddr_storage from{};
  socklen_t size = sizeof from;
  char text[INET6_ADDRSTRLEN] = "";
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&from), &size) == 0) {
    const void* address = from.ss_family == AF_INET6
                              ? static_cast<const void*>(&reinterpret_cast<sockaddr_in6*>(&from)->sin6_addr)
                              : static_cast<const void*>(&reinterpret_cast<sockaddr_in*>(&from)->sin_addr);
    if (inet_ntop(from.ss_family, address, text, sizeof text) != nullptr) peer.address = text;
  }
  return peer;
}

void set_connection_options(int fd, bool unix_socket) {
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  const int on = 1;
  if (!unix_socket) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace muster::http
