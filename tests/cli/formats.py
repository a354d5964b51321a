#!/usr/bin/env python3
"""The same rows in every format, readable by the programs that read them; hostile names harm nothing."""
import csv
import io
import json
import subprocess

from checks import MUSTER, StandIn, check, environment, finish, listing, run, run_on_terminal

GPU = {'slot': 0, 'state': 'busy', 'temp_c': 61.5, 'power_w': 650, 'util_pct': 99, 'sm_clock_mhz': 1980}


def node(name, **more):
    base = {'id': 0, 'name': name, 'rack': 'r01', 'leaf': 0, 'pod': 0, 'domain': 0, 'state': 'busy', 'condition': 'up',
            'hold': 'none',
            'hold_reason': '', 'job': '17', 'incident': 0, 'incidents': 0, 'swaps': 0, 'changed_utc': '2026-01-01T00:56:00Z',
            'gpus': [GPU, {**GPU, 'slot': 1, 'temp_c': None}]}
    return {**base, **more}


EVIL = '=cmd|"x"\x1b[31m\u202e,\n<script>'
NODES = [node('node010', state='down', job=''), node('node009'), node(EVIL)]
JOBS = [{'id': '17', 'name': 'train', 'user': 'ada', 'account': 'lab', 'phase': 'running', 'nodes_wanted': 2, 'gpus': 16,
         'nodes': ['node009', 'node010'],
         'attempt': 1, 'restarts': 0, 'submitted_utc': '2026-01-01T00:00:00Z', 'started_utc': '2026-01-01T00:30:00Z',
         'ended_utc': None,
         'steps': 50, 'steps_total': 100, 'durable_steps': 40, 'progress': 0.5,
         'placement': {'leaves': 1, 'leaves_min': 1, 'why': ''},
         'last_end': '', 'last_detail': ''}]
FINDING = {'id': 4, 'kind': 'gpu_lost', 'severity': 'critical', 'node': 'node009', 'gpu_slot': 1, 'job': '17', 'code': 79,
           'opened_utc': '2026-01-01T00:58:00Z', 'cleared_utc': None,
           'evidence': [{'witness': 'kernel_log', 'at_utc': '2026-01-01T00:58:00Z', 'ref': 'kmsg:1/2', 'text': 'Xid 79'}]}
CAUSE = {'id': 6, 'kind': 'common_cause', 'severity': 'critical', 'node': '', 'gpu_slot': None, 'job': '', 'code': 99,
         'opened_utc': '2026-01-01T00:58:00Z', 'cleared_utc': None, 'since_utc': '2026-01-01T00:57:00Z',
         'subject': 'leaf switch 2', 'part_of': 0, 'confidence': 0.99, 'suggestion': 'look at what the nodes share',
         'members': 1, 'member_nodes': 'node[009]',
         'where': {'rack': '', 'words': 'the whole site'}, 'cost': {'gpu_hours': 12.5, 'money': 31.25},
         'evidence': [{'witness': 'scrape', 'at_utc': '2026-01-01T00:58:00Z', 'ref': '', 'text': 'link_down on 1 of 1 nodes'}]}
MEMBER = {**FINDING, 'id': 5, 'kind': 'link_down', 'part_of': 6}
ACTION = {'key': 't1-9', 'verb': 'drain_node', 'node': 'node009', 'gpu_slot': None, 'job': '', 'status': 'done', 'detail': '',
          'intended_utc': '2026-01-01T00:58:01Z', 'ended_utc': '2026-01-01T00:58:02Z', 'sentence': 'GPU 1 is lost.',
          'rule': 'recover/gpu_lost/drain',
          'findings': [4], 'alternatives': ['wait: no'], 'budget': '1 of 12', 'incident': 2, 'actor': 'muster', 'limit': ''}
INCIDENT = {'id': 2, 'node': 'node009', 'gpu_slot': 1, 'cause': 'gpu_lost', 'code': 79, 'stage': 'repairing', 'rung': 1,
            'job': '17',
            'opened_utc': '2026-01-01T00:58:00Z', 'closed_utc': None, 'resolution': '', 'findings': [FINDING],
            'notes': [{'at_utc': '2026-01-01T00:58:30Z', 'text': 'reset ordered'}], 'actions': [ACTION]}
