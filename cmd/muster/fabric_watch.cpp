// muster fabric watch: a network that is read again and again. Readings come from the live fabric or from programs that print
// them; what they mean is worked out elsewhere.
#include "design/fabric_watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "adapters/agent/sender.h"
#include "adapters/infiniband/apart.h"
#include "agent_token.h"
#include "base/text.h"
#include "command_words.h"
#include "commands.h"
#include "fabric_net_text.h"
#include "fabric_texts.h"
#include "files.h"
#include "ingest/ib_survey.h"
#include "report/fabric_changes.h"
#include "say.h"
#include "tune_launch.h"

namespace muster::cmd {
namespace {

constexpr int kFindings = 6;
constexpr int kCodesOfTools = 125;                            // above: it could not be run, or a signal ended it
constexpr double kPatience = 120;                             // seconds that a command may take
constexpr double kLivePatience = 600;                         // a walk over a large fabric that loses answers
constexpr std::int64_t kChangesMax = std::int64_t{64} << 20;  // bytes of changes.jsonl; then it becomes changes.jsonl.1
constexpr int kLookMs = 200;                                  // how soon an interrupt is noticed

volatile std::sig_atomic_t stopped = 0;
void on_stop(int) { stopped = 1; }

double steady_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
Time utc_now() { return {std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count()}; }

// Takes readings, from whichever source.
class Source {
 public:
  static Result<Source> make(const FabricWatchOptions& o) {
    Source s(o.live);
    if (o.live.on) return s;
    const std::pair<const std::string*, std::vector<std::string>*> all[] = {
        {&o.command, &s.discover_}, {&o.links_command, &s.links_}, {&o.errors_command, &s.errors_}};
    static constexpr const char* kFlags[] = {"--command", "--links-command", "--errors-command"};
    for (std::size_t i = 0; i < std::size(all); ++i) {
      if (all[i].first->empty()) continue;
      auto words = command_words(kFlags[i], *all[i].first);
      if (!words) return tl::unexpected(words.error());
      *all[i].second = std::move(*words);
    }
    return s;
  }

  Result<design::FabricReading> read() const {
    auto r = live_.on ? read_live() : read_commands();
    if (r) r->at_s = steady_s();
    return r;
  }

 private:
  explicit Source(const LiveFabric& live) : live_(live) {}

  Result<design::FabricReading> read_live() const {
    infiniband::DiscoverAsk ask;
    ask.device = live_.device;
    ask.port = static_cast<int>(live_.port);
    ask.counters = true;
    auto found = infiniband::discover_apart(ask, kLivePatience, [] { return stopped != 0; });
    if (!found) return tl::unexpected(found.error());
    auto survey = parse_ib_survey(found->net, "the live fabric");
    if (!survey) return tl::unexpected(survey.error());
    design::FabricReading out;
    out.found = std::move(*survey);
    out.ports = std::move(found->ports);
    out.counters = std::move(found->counters);
    return out;
  }

  Result<design::FabricReading> read_commands() const {
    const auto net = printed(discover_);
    if (!net) return tl::unexpected(net.error());
    auto told = net_in(*net, discover_.front());
    if (!told) return tl::unexpected(told.error());
    design::FabricReading out;
    out.found = std::move(told->survey);
    out.ethernet = told->ethernet;
    if (out.ethernet && !(links_.empty() && errors_.empty()))
      return fail(Code::bad_input, fmt::format("{} prints what LLDP told of an Ethernet network", discover_.front()),
                  "--links-command and --errors-command are of InfiniBand: leave them out");
    if (!links_.empty()) {
      const auto text = printed(links_);
      if (!text) return tl::unexpected(text.error());
      auto ports = ports_in(*text, links_.front());
      if (!ports) return tl::unexpected(ports.error());
      out.ports = std::move(*ports);
    }
    if (!errors_.empty()) {
      const auto text = printed(errors_);
      if (!text) return tl::unexpected(text.error());
      auto counters = counters_in(*text, errors_.front());
      if (!counters) return tl::unexpected(counters.error());
      out.counters = std::move(*counters);
    }
    return out;
  }

  static Result<std::string> printed(const std::vector<std::string>& words) {
    Launch ask;
    ask.words = words;
    ask.limit_s = kPatience;
    ask.complaints_apart = true;
    ask.whole_or_nothing = true;
    auto ran = launch(ask);
    if (!ran) return fail(ran.error().code, ran.error().what, "it is started without a shell: name the program by its path");
    if (ran->interrupted) {
      stopped = 1;
      return fail(Code::unreachable, "interrupted");
    }
    if (ran->timed_out)
      return fail(Code::unreachable, fmt::format("{} did not end within {} s", words[0], kPatience), "see why it hangs");
    if (ran->too_much)
      return fail(Code::bad_input, fmt::format("{} printed more than {} MiB and was ended", words[0], kLaunchOutputMax >> 20),
                  "run it by itself: it must print what the tool of that name does");
    // The tools end with other codes than 0 where ports have errors or do not answer, and what they printed says so.
    if (ran->output.empty() || ran->exit > kCodesOfTools)
      return fail(Code::bad_input, fmt::format("{} ended with {} and printed {} bytes", words[0], ran->exit, ran->output.size()),
                  "run it by itself: it must print what the tool of that name does");
    return std::move(ran->output);
  }

