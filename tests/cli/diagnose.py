#!/usr/bin/env python3
"""Profiles and dumps as their users meet them: what came of each nanosecond, equal to figures worked out independently of Muster
where public profiles are at hand ($MUSTER_DATA/kineto), which rank a job waits for, and clear words for what is neither."""
import glob
import gzip
import json
import os
import pickle
import sqlite3

from checks import STATE, StandIn, check, environment, finish, listing, run

SLOWER = 3  # a machine that is shared may take so many times as long
STEPS = [{'ph': 'X', 'cat': 'user_annotation', 'name': f'ProfilerStep#{n}', 'pid': 1, 'tid': 1, 'ts': 1000 * n, 'dur': 1000}
         for n in range(3)]


def kernel(n, name, start, length):
    return [{'ph': 'X', 'cat': 'cuda_runtime', 'name': 'cudaLaunchKernel', 'pid': 1, 'tid': 1, 'ts': start - 5, 'dur': 2,
             'args': {'correlation': n}},
            {'ph': 'X', 'cat': 'kernel', 'name': name, 'pid': 0, 'tid': 7, 'ts': start, 'dur': length,
             'args': {'correlation': n, 'stream': 7, 'device': 0}}]


EVENTS = STEPS + kernel(1, 'gemm', 100, 500.5) + kernel(2, 'ncclDevKernel_AllReduce', 400, 400) + kernel(3, 'gemm', 2500, 100)
path = f'{STATE}/rank2.json.gz'
with gzip.open(path, 'wt') as f:
    json.dump({'distributedInfo': {'rank': 2, 'world_size': 4}, 'traceEvents': EVENTS}, f)
ran = run('diagnose', '--accounting', '-o', 'json', path)
a = json.loads(ran.out)['2'] if ran.code == 0 else {}
check(a.get('file') == 'rank2.json.gz' and a['all_events']['n_gpu_events'] == 3, 'a profile is accounted by its rank', ran)
check(a['all_events']['comm_compute_overlap_ns'] == 200500 and a['all_events']['exposed_comm_ns'] == 199500,
      'to the nanosecond', a)
check(a['drop_last_step']['n_gpu_events'] == 2 and a['drop_last_step']['span_ns'] == 700000, 'and without the last step', a)
ran = run('diagnose', '--accounting', path)
check(ran.code == 0 and 'EXPOSED' in ran.out and 'rank2.json.gz' in ran.out, 'a table has shares', ran)

with open(f'{STATE}/cut.json', 'w') as f:
    f.write(json.dumps({'traceEvents': EVENTS})[:-60])
ran = run('diagnose', '--accounting', f'{STATE}/cut.json')
check(ran.code == 0 and 'ends in the middle' in ran.err, 'a file that was cut off says what it says', ran)
whole = open(path, 'rb').read()
with open(f'{STATE}/cut.gz', 'wb') as f:
    f.write(whole[:len(whole) - 20])
ran = run('diagnose', '--accounting', f'{STATE}/cut.gz')
check(ran.code in (0, 1, 2) and ('middle' in ran.err or 'error' in ran.err), 'packed or not', ran)

for name, text, part in (('empty', '', 'it is empty'), ('none.json', '{"traceEvents": []}', 'no events'),
                         ('words', 'hello there', 'nothing that Muster knows'),
                         ('deep.json', '{"traceEvents": [' + '[' * 3_000_000, 'no events'),
                         ('zeros', '\0' * 5000, 'nothing that Muster knows')):
    with open(f'{STATE}/{name}', 'w') as f:
        f.write(text)
    ran = run('diagnose', '--accounting', f'{STATE}/{name}')
    check(ran.code == 2 and part in ran.err and name in ran.err, f'{name} is refused with the reason', ran)
ran = run('diagnose', '--accounting', f'{STATE}/absent.json')
check(ran.code == 3 and 'absent.json' in ran.err, 'a file that is not there', ran)
with gzip.open(f'{STATE}/bomb.gz', 'wb') as f:  # half a gigabyte of brackets in half a megabyte
    f.write(b'{"traceEvents": [')
    for _ in range(512):
        f.write(b'[' * 2**20)
