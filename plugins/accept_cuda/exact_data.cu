// Kernels that make the data of exact products, weigh them by way of whole numbers, and check results.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>

#include "exact_data.cuh"

namespace muster_accept {
namespace {

constexpr std::uint32_t kThreads = 256, kWarps = kThreads / 32;

template <Number kNumber>
__device__ __forceinline__ std::uint32_t encoded(std::int32_t v) {
  if constexpr (kNumber == Number::bf16) {
    return __bfloat16_as_ushort(__int2bfloat16_rn(v));
  } else if constexpr (kNumber == Number::fp16) {
    return __half_as_ushort(__int2half_rn(v));
  } else if constexpr (kNumber == Number::fp8) {
    return __nv_cvt_float_to_fp8(static_cast<float>(v), __NV_SATFINITE, __NV_E4M3);
  } else if constexpr (kNumber == Number::tf32) {
    return __float_as_uint(static_cast<float>(v));
  } else {
    return static_cast<std::uint32_t>(v) & 255u;
  }
}

// Eight numbers a thread.
template <Number kNumber>
__global__ void __launch_bounds__(kThreads)
    make_matrix(std::uint32_t* out, Exact e, Matrix matrix, std::uint64_t key, std::uint64_t groups) {
  const std::uint64_t at = static_cast<std::uint64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= groups) return;
  const std::uint32_t a_row = e.depth / kGroup;
  const auto row = static_cast<std::uint32_t>(at / a_row), group = static_cast<std::uint32_t>(at % a_row);
  const std::uint64_t bytes = group_of(key, row, group);
  constexpr std::uint32_t kBytes = kNumberBytes[static_cast<int>(kNumber)], kWords = 2 * kBytes, kInWord = 4 / kBytes;
  std::uint32_t words[kWords];
#pragma unroll
  for (std::uint32_t w = 0; w < kWords; ++w) {
    std::uint32_t word = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < kInWord; ++i)
      word |= encoded<kNumber>(member_of(e, matrix, bytes, group, w * kInWord + i)) << (8 * kBytes * i);
    words[w] = word;
  }
#pragma unroll
  for (std::uint32_t w = 0; w < kWords; w += 2)
    reinterpret_cast<uint2*>(out + at * kWords)[w / 2] = make_uint2(words[w], words[w + 1]);
}

void launch_make(void* out, const Exact& e, Matrix matrix, std::uint64_t key, cudaStream_t stream) {
  const std::uint64_t groups = std::uint64_t{matrix == Matrix::x ? e.rows : e.columns} * (e.depth / kGroup);
  const auto blocks = static_cast<std::uint32_t>((groups + kThreads - 1) / kThreads);
  auto* words = static_cast<std::uint32_t*>(out);
  switch (e.number) {
    case Number::bf16: make_matrix<Number::bf16><<<blocks, kThreads, 0, stream>>>(words, e, matrix, key, groups); break;
    case Number::fp16: make_matrix<Number::fp16><<<blocks, kThreads, 0, stream>>>(words, e, matrix, key, groups); break;
    case Number::fp8: make_matrix<Number::fp8><<<blocks, kThreads, 0, stream>>>(words, e, matrix, key, groups); break;
    case Number::tf32: make_matrix<Number::tf32><<<blocks, kThreads, 0, stream>>>(words, e, matrix, key, groups); break;
    case Number::int8: make_matrix<Number::int8><<<blocks, kThreads, 0, stream>>>(words, e, matrix, key, groups); break;
  }
  check_launch("making a matrix");
}

__global__ void __launch_bounds__(kThreads) make_weights(std::int32_t* out, std::uint64_t key, std::uint32_t columns) {
  const std::uint32_t c = blockIdx.x * kThreads + threadIdx.x;
  if (c < columns) out[c] = weight_of(key, c);
}

constexpr std::uint32_t kColumnsAtOnce = 128;

