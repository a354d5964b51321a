#include "ingest/fact_book.h"

#include "base/check.h"
#include "ingest/csv.h"
#include "ingest/embedded.h"

namespace muster {
namespace {

FactBook read_book() {
  const auto text = embedded_file("fleet/facts.csv");
  MUSTER_CHECK(text.has_value());
  const auto csv = parse_csv(*text, "fleet/facts.csv");
  MUSTER_CHECK(csv.has_value());
  FactBook book;
  for (std::size_t r = 0; r < csv->rows.size(); ++r) {
    FactMeaning m;
    m.key = csv->cell(r, "key");
    m.of = csv->cell(r, "of");
    MUSTER_CHECK(parse_name(csv->cell(r, "layer"), m.layer));
    MUSTER_CHECK(parse_name(csv->cell(r, "kind"), m.kind));
    m.read = csv->cell(r, "read");
    m.about = csv->cell(r, "about");
    const bool fresh = book.at.emplace(m.key, book.rows.size()).second;
    MUSTER_CHECK(fresh);
    book.rows.push_back(std::move(m));
  }
  return book;
}

}  // namespace

const FactBook& fact_book() {
  static const FactBook kBook = read_book();
  return kBook;
}

}  // namespace muster
