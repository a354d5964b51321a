#!/usr/bin/env python3
"""muster tune as its users meet it: a sweep over a program that prints as nccl-tests does and of which all is known, cut off
and gone on with, the tables and settings that come of it, and refusals that teach. With MUSTER_DATA, the model on
published tables."""
import csv
import io
import json
import os
import signal
import subprocess
import sys
import time

from checks import MUSTER, STATE, check, environment, finish, run

# What measures: four ranks on four hosts. NCCL's own stays with LL far too long; tree with LL128 breaks, PAT hangs.
STAND_IN = f'''#!{sys.executable}
import hashlib, os, sys, time
algorithm, protocol = os.environ.get('NCCL_ALGO', ''), os.environ.get('NCCL_PROTO', '')
channels = int(os.environ.get('NCCL_MAX_NCHANNELS', '0'))
with open({STATE!r} + '/launches', 'a') as f:
    f.write(f'{{algorithm}} {{protocol}} {{channels}}\\n')
launch = sum(1 for _ in open({STATE!r} + '/launches'))
if os.environ.get('SLOW'):
    time.sleep(float(os.environ['SLOW']))
if (algorithm, protocol) == ('Tree', 'll128'):
    print('all_reduce.cu:77 invalid usage, "no such, way"', file=sys.stderr)
    sys.exit(3)
if algorithm == 'Tree' and protocol == 'simple':
    time.sleep(600)
if os.environ.get('NCCL_DEBUG') == 'INFO':
    for rank in range(4):
        print(f'h{{rank}}:1:1 [0] NCCL INFO ncclCommInitRank comm 0x1 rank {{rank}} nranks 4 cudaDev 0 nvmlDev 0 busId 60 '
              'commId 0x2 - Init START')
        print(f'h{{rank}}:1:1 [0] NCCL INFO comm 0x1 rank {{rank}} nRanks 4 nNodes 4 localRanks 1 localRank 0 MNNVL 0')
    print('h0:1:1 [0] NCCL INFO AllReduce: 1024 Bytes -> Algo TREE proto LL channel{{Lo..Hi}}={{0..1}}')
print('# nThread 1 nGpus 1 minBytes 1024 maxBytes 4194304 step: 4(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1')
for rank in range(4):
    print(f'#  Rank  {{rank}} Group  0 Pid   1 on h{{rank}} device  0 [0000:04:00] NVIDIA H200')
print('#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong')
for power in range(10, 23, 2):
    kib = 2**power / 1024
    ways = {{('Tree', 'll'): 55 + 3 * kib, ('Ring', 'll'): 70 + 1.6 * kib, ('Ring', 'll128'): 80 + 0.9 * kib,
             ('Ring', 'simple'): 130 + 0.5 * kib * (0.8 if channels == 4 else 1)}}
    us = ways[('Tree', 'll') if power < 17 else ('Ring', 'simple')] if not algorithm else ways[(algorithm, protocol)]
    for half in range(2):
        digest = hashlib.sha256(f'{{launch}} {{power}} {{half}}'.encode()).digest()[0]
        time_us = us * (1 + 0.02 * (digest / 255 - 0.5))
        rate = 2**power / time_us / 1000
        row = f'{{time_us:8.2f}} {{rate:7.3f}} {{1.5 * rate:7.3f}} 0'
        print(f'{{2**power}} {{2**power // 4}} float sum -1 {{row}} ' if half == 0 else row, end='' if half == 0 else '\\n')
'''
PROGRAM = f'{STATE}/all_reduce_perf'
with open(PROGRAM, 'w') as f:
    f.write(STAND_IN)
os.chmod(PROGRAM, 0o755)
LOG = f'{STATE}/sweep.csv'
SWEEP = ('tune', 'sweep', '--log', LOG, '--channels', '4', '--launches', '8', '--budget', '2m', '--timeout', '2s', '--', PROGRAM)


def launches():
    with open(f'{STATE}/launches') as file:
        return file.read().splitlines()


def rows():
    with open(LOG) as file:
        return list(csv.DictReader(line for line in file if not line.startswith('#')))


