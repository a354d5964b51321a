#include "accept_shown.h"

#include <fmt/format.h>

#include <filesystem>

#include "files.h"
#include "ingest/hardware_file.h"
#include "model_choice.h"
#include "report/accept_bundle.h"
#include "report/accept_page.h"
#include "report/accept_view.h"
#include "say.h"

namespace muster::cmd {
namespace {

constexpr int kFindings = 6, kUnknown = 5;

// The recording as its file has it, or as its rows say it.
std::string recorded_text(const Acceptance& a) {
  if (!a.file.empty()) {
    if (auto text = read_file(a.file)) return std::move(*text);
  }
  return {};
}

Result<void> write_bundle(const report::AcceptedNode& node, const std::string& folder) {
  std::error_code why;
  std::filesystem::create_directories(folder, why);
  if (why) return tl::unexpected(file_error("make", folder, why.value()));
  for (const report::BundleFile& f : report::accept_bundle(node, recorded_text(node.recording))) {
    if (auto ok = write_file((std::filesystem::path(folder) / f.name).string(), f.text); !ok) return ok;
  }
  say(fmt::format("for a return: {}", folder));
  return {};
}

}  // namespace

const GpuModel* sheet_of(const Acceptance& a) { return a.gpus.empty() ? nullptr : gpu_that_calls_itself(a.gpus.front().model); }

int exit_code_of(accept::Verdict v) {
  switch (v) {
    case accept::Verdict::pass: return 0;
    case accept::Verdict::could_not_run: return kUnknown;
    case accept::Verdict::degraded:
    case accept::Verdict::fail: break;
  }
  return kFindings;
}

Result<void> show_accepted(const Judged& j, const ShownAs& as) {
  const report::AcceptedNode node{j.recording, j.judgement, &j.limits, sheet_of(j.recording)};
  put(as.format == AcceptFormat::json ? report::accept_json(node) : report::render_accept(node, colour_wanted()));
  if (!as.html.empty()) {
    if (auto ok = write_file(as.html, report::accept_page(node)); !ok) return ok;
    say(fmt::format("written to {}", as.html));
  }
  if (!as.rma.empty()) return write_bundle(node, as.rma);
  return {};
}

}  // namespace muster::cmd