// out[k] += sum over some c of weight(c) * Y(c, k): a group of eight k a thread, `kColumnsAtOnce` c a block (blockIdx.y).
__global__ void __launch_bounds__(kThreads)
    weigh_columns(unsigned long long* out, Exact e, std::uint64_t key, const std::int32_t* weights) {
  const std::uint32_t group = blockIdx.x * kThreads + threadIdx.x;
  if (group >= e.depth / kGroup) return;
  std::uint64_t sums[kGroup] = {};
  const std::uint32_t first = blockIdx.y * kColumnsAtOnce, end = min(first + kColumnsAtOnce, e.columns);
  for (std::uint32_t c = first; c < end; ++c) {
    const std::int32_t weight = weights[c];
    const std::uint64_t bytes = group_of(key, c, group);
#pragma unroll
    for (std::uint32_t j = 0; j < kGroup; ++j) sums[j] += weighed(weight, member_of(e, Matrix::y, bytes, group, j));
  }
#pragma unroll
  for (std::uint32_t j = 0; j < kGroup; ++j) atomicAdd(out + group * kGroup + j, sums[j]);
}

__device__ __forceinline__ std::uint64_t warp_sum(std::uint64_t v) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(0xFFFFFFFFu, v, step);
  return v;
}

// out[row] = sum over k of X(row, k) * columns[k]: what the weighted sum over the row of the product must be. A block a row.
__global__ void __launch_bounds__(kThreads)
    expect_rows(unsigned long long* out, Exact e, std::uint64_t key, const unsigned long long* columns) {
  __shared__ std::uint64_t parts[kWarps];
  std::uint64_t sum = 0;
  for (std::uint32_t group = threadIdx.x; group < e.depth / kGroup; group += kThreads) {
    const std::uint64_t bytes = group_of(key, blockIdx.x, group);
#pragma unroll
    for (std::uint32_t j = 0; j < kGroup; ++j) {
      const std::int64_t x = member_of(e, Matrix::x, bytes, group, j);
      sum += static_cast<std::uint64_t>(x) * columns[group * kGroup + j];
    }
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (std::uint32_t w = 1; w < kWarps; ++w) sum += parts[w];
    out[blockIdx.x] = sum;
  }
}

constexpr std::uint32_t kRowsAtOnce = 4;  // of a block of the check, which keeps its weights in registers
constexpr std::uint32_t kVectors = kCheckColumns / (4 * kThreads);
static_assert(kVectors * 4 * kThreads == kCheckColumns, "a row is read in whole turns of a block");

template <bool kInteger>
__device__ __forceinline__ void take(std::uint32_t bits, std::int32_t weight, std::uint64_t* sum, std::uint32_t* not_whole) {
  std::int32_t value = static_cast<std::int32_t>(bits);
  if constexpr (!kInteger) *not_whole += is_whole(__uint_as_float(bits), &value) ? 0 : 1;
  *sum += weighed(weight, value);
}

// Copies a wrong row aside, as the next product will be where it is now. The whole block comes here or none of it.
__device__ __noinline__ void keep_row(const uint4* row, std::uint32_t* rows, Ledger* ledger, const BadRow& bad) {
  __shared__ std::uint32_t slot;
  if (threadIdx.x == 0) {
    slot = atomicAdd(&ledger->bad, 1u);
    if (slot < kKeptRows) ledger->kept[slot] = bad;
  }
  __syncthreads();
  const std::uint32_t mine = slot;
  __syncthreads();  // before the next row takes `slot`
  if (mine >= kKeptRows) return;
  auto* to = reinterpret_cast<uint4*>(rows + static_cast<std::size_t>(mine) * kCheckColumns);
  for (std::uint32_t i = threadIdx.x; i < kCheckColumns / 4; i += kThreads) to[i] = row[i];
}

