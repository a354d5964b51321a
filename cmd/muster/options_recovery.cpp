// Commands about recovery: runbooks, limits, approvals.
#include "options_parser.h"

namespace muster::cmd {

void Parser::add_runbook() {
  auto* runbook = command(app_, "runbook", "What is done about each kind of fault, and in what order", kLook,
                          "  muster runbook list\n  muster runbook show gpu_lost\n  muster runbook check ours.yaml\n"
                          "  muster runbook diff default ours.yaml");
  const auto add = [&](RunbookOptions& o, RunbookOptions::What what, const char* name, const char* about, const char* examples) {
    o.what = what;
    auto* sub = command(*runbook, name, about, nullptr, examples);
    add_format(sub, o.format, {Format::table, Format::json});
    return sub;
  };
  const auto several = [&](CLI::App* sub, RunbookOptions& o, const char* shown, const char* about, Word word) {
    value(
        sub, shown, shown, about, [&o, shown](const std::string& s) { o.names.push_back(checked(parse_words(shown, s, 4096))); },
        std::move(word))
        ->required()
        ->expected(1, CLI::detail::expected_max_vector_size)
        ->allow_extra_args();
  };
  auto* list = add(runbook_list_, RunbookOptions::What::list, "list", "All runbooks, one a line",
                   "  muster runbook list\n  muster runbook list --policy cautious -o json");
  add_policy(list, runbook_list_.policy, "Policy whose runbooks are shown [default]");
  chosen(list, runbook_list_);
  auto* show = add(runbook_show_, RunbookOptions::What::show, "show", "One in words: its steps, why, and who says so",
                   "  muster runbook show ecc_uncontained");
  several(show, runbook_show_, "NAME", "Runbooks", {});
  add_policy(show, runbook_show_.policy, "Policy whose runbooks are shown [default]");
  chosen(show, runbook_show_);
  auto* check = add(runbook_check_, RunbookOptions::What::check, "check", "Whether files of runbooks or policies are sound",
                    "  muster runbook check ours.yaml");
  several(check, runbook_check_, "FILE", "Files", {WordKind::file, {}});
  chosen(check, runbook_check_);
  auto* diff =
      add(runbook_diff_, RunbookOptions::What::diff, "diff", "In what the runbooks of two policies differ; exit code 6: they do",
          "  muster runbook diff default ours.yaml\n  muster runbook diff last-week.yaml ours.yaml -o json");
  several(diff, runbook_diff_, "POLICY", "Two policies: names or files", {WordKind::file, preset_policy_names()});
  chosen(diff, runbook_diff_);
}

void Parser::add_guard() {
  auto* guard = command(app_, "guard", "The limits that hold every act back", kLook, "  muster guard status");
  auto* status = command(*guard, "status", "How much of each limit is used, what is frozen, what waits for approval", nullptr,
                         "  muster guard status\n  muster guard status -o json");
  add_format(status, guard_.format, {Format::table, Format::json});
  add_connection(status, guard_.connection);
  chosen(status, guard_);
}

void Parser::add_shadow() {
  auto* shadow = command(app_, "shadow", "What would have been done where nothing is: policies with `shadow: true`", kLook,
                         "  muster shadow report\n  muster shadow report --journal week.db -o json");
  auto* sub =
      command(*shadow, "report", "What Muster would have done in shadow mode, what became of it, and what a person did as well",
              nullptr, "  muster shadow report\n  muster shadow report --journal week.db -o json");
  words(sub, "--journal", "FILE", "Read a journal file instead of asking a running Muster", shadow_.journal, {WordKind::file, {}},
        4095);
  add_format(sub, shadow_.format, {Format::table, Format::json});
  add_connection(sub, shadow_.connection);
  chosen(sub, shadow_);
}

void Parser::add_approve(ApproveOptions& o) {
  auto* sub = command(app_, o.reject ? "reject" : "approve",
                      o.reject ? "Say no to an act that waits for approval" : "Let an act happen that waits for approval", kAct,
                      o.reject ? "  muster reject 3 --reason \"the run ends tonight\"" : "  muster approve 3");
  value(sub, "ID", "ID", "Number of the approval: `muster guard status` lists them", [&o](const std::string& s) {
    o.id = checked(parse_count("ID", s, 1, UINT64_MAX));
  })->required();
  add_reason(sub, o.reason);
  add_connection(sub, o.connection);
  chosen(sub, o);
}

}  // namespace muster::cmd
