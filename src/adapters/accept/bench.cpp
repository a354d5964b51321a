#include "adapters/accept/bench.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "adapters/accept/choose.h"
#include "adapters/accept/driver_trouble.h"
#include "adapters/state/lock.h"

namespace muster::bench {
namespace {

constexpr int kTurnMs = 50;             // how soon a deadline or a stop is noticed at the latest
constexpr double kTellEvery = 0.1;      // seconds between two words on progress
constexpr double kLookFresh = 0.2;      // seconds for which a look at the GPUs is good
constexpr double kOursFor = 2;          // seconds for which the driver's own counter of work still shows ours
constexpr double kBusyPct = 5;
constexpr int kLinkLooks = 3;
constexpr double kStoppedAskS = 0.3;    // for an answer of NVML when a person waits
constexpr double kKilledFor = 1;        // seconds that a killed process is waited for
constexpr double kMemoryFor = 2;        // seconds for which the driver may need to take memory back
constexpr double kMemoryNoiseMib = 1;
constexpr std::uint64_t kDriverWordsMax = 1000;

accepting::Host this_host(Time begun, const std::string& cooling) {
  accepting::Host h;
  utsname u{};
  if (::uname(&u) == 0) h.name = printable(u.nodename), h.kernel = printable(u.release);
  h.begun = begun;
  h.cooling = cooling;
  return h;
}

accepting::Gpu gpu_of(const Answer& who, int i) {
  accepting::Gpu g;
  g.gpu = i;
  g.uuid = who.fact(i, "uuid"), g.serial = who.fact(i, "serial"), g.model = who.fact(i, "model");
  g.pci = who.fact(i, "pci"), g.vbios = who.fact(i, "vbios"), g.part = who.fact(i, "part");
  g.memory_mib = who.figure(i, "memory_mib");
  g.power_limit_w = who.figure(i, "power_limit_w"), g.power_default_w = who.figure(i, "power_default_w");
  g.link_gen_max = who.figure(i, "link_gen_max"), g.link_width_max = who.figure(i, "link_width_max");
  return g;
}

bool between_gpus(AcceptTest t) { return t == AcceptTest::peers || t == AcceptTest::nccl; }

Order order_of(const Task& task, const Options& options) {
  Order o;
  o.kind = Order::Kind::run;
  o.seed = options.seed;
  o.seconds = task.seconds;
  put(o.test, names(AcceptTest{})[static_cast<std::size_t>(task.test)]);
  put(o.plant, options.plant);
  return o;
}

}  // namespace

Result<std::unique_ptr<Bench>> Bench::open(Options options, const Stop& stop) {
  std::unique_ptr<Bench> b(new Bench());
  b->options_ = std::move(options);
  b->begun_s_ = steady_s();
  b->begun_ = agent::utc_now();
  if (auto r = b->settle(stop); !r) return tl::unexpected(r.error());
  return b;
}

Result<void> Bench::settle(const Stop& stop) {
  void* page = ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return tl::unexpected(system_error("no memory to share with the tests", errno));
  stop_page_ = new (page) std::atomic<int>(0);
  auto watch = Watch::start(options_.nvml, options_.reading_s, options_.limits.driver_s, stop);
  if (!watch) return tl::unexpected(watch.error());
  watch_ = std::move(*watch);
  const int count = static_cast<int>(watch_->who().figure(-1, "gpus", 0));
  if (count == 0) {
    return fail(Code::not_found, "the NVIDIA driver sees no GPU on this node",
                "`lspci -d 10de:` says what is plugged in; inside a job or a container, ask for its GPUs");
  }
  std::vector<accepting::Gpu> all;
  std::map<PciAddress, int> addresses;
  for (int i = 0; i < count; ++i) {
    all.push_back(gpu_of(watch_->who(), i));
    if (const auto a = read_pci(all.back().pci)) addresses[*a] = i;
  }
  const auto chosen = choose_gpus(options_.gpus, all);
  if (!chosen) return tl::unexpected(chosen.error());
  kernel_ = std::make_unique<KernelWords>(options_.kernel_log, std::move(addresses), *chosen);
  for (const int i : *chosen) {
    Seat s;
    s.gpu = all[static_cast<std::size_t>(i)];
    chosen_.push_back(s.gpu);
    if (const std::string why = gpu_trouble(static_cast<int>(watch_->who().figure(i, "status", 0))); !why.empty()) {
      s.trouble = "the GPU " + why;
    } else if (watch_->who().figure(i, "divided", 0) > 0) {
      s.trouble = "the GPU is divided into instances (MIG): it can only be tested as a whole";
    }
    s.station = station({i});
    seats_.push_back(std::move(s));
  }
  before_ = watch_->ask(Order::Kind::counters, options_.limits.watch_s, stop);
  look_ = watch_->ask(Order::Kind::look, options_.limits.watch_s, stop);
  if (!look_) return {};
  looked_s_ = now_s();
  for (const Seat& s : seats_) used_mib_[s.gpu.gpu] = look_->figure(s.gpu.gpu, "used_mib", 0);
  take_note(*look_);
  return {};
}

Bench::~Bench() {
  for (Seat& s : seats_) {
    if (s.station) s.station->kill();  // all at once; each is waited for as it is taken down
  }
  if (group_) group_->kill();
  if (watch_) watch_->end();
  seats_.clear();
  group_.reset();
  watch_.reset();
  if (stop_page_ != nullptr) ::munmap(stop_page_, sizeof *stop_page_);
}

Bench::Seat* Bench::seat(int gpu) {
  const auto it = std::find_if(seats_.begin(), seats_.end(), [&](const Seat& s) { return s.gpu.gpu == gpu; });
  return it == seats_.end() ? nullptr : &*it;
}

std::unique_ptr<Station> Bench::station(const std::vector<int>& gpus) {
  return std::make_unique<Station>(gpus, setup(gpus), begun_s_, [this](accepting::Row r) { sink_(std::move(r)); });
}

// CUDA sees the GPUs of a worker alone: the others are not touched, and starting takes a fraction of the time.
WorkerSetup Bench::setup(const std::vector<int>& gpus) const {
  WorkerSetup w;
  w.library = options_.library;
  w.stop = stop_page_;
  for (const int gpu : gpus) {
    const auto& g = *std::find_if(chosen_.begin(), chosen_.end(), [&](const accepting::Gpu& c) { return c.gpu == gpu; });
    if (w.device.empty()) w.device = !g.uuid.empty() ? g.uuid : !g.pci.empty() ? g.pci : std::to_string(g.gpu);
    if (!g.uuid.empty()) w.visible += (w.visible.empty() ? "" : ",") + g.uuid;
    if (gpus.size() == 1) w.near_pci = g.pci;
  }
  return w;
}

bool Bench::stop_now() {
  if (stop_at_ == 0 && stop_ && stop_()) {
    stop_at_ = steady_s();
    stop_page_->store(1);
  }
  return stop_at_ != 0;
}

void Bench::tell_readings() {
  for (const Said& s : watch_->take(options_.limits.watch_s)) {
    Seat* of = seat(s.gpu);
    if (of == nullptr) continue;
    if (s.kind == Said::Kind::xid) {
      if (kernel_->unreadable().empty() || ++driver_words_ > kDriverWordsMax) continue;  // else the kernel's own words are there
      const auto code = static_cast<std::int32_t>(s.count);
      sink_(accepting::KernelWord{s.gpu, code, now_s(), fmt::format("Xid {}, as NVML tells it", code)});
      continue;
    }
    accepting::Reading r;
    r.gpu = s.gpu;
    r.at_s = s.value[0] - begun_s_;
    r.power_w = s.value[1], r.mhz = s.value[2], r.gpu_c = s.value[3], r.memory_c = s.value[4];
    r.reasons = s.count;
    if (s.value[5] >= 0) ++of->link_looks;
    if (s.value[5] >= of->link_gen && s.value[5] >= 0) of->link_gen = s.value[5], of->link_width = s.value[6];
    sink_(r);
  }
}

void Bench::turn(int most_ms, std::span<Station* const> waited_for) {
  std::vector<pollfd> fds;
  for (const Station* s : waited_for) {
    if (s->fd() >= 0) fds.push_back({s->fd(), POLLIN, 0});
  }
  if (watch_->fd() >= 0) fds.push_back({watch_->fd(), POLLIN, 0});
  if (kernel_->fd() >= 0) fds.push_back({kernel_->fd(), POLLIN, 0});
  ::poll(fds.data(), fds.size(), most_ms);
  // A process that has died keeps its socket readable until it is reaped: do not spin over it.
  for (const pollfd& p : fds) {
    if ((p.revents & POLLHUP) != 0 && (p.revents & POLLIN) == 0) ::poll(nullptr, 0, 1);
  }
  tell_readings();
  kernel_->read(now_s(), [this](accepting::KernelWord w) { sink_(std::move(w)); });
  stop_now();
  if (!tell_ || now_s() < told_s_ + kTellEvery) return;
  told_s_ = now_s();
  double share = 1;
  for (const Station* s : waited_for) share = s->busy() ? std::min(share, s->share()) : share;
  progress_.share = waited_for.empty() ? 0 : share;
  progress_.at_s = told_s_;
  tell_(progress_);
}

// Until none of them is busy any more. When a person stops it, they have a moment to come back by themselves.
void Bench::carry(std::span<Station* const> stations, const std::function<void(Station&, Outcome)>& ended) {
  for (;;) {
    bool busy = false;
    const bool cut = stop_now() && steady_s() > stop_at_ + options_.limits.stop_s;
    for (Station* s : stations) {
      if (auto outcome = s->tend()) ended(*s, std::move(*outcome));
      if (s->busy() && cut) ended(*s, s->cut(TestState::stopped, "it did not come back when asked to, and was ended"));
      busy = busy || s->busy();
    }
    if (!busy) return;
    turn(kTurnMs, stations);
  }
}

// Their workers leave their GPUs. One that cannot even be killed is stuck in the kernel, and its GPU with it.
void Bench::retire(std::span<Station* const> stations) {
  double until = steady_s() + options_.limits.end_s;
  for (Station* s : stations) s->leave();
  for (bool killed = false;;) {
    const bool left = std::all_of(stations.begin(), stations.end(), [](Station* s) { return s->gone(); });
    if (left) return;
    if (killed && steady_s() > until) break;
    if (!killed && (steady_s() > until || stop_now())) {
      for (Station* s : stations) s->kill();
      killed = true;
      until = steady_s() + kKilledFor;
    }
    turn(5, {});
  }
  for (Station* s : stations) {
    if (!s->gone() && s->lost().empty()) s->lose("the process on the GPU cannot be ended: it is stuck in the driver");
  }
}

// A worker for each of them that has none. What is told is of those that have none after that.
std::map<int, Outcome> Bench::seat_all(const std::vector<int>& gpus) {
  std::map<int, Outcome> out;
  std::vector<Station*> leaving, opening;
  for (const int gpu : gpus) {
    Station* s = seat(gpu)->station.get();
    if (!s->open() && s->lost().empty()) leaving.push_back(s);
  }
  retire(leaving);
  for (Station* s : leaving) {
    if (!s->lost().empty() || stop_now()) continue;
    s->take_gpu(options_.limits.open_s);
    ours_.insert(s->pid());
    opening.push_back(s);
  }
  carry(opening, [&](Station& s, Outcome o) {
    const std::string& uuid = seat(s.gpus()[0])->gpu.uuid;
    if (o.state == TestState::done && s.opened() && !s.opened()->uuid.empty() && !uuid.empty() && s.opened()->uuid != uuid) {
      o = {TestState::could_not_run, "the library of the tests opened another GPU: " + s.opened()->uuid};
      s.lose(o.why);
    }
    if (o.state != TestState::done) out[s.gpus()[0]] = std::move(o);
  });
  for (const int gpu : gpus) {
    const Station& s = *seat(gpu)->station;
    if (!s.lost().empty() && !out.contains(gpu)) out[gpu] = {TestState::could_not_run, s.lost()};
    if (!s.open() && !out.contains(gpu)) out[gpu] = {TestState::stopped, "not begun"};
  }
  return out;
}

// A GPU that was lost since, for one.
void Bench::take_note(const Answer& look) {
  for (Seat& s : seats_) {
    const std::string why = gpu_trouble(static_cast<int>(look.figure(s.gpu.gpu, "status", 0)));
    if (!why.empty() && s.trouble.empty()) s.trouble = "the GPU " + why;
  }
}

// Who else uses it; empty: nobody.
std::string Bench::user_of(const Seat& s, const Answer& look) const {
  const int gpu = s.gpu.gpu;
  const bool open = s.station->open() || (group_ && group_->open());
  std::vector<std::string> others;
  bool ours = false;
  std::size_t nameless = 0;  // seen from here: processes of other containers, or our own seen from outside of ours
  const auto it = look.processes.find(gpu);
  for (const Answer::Process& p : it == look.processes.end() ? std::vector<Answer::Process>{} : it->second) {
    if (ours_.contains(p.pid)) {
      ours = true;
    } else if (p.name.empty()) {
      ++nameless;
    } else {
      others.push_back(fmt::format("{} (process {})", p.name, p.pid));
    }
  }
  if (nameless > (open && !ours ? 1U : 0U)) others.push_back("a process of another container");
  if (!others.empty()) return "the GPU is in use by " + join(others, ", ");
  const double busy_pct = look.figure(gpu, "busy_pct", 0);
  if (busy_pct <= kBusyPct || now_s() < s.ran_s + kOursFor || look.figure(gpu, "processes", 0) > 0) return {};
  return fmt::format("the GPU is {:g} % busy, and the driver does not say with whose work", busy_pct);
}

std::map<int, std::string> Bench::users(const std::vector<int>& gpus, bool wait) {
  std::map<int, std::string> out;
  const double begun = now_s();
  for (;;) {
    if (!look_ || now_s() > looked_s_ + kLookFresh) {
      auto look = watch_->ask(Order::Kind::look, options_.limits.watch_s, [this] { return stop_now(); });
      if (!look) return {};  // the driver does not say: its trouble is told with the counters
      look_ = std::move(look);
      looked_s_ = now_s();
      take_note(*look_);
    }
    out.clear();
    bool patient = false;
    for (const int gpu : gpus) {
      Seat& s = *seat(gpu);
      std::string who = s.trouble.empty() ? user_of(s, *look_) : std::string();
      if (who.empty()) continue;
      patient = patient || s.waited_s + now_s() - begun < options_.limits.idle_s;
      out[gpu] = std::move(who);
    }
    if (!wait || !patient || stop_now()) break;
    turn(kTurnMs, {});
  }
  for (const auto& [gpu, who] : out) seat(gpu)->waited_s += wait ? now_s() - begun : 0;
  return out;
}

// Opens the GPUs, and says who they and their host are.
void Bench::introduce() {
  introduced_ = true;
  const double begun = now_s();
  std::vector<int> all, free;
  for (const Seat& s : seats_) all.push_back(s.gpu.gpu);
  const auto used = users(all, true);
  for (const Seat& s : seats_) {
    if (!s.trouble.empty()) {
      introductions_[s.gpu.gpu].outcome = {TestState::could_not_run, s.trouble};
    } else if (const auto it = used.find(s.gpu.gpu); it != used.end()) {
      introductions_[s.gpu.gpu].outcome = {TestState::could_not_run, it->second};
    } else {
      introductions_[s.gpu.gpu].outcome = {};
      free.push_back(s.gpu.gpu);
    }
  }
  for (auto& [gpu, outcome] : seat_all(free)) introductions_[gpu].outcome = std::move(outcome);
  accepting::Host host = this_host(begun_, options_.cooling);
  host.driver = watch_->who().fact(-1, "driver");
  for (Seat& s : seats_) {
    introductions_[s.gpu.gpu].begun_s = begun;
    introductions_[s.gpu.gpu].took_s = now_s() - begun;
    if (!s.station->opened()) continue;
    const Opened& o = *s.station->opened();
    s.gpu.sms = o.sms;
    if (s.gpu.memory_mib < 0) s.gpu.memory_mib = o.memory_mib;
    if (s.gpu.model.empty()) s.gpu.model = o.model;
    if (o.runtime > 0) host.cuda = fmt::format("{}.{}", o.runtime / 1000, o.runtime % 1000 / 10);
    if (o.cublas > 0) host.cublas = fmt::format("{}.{}.{}", o.cublas / 10000, o.cublas / 100 % 100, o.cublas % 100);
  }
  sink_(host);
  for (std::size_t i = 0; i < seats_.size(); ++i) sink_(chosen_[i] = seats_[i].gpu);
}

void Bench::tell_ran(const Task& task, int gpu, const Ended& e) {
  sink_(accepting::Ran{gpu, task.test, task.turn, e.outcome.state, e.outcome.why, e.begun_s, e.took_s});
}

void Bench::inventory(const Task& task, const std::vector<int>& gpus) {
  for (const int gpu : gpus) {
    Ended e = introductions_[gpu];
    const Seat& s = *seat(gpu);
    if (e.outcome.state == TestState::done && s.gpu.uuid.empty()) {
      e.outcome = {TestState::could_not_run, "the driver does not say who the GPU is"};
    }
    tell_ran(task, gpu, e);
  }
}

Bench::Outcomes Bench::run_on(const Task& task, std::span<Station* const> stations) {
  Outcomes out;
  const double begun = now_s();
  for (Station* s : stations) {
    for (const int gpu : s->gpus()) {
      seat(gpu)->link_gen = seat(gpu)->link_width = -1;
      seat(gpu)->link_looks = 0;
    }
    s->run(task.test, task.turn, order_of(task, options_), task.deadline_s);
  }
  carry(stations, [&](Station& s, Outcome o) {
    for (const int gpu : s.gpus()) {
      out[gpu] = {o, begun, now_s() - begun};
      seat(gpu)->ran_s = now_s();
    }
  });
  return out;
}

// Each GPU by itself, all at the same time or so many at a time.
void Bench::apart(const Task& task, const std::vector<int>& gpus) {
  if (group_) {
    Station* const group[] = {group_.get()};
    retire(group);
  }
  const auto used = users(gpus, true);
  std::vector<int> free;
  for (const int gpu : gpus) {
    if (const std::string& trouble = seat(gpu)->trouble; !trouble.empty()) {
      tell_ran(task, gpu, {{TestState::could_not_run, trouble}, now_s(), 0});
    } else if (const auto it = used.find(gpu); it != used.end()) {
      tell_ran(task, gpu, {{TestState::could_not_run, it->second}, now_s(), 0});
    } else {
      free.push_back(gpu);
    }
  }
  std::vector<Station*> stations;
  const auto unseated = seat_all(free);
  for (const int gpu : free) {
    if (const auto it = unseated.find(gpu); it != unseated.end()) {
      tell_ran(task, gpu, {it->second, now_s(), 0});
    } else {
      stations.push_back(seat(gpu)->station.get());
    }
  }
  // Neighbours in number are neighbours on a socket: those that run at the same time are as far from each other as can be.
  const std::size_t width = task.at_once == 0 ? stations.size() : task.at_once;
  const std::size_t rounds = stations.empty() ? 0 : (stations.size() + width - 1) / width;
  for (std::size_t r = 0; r < rounds; ++r) {
    std::vector<Station*> some;
    for (std::size_t i = r; i < stations.size(); i += rounds) some.push_back(stations[i]);
    if (stop_now()) {
      for (const Station* s : some) tell_ran(task, s->gpus()[0], {{TestState::stopped, "not begun"}, now_s(), 0});
      continue;
    }
    Outcomes out = run_on(task, some);
    std::vector<int> whom;
    for (const Station* s : some) whom.push_back(s->gpus()[0]);
    looked_s_ = -1e9;
    const auto came = users(whom, false);
    for (const int gpu : whom) {
      Ended& e = out[gpu];
      if (const auto it = came.find(gpu); it != came.end() && e.outcome.state == TestState::done) {
        e.outcome = {TestState::could_not_run, "it was disturbed: " + it->second};  // what it measured is not the GPU's doing
      }
      const Seat& s = *seat(gpu);
      // A link sleeps while nothing passes: a single look may have been between two copies.
      if (task.test == AcceptTest::link && e.outcome.state == TestState::done && s.link_looks >= kLinkLooks) {
        sink_(accepting::Measured{gpu, task.test, task.turn, "link_gen", s.link_gen});
        sink_(accepting::Measured{gpu, task.test, task.turn, "link_width", s.link_width});
      }
      tell_ran(task, gpu, e);
    }
  }
}

// One worker has all of them, and no other holds any of their memory.
void Bench::together(const Task& task, const std::vector<int>& gpus) {
  std::vector<int> usable;
  std::vector<Station*> singles;
  for (Seat& s : seats_) singles.push_back(s.station.get());
  retire(singles);
  const auto used = users(gpus, true);
  for (const int gpu : gpus) {
    const Seat& s = *seat(gpu);
    const auto it = used.find(gpu);
    const std::string why = !s.trouble.empty() ? s.trouble : it != used.end() ? it->second : s.station->lost();
    if (gpus.size() < 2) {
      tell_ran(task, gpu, {{TestState::not_applicable, "one GPU has no peers"}, now_s(), 0});
    } else if (!why.empty()) {
      tell_ran(task, gpu, {{TestState::could_not_run, why}, now_s(), 0});
    } else {
      usable.push_back(gpu);
    }
  }
  if (gpus.size() < 2) return;
  const auto tell_all = [&](const Outcome& o) {
    for (const int gpu : usable) tell_ran(task, gpu, {o, now_s(), 0});
  };
  if (usable.size() < 2) return tell_all({TestState::could_not_run, "no other GPU can be used"});
  if (group_ && group_->gpus() != usable) {
    Station* const old[] = {group_.get()};
    retire(old);
    if (group_->gone()) group_.reset();
  }
  if (!group_) {
    group_ = station(usable);
  }
  Station* const group[] = {group_.get()};
  if (!group_->open() && group_->lost().empty()) {
    Outcome opened{TestState::stopped, "not begun"};
    retire(group);
    if (!stop_now() && group_->lost().empty()) {
      group_->take_gpu(options_.limits.open_s);
      ours_.insert(group_->pid());
      carry(group, [&](Station&, Outcome o) { opened = std::move(o); });
    }
    if (opened.state != TestState::done) return tell_all(opened);
  }
  if (!group_->lost().empty()) return tell_all({TestState::could_not_run, group_->lost()});
  if (stop_now()) return tell_all({TestState::stopped, "not begun"});
  for (const auto& [gpu, ended] : run_on(task, group)) tell_ran(task, gpu, ended);
}

void Bench::run(std::span<const Task> tasks, const Sink& sink, const Telling& tell, const Stop& stop) {
  sink_ = sink, tell_ = tell, stop_ = stop;
  std::uint64_t mask = 0;
  for (const Seat& s : seats_) mask |= std::uint64_t{1} << s.gpu.gpu;
  progress_ = {0, tasks.size(), tasks.empty() ? Task{} : tasks[0], 0, now_s()};
  if (!introduced_) introduce();
  watch_->sample(mask);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Task& task = tasks[i];
    progress_ = {i, tasks.size(), task, 0, now_s()};
    std::vector<int> gpus;
    for (const Seat& s : seats_) {
      const bool meant = task.gpus.empty() || std::find(task.gpus.begin(), task.gpus.end(), s.gpu.gpu) != task.gpus.end();
      if (meant) gpus.push_back(s.gpu.gpu);
    }
    if (task.test == AcceptTest::counters) {
      for (const int gpu : gpus) counters_wanted_[gpu] = task.turn;
    } else if (task.test == AcceptTest::inventory) {
      inventory(task, gpus);
    } else if (stop_now()) {
      for (const int gpu : gpus) tell_ran(task, gpu, {{TestState::stopped, "not begun"}, now_s(), 0});
    } else if (between_gpus(task.test)) {
      together(task, gpus);
    } else {
      apart(task, gpus);
    }
  }
  watch_->sample(0);
  tell_readings();
  tell_ = nullptr;
}