// Each result is read once: is it an integer, and does the weighted sum of its row come out?
template <bool kInteger>
__global__ void __launch_bounds__(kThreads)
    check_rows(const uint4* results, const int4* weights, const unsigned long long* expected, std::uint32_t product,
               std::uint32_t* rows, Ledger* ledger) {
  __shared__ std::uint64_t sums[kRowsAtOnce][kWarps];
  __shared__ std::uint32_t strange[kRowsAtOnce][kWarps];
  __shared__ std::uint64_t off[kRowsAtOnce];
  __shared__ std::uint32_t not_wholes[kRowsAtOnce];
  int4 w[kVectors];
#pragma unroll
  for (std::uint32_t i = 0; i < kVectors; ++i) w[i] = __ldg(weights + i * kThreads + threadIdx.x);
  const std::uint32_t first = blockIdx.x * kRowsAtOnce;
  const uint4* base = results + static_cast<std::size_t>(first) * (kCheckColumns / 4);
#pragma unroll 1
  for (std::uint32_t r = 0; r < kRowsAtOnce; ++r) {
    uint4 v[kVectors];
#pragma unroll
    for (std::uint32_t i = 0; i < kVectors; ++i) v[i] = __ldcs(base + r * (kCheckColumns / 4) + i * kThreads + threadIdx.x);
    std::uint64_t sum = 0;
    std::uint32_t not_whole = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < kVectors; ++i) {
      take<kInteger>(v[i].x, w[i].x, &sum, &not_whole);
      take<kInteger>(v[i].y, w[i].y, &sum, &not_whole);
      take<kInteger>(v[i].z, w[i].z, &sum, &not_whole);
      take<kInteger>(v[i].w, w[i].w, &sum, &not_whole);
    }
    sum = warp_sum(sum);
    not_whole = __reduce_add_sync(0xFFFFFFFFu, not_whole);
    if (threadIdx.x % 32 == 0) {
      sums[r][threadIdx.x / 32] = sum;
      strange[r][threadIdx.x / 32] = not_whole;
    }
  }
  __syncthreads();
  if (threadIdx.x < kRowsAtOnce) {
    std::uint64_t sum = 0;
    std::uint32_t not_whole = 0;
    for (std::uint32_t i = 0; i < kWarps; ++i) {
      sum += sums[threadIdx.x][i];
      not_whole += strange[threadIdx.x][i];
    }
    off[threadIdx.x] = sum - expected[first + threadIdx.x];
    not_wholes[threadIdx.x] = not_whole;
  }
  __syncthreads();
  for (std::uint32_t r = 0; r < kRowsAtOnce; ++r) {
    if (off[r] != 0 || not_wholes[r] != 0)
      keep_row(base + r * (kCheckColumns / 4), rows, ledger, {product, first + r, not_wholes[r], 0, off[r]});
  }
  if (threadIdx.x == 0) atomicAdd(&ledger->rows, static_cast<unsigned long long>(kRowsAtOnce));
}

// Which results of kept rows are wrong, each computed again from the data's rule: a warp a column, blockIdx.y counts rows.
__global__ void __launch_bounds__(kThreads)
    look_closer(const std::uint32_t* rows, const Ledger* ledger, std::uint32_t from, Exact e, Keys keys, Spots* spots) {
  const std::uint32_t slot = from + blockIdx.y, column = blockIdx.x * kWarps + threadIdx.x / 32;
  if (column >= e.columns) return;
  const std::uint32_t row = ledger->kept[slot].row;
  std::int64_t sum = 0;
  for (std::uint32_t g = threadIdx.x % 32; g < e.depth / kGroup; g += 32) sum += group_product(e, keys, row, column, g);
  sum = static_cast<std::int64_t>(warp_sum(static_cast<std::uint64_t>(sum)));
  if (threadIdx.x % 32 != 0 || is_right(e.number, rows[static_cast<std::size_t>(slot) * kCheckColumns + column], sum)) return;
  atomicAdd(&spots[slot].count, 1u);
  atomicMin(&spots[slot].first_column, column);
}

constexpr std::uint32_t kCloserAtOnce = 64;  // rows a launch, so that none is long

}  // namespace

std::string WrongRow::detail(Number number) const {
  const bool whole = number == Number::int8;
  std::string out = text("product %u", found.product);
  if (columns == 0) {
    out += text(", sum off by 0x%llx; right when read again", found.difference);
  } else if (whole) {
    out += text(", column %u: %d instead of %lld", column, static_cast<std::int32_t>(bits), static_cast<long long>(expected));
  } else {
    out += text(", column %u: %.9g (0x%08x) instead of %lld", column, static_cast<double>(float_of(bits)), bits,
                static_cast<long long>(expected));
  }
  if (columns > 1) out += text(", and %u more columns", columns - 1);
  return out;
}

ExactData::ExactData(Run& run, Number number)
    : kind(exact_of(number)),
      run_(run),
      x_(std::size_t{kind.rows} * kind.depth * kNumberBytes[static_cast<int>(number)]),
      y_(std::size_t{kind.columns} * kind.depth * kNumberBytes[static_cast<int>(number)]),
      weights_(kind.columns),
      columns_(kind.depth),
      expected_(kind.rows),
      ledger_(1),
      rows_(std::size_t{kKeptRows} * kCheckColumns),
      spots_(kKeptRows) {
  if (kind.columns != kCheckColumns || kind.rows % kRowsAtOnce != 0) throw CouldNotRun{"a shape that the check does not know"};
}