  LiveFabric live_;
  std::vector<std::string> discover_, links_, errors_;
};

// What is kept for others. What stands is replaced whole, so that whoever reads it never sees half.
class Folder {
 public:
  static Result<Folder> open(const std::string& path) {
    Folder f;
    f.path_ = path;
    if (path.empty()) return f;
    std::error_code failed;
    std::filesystem::create_directories(path, failed);
    if (failed) return tl::unexpected(file_error("make", path, failed.value()));
    if (auto ok = check_writable(path + "/changes.jsonl"); !ok) return tl::unexpected(ok.error());
    return f;
  }

  Result<void> keep(const std::string& lines, const std::string& standing) const {
    if (path_.empty()) return {};
    if (!lines.empty()) {
      if (auto ok = append(path_ + "/changes.jsonl", lines); !ok) return ok;
    }
    if (standing.empty()) return {};
    const std::string name = path_ + "/faults.json", fresh = name + ".new";
    if (auto ok = write_file(fresh, standing); !ok) return ok;
    if (std::rename(fresh.c_str(), name.c_str()) != 0) return tl::unexpected(file_error("write", name, errno));
    return {};
  }

 private:
  static Result<void> append(const std::string& name, const std::string& lines) {
    struct stat is = {};
    if (::stat(name.c_str(), &is) == 0 && is.st_size >= kChangesMax) std::rename(name.c_str(), (name + ".1").c_str());
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0) return tl::unexpected(file_error("write", name, errno));
    std::size_t done = 0;
    while (done < lines.size()) {
      const ssize_t n = ::write(fd, lines.data() + done, lines.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      done += static_cast<std::size_t>(n);
    }
    const int why = errno;
    ::close(fd);
    if (done < lines.size()) return tl::unexpected(file_error("write", name, why));
    return {};
  }

  std::string path_;
};

// The controller that is told all that stands, after each reading: a word that is lost or comes twice changes nothing.
class Controller {
 public:
  Controller(std::string url, std::string token) : url_(std::move(url)), token_(std::move(token)) {}

  bool wanted() const { return !url_.empty(); }
  // What is wrong with it is said once, and once that it answers again.
  void tell(std::string body) {
    const auto told = hand_over(std::move(body));
    if (!told && status_ != said_) {
      const Error& e = told.error();
      say(fmt::format("{}{}{}; it is told again with the next reading", e.what, e.next.empty() ? "" : "; ", e.next));
    }
    if (told && said_ != kTaken) say("the controller is told again");
    said_ = status_;
  }
  Result<void> tell_once(std::string body) { return hand_over(std::move(body)); }

 private:
  static constexpr int kTaken = 200;

  Result<void> hand_over(std::string body) {
    const auto answer = agent::post_intake(url_, token_, std::move(body));
    status_ = answer ? answer->status : 0;
    if (status_ == kTaken) return {};
    if (!answer) return fail(Code::unreachable, "the controller was not told: " + answer.error().what, answer.error().next);
    Code code = status_ >= 500 ? Code::unreachable : Code::refused;
    std::string next;
    if (status_ == 401 || status_ == 403) {
      code = Code::not_allowed;
      next = "--token-file must have the agents' token: agent-token of the controller's state directory";
    }
    if (status_ == 404) {
      code = Code::not_found;
      next = "--controller must be the address of a controller, and one that is no older than this program";
    }
    const std::string body_said = printable(clipped(answer->body, 300));
    return fail(code, fmt::format("the controller was not told: it answers {}: {}", status_, body_said), next);
  }

  std::string url_, token_;
  int status_ = kTaken, said_ = kTaken;  // the last answer, and what was said of it; 0: none
};

class Watcher {
 public:
  Watcher(const FabricWatchOptions& o, Source source, Folder folder, Controller controller, NetText design)
      : o_(o),
        source_(std::move(source)),
        folder_(std::move(folder)),
        controller_(std::move(controller)),
        design_(std::move(design)) {}

  int run() {
    for (bool first = true; stopped == 0; first = false) {
      const double began = steady_s();
      if (auto ok = turn(first); !ok) return stopped != 0 && !o_.once ? finish_output() : say_error(ok.error());
      if (const int failed = finish_output(); failed != 0) return failed;
      // Whoever ends it before it has read anything is not told that all is well.
      if (o_.once && !watch_) return say_error({Code::unreachable, "interrupted before the network was read", ""});
      if (o_.once) return watch_->faults().empty() ? 0 : kFindings;
      while (stopped == 0 && steady_s() < began + o_.every_s) ::poll(nullptr, 0, kLookMs);
    }
    return finish_output();
  }

