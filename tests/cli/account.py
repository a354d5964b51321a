#!/usr/bin/env python3
"""muster account on a site's own files: a small site whose every figure is known, a made-up year, a stand-in for Prometheus, and
what is wrong with such files.
    tests/cli/account.py build/release/muster
"""
import gzip
import http.server
import json
import os
import threading
import urllib.parse

from checks import STATE, check, finish, run

HOUR, DAY0 = 3600, 1767225600  # 2026-01-01
HEAD = 'JobID|User|Account|Partition|State|Submit|Eligible|Start|End|ElapsedRaw|NNodes|NodeList|AllocTRES|ReqTRES\n'


def at(h):
    return 'Unknown' if h is None else str(DAY0 + int(h * HOUR))


def job(number, user, account, start, end, gpus, nodes, eligible=None, state='COMPLETED', count=1):
    tres = f'cpu=8,gres/gpu:h200={gpus},gres/gpu={gpus},node={count}' if gpus else ('' if gpus is None else 'cpu=8')
    when = at(start if eligible is None else eligible)
    return f'{number}|{user}|{account}|gpu|{state}|{when}|{when}|{at(start)}|{at(end)}||{count}|{nodes}|{tres}|{tres}\n'


def write(name, text):
    path = os.path.join(STATE, name)
    with open(path, 'wb') as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    return path


def account(*args):
    ran = run('account', *args, '-o', 'json')
    return (json.loads(ran.out) if ran.code == 0 else None), ran


def hours(report):
    return {k: round(v, 6) for k, v in report['classes_gpu_hours'].items() if v}


# Two nodes of eight, one day. n1: ada has 8 from 0 to 6; n2 is down from 4 to 10 and drained from 20 on. bob waits from 2 to 6.
NODES = write('nodes.txt', 'NodeName=n1 Gres=gpu:h200:8 State=IDLE\n'
              'NodeName=n2 Gres=gpu:h200:8(S:0-1) State=DRAIN\nNodeName=login CPUs=4\n')
EVENTS = write('events.txt', 'Cluster|NodeName|TimeStart|TimeEnd|State|Reason\n'
               f'c|n2|{at(4)}|{at(10)}|DOWN*|fan\nc|n2|{at(20)}|Unknown|IDLE+DRAIN|test\n')
JOBS = HEAD + job(1, 'ada', 'physics', 0, 6, 8, 'n1') + job(2, 'bob', 'bio', 6, 12, 8, 'n1', eligible=2)
JOBS += job(3, 'bob', 'bio', 21, 30, 4, 'n1')
jobs = write('jobs.txt', JOBS)
window = ('--from', '2026-01-01', '--to', '2026-01-02')
files = ('--nodes', NODES, '--events', EVENTS, *window)
r, ran = account('--sacct', jobs, *files)
wanted = {'down': 48, 'drained': 32, 'idle_fragmented': 16, 'unseen': 108, 'idle_no_demand': 384 - 48 - 32 - 16 - 108}
check(r and hours(r) == wanted, 'every class of a day that is known is what it should be', ran)
check(r and sum(r['classes_milli_gpu_ms'].values()) == r['installed_milli_gpu_ms'] == 384 * 3600 * 10**6,
      'and they sum to what is installed, to the last', ran)
check(r and r['efficiency'] is None and any('unseen' in n for n in r['notes']), 'what nobody measured has no efficiency', ran)
check(r and [f['kind'] for f in r['faults']] == ['cut_at_edges'], 'a job that reaches over the end is named', r and r['faults'])
for by in ('account', 'partition', 'user', 'gpu_type', 'job', 'day'):
    x, ran = account('--sacct', jobs, *files, '--by', by)
    total = sum(row['gpu_hours'] for row in x['rows']) if x else 0
    check(abs(total - 384) < 1e-6, f'rows by {by} sum to what is installed', ran)
x, ran = account('--sacct', jobs, *files, '--by', 'user')
check([(row['name'], round(row['gpu_hours'], 3)) for row in x['rows'] if not row['no_job']] == [('bob', 60.0), ('ada', 48.0)],
      'users have what their jobs had', ran)
ran = run('account', '--sacct', jobs, *files, '--price', '2')
check('384.0 GPU-hours installed' in ran.out and 'Cost of this time: 768 USD' in ran.out and 'delivered 2.526' in ran.out and
      '█' in ran.out and ran.err == '', 'the table has bars and rates', ran)
ran = run('account', '--sacct', jobs, *files, '--cost-per-year', '140160', '--currency', 'EUR', '-o', 'csv')
lines = ran.out.splitlines()
check(lines[0].endswith('cost_eur') and round(sum(float(x.split(',')[-1]) for x in lines[1:]), 6) == 384,
      'CSV shares out all of the cost', ran)

