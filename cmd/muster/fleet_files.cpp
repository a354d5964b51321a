#include "fleet_files.h"

#include <fmt/core.h>

#include <filesystem>
#include <set>

#include "base/text.h"
#include "base/time.h"
#include "files.h"
#include "fleet/held_back.h"
#include "fleet_facts.h"
#include "fleet_held.h"
#include "ingest/fact_book.h"
#include "ingest/fleet_rules.h"
#include "ingest/remedies.h"
#include "report/fleet_files.h"
#include "report/fleet_text.h"
#include "say.h"
#include "scene.h"

namespace muster::cmd {
namespace {

namespace fs = std::filesystem;

std::string places(const std::vector<std::string>& files) {
  std::string out;
  for (const std::string& f : files) out += (out.empty() ? "" : ", ") + (f == "-" ? std::string("stdin") : f);
  return out;
}

constexpr std::string_view kMark = "muster fleet emit";

// A single file is written over where Muster wrote it, and only there.
Result<void> write_own(const std::string& path, const std::string& text) {
  std::error_code failed;
  if (fs::exists(path, failed)) {
    const auto there = read_file(path);
    if (!there) return tl::unexpected(there.error());
    if (!there->empty() && there->find(kMark) == std::string::npos)
      return fail(Code::conflict, fmt::format("{} is there already, and Muster did not write it: nothing was written", path),
                  "name another file");
  }
  return write_file(path, text);
}

// What an earlier run wrote there for changes that are no more: whoever applies the folder would apply those too.
Result<void> nothing_earlier(const std::string& folder, const std::vector<report::TextFile>& files) {
  const auto kind = [](const fs::path& p) { return p.filename().string().substr(p.filename().string().find('.')); };
  std::set<fs::path> own, places = {fs::path(folder)};
  std::set<std::string> kinds;  // "change_01.goss.yaml" and "change_01.user-data.yaml" may lie in one folder
  for (const report::TextFile& f : files) {
    own.insert((fs::path(folder) / f.name).lexically_normal());
    if (fs::path(f.name).filename().string().starts_with("change_")) kinds.insert(kind(f.name));
    places.insert((fs::path(folder) / f.name).parent_path());
  }
  std::error_code failed;
  for (const fs::path& place : places) {
    for (fs::directory_iterator it(place, failed), end; !failed && it != end; it.increment(failed)) {
      const fs::path path = it->path().lexically_normal();
      if (!path.filename().string().starts_with("change_") || own.contains(path)) continue;
      if (!path.has_extension() || (!kinds.empty() && !kinds.contains(kind(path)))) continue;
      return fail(
          Code::conflict,
          fmt::format("{} is of an earlier run, and this one has no such change: nothing was written", printable(path.string())),
          "name a new folder, or empty this one");
    }
    failed.clear();
  }
  return {};
}

std::vector<report::TextFile> files_of(const FleetEmitOptions& o, const fleet::Repair& r, const std::string& whence) {
  switch (o.what) {
    case EmittedFile::ansible: return report::ansible_site(r, whence);
    case EmittedFile::cloud_init: return report::cloud_init_files(r, whence);
    case EmittedFile::goss: return report::goss_files(r, whence);
    case EmittedFile::tfvars: return {{"muster.auto.tfvars", report::tfvars(r, whence)}};
    default: return {{"redfish.json", report::redfish_tasks(r)}};
  }
}

Result<void> deliver(const FleetEmitOptions& o, const std::vector<report::TextFile>& files) {
  const bool one = o.what == EmittedFile::tfvars || o.what == EmittedFile::redfish;
  if (!o.out.empty()) return one ? write_own(o.out, files[0].text) : write_folder(o.out, files);
  if (files.size() > 1 && o.what != EmittedFile::ansible)
    return fail(Code::bad_input,
                fmt::format("{} changes are {} files of {}: they need a folder", files.size(), files.size(), name_of(o.what)),
                fmt::format("name it: muster fleet emit {} ... -o FOLDER", name_of(o.what)));
  for (const report::TextFile& f : files) {
    const bool alone = files.size() == 1;
    put(alone ? f.text : fmt::format("#### {}\n{}\n", f.name, f.text));
  }
  return {};
}

void say_what(const fleet::Repair& r) {
  std::size_t nodes = 0, reboot = 0, drain = 0, by_hand = 0;
  for (const fleet::ByHand& b : r.by_hand) by_hand += b.left_out ? 0 : 1;
  for (const fleet::ChangeSet& s : r.sets) {
    nodes += s.nodes.size();
    if (s.drain) drain += s.nodes.size();
    if (s.takes == RemedyTakes::reboot) reboot += s.nodes.size();
  }
  say(fmt::format("{} of {} nodes differ in what a tool can change, {} of them need a reboot; {} things are by hand, {} left out",
                  nodes, r.nodes.size(), reboot, by_hand, r.by_hand.size() - by_hand + r.notes.size()));
  if (drain > 0) say(fmt::format("{} of them have to be drained first: jobs would feel the change", drain));
  say_left_out(r);
}

}  // namespace

void say_left_out(const fleet::Repair& r) {
  constexpr std::size_t kShown = 20;
  std::size_t told = 0;
  for (const bool left_out : {true, false}) {
    for (const fleet::ByHand& b : r.by_hand) {
      if (b.left_out == left_out && told++ < kShown) say("  " + printable(report::told(r, b)));
    }
  }
  for (const std::string& note : r.notes) {
    if (told++ < kShown) say("  " + printable(note));
  }
  if (told > kShown) say(fmt::format("  and {} more, which the files name", told - kShown));
}

Result<void> write_folder(const std::string& folder, const std::vector<report::TextFile>& files) {
  std::error_code failed;
  if (auto ok = nothing_earlier(folder, files); !ok) return ok;
  for (const report::TextFile& f : files) {
    const fs::path path = fs::path(folder) / f.name;
    fs::create_directories(path.parent_path(), failed);
    if (failed) return tl::unexpected(file_error("make", path.parent_path().string(), failed.value()));
    if (!fs::exists(path, failed)) continue;
    const auto there = read_file(path.string());
    if (!there) return tl::unexpected(there.error());
    if (*there != f.text)
      return fail(Code::conflict, fmt::format("{} is there already and differs: nothing was written", path.string()),
                  "name a new folder, compare, and copy what you want");
  }
  for (const report::TextFile& f : files) {
    const std::string path = folder + "/" + f.name;
    if (auto ok = write_file(path, f.text); !ok) return ok;
    if (f.program) fs::permissions(path, fs::perms(0755), failed);
  }
  return {};
}

int emit_difference(const FleetEmitOptions& o) {
  if (o.facts.files.empty())
    return say_error({Code::bad_input, fmt::format("{} is made of facts: name their file", name_of(o.what)),
                      fmt::format("muster fleet emit {} facts.jsonl", name_of(o.what))});
  const auto table = load_facts(o.facts);
  if (!table) return say_error(table.error());
  const auto declared = load_declared(o.declared);
  if (!declared) return say_error(declared.error());
  Site site;
  if (!o.cluster.empty()) {
    auto read = load_cluster(o.cluster);
    if (!read) return say_error(read.error());
    site = std::move(*read);
  }
  const fleet::Golden golden = fleet::hold_against_kind(*table, fact_book(), *declared, {});
  fleet::RepairOf differences = fleet::differences_of(*table, golden, o.cluster.empty() ? nullptr : &site);
  fleet::CheckOptions check;
  check.today = render_utc(wall_now()).substr(0, 10);  // a life that ended since the facts were read has ended
  check.kinds = golden.cohorts;
  const fleet::Repair repair =
      fleet::plan_within_rules(std::move(differences), {*table, fact_book(), remedy_book(), fleet_rules(), check});
  const std::string whence = places(o.facts.files) + (o.declared.empty() ? "" : " against " + o.declared);
  if (auto ok = deliver(o, files_of(o, repair, whence)); !ok) return say_error(ok.error());
  say_what(repair);
  return finish_output();
}

}  // namespace muster::cmd