void ExactData::make(std::uint64_t seed, cudaStream_t stream) {
  keys_ = keys_of(seed);
  launch_make(x_.data(), kind, Matrix::x, keys_.x, stream);
  launch_make(y_.data(), kind, Matrix::y, keys_.y, stream);
  make_weights<<<(kind.columns + kThreads - 1) / kThreads, kThreads, 0, stream>>>(weights_.data(), keys_.weights, kind.columns);
  check_launch("making the weights");
  check(cudaMemsetAsync(columns_.data(), 0, columns_.size() * sizeof(unsigned long long), stream), "cudaMemset");
  check(cudaMemsetAsync(ledger_.data(), 0, sizeof(Ledger), stream), "cudaMemset");
  const dim3 grid((kind.depth / kGroup + kThreads - 1) / kThreads, (kind.columns + kColumnsAtOnce - 1) / kColumnsAtOnce);
  weigh_columns<<<grid, kThreads, 0, stream>>>(columns_.data(), kind, keys_.y, weights_.data());
  check_launch("weighing the columns");
  expect_rows<<<kind.rows, kThreads, 0, stream>>>(expected_.data(), kind, keys_.x, columns_.data());
  check_launch("weighing the rows");
}

void ExactData::verify(const void* results, std::uint32_t product, cudaStream_t stream) {
  const std::uint32_t blocks = kind.rows / kRowsAtOnce;
  const auto* d = static_cast<const uint4*>(results);
  const auto* weights = reinterpret_cast<const int4*>(weights_.data());
  if (kind.number == Number::int8) {
    check_rows<true><<<blocks, kThreads, 0, stream>>>(d, weights, expected_.data(), product, rows_.data(), ledger_.data());
  } else {
    check_rows<false><<<blocks, kThreads, 0, stream>>>(d, weights, expected_.data(), product, rows_.data(), ledger_.data());
  }
  check_launch("the check of a product");
}

Checked ExactData::collect(cudaStream_t stream, std::size_t closer) {
  const Ledger ledger = copied(run_, ledger_.data(), 1, stream)[0];
  Checked out;
  out.rows = ledger.rows;
  out.bad = ledger.bad;
  const auto kept = std::min<std::uint32_t>(ledger.bad, kKeptRows);
  const auto looked = static_cast<std::uint32_t>(std::min<std::size_t>(kept, closer));
  if (looked > 0) {
    const std::vector<Spots> none(looked, {0, kind.columns});
    check(cudaMemcpyAsync(spots_.data(), none.data(), looked * sizeof(Spots), cudaMemcpyHostToDevice, stream),
          "a copy to the device");
    wait_for(run_, stream);
    for (std::uint32_t from = 0; from < looked; from += kCloserAtOnce) {
      const dim3 grid(kind.columns / kWarps, std::min(kCloserAtOnce, looked - from));
      look_closer<<<grid, kThreads, 0, stream>>>(rows_.data(), ledger_.data(), from, kind, keys_, spots_.data());
      check_launch("a closer look at wrong rows");
      wait_for(run_, stream);
    }
  }
  const std::vector<Spots> spots = copied(run_, spots_.data(), looked, stream);
  for (std::uint32_t i = 0; i < kept; ++i) {
    WrongRow w;
    w.found = ledger.kept[i];
    if (i < looked && spots[i].count > 0) {
      w.columns = spots[i].count;
      w.column = spots[i].first_column;
      w.bits = copied(run_, rows_.data() + std::size_t{i} * kCheckColumns + w.column, 1, stream)[0];
      w.expected = result_of(kind, keys_, w.found.row, w.column);
    }
    out.wrong.push_back(w);
  }
  check(cudaMemsetAsync(ledger_.data(), 0, sizeof(Ledger), stream), "cudaMemset");
  wait_for(run_, stream);
  return out;
}

void tell_wrong(const Run& run, Number number, const Checked& checked) {
  std::uint64_t told = 0;
  for (const WrongRow& w : checked.wrong) {
    if (told == kWrongMax) break;
    run.wrong(text("row %u", w.found.row), w.columns > 0 ? w.columns : 1, w.detail(number));
    ++told;
  }
  if (checked.bad > told) run.wrong("other rows", checked.bad - told, "wrong sums");
}

}  // namespace muster_accept
