"""The live fabric, asked by Muster itself through libibnetdisc and libibmad, in a simulated one that the real OpenSM routes: what
`fabric validate --live` and `fabric watch --live` say of it while cables and switches go and errors grow."""
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from ground import DIR, MUSTER, check, children, finish  # noqa: E402
from simulated import Simulation, first_uplink  # noqa: E402


def names(net):
    with open(net) as f:
        return dict(re.findall(r'^(?:Switch|Ca)\s+\d+ "([^"]+)"\s+# "([^"]+)"', f.read(), re.M))


def far_end(net, switch, port):
    here = None
    for line in open(net):
        head = re.match(r'(?:Switch|Ca)\s+\d+ "([^"]+)"', line)
        here = head[1] if head else here
        far = re.match(rf'\[{port}\]\s+"([^"]+)"\[(\d+)\]', line)
        if here == switch and far:
            return far[1], int(far[2])


def validated(sim, *words):
    run = subprocess.run([MUSTER, 'fabric', 'validate', '--live', *words, '-o', 'json'], capture_output=True, text=True,
                         env=sim.asking(), cwd=DIR, timeout=120)
    return run, json.loads(run.stdout) if run.stdout.startswith('{') else {'faults': [], 'notes': []}


def faults(answer):
    return [(f['kind'], set(f['ends'])) for f in answer['faults']]


def rerouted(sim, number):
    sim.ask(None, f'opensm{number}.out', 'opensm', '-o', '-R', 'updn', '-f', f'opensm{number}.log')


def watched(sim, net, leaf, port):
    """A link that goes and comes back, and errors that grow, while a watch looks."""
    out = os.path.join(DIR, 'changes')
    manager = sim.managed(None)  # as in a real fabric: a link that comes back is brought up by it
    watch = subprocess.Popen([MUSTER, 'fabric', 'watch', '--live', '--design', net, '--every', '1s', '--out', out, '-o', 'jsonl'],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=sim.asking(), cwd=DIR)
    children.append(watch)

    def said(test, seconds=40):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if os.path.exists(f'{out}/changes.jsonl'):
                with open(f'{out}/changes.jsonl') as f:
                    found = [c for c in map(json.loads, f) if test(c)]
                if found:
                    return found[0]
            time.sleep(0.2)

    time.sleep(3)
    sim.say(f'Unlink "{leaf}"[{port}]')
    check(said(lambda c: c.get('change') == 'fault' and c.get('kind') == 'missing_cable'), 'the watch sees a cable go')
    sim.say(f'ReLink "{leaf}"[{port}]')
    check(said(lambda c: c.get('change') == 'over'), 'and come back')
    check(said(lambda c: c.get('change') == 'flap'), 'and calls it a flap')
    for n in range(1, 6):
        sim.say(f'PerformanceSet "{leaf}"[{port}] PortCounters.SymbolErrorCounter={n * 3000}')
        time.sleep(1)
    port_name = f'{names(net)[leaf]}[{port}]'
    grown = said(lambda c: c['change'] in ('fault', 'rate') and port_name in c['ends'] and 'SymbolError' in c['detail'])
    check(grown, 'errors that grow are named by their port')
    time.sleep(15)  # the simulator has room for eight readings of one process
    check(not said(lambda c: c.get('change') == 'unread', 0.3), 'it goes on for as long as it is let', out)
    watch.terminate()
    check(watch.wait(20) == 0, 'it ends when it is asked to')
    manager.terminate()
    manager.wait(20)
    for child in (watch, manager):
        children.remove(child)


def main():
    made = subprocess.run([MUSTER, 'fabric', 'design', '--nodes', '32', '--nics', '4', '--radix', '16', f'{DIR}/design'],
                          capture_output=True, text=True)
    check(made.returncode == 0, 'a fabric is designed', made.stderr)
    net = f'{DIR}/design/fabric.net'
    sim = Simulation(DIR, net, diags=True)
    rerouted(sim, 0)
    run, answer = validated(sim, '--design', net)
    check(run.returncode == 0 and answer['complete'] and not answer['faults'] and not answer['notes'],
          'the live fabric is as designed, with its routes and its counters', run.stdout + run.stderr)
    leaf, port = first_uplink(net)
    far = far_end(net, leaf, port)
    called = names(net)
    cable = {f'{called[leaf]}[{port}]', f'{called[far[0]]}[{far[1]}]'}
    watched(sim, net, leaf, port)
    sim.say(f'Unlink "{leaf}"[{port}]')
    run, answer = validated(sim, '--design', net)
    check(run.returncode == 6 and ('missing_cable', cable) in faults(answer), 'a cable that is cut is named by both ends', answer)
    check(run.stderr.count('ibwarn') < 5, 'routes that are stale fill no screen', run.stderr[-2000:])
    rerouted(sim, 1)
    run, answer = validated(sim)
    check(('missing_cable', cable) in faults(answer), 'and without the design too', answer)
    sim.say(f'Unlink "{far[0]}"')
    rerouted(sim, 2)
    run, answer = validated(sim, '--design', net)
    check(('dead_switch', {called[far[0]]}) in faults(answer), 'a switch that is gone is one fault', answer)
    sim.end()
    alone = {k: v for k, v in sim.asking().items() if k not in ('LD_PRELOAD', 'LD_LIBRARY_PATH')}
    run = subprocess.run([MUSTER, 'fabric', 'validate', '--live'], capture_output=True, text=True, env=alone)
    check(run.returncode not in (0, 6) and 'next:' in run.stderr, 'without a card or a library it says what to do', run.stderr)
    finish()


main()
