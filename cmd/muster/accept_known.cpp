#include "accept_known.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <optional>
#include <thread>

#include "accept/plan.h"
#include "base/text.h"
#include "files.h"
#include "ingest/acceptance_reference.h"
#include "say.h"

namespace muster::cmd {
namespace {

namespace fs = std::filesystem;

struct Place {
  std::string path;
  bool named = false;  // by a person: it must be a recording
};

Result<std::vector<Place>> places_of(const std::vector<std::string>& names) {
  std::vector<Place> out;
  for (const std::string& name : names) {
    std::error_code why;
    if (!fs::is_directory(name, why)) {
      out.push_back({name, true});
      continue;
    }
    std::vector<std::string> found;
    for (fs::recursive_directory_iterator it(name, fs::directory_options::skip_permission_denied, why), end; !why && it != end;
         it.increment(why)) {
      const std::string path = it->path().string();
      const bool named_so = path.size() > std::string_view(kRecordingEnd).size() && path.ends_with(kRecordingEnd);
      std::error_code gone;
      if (named_so && it->is_regular_file(gone)) found.push_back(path);
    }
    if (why) return tl::unexpected(file_error("read", name, why.value()));
    std::sort(found.begin(), found.end());
    for (std::string& path : found) out.push_back({std::move(path), false});
  }
  return out;
}

Result<Acceptance> read_recording(const std::string& path, WithReadings readings) {
  const auto text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  return parse_acceptance(*text, path, readings);
}

}  // namespace

Result<Recordings> read_recordings(const std::vector<std::string>& names, WithReadings readings) {
  const auto places = places_of(names);
  if (!places) return tl::unexpected(places.error());
  std::vector<std::optional<Result<Acceptance>>> read(places->size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < places->size(); i = next++) read[i] = read_recording((*places)[i].path, readings);
  };
  // A fleet is thousands of files, each by itself.
  std::vector<std::thread> others;
  for (unsigned n = 1; n < std::min<std::size_t>(std::thread::hardware_concurrency(), places->size()); ++n)
    others.emplace_back(work);
  work();
  for (std::thread& t : others) t.join();
  Recordings out;
  for (std::size_t i = 0; i < places->size(); ++i) {
    Result<Acceptance>& r = *read[i];
    if (r) {
      out.all.push_back(std::move(*r));
    } else if ((*places)[i].named) {
      return tl::unexpected(r.error());
    } else {
      say(fmt::format("left out: {}", r.error().what));
      out.left_out.push_back(r.error().what);
    }
  }
  return out;
}

std::vector<AcceptReference> shipped_references(bool wanted) {
  return wanted ? shipped_acceptance_references(accept::kSuiteVersion) : std::vector<AcceptReference>();
}

accept::Limits limits_of(const std::vector<Acceptance>& recordings, bool shipped) {
  return accept::Limits(recordings, shipped_references(shipped));
}

Result<accept::Limits> known_limits(const KnownGpus& known) {
  const auto recordings = read_recordings(known.folders, WithReadings::no);
  if (!recordings) return tl::unexpected(recordings.error());
  return limits_of(recordings->all, known.shipped);
}

}  // namespace muster::cmd