void Bench::tell_counters(double begun_s, double took_s, const std::optional<Answer>& after) {
  for (const Seat& s : seats_) {
    const int gpu = s.gpu.gpu;
    std::set<std::string> names;
    const auto gather = [&](const std::optional<Answer>& a) {
      const auto it = a ? a->figures.find(gpu) : std::map<int, std::map<std::string, double>>::const_iterator{};
      if (!a || it == a->figures.end()) return false;
      for (const auto& [name, value] : it->second) names.insert(name);
      return true;
    };
    const bool had = gather(before_), has = gather(after);
    for (const std::string& name : names) {
      sink_(accepting::Counter{gpu, name, before_ ? before_->figure(gpu, name) : -1, after ? after->figure(gpu, name) : -1});
    }
    const auto wanted = counters_wanted_.find(gpu);
    if (wanted == counters_wanted_.end()) continue;
    Outcome o;
    if (!had || !has) {
      const std::string& why = !s.trouble.empty() ? s.trouble : watch_->trouble();
      o = {TestState::could_not_run, "the driver's counters could not be read" + (why.empty() ? "" : ": " + why)};
    } else if (!kernel_->unreadable().empty()) {
      o.why = "without the kernel's log: " + kernel_->unreadable();
    } else if (kernel_->left_out() > 0) {
      o.why = fmt::format("{} more words of the kernel were left out", kernel_->left_out());
    }
    sink_(accepting::Ran{gpu, AcceptTest::counters, wanted->second, o.state, o.why, begun_s, took_s});
  }
}

