#!/usr/bin/env python3
"""muster fleet check and rules: findings with their nodes and sources, unknown told apart from fine, a site's own rules."""
import json

from checks import STATE, check, finish, run


def write(name, text):
    path = f'{STATE}/{name}'
    with open(path, 'w') as f:
        f.write(text)
    return path


def fleet(**changed):
    rows = []
    for n in range(1, 9):
        facts = {'driver.loaded': '580.159.04', 'fabricmanager.version': '580.159.04', 'sysctl.vm.swappiness': '60',
                 'nccl.system': '2.28.3'}
        facts.update(changed.get(f'gpu{n}', {}))
        rows.append(json.dumps({'node': f'gpu{n}', 'source': 'probe', 'facts': facts}) + '\n')
    return write('facts.jsonl', ''.join(rows))


good = run('fleet', 'check', fleet(), '--today', '2026-11-19')
check(good.code == 0 and ' 0 broken as error' in good.out and '--unknown' in good.out, 'a fleet that fits has no findings', good)
bad = run('fleet', 'check', fleet(gpu3={'fabricmanager.version': '580.95.05'}, gpu4={'fabricmanager.version': '580.95.05'}))
check(bad.code == 6 and 'error C027  gpu[3-4]  (2 of 8 nodes)' in bad.out,
      'a fabric manager beside another driver is an error', bad)
check('580.95.05' in bad.out and 'source: NVIDIA/gpu-operator#544' in bad.out, 'with its values and its source', bad)
told = json.loads(run('fleet', 'check', f'{STATE}/facts.jsonl', '-o', 'json').out)
check([f['rule'] for f in told['findings']] == ['C027'] and told['findings'][0]['nodes'] == 'gpu[3-4]',
      'the same as JSON', told)
odd = fleet(**{f'gpu{n}': {'fabricmanager.version': f'580.{n}'} for n in range(1, 8)})
with open(odd) as f:
    rows = f.readlines()
shown = {run('fleet', 'check', write('turned.jsonl', ''.join(order)), '-o', 'json').out for order in (rows, rows[::-1])}
check(len(shown) == 1, 'findings of as many nodes stand in an order of their own, whatever that of the facts', shown)
fleet(gpu3={'fabricmanager.version': '580.95.05'}, gpu4={'fabricmanager.version': '580.95.05'})
lines = run('fleet', 'check', f'{STATE}/facts.jsonl', '-o', 'jsonl')
check(json.loads(lines.out)['count'] == 2, 'and a line each', lines)
table = run('fleet', 'check', f'{STATE}/facts.jsonl', '-o', 'csv')
check(table.out.startswith('severity,rule,') or table.out.startswith('SEVERITY,RULE,'), 'and as CSV', table)

unknown = run('fleet', 'check', fleet(), '--unknown', '--only', 'C024')
check(unknown.code == 0 and 'unknown C024' in unknown.out and 'libcuda.version' in unknown.out,
      'what nobody read is unknown, and it says which fact is missing', unknown)
info = run('fleet', 'check', fleet(), '--least', 'info', '--only', 'H024')
check(info.code == 6 and 'info H024' in info.out, 'a setting is info', info)
none = run('fleet', 'check', fleet(), '--only', 'H024', '--set', 'sysctl.vm.swappiness=1')
check(none.code == 0, 'what is given by hand counts', none)

late = run('fleet', 'check', fleet(), '--today', '2028-07-01', '--only', 'C012')
check(late.code == 6 and 'June 2028' in late.out, 'the end of a branch is held against the day', late)
wrong = run('fleet', 'check', fleet(), '--today', 'tomorrow')
check(wrong.code == 2 and '2026-11-19' in wrong.err, 'a day is a day', wrong)

def dated(**at):
    """Of driver 595, whose branch ends in 2027."""
    rows = [json.dumps({'node': f'g{n}', 'source': 'probe', 'at': at.get(f'g{n}', 1700000000 + n),
                        'facts': {'driver.loaded': '595.45.04'}}) + '\n' for n in range(1, 9)]
    return write('dated.jsonl', ''.join(rows))


