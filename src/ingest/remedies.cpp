#include "ingest/remedies.h"

#include "base/check.h"
#include "ingest/csv.h"
#include "ingest/embedded.h"

namespace muster {
namespace {

RemedyBook read_book() {
  const auto text = embedded_file("fleet/remedies.csv");
  MUSTER_CHECK(text.has_value());
  const auto csv = parse_csv(*text, "fleet/remedies.csv");
  MUSTER_CHECK(csv.has_value());
  RemedyBook book;
  for (std::size_t i = 0; i < csv->rows.size(); ++i) {
    Remedy r;
    r.key = csv->cell(i, "key");
    MUSTER_CHECK(parse_name(csv->cell(i, "by"), r.by));
    r.target = csv->cell(i, "target");
    MUSTER_CHECK(parse_name(csv->cell(i, "takes"), r.takes));
    r.restarts = csv->cell(i, "restarts");
    r.source = csv->cell(i, "source");
    book.rows.push_back(std::move(r));
  }
  return book;
}

}  // namespace

const RemedyBook& remedy_book() {
  static const RemedyBook kBook = read_book();
  return kBook;
}

}  // namespace muster