// In MiB; -1: the driver does not say. It takes memory back when a process has gone, not always at once.
double Bench::memory_left(double limit_s) {
  double left = 0;
  const double until = steady_s() + (stopped() ? kMemoryFor / 10 : kMemoryFor);
  do {
    left = 0;
    const auto look = watch_->ask(Order::Kind::look, limit_s, [] { return false; });
    if (!look || used_mib_.empty()) return -1;
    for (const Seat& s : seats_) {
      const auto before = used_mib_.find(s.gpu.gpu);
      if (before == used_mib_.end() || !user_of(s, *look).empty()) continue;  // what others hold is theirs
      left += std::max(0.0, look->figure(s.gpu.gpu, "used_mib", before->second) - before->second);
    }
    if (left <= kMemoryNoiseMib) return 0;
    ::poll(nullptr, 0, 20);
  } while (steady_s() < until);
  return left;
}

void Bench::finish(const Sink& sink) {
  if (std::exchange(finished_, true)) return;
  sink_ = sink, tell_ = nullptr;
  std::vector<Station*> all;
  for (Seat& s : seats_) all.push_back(s.station.get());
  if (group_) all.push_back(group_.get());
  retire(all);
  accepting::End end;
  for (Station* s : all) end.left += s->gone() ? 0 : 1;
  const double begun = now_s();
  const double limit_s = stopped() ? std::min(kStoppedAskS, options_.limits.watch_s) : options_.limits.watch_s;
  auto after = watch_->ask(Order::Kind::counters, limit_s, [] { return false; });
  tell_readings();  // the driver tells of Xids with its counters
  end.memory_left_mib = memory_left(limit_s);
  kernel_->read(now_s(), [this](accepting::KernelWord w) { sink_(std::move(w)); });
  tell_counters(begun, now_s() - begun, after);
  watch_->end();
  for (const double until = steady_s() + kKilledFor; !watch_->gone() && steady_s() < until;) ::poll(nullptr, 0, 2);
  end.left += watch_->gone() ? 0 : 1;
  end.stopped = stopped();
  end.at_s = now_s();
  sink_(end);
}

std::vector<accepting::Row> not_run(const Options& options, const Error& why, std::span<const Task> tasks) {
  std::vector<accepting::Row> out;
  out.emplace_back(this_host(agent::utc_now(), options.cooling));
  for (const Task& t : tasks) {
    out.emplace_back(accepting::Ran{-1, t.test, t.turn, TestState::could_not_run, why.what});
  }
  out.emplace_back(accepting::End{});
  return out;
}

}  // namespace muster::bench