ran = run('diagnose', '--accounting', f'{STATE}/bomb.gz')
check(ran.code == 2 and '64 MiB' in ran.err, 'brackets without end come to an end', ran)

one = f'{STATE}/one.json'
with open(one, 'w') as f:
    json.dump({'traceEvents': [{'ph': 'X', 'cat': 'kernel', 'name': 'k', 'pid': 0, 'tid': 7, 'ts': 1, 'dur': 2}]}, f)
ran = run('diagnose', '-o', 'json', one)
check(ran.code == 0 and json.loads(ran.out)['verdict']['confidence'] == 'low', 'one event is a profile that says little', ran)
noise = f'{STATE}/noise'
with open(noise, 'wb') as f:
    block = os.urandom(2**20)
    for _ in range(100):
        f.write(block)
for args in ((noise,), ('--accounting', noise)):
    ran = run('diagnose', *args, timeout=60)
    check(ran.code == 2 and 'noise' in ran.err and len(ran.err) < 2000, '100 MB of noise are refused with a word', ran)
with gzip.open(f'{STATE}/log.gz', 'wb', 1) as f:  # a log without a line end, much larger than its file
    for _ in range(256):
        f.write(b'x' * 2**20)
ran = run('diagnose', f'{STATE}/log.gz', timeout=90)
check(ran.code == 2 and 'nothing that Muster knows' in ran.err, 'a log without end is refused', ran)

# ---- a job that hangs
GROUPS = {'0': {'name': '0', 'desc': 'dp', 'ranks': '[0, 1, 2]'}}


def dump(rank, calls, op='nccl:all_reduce'):
    entries = [{'record_id': n, 'pg_id': 0, 'process_group': ['0', 'dp'], 'collective_seq_id': n + 1, 'p2p_seq_id': 0,
                'is_p2p': False,
                'profiling_name': op if n == 4 else 'nccl:all_reduce', 'time_created_ns': 10**18 + n, 'input_sizes': [[1024]],
                'output_sizes': [[1024]], 'input_dtypes': ['Float'], 'output_dtypes': ['Float'],
                'state': 'started' if n == 4 else 'completed'} for n in range(calls)]
    return {'version': '2.10', 'pg_config': GROUPS, 'pg_status': {}, 'entries': entries}


folder = f'{STATE}/fr'
os.makedirs(folder, exist_ok=True)


def hang(form, dumps):
    for old in glob.glob(f'{folder}/*'):
        os.unlink(old)
    for rank, d in dumps.items():
        with open(f'{folder}/nccl_trace_rank_{rank}', 'wb') as f:
            f.write(pickle.dumps(d, protocol=2) if form == 'pickle' else json.dumps(d).encode())
    return run('diagnose', '-o', 'json', *sorted(glob.glob(f'{folder}/*')))


for form in ('pickle', 'JSON'):
    ran = hang(form, {0: dump(0, 5), 1: dump(1, 5), 2: dump(2, 4)})
    h = json.loads(ran.out)['hang'] if ran.code == 6 else {}
    check(h.get('kind') == 'missing' and h['culprit_ranks'] == [2] and h['seq'] == 5, f'a rank that never called, from {form}',
          ran)
    ran = hang(form, {0: dump(0, 5), 1: dump(1, 5), 2: dump(2, 5, 'nccl:broadcast')})
    h = json.loads(ran.out)['hang'] if ran.code == 6 else {}
    check(h.get('kind') == 'mismatch' and h['culprit_ranks'] == [2], f'a rank that called another, from {form}', ran)
    ran = hang(form, {0: dump(0, 5), 1: dump(1, 5)})
    h = json.loads(ran.out)['hang'] if ran.code == 6 else {}
    check(h.get('kind') == 'missing' and h['culprit_ranks'] == [2], f'a rank without a dump, from {form}', ran)
    ran = hang(form, {r: dump(r, 4) for r in range(3)})
    check(ran.code == 0 and json.loads(ran.out)['hang'] is None, f'nothing hangs, from {form}', ran)


class Evil:
    def __reduce__(self):
        return (os.system, ('touch /tmp/should_not_be',))


