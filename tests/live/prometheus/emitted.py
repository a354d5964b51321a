"""muster fleet emit: the files are what their readers take. Real Prometheus scrapes the real agent and controller under our
rules."""
import csv
import json
import os
import re
import subprocess

from town import (FAKE_NVML, MUSTER, Controller, Prometheus, ask, check, finish, free_port, path, run, shutil, start, text_of,
                  until, write)

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '..', '..', '..')

# ---- the command
for what in ('prometheus', 'grafana', 'dcgm-counters'):
    out = run('fleet', 'emit', what)
    to_file = run('fleet', 'emit', what, '-o', path(what))
    check(out.returncode == 0 and to_file.returncode == 0 and out.stdout == text_of(what) != '' and to_file.stdout == '',
          f'fleet emit {what} prints it, or writes it with -o', (out.stderr, to_file.stderr))
wrong = run('fleet', 'emit', 'promtheus')
check(wrong.returncode == 2 and 'did you mean prometheus?' in wrong.stderr, 'another word is a usage error', wrong.stderr)
wrong = run('fleet', 'emit', 'grafana', '-o', path('no/such/folder'))
check(wrong.returncode in (1, 3) and 'no/such/folder' in wrong.stderr, 'a file that cannot be written is said', wrong.stderr)

# ---- the counters: every field exists, and every one that detectors use is there
with open(os.path.join(ROOT, 'data', 'dcgm_fields.csv')) as f:
    rows = list(csv.DictReader(line for line in f if not line.startswith('#')))
ids = {name: row['id'] for row in rows for name in (row['name'], row['former']) if name}
# Of dcgm-exporter's own default list, with the same name before and since DCGM 4.6.
DEFAULT = {'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION', 'DCGM_FI_DEV_MEM_COPY_UTIL', 'DCGM_FI_DEV_ENC_UTIL', 'DCGM_FI_DEV_DEC_UTIL',
           'DCGM_FI_PROF_PCIE_TX_BYTES', 'DCGM_FI_PROF_PCIE_RX_BYTES', 'DCGM_FI_DEV_VGPU_LICENSE_STATUS'}
# Those behind a mark are for newer exporters, and count as well.
emitted = [line.lstrip('#').split(',', 2) for line in text_of('dcgm-counters').splitlines() if re.match('#?DCGM_', line)]
bad = [e for e in emitted if len(e) != 3 or e[1].strip() not in ('gauge', 'counter', 'label') or
       (e[0] not in ids and e[0] not in DEFAULT) or ',' in e[2]]
check(not bad and len(emitted) == len({e[0] for e in emitted}), f'{len(emitted)} counters: each once, of a known field', bad)
with open(os.path.join(ROOT, 'src', 'ingest', 'prom_series.h')) as f:
    used = set(re.findall(r'\{"(DCGM_FI_\w+)"', f.read()))
missing = {ids[u] for u in used} - {ids.get(e[0]) for e in emitted}
check(len(used) > 30 and not missing, 'every DCGM field that detectors use is among them', missing)

# ---- the rules
write('rules.yml', text_of('prometheus'))
if shutil.which('promtool'):
    lint = subprocess.run(['promtool', 'check', 'rules', path('rules.yml')], capture_output=True, text=True)
    check(lint.returncode == 0 and not lint.stderr and 'SUCCESS' in lint.stdout, 'promtool check rules: no warning',
          lint.stdout + lint.stderr)
    with open(os.path.join(HERE, 'rules_test.yaml')) as f:
        write('rules_test.yml', f.read().replace('RULES', path('rules.yml')))
    unit = subprocess.run(['promtool', 'test', 'rules', path('rules_test.yml')], capture_output=True, text=True)
    check(unit.returncode == 0, 'promtool test rules: alerts fire when they should and not before', unit.stdout + unit.stderr)
    write('broken.yml', text_of('rules.yml').replace('>= 87', '>= 97'))
    write('rules_test.yml', text_of('rules_test.yml').replace(path('rules.yml'), path('broken.yml')))
    unit = subprocess.run(['promtool', 'test', 'rules', path('rules_test.yml')], capture_output=True, text=True)
    check(unit.returncode != 0, 'with another limit those tests fail')
else:
    print('skip - the rules by promtool: it is not installed (package prometheus)')


# ---- the dashboard
def complaints(schema, value, at='$'):
    """What a value breaks of the few words of JSON Schema that the file uses."""
    types = {'object': dict, 'array': list, 'string': str, 'boolean': bool, 'integer': int}
    kind = schema.get('type')
    if kind and (not isinstance(value, types[kind]) or (kind == 'integer' and isinstance(value, bool))):
        return [f'{at}: is no {kind}']
    out = []
    if 'enum' in schema and value not in schema['enum']:
        out.append(f'{at}: {value!r} is none of {schema["enum"]}')
    if len(value) < schema.get('minLength', schema.get('minItems', 0)) if isinstance(value, (str, list)) else False:
        out.append(f'{at}: too short')
    if 'pattern' in schema and not re.search(schema['pattern'], value):
        out.append(f'{at}: {value!r} does not match')
    if isinstance(value, int) and not schema.get('minimum', value) <= value <= schema.get('maximum', value):
        out.append(f'{at}: {value} is out of range')
    if isinstance(value, dict):
        out += [f'{at}: lacks {name}' for name in schema.get('required', []) if name not in value]
        for name, item in value.items():
            out += complaints(schema.get('properties', {}).get(name, {}), item, f'{at}.{name}')
    if isinstance(value, list):
        for i, item in enumerate(value):
            out += complaints(schema.get('items', {}), item, f'{at}[{i}]')
    return out


