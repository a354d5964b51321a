// Sockets to listen on and what the system says about them: plain system calls, so that only server.cpp needs Asio.
#pragma once
#include <sys/stat.h>

#include <cstddef>
#include <string>

#include "base/result.h"
#include "ports/http.h"

namespace muster::http {

// An open, listening, close-on-exec socket, for the caller to close.
struct Listener {
  int fd = -1;
  int port = -1;               // TCP
  std::string path;            // unix
  struct stat file {};         // of the unix socket, to recognise it again
};

// Loopback addresses only, unless `anywhere`: for who serves nothing but what anybody may read. Port 0: any free one.
Result<Listener> listen_tcp(const std::string& address, int port, bool anywhere = false);
// The socket has mode 0600 from the first moment anyone can reach it. A socket left by a crash is replaced.
Result<Listener> listen_unix(const std::string& path);
// Removes the unix socket, if it still is the one that was made.
void remove_socket(const Listener& listener);

// Room for as many descriptors as connections are wanted; returns how many connections the system allows.
std::size_t fit_connections(std::size_t wanted);

Peer peer_of(int fd, bool unix_socket);
void set_connection_options(int fd, bool unix_socket);

}  // namespace muster::http
