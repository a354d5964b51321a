#!/usr/bin/env python3
"""Training steps whose bottleneck is known because they were made so, profiled on a real GPU: a few of each kind and size, each
with what removes the bottleneck and the step's time before and after, taken without the profiler.

    gpu_profiles.py OUT [CASE...]     writes OUT/CASE.json.gz and OUT/labels.json

What tests/fixtures/profiles holds was made by this on one H200; tests/cli/diagnose_profiles.py checks Muster's verdicts on it."""
import gzip
import json
import os
import shutil
import sys
import time

import numpy
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

DEVICE = 'cuda'
CASES = {}


def case(bound, remedy):
    def register(make):
        CASES[make.__name__] = (bound, remedy, make)
        return make
    return register


def mlp(width, layers, dtype=torch.float32, bias=True):
    torch.manual_seed(1)
    parts = []
    for _ in range(layers):
        parts += [nn.Linear(width, width, bias=bias), nn.GELU()]
    return nn.Sequential(*parts).to(DEVICE, dtype)


def trainer(model, fused=True):
    return torch.optim.AdamW(model.parameters(), lr=1e-4, fused=fused)


def plain_step(model, optimizer, x):
    def step():
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    return step


# ---- computing: products fill the step. In 32 bits they leave the tensor cores idle, which one setting mends.
def products(width, layers, batch, remedied):
    torch.set_float32_matmul_precision('high' if remedied else 'highest')
    model = mlp(width, layers)
    return plain_step(model, trainer(model), torch.randn(batch, width, device=DEVICE))


@case('compute', 'tf32')
def compute_fp32_4096(remedied):
    return products(4096, 6, 8192, remedied)


@case('compute', 'tf32')
def compute_fp32_8192(remedied):
    return products(8192, 3, 4096, remedied)


@case('compute', 'tf32')
def compute_fp32_2048(remedied):
    return products(2048, 8, 16384, remedied)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, s, w = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, s, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, s, w))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


def transformer(width, heads, layers, batch, seq, dtype):
    torch.manual_seed(1)
    model = nn.Sequential(*[Block(width, heads) for _ in range(layers)]).to(DEVICE, dtype)
    return plain_step(model, trainer(model), torch.randn(batch, seq, width, device=DEVICE, dtype=dtype))


@case('compute', None)
def compute_bf16_transformer(remedied):
    return transformer(4096, 32, 4, 4, 2048, torch.bfloat16)


@case('compute', None)
def compute_bf16_long(remedied):
    return transformer(2048, 16, 4, 1, 16384, torch.bfloat16)


@case('compute', None)
def compute_bf16_mlp(remedied):
    model = mlp(8192, 4, torch.bfloat16)
    return plain_step(model, trainer(model), torch.randn(16384, 8192, device=DEVICE, dtype=torch.bfloat16))


# ---- memory: element by element, each operator through memory and back; a compiler makes one kernel of them.
def elementwise(n, remedied, dtype=torch.float32):
    torch.manual_seed(1)
    w = nn.Parameter(torch.randn(n, 1024, device=DEVICE, dtype=dtype))
    scale = nn.Parameter(torch.ones(1024, device=DEVICE, dtype=dtype))

    def body(x, w, scale):
        y = x * w
        y = 0.5 * y * (1 + torch.tanh(0.7978845608 * (y + 0.044715 * y * y * y)))
        y = y * torch.rsqrt((y * y).mean(-1, keepdim=True) + 1e-6) * scale
        return (torch.sigmoid(y) * y + x).square().mean()
    f = torch.compile(body) if remedied else body
    x = torch.randn(n, 1024, device=DEVICE, dtype=dtype)

    def step():
        w.grad = scale.grad = None
        f(x, w, scale).backward()
        with torch.no_grad():
            w.sub_(w.grad, alpha=1e-3)
            scale.sub_(scale.grad, alpha=1e-3)
    return step


@case('memory', 'fuse')
def memory_elementwise_32k(remedied):
    return elementwise(32768, remedied)


@case('memory', 'fuse')
def memory_elementwise_128k(remedied):
    return elementwise(131072, remedied)


@case('memory', 'fuse')
def memory_elementwise_bf16(remedied):
    return elementwise(131072, remedied, torch.bfloat16)


