// The data of an exact product on the device, what its results must come to, and the check that reads each result once.
#pragma once
#include "device.cuh"

namespace muster_accept {

constexpr std::uint32_t kCheckColumns = 8192;  // of every exact product: a block of the check holds that many weights
constexpr std::uint32_t kKeptRows = 1024;      // wrong rows that are kept for a closer look; all are counted

// A wrong row, as the check found it.
struct BadRow {
  std::uint32_t product, row;
  std::uint32_t not_whole;  // results that are no integers
  std::uint32_t padding;
  unsigned long long difference;  // found minus expected, modulo 2^64
};

struct Ledger {
  unsigned long long rows;  // checked
  unsigned int bad;         // wrong rows, also those beyond what is kept
  unsigned int padding;
  BadRow kept[kKeptRows];
};

// Where in a kept row results are wrong.
struct Spots {
  unsigned int count, first_column;
};

struct WrongRow {
  BadRow found;
  std::uint32_t columns = 0;  // wrong ones; 0: the row was right when it was read again
  std::uint32_t column = 0;   // the first
  std::uint32_t bits = 0;     // that lay there
  std::int64_t expected = 0;  // instead of which this was due
  std::string detail(Number number) const;
};

struct Checked {
  std::uint64_t rows = 0, bad = 0;
  std::vector<WrongRow> wrong;  // the first of them, at most kKeptRows
};

class ExactData {
 public:
  ExactData(Run& run, Number number);

  const Exact kind;
  const void* x() const { return x_.data(); }
  const void* y() const { return y_.data(); }

  // New data, and what its rows must come to. All that follows on other streams must wait for this one.
  void make(std::uint64_t seed, cudaStream_t stream);
  void verify(const void* results, std::uint32_t product, cudaStream_t stream);
  // What the checks since the last call have found. No check may be under way. `closer`: wrong rows whose columns are looked for.
  Checked collect(cudaStream_t stream, std::size_t closer = kWrongMax);

 private:
  Run& run_;
  Keys keys_ = {};
  Memory<unsigned char> x_, y_;
  Memory<std::int32_t> weights_;
  Memory<unsigned long long> columns_, expected_;
  Memory<Ledger> ledger_;
  Memory<std::uint32_t> rows_;  // those that are kept
  Memory<Spots> spots_;
};

// Tells the host of wrong rows, a sentence each, and of the rest in one.
void tell_wrong(const Run& run, Number number, const Checked& checked);

}  // namespace muster_accept