# ---- a sweep that is cut off goes on
cut = subprocess.Popen([MUSTER, *SWEEP], env=environment(SLOW='0.2'), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
until = time.time() + 30
while time.time() < until and not (os.path.exists(LOG) and len(rows()) >= 14):
    time.sleep(0.05)
cut.send_signal(signal.SIGINT)
_, err = cut.communicate(timeout=30)
before = len(rows())
check(cut.returncode == 130 and before >= 14 and b'goes on' in err, 'an interrupted sweep says how to go on', err)
ran = run(*SWEEP, timeout=110)
check(ran.code == 0 and 'going on' in ran.err and f'muster tune {LOG}' in ran.err, 'and goes on where it stood', ran)
all_rows = rows()
ways = {}
for r in all_rows:
    ways.setdefault((r['algorithm'], r['protocol'], r['channels'], r['failure'] != ''), set()).add(r['run'])
check(all_rows[:before] and ways.get(('default', '', '', False)) == {str(i) for i in range(8)},
      "NCCL's own choice was launched eight times", ways)
failed = {r['protocol']: r['failure'] for r in all_rows if r['failure']}
check('exit code 3' in failed.get('ll128', '') and '"no such, way"' in failed['ll128'], 'what breaks is kept with what it said',
      failed)
check('ended after 2 s' in failed.get('simple', ''), 'and what hangs with how long it had', failed)
tried = [line for line in launches() if line.startswith('Tree ll128')]
check(len(tried) == 1, 'neither is tried again', launches())
check(any(r['channels'] == '4' for r in all_rows), 'other numbers of channels were tried with the better half')
given_up = [w for w, runs in ways.items() if not w[3] and len(runs) < 8]
check(given_up, 'what is not promising is given up early', ways)
check(run(*SWEEP, timeout=60).code == 0 and len(rows()) == len(all_rows), 'a sweep that is done measures nothing more')
with open(LOG) as file:
    kept = file.read()
check(kept.startswith(f'# command: {PROGRAM}\n') and kept.count('# command') == 1, 'the log says of which command it is',
      kept[:300])
GATHER = f'{STATE}/all_gather_perf'
for words, part in (([GATHER], 'is of all_reduce, and this is all_gather'), (['/bin/false'], 'is of another command: ' + PROGRAM),
                    ([PROGRAM, '-b', '1K'], 'is of another command: ' + PROGRAM)):
    count = len(launches())
    ran = run(*SWEEP[:-1], *words)
    check(ran.code == 1 and part in ran.err and '--log OTHER' in ran.err and len(launches()) == count,
          f'a log is not gone on with by another command: {" ".join(words)[-30:]}', ran)
# A log of before there was such a line is gone on with, and tells from the next launch on.
OLD = f'{STATE}/old.csv'
lines = [line for line in kept.splitlines(True) if not line.startswith('#')]
with open(OLD, 'w') as file:
    file.write(''.join(line for line in lines if not line.startswith('all_reduce') or line.split(',')[9] == '0'))
old_sweep = [OLD if word == LOG else word for word in SWEEP]
ran = run(*old_sweep, timeout=110)
with open(OLD) as file:
    text = file.read()
check(ran.code == 0 and 'does not say which command' in ran.err and text.count(f'# command: {PROGRAM}\n') == 1,
      'an older log reads on, and says its command from then on', ran)
check(run(*old_sweep[:-1], '/bin/false').code == 1, 'which is asked for then')

# Open MPI hands on what its environment or -x names and nothing else, and refuses both together.
MPIRUN, THROUGH = f'{STATE}/mpirun', f'{STATE}/through.csv'
with open(MPIRUN, 'w') as f:
    f.write(f'''#!{sys.executable}
import os, sys
words, listed = sys.argv[1:], os.environ.get('OMPI_MCA_mca_base_env_list')
env = dict(pair.split('=') if '=' in pair else (pair, os.environ[pair]) for pair in (listed or '').split(';') if pair)
while words[0] == '-x':
    if listed is not None:
        sys.exit('both the "-x" method and mca_base_env_list')
    env[words[1]] = os.environ.get(words[1], '')
    words = words[2:]
if 'WANTED' not in env:
    sys.exit('WANTED was not handed on')
os.execve(words[0], words, {{k: v for k, v in env.items() if v}})
''')
os.chmod(MPIRUN, 0o755)
BRIEF = ('--no-look', '--algorithms', 'ring', '--protocols', 'll', '--launches', '2', '--budget', '1m', '--timeout', '5s', '--')
for words, more in (((MPIRUN, '-x', 'WANTED', PROGRAM), {'WANTED': '1'}),
                    ((MPIRUN, PROGRAM), {'WANTED': '1', 'OMPI_MCA_mca_base_env_list': 'WANTED'})):
    before = launches().count('Ring ll 0')
    ran = run('tune', 'sweep', '--log', THROUGH, *BRIEF, *words, env=environment(**more))
    check(ran.code == 0 and 'failed' not in ran.err and launches().count('Ring ll 0') == before + 2,
          'ways get through Open MPI beside what the user hands on: ' + ' '.join(words[1:]), ran)
    os.remove(THROUGH)

# ---- what comes of it
TABLE, ENV, CONF = f'{STATE}/tuner.table', f'{STATE}/nccl.env', f'{STATE}/tuner.conf'
ran = run('tune', LOG, LOG + '.nccl', '--table', TABLE, '--env', ENV, '--csv', CONF, '-o', 'json')
told = json.loads(ran.out) if ran.code == 0 else {}
shape = (told.get('shapes') or [{}])[0]
sizes = {int(s['bytes']): s for s in shape.get('sizes', [])}
check(ran.code == 0 and (shape['nodes'], shape['ranks_per_node']) == (4, 1) and len(sizes) == 7, 'seven sizes of four nodes', ran)
check(sizes[1024]['own'] == {'algorithm': 'tree', 'protocol': 'll', 'channels': 2} and sizes[1024]['choice'] is None,
      "what NCCL said that it took, and where that is right it is left", sizes[1024])
check(sizes[65536]['choice']['protocol'] == 'll128' and sizes[65536]['verdict'] in ('overridden', 'carried'),
      'where it is wrong, the fastest is chosen', sizes[65536])
# 55 + 3 * 64 against 80 + 0.9 * 64
check(abs(sizes[65536]['gain'] - (247 / 137.6 - 1)) < 0.05, 'with the gain that it truly has', sizes[65536])
check(shape['left'] < 1.05 < shape['regret'] < 1.5, 'little regret is left', (shape['regret'], shape['left']))
sure = [s['with_neighbours'] or s for s in sizes.values() if s['choice'] is not None]
check(sure and all(s['gain'] > max(0.03, s['noise']) for s in sure),
      'nothing is overridden for less than the noise and the margin')
few = {(w['way']['algorithm'], w['way']['protocol'], w['way']['channels']) for s in sizes.values() for w in s['ways']
       if w['launches'] < 4}
best = {tuple(s['best'].values()) for s in sizes.values() if s['best']}
check(best and not few & best, 'what was given up early is nowhere the fastest', (few, best))
check(any('was not measured' in n for n in told['notes']), 'what failed is told')

ran = run('tune', LOG, '--table', f'{STATE}/a b.table', '--env', f'{STATE}/blank.env')
check(ran.code == 2 and 'a b.table' in ran.err and '--place' in ran.err and not os.path.exists(f'{STATE}/blank.env'),
      'no settings that a shell would read otherwise than NCCL', ran)

ran = run('tune', LOG)
check(ran.code == 0 and 'REGRET_PCT' in ran.out and 'had no part in choosing' in ran.out, 'for people, with reasons', ran)
summary = ran.out.splitlines()[0] if ran.out else ''
check(' is left;' in summary and ' and -' not in summary and '-0.0' not in ran.out, 'what is left is no less than nothing', ran)
ran = run('tune', LOG, '-o', 'csv')
table = list(csv.DictReader(io.StringIO(ran.out)))
check(len(table) == 7 and all((r['collective'], r['nodes'], r['ranks_per_node']) == ('all_reduce', '4', '1') for r in table),
      'and for spreadsheets, with the shape', ran)
check(all(r[c] == '' or float(r[c]) > -100 for r in table for c in ('us', 'fastest_us', 'regret_pct', 'gain_pct', 'low_pct')),
      'where no number is, nothing is', table)
ran = run('tune', LOG, '--model', '-o', 'csv')
fits = {r['way']: r for r in csv.DictReader(io.StringIO(ran.out))}
check(abs(float(fits['ring/ll']['start_us']) - 70) < 10, 'curves behind the times', fits)

shown = run('tune', 'show', TABLE)
check(shown.code == 0 and 'Ring/LL128' in shown.out and "NCCL's own" in shown.out, 'the table can be looked at', shown)
shown_json = json.loads(run('tune', 'show', TABLE, '-o', 'json').out)
spans = shown_json['shapes'][0]['spans']
check(shown_json['hash'] in shown.out and any((s['choice'] or {}).get('protocol') == 'll128' for s in spans),
      'by programs too', shown_json)
sourced = subprocess.run(['sh', '-c', 'set -a; . ./nccl.env; set +a; env'], cwd=STATE, env=environment(), capture_output=True,
                         text=True)
check(f'MUSTER_TUNER_TABLE={TABLE}' in sourced.stdout.splitlines(), 'what a shell starts sees the settings', sourced)
with open(ENV) as file:
    env = file.read().splitlines()
check(any('set -a; . ./nccl.env; set +a' in line for line in env) and not any('=' in line for line in env if line[0] == '#'),
      'the file says how, without what looks like a setting', env)
settings = dict(line.split('=', 1) for line in env if not line.startswith('#'))
check(settings['MUSTER_TUNER_TABLE'] == TABLE and settings['MUSTER_TUNER_HASH'] in shown.out and 'NCCL_TUNER_PLUGIN' in settings,
      'settings name the table and its hash', env)
check(all(env[i - 1].startswith('#') for i, line in enumerate(env) if not line.startswith('#')), 'each with a reason before it',
      env)
with open(CONF) as file:
    conf = [line.strip().split(',') for line in file if not line.startswith('#')]
check(conf and all(len(c) == 10 and c[0] == 'allreduce' and c[6:8] == ['4', '4'] and int(c[1]) <= int(c[2]) for c in conf),
      'and lines that the example plugins read', conf)
check(all(int(a[2]) < int(b[1]) for a, b in zip(conf, conf[1:])), 'whose ranges do not overlap', conf)

# ---- files of nccl-tests, launch by launch
for i in range(4):
    for name, more in (('own', {}), ('ring', {'NCCL_ALGO': 'Ring', 'NCCL_PROTO': 'll128'})):
        text = subprocess.run([PROGRAM], env=environment(**more), capture_output=True, text=True).stdout
        echo = ''.join(f'h0:1:1 [0] NCCL INFO {k} set by environment to {v}.\n' for k, v in more.items())
        with open(f'{STATE}/{name}{i}.txt', 'w') as file:
            file.write(echo + text)
ran = run('tune', *[f'{STATE}/{n}{i}.txt' for n in ('own', 'ring') for i in range(4)], '-o', 'json')
sizes = {int(s['bytes']): s for s in json.loads(ran.out)['shapes'][0]['sizes']}
check(sizes[65536]['launches'] == 4 and sizes[65536]['choice'] is not None, 'texts of nccl-tests will do', sizes.get(65536))
ran = run('tune', f'{STATE}/own0.txt', f'{STATE}/ring0.txt', '-o', 'json')
check(all(s['verdict'] == 'too_few' for s in json.loads(ran.out)['shapes'][0]['sizes']), 'one launch of each says nothing', ran)

# ---- a copy of a file is no further launch
PAIR = [f'{STATE}/own0.txt', f'{STATE}/own1.txt', f'{STATE}/ring0.txt', f'{STATE}/ring1.txt']
for name in ('own0', 'ring0', 'own1', 'ring1'):
    with open(f'{STATE}/{name}.txt') as file, open(f'{STATE}/copy_{name}.txt', 'w') as to:
        to.write(file.read())
ran = run('tune', *PAIR, *PAIR, *[f'{STATE}/copy_{n}.txt' for n in ('own0', 'ring0', 'own1', 'ring1')], '-o', 'json')
told = json.loads(ran.out)
check(all(s['verdict'] == 'too_few' and s['launches'] == 2 for s in told['shapes'][0]['sizes'])
      and any('8 launches come again' in n for n in told['notes']), 'the same launch three times is one launch', ran)
ran = run('tune', LOG, LOG, '-o', 'json')
told = json.loads(ran.out)
check(all(s['launches'] == 8 for s in told['shapes'][0]['sizes']) and any('counted once' in n for n in told['notes']),
      'a sweep given twice is one sweep', ran)

# ---- what NCCL has one way for
A2A, A2A_TABLE, A2A_ENV = f'{STATE}/a2a.csv', f'{STATE}/a2a.table', f'{STATE}/a2a.env'
with open(A2A, 'w') as file:
    file.write(''.join(line.replace('all_reduce,', 'all_to_all,', 1) for line in lines))
ran = run('tune', A2A, '--table', A2A_TABLE, '--env', A2A_ENV)
with open(A2A_ENV) as file:
    text = file.read()
check(ran.code == 0 and 'NCCL has one way to do' in ran.out and 'get another way' not in ran.out,
      'an all-to-all is left alone', ran)
check('0 shapes' in ran.err and 'NCCL_TUNER_PLUGIN' not in text and 'Nothing to set' in text, 'and sets nothing', text)

# ---- refusals
with open(TABLE, 'rb') as file, open(f'{STATE}/damaged.table', 'wb') as to:
    damaged = bytearray(file.read())
    damaged[80] ^= 1
    to.write(damaged)
with open(f'{STATE}/bad.csv', 'w') as file:
    file.write('collective,nodes,ranks_per_node,nvlink_domain,registered,bytes,algorithm,protocol,channels,run,time_us\n'
               'all_reduce,4,1,1,0,1024,spiral,ll,0,0,5\n')
with open(f'{STATE}/plain.txt', 'w') as file:
    file.write('nothing of note\n')
for words, code, part in ((['tune'], 2, 'needs a file'), (['tune', f'{STATE}/none.csv'], 3, 'none.csv'),
                          (['tune', f'{STATE}/bad.csv'], 2, 'bad.csv:2: algorithm'),
                          (['tune', f'{STATE}/plain.txt'], 2, 'neither a sweep'),
                          (['tune', 'show', LOG], 2, 'sweep.csv'),
                          (['tune', 'show', f'{STATE}/damaged.table'], 2, 'damaged: '),
                          (['tune', 'sweep', '--log', f'{STATE}/x.csv'], 2, 'COMMAND'),
                          (['tune', 'sweep', '--log', f'{STATE}/y.csv', '--', f'{STATE}/no_such'], 3, 'could not be started'),
                          (['tune', 'sweep', '--algorithms', 'rink', '--', 'true'], 2, 'did you mean ring'),
                          (['tune', 'sweep', '--log', f'{STATE}/z.csv', '--', 'alltoall_perf'], 2, 'nothing to choose'),
                          (['tune', 'sweep', '--log', f'{STATE}/w.csv', '--no-look', '--', 'true'], 5, 'nothing could be')):
    ran = run(*words)
    check(ran.code == code and part in ran.err and 'next:' in ran.err, f'refused with a way out: {" ".join(words)[:70]}', ran)

# ---- the model on published tables
if os.environ.get('MUSTER_DATA'):
    data = os.environ['MUSTER_DATA'] + '/collectives'
    for hold, most in (('third', 8), ('hash', 8)):
        ran = run('bench', 'collectives', '--data', data, '--hold', hold, '-o', 'csv')
        first = next(csv.DictReader(io.StringIO(ran.out)), {})
        mean = float(first.get('mean_pct', 99))
        check(mean < most, f'published tables, {hold} kept back, 1 MiB and more: {mean:.1f} % off on the mean, of '
              f'{first.get("runs")} (under {most})', ran)
    ran = run('bench', 'collectives', '--data', data, '--hold', 'table', '-o', 'csv', timeout=110)
    first = next(csv.DictReader(io.StringIO(ran.out)), {})
    check(ran.code == 0 and float(first.get('mean_pct', 0)) > 0,
          f'whole tables kept back: {first.get("mean_pct")} % off on the mean, of {first.get("runs")} (told, not promised)', ran)
else:
    print('skip - the model on published tables: MUSTER_DATA is not set')
finish()