@case('memory', 'fused optimizer')
def memory_optimizer_400m(remedied):
    model = mlp(4096, 24, bias=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **({'fused': True} if remedied else {'foreach': True}))
    return plain_step(model, optimizer, torch.randn(16, 4096, device=DEVICE))


@case('memory', 'fused optimizer')
def memory_optimizer_1600m(remedied):
    model = mlp(8192, 24, bias=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **({'fused': True} if remedied else {'foreach': True}))
    return plain_step(model, optimizer, torch.randn(16, 8192, device=DEVICE))


# ---- launching: kernels so small that the host cannot issue them as fast as they end; a graph issues all at once.
def graphed(step, remedied):
    if not remedied:
        return step
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def small(width, layers, batch, remedied):
    model = mlp(width, layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True, capturable=True)
    x = torch.randn(batch, width, device=DEVICE)

    def step():
        optimizer.zero_grad(set_to_none=True)
        model(x).square().mean().backward()
        optimizer.step()
    return graphed(step, remedied)


@case('launch', 'graph')
def launch_mlp_256(remedied):
    return small(256, 24, 64, remedied)


@case('launch', 'graph')
def launch_mlp_512(remedied):
    return small(512, 48, 128, remedied)


@case('launch', 'graph')
def launch_transformer_small(remedied):
    torch.manual_seed(1)
    model = nn.Sequential(*[Block(256, 4) for _ in range(6)]).to(DEVICE, torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True, capturable=True)
    x = torch.randn(4, 128, 256, device=DEVICE, dtype=torch.bfloat16)

    def step():
        optimizer.zero_grad(set_to_none=True)
        model(x).square().mean().backward()
        optimizer.step()
    return graphed(step, remedied)


# ---- input: a loader that computes on the host before each batch
class Slow(torch.utils.data.Dataset):
    def __init__(self, width, rounds):
        self.width, self.rounds = width, rounds

    def __len__(self):
        return 10**6

    def __getitem__(self, i):
        v = numpy.full(self.width, i % 7, dtype=numpy.float32)
        for _ in range(self.rounds):
            v = numpy.sqrt(v * v + 1.0)
        return torch.from_numpy(v)


def loading(width, rounds, batch, workers, layers, remedied):
    torch.set_num_threads(1)
    model = mlp(width, layers, torch.bfloat16)
    optimizer = trainer(model)
    workers = 12 if remedied else workers
    loader = torch.utils.data.DataLoader(Slow(width, rounds), batch_size=batch, num_workers=workers, pin_memory=True)
    source = iter(loader)

    def step():
        x = next(source).to(DEVICE, torch.bfloat16, non_blocking=True)
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    return step


@case('input', 'workers')
def input_no_workers(remedied):
    return loading(4096, 12, 256, 0, 8, remedied)


@case('input', 'workers')
def input_no_workers_large(remedied):
    return loading(8192, 24, 512, 0, 8, remedied)


@case('input', 'workers')
def input_two_workers(remedied):
    return loading(4096, 48, 512, 2, 12, remedied)