ended = '2028-01-01'
past = run('fleet', 'check', dated(), '--today', ended, '--least', 'info')
check(f'(by the day {ended})' in past.out, 'an end of life is said with the day that it was held against', past)
ahead = run('fleet', 'check', dated(g3=8000000000), '-o', 'json')
check('1 of 8 nodes has facts of the future' in ahead.err and 'g3' in ahead.err and
      json.loads(ahead.out)['today'] == '2023-11-14', 'a clock that is years ahead ends no life', ahead)

blank = write('blank.jsonl', open(fleet()).read() + '{"node":"gpu9","source":"probe","facts":{}}\n')
hardly = run('fleet', 'check', blank)
check('of 1 node nothing or hardly anything is known: gpu9' in ' '.join(hardly.out.split()),
      'a node of which nothing is known is named', hardly)
check(json.loads(run('fleet', 'check', blank, '-o', 'json').out)['hardly_known'] == 'gpu9', 'in JSON too')
nobody = run('fleet', 'check', write('blank.jsonl', '{"node":"gpu9","source":"probe","facts":{}}\n'))
check(nobody.code == 5 and 'nothing was judged' in nobody.err and '1 node, ' in nobody.out,
      'where nothing was judged all is not well', nobody)
rack = {f'gpu{n}': {'fabricmanager.version': f'580.95.0{n}'} for n in range(1, 9)}
errors = run('fleet', 'check', fleet(**rack), '--only', 'C027')
check(all(f'error C027  gpu{n}  ' in errors.out for n in range(1, 9)), 'no error is hidden behind others', errors)
several = write('own.csv', 'id,kind,severity,b,range_b,says,source\nS1,setting,warn,site.x,== 0,x is {site.x},our wiki\n')
rest = run('fleet', 'check', fleet(**{f'gpu{n}': {'site.x': str(n)} for n in range(1, 9)}), '--rules', several, '--only', 'S1')
check(rest.out.count('warn S1') == 6 and 'and others: gpu[6-8] (3 nodes)' in rest.out,
      'behind five different values the other nodes are still named', rest)

mixed = fleet(gpu8={'nccl.system': '2.30.4'})
jobs = write('jobs.txt', '# running now\n4711: gpu[1-4]\n4712: gpu[5-8]\n')
job = run('fleet', 'check', mixed, '--jobs', jobs, '--only', 'C036')
check(job.code == 6 and 'error C036  gpu[5-8]' in job.out and 'gpu[1-4]' not in job.out,
      'a job that spans two NCCL is an error', job)
nojob = run('fleet', 'check', mixed, '--jobs', write('jobs.txt', '# none\n'))
check(nojob.code == 2 and 'names no job' in nojob.err, 'a file without jobs is not all nodes as one job', nojob)
lost = run('fleet', 'check', mixed, '--jobs', write('jobs.txt', 'gpu[1-9]\n'))
check(lost.code == 2 and 'jobs.txt:1' in lost.err and 'gpu9' in lost.err,
      'a job on a node without facts is refused with its line', lost)

own = write('own.csv', 'id,kind,severity,b,range_b,says,source\n'
            'S1,setting,warn,sysctl.vm.swappiness,<= 10,swappiness is {sysctl.vm.swappiness},our wiki\n')
site = run('fleet', 'check', fleet(), '--rules', own)
check(site.code == 6 and 'warn S1' in site.out and 'swappiness is 60' in site.out, 'a site has its own rules', site)
no_rule = write('own.csv', 'id,kind,severity,b,range_b,says,source\nS1,min,warn,x.y,>>,s,w\n')
broken = run('fleet', 'check', fleet(), '--rules', no_rule)
check(broken.code == 2 and 'own.csv:2' in broken.err, 'an expression that is none is refused with its line', broken)
excel = write('own.csv', '\ufeffid,kind,severity,b,range_b,says,source\r\n\r\n'
              'C014,min,error,driver.loaded,>= 999,replaced,our wiki\r\n')
replaced = run('fleet', 'check', fleet(), '--rules', excel, '--only', 'C014')
check(replaced.code == 6 and 'error C014' in replaced.out and 'source: our wiki' in replaced.out,
      "a site's rule replaces the one that ships, and may come from a spreadsheet", replaced)
