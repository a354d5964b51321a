#!/usr/bin/env python3
"""muster tune doctor on excerpts of real logs (tests/fixtures/doctor, index.csv says where each is from and what its thread
concluded): the right cause first, "unknown" on those of healthy jobs, evidence with file and line, and settings of lossless
Ethernet."""
import csv
import gzip
import json
import os
import time

from checks import STATE, check, finish, run

FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'fixtures', 'doctor')
ROCE = os.path.join(FIXTURES, 'roce')


def doctor(*files, more=()):
    ran = run('tune', 'doctor', *files, '-o', 'json', *more)
    return ran, json.loads(ran.out) if ran.out.startswith('{') else {}


def causes(found):
    return [v['cause'] for v in found.get('verdicts', [])]


right, total = {}, {}
for row in csv.DictReader(open(os.path.join(FIXTURES, 'index.csv'))):
    ran, found = doctor(os.path.join(FIXTURES, row['file']))
    part, expected = row['part'], row['cause'] or 'unknown'
    total[part] = total.get(part, 0) + 1
    good = found.get('cause') == expected and ran.code == (0 if expected == 'unknown' else 6)
    right[part] = right.get(part, 0) + good
    if part == 'healthy':
        check(good and found['looked_for'], f'{row["file"]}: a healthy log is unknown, and it says what was looked for', ran)
        continue
    check(good, f'{row["file"]}: {expected}', ran)
    first = found['verdicts'][0] if found.get('verdicts') else {}
    check(first.get('fix') and first.get('prove') and any(f'{row["file"]}' in e for e in first.get('evidence', [])),
          f'{row["file"]}: with evidence, a fix and a proof', first)
for part in sorted(total):
    print(f'# {part}: {right[part]} of {total[part]}', flush=True)
check(total['dev'] + total['held'] >= 30 and total['healthy'] >= 10, 'the corpus is large enough to say so', total)

ran = run('tune', 'doctor', os.path.join(FIXTURES, 'shm_fallocate.txt'))
check(ran.code == 6 and ran.out.startswith('shm_too_small: ') and 'shm_fallocate.txt:4: ' in ran.out and 'fix: ' in ran.out
      and 'prove: ' in ran.out, 'in words', ran)
with gzip.open(f'{STATE}/job.log.gz', 'wb') as f:
    f.write(open(os.path.join(FIXTURES, 'duplicate_gpu_mpi.txt'), 'rb').read())
ran, found = doctor(f'{STATE}/job.log.gz')
check(found.get('cause') == 'duplicate_gpu', 'packed or not', ran)

# Lossless Ethernet.
settings = [os.path.join(ROCE, n) for n in ('mlnx_qos.txt', 'config_db.json', 'env.txt')]
ran, found = doctor(*settings)
check(ran.code == 0 and found.get('cause') == 'unknown', 'settings in their order are unknown to be wrong', ran)
check(found.get('forecast', {}).get('model') is True, 'the forecast says that it is a model', found)
ran, found = doctor(settings[0], os.path.join(ROCE, 'config_db_wrong.json'), settings[2])
check({'roce_threshold_order', 'roce_headroom', 'roce_ecn_off'} <= set(causes(found)),
      'marks too late, little headroom, no marks', causes(found))
with open(f'{STATE}/env.txt', 'w') as f:
    f.write('NCCL_DEBUG=INFO\nNCCL_IB_TC=0\n')
ran, found = doctor(settings[0], f'{STATE}/env.txt')
check(causes(found)[:1] == ['roce_class'] and 'NCCL_IB_TC=104' in found['verdicts'][0]['fix'],
      'the class of NCCL is the lossless one', found)
ran, found = doctor(os.path.join(ROCE, 'ethtool_before.txt'), os.path.join(ROCE, 'ethtool_after.txt'), more=('--between', '10'))
check({'roce_loss', 'roce_pauses'} <= set(causes(found)), 'two readings of counters are a rate', causes(found))
check(any('9000.0 a second' in e for v in found.get('verdicts', []) for e in v['evidence']), 'told as one', found)
ran, found = doctor(os.path.join(ROCE, 'ethtool_after.txt'))
check(ran.code == 0 and not found['verdicts'], 'one reading alone is history', ran)

ran, found = doctor(os.path.join(ROCE, 'ethtool_after.txt'), os.path.join(ROCE, 'ethtool_before.txt'), more=('--between', '10'))
check(ran.code == 0 and any('backwards' in a['title'] for a in found['advice']), 'swapped readings are said to be', ran)


def readings(name, **values):
    with open(f'{STATE}/{name}', 'w') as f:
        f.write('NIC statistics:\n' + ''.join(f'     {k}: {v}\n' for k, v in values.items()))
    return f'{STATE}/{name}'


first = readings('e0.txt', rx_packets=10, rx_symbol_err_phy=3, link_down_events_phy=1)
for name, cause, values in (('e1.txt', 'link_errors', {'rx_symbol_err_phy': 900003, 'link_down_events_phy': 1}),
                            ('e2.txt', 'link_flap', {'rx_symbol_err_phy': 3, 'link_down_events_phy': 4})):
    ran, found = doctor(first, readings(name, rx_packets=90, **values), more=('--between', '10'))
    check(found.get('cause') == cause and ran.code == 6, f'counters of a link: {cause}', ran)


def sonic(name, change):
    tree = json.load(open(os.path.join(ROCE, 'config_db.json')))
    change(tree)
    with open(f'{STATE}/{name}', 'w') as f:
        json.dump(tree, f, indent=1)
    return f'{STATE}/{name}'


def profile(tree):
    return next(iter(tree['WRED_PROFILE'].values()))


