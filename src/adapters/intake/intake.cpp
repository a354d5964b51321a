#include "adapters/intake/intake.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "adapters/intake/acceptance_word.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "ingest/job_log.h"
#include "ingest/kernel_log.h"
#include "ingest/prom_text.h"

namespace muster {
namespace {

constexpr std::int64_t kAgeMaxMs = 30LL * 86'400'000;
constexpr std::size_t kSubjectMax = 200;
constexpr std::size_t kLabelMax = 120;
constexpr std::int64_t kRanksMax = 1 << 24;
constexpr std::size_t kFactMax = 256;   // bytes of a name or a text
constexpr std::size_t kFactsMax = 256;  // of one node

// One thing an agent says, until the loop gives it a time.
struct Item {
  Source source;
  Duration age;
  Body body;
};

std::string words(const Value& v, std::string_view name, std::size_t most) {
  const Value* x = v.find(name);
  return x == nullptr || x->string() == nullptr ? std::string() : x->string()->substr(0, most);
}

std::int64_t whole(const Value& v, std::string_view name) {
  const Value* x = v.find(name);
  return x == nullptr || x->integer() == nullptr ? 0 : std::max<std::int64_t>(0, *x->integer());
}

// A plain line of a log file, whose word counts for less: the record in it, after whatever the log puts before one.
std::optional<KernelRecord> read_line(const std::string& text, NodeId node, const Site& site) {
  if (!parse_log_line(text)) return std::nullopt;
  const auto record = [&](std::size_t at) {
    return parse_kmsg("0,0,0,-;" + text.substr(at, kKernelRecordMax - 16), node, 0, Time{}, site);
  };
  if (auto r = record(0)) return r;
  for (const std::string_view before : {"kernel: ", "] "}) {
    for (std::size_t at = text.find(before); at != std::string::npos; at = text.find(before, at + 1)) {
      if (auto r = record(at + before.size())) return r;
    }
  }
  return std::nullopt;
}

// What NVML told of, where there is no kernel log that tells more. It is the driver's own word.
std::optional<KernelRecord> read_xid(const Value& v, NodeId node, const Site& site) {
  const std::int64_t code = whole(v, "xid");
  if (code < 1 || code > 999) return std::nullopt;
  const std::string address = words(v, "pci", 32);
  const auto pci = read_pci(address);
  KernelRecord r;
  r.node = node;
  r.kind = KernelKind::xid;
  r.code = static_cast<std::int32_t>(code);
  r.text = fmt::format("NVML: Xid {}, PCI {}", code, pci ? address : "unknown");
  if (pci) r.slot = static_cast<std::int16_t>(PciTable(site).gpu(*pci));
  return r;
}

std::optional<GpuIdentified> read_gpu(const Value& v, NodeId node, const Site& site) {
  GpuIdentified b;
  b.node = node;
  const auto text = [&](std::string_view name) { return printable(words(v, name, kFactMax)); };
  b.gpu = {-1, text("uuid"), text("serial"), text("vbios"), text("pci")};
  const auto pci = read_pci(b.gpu.pci);
  // By its address, which stays when the driver does not find all GPUs and counts the rest anew; where the cluster file has other
  // addresses than the machine, by the driver's number.
  if (pci) b.gpu.slot = static_cast<std::int16_t>(PciTable(site).gpu(*pci));
  const std::int64_t index = whole(v, "index");
  if (b.gpu.slot < 0 && index < site.gpus_per_node) b.gpu.slot = static_cast<std::int16_t>(index);
  if (b.gpu.slot < 0 || b.gpu.uuid.empty()) return std::nullopt;
  return b;
}

std::optional<NodeDescribed> read_facts(const Value& v, NodeId node) {
  const Value::Object* all = v.object();
  if (all == nullptr || all->size() > kFactsMax) return std::nullopt;
  NodeDescribed b;
  b.node = node;
  for (const auto& [name, text] : *all) {
    if (text.string() == nullptr) return std::nullopt;
    b.facts.emplace_back(printable(std::string_view(name).substr(0, kFactMax)), printable(text.string()->substr(0, kFactMax)));
  }
  std::sort(b.facts.begin(), b.facts.end());
  return b;
}

std::optional<Body> read_body(const Value& v, NodeId node, std::uint64_t boot, std::uint64_t seq, const Site& site) {
  const Value* trusted = v.find("trusted");
  const bool sure = trusted != nullptr && trusted->boolean() != nullptr && *trusted->boolean();
  if (v.find("kmsg") != nullptr) {
    auto r = parse_kmsg(words(v, "kmsg", kKernelRecordMax + 1), node, boot, Time{}, site);
    if (r) return Body(KernelHeard{std::move(*r), sure});
  } else if (v.find("line") != nullptr) {
    auto r = read_line(words(v, "line", kKernelRecordMax), node, site);
    if (!r) return std::nullopt;
    r->boot = boot;
    r->seq = seq;
    return Body(KernelHeard{std::move(*r), false});
  } else if (v.find("xid") != nullptr) {
    auto r = read_xid(v, node, site);
    if (!r) return std::nullopt;
    r->boot = boot;
    r->seq = seq;
    return Body(KernelHeard{std::move(*r), true});
  } else if (const Value* gpu = v.find("gpu")) {
    if (auto b = read_gpu(*gpu, node, site)) return Body(std::move(*b));
  } else if (const Value* facts = v.find("facts")) {
    if (auto b = read_facts(*facts, node)) return Body(std::move(*b));
  } else if (const Value* acceptance = v.find("acceptance")) {
    if (auto b = read_acceptance(*acceptance, node, site)) return Body(std::move(*b));
  } else if (AgentSaid said; parse_name(words(v, "word", 40), said.word)) {
    said.node = node;
    said.subject = words(v, "subject", kSubjectMax);
    said.count = static_cast<std::uint64_t>(whole(v, "count"));
    said.text = words(v, "text", kKernelTextMax);
    return Body(std::move(said));
  }
  return std::nullopt;
}

std::optional<Item> read_item(const Value& v, NodeId node, const std::string& name, const Site& site) {
  const std::string boot = words(v, "boot", 64);
  const auto seq = static_cast<std::uint64_t>(whole(v, "seq"));
  if (boot.empty() || seq == 0) return std::nullopt;
  const bool kernel = words(v, "stream", 16) == "kernel";
  // One bit less: the journal's numbers are signed.
  auto body = read_body(v, node, xxh64(boot) >> 1, seq, site);
  if (!body) return std::nullopt;
  Item item{{boot, "agent/" + name + (kernel ? "/kernel" : ""), seq}, {}, std::move(*body)};
  item.age = milliseconds(std::min(whole(v, "age_ms"), kAgeMaxMs));
  return item;
}

// "17" or "17_3"; none where it is called otherwise.
JobId read_job(std::string_view s) {
  constexpr std::uint64_t kTooMuch = UINT32_MAX;
  const std::size_t bar = std::min(s.find('_'), s.size());
  const std::uint64_t number = parse_uint(s.substr(0, bar)).value_or(kTooMuch);
  const std::uint64_t member = bar == s.size() ? 0 : parse_uint(s.substr(bar + 1)).value_or(kTooMuch) + 1;
  if (number >= kTooMuch || member >= kTooMuch) return {};
  return {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(member)};
}

// A line of a job's log, or what NCCL's own watch says. No event: a job writes its log itself, and what the detectors make of it
// is what counts. Sent twice, it says the same.
std::optional<std::pair<JobLogRecord, Duration>> read_log(const Value& v, const Site& site) {
  const std::string job = printable(words(v, "job", kLabelMax));
  JobLogRecord r;
  if (v.find("log") != nullptr) {
    const auto event = parse_train_line(words(v, "log", kTrainLineMax));
    auto read = event ? job_log_record(*event, JobId{}, Time{}, site) : std::nullopt;
    if (!read) return std::nullopt;
    r = std::move(*read);
  } else if (const Value* ras = v.find("ras"); ras == nullptr || !parse_name(words(*ras, "kind", 40), r.kind)) {
    return std::nullopt;
  } else {
    const Value* rank = ras->find("rank");
    if (rank != nullptr && rank->integer() != nullptr && *rank->integer() >= 0 && *rank->integer() < kRanksMax)
      r.rank = static_cast<int>(*rank->integer());
    r.text = printable(words(*ras, "text", kTrainTextMax));
  }
  r.job = read_job(job);
  r.label = job.empty() ? "a job" : "job " + job;
  return std::pair(std::move(r), milliseconds(std::min(whole(v, "age_ms"), kAgeMaxMs)));
}

// One item with another body.
std::optional<Item> item_of(const Value& v, const std::string& name, Body body) {
  const std::string boot = words(v, "boot", 64);
  const auto seq = static_cast<std::uint64_t>(whole(v, "seq"));
  if (boot.empty() || seq == 0) return std::nullopt;
  return Item{{boot, "agent/" + name, seq}, milliseconds(std::min(whole(v, "age_ms"), kAgeMaxMs)), std::move(body)};
}

// Answers once, when the last of a batch is durable.
struct Tally {
  std::size_t left = 0;
  std::uint64_t seq = 0;
  std::optional<Error> error;
  std::function<void(Result<std::uint64_t>)> done;
  void one(const Result<std::uint64_t>& r) {
    if (r) {
      seq = std::max(seq, *r);
    } else {
      error = r.error();
    }
    if (--left > 0) return;
    done(error ? Result<std::uint64_t>(tl::unexpected(*error)) : Result<std::uint64_t>(seq));
  }
};

// What came in one batch.
struct Batch {
  std::vector<Item> items;
  std::vector<Sample> samples;
  std::vector<std::pair<JobLogRecord, Duration>> logs;  // with their age
  std::vector<std::pair<StepReport, Duration>> steps;   // likewise
  std::vector<FabricHeard> heard;
};

void open_batch(Batch& b, const std::shared_ptr<Tally>& tally, Time utc, Inbox& out) {
  for (Item& i : b.items) {
    const Time at = utc - i.age;
    if (auto* heard = std::get_if<KernelHeard>(&i.body)) heard->record.at = at;
    out.events.push_back(
        {std::move(i.source), at, std::move(i.body), [tally](const Result<std::uint64_t>& r) { tally->one(r); }});
  }
  for (Sample& s : b.samples) {
    s.at = utc;
    out.samples.push_back(s);
  }
  for (auto& [record, age] : b.logs) {
    record.at = utc - age;
    out.logs.push_back(std::move(record));
  }
  for (auto& [step, age] : b.steps) {
    step.at = utc - age;
    out.steps.push_back(step);
  }
  for (FabricHeard& h : b.heard) out.heard.push_back(std::move(h));
}

// What is answered when they are on record, or when they are not: then they are told again.
std::function<void(Result<std::uint64_t>)> with_memory(std::shared_ptr<JobEnvironments> known, std::vector<JobDescribed> told,
                                                       std::function<void(Result<std::uint64_t>)> done) {
  return [known = std::move(known), told = std::move(told), done = std::move(done)](const Result<std::uint64_t>& r) {
    for (const JobDescribed& d : told) r ? known->taken(d) : known->lost(d);
    done(r);
  };
}

}  // namespace

AgentIntake::AgentIntake(Mailbox& mailbox, const Site& site, const View* view) : mailbox_(mailbox), site_(site), view_(view) {
  for (std::uint32_t n = 0; n < site.nodes.size(); ++n) nodes_.emplace(site.nodes[n].name, NodeId{n});
}

void AgentIntake::remember(const State& s) {
  const std::lock_guard hold(lock_);
  for (std::uint32_t n = 0; n < s.nodes.size(); ++n) known_[n] = s.nodes[n].known;
  fabric_->remember(s);
}

// An agent tells everything again when it starts: what is known already is no event.
bool AgentIntake::news(const Body& body) {
  const std::lock_guard hold(lock_);
  if (const auto* b = std::get_if<GpuIdentified>(&body)) {
    NodeFacts& known = known_[b->node.v];
    const GpuIdentity* before = known.gpu(b->gpu.slot);
    if (before != nullptr && *before == b->gpu) return false;
    known.put(b->gpu);
  } else if (const auto* d = std::get_if<NodeDescribed>(&body)) {
    NodeFacts& known = known_[d->node.v];
    if (known.sheet().facts == d->facts) return false;
    known.put(d->facts);
  }
  return true;
}

// A record's address may be one that the cluster file does not have, and the agent has told whose it is.
void AgentIntake::place(Body& body, std::string_view address) {
  auto* heard = std::get_if<KernelHeard>(&body);
  if (heard == nullptr || heard->record.slot >= 0) return;
  const KernelKind kind = heard->record.kind;
  const bool of_gpu =
      kind == KernelKind::xid || kind == KernelKind::off_bus || kind == KernelKind::gsp_dead || kind == KernelKind::gpu_init;
  if (!of_gpu) return;
  const auto line = address.empty() ? parse_log_line(heard->record.text) : std::nullopt;
  const auto pci = read_pci(line ? std::string_view(line->event.pci) : address);
  if (!pci) return;
  const std::lock_guard hold(lock_);
  for (const GpuIdentity& g : known_[heard->record.node.v].sheet().gpus) {
    if (read_pci(g.pci) == pci) heard->record.slot = g.slot;
  }
}

// A job's word about itself. Not believed: a job that does not run on the node it is told from, or that nobody knows.
std::optional<Believed> AgentIntake::believe(const Value& item, NodeId node) {
  const Value* text = item.find("report");
  const auto report = text == nullptr ? Result<JobReport>(JobReport{}) : read_job_report(*text);
  const auto now = view_ == nullptr ? nullptr : view_->latest();
  const Duration age = milliseconds(std::min(whole(item, "age_ms"), kAgeMaxMs));
  const std::lock_guard hold(lock_);
  auto out =
      report && now ? jobs_.take(*report, read_job(words(item, "job", kReportJobMax)), node, age, now->state) : std::nullopt;
  ++(out ? believed_ : refused_);
  // At the first, the second, the fourth ...: a user can send them without end.
  if (!out && (refused_ & (refused_ - 1)) == 0) {
    log(LogLevel::warning,
        fmt::format("{} reports of jobs were not believed; the last from {}, of job '{}', which does not run there", refused_,
                    site_.nodes[node.v].name, printable(words(item, "job", kReportJobMax))));
  }
  return out;
}

// What a job runs in there, where that is news.
std::optional<JobDescribed> AgentIntake::described(const Value& item, NodeId node) {
  const Value* facts = item.find("environment");
  const auto now = view_ == nullptr ? nullptr : view_->latest();
  if (facts == nullptr || now == nullptr) return std::nullopt;
  const Duration age = milliseconds(std::min(whole(item, "age_ms"), kAgeMaxMs));
  return environments_->take(*facts, read_job(words(item, "job", kReportJobMax)), node, age, now->state);
}

Meter AgentIntake::meter() const {
  const std::lock_guard hold(lock_);
  return {"muster_job_reports_total",
          "counter",
          "What jobs told of themselves through agents.",
          "outcome",
          {{"believed", static_cast<double>(believed_)}, {"refused", static_cast<double>(refused_)}}};
}

// Told whole each time: what nobody took is told again, and needs no number to be known by.
void AgentIntake::take_fabric(const Value& fabric, std::function<void(Result<std::uint64_t>)> done) {
  auto said = read_fabric(fabric, nodes_);
  if (!said) return done(tl::unexpected(said.error()));
  const auto every = read_fabric_interval(fabric);
  if (!every) return done(tl::unexpected(every.error()));
  const auto news = fabric_->news(*said);
  if (!news) return done(tl::unexpected(news.error()));
  auto b = std::make_shared<Batch>();
  b->heard.push_back({said->name, *every});
  Parcel parcel;
  parcel.records = 1;
  if (!*news) {  // where there is no room for it the next word will do
    parcel.open = [b](Time utc, Inbox& out) { open_batch(*b, nullptr, utc, out); };
    parcel.turn_away = [](const Error&) {};
    mailbox_.deliver(std::move(parcel));
    return done(0);
  }
  if (said->unknown_nodes > 0 || said->left_out > 0) {
    log(LogLevel::warning,
        fmt::format("the watch of the network{} tells of {} faults; {} names of nodes in them are not of this cluster, {} more "
                    "faults were left out",
                    said->name.empty() ? "" : " " + said->name, said->faults.size(), said->unknown_nodes, said->left_out));
  }
  auto tally = std::make_shared<Tally>();
  tally->left = 1;
  tally->done = [known = fabric_, what = *said, done = std::move(done)](const Result<std::uint64_t>& r) {
    r ? known->taken(what) : known->lost(what);
    done(r);
  };
  b->items.push_back({{{}, "fabric", 0}, {}, std::move(*said)});
  parcel.open = [b, tally](Time utc, Inbox& out) { open_batch(*b, tally, utc, out); };
  parcel.turn_away = [tally](const Error& why) { tally->done(tl::unexpected(why)); };
  if (!mailbox_.deliver(std::move(parcel)))
    tally->done(fail(Code::unreachable, "more is waiting than can be taken now", "it will be asked for again"));
}

void AgentIntake::take(const Value& batch, std::function<void(Result<std::uint64_t>)> done) {
  if (const Value* fabric = batch.find("fabric")) {
    if (batch.find("node") == nullptr) return take_fabric(*fabric, std::move(done));
    return done(fail(Code::bad_input, "a batch is of a node or of the network", "send two"));
  }
  const std::string name = words(batch, "node", 255);
  const auto node = nodes_.find(name);
  if (node == nodes_.end()) {
    return done(fail(Code::not_found, fmt::format("the cluster has no node '{}'", printable(name)),
                     "give the agent the node's name in the cluster file: --node NAME"));
  }
  const Value* list = batch.find("items");
  static const Value::Array kNone;
  const Value::Array& all = list == nullptr || list->array() == nullptr ? kNone : *list->array();
  if (all.size() > kBatchItemsMax) return done(fail(Code::bad_input, "too many items in one batch"));
  auto b = std::make_shared<Batch>();
  std::size_t unread = 0;
  std::vector<JobDescribed> environments;
  for (const Value& v : all) {
    if (v.find("report") != nullptr) {
      auto told = believe(v, node->second);
      if (!told) continue;
      if (told->step) b->steps.emplace_back(*told->step, milliseconds(std::min(whole(v, "age_ms"), kAgeMaxMs)));
      auto item = told->saved ? item_of(v, name, std::move(*told->saved)) : std::nullopt;
      if (item) b->items.push_back(std::move(*item));
    } else if (v.find("environment") != nullptr) {
      auto told = described(v, node->second);
      if (!told) continue;
      auto item = item_of(v, name, Body(*told));
      if (item) b->items.push_back(std::move(*item));
      item ? environments.push_back(std::move(*told)) : environments_->lost(*told);
    } else if (v.find("log") != nullptr || v.find("ras") != nullptr) {
      auto line = read_log(v, site_);
      if (line) b->logs.push_back(std::move(*line));
      unread += line ? 0 : 1;
    } else if (auto item = read_item(v, node->second, name, site_)) {
      place(item->body, words(v, "pci", 32));
      if (news(item->body)) b->items.push_back(std::move(*item));
    } else {
      ++unread;
    }
  }
  // Not a reason to refuse the rest: the agent would send it for ever.
  if (unread > 0) log(LogLevel::warning, fmt::format("{} items from the agent on {} could not be read", unread, printable(name)));
  if (const Value* text = batch.find("scrape"); text != nullptr && text->string() != nullptr) {
    b->samples.push_back({Time{}, node->second, -1, Field::up, 1});
    parse_scrape(*text->string(), node->second, Time{}, site_, b->samples);
  }
  if (!environments.empty()) done = with_memory(environments_, std::move(environments), std::move(done));
  auto tally = std::make_shared<Tally>();
  tally->left = b->items.size();
  tally->done = done;
  const bool no_events = b->items.empty();
  Parcel parcel;
  parcel.records = b->items.size() + b->samples.size() + b->logs.size() + b->steps.size();
  const bool only_samples = no_events && b->logs.empty();
  parcel.open = [b, tally, when_taken = no_events && !only_samples](Time utc, Inbox& out) {
    open_batch(*b, tally, utc, out);
    if (when_taken) tally->done(0);
  };
  parcel.turn_away = [tally, only_samples](const Error& why) {
    if (!only_samples) tally->done(tl::unexpected(why));
  };
  if (!mailbox_.deliver(std::move(parcel)))
    return done(fail(Code::unreachable, "more is waiting than can be taken now", "it will be asked for again"));
  if (only_samples) done(0);
}

}  // namespace muster