# The same rows in other clothes.
columns = [c.split('|') for c in JOBS.splitlines()]
turned = '\n'.join('\t'.join(reversed(c)) for c in columns) + '\n'
local = JOBS
for h in range(31):  # 9 hours ahead of UTC, without saying so
    stamp = f'2026-01-0{1 + (h + 9) // 24}T{(h + 9) % 24:02}:00:00'
    for _ in range(2):
        local = local.replace('|' + at(h) + '|', '|' + stamp + '|')
as_json = {'jobs': [{
    'job_id': int(c[0]), 'user': c[1], 'account': c[2], 'partition': c[3], 'state': {'current': [c[4]]}, 'nodes': c[11],
    'time': {'submission': int(c[5]), 'eligible': int(c[6]), 'start': int(c[7]), 'end': int(c[8])},
    'tres': {'allocated': [{'type': 'gres', 'name': 'gpu:h200', 'count': int(c[12].split('gpu=')[1].split(',')[0])}]}}
    for c in columns[1:]]}
with_steps = JOBS.replace('\n2|', '\n1.batch|||gpu|COMPLETED||||||1|n1|cpu=8|\n2|')
for name, text, more in (('in other order, by tabs', turned, ()), ('zipped', gzip.compress(JOBS.encode()), ()),
                         ('as JSON', json.dumps(as_json), ()), ('in local time', local, ('--zone', 'Asia/Tokyo')),
                         ('with steps and a bar at the end', with_steps.replace('\n', '|\n'), ()),
                         ('twice', JOBS + JOBS.split('\n', 1)[1], ())):
    x, ran = account('--sacct', write('other', text), *files, *more)
    check(x and hours(x) == wanted, f'the same {name} says the same', ran)
half = JOBS.splitlines(keepends=True)
x, ran = account('--sacct', write('a', ''.join(half[:3])), '--sacct', write('b', ''.join(half[:1] + half[2:])), *files)
check(x and hours(x) == wanted and any('count once' in n for n in x['notes']), 'two files that overlap count nothing twice', ran)

# What goes wrong in such files is named, and is never silently nothing.
x, ran = account('--sacct', write('wrong', HEAD + job(1, 'ada', 'p', 0, 6, 8, 'n1') + job(2, 'a', 'p', 8, 7, 8, 'n1') +
                                  job(3, 'a', 'p', 10, 12, None, 'n1') + job(4, 'a', 'p', 3, 9, 8, 'n1') +
                                  job(5, 'a', 'p', 1, 2, 8, 'None assigned') +
                                  job(6, 'a', 'p', 12, None, 4, 'n1', state='RUNNING') +
                                  job(7, 'a', 'p', 5, 8, 8, 'n2') + job(8, 'a', 'p', 1, 2, 2, 'n9') +
                                  job(9, 'a', 'p', None, 3, 8, 'None assigned', eligible=1, state='CANCELLED by 7')), *files)
kinds = {f['kind']: f for f in x['faults']} if x else {}
check(kinds.get('gpus_unsaid', {}).get('node_hours') == 2 and any('AccountingStorageTRES' in n for n in x['notes']),
      'jobs whose GPUs nobody says are counted, with what to set', ran)
check(kinds.get('ends_before_start', {}).get('count') == 1 and kinds.get('no_nodes', {}).get('gpu_hours') == 8 and
      kinds.get('open_ended', {}).get('count') == 1, 'an end before the start, no nodes and no end are named', kinds)
check(round(kinds.get('over_capacity', {}).get('gpu_hours', 0), 6) == 24 and 'job 4' in kinds['over_capacity']['some'][0],
      'jobs that claim more than a node has are named', kinds)
check(round(kinds.get('claimed_while_down', {}).get('gpu_hours', 0), 6) == 24,
      'and those that claim a node that is down', kinds)
check(kinds.get('unknown_node', {}).get('some') == ['n9'] and x['gpus'] == 18,
      'a node that nobody named counts as jobs show it', kinds)
check(sum(x['classes_milli_gpu_ms'].values()) == x['installed_milli_gpu_ms'],
      'and the classes still sum to what is installed', ran)
x, ran = account('--sacct', write('dst', HEAD.replace('|ElapsedRaw', '') + ''.join(
    f'{n}|a|p|gpu|COMPLETED|{t}|{t}|{t}|2026-10-25T04:00:00|1|n1|gres/gpu=1|\n' for n, t in
    ((1, '2026-10-25T02:30:00'), (2, '2026-03-29T02:30:00')))), '--zone', 'Europe/Berlin')