above = {'green_min_threshold': '900000', 'green_max_threshold': '600000'}
ran, found = doctor(sonic('inverted.json', lambda t: profile(t).update(above)))
told = found.get('forecast', {})
check(causes(found)[:1] == ['roce_threshold_order'] and '200 KB' in found['verdicts'][0]['fix'], 'Kmin above Kmax', found)
check(told.get('by_fix') and round(told['proposed']['kmin_kb']) == 200 and round(told['proposed']['kmax_kb']) == 600,
      'the forecast plays what the fix says', told)
ran, found = doctor(sonic('unmarked.json', lambda t: profile(t).update(ecn='ecn_none')))
told = found.get('forecast', {})
check(causes(found)[:1] == ['roce_ecn_off'] and told['now']['ecn'] is False and told['proposed']['ecn'] is True,
      'where marking is off the forecast begins without marks', found)
ran, found = doctor(settings[0], settings[2],
                    sonic('other.json', lambda t: [p.update(pfc_enable='4') for p in t['PORT_QOS_MAP'].values()]))
check(causes(found)[:1] == ['roce_pfc_mismatch'] and 'roce_class' not in causes(found)
      and 'priority 3 at the switch' in found['verdicts'][0]['fix'], 'the switch pauses what the cards do not use', found)
ran, found = doctor(settings[0], settings[2],
                    sonic('more.json', lambda t: [p.update(pfc_enable='3,4') for p in t['PORT_QOS_MAP'].values()]))
check(ran.code == 0 and 'roce_pfc_priorities' in [a['cause'] for a in found['advice']], 'a class more is worth a look', found)

# What is no timeout is not called one, and ranks at different numbers are not at one.
ran = run('tune', 'doctor', os.path.join(FIXTURES, 'peer_closed_async.txt'))
check('timed out' not in ran.out, 'an exception is no timeout', ran)
ran, found = doctor(os.path.join(FIXTURES, 'watchdog_uneven.txt'))
check('rank 3 at 4096 lags behind rank 0 at 5120' in found['verdicts'][0]['title'], 'which rank lags', found)
ran, found = doctor(os.path.join(FIXTURES, 'memory_of_a_rank.txt'))
check('rank 2' in found['verdicts'][0]['title'], 'whose memory it was', found)
ran, found = doctor(os.path.join(FIXTURES, 'wrong_values.txt'))
check('0 GPUs' not in found['verdicts'][0]['title'] and '2391' in found['verdicts'][0]['title'], 'how many values', found)

# A job that prints its card's settings first is a log all the same.
with open(os.path.join(ROCE, 'mlnx_qos.txt')) as f, open(f'{STATE}/job.log', 'w') as job:
    job.write(f.read() + 'n1:1:2 [0] NCCL INFO Using network IB\n'
              'n1:1:2 [0] include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device\n')
ran, found = doctor(f'{STATE}/job.log')
check('shm_too_small' in causes(found), 'a log behind settings is read', found)

# What cannot be read.
for name, data, part in (('empty', b'', 'it is empty'), ('zeros', b'\0' * 5000, 'no text'),
                         ('topo.xml', b'<system version="1"><cpu numaid="0">', 'line 1'),
                         ('cut.json', b'{\n "DEVICE_METADATA": {"localhost": {"hwsku": "x"}},\n "PORT": {"Ethernet0": {',
                          'broken JSON'),
                         ('empty.json', b'{}\n', 'not a kind that is known'),
                         ('smi.txt', b'\n==============NVSMI LOG==============\n\nAttached GPUs : 8\n', 'nvidia-smi'),
                         ('net.txt', b'vendid=0x2c9\ndevid=0xd2f0\nsysimgguid=0x1\nSwitch 41 "S-1"\n', 'InfiniBand fabric')):
    with open(f'{STATE}/{name}', 'wb') as f:
        f.write(data)
    ran = run('tune', 'doctor', f'{STATE}/{name}')
    check(ran.code == 2 and part in ran.err and name in ran.err, f'{name} is refused with the reason', ran)
with open(f'{STATE}/nccl.env', 'w') as f:
    f.write('# as muster tune --env writes it\n# with its reasons\n# in comments\nNCCL_IB_HCA=mlx5\nNCCL_ALGO=ring\n')
ran, found = doctor(f'{STATE}/nccl.env')
check(found.get('looked_for') == ['2 settings of NCCL'], 'settings are read beside their comments', ran)
with open(f'{STATE}/brackets', 'w') as f:
    f.write('[' * (1 << 20) + '\n')
before = time.time()
ran, found = doctor(f'{STATE}/brackets')
check(ran.code == 0 and time.time() - before < 5, 'a line of nothing but brackets takes no time', time.time() - before)
ran = run('tune', 'doctor', f'{STATE}/absent')
check(ran.code == 3 and 'absent' in ran.err, 'a file that is not there', ran)
ran = run('tune', 'doctor', f'{STATE}/zeros', os.path.join(FIXTURES, 'shm_extend.txt'))
check(ran.code == 6 and 'left out' in ran.err and 'zeros' in ran.err, 'one bad file does not hide what the others say', ran)

# Public logs of healthy machines, where they are at hand.
data = os.environ.get('MUSTER_DATA', '')
for name in ('allgather', 'allreduce', 'alltoall', 'broadcast', 'reduce', 'reducescatter'):
    path = os.path.join(data, 'logs', f'superbench_nccl_{name}.log.gz')
    if data and os.path.exists(path):
        ran, found = doctor(path)
        check(found.get('cause') == 'unknown', f'{name} of a healthy machine is unknown', ran)
    else:
        print(f'skip - healthy output: $MUSTER_DATA/logs has no {os.path.basename(path)}', flush=True)

finish()
