// Cursor: what an agent must remember between two runs. One block, written in place: it needs no room, so a full disk does not
// stop it. It may be a second old when the agent is killed: what is read again is recognised by its number and not taken twice.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"

namespace muster::agent {

struct Position {
  std::string boot;          // of the kernel, or of one incarnation of a file
  std::uint64_t seq = 0;     // number of the last record that was dealt with, in the agent's stream
  std::uint64_t inode = 0;   // of a file
  std::uint64_t offset = 0;  // in it
  auto operator<=>(const Position&) const = default;
};

class Cursor {
 public:
  static Result<std::unique_ptr<Cursor>> open(const std::string& path);
  ~Cursor();
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  const Position& position() const { return position_; }
  const std::string& id() const { return id_; }  // of this agent's own stream: made once
  void save(const Position& position);
  // The next number of the agent's own stream. Numbers are set aside in blocks, so that none is ever given twice.
  std::uint64_t next_own();

 private:
  Cursor(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  Result<void> load();
  bool write();

  int fd_;
  std::string path_;
  Position position_;
  std::string id_;
  std::uint64_t own_ = 0;
  std::uint64_t own_reserved_ = 0;
};

}  // namespace muster::agent