with open(f'{folder}/nccl_trace_rank_0', 'wb') as f:
    f.write(pickle.dumps({'entries': [Evil()]}, protocol=2))
ran = run('diagnose', f'{folder}/nccl_trace_rank_0')
check(ran.code == 2 and 'would name or call something' in ran.err and not os.path.exists('/tmp/should_not_be'),
      'a pickle that would run something is refused', ran)

# ---- a job with a worker that is slow: two replicas, one stage, what each computes and what they sum
table = 'dp_rank,stage,rank,step,optype,start_ts,duration,seq_id\n'
for step in range(4):
    for dp, length in ((0, 1.0), (1, 1.5)):
        table += f'{dp},0,{dp},{step},forward-compute,0,{length},0\n'
        table += f'{dp},0,{dp},{step},grads-reduce-scatter,{length},{1.6 - length},0\n'
with gzip.open(f'{STATE}/trace.csv.gz', 'wt') as f:
    f.write(table)
with open(f'{STATE}/meta.yaml', 'w') as f:
    f.write('trial_name: X\ndp_size: 2\npp_size: 1\n')
ran = run('diagnose', '-o', 'json', f'{STATE}/trace.csv.gz', f'{STATE}/meta.yaml')
s = json.loads(ran.out)['straggler'] if ran.code == 6 else {}
check(s.get('cause') == 'worker' and s['workers'][0]['dp_rank'] == 1 and abs(s['slowdown'] - 1.6 / 1.35) < 1e-6,
      'a worker that is slow, and by how much', ran)
ran = run('diagnose', f'{STATE}/trace.csv.gz')
check(ran.code == 6 and 'replica 1 in stage 0' in ran.out, 'in words', ran)
with open(f'{STATE}/meta.yaml', 'w') as f:
    f.write('dp_size: 3\npp_size: 1\n')
ran = run('diagnose', f'{STATE}/trace.csv.gz', f'{STATE}/meta.yaml')
check(ran.code == 2 and 'dp_size is 3, the trace has 2' in ran.err, 'a description of another job is refused', ran)

# ---- other files, alone and together
with open(f'{STATE}/nccl.log', 'w') as f:
    f.write('node1:10:20 [0] NCCL INFO NCCL version 2.28.9+cuda13.0\n'
            'node1:10:20 [0] NCCL INFO Using network Socket\n'
            'node1:10:20 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0\n')
ran = run('diagnose', '-o', 'json', f'{STATE}/nccl.log')
found = json.loads(ran.out) if ran.out else {}
check(found.get('verdict', {}).get('bound') == 'communication' and 'nccl_log' in found, "NCCL's log is one of its own", ran)
with open(f'{STATE}/train.log', 'w') as f:
    for n in range(1, 40):
        f.write(f' iteration {n:8d}/ 100 | consumed samples: {n * 256} | elapsed time per iteration (ms): {1000.0 + n % 3} |'
                ' learning rate: 1.0E-4 | global batch size:   256 | lm loss: 2.0E+00 |\n')
ran = run('diagnose', '-o', 'json', path, f'{STATE}/train.log', f'{STATE}/nccl.log')
found = json.loads(ran.out) if ran.out else {}
check({'shares', 'run', 'nccl_log', 'ranks'} <= set(found), 'a profile, a log and NCCL in one answer', ran)
snapshot = {'segments': [{'device': 0, 'address': 4096, 'total_size': 2**21, 'allocated_size': 2**20, 'active_size': 2**20,
                          'requested_size': 2**20, 'stream': 0, 'segment_type': 'large', 'blocks': [
                              {'address': 4096, 'size': 2**20, 'requested_size': 2**20, 'state': 'active_allocated',
                               'frames': []},
                              {'address': 4096 + 2**20, 'size': 2**20, 'requested_size': 0, 'state': 'inactive', 'frames': []}]}],
            'device_traces': [[]], 'allocator_settings': {}}
with open(f'{STATE}/snapshot.pickle', 'wb') as f:
    pickle.dump(snapshot, f)
