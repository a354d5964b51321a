"""gpu_accept_mishaps.py MUSTER [PART...]: `muster accept` itself on a real GPU, through what goes wrong: what is missing, too
old, full, in use or hung, and being stopped or killed at any moment. Each time the verdict, the exit code and the message must
be right, and nothing of it may be left running or in the GPU's memory. No setting of the GPU is changed.

The library of the tests lies beside MUSTER, or where MUSTER_ACCEPT_LIBRARY says; MUSTER_ACCEPT_NVML names another libnvidia-ml.
Skipped (77) where there is no GPU or no library; what needs nvcc, a C compiler, root or a mount namespace is left out, and said
to be, where that is missing. Parts, all of them unless some are named: missing, hidden, memory, use, hang, stop, kill, user.
About four minutes; MUSTER_STOPS is how often a run is stopped, by MUSTER_SEED."""
import glob
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '..', '..', '..')
sys.path.insert(0, os.path.join(HERE, '..', '..'))
from held import check, finish  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
LIBRARY = os.path.abspath(os.environ.get('MUSTER_ACCEPT_LIBRARY',
                                         os.path.join(os.path.dirname(PROGRAM), 'libmuster-accept-cuda.so')))
NVML = os.environ.get('MUSTER_ACCEPT_NVML')
SEED = int(os.environ.get('MUSTER_SEED', '1'))
STOPS = int(os.environ.get('MUSTER_STOPS', '12'))
PASS, COULD_NOT_RUN, FAIL = 0, 5, 6
WORKERS = ('muster-gpu', 'muster-watch')
SETTINGS = 'power.limit,persistence_mode,compute_mode,clocks.max.sm,clocks.applications.graphics'
NOBODY = 65534
LONGEST_S = 26  # a quick run takes a little longer


def skip(why):
    print(f'skip - gpu_accept_mishaps: {why}')
    sys.exit(77)


def smi(*query):
    out = subprocess.run(['nvidia-smi', '-i', '0', *query, '--format=csv,noheader,nounits'], capture_output=True, text=True,
                         timeout=60)
    return [line.strip() for line in out.stdout.splitlines() if line.strip()] if out.returncode == 0 else None


def used_mib():
    return float(smi('--query-gpu=memory.used')[0])


def programs_on_gpu():
    return set(smi('--query-compute-apps=pid') or [])


def workers():
    """Processes of the tests, by the names that they give themselves; zombies do not count."""
    out = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/stat') as f:
                name, state = re.match(r'\d+ \((.*)\) (\S)', f.read(), re.S).groups()
        except OSError:
            continue
        if name.startswith(WORKERS) and state not in 'ZX':
            out.append((int(pid), name))
    return out


def within(seconds, holds):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def nothing_left(what, seconds=4):
    """The driver takes a moment to take memory back."""
    gone = within(1, lambda: not (set(workers()) - BEFORE_WORKERS))
    empty = within(seconds, lambda: used_mib() - BEFORE_MIB < 64) and within(1, lambda: not (programs_on_gpu() - BEFORE_ON_GPU))
    return check(gone and empty, f'{what}: no process of it is left, and no memory of the GPU',
                 (workers(), programs_on_gpu() - BEFORE_ON_GPU, f'{used_mib() - BEFORE_MIB} MiB'))