check(x and any('comes twice' in n for n in x['notes']) and any('leap over' in n for n in x['notes']),
      'hours that come twice, and that do not exist, are told', ran)
x, ran = account('--sacct', jobs, *window)
check(x and x['installed_from_jobs'] and x['gpus'] == 8 and any('--nodes' in n for n in x['notes']) and
      any('--events' in n for n in x['notes']),
      'without nodes and events it says what is missing', ran)

# One row each: what is counted of it, and the words that name what is not.
def row(state, start, end, length, nodes='n1', count=1, tres='gres/gpu=8', number=1):
    return f'{number}|ada|p|gpu|{state}|{at(0)}|{at(0)}|{start}|{end}|{length}|{count}|{nodes}|{tres}|\n'


for text, had, words in (
        (row('TIMEOUT', 'Unknown', at(9), 7200), 16, 'without a start that can be read'),
        (row('COMPLETED', '1767232800000', '1767240000000', 7200), 0, '16.0 GPU-hours by the lengths'),
        (row('COMPLETED', '01/01/2026 02:00', '01/01/2026 04:00', 7200), 0, '1 run without a start'),
        (row('COMPLETED', at(2), at(4), 3600), 16, 'not as long as Elapsed'),
        (row('COMPLETED', at(2), at(4), 7200, tres='gres/gpu=4K') + row('COMPLETED', at(5), at(6), 3600, number=2), 8,
         '2.0 node-hours'),
        (row('COMPLETED', at(2), at(4), 7200, count=4), 16, 'another number of nodes'),
        (row('COMPLETED', at(2), at(4), 7200) + row('COMPLETED', at(2), at(4), 7200, nodes='n2'), 16,
         '16.0 GPU-hours of the earlier do not'),
        (row('COMPLETED', at(2), at(4), 7200)[:-1], 16, 'may be cut off'),
        (row('COMPLETED', at(2), at(4), 7200), 16, 'The records end at 2026-01-01T04:00:00Z, 20h before'),
        (row('COMPLETED', at(-40), at(-39), 3600), 0, 'No record is of the time looked at'),
        ('', 0, 'No record tells of a run')):
    x, ran = account('--sacct', write('odd', HEAD + text), '--nodes', NODES, *window)
    check(x and sum(x['classes_milli_gpu_ms'].values()) == x['installed_milli_gpu_ms'] == 384 * 3600 * 10**6 and
          hours(x).get('unseen', 0) == had and any(words in n for n in x['notes']), f'"{words}" is said of it', ran)

two = write('two', 'NodeName=n1 Gres=gpu:8\nNodeName=n2 Gres=gpu:8\nNodeName=n1 Gres=gpu:4\n')
x, ran = account('--sacct', jobs, '--nodes', two, *window)
check(x and x['gpus'] == 16 and any('another number of GPUs' in n for n in x['notes']), 'a node of two sizes is named', ran)

# What GPUs did, from a file and from a Prometheus.
def series(node, gpu, values, metric='DCGM_FI_PROF_SM_ACTIVE', **labels):
    return {'metric': {'__name__': metric, 'Hostname': node, 'gpu': str(gpu), **labels}, 'values': values}


def answer(result):
    return json.dumps({'status': 'success', 'data': {'resultType': 'matrix', 'result': result}})


steps = [DAY0 + i * 600 for i in range(1, 36 + 1)]  # of ada's six hours
half_idle = [series('n1', g, [[t, '0.9' if g < 4 else '0.01'] for t in steps]) for g in range(8)]
x, ran = account('--sacct', jobs, *files, '--activity', write('activity.json', answer(half_idle)))
check(x and (hours(x)['held_idle'], hours(x)['useful'], hours(x)['unseen']) == (24, 24, 60) and x['efficiency'] == 0.5,
      'GPUs under 5 % are held idle, and what nobody measured is unseen', ran)
mig = [series('n1', 0, [[t, '0'] for t in steps], 'DCGM_FI_DEV_GPU_UTIL', GPU_I_ID=str(i), GPU_I_PROFILE='1g.10gb')
       for i in range(7)]
x, ran = account('--sacct', jobs, *files, '--activity', write('mig.json', answer(mig)))
check(x and 'held_idle' not in hours(x) and any('MIG' in n for n in x['notes']),
      'a utilisation of slices that is always 0 is not believed', ran)


