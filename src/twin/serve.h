// A twin for a controller in another process: its reports and engine events over HTTP, and its orders the other way. docs/twin.md
// describes the calls.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "ports/http.h"
#include "twin/twin.h"

namespace muster::twin {

// How long and how widely a disaster strikes, from a request: "lasts_s", and of bad_push "share". What is not there stays.
Result<void> read_extent(const Value& body, Stroke& stroke);

// Not for several threads at once: whoever serves it takes care of that.
class Service {
 public:
  // `received` is called with each order, as JSON, before the twin sees it: the witness's log. An error refuses the order.
  Service(Twin& twin, const Site& site, std::string boot, std::string simulation, double speed,
          std::function<Result<void>(const Order&)> received);

  // From the thread that drives the twin: runs up to `steady` and takes over what it has to report.
  void advance_to(Time steady);
  // Answers on the server's thread.
  HttpHandler handler();

 private:
  HttpResponse answer(const HttpRequest& q);
  HttpResponse cluster() const;
  HttpResponse reports(const HttpRequest& q);
  HttpResponse order(const HttpRequest& q);
  HttpResponse inquire(const HttpRequest& q);
  HttpResponse inject(const HttpRequest& q);
  void drain();

  Twin& twin_;
  const Site& site_;
  std::string boot_;
  std::string simulation_;
  double speed_;
  std::function<Result<void>(const Order&)> received_;
  std::vector<std::string> events_;  // as JSON, by seq - 1: an engine remembers what it has said
  Inbox fresh_;                      // samples not yet in a batch
  std::uint64_t batch_ = 0;          // number of the batch below; it is sent again until it is acknowledged
  std::string batch_bytes_ = "{}";
};

}  // namespace muster::twin