class Accept:
    """`muster accept` under way, or over. `as_user`: the number of a user; `under`: what it is started by."""
    count = 0

    def __init__(self, *more, library=None, nvml=None, env=None, as_user=None, program=None, under=()):
        Accept.count += 1
        self.folder = os.path.join(SCRATCH, f'run{Accept.count}')
        os.mkdir(self.folder)
        os.chmod(self.folder, 0o777)
        driver = nvml or NVML
        command = [*under, program or PROGRAM, 'accept', '--out', self.folder, '--node', 'here', '--progress', 'never',
                   '--library', library or LIBRARY, *(['--nvml', driver] if driver else []), *more]
        user = {} if as_user is None else {'user': as_user, 'group': as_user, 'extra_groups': []}
        self.begun = time.monotonic()
        with open(os.path.join(self.folder, 'out'), 'wb') as out, open(os.path.join(self.folder, 'err'), 'wb') as err:
            # A session of its own, so that its group can be sent what a terminal sends.
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
                                            cwd=self.folder, env={**os.environ, **(env or {})}, **user)

    def text(self, name):
        with open(os.path.join(self.folder, name), errors='replace') as f:
            return f.read()

    def running(self):
        return self.process.poll() is None

    def end(self, seconds=120):
        """Waits until it is over; the exit code."""
        if not within(seconds, lambda: not self.running()):
            check(False, f'it ends within {seconds} s', self.rows()[-3:])
            self.process.kill()
            self.process.wait()
        self.took = time.monotonic() - self.begun
        return self.process.returncode

    def file(self):
        return next(iter(glob.glob(os.path.join(self.folder, '*.accept.jsonl'))), None)

    def rows(self, kind=None):
        out = []
        path = self.file()
        if path:
            with open(path, errors='replace') as f:
                for line in f.read().split('\n'):
                    try:
                        out.append(json.loads(line))
                    except ValueError:
                        pass  # the last one of a recording that was cut off
        return [r for r in out if kind in (None, r.get('row'))]

    def ran(self, test=None, state=None):
        return [r for r in self.rows('ran') if test in (None, r['test']) and state in (None, r['state'])]

    def until(self, seconds, holds):
        """Waits for something in its recording."""
        return within(seconds, lambda: holds() or not self.running()) and holds()

    def verdict(self):
        return self.text('out').split('\n', 1)[0]

    def judged(self):
        """Exit code and first line of `muster accept judge` on what it has recorded."""
        out = subprocess.run([PROGRAM, 'accept', 'judge', self.file() or '/nonexistent'], capture_output=True, text=True,
                             timeout=60)
        return out.returncode, out.stdout.split('\n', 1)[0]

    def whole(self):
        ran = [(r['test'], r['state'], r['why']) for r in self.ran()]
        return self.verdict(), self.process.returncode, self.text('err')[-800:], ran


def could_not_run(what, run, words, seconds=60):
    code = run.end(seconds)
    said = run.text('out') + run.text('err')
    print(f'# {what}: {run.took:.1f} s, {run.verdict()[:200]}')
    check(code == COULD_NOT_RUN and run.verdict().startswith('COULD NOT RUN'),
          f'{what}: the verdict is COULD NOT RUN, exit code 5', run.whole())
    check(re.search(words, said) is not None, f'{what}: it says why', run.whole())
    check(run.judged()[0] == COULD_NOT_RUN, f'{what}: judged again it is the same', run.judged())
    return run


def compiler_of(names, places=()):
    for name in names:
        found = shutil.which(name) or next(iter(p for place in places for p in glob.glob(place)), None)
        if found:
            return found
    return None


def built(target, source, *more):
    """A program or library of this folder, compiled now; None: it cannot be."""
    nvcc = compiler_of(['nvcc'], ['/usr/local/cuda/bin/nvcc', '/usr/local/cuda-*/bin/nvcc'])
    tool = compiler_of(['gcc', 'cc', 'clang']) if source.endswith('.c') else nvcc
    path = os.path.join(SCRATCH, target)
    if os.path.exists(path):
        return path
    if not tool:
        print(f'skip - {target}: there is no {"C compiler" if source.endswith(".c") else "nvcc"}')
        return None
    headers = os.path.join(ROOT, 'plugins', 'accept_cuda')
    options = ['-O1'] if tool != nvcc else ['-O1', '-std=c++17', '-arch=native', '-I', headers]
    shared = [] if '.so' not in target else ['-shared', *(['-fPIC'] if tool != nvcc else ['-Xcompiler', '-fPIC'])]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    out = subprocess.run([tool, *options, *shared, *more, os.path.join(HERE, source), '-o', path, *(['-ldl'] if shared else [])],
                         capture_output=True, text=True)
    if not check(out.returncode == 0, f'{source} compiles', out.stderr):
        return None
    return path


def before_the_others(folder):
    """An environment in which the loader finds what lies in a folder first."""
    return {'LD_LIBRARY_PATH': ':'.join(filter(None, [folder, os.environ.get('LD_LIBRARY_PATH')]))}