with open(os.path.join(HERE, 'dashboard.schema.json')) as f:
    schema = json.load(f)
board = json.loads(text_of('grafana'))
check(complaints(schema, board) == [], 'the dashboard keeps to the schema', complaints(schema, board)[:5])
check(complaints(schema, {**board, 'panels': [{'id': 0, 'type': 'graph'}]}) != [], 'and one that does not is told from it')
panels = board['panels']
check(len({p['id'] for p in panels}) == len(panels), 'ids of panels are unique')
variables = {v['name']: (v['type'], v['query']) for v in board['templating']['list']}
check(variables.get('datasource') == ('datasource', 'prometheus'), 'the data source is a variable', variables)
cells = {}
for p in panels:
    g = p['gridPos']
    if g['x'] + g['w'] > 24:
        cells['beyond'] = [p['title']] * 2
    for x in range(g['x'], g['x'] + g['w']):
        for y in range(g['y'], g['y'] + g['h']):
            cells.setdefault((x, y), []).append(p['title'])
check(all(len(titles) == 1 for titles in cells.values()), 'no panel lies on another',
      [t for t in cells.values() if len(t) > 1][:3])
shown = [(p, t['expr']) for p in panels for t in p.get('targets', [])]
check(all(p.get('targets') for p in panels if p['type'] not in ('row', 'text')), 'every panel asks for something')
# One line per GPU is unreadable at 16,000: each query is an aggregate, a count, or the top of a list.
FOLDS = ('sum', 'avg', 'min(', 'max(', 'count', 'quantile', 'topk', 'bottomk', 'cluster:', 'rate(muster_', 'muster_scrape',
         'time()', 'max_over_time(node:')
flat = [e for _, e in shown if not e.startswith(FOLDS)]
check(not flat, 'no query has a line for every GPU', flat)

# ---- Prometheus, the agent and the controller together
if not shutil.which('prometheus'):
    print('skip - rules in a real Prometheus: it is not installed (package prometheus)')
    finish()
town = Controller(nodes=2)
town.start()
agent_port = free_port()
open(path('kernel.log'), 'w').close()
start(MUSTER, 'agent', '--kmsg', path('kernel.log'), '--node', 'node0001', '--spool', path('spool'), '--listen',
      f'127.0.0.1:{agent_port}', '--nvml', FAKE_NVML, '--controller', f'http://127.0.0.1:{town.port}', '--token-file',
      os.path.join(town.state, 'agent-token'), log='agent.log')
prometheus = Prometheus(f'  - {{job_name: agent, static_configs: [{{targets: ["127.0.0.1:{agent_port}"]}}]}}\n'
                        f'  - {{job_name: muster, static_configs: [{{targets: ["127.0.0.1:{town.port}"]}}]}}',
                        rules=path('rules.yml'))
check(until(lambda: len(prometheus.query('up == 1')) == 2), 'Prometheus scrapes the agent and the controller',
      prometheus.query('up'))
check(until(lambda: (prometheus.query('cluster:muster_gpus:count') or [{'value': [0, '0']}])[0]['value'][1] == '8'),
      'its recording rules count the 8 GPUs of the agent', prometheus.query('cluster:muster_gpus:count'))


def rules():
    groups = json.loads(ask(prometheus.port, '/api/v1/rules')[1])['data']['groups']
    return [r for g in groups for r in g['rules']]


check(until(lambda: all(r['health'] == 'ok' for r in rules())) and len(rules()) >= 30,
      f'all {len(rules())} rules are loaded and evaluate',
      [(r['name'], r.get('lastError')) for r in rules() if r['health'] != 'ok'])
firing = [r['name'] for r in rules() if r.get('state') == 'firing']
check(not firing, 'none fires on a healthy node', firing)
noise = [line for line in text_of('prometheus.log').splitlines() if re.search(r'level=(warn|error)', line)]
check(not noise, 'and Prometheus logs no warning', noise[:3])
bad = []
for p, expr in shown + [(None, a['expr']) for a in board['annotations']['list']]:
    answer = prometheus.query(expr)
    if isinstance(answer, dict):
        bad.append((expr, answer.get('error')))
check(not bad, f'all {len(shown)} queries of the dashboard are understood', bad[:3])
# What is empty while all is well, or needs what is not running here.
QUIET = re.compile('top|fewer|pending|not active|NVLink|Exporters|Readings|Alerts|findings by kind|least|utilisation|Power|'
                   'Mean|Orders|GPU time')


def empty():
    return [p['title'] for p in panels if p.get('targets') and not QUIET.search(p['title'])
            and not any(prometheus.query(t['expr']) for t in p['targets'])]


quiet = None if until(lambda: not empty(), 10) else empty()
check(not quiet, 'and the panels that a healthy cluster fills are filled', quiet)
if shutil.which('promtool'):
    lint = subprocess.run(['promtool', 'check', 'metrics'], input=town.metrics(), capture_output=True, text=True)
    check(lint.returncode == 0 and not lint.stderr, 'promtool check metrics: nothing to say about the controller\'s page',
          lint.stderr)
finish()
