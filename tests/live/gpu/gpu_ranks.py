#!/usr/bin/env python3
"""A job of four ranks on one GPU (PyTorch, NCCL, CUDA's MPS), of which one has more to compute than the others, profiled on each:

    gpu_ranks.py OUT     writes OUT/rank0.json.gz ... OUT/rank3.json.gz and OUT/nccl.log

What tests/fixtures/ranks holds was made by this on one H200."""
import gzip
import os
import shutil
import subprocess
import sys
import tempfile

RANKS, SLOW, STEPS = 4, 2, 5


def rank_main(rank, port, out):
    # As if each were on a host of its own: NCCL refuses two ranks of one host on one GPU.
    os.environ.update(NCCL_HOSTID=f'host{rank}', RANK=str(rank), WORLD_SIZE=str(RANKS), MASTER_ADDR='127.0.0.1', MASTER_PORT=port,
                      NCCL_NET='Socket', NCCL_SOCKET_IFNAME='lo', NCCL_DEBUG='INFO', NCCL_DEBUG_SUBSYS='INIT,NET,TUNING,ENV')
    import torch
    import torch.distributed as dist
    from torch.profiler import ProfilerActivity, profile, schedule
    torch.cuda.set_device(0)
    dist.init_process_group('nccl')
    torch.manual_seed(1)
    layers = [torch.nn.Linear(1024, 1024) for _ in range(4)]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers).cuda(), bucket_cap_mb=8)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(512, 1024, device='cuda')
    more = torch.randn(4096, 4096, device='cuda')

    def step():
        optimizer.zero_grad()
        loss = model(x).square().mean()
        if rank == SLOW:
            y = more
            for _ in range(40):
                y = y @ more * 1e-3
            loss = loss + 0 * y.mean()
        loss.backward()
        optimizer.step()

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True,
                 schedule=schedule(wait=1, warmup=2, active=STEPS, repeat=1)) as p:
        for _ in range(STEPS + 4):
            step()
            p.step()
    torch.cuda.synchronize()
    plain = f'{out}/rank{rank}.json'
    p.export_chrome_trace(plain)
    with open(plain, 'rb') as source, gzip.GzipFile(f'{plain}.gz', 'wb', 9, mtime=0) as packed:
        shutil.copyfileobj(source, packed)
    os.unlink(plain)
    dist.barrier()
    os._exit(0)


def main():
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    folder = tempfile.mkdtemp()
    env = {**os.environ, 'CUDA_MPS_PIPE_DIRECTORY': folder, 'CUDA_MPS_LOG_DIRECTORY': folder}
    subprocess.run(['nvidia-cuda-mps-control', '-d'], env=env, check=True)
    try:
        with open(f'{out}/nccl.log', 'wb') as log:
            ranks = [subprocess.Popen([sys.executable, __file__, '--rank', str(r), '29533', out], stdout=log, stderr=log, env=env)
                     for r in range(RANKS)]
            for r in ranks:
                r.wait(timeout=180)
    finally:
        subprocess.run(['nvidia-cuda-mps-control'], input='quit\n', text=True, env=env)
    print(open(f'{out}/nccl.log', errors='replace').read()[-600:], os.listdir(out))


if sys.argv[1] == '--rank':
    rank_main(int(sys.argv[2]), sys.argv[3], sys.argv[4])
else:
    main()
