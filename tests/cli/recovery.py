#!/usr/bin/env python3
"""Runbooks from files; then limits, approvals and shadow mode on a running demo with the real controller."""
import json
import subprocess
import time

from checks import MUSTER, STATE, check, environment, finish, run

env = environment()


def ask(*args):
    return run(*args, env=env)


def write(name, text):
    with open(f'{STATE}/{name}', 'w') as f:
        f.write(text)
    return f'{STATE}/{name}'


# ---- runbooks, without a controller
books = json.loads(ask('runbook', 'list', '-o', 'json').out)
named = {b['name']: b for b in books}
for fault in ('gpu_lost', 'driver_hang', 'ecc_contained', 'ecc_uncontained', 'row_remap_pending', 'row_remap_failed',
              'nvlink_degraded', 'pcie_degraded', 'thermal_throttle', 'link_flap', 'link_down', 'nccl_hang', 'host_rebooted',
              'node_silent', 'storage_stall', 'common_cause', 'version_drift'):
    check(fault in named and named[fault]['title'], f'there is a runbook for {fault}')
check(all(b['why'] and b['source'] and b['steps'] for b in books if b['act']), 'each that acts says why, and who says so')
ran = ask('runbook', 'show', 'link_down')
check(ran.code == 0 and 'bounce_link' in ran.out and 'test' in ran.out, 'show tells the steps', ran)
ran = ask('runbook', 'show', 'gpu_lots')
check(ran.code == 3 and 'gpu_lost' in ran.err, 'an unknown one: exit 3, and what was meant', ran)
ours = write('ours.yaml', 'name: ours\nrunbooks:\n  gpu_lost: {version: 2, steps: [replace_node]}\n')
ran = ask('runbook', 'check', ours)
check(ran.code == 0 and 'sound' in ran.out, 'check: sound', ran)
bad = write('bad.yaml', 'runbooks:\n  gpu_lost: {steps: [replace_node, reset_gpu]}\n')
ran = ask('runbook', 'check', ours, bad)
check(ran.code != 0 and 'bad.yaml:2' in ran.err and 'mild to strong' in ran.err, 'check: file, line and reason', ran)
ran = ask('runbook', 'diff', 'default', ours)
check(ran.code == 6 and 'gpu_lost: steps reboot_node, power_cycle_node, replace_node -> replace_node' in ran.out and
      'version 1 -> 2' in ran.out, 'diff says in what they differ: exit 6', ran)
check(ask('runbook', 'diff', 'default', 'default').code == 0, 'and 0 where they do not')
grouped = write('grouped.yaml', 'groups:\n  - {name: racks, nodes: "node[0001-0004]", runbooks: {gpu_lost: {act: false}}}\n'
                '  - {name: new, nodes: node0005, shadow: true}\n')
ran = ask('runbook', 'diff', 'default', grouped)
check(ran.code == 6 and ran.out.splitlines() == [
      'group racks: nodes absent -> node[0001-0004]', 'group racks: gpu_lost: act yes -> no',
      'group new: nodes absent -> node0005', 'group new: shadow no -> yes'],
      'diff compares groups of nodes and their runbooks', ran)
both = write('both.yaml', 'runbooks: {gpu_lost: {job: wait}}\ngroups:\n  - {name: racks, nodes: "node[0001-0004]", '
             'runbooks: {gpu_lost: {act: false}}}\n  - {name: new, nodes: node0005}\n')
ran = ask('runbook', 'diff', grouped, both, '-o', 'json')
check(ran.code == 6 and [(c['group'], c['runbook'], c['what'], c['after']) for c in json.loads(ran.out)] ==
      [('', 'gpu_lost', 'job', 'wait'), ('new', '', 'shadow', 'no')], 'what holds for all is not told again for groups', ran)
