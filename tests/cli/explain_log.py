#!/usr/bin/env python3
"""muster explain --file: one object per event of a kernel log, from a file, a gzip file or standard input."""
import gzip
import json
import lzma
import os
import random
import subprocess

from checks import MUSTER, STATE, check, environment, finish, run

KEYS = ('line_first line_last source code pci mig pid process caused_by meaning severity scope action confidence').split()
LOG = '''[    1.000000] Linux version 6.1
[   30.016664] NVRM: Xid (PCI:0000:00:06): 13, Graphics SM Warp Exception on (GPC 1, TPC 4, SM 0): Illegal Instruction Parameter
[   30.018154] NVRM: Xid (PCI:0000:00:06): 13, Graphics SM Global Exception on (GPC 1, TPC 4, SM 0): Multiple Warp Errors
[   30.019679] NVRM: Xid (PCI:0000:00:06): 13, Graphics Exception: ESR 0x519730=0xc00000b 0x519734=0x4
[   30.021246] NVRM: Xid (PCI:0000:00:06): 13, pid=458, name=f, Graphics Exception: channel 0x0000000a
[   40.000000] NVRM: Xid (PCI:0000:c3:00 GPU-I:05): 45, pid=7, name=ray::Worker, Ch 00000009 caused by previous Xid 94
[   50.000000] x[12]: segfault at 0 ip 0 sp 0 error 4 in NVRM: Xid (PCI:0000:c3:00): 79, GPU has fallen off the bus.[1+1]
[   60.000000] mlx5_core 0000:5c:00.0 ibp92s0: Link down
'''
os.makedirs(STATE, exist_ok=True)
plain, packed = STATE + '/kern.log', STATE + '/kern.log.gz'
with open(plain, 'w') as f:
    f.write(LOG)
with gzip.open(packed, 'wt') as f:
    f.write(LOG)


def events(ran):
    return [json.loads(line) for line in ran.out.splitlines()]


ran = run('explain', '--file', plain, '-o', 'jsonl')
found = events(ran)
check(ran.code == 0 and [e['code'] for e in found] == ['Xid 13', 'Xid 45', 'mlx5 link down'], 'one object per event', ran)
check(all(list(e) == KEYS for e in found), 'with the promised keys', ran)
check((found[0]['line_first'], found[0]['line_last'], found[0]['pid'], found[0]['process']) == (2, 5, 458, 'f'),
      'the lines of one Xid 13 are one event', found[0])
check(found[1]['mig'] == 'GPU-I:05' and found[1]['caused_by'] == 'Xid 94' and found[0]['mig'] is None, 'MIG and cause', found[1])
check('not believed' in ran.err and '3 events' in ran.err, 'what was not believed is told on stderr', ran)
check(events(run('explain', '--file', packed, '-o', 'jsonl')) == found, 'a gzip file is the same')
check(events(run('explain', '--file', '-', '-o', 'jsonl', stdin=LOG)) == found, 'so is standard input')
check(json.loads(run('explain', '--file', plain, '-o', 'json').out) == found, 'and -o json')
ran = run('explain', '--file', plain)
check(ran.code == 0 and 'Xid 13' in ran.out and '2-5' in ran.out and '0000:5c:00.0' in ran.out, 'a table for people', ran)
ran = run('explain', '--file', '-', '-o', 'json')
check(ran.code == 0 and json.loads(ran.out) == [], 'an empty log has no events', ran)

ran = run('explain', '--file', STATE + '/nothing')
check(ran.code == 3 and not ran.out, 'a file that is not there: exit 3', ran)
with open(packed, 'rb') as f:
    whole = f.read()
with open(STATE + '/cut.gz', 'wb') as f:
    f.write(whole[:-9])
ran = run('explain', '--file', STATE + '/cut.gz', '-o', 'jsonl')
check(ran.code != 0 and 'ends too early' in ran.err and len(events(ran)) == 3, 'a cut gzip file: what is there, then the error',
      ran)
random.seed(1)
with open(STATE + '/noise', 'wb') as f:
    f.write(random.randbytes(3_000_000) + b'\n' + b'x' * 1_000_000 + b'\n' + LOG.encode())
ran = run('explain', '--file', STATE + '/noise', '-o', 'jsonl')
check(ran.code == 0 and len(events(ran)) == 3 and 'longer than' in ran.err, 'noise harms nothing and is told', ran)
with open(STATE + '/packed.xz', 'wb') as f:
    f.write(lzma.compress(LOG.encode()))
ran = run('explain', '--file', STATE + '/packed.xz')
check(ran.code == 2 and 'packed with xz' in ran.err, 'a log packed otherwise is not taken for a quiet one', ran)
for args in (['explain', 'xid', '79', '--file', plain], ['explain', 'xid', '79', '-o', 'jsonl'],
             ['explain', '--file', plain, '-o', 'yaml']):
    ran = run(*args)
    check(ran.code == 2 and not ran.out, ' '.join(args[:3]) + ' ... is refused', ran)

with open(STATE + '/ours.yaml', 'w') as f:
    f.write('name: ours\nfaults:\n  - {code: xid 94, severity: warning, action: wait for the end of the job}\n')
ran = run('explain', 'xid', '94', '--policy', STATE + '/ours.yaml')
check(ran.code == 0 and 'Overridden by policy ours; the catalogue says severity' in ran.out,
      "a policy's own word is shown as such", ran)
check('Overridden' not in run('explain', 'xid', '94').out, 'and is not there without it')
for what, code in ((['sxid', '12028'], 'SXid 12028'), (['94'], 'Xid 94'), (['DCGM_FR_UNKNOWN'], 'DCGM_FR 1'),
                   (['IB', 'link_downed'], 'IB link_downed'), (['AER', 'corr', 'RxErr'], 'AER corr RxErr'),
                   (['mlx5', 'cmd', 'timeout'], 'mlx5 cmd timeout'), (['HOST', 'OOM', 'kill'], 'HOST OOM kill')):
    ran = run('explain', *what, '--policy', 'default')
    check(ran.code == 0 and ran.out.startswith(code), 'explain ' + ' '.join(what), ran)
ran = run('explain', 'xid', '999')
check(ran.code == 3 and 'not in the fault catalogue' in ran.err, 'an unknown code says so', ran)

# Bounded memory and time: 200 MB of a busy log through a pipe.
LINE = 'Nov 15 02:03:{:02} node0001 kernel: [{}.678901] audit: type=1400 audit(1699999999.123:4): apparmor="ALLOWED"\n'
block = ''.join(LINE.format(i % 60, i)
                for i in range(20000)).encode()
child = subprocess.Popen([MUSTER, 'explain', '--file', '-', '-o', 'jsonl'], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL, env=environment())
size = 0
while size < 200_000_000:
    child.stdin.write(block)
    size += len(block)
child.stdin.close()
_, status, usage = os.wait4(child.pid, 0)
child.returncode = os.waitstatus_to_exitcode(status)
cpu = usage.ru_utime + usage.ru_stime
print(f'# {size / 1e6 / cpu:.0f} MB per CPU-second, {usage.ru_maxrss / 1024:.0f} MiB')
check(child.returncode == 0 and usage.ru_maxrss < 64 * 1024, 'a long log needs no more memory than a short one', usage.ru_maxrss)
check(size / 1e6 / cpu > 100, 'more than 100 MB per CPU-second', cpu)
finish()