def missing():
    there = os.path.exists('/proc/driver/nvidia/version')
    could_not_run('no driver', Accept(nvml='/nonexistent/libnvidia-ml.so.1'),
                  'driver is loaded, but not its library' if there else 'there is no NVIDIA driver')
    could_not_run('a GPU that is not there', Accept('--gpus', '63'), 'this node has no GPU 63')
    run = could_not_run('no library of the tests', Accept(library='/nonexistent/libmuster-accept-cuda.so'),
                        'the tests cannot be loaded.*nonexistent')
    check(not run.ran('sweep', 'done'), 'without the library no test is done', run.whole())
    nothing_left('what is missing')
    old = built('old/libcuda.so.1', 'old_driver.c', '-Wl,-soname,libcuda.so.1')
    if old:
        could_not_run('an old driver', Accept(env=before_the_others(os.path.dirname(old))),
                      r'the driver is of CUDA 11\.0, too old for these tests, which are of CUDA 1\d\.\d')
    empty = os.path.join(SCRATCH, 'empty')
    os.makedirs(empty, exist_ok=True)
    with open(os.path.join(empty, 'libcuda.so.1'), 'w') as f:
        f.write('no library\n')
    could_not_run('NVML is there and CUDA is not', Accept(env=before_the_others(empty)), 'the GPU cannot be opened: ')
    nothing_left('without CUDA')
    run = could_not_run('no cuBLASLt', Accept(env={'MUSTER_CUBLASLT': '/nonexistent/libcublasLt.so.13'}),
                        'cuBLASLt is not there: .*nonexistent', 90)
    need = [f'gemm_{n}' for n in ('bf16', 'fp16', 'fp8', 'tf32', 'int8')] + ['sustained', 'pulse']
    check(all(run.ran(t, 'could_not_run') and not run.ran(t, 'done') for t in need),
          'without cuBLASLt the tests that need it could not run', run.whole())
    check(all(run.ran(t, 'done') for t in ('link', 'sweep', 'hbm', 'march')), 'and the others did', run.whole())
    nothing_left('without cuBLASLt')


def hidden():
    """The device files are covered in a mount namespace, which nobody else sees."""
    cover = os.path.join(SCRATCH, 'cover')
    with open(cover, 'w'):
        pass
    os.chmod(cover, 0o600)
    unshare = shutil.which('unshare')
    covers = [unshare or '', '--mount', 'mount', '--bind', cover, cover]
    usable = unshare and shutil.which('setpriv') and os.geteuid() == 0 and os.path.exists('/dev/nvidiactl')
    if not usable or subprocess.run(covers, capture_output=True).returncode != 0:
        print('skip - gpu_accept_mishaps hidden: needs root, a mount namespace, setpriv and /dev/nvidiactl')
        return

    def covered(path, *then):
        return [unshare, '--mount', 'sh', '-c', f'mount --bind {cover} {path} && exec "$@"', 'sh', *then]

    if os.path.exists('/dev/nvidia-uvm'):
        # What every second container lacks. CUDA may wait for the module to come.
        could_not_run('no /dev/nvidia-uvm', Accept(under=covered('/dev/nvidia-uvm')), 'the GPU cannot be opened: ', 90)
    user = ['setpriv', f'--reuid={NOBODY}', f'--regid={NOBODY}', '--clear-groups']
    program, library, env = for_everybody()
    could_not_run('a user whom /dev/nvidiactl does not let in',
                  Accept(under=covered('/dev/nvidiactl', *user), program=program, library=library, env=env), 'no permission')
    nothing_left('hidden devices')


def hog(share, seconds, *more):
    """Another process on the GPU, once it has what it holds."""
    program = built('hog', 'hog.cu')
    if not program:
        return None
    process = subprocess.Popen([program, str(share), str(seconds), *more], stdout=subprocess.PIPE, text=True)
    ready = process.stdout.readline().strip() == 'ready'
    check(ready, 'another process has its part of the GPU', process.poll())
    return process


def memory():
    other = hog(0.97, 60)
    if other:
        run = could_not_run('another process holds the memory', Accept(),
                            'the GPU is in use by |out of memory|of the memory could be')
        check(not run.ran('march', 'done'), 'no memory is tested that is not there', run.whole())
        check(8 < run.took < 20, 'it waits for the other ten seconds, once', run.took)
        check(other.poll() is None, 'and leaves the other alone')
        other.kill()
        other.wait()
    library = built('libmishap.so', 'mishap_tests.cu')
    if library:
        run = could_not_run('nearly no memory left', Accept(library=library, env={'MISHAP': 'hold:100', 'MISHAP_REAL': LIBRARY}),
                            r'out of memory \(0\.\d of \d+\.\d GiB are free\)', 90)
        for r in run.ran('march') + run.ran('gemm_bf16'):
            print(f'# {r["test"]}: {r["state"]}, {r["why"]}')
        check(not any(run.ran(t, 'done') for t in ('hbm', 'gemm_bf16', 'sustained')), 'what needs memory could not run',
              run.whole())
    nothing_left('full memory')