# ---- copies: a batch that is not pinned waits for the driver to stage it
def copying(megabytes, width, layers, remedied):
    torch.set_num_threads(1)
    model = mlp(width, layers, torch.bfloat16)
    optimizer = trainer(model)
    host = torch.randn(megabytes * 2**20 // 4 // width, width)
    if remedied:
        host = host.pin_memory()

    def step():
        x = host.to(DEVICE, non_blocking=remedied).to(torch.bfloat16)
        optimizer.zero_grad()
        model(x[:4096]).square().mean().backward()
        optimizer.step()
    return step


@case('copy', 'pin')
def copy_pageable_64(remedied):
    return copying(64, 2048, 4, remedied)


@case('copy', 'pin')
def copy_pageable_512(remedied):
    return copying(512, 4096, 4, remedied)


@case('copy', 'pin')
def copy_pageable_2048(remedied):
    return copying(2048, 4096, 8, remedied)


# ---- synchronisation: the host asks for a number, and the GPU has nothing to do until the host has dealt with it
def busy_host(milliseconds):
    until = time.perf_counter() + milliseconds / 1e3
    while time.perf_counter() < until:
        pass


def asking(width, layers, rows, pieces, host_ms, remedied):
    model = mlp(width, layers, torch.bfloat16)
    optimizer = trainer(model)
    x = torch.randn(rows, width, device=DEVICE, dtype=torch.bfloat16)
    last = None

    def step():
        nonlocal last
        optimizer.zero_grad()
        for _ in range(pieces):
            loss = model(x).square().mean()
            loss.backward()
            if not remedied:
                loss.item()
            busy_host(host_ms)  # metrics of this piece, or the next one's tokens
        optimizer.step()
        if remedied:  # asks for the loss of the step before, which has long been there, and runs no further ahead than that
            event = torch.cuda.Event()
            event.record()
            if last is not None:
                last.synchronize()
            last = event
    return step


@case('sync', 'no wait')
def sync_metrics_each_step(remedied):
    return asking(4096, 6, 8192, 1, 6, remedied)


@case('sync', 'no wait')
def sync_item_each_micro_batch(remedied):
    return asking(4096, 4, 16384, 3, 6, remedied)


@case('sync', 'no wait')
def sync_item_short(remedied):
    return asking(2048, 4, 32768, 6, 3, remedied)


@case('sync', 'no wait')
def sync_outputs_to_host(remedied):
    torch.set_num_threads(1)
    model = mlp(4096, 8, torch.bfloat16)
    optimizer = trainer(model)
    x = torch.randn(8192, 4096, device=DEVICE, dtype=torch.bfloat16)
    kept = torch.empty(4096, dtype=torch.bfloat16, pin_memory=True)

    def step():
        optimizer.zero_grad()
        y = model(x)
        y.square().mean().backward()
        optimizer.step()
        if remedied:
            kept.copy_(y[0].detach(), non_blocking=True)
        else:
            y[0].detach().cpu()
        busy_host(8)
    return step


def seconds_a_step(step):
    """Median over several rounds: one of them may be disturbed."""
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    start = time.perf_counter()
    step()
    torch.cuda.synchronize()
    count = max(4, min(60, int(0.4 / (time.perf_counter() - start))))
    rounds = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(count):
            step()
        torch.cuda.synchronize()
        rounds.append((time.perf_counter() - start) / count)
    return sorted(rounds)[2]


def measure(name, out):
    bound, remedy, make = CASES[name]
    step = make(False)
    before = seconds_a_step(step)
    plain = f'{out}/{name}.json'
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True,
                 schedule=schedule(wait=1, warmup=3, active=4, repeat=1)) as p:
        for _ in range(9):
            step()
            p.step()
    torch.cuda.synchronize()
    p.export_chrome_trace(plain)
    with open(plain, 'rb') as source, gzip.GzipFile(f'{plain}.gz', 'wb', 9, mtime=0) as packed:
        shutil.copyfileobj(source, packed)
    os.unlink(plain)
    label = {'bound': bound, 'step_ms': round(before * 1e3, 4)}
    if remedy:
        del step
        torch.cuda.empty_cache()
        torch._dynamo.reset()
        after = seconds_a_step(make(True))
        label.update(remedy=remedy, after_ms=round(after * 1e3, 4), gain_pct=round(100 * (1 - after / before), 2))
    return label


def main():
    out, names = sys.argv[1], sys.argv[2:] or list(CASES)
    os.makedirs(out, exist_ok=True)
    if len(names) == 1:  # each in a process of its own: settings and memory of one do not reach the next
        print('label ' + json.dumps(measure(names[0], out)))
        return
    labels = {'gpu': torch.cuda.get_device_name(), 'torch': torch.__version__, 'cases': {}}
    import subprocess
    for name in names:
        ran = subprocess.run([sys.executable, __file__, out, name], capture_output=True, text=True, timeout=240)
        found = [line for line in ran.stdout.splitlines() if line.startswith('label ')]
        if not found:
            print(f'{name}: failed: {ran.stderr[-1500:]}', flush=True)
            continue
        labels['cases'][name] = json.loads(found[0][6:])
        print(name, labels['cases'][name], os.path.getsize(f'{out}/{name}.json.gz'), flush=True)
    with open(f'{out}/labels.json', 'w') as f:
        json.dump(labels, f, indent=1)
        f.write('\n')


main()
