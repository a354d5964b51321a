// Where the GPU-hours of a stretch of time went: by class, and by cause, account, queue or job. The same object as JSON and as
// text.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "account/job_books.h"
#include "base/value.h"
#include "report/describe.h"

namespace muster::report {

enum class GoodputBy { cause, account, queue, job };
constexpr std::array<std::string_view, 4> names(GoodputBy) { return {"cause", "account", "queue", "job"}; }

struct Goodput {
  std::string cluster;
  Time from, to;              // utc
  double gpu_hour_price = 0;  // 0: not said
  std::string currency = "USD";
  std::string price_assumed;  // where a price that no policy names is from
  std::uint64_t events = 0;   // of the record, up to `to`
  account::Stretch stretch;
  std::string job;  // of this one alone: what was given to it is all that is installed; empty: of the whole cluster
};

constexpr std::size_t kGoodputJobs = 200;
constexpr std::size_t kGoodputRows = 500;

// Rows and jobs with the most of class `most` come first; none: with the most waste. Only the first ones are in it. A class that
// a row or job has nothing of is left out there.
std::string goodput_json(const Goodput& g, GoodputBy by, std::optional<Waste> most = {});
std::string render_goodput_text(const Value& report, const Page& page);

}  // namespace muster::report