 private:
  // Which cables can be judged is known from the first reading.
  Result<void> begin(const design::FabricReading& r) {
    if (design_.ethernet && !r.ethernet)
      return fail(Code::bad_input, fmt::format("{} is of an Ethernet network, and what is read is of InfiniBand", o_.design),
                  "--command with one that prints what lldpctl does on all hosts");
    ethernet_ = r.ethernet;
    Fabric& design = design_.survey.fabric;
    if (ethernet_ && leave_out_trunks(design, r.found.fabric)) say(std::string(kTrunksNotJudged));
    hosts_.emplace(design);
    watch_.emplace(std::move(design), o_.window_s);
    return {};
  }

  Result<design::FabricReading> read() const {
    auto r = source_.read();
    if (r && watch_ && r->ethernet != ethernet_)
      return fail(Code::bad_input, "the command prints another kind of network than before", "run it by itself");
    return r;
  }

  // A reading that fails at the start is a mistake in the command; later it is told once, and the watch goes on.
  Result<void> turn(bool first) {
    auto reading = read();
    const Time now = utc_now();
    if (stopped != 0) return {};
    if (!reading) {
      if (first) return tl::unexpected(reading.error());
      if (unread_ == reading.error().what) return {};
      unread_ = reading.error().what;
      return tell(report::render_fabric_unread(unread_, now), report::fabric_unread_json(unread_, now), {});
    }
    if (first) {
      if (auto ok = begin(*reading); !ok) return ok;
    }
    std::string text, lines;
    if (!unread_.empty()) {
      unread_.clear();
      text = report::render_fabric_unread(unread_, now);
      lines = report::fabric_unread_json(unread_, now);
    }
    for (const design::FabricChange& c : watch_->take(std::move(*reading))) {
      text += report::render_fabric_change(c, now, colour_wanted());
      lines += report::fabric_change_json(c, now);
    }
    if (first && o_.format == report::Format::table) say(first_words());
    auto kept = tell(text, lines, report::fabric_standing_json(*watch_, now));
    if (!controller_.wanted()) return kept;
    std::string body = report::fabric_told_json(*watch_, *hosts_, o_.name, o_.once ? 0 : o_.every_s);
    if (!o_.once) {
      controller_.tell(std::move(body));
    } else if (auto told = controller_.tell_once(std::move(body)); !told && kept) {
      return told;
    }
    return kept;
  }

  std::string first_words() const {
    const auto& c = watch_->compared();
    return fmt::format("{} of {} cables are as designed, {} of {} devices answer{}{}", c.cables_as_wanted, c.cables_wanted,
                       std::min(c.devices_found, c.devices_wanted), c.devices_wanted, c.complete ? "" : "; answers were lost",
                       o_.once ? "" : fmt::format("; read again every {}", render_duration(from_seconds(o_.every_s))));
  }

  Result<void> tell(const std::string& text, const std::string& lines, const std::string& standing) {
    put(o_.format == report::Format::jsonl ? lines : text);
    return folder_.keep(lines, standing);
  }

  const FabricWatchOptions& o_;
  Source source_;
  Folder folder_;
  Controller controller_;
  NetText design_;                            // until the first reading
  std::optional<design::FabricHosts> hosts_;  // from it on, as the rest
  std::optional<design::FabricWatch> watch_;
  bool ethernet_ = false;
  std::string unread_;  // why the last reading failed; empty: it did not
};

}  // namespace

int run_fabric_watch(const FabricWatchOptions& o) {
  if (!o.live.on && o.command.empty()) {
    return say_error({Code::bad_input, "where readings come from is not given",
                      "--live on a machine that is plugged in, or --command \"ibnetdiscover\""});
  }
  if (o.design.empty()) {
    return say_error({Code::bad_input, "what the network should be is not given",
                      "--design FILE: of `muster fabric design`, or what ibnetdiscover or lldpctl prints while all is well"});
  }
  if (!o.once && o.window_s < o.every_s) {
    const auto words = [](double s) { return render_duration(from_seconds(s)); };
    return say_error({Code::bad_input,
                      fmt::format("--window ({}) is shorter than --every ({}): no two readings would be in it", words(o.window_s),
                                  words(o.every_s)),
                      fmt::format("--window {:.0f}s and more shows trends, which take four readings", 4 * o.every_s)});
  }
  const auto text = read_fabric_file(o.design);
  if (!text) return say_error(text.error());
  auto design = net_in(*text, o.design);
  if (!design) return say_error(design.error());
  auto source = Source::make(o);
  if (!source) return say_error(source.error());
  auto folder = Folder::open(o.folder);
  if (!folder) return say_error(folder.error());
  auto token = agent_token_for(o.controller, o.token_file);
  if (!token) return say_error(token.error());
  struct sigaction act = {};
  act.sa_handler = on_stop;
  sigemptyset(&act.sa_mask);
  ::sigaction(SIGINT, &act, nullptr);
  ::sigaction(SIGTERM, &act, nullptr);
  Controller controller(o.controller, std::move(*token));
  return Watcher(o, std::move(*source), std::move(*folder), std::move(controller), std::move(*design)).run();
}

}  // namespace muster::cmd