ran = run('diagnose', '-o', 'json', f'{STATE}/snapshot.pickle')
found = json.loads(ran.out) if ran.out else {}
check(found.get('memory', {}).get('devices', [{}])[0].get('now', {}).get('reserved_bytes') == 2**21, 'a memory snapshot', ran)
base = sqlite3.connect(f'{STATE}/nsys.sqlite')
base.executescript("""CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 5000, 0, 1, 7, 1, 0, 1, 1), (9000, 12000, 0, 1, 7, 2, 0, 1, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (500, 700, 1, 1, 2), (8000, 8200, 1, 2, 2);""")
base.commit()
base.close()
ran = run('diagnose', '--accounting', '-o', 'json', f'{STATE}/nsys.sqlite')
found = list(json.loads(ran.out).values()) if ran.code == 0 else [{}]
check(found[0].get('all_events', {}).get('compute_ns') == 7000, 'a database of Nsight Systems', ran)

# ---- two runs, before and after
for side, length in (('before', 500), ('after', 250)):
    os.mkdir(f'{STATE}/{side}')
    for rank in (0, 1):
        with gzip.open(f'{STATE}/{side}/rank{rank}.json.gz', 'wt') as f:
            json.dump({'distributedInfo': {'rank': rank, 'world_size': 2},
                       'traceEvents': STEPS + [e for n in range(3) for e in kernel(n + 1, 'gemm', 1000 * n + 100,
                                                                                   length if rank else 100)]}, f)
ran = run('diagnose', '-o', 'json', '--diff', f'{STATE}/before', f'{STATE}/after')
found = json.loads(ran.out) if ran.code == 0 else {}
check([r['rank'] for r in found.get('ranks', [])] == ['rank 0', 'rank 1'] and
      abs(found['kernels'][0]['before_ms'] - 0.3) < 1e-6 and abs(found['kernels'][0]['after_ms'] - 0.175) < 1e-6,
      'two folders with the profiles of their ranks', ran)
ran = run('diagnose', '-o', 'json', f'{STATE}/before')
check(len(json.loads(ran.out).get('ranks', [])) == 2, 'a folder stands for its files', ran)
with open(f'{STATE}/train.log') as f, open(f'{STATE}/faster.log', 'w') as g:
    g.write(f.read().replace('(ms): 100', '(ms): 80'))
ran = run('diagnose', '--diff', f'{STATE}/train.log', f'{STATE}/faster.log')
check(ran.code == 0 and '% less' in ran.out and 'chance' not in ran.out, 'two logs', ran)
ran = run('diagnose', '--diff', f'{STATE}/train.log', f'{STATE}/before')
check(ran.code == 2 and 'one log with one log' in ran.err, 'a log and a profile are not compared', ran)
os.mkdir(f'{STATE}/nothing')
ran = run('diagnose', f'{STATE}/nothing')
check(ran.code == 2 and 'no files in the folder' in ran.err, 'an empty folder', ran)

ran = run('diagnose', '--accounting', '-o', 'csv', path)
check(ran.out.splitlines()[0] == 'file,rank,steps,events,span_ns,compute_ns,exposed_ns,overlap_ns,copies_ns,idle_ns' and
      ran.out.splitlines()[1].split(',')[4] == '2500000', 'as CSV: whole nanoseconds, and the names say so', ran)
ran = run('diagnose', '-o', 'csv', path)
check(ran.code == 2 and '--accounting' in ran.err, 'a table is of the accounting alone', ran)

# ---- a job that runs
NODES = [f'node{n:03d}' for n in range(8)]
FINDINGS = [{'id': 1, 'kind': 'slow_gpu', 'node': 'node003', 'job': '17', 'evidence': [{'text': 'its peers wait for it'}]},
            {'id': 2, 'kind': 'thermal_throttle', 'node': 'node900', 'evidence': []}]
server = StandIn({'/api/v1/jobs/17': (200, {'id': '17', 'name': 'llm', 'phase': 'running', 'note': '', 'nodes': NODES}),
                  '/api/v1/findings': listing('FindingList', FINDINGS)})