def use():
    if not built('hog', 'hog.cu'):
        return
    run = Accept()
    # Not before the march: it leaves nobody memory enough to begin.
    check(run.until(30, lambda: run.ran('march', 'done')), 'the first tests run', run.whole())
    other = hog(0.01, 60, 'busy')
    came = time.monotonic()
    check(run.until(30, lambda: any(re.search('in use by|% busy', r['why']) for r in run.ran())),
          'work of another process is noticed, and the test that it disturbed did not run', run.whole())
    print(f'# noticed after {time.monotonic() - came:.1f} s: {[(r["test"], r["why"]) for r in run.ran(state="could_not_run")]}')
    seen = len(run.ran())
    other.kill()
    other.wait()
    check(run.until(40, lambda: any(r['state'] == 'done' for r in run.ran()[seen:])), 'when the other has gone, the tests go on',
          run.whole())
    if run.process.poll() is None:
        os.kill(run.process.pid, signal.SIGINT)
    could_not_run('a GPU in use', run, 'in use by|% busy')
    nothing_left('a GPU in use')


def hang():
    library = built('libmishap.so', 'mishap_tests.cu')
    if not library:
        return
    mishap = {'MISHAP': 'hang:sweep', 'MISHAP_REAL': LIBRARY}
    run = Accept(library=library, env=mishap)
    check(run.until(30, lambda: run.ran('link')), 'the test before runs', run.whole())
    time.sleep(2)
    sent = time.monotonic()
    os.killpg(run.process.pid, signal.SIGINT)
    run.end(30)
    print(f'# stopped under a hung kernel: over after {time.monotonic() - sent:.2f} s')
    check(time.monotonic() - sent < 2, 'even with a hung kernel it is over soon when it is stopped', run.whole())
    check(run.process.returncode == COULD_NOT_RUN, 'and could not run', run.whole())
    nothing_left('a hung kernel, stopped', 10)

    run = Accept(library=library, env=mishap)
    code = run.end(100)
    hung = run.ran('sweep', 'hung')
    print(f'# a hung kernel: {run.took:.1f} s, {run.verdict()[:200]}')
    if check(len(hung) == 1, 'a test whose kernel does not end is hung', run.whole()):
        print(f'# {hung[0]["why"]}; ended after {hung[0]["took_s"]:.2f} s')
        check(30 < hung[0]['took_s'] < 32.5, 'it is ended at its deadline of 30.7 s', hung)
    check(code == FAIL and run.verdict().startswith('FAIL') and 'hung' in run.verdict(), 'the verdict is FAIL, exit code 6',
          run.whole())
    check(all(r['why'] == 'the GPU did not come back from sweep' for r in run.ran('march') + run.ran('sustained')),
          'nothing else is tried on that GPU', run.whole())
    check(run.ran('counters', 'done') != [], 'its counters are read all the same', run.whole())
    check(all(e['left'] == 0 for e in run.rows('end')), 'no process is stuck', run.rows('end'))
    nothing_left('a hung kernel', 10)


def stop():
    dice = random.Random(SEED)
    # One in each part of a run; more of them early, where there is most to begin.
    moments = [0.2 + LONGEST_S * ((i + dice.random()) / STOPS) ** 2.5 for i in range(STOPS)]
    took, late = [], 0
    for i, moment in enumerate(moments):
        kind = signal.SIGINT if i % 2 == 0 else signal.SIGTERM
        run = Accept()
        time.sleep(max(0, run.begun + moment - time.monotonic()))
        if not run.running():
            late += 1
            continue
        under = [r['test'] for r in run.ran()]
        sent = time.monotonic()
        # Ctrl-C goes to all of the terminal's processes, a scheduler's word to one.
        (os.killpg if kind == signal.SIGINT else os.kill)(run.process.pid, kind)
        code = run.end(30)
        took.append(time.monotonic() - sent)
        what = f'{kind.name} after {moment:.2f} s ({under[-1] + " was over" if under else "before the first test"})'
        ends = run.rows('end')
        told = ends and (ends[-1]['stopped'] or any('stopped' in r['why'] for r in run.ran()))
        judged = run.judged()
        check(took[-1] < 1, f'{what}: over in less than a second', f'{took[-1]:.3f} s')
        check(code == COULD_NOT_RUN and run.verdict().startswith('COULD NOT RUN') and judged[0] == COULD_NOT_RUN,
              f'{what}: never a pass', (judged, run.whole()))
        check(told, f'{what}: the recording says that it was stopped', (ends, run.whole()))
        nothing_left(what)
    if check(took != [], 'runs are stopped'):
        print(f'# seed {SEED}: {len(took)} signals, over after {1000 * sum(took) / len(took):.0f} ms on the mean, '
              f'{1000 * max(took):.0f} ms at worst; {late} came too late')


