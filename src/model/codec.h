// Events and states as canonical JSON bytes, and back.
#pragma once
#include <string>

#include "base/hash.h"
#include "base/result.h"
#include "base/value.h"
#include "model/acceptance.h"
#include "model/accounts.h"
#include "model/event.h"
#include "model/gpu_hours.h"
#include "model/state.h"

namespace muster {

// {"schema":1,"seq":7,"source":{...},"utc":...,"type":"job_started","body":{...}}: the bytes that are stored and hashed.
std::string encode_event(const Event& e);
Result<Event> decode_event(const Value& v);
std::string encode_body(const Body& b);
Result<Body> decode_body(std::string_view type, const Value& v);

// The whole state, for snapshots and comparison.
std::string encode_state(const State& s);
Result<State> decode_state(const Value& v);

std::string encode_policy(const Policy& p);
std::string encode_site(const Site& s);
Result<Site> decode_site(const Value& v);
std::string encode_order(const Order& o);
Result<Order> decode_order(const Value& v);
std::string encode_spec(const JobSpec& s);
Result<JobSpec> decode_spec(const Value& v);
Result<Finding> decode_finding(const Value& v);

// JSON views of single things, with the same field names as in the journal.
std::string encode_job(const Job& j);
std::string encode_incident(const Incident& i);
std::string encode_finding(const Finding& f);
std::string encode_order_record(const OrderRecord& o);
std::string encode_gpu_hours(const GpuHours& g);
Result<GpuHours> decode_gpu_hours(const Value& v);

// {"row":"measured","gpu":3,...}: a line of a recording. Of an unknown row the error is of code not_found.
std::string encode_row(const accepting::Row& r);
Result<accepting::Row> decode_row(const Value& v);

std::string encode_accounts(const Accounts& a);
Result<Accounts> decode_accounts(const Value& v);

}  // namespace muster
