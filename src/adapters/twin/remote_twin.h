// RemoteTwin: the client of `muster twin serve`.
#pragma once
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "adapters/mailbox/mailbox.h"
#include "base/value.h"
#include "model/site.h"
#include "ports/actuator.h"
#include "ports/clock.h"
#include "ports/observatory.h"

namespace muster {

class RemoteTwin final : public Clock, public Observatory, public Actuator {
 public:
  // "unix:PATH" or "http://127.0.0.1:PORT". Asks once what cluster it is.
  static Result<std::unique_ptr<RemoteTwin>> connect(const std::string& where, Mailbox& mailbox);
  ~RemoteTwin() override;

  const Site& site() const { return site_; }
  const std::string& simulation() const { return simulation_; }
  // Begins to poll, after the engine's event `seq` of boot `boot` (0 and "": from the first).
  void begin(const std::string& boot, std::uint64_t seq);

  Now now() const override;
  void poll(Inbox& out) override;
  void wait(Time until) override;
  // A twin that cannot be reached may or may not have got the order: that is for an inquiry to settle, so it is no error.
  Result<void> submit(const Order& order) override;
  // Asked by the thread that polls: after a kill there may be hundreds to ask about, and the loop must not wait for them.
  Result<void> inquire(const std::string& key) override;

  // Empty while it answers; otherwise what is wrong. An error when another twin answers in its place.
  Result<std::string> trouble() const;
  const std::string& boot() const { return boot_; }

  Result<std::string> post(const std::string& path, const std::string& body);

 private:
  RemoteTwin(std::string where, Mailbox& mailbox);
  Result<Value> get(const std::string& path, int patience_ms, int* status);
  void run();
  bool take(const Value& answer);
  void ask_about(std::set<std::string> keys);

  std::string url_;
  std::string socket_;
  Mailbox& mailbox_;
  Site site_;
  std::string boot_;
  std::string simulation_;
  double speed_ = 1;

  mutable std::mutex lock_;
  std::condition_variable polled_;
  Now now_;
  std::chrono::steady_clock::time_point answered_ = std::chrono::steady_clock::now();
  bool replaced_ = false;  // another twin answers under this address
  Inbox ready_;          // received, not yet polled
  bool has_ready_ = false;
  bool in_turn_ = false; // polled; the loop is at work on it
  std::uint64_t after_ = 0;
  std::uint64_t ack_ = 0;
  std::set<std::string> questions_;  // keys of orders
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace muster
