// The API: from a request to an answer. One object serves one cluster's View, Feed, Commands and Tools.
#pragma once
#include <functional>
#include <memory>

#include "api/auth.h"
#include "ports/commands.h"
#include "ports/feed.h"
#include "ports/http.h"
#include "ports/intake.h"
#include "ports/meter.h"
#include "ports/past.h"
#include "ports/tool.h"
#include "ports/view.h"

namespace muster::api {

struct Deps {
  View& view;
  Feed& feed;
  Commands& commands;
  Tools tools;
  Auth& auth;
  Random random;  // for the ids of commands that came without one
  // Runs a tool's work away from the server's thread; empty: it is run there, and everybody waits for it.
  std::function<void(std::function<void()>)> background;
  Intake* intake = nullptr;  // none: no agents are listened to
  Meters meters;             // of the edges, for /metrics; may be empty
  Past* past = nullptr;      // none: only the present is shown
  std::function<ToolSheet(std::string_view)> sheets;  // what each tool may be asked, by its name; empty: nothing is told of them
};

class Api {
 public:
  explicit Api(Deps deps);
  ~Api();  // after the server was stopped and `background` is empty
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  HttpHandler handler();
  // What /metrics answers; empty before the first snapshot. From any thread.
  std::string metrics() const;

 private:
  struct Desk;
  std::shared_ptr<Desk> desk_;
};

}  // namespace muster::api
