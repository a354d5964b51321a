// Rest: slurmrestd as a second way to read nodes and reservations. Each call is bounded in time and size. What it cannot do, or
// does at fifty times the price (lists of jobs), stays with the tools; docs/slurm says which way is used for what.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "ingest/slurm_file.h"
#include "ingest/slurm_json.h"

namespace muster::slurm {

// What a slurmrestd offers, for `muster doctor` and for whoever sets one up. Where something does not work, `problem` says what
// and `next` what to do about it.
struct RestFacts {
  std::string url;
  std::string auth;                  // "unix socket", "token", "none"
  std::vector<std::string> offered;  // versions, newest first
  std::string version;               // chosen; empty: none that is known here
  std::string slurm;                 // its release
  bool nodes = false;                // were read
  bool reservations = false;
  bool drains = false;  // it has a call for them. Not used: scontrol does it on every release
  std::vector<std::string> warnings;
  std::string problem;
  std::string next;
};
// An error: nobody is there, or what is there is no slurmrestd.
Result<RestFacts> discover_rest(const RestSettings& settings);

class Rest {
 public:
  explicit Rest(RestSettings settings) : settings_(std::move(settings)) {}

  bool configured() const { return !settings_.url.empty(); }
  Result<std::vector<NodeRow>> nodes();
  Result<std::vector<ReservationRow>> reservations();
  // Versions that it offers, newest first.
  Result<std::vector<std::string>> versions();
  const std::string& version() const { return version_; }  // in use; empty: not known yet
  const RestMeta& meta() const { return meta_; }           // of the last answer

 private:
  // A list, and by slurmctld's clock when it last changed: asked with that time, slurmrestd answers "not modified".
  template <class Row>
  struct Kept {
    std::vector<Row> rows;
    Time updated;
  };
  template <class Row, class Parse>
  Result<std::vector<Row>> list(const char* what, Kept<Row>& kept, Parse parse);
  Result<void> choose();
  Result<std::string> get(const std::string& path, int* status);
  Result<std::string> token();
  Error explain(Error e) const;

  RestSettings settings_;
  std::string version_;
  RestMeta meta_;
  std::string token_;
  std::string token_file_seen_;  // which file it was read from: number, size and time of its last change
  Kept<NodeRow> nodes_;
  Kept<ReservationRow> reservations_;
};

}  // namespace muster::slurm