env = environment(MUSTER_SERVER=server.url, MUSTER_TOKEN='mstr_x')
ran = run('diagnose', 'job', '17', '-o', 'json', env=env)
told = json.loads(ran.out) if ran.code == 6 else {'traces': []}
check([t['node'] for t in told['traces']] == ['node003', 'node000'] and told['explained'] is False,
      'of a running job: the rank that is suspected, and one to compare with', ran)
check(all('dyno --hostname' in t['command'] and 'gputrace' in t['command'] for t in told['traces']),
      'with the command that takes it')
ran = run('diagnose', 'job', '17', env=env)
check(ran.code == 6 and 'its peers wait for it' in ran.out and 'node900' not in ran.out, 'in words', ran)
lines = []
for seq in range(40):  # rank 5 comes last: it is in each operation the shortest
    for rank in range(8):
        us = 1000 if rank == 5 else 4000
        lines.append(json.dumps({'header': {'id': '0xc0', 'rank': rank, 'n_ranks': 8, 'nnodes': 8},
                                 'metadata': {'inspector_output_format_version': 'v4.0', 'dump_timestamp_us': seq * 10000,
                                              'hostname': NODES[rank] + '.site', 'pid': 100 + rank},
                                 'coll_perf': {'coll': 'AllReduce', 'coll_sn': seq, 'coll_msg_size_bytes': 1 << 26,
                                               'coll_exec_time_us': us, 'coll_timing_source': 'kernel_gpu',
                                               'coll_algobw_gbs': 1.0, 'coll_busbw_gbs': 1.0}}))
inspector = f'{STATE}/inspector.log'
open(inspector, 'w').write('\n'.join(lines) + '\n')
ran = run('diagnose', 'job', '17', inspector, '-o', 'json', env=env)
told = json.loads(ran.out) if ran.code == 6 else {'traces': []}
check([t['node'] for t in told['traces']][:2] == ['node005', 'node003'] and
      'wait for rank 5' in told['diagnosis']['findings'][0]['title'], 'and its files: who comes last is looked at first', ran)
ran = run('diagnose', 'job', '18', env=env)
check(ran.code == 3, 'a job that is not there', ran)

data = os.environ.get('MUSTER_DATA')
if data and os.path.isdir(f'{data}/stragglers'):
    for name, cause in (('AR', 'worker'), ('ST', 'stage')):
        want = json.load(open(f'{data}/stragglers/result-{name}.json'))['blocking_slowdown']
        before = os.times()
        ran = run('diagnose', '-o', 'json', f'{data}/stragglers/trace-{name}.csv.gz', f'{data}/stragglers/meta-{name}.yaml')
        cpu = os.times().children_user - before.children_user + os.times().children_system - before.children_system
        s = json.loads(ran.out)['straggler'] if ran.code == 6 else {}
        check(abs(s.get('slowdown', 0) / want - 1) < 0.01 and s['cause'] == cause,
              f'{name}: slowdown {s.get("slowdown", 0):.4f} within 1 % of {want:.4f}, {cause}', ran)
        check(cpu < 0.2 * SLOWER, f'{name}: {cpu:.2f} CPU-s', cpu)
        first = s['workers'][0] if cause == 'worker' else s['stages'][0]
        check((first.get('dp_rank'), first['stage']) == ((0, 0) if name == 'AR' else (None, 3)), f'{name}: the right one', s)
if data and os.path.isdir(f'{data}/flight_recorder'):
    for name, kind, culprits in (('missing_rank5', 'missing', [5]), ('type_mismatch_rank3', 'mismatch', [3]), ('ok', None, None)):
        for ending in ('', '.json'):
            files = [f'{data}/flight_recorder/{name}/nccl_trace_rank_{r}{ending}' for r in range(8)]
            ran = run('diagnose', '-o', 'json', *files)
            h = json.loads(ran.out)['hang'] if ran.code in (0, 6) else {'kind': ran.err}
            check(h is None if kind is None else h['kind'] == kind and h['culprit_ranks'] == culprits, f'{name}{ending}', ran)
    rest = [f for f in glob.glob(f'{data}/flight_recorder/missing_rank5/*.json') if 'rank_5' not in f]
    ran = run('diagnose', '-o', 'json', *rest)
    check(json.loads(ran.out)['hang']['culprit_ranks'] == [5], 'and with its file missing', ran)