half_idle[0]['values'][0][1] = '90'  # of a thousand readings one that cannot be
x, ran = account('--sacct', jobs, *files, '--activity', write('odd.json', answer(half_idle)))
check(x and abs(hours(x)['useful'] - (24 - 1 / 6)) < 1e-6 and any('1 reading' in n for n in x['notes']),
      'is named, and makes no hundredths of all others', ran)


class Prometheus(http.server.BaseHTTPRequestHandler):
    asked = []

    def do_POST(self):
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers['Content-Length'])).decode())
        self.asked.append(form)
        a, b, step = (float(form[k][0]) for k in ('start', 'end', 'step'))
        times = [a + i * step for i in range(int((b - a) / step) + 1)]
        found = 'GR_ENGINE' in form['query'][0]
        body = answer([{'metric': {'Hostname': 'n1', 'gpu': str(g)}, 'values': [[t, '0.5' if g else '0'] for t in times]}
                       for g in range(8 if found else 0)]).encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Prometheus)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f'http://127.0.0.1:{server.server_port}'
x, ran = account('--sacct', jobs, *files, '--prometheus', url, '--step', '1m')
check(x and x['activity_metric'] == 'DCGM_FI_PROF_GR_ENGINE_ACTIVE' and hours(x)['held_idle'] == 12 and 'unseen' not in hours(x),
      'the first metric that a Prometheus has is asked for, step by step', ran)
check(all(float(q['end'][0]) - float(q['start'][0]) <= 400 * 60 for q in Prometheus.asked) and len(Prometheus.asked) > 4 and
      'avg_over_time' in Prometheus.asked[0]['query'][0], 'in pieces', Prometheus.asked[:2])
server.shutdown()

# A year.
ran = run('bench', 'account', '--jobs', '500000', '-o', 'json', timeout=100)
b = json.loads(ran.out) if ran.out else {}
check(ran.code == 0 and b.get('exact'), 'a made-up year of 500,000 jobs is accounted for to the millisecond', ran)
check(b.get('cpu_s', 99) < 2, f"in less than 2 CPU-seconds ({b.get('cpu_s', 0):.2f})", ran)
os.mkdir(STATE + '/made')
ran = run('bench', 'account', '--jobs', '3000', '--nodes', '9', '--days', '40', '--seed', '7', '--write', STATE + '/made',
          '-o', 'json')
b = json.loads(ran.out)
x, ran = account('--sacct', STATE + '/made/jobs.txt', '--nodes', STATE + '/made/nodes.txt',
                 '--events', STATE + '/made/events.txt', '--from', '2025-01-01', '--to', '2025-02-10')
check(x and x['classes_milli_gpu_ms'] == b['classes_milli_gpu_ms'] and b['exact'], 'and its files say the same', ran)

# Refusals.
no_gpus = write('cpus', HEAD + job(1, 'a', 'p', 0, 1, 0, 'n1'))
for args, code, words in ((('--sacct', STATE + '/none'), 3, 'none'), (('--sacct', write('empty', '')), 2, 'empty'),
                          (('--sacct', write('fixed', 'JobID        Start       End\n---- ---- ----\n')), 2, 'no header line'),
                          (('--sacct', write('few', 'JobID|Start|End\n')), 2, 'NodeList'),
                          (('--sacct', jobs, '--zone', 'Mars/Base'), 2, 'no time zone'),
                          (('--sacct', jobs, '--nodes', write('n', 'n1\n')), 2, 'n:1'),
                          (('--sacct', jobs, '--events', jobs), 2, 'TimeStart'),
                          (('--sacct', jobs, '--activity', jobs), 2, 'not an answer of Prometheus'),
                          (('--sacct', jobs, '--prometheus', 'http://127.0.0.1:9'), 5, '127.0.0.1:9'),
                          (('--sacct', jobs, '--from', '2026-02-01', '--to', '2026-01-01'), 2, 'is not before'),
                          (('--sacct', jobs, '--by', 'moon'), 2, '--by must be'),
                          (('--sacct', no_gpus), 3, 'AccountingStorageTRES'),
                          (('--sacct', write('m', 'Cluster|JobID|Start|End|NodeList\nx|1|11111|2|n\ny|2|1|2|n\n')), 2, 'two'),
                          (('--sacct', jobs, '--journal', 'x.db'), 2, 'two sources'),
                          (('--target', '120'), 2, '--target')):
    ran = run('account', *args)
    check(ran.code == code and words in ran.err and ran.out == '',
          f"{' '.join(a.replace(STATE, '') for a in args)} is refused", ran)
ran = run('account', '--sacct', '-', *files, stdin=JOBS)
check(ran.code == 0 and 'physics' in ran.out, 'standard input is read', ran)
finish()
