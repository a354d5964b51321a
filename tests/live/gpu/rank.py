"""rank.py RANK RANKS PORT LATE: one rank of a job that sums over all ranks again and again; rank LATE stops coming after 400."""
import datetime
import os
import sys
import time

rank, ranks, port, late = (int(x) for x in sys.argv[1:])
# As if each were on a host of its own: NCCL refuses two ranks of one host on one GPU.
os.environ.update(NCCL_HOSTID=f'host{rank}', RANK=str(rank), WORLD_SIZE=str(ranks), MASTER_ADDR='127.0.0.1',
                  MASTER_PORT=str(port), NCCL_NET='Socket', NCCL_SOCKET_IFNAME='lo', TORCH_NCCL_DUMP_ON_TIMEOUT='0')
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

torch.cuda.set_device(0)
dist.init_process_group('nccl', timeout=datetime.timedelta(seconds=100))
x = torch.ones(1 << 20, device='cuda')
for step in range(100_000):
    if rank == late and step == 400:
        print(f'rank {rank} sleeps', flush=True)
        time.sleep(600)
    dist.all_reduce(x)
    x.mul_(1 / ranks)
    if step % 50 == 0:
        torch.cuda.synchronize()
        if rank == 0:
            print('iteration', step, flush=True)
    time.sleep(0.02)
