// Commands that run on a node, and what connects a cluster of real nodes to other programs.
#include "options_parser.h"

namespace muster::cmd {

void Parser::add_agent() {
  auto* sub =
      command(app_, "agent", "Watch this node: kernel log, GPUs, links, mounts; for the controller and for Prometheus", kRun,
              "  muster agent --controller https://head:7443 --token-file /etc/muster/agent-token --listen 0.0.0.0:9400\n"
              "  muster agent --once -o json");
  AgentOptions& o = agent_;
  words(sub, "--kmsg", "FILE", "Kernel log, or none; a file or fifo is less trusted: shown, never acted on [/dev/kmsg]",
        o.kernel_log, {WordKind::file, {}});
  flag(sub, "--trust-kmsg", o.trust_kernel_log,
       "Take what --kmsg FILE says for the kernel's own: for test beds, and containers that are handed their host's log");
  value(sub, "--controller", "URL", "Where events go: http(s)://HOST:PORT or unix:PATH; without it nothing is sent",
        [&o](const std::string& s) { o.controller = checked(parse_server("--controller", s, true)); });
  words(sub, "--token-file", "FILE",
        "File with the agents' token: agent-token in the controller's state directory [$MUSTER_TOKEN]", o.token_file,
        {WordKind::file, {}});
  words(sub, "--node", "NAME", "This node's name in the cluster file [host name]", o.node, {WordKind::node, {}}, 255);
  value(sub, "--listen", "ADDRESS", "Serve /metrics and /facts (for muster fleet) at ADDRESS:PORT, or none [127.0.0.1:9400]",
        [&o](const std::string& s) { o.listen = checked(parse_exporter_listen(s)); });
  words(sub, "--spool", "DIR", "Folder for what waits while the controller is away [/var/lib/muster-agent]", o.spool,
        {WordKind::directory, {}}, 90);
  value(sub, "--spool-mb", "N", "How much may wait there; what does not fit is counted and told [16]",
        [&o](const std::string& s) { o.spool_mb = checked(parse_count("--spool-mb", s, 1, 4096)); });
  value(sub, "--deadline", "TIME", "How long a probe may take before it counts as hung [5s]", [&o](const std::string& s) {
    o.deadline_s = checked(parse_duration_s("--deadline", s, 600));
    if (o.deadline_s < 0.05) throw BadValue{{Code::bad_input, "--deadline must be at least 50ms, is \"" + s + "\"", ""}};
  });
  value(sub, "--mount", "DIR", "Watch this folder besides the shared file systems that are mounted; may be given several times",
        [&o](const std::string& s) { o.mounts.push_back(checked(parse_words("--mount", s, 4096))); }, {WordKind::directory, {}})
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  value(sub, "--probe", "NAME=COMMAND", "A check of your own, every 30 s; another exit code than 0 is a problem; several times",
        [&o](const std::string& s) {
          if (s.find('=') == std::string::npos || s.find('=') == 0)
            throw BadValue{{Code::bad_input, "--probe must be NAME=COMMAND, is \"" + s + "\"", ""}};
          o.probes.push_back(checked(parse_words("--probe", s, 4096)));
        })
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  value(sub, "--job-log", "PATTERN",
        "Follow the logs of jobs for NCCL's and PyTorch's complaints and Megatron's progress: a path with * and %j for the job; "
        "several times",
        [&o](const std::string& s) {
          if (s.empty() || s[0] != '/')
            throw BadValue{
                {Code::bad_input, "--job-log must be an absolute path, is \"" + s + "\"", "for example /logs/slurm-%j.out"}};
          o.job_logs.push_back(checked(parse_words("--job-log", s, 4096)));
        })
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  words(sub, "--job-socket", "PATH",
        "Listen there for jobs that tell how far they are: a unix socket that any user may write to (docs/jobs.md)", o.job_socket,
        {WordKind::file, {}}, 100);
  value(
      sub, "--nccl-ras", "HOST:PORT", "Ask NCCL's own watch (RAS) which ranks do not answer; NCCL listens at 127.0.0.1:28028",
      [&o](const std::string& s) {
        const auto colon = s.rfind(':');
        const auto port = colon == std::string::npos ? std::nullopt : parse_uint(s.substr(colon + 1));
        if (!port || *port < 1 || *port > 65535 || colon == 0 || s.find('/') != std::string::npos)
          throw BadValue{{Code::bad_input, "--nccl-ras must be HOST:PORT, is \"" + s + "\"", "NCCL listens at 127.0.0.1:28028"}};
        o.nccl_ras = s;
      });
  flag(sub, "--no-job-environments", o.no_job_environments,
       "Do not look at what jobs here run in: libraries, images, variables (docs/fleet/runs.md)");
  words(sub, "--nvml", "FILE", "NVIDIA's management library [libnvidia-ml.so.1]", o.nvml, {WordKind::file, {}});
  flag(sub, "--once", o.once, "Ask every probe once, print what they say, and end");
  add_format(sub, o.format, {Format::table, Format::json});
  chosen(sub, o);
}

void Parser::add_check() {
  auto* sub = command(app_, "check", "Whether this node is fit for work, from its agent's cache; exit code 6: it is not", kLook,
                      "  muster check\n  muster check -o json\n  muster check --prolog");
  flag(sub, "--prolog", check_.prolog,
       "As Slurm's Prolog: 0 unless two witnesses agree that a GPU is lost, at most once an hour; what is not known passes");
  flag(sub, "--epilog", check_.epilog, "As Slurm's Epilog: the same, after a job");
  sub->get_option("--prolog")->excludes(sub->get_option("--epilog"));
  words(sub, "--spool", "DIR", "Folder of the agent [/var/lib/muster-agent]", check_.spool, {WordKind::directory, {}}, 90);
  add_format(sub, check_.format, {Format::table, Format::json});
  chosen(sub, check_);
}

void Parser::add_doctor() {
  auto* sub =
      command(app_, "doctor", "What a site offers Muster, what is missing, and the line that would add it; changes nothing",
              kLook, "  muster doctor --slurm slurm.yaml\n  muster doctor --slurm slurm.yaml -o json");
  words(sub, "--slurm", "FILE", "The Slurm file that `muster up --slurm` is given", doctor_.slurm, {WordKind::file, {}});
  sub->get_option("--slurm")->required();
  add_format(sub, doctor_.format, {Format::table, Format::json});
  chosen(sub, doctor_);
}

void Parser::add_live(CLI::App* sub) {
  UpOptions& o = up_;
  const auto grouped = [](CLI::Option* option) { return option->group(kLive); };
  const auto server = [&](const char* flag, const char* about, std::string& target) {
    grouped(value(sub, flag, "URL", about,
                  [&target, flag](const std::string& s) { target = checked(parse_server(flag, s, false)); }));
  };
  words(sub, "--scrape", "FILE", "Ask the exporters of this file (Prometheus' file_sd, JSON) directly; re-read when it changes",
        o.scrape, {WordKind::file, {}});
  server("--prometheus", "Ask this Prometheus or VictoriaMetrics for what its scrapes bring", o.prometheus);
  words(sub, "--prometheus-token-file", "FILE", "File with the bearer token for it", o.prometheus_token_file,
        {WordKind::file, {}});
  grouped(value(sub, "--every", "TIME", "How often exporters or Prometheus are asked, and series pushed [15s]",
                [&o](const std::string& s) {
                  o.every_s = checked(parse_duration_s("--every", s, 3600));
                  if (o.every_s < 1) throw BadValue{{Code::bad_input, "--every must be at least 1s, is \"" + s + "\"", ""}};
                }));
  grouped(value(sub, "--alertmanager", "URL", "Send findings to this Alertmanager; may be given several times",
                [&o](const std::string& s) { o.alertmanagers.push_back(checked(parse_server("--alertmanager", s, false))); }))
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  server("--remote-write", "Push Muster's own series there, e.g. http://head:9090/api/v1/write", o.remote_write);
  server("--page-url", "Where people reach Muster's page, for links in alerts [http://127.0.0.1:PORT]", o.page_url);
  for (const char* flag : {"--scrape", "--prometheus-token-file"}) sub->get_option(flag)->group(kLive);
}

}  // namespace muster::cmd
