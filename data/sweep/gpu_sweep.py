"""Measures kernels and small training steps on this machine's GPU, as PyTorch runs them. Reads rows of a timings file (shapes;
what they took elsewhere is ignored) from standard input and writes them with what they took here. `muster calibrate gpu` runs it.

What is measured is the GPU's time, not Python's: kernels run back to back from a captured graph, on operands that take turns so
that they come from memory and not from the cache, after a warm-up that lets clocks and power settle. Of several such runs the
median counts."""
import csv
import statistics
import sys

try:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError as missing:
    sys.exit(f'{sys.executable} has no PyTorch that can do this: {missing}')
if not torch.cuda.is_available():
    sys.exit(f'PyTorch {torch.__version__} sees no GPU on this machine')

CUDA = torch.device('cuda')
CACHE_TIMES = 4  # operands together are so many times the cache
ROUNDS = 5
ROUND_S = 0.02  # a round lasts at least this long


def seconds_of(run):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    run()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1e3


def captured(calls):
    """A graph of the calls, one after the other."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):  # what a library sets up on its first call cannot be captured
        for call in calls[:2]:
            call()
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        for call in calls:
            call()
    return graph


def microseconds(calls):
    """Of one of the calls, which do the same on operands of their own."""
    graph = captured(calls)
    once = max(1e-6, min(seconds_of(graph.replay) for _ in range(3)))
    times = max(1, int(ROUND_S / once))

    def a_round():
        for _ in range(times):
            graph.replay()

    a_round()
    return statistics.median(seconds_of(a_round) for _ in range(ROUNDS)) / times / len(calls) * 1e6


def copies(bytes_each):
    cache = torch.cuda.get_device_properties(CUDA).L2_cache_size
    return max(2, min(64, -(-CACHE_TIMES * cache // int(bytes_each))))


def normal(*shape):
    return torch.randn(*shape, device=CUDA, dtype=torch.bfloat16)


def gemm_bf16(m, n, k, groups):
    operands = [(normal(groups, m, k), normal(groups, n, k)) for _ in range(copies(2 * groups * (m * k + n * k)))]
    if groups == 1:
        return [lambda a=a[0], b=b[0].t(): torch.mm(a, b) for a, b in operands]
    ends = torch.arange(1, groups + 1, device=CUDA, dtype=torch.int32) * m
    return [lambda a=a.reshape(groups * m, k), b=b.transpose(1, 2): torch._grouped_mm(a, b, offs=ends) for a, b in operands]


def gemm_fp8(m, n, k, groups):
    if groups != 1:
        raise RuntimeError('groups of FP8 products are not measured')
    one = torch.ones((), device=CUDA)
    fp8 = torch.float8_e4m3fn
    operands = [(normal(m, k).to(fp8), normal(n, k).to(fp8).t()) for _ in range(copies(m * k + n * k))]
    return [lambda a=a, b=b: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True)
            for a, b in operands]


def attention(by, batch, heads, seq, head_dim):
    backend = {'cudnn': SDPBackend.CUDNN_ATTENTION, 'flash': SDPBackend.FLASH_ATTENTION}[by]
    shape = (batch, heads, seq, head_dim)
    operands = [[normal(*shape).requires_grad_() for _ in range(3)] for _ in range(copies(6 * batch * heads * seq * head_dim))]
    grad = normal(*shape)

    def forward(qkv):
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(*qkv, is_causal=True)

    there = microseconds([lambda o=o: forward(o) for o in operands])
    back = microseconds([lambda o=o: torch.autograd.grad(forward(o), o, grad) for o in operands]) - there
    return there, back


def stream(kind, values):
    if kind == 'add':
        operands = [(normal(values), normal(values), normal(values)) for _ in range(copies(6 * values))]
        return [lambda a=a, b=b, c=c: torch.add(a, b, out=c) for a, b, c in operands]
    operands = [(normal(values), normal(values)) for _ in range(copies(4 * values))]
    return [lambda a=a, b=b: b.copy_(a) for a, b in operands]


class Layer(torch.nn.Module):
    def __init__(self, hidden, ffn, heads, kv):
        super().__init__()
        self.heads, self.kv, self.size = heads, kv, hidden // heads
        wide = (heads + 2 * kv) * self.size
        self.norms = torch.nn.ModuleList(torch.nn.RMSNorm(hidden) for _ in range(2))
        self.qkv, self.out = torch.nn.Linear(hidden, wide, bias=False), torch.nn.Linear(hidden, hidden, bias=False)
        self.up, self.down = torch.nn.Linear(hidden, 2 * ffn, bias=False), torch.nn.Linear(ffn, hidden, bias=False)

    def rotated(self, x, turn):
        even, odd = x.chunk(2, -1)
        return torch.cat((even * turn[0] - odd * turn[1], odd * turn[0] + even * turn[1]), -1)

    def forward(self, x, turn):
        batch, seq, hidden = x.shape
        q, k, v = self.qkv(self.norms[0](x)).split([self.heads * self.size, self.kv * self.size, self.kv * self.size], -1)
        q, k, v = (t.view(batch, seq, -1, self.size).transpose(1, 2) for t in (q, k, v))
        q, k = self.rotated(q, turn), self.rotated(k, turn)
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            seen = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.kv != self.heads)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, seq, hidden))
        gate, value = self.up(self.norms[1](x)).chunk(2, -1)
        return x + self.down(torch.nn.functional.silu(gate) * value)


class Model(torch.nn.Module):
    def __init__(self, layers, hidden, ffn, vocab, heads, kv):
        super().__init__()
        self.words = torch.nn.Embedding(vocab, hidden)
        self.layers = torch.nn.ModuleList(Layer(hidden, ffn, heads, kv) for _ in range(layers))
        self.norm, self.head = torch.nn.RMSNorm(hidden), torch.nn.Linear(hidden, vocab, bias=False)

    def forward(self, words, turn):
        x = self.words(words)
        for layer in self.layers:
            x = layer(x, turn)
        logits = self.head(self.norm(x))
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), words.flatten())


def step(by, layers, hidden, ffn, vocab, noted):
    with CUDA:
        model = Model(layers, hidden, ffn, vocab, noted['heads'], noted['kv']).to(torch.bfloat16)
    seq, size = noted['seq'], hidden // noted['heads']
    angle = torch.arange(seq, device=CUDA)[:, None] / 10000 ** (torch.arange(0, size, 2, device=CUDA) / size)
    turn = angle.cos().bfloat16(), angle.sin().bfloat16()
    words = torch.randint(vocab, (noted['mb'], seq), device=CUDA)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    run = torch.compile(model) if by == 'compiled' else model

    def once():
        run(words, turn).backward()
        adam.step()
        adam.zero_grad()

    for _ in range(3):
        once()
    torch.cuda.synchronize()
    return statistics.median(seconds_of(once) for _ in range(9)) * 1e6


def noted(row):
    words = row['note'].split()
    return {words[i]: int(words[i + 1]) for i in range(0, len(words) - 1, 2)}


def measure(row):
    kind, by = row['kind'], row['dtype']
    m, n, k, groups = (int(row[c]) for c in ('m', 'n', 'k', 'groups'))
    if kind == 'gemm':
        return microseconds({'bf16': gemm_bf16, 'fp8': gemm_fp8}[by](m, n, k, groups)), None
    if kind == 'attention':
        return attention(by, m, n, k, groups)
    if kind == 'step':
        return step(by, m, n, k, groups, noted(row)), None
    return microseconds(stream(kind, m)), None


def main():
    rows = list(csv.DictReader(line for line in sys.stdin if not line.startswith('#')))
    gpu = torch.cuda.get_device_properties(CUDA)
    print(f'# gpu: {gpu.name}\n# software: PyTorch {torch.__version__}, CUDA {torch.version.cuda}, '
          f'cuDNN {torch.backends.cudnn.version()}', flush=True)
    out = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator='\n')
    out.writeheader()
    for i, row in enumerate(rows):
        shape = ' '.join(row[c] for c in ('kind', 'dtype', 'm', 'n', 'k', 'groups'))
        print(f'\r{i + 1} of {len(rows)}: {shape}\033[K', end='' if sys.stderr.isatty() else '\n', file=sys.stderr, flush=True)
        try:
            there, back = measure(row)
        except Exception as why:  # one shape that this GPU or library does not do leaves the rest
            print(f'\rleft out: {shape}: {str(why).strip().splitlines()[0]}', file=sys.stderr, flush=True)
            continue
        finally:
            torch._dynamo.reset()
            torch.cuda.empty_cache()
        row['forward_us'], row['backward_us'] = f'{there:.2f}', '' if back is None else f'{back:.2f}'
        out.writerow(row)
        sys.stdout.flush()
    if sys.stderr.isatty():
        print(file=sys.stderr)


main()