def kill():
    for moment in (1.5, 7):
        run = Accept()
        time.sleep(moment)
        mine = set(workers()) - BEFORE_WORKERS
        run.process.kill()
        run.process.wait()
        sent = time.monotonic()
        gone = within(5, lambda: not (set(workers()) - BEFORE_WORKERS))
        print(f'# killed after {moment} s: {len(mine)} processes gone {1000 * (time.monotonic() - sent):.0f} ms later')
        check(len(mine) >= 1 and gone, f'killed after {moment} s: its processes end too', (mine, workers()))
        judged = run.judged()
        check(judged[0] == COULD_NOT_RUN and 'cut off' in judged[1],
              f'killed after {moment} s: what it recorded is judged as cut off', judged)
        nothing_left(f'killed after {moment} s')


def for_everybody():
    """Program, library and environment where any user can read them: what is under test may lie in somebody's home."""
    folder = os.path.join(SCRATCH, 'everybody')
    if not os.path.exists(folder):
        os.makedirs(os.path.join(folder, 'lib'))
        shutil.copy2(PROGRAM, folder)
        shutil.copy2(LIBRARY, folder)
        needed = subprocess.run(['ldd', PROGRAM], capture_output=True, text=True).stdout
        mine = [os.path.realpath(p) + '/' for p in os.environ.get('LD_LIBRARY_PATH', '').split(':') if p]
        for path in re.findall(r'=> (/\S+)', needed):
            if os.path.realpath(os.path.dirname(path)) + '/' in mine:
                shutil.copy(path, os.path.join(folder, 'lib', os.path.basename(path)))
        subprocess.run(['chmod', '-R', 'a+rX', folder], check=True)
    return (os.path.join(folder, os.path.basename(PROGRAM)), os.path.join(folder, os.path.basename(LIBRARY)),
            {**before_the_others(os.path.join(folder, 'lib')), 'HOME': '/nonexistent'})


def user():
    devices = [p for p in ('/dev/nvidiactl', '/dev/nvidia0', '/dev/nvidia-uvm') if os.path.exists(p)]
    closed = [p for p in devices if os.stat(p).st_mode & 0o006 != 0o006]
    if closed:
        print(f'skip - gpu_accept_mishaps user: {closed} are not for everybody')
        return
    as_user = NOBODY if os.geteuid() == 0 else None
    program, library, env = for_everybody()
    run = Accept(program=program, library=library, env=env, as_user=as_user)
    code = run.end(90)
    print(f'# as {"user " + str(as_user) if as_user else "this user"}: {run.took:.1f} s, {run.verdict()[:200]}')
    check(code in (PASS, FAIL) and not run.verdict().startswith('COULD NOT RUN'), 'every test runs without root', run.whole())
    check(all(r['state'] in ('done', 'not_applicable') for r in run.ran()) and run.ran(), 'to its end', run.whole())
    nothing_left('as a user')


PARTS = {'missing': missing, 'hidden': hidden, 'memory': memory, 'use': use, 'hang': hang, 'stop': stop, 'kill': kill,
         'user': user}

if not shutil.which('nvidia-smi') or smi('--query-gpu=name') is None:
    skip('there is no NVIDIA GPU')
if not os.path.exists(LIBRARY):
    skip(f'{os.path.basename(LIBRARY)} is not built here')
with tempfile.TemporaryDirectory() as SCRATCH:
    os.chmod(SCRATCH, 0o755)
    BEFORE_WORKERS, BEFORE_ON_GPU, BEFORE_MIB = set(workers()), programs_on_gpu(), used_mib()
    before = smi(f'--query-gpu={SETTINGS}')
    for part in sys.argv[2:] or PARTS:
        began = time.monotonic()
        PARTS[part]()
        print(f'# {part} took {time.monotonic() - began:.0f} s', flush=True)
    check(smi(f'--query-gpu={SETTINGS}') == before, 'no setting of the GPU was changed', (before, smi(f'--query-gpu={SETTINGS}')))
    nothing_left('in the end')
finish()