zone = write('zone.yaml', 'windows:\n  - {from: "22:00", to: "05:00", zone: Europe/Berlni}\n')
ran = ask('runbook', 'check', zone)
check(ran.code != 0 and 'zone.yaml:2: ' in ran.err and 'Europe/Berlni' in ran.err, 'a zone that is none is refused', ran)
twice = write('twice.yaml', 'groups:\n  - {name: new, nodes: node0001}\n  - {name: new, nodes: node0002}\n')
ran = ask('runbook', 'check', twice)
check(ran.code != 0 and 'twice.yaml:3: two groups are called "new"' in ran.err, 'two groups of one name are refused', ran)
zone = write('zone.yaml', 'windows:\n  - {from: "22:00", to: "05:00", zone: Europe/Berlin}\n')
check(ask('runbook', 'check', zone).code == 0, 'a real one is not')


# ---- a running controller
class Demo:
    def __init__(self, policy):
        self.state = f'{STATE}/{policy.rsplit("/", 1)[-1]}.state'
        self.log = open(self.state + '.log', 'w+')
        self.process = subprocess.Popen([MUSTER, 'demo', '--gpus', '64', '--port', '0', '--speed', '300', '--no-weather',
                                         '--policy', policy, '--state', self.state], stdout=self.log, stderr=self.log, env=env)

    def __enter__(self):
        check(self.wait(lambda: self.ask('get', 'nodes').code == 0), 'the demo runs')
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=20)

    def ask(self, *args):
        return ask(*args, '--state', self.state)

    def guard(self):
        return json.loads(self.ask('guard', 'status', '-o', 'json').out)

    def journal(self):
        import glob
        return glob.glob(self.state + '/*.db')[0]

    def acts(self):
        return json.loads(self.ask('get', 'actions', '-o', 'json').out)['items']

    def wait(self, question, seconds=40):
        until = time.time() + seconds
        while time.time() < until:
            answer = question()
            if answer:
                return answer
            if self.process.poll() is not None:
                return None
            time.sleep(0.2)
        return None


careful = write('careful.yaml', 'name: careful\napprovals: {verbs: [drain_node]}\n')
with Demo(careful) as d:
    node = d.ask('get', 'nodes', '-o', 'name').out.split()[0]
    d.ask('twin', 'inject', 'gpu_off_bus', node)
    waiting = d.wait(lambda: [a for a in d.guard()['approvals'] if a['state'] == 'waiting'])
    check(waiting and waiting[0]['verb'] == 'drain_node' and waiting[0]['node'] == node, 'a drain waits for approval', waiting)
    words = d.ask('guard', 'status').out
    check('approval' in words and 'waiting' in words and 'nodes out of service in the cluster' in words,
          'guard status in words', words)
    drains = [a for a in d.acts() if a.get('verb') == 'drain_node' and a['status'] not in ('refused', 'refused_by_guard')]
    check(not drains, 'nothing is drained before', drains)
    ran = d.ask('approve', '999')
    check(ran.code == 3, 'an approval that is not there: exit 3', ran)
    ran = d.ask('approve', str(waiting[0]['id']), '--reason', 'go')
    check(ran.code == 0 and 'granted' in ran.out, 'approve', ran)
    done = d.wait(lambda: [a for a in d.acts() if a.get('verb') == 'drain_node' and a.get('status') == 'done'])
    check(done, 'the drain follows', d.acts())
    ran = d.ask('approve', str(waiting[0]['id']))
    check(ran.code != 0, 'it cannot be given twice', ran)

