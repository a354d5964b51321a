"""gpu_memory.py MUSTER: a loop on a real GPU whose sequences grow runs out of memory in a cache of pieces too small; `muster
diagnose` reads the snapshot, names the cause and a setting, and with that setting the same loop completes. Then what holds a
training loop's memory is told apart, against what is known of it. Skipped (77) where there is no GPU or no PyTorch. It changes
no setting of the GPU. With OUT set, the snapshots are left there."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
GIB, MIB = 1 << 30, 1 << 20
LEFT, STEPS, HIDDEN = 12 * GIB, 40, 4096  # of the device for the loop; a row of bfloat16 is 8 KiB


def weights(torch):
    """So much that 12 GiB are left, whatever the GPU has."""
    torch.zeros(1, device='cuda')
    free, _ = torch.cuda.mem_get_info()
    return torch.empty(free - LEFT, dtype=torch.uint8, device='cuda')


def forward(torch, tokens):
    return torch.empty(tokens, HIDDEN, dtype=torch.bfloat16, device='cuda').fill_(1)


def keep(torch):
    return torch.empty(3072, HIDDEN, dtype=torch.bfloat16, device='cuda').fill_(1)


def loop(path):
    """Each sequence is longer than all before it, so that no cached block fits; and of each, something is kept, so that no
    segment can go back."""
    import torch
    torch.cuda.memory._record_memory_history(max_entries=200_000, stacks='python')
    held, kept = weights(torch), []
    print('held', held.numel(), flush=True)
    try:
        for step in range(STEPS):
            tokens = 65536 + 8192 * step
            wide = forward(torch, tokens)
            del wide
            narrow = forward(torch, tokens - 4096)
            kept.append(keep(torch))
            del narrow
            print('step', step, torch.cuda.max_memory_reserved(), flush=True)
    except torch.cuda.OutOfMemoryError as e:
        torch.cuda.memory._dump_snapshot(path)
        print('failed', step, str(e)[:200], flush=True)
        sys.exit(3)
    print('completed', flush=True)


def train(path):
    import torch
    torch.cuda.memory._record_memory_history(max_entries=200_000, stacks='python')
    model = torch.nn.Sequential(*[torch.nn.Linear(HIDDEN, HIDDEN, device='cuda') for _ in range(8)])
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    for _ in range(6):
        batch = torch.randn(16384, HIDDEN, device='cuda')
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        del batch, loss
    torch.cuda.memory._dump_snapshot(path)
    print('parameters', sum(p.numel() * p.element_size() for p in model.parameters()), flush=True)
    print('peak', torch.cuda.max_memory_allocated(), flush=True)


if sys.argv[1] in ('--loop', '--train'):
    (loop if sys.argv[1] == '--loop' else train)(sys.argv[2])
    sys.exit(0)

sys.path.insert(0, os.path.join(HERE, '..', '..'))
from held import check, finish  # noqa: E402

ASKED = ('import torch; raise SystemExit(0 if torch.cuda.is_available() and '
         f'torch.cuda.mem_get_info()[0] > {LEFT + GIB} else 1)')
if subprocess.run([sys.executable, '-c', ASKED], capture_output=True).returncode:
    print('skip - gpu_memory: needs an NVIDIA GPU with 13 GiB free, and PyTorch')
    sys.exit(77)
MUSTER = os.path.abspath(sys.argv[1])
PLAIN = {k: v for k, v in os.environ.items() if k not in ('PYTORCH_CUDA_ALLOC_CONF', 'PYTORCH_ALLOC_CONF')}


def run(what, path, env):
    out = subprocess.run([sys.executable, os.path.abspath(__file__), what, path], env=env, capture_output=True, text=True)
    return out.returncode, [line.split() for line in out.stdout.splitlines() if line], out.stdout[-1500:] + out.stderr[-1500:]


def said(lines, word):
    return next((int(x[1]) for x in lines if x[0] == word), 0)


def diagnosed(path):
    out = subprocess.run([MUSTER, 'diagnose', '-o', 'json', path], capture_output=True, text=True)
    if not check(out.returncode in (0, 6), 'muster reads the snapshot', out.stderr[-2000:]):
        finish()
    if os.environ.get('OUT'):
        shutil.copy(path, os.environ['OUT'])
        with open(os.path.join(os.environ['OUT'], os.path.basename(path) + '.json'), 'w') as f:
            f.write(out.stdout)
    return json.loads(out.stdout)


with tempfile.TemporaryDirectory() as folder:
    snapshot = f'{folder}/fragments.pickle'
    code, lines, detail = run('--loop', snapshot, PLAIN)
    if not check(code == 3 and os.path.exists(snapshot), 'the loop runs out of memory, and leaves a snapshot', detail):
        finish()
    failed, held = said(lines, 'failed'), said(lines, 'held')
    print(f'# it failed in step {failed} of {STEPS}; the snapshot has {os.path.getsize(snapshot) / MIB:.1f} MiB')
    found = diagnosed(snapshot)
    memory = found['memory']
    device = memory['devices'][0]
    oom = device['oom'] or {}
    check(oom.get('cause') == 'fragmented', 'the cause is a cache in pieces too small', oom)
    check(oom.get('asked_bytes') == (65536 + 8192 * failed) * HIDDEN * 2, 'the request that failed is told to the byte', oom)
    check(abs(oom.get('limit_bytes', 0) - held - LEFT) < GIB / 4, 'and what the process could have', oom)
    off = device['replay']['reserved_off']
    print(f'# replayed with the settings it had, the peak of reserved memory is {100 * (off or 0):+.2f} % off')
    check(off is not None and abs(off) < 0.02 and device['replay']['fails_alike'], 'the replay is what was', device['replay'])
    advice = memory['advice'] or {}
    if not check('setting' in advice and advice['environment'] in found['findings'][0]['remedy'], 'a setting is advised', memory):
        finish()
    print(f"# advised: {advice['environment']}")
    name, value = advice['environment'].split('=', 1)
    code, lines, detail = run('--loop', f'{folder}/again.pickle', {**PLAIN, name: value})
    check(code == 0 and lines[-1][0] == 'completed', f'with {value} the same loop completes', detail)
    there = next((int(x[2]) for x in lines if x[0] == 'step' and int(x[1]) == failed), 0) - held
    told = advice['reserved_peak_bytes'] - held
    print(f'# reserved beyond the weights where it failed before: told {told / GIB:.2f} GiB, measured {there / GIB:.2f} GiB')
    check(there > 0 and abs(told / there - 1) < 0.15, 'with as much reserved as was told, to 15 percent', (told, there))

    snapshot = f'{folder}/training.pickle'
    code, lines, detail = run('--train', snapshot, PLAIN)
    if not check(code == 0, 'a training loop leaves a snapshot', detail):
        finish()
    device = diagnosed(snapshot)['memory']['devices'][0]
    parameters, classes = said(lines, 'parameters'), device['classes']
    print('# ' + ', '.join(f'{k} {v / MIB:.0f} MiB' for k, v in classes.items()) + f'; parameters are {parameters / MIB:.0f} MiB')
    check(device['steps'] == 6, 'its steps are told apart', device['steps'])
    check(abs(device['peak']['allocated_bytes'] / max(1, said(lines, 'peak')) - 1) < 0.02, 'its peak is as PyTorch counts it',
          (device['peak'], said(lines, 'peak')))
    check(abs(classes['parameters'] / parameters - 1) < 0.1, 'its parameters are found to ten percent', classes)
    check(abs(classes['optimizer'] / (2 * parameters) - 1) < 0.1, 'and the state of its optimizer', classes)
    check(classes['activations'] > 1 * GIB and device['oom'] is None and device['growth'] is None, 'and what passes in a step',
          device)
finish()