server = StandIn({
    '/api/v1/summary': (200, {'now_utc': '2026-01-01T01:00:00Z', 'seq': 9}),
    '/api/v1/nodes': listing('NodeList', NODES), '/api/v1/nodes/node009': (200, NODES[1]),
    '/api/v1/gpus': listing('GpuList', [{'node': 'node009', 'job': '17', **GPU}]),
    '/api/v1/jobs': listing('JobList', JOBS), '/api/v1/jobs/17': (200, JOBS[0]),
    '/api/v1/findings': listing('FindingList', [CAUSE, MEMBER, FINDING]),
    '/api/v1/incidents': listing('IncidentList', [INCIDENT]),
    '/api/v1/incidents/2': (200, INCIDENT), '/api/v1/actions': listing('ActionList', [ACTION]),
    '/api/v1/explain': (200, {'title': 'node009 is being repaired', 'kind': 'node', 'sentences': ['It lost a GPU.'],
                              'evidence': ['Xid 79'], 'rule': 'recover/gpu_lost/drain', 'alternatives': [],
                              'actions': [ACTION]}),
})
env = environment(MUSTER_SERVER=server.url)


def ask(*args, **more):
    return run(*args, env=env, **more)


for noun in ('nodes', 'gpus', 'jobs', 'findings', 'incidents', 'actions'):
    for form in ('table', 'wide', 'json', 'jsonl', 'yaml', 'csv', 'name'):
        ran = ask('get', noun, '-o', form)
        told = noun == 'findings' and form == 'table'  # how many a common cause stands for
        check(ran.code == 0 and ran.out and bool(ran.err) == told and '\x1b' not in ran.out and '\u202e' not in ran.out,
              f'get {noun} -o {form} answers', ran)

ran = ask('get', 'nodes')
lines = ran.out.splitlines()
check(len(lines) == 4 and lines[0].split()[:2] == ['NAME', 'STATE'] and lines[1].split()[:2] == ['node010', 'down'] and
      '4m' in lines[1],
      'the table has a header and a line a node, with ages in the cluster\'s time', ran)
check(not any(line.endswith(' ') for line in lines), 'no line ends with a blank', ran)
check([line.split() for line in ask('get', 'nodes', '--no-headers').out.splitlines()] == [line.split() for line in lines[1:]],
      '--no-headers leaves out the header only')
check([line.split()[0] for line in ask('get', 'nodes', '--sort-by', 'name').out.splitlines()[2:]] == ['node009', 'node010'],
      '--sort-by name: 9 before 10')
check(ask('get', 'nodes', '--sort-by', '-NAME', '-o', 'name').out.splitlines()[:2] == ['node010', 'node009'],
      '--sort-by -NAME turns it round, in any format')
ran = ask('get', 'nodes', '--sort-by', 'nmae')
check(ran.code == 2 and 'did you mean NAME?' in ran.err, 'an unknown column is named', ran)

document = json.loads(ask('get', 'nodes', '-o', 'json').out)
check(document['kind'] == 'NodeList' and [n['name'] for n in document['items']] == [n['name'] for n in NODES] and
      document['seq'] == 9,
      'JSON says what the server said')
check([json.loads(line)['name'] for line in ask('get', 'nodes', '-o',
                                                'jsonl').out.splitlines()] == [n['name'] for n in NODES],
                                                'JSON lines: one a node')
rows = list(csv.DictReader(io.StringIO(ask('get', 'nodes', '-o', 'csv').out)))
check(len(rows) == 3 and rows[0]['name'] == 'node010' and rows[0]['job'] == '' and rows[1]['since'] == '2026-01-01T00:56:00Z',
      'CSV reads back', rows)
check(rows[2]['name'].startswith("'=cmd"), 'CSV holds back formulas', rows[2])
try:
    import yaml
    check(yaml.safe_load(ask('get', 'nodes', '-o', 'yaml').out) == document, 'YAML reads back as the same document')
    check(yaml.safe_load(ask('get', 'incidents', '-o', 'yaml').out)['items'] == [INCIDENT], 'nested YAML reads back')
except ImportError:
    print('skip - YAML read by another program: python3-yaml is not installed')

