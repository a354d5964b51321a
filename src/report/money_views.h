// What was charged, and what is left of what was granted: the same objects as JSON, as text and as CSV.
#pragma once
#include <string>

#include "account/charges.h"
#include "account/quota.h"
#include "report/describe.h"

namespace muster::report {

struct ChargesView {
  std::string ledger;  // its file
  const Ledger* before = nullptr;
  const account::Charging* charging = nullptr;  // null: nothing was to be charged
  bool dry_run = false;
  Digest head{};  // of the ledger with what is new
  account::ChargesBy by = account::ChargesBy::account;
  Time from, to;  // of the sums
  std::size_t limit = 20;
};

std::string charges_json(const ChargesView& v);
std::string charges_text(const ChargesView& v, const Page& page);
std::string charges_csv(const ChargesView& v);

std::string quota_json(const account::Quotas& q);
std::string quota_text(const account::Quotas& q, const Page& page);
std::string quota_csv(const account::Quotas& q);

}  // namespace muster::report
