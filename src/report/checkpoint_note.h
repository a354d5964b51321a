// What is known of a job's checkpoints, and what it should do: for people, for programs, and for the job itself.
#pragma once
#include <memory>
#include <string>

#include "base/json_writer.h"
#include "model/state.h"

namespace muster::report {

class CheckpointNotes {
 public:
  explicit CheckpointNotes(const State& s);
  ~CheckpointNotes();
  CheckpointNotes(const CheckpointNotes&) = delete;
  CheckpointNotes& operator=(const CheckpointNotes&) = delete;

  // In plain words; empty: it does not run.
  std::string of(const Job& j) const;
  // An object, or null for a job that does not run.
  void write(JsonWriter& w, const Job& j) const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

// An array, for the agent of a node: what it may tell the jobs that run there about their checkpoints.
void write_paces(JsonWriter& w, const State& s, NodeId node);

}  // namespace muster::report