ran = ask('get', 'nodes', 'node[009-010]')
check('name=node%5B009-010%5D' in server.asked[-2] + server.asked[-1], 'node lists are sent to the server', server.asked[-2:])
ran = ask('get', 'nodes', 'node011')
check(ran.code == 3 and "there is no node 'node011'" in ran.err and not ran.out, 'a node that is not there: exit 3', ran)
ran = ask('get', 'jobs', '99')
check(ran.code == 3 and not ran.out, 'a job that is not there: exit 3', ran)
check(ask('get', 'findings', '4', '-o', 'name').out == '4\n', 'ids can be given')
ran = ask('get', 'findings')
check('common_cause' in ran.out and 'link_down' not in ran.out and '1 more' in ran.err,
      'a common cause stands for the findings it explains', ran)
check('link_down' in ask('get', 'findings', '-o', 'wide').out, '-o wide shows them')
check(len(json.loads(ask('get', 'findings', '-o', 'json').out)['items']) == 3, 'and so does -o json')
ask('get', 'incidents', '--open', '--limit', '5')
check('/api/v1/incidents?limit=5&open=1' in server.asked, 'filters are sent to the server', server.asked[-3:])

for kind, name, words in (('node', 'node009', ['State:', 'busy', '4m ago']), ('job', '17', ['node[009-010]', 'step 50 of 100']),
                          ('incident', '2', ['Xid 79', 'reset ordered', 'drain_node']), ('finding', '4', ['kernel_log']),
                          ('finding', '6', ['leaf switch 2', '12.5 GPU-hours', '31.25', 'node[009]']),
                          ('finding', '5', ['finding 6']),
                          ('action', 't1-9', ['Why:', 'GPU 1 is lost.', 'wait: no'])):
    ran = ask('describe', kind, name)
    check(ran.code == 0 and all(w in ran.out for w in words), f'describe {kind} tells {words}', ran)
    check(json.loads(ask('describe', kind, name, '-o', 'json').out) is not None, f'describe {kind} -o json is JSON')
ran = ask('describe', 'action', 'zzz')
check(ran.code == 3, 'an action that is not there: exit 3', ran)
ran = ask('why', 'node009')
check(ran.code == 0 and ran.out.startswith('node009 is being repaired\n') and 'It lost a GPU.' in ran.out,
      'why answers in plain words', ran)
ask('explain', 'job', '17')
check('/api/v1/explain?record=1&what=job%2017' in server.asked, 'several words are one question', server.asked[-2:])
ask('explain', '-', stdin='\n a & b \nsecond\n')
check('/api/v1/explain?record=1&what=a%20%26%20b' in server.asked, '- reads one line from standard input',
      server.asked[-2:])

ran = run('explain', 'xid', '79')
check(ran.code == 0 and '79' in ran.out, 'a fault code is explained without any server', ran)
ran = run('explain', '-', stdin='NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n')
check(ran.code == 0 and '79' in ran.out, 'and so is a log line', ran)

watch = subprocess.Popen([MUSTER, 'get', 'jobs', '--watch', '-o', 'jsonl'], stdout=subprocess.PIPE, env=env, text=True)
first = json.loads(watch.stdout.readline())
server.answers['/api/v1/jobs'] = listing('JobList', [JOBS[0], {**JOBS[0], 'id': '18', 'phase': 'queued'}])
second = json.loads(watch.stdout.readline())
watch.terminate()
check(first['id'] == '17' and second['id'] == '18' and watch.wait() != 0, '--watch prints what changed, until it is stopped',
      (first, second))

code, shown = run_on_terminal('get', 'nodes', env=env)
check(code == 0 and '\x1b[31mdown\x1b[0m' in shown, 'colour on a terminal', shown)
code, shown = run_on_terminal('get', 'nodes', env={**env, 'NO_COLOR': '1'})
check(code == 0 and '\x1b' not in shown, 'no colour under NO_COLOR', shown)
server.answers['/api/v1/nodes'] = listing('NodeList', [])
ran = ask('get', 'nodes')
check(ran.code == 0 and not ran.out and 'no nodes to show' in ran.err, 'an empty list says so on stderr', ran)
server.answers['/api/v1/nodes'] = (200, b'<html>')
ran = ask('get', 'nodes')
check(ran.code == 1 and 'not JSON' in ran.err, 'an answer that is not JSON is an error', ran)
finish()