shadow = write('shadow.yaml', 'name: shadow\nshadow: true\n')
with Demo(shadow) as d:
    node = d.ask('get', 'nodes', '-o', 'name').out.split()[0]
    d.ask('twin', 'inject', 'gpu_off_bus', node)
    held = d.wait(lambda: [h for h in d.guard()['held_back'] if h['node'] == node])
    check(held and held[0]['verb'] == 'drain_node' and 'shadow' in held[0]['limit'], 'it is said what would be done', held)
    ran = d.ask('drain', node, '--yes')
    check(ran.code == 7 and 'shadow' in ran.err, 'a person is told so: exit 7', ran)
    time.sleep(3)
    given = json.loads(d.ask('get', 'actions', '-o', 'json').out)['items']
    check(all(a['status'] == 'refused_by_guard' for a in given) and given, 'and nothing is done, whoever asks', given)
    report = json.loads(d.ask('shadow', 'report', '-o', 'json').out)
    drain = [a for a in report['acts'] if a['verb'] == 'drain_node']
    check(len(drain) == 1 and drain[0]['node'] == node and drain[0]['cause'] == 'gpu_lost' and drain[0]['gpus'] == 8,
          'shadow report: what would have been done', report)
    check(drain[0]['fate'] == 'person' and drain[0]['person'] and report['total']['done_by_a_person'] >= 1,
          'and that a person asked for the same', drain)
    check(report['total']['out_gpu_hours'] > 0 and report['by_act'] and report['record']['events'] > 0, 'with its sums', report)
    words = d.ask('shadow', 'report')
    check(words.code == 0 and 'would have acted' in words.out and 'a person did it' in words.out, 'in words', words)
    same = json.loads(ask('shadow', 'report', '--journal', d.journal(), '-o', 'json').out)
    check(same['acts'][0]['node'] == node, 'and from the journal file', same)
    summary = d.guard()
    check(summary['shadow'] is True and 'shadow' in d.ask('guard', 'status').out, 'guard status says so')

other = d.journal().replace('shadow.yaml', 'careful.yaml')
check('Shadow mode held nothing back' in ask('shadow', 'report', '--journal', other).out, 'nothing where nothing was in shadow')
check(ask('shadow', 'report', '--journal', STATE + '/none.db').code != 0, 'a journal that is not there is an error')

ran = ask('runbook', 'list', '--policy', grouped)
check(ran.code == 0 and 'group racks (node[0001-0004]): gpu_lost: act yes -> no' in ran.out and
      'group new (node0005): in shadow' in ran.out, 'list: what holds for groups instead', ran)
ran = ask('runbook', 'list', '--running', '--policy', grouped)
check(ran.code == 2, 'a file or a running Muster, not both', ran)
ran = ask('runbook', 'list', '--running')
check(ran.code == 5 and 'no Muster is running here' in ran.err, 'none runs: exit 5', ran)
plain = write('plain.yaml', 'name: plain\nrunbooks:\n  gpu_lost: {version: 2, steps: [replace_node]}\n  slow_gpu: {act: false}\n'
              'groups: [{name: racks, nodes: node0005, runbooks: {link_down: {job: wait}}}]\n')
with Demo(plain) as d:
    force = {b['name']: b for b in json.loads(d.ask('runbook', 'list', '-o', 'json').out)}
    check(force['gpu_lost']['steps'] == ['replace_node'] and force['gpu_lost']['version'] == 2 and
          not force['slow_gpu']['act'] and set(force) == set(named),
          'runbook list --state DIR: those in force there', force.get('gpu_lost'))
    check('group racks (node0005): link_down: job requeue -> wait' in d.ask('runbook', 'list').out, 'and of groups')
    ran = d.ask('runbook', 'show', 'slow_gpu', 'link_down')
    check(ran.code == 0 and 'acts     no' in ran.out and 'bounce_link' in ran.out, 'show likewise', ran)
    node = d.ask('get', 'nodes', '-o', 'name').out.split()[0]
    ran = d.ask('twin', 'inject', 'cooling_fault', node)
    check(ran.code != 0 and 'a row of racks' in ran.err and 'racks_per_row' in ran.err and '--cluster FILE' in ran.err,
          'a cooling fault without rows: what would do', ran)
    check(d.guard()['engine_away'] is None and 'engine' not in d.ask('guard', 'status').out, 'an engine that answers: no word')
    d.ask('twin', 'inject', 'engine_away', '--lasts', '20h')
    for node in d.ask('get', 'nodes', '-o', 'name').out.split()[:3]:  # work for it: three orders must go unheard
        d.ask('twin', 'inject', 'gpu_off_bus', node)
    away = d.wait(lambda: d.guard()['engine_away'])
    check(away and away['since'] and away['finding'], 'guard status: the engine is away', away)
    words = d.ask('guard', 'status').out
    check('acting     no: the scheduler engine does not answer' in words and 'nothing is ordered' in words, 'in words', words)

finish()