if data and os.path.isdir(f'{data}/logs'):
    for op in ('allgather', 'allreduce', 'alltoall', 'broadcast', 'reduce', 'reducescatter'):
        ran = run('diagnose', '-o', 'json', f'{data}/logs/superbench_nccl_{op}.log.gz')
        runs = json.loads(ran.out)['nccl_tests'] if ran.code == 0 else []
        check(len(runs) == 1 and len(runs[0]['sizes']) >= 30 and runs[0]['operation'].replace('_', '') == op,
              f'nccl-tests, {op}: all of its sizes, and the operation', ran)
        judged = [z for z in runs[0]['sizes'] if z.get('expected_bus_gb_s')] if runs else []
        check(runs and runs[0]['verdict'] and len(judged) >= 28,
              f'{op}: what was expected beside what it got: {runs and runs[0]["verdict"]}', ran)
    ran = run('diagnose', '-o', 'json', f'{data}/logs/superbench_megatron_deepspeed.log.gz')
    log = json.loads(ran.out)['run'] if ran.out else {}
    check(log.get('steps') == 5 and log['gpus'] == 16 and log['expected']['step_s'] > 0 and log['pace'] != 'unknown',
          "Megatron-DeepSpeed's log, with what was expected", ran)
if not data or not os.path.isdir(f'{data}/kineto/golden'):
    print('skip - the golden accountings: kineto/golden of $MUSTER_DATA is not there')
    finish()
ALIASES = {'benchmark_result_2869224_1695835535_trace.json.gz': 'alexnet.json.gz',
           'rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz': 'ns_resolution_rank0.json.gz'}
seen = 0
for golden in sorted(glob.glob(f'{data}/kineto/golden/*.ns.json')):
    want = json.load(open(golden))
    files = [ALIASES.get(v['file'], v['file'].replace('tests__traces__', '')) for v in want.values()]
    ran = run('diagnose', '--accounting', '-o', 'json', *[f'{data}/kineto/{f}' for f in files])
    got = json.loads(ran.out) if ran.code == 0 else {}
    for rank, v in want.items():
        for mode in ('all_events', 'drop_last_step'):
            mine = got.get(rank, {}).get(mode, {})
            wrong = {k: (mine.get(k), x) for k, x in v[mode].items() if mine.get(k) != x}
            check(not wrong, f'{os.path.basename(golden)} rank {rank}, {mode}, equal to the nanosecond', wrong or ran.err)
            seen += 1
check(seen >= 20, 'all of them were compared', seen)
# What HTA prints of profiles with whole microseconds. Not of alexnet_cp: it has waits of the GPU (cuda_sync), which HTA takes for
# kernels; nor of those with nanoseconds, which it rounds.
compared = 0
for golden in sorted(glob.glob(f'{data}/kineto/golden/*.hta.json')):
    name = os.path.basename(golden)[:-len('.hta.json')]
    want = json.load(open(golden))
    table = want.get('results', {}).get('temporal_breakdown', {})
    if not isinstance(table, dict) or 'data' not in table or name.startswith(('scale_', 'ns_', 'h100_', 'nccl_', 'alexnet')):
        continue
    files = [ALIASES.get(f, f.replace('tests__traces__', '')) for f in want['files'].values()]
    ran = run('diagnose', '--accounting', '-o', 'json', *[f'{data}/kineto/{f}' for f in files])
    got = json.loads(ran.out) if ran.code == 0 else {}
    for row in table['data']:
        one = dict(zip(table['columns'], row))
        mine = got.get(str(int(one['rank'])), {}).get('drop_last_step', {})
        pairs = {'idle_time(us)': 'idle_ns', 'compute_time(us)': 'compute_ns', 'kernel_time(us)': 'span_ns'}
        wrong = {k: (one[k], mine.get(v)) for k, v in pairs.items() if mine.get(v) != round(one[k] * 1000)}
        check(not wrong, f"{name}, rank {int(one['rank'])}: HTA's figures", wrong)
        compared += 1
check(compared >= 6, "HTA's figures were compared", compared)
finish()
