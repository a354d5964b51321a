// Commands that are declared and parsed but do nothing yet. Each leaves this file when its own file appears.
#include "commands.h"
#include "say.h"

namespace muster::cmd {
namespace {

int not_built(std::string command) {
  return say_error({Code::internal, "`muster " + command + "` is not built yet", ""});
}

}  // namespace

int run_demo(const DemoOptions&) { return not_built("demo"); }
int run_up(const UpOptions&) { return not_built("up"); }
int run_twin_run(const TwinRunOptions&) { return not_built("twin run"); }
int run_twin_replay(const TwinReplayOptions&) { return not_built("twin replay"); }
int run_twin_soak(const TwinSoakOptions&) { return not_built("twin soak"); }
int run_twin_serve(const TwinServeOptions&) { return not_built("twin serve"); }
int run_twin_inject(const TwinInjectOptions&) { return not_built("twin inject"); }
int run_pause(const PauseOptions&) { return not_built("pause"); }
int run_resume(const ResumeOptions&) { return not_built("resume"); }
int run_get(const GetOptions&) { return not_built("get"); }
int run_describe(const DescribeOptions&) { return not_built("describe"); }
int run_explain(const ExplainOptions&) { return not_built("explain"); }
int run_drain(const DrainOptions&) { return not_built("drain"); }
int run_submit(const SubmitOptions&) { return not_built("submit"); }
int run_cancel(const CancelOptions&) { return not_built("cancel"); }
int run_login(const LoginOptions&) { return not_built("login"); }
int run_journal_verify(const JournalVerifyOptions&) { return not_built("journal verify"); }
int run_journal_export(const JournalExportOptions&) { return not_built("journal export"); }
int run_completion(const CompletionOptions&) { return not_built("completion"); }

}  // namespace muster::cmd
