"""gpu_facts.py MUSTER: `muster fleet probe` on a host with a real GPU: at least 200 facts in at most 5 ms of CPU, no GPU opened,
and what it says of the GPU is what nvidia-smi says. The CPU of `nvidia-smi -q -x` stands beside it.

Skipped (77) where there is no GPU. It changes nothing."""
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..'))
from held import check, finish  # noqa: E402

MUSTER = os.path.abspath(sys.argv[1])


def holds(sentence, held, detail=''):
    check(bool(held), sentence, str(detail)[:1500])


def skip(why):
    print(f'skip - gpu_facts: {why}')
    sys.exit(77)


def run(*argv, env=None):
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, env=env)


def cpu_ms(*argv):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(*argv)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def sweep_ms():
    return float(re.search(r'in ([\d.]+) ms', run(MUSTER, 'fleet', 'probe', '--cost').stderr)[1])


def asked_to_open():
    """Paths of the GPU that the probe asked the kernel to open, by strace; None: there is no strace, or it may not trace."""
    if not shutil.which('strace'):
        return None
    with tempfile.NamedTemporaryFile('r') as out:
        done = run('strace', '-f', '-e', 'trace=open,openat,openat2', '-o', out.name, MUSTER, 'fleet', 'probe')
        text = out.read()
    if done.returncode != 0 or 'openat' not in text:
        return None
    return re.findall(r'"((?:/dev/(?:nvidia|dri)|[^"]*lib(?:cuda|nvidia-ml))[^"]*)"', text)


def libraries():
    """Libraries of the GPU that its loader opened."""
    ran = run(MUSTER, 'fleet', 'probe', env={**os.environ, 'LD_DEBUG': 'files'})
    return re.findall(r'file=(\S*(?:libcuda|libnvidia)\S*)', ran.stderr)


def opens_allowed_to_fail():
    """With no device of a GPU to be found (a mount namespace with an empty /dev) the probe says the same."""
    inside = f'mount -t tmpfs none /dev && exec {MUSTER} fleet probe --node x'
    ran = run('unshare', '--mount', 'sh', '-c', inside) if shutil.which('unshare') else None
    return json.loads(ran.stdout) if ran is not None and ran.returncode == 0 else None


def smi(field):
    return run('nvidia-smi', '-i', '0', f'--query-gpu={field}', '--format=csv,noheader').stdout.strip()


def main():
    if not shutil.which('nvidia-smi') or run('nvidia-smi', '-L').returncode != 0:
        skip('no GPU that nvidia-smi knows')
    ran = run(MUSTER, 'fleet', 'probe', '--node', 'x', '--cost')
    holds('the probe runs', ran.returncode == 0, ran.stderr)
    print(ran.stderr.strip())
    facts = json.loads(ran.stdout)
    count = len(facts['facts']) + sum(len(p) for p in facts['parts'].values()) + len(facts['unreadable'])
    holds('at least 200 facts', count >= 200, count)
    sweeps = sorted(sweep_ms() for _ in range(30))
    holds('a sweep takes at most 5 ms of CPU', sweeps[0] <= 5, sweeps)
    whole = sorted(cpu_ms(MUSTER, 'fleet', 'probe') for _ in range(10))
    other = sorted(cpu_ms('nvidia-smi', '-q', '-x') for _ in range(5))
    print(f'{count} facts: sweep {sweeps[0]:.2f} ms of CPU at best, {sweeps[15]:.2f} median, {sweeps[-1]:.2f} at worst; '
          f'the whole program {whole[0]:.1f} ms; nvidia-smi -q -x {other[0]:.1f} ms')
    asked = asked_to_open()
    print('strace:', 'not there' if asked is None else f'{len(asked)} opens of GPU devices or libraries')
    holds('no device and no library of the GPU is opened', not asked and not libraries(), (asked, libraries()))
    blind = opens_allowed_to_fail()
    if blind is None:
        print('a mount namespace without devices: not possible here')
    else:
        same = {k: v for k, v in blind['facts'].items() if k.startswith(('driver', 'gpu', 'cuda', 'lib'))}
        gpus = [{k: v for k, v in x['parts'].items() if k.startswith('gpu')} for x in (blind, facts)]
        holds('without any device in /dev it says the same of the GPU',
              all(facts['facts'].get(k) == v for k, v in same.items()) and gpus[0] == gpus[1], blind)
    gpu = facts['parts'].get('gpu0', {})
    print('gpu0:', json.dumps(gpu))
    holds('the driver is the one nvidia-smi names', facts['facts']['driver.loaded'] == smi('driver_version'), facts['facts'])
    holds('the GPU has its name', gpu.get('gpu.model') == smi('name'), gpu)
    if 'gpu.uuid' in gpu:
        holds('its UUID', gpu['gpu.uuid'] == smi('uuid'), gpu)
    if 'vbios.version' in gpu:
        holds('its VBIOS', gpu['vbios.version'].lower() == smi('vbios_version').lower(), gpu)
    said = json.loads(run(MUSTER, 'fleet', 'probe', '--nvml').stdout)['parts'].get('gpu0', {})
    limit = float(smi('power.limit').split()[0])
    holds('with --nvml its power limit too', abs(float(said.get('gpu.power_limit_w', 0)) - limit) < 1, said)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'x.xml')
        with open(path, 'w', encoding='utf-8') as f:
            f.write(run('nvidia-smi', '-q', '-x').stdout)
        read = json.loads(run(MUSTER, 'fleet', 'inventory', path, '-o', 'json').stdout)['nodes'][0]
        both = [k for k in read['parts']['gpu0'] if k in gpu and not k.startswith('gpu.link')]
        differ = [k for k in both if read['parts']['gpu0'][k].lower() != gpu[k].lower()]
        holds('a file of nvidia-smi says the same of the GPU', both and not differ, (both, differ))
    finish()


if __name__ == '__main__':
    main()