column = write('own.csv', 'id,kind,severity,b,range_b,apply_to,says,source\n'
               'S1,min,warn,driver.loaded,>= 999,node.virt == none,s,w\n')
passed_over = run('fleet', 'check', fleet(), '--rules', column)
check(passed_over.code == 2 and 'own.csv:1' in passed_over.err and 'applies_to' in passed_over.err,
      'a column that nobody would read is refused', passed_over)
gone = run('fleet', 'check', fleet(), '--only', 'C999')
check(gone.code == 3 and 'C999' in gone.err, 'a rule that is not there is refused', gone)

for text in ('unknown', 'N/A', '-', 'devel', 'latest', 'git-3fa9', 'err', '1.master'):
    odd = run('fleet', 'check', fleet(gpu1={'container_toolkit.version': text}), '--only', 'C066', '--unknown', '-o', 'json')
    told = [(f['rule'], f['status']) for f in json.loads(odd.out)['findings'] if 'gpu1' in f['nodes'] or 'gpu[1' in f['nodes']]
    check(odd.code == 0 and told == [('C066', 'unknown')], f'a version that reads "{text}" is unknown', odd)
empty = run('fleet', 'check', write('empty.jsonl', ''))
check(empty.code == 2 and 'no nodes in' in empty.err and 'fleet inventory' in empty.err,
      'of no node nothing is said to be fine', empty)
for day in ('2026-13-45', '2026-02-29', '2026-00-10'):
    never = run('fleet', 'check', fleet(), '--today', day)
    check(never.code == 2 and day in never.err, f'{day} is no day', never)
head = 'id,kind,severity,b,range_b,says,source\n'
for row, word in (('S1,min,warn,driver.loaded,>= banana,s,w', 'banana'), ('S1,min,warn,driver.loadd,>= 580,s,w', 'driver.loaded'),
                  ('S1,min,warn,driver.loaded,>= 580,"is {driver.on_disk}",w', 'driver.on_disk')):
    slip = run('fleet', 'check', fleet(), '--rules', write('own.csv', head + row + '\n'))
    check(slip.code == 2 and 'own.csv:2' in slip.err and word in slip.err, f'a slip in a rule is refused: {row}', slip)

rules = run('fleet', 'rules')
check(max(len(line) for line in rules.out.splitlines()) <= 120, 'a rule has a line of 120 columns', rules)
check(max(len(line) for line in good.out.splitlines()) <= 120, 'and so has the summary', good)
check(rules.code == 0 and rules.out.count('\n') >= 162, 'all rules are listed', rules)
one = run('fleet', 'rules', 'C027')
check('driver.loaded' in one.out and 'NVIDIA/gpu-operator#544' in one.out, 'one is shown in full', one)
again = write('again.csv', run('fleet', 'rules', '-o', 'csv').out)
check(run('fleet', 'check', fleet(), '--rules', again).code == 0, 'what rules prints can be read back')


def release(version, day):
    return {'release_version': version, 'release_date': day}


releases = {'580': {'type': 'lts branch',
                    'driver_info': [release('580.65.06', '2025-08-04'), release('580.159.04', '2026-05-01')]},
            '575': {'type': 'new feature branch', 'driver_info': [release('575.57.08', '2025-05-29')]}}
made = run('fleet', 'rules', '--import', write('releases.json', json.dumps(releases)))
check('NVIDIA-R580' in made.out and '2028-08-04' in made.out and '2026-05-29' in made.out, 'releases.json becomes rules', made)
nvidia = write('nvidia.csv', made.out)
past = run('fleet', 'check', fleet(gpu1={'driver.loaded': '575.57.08'}), '--rules', nvidia, '--today', '2026-11-19')
check('NVIDIA-R575' in past.out and 'gpu1' in past.out, 'and they judge', past)
facts = {'driver.loaded': '580\x1b[2J', 'fabricmanager.version': '1'}
evil = write('evil.jsonl', json.dumps({'node': 'gpu1', 'facts': facts}) + '\n')
check('\x1b' not in run('fleet', 'check', evil).out, 'facts do not reach the terminal as they are')
finish()
