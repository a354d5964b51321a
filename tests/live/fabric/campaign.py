"""Faults by chance in simulated fabrics, each found by the field's own tools and named by `muster fabric validate`: recall and
precision. campaign.py MUSTER [--faults N] [--seed N]: the test has 40, 500 take a quarter of an hour."""
import concurrent.futures
import json
import os
import random
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from ground import DIR, MUSTER, check, children, finish  # noqa: E402
from simulated import Simulation  # noqa: E402

FABRICS = ['--nodes 64 --nics 1 --radix 16 --levels 2', '--nodes 24 --nics 8 --radix 32 --kind rail',
           '--nodes 128 --nics 1 --radix 8 --levels 3', '--nodes 20 --nics 4 --radix 20 --oversubscription 1.5',
           '--nodes 128 --nics 8 --radix 64 --kind rail']
KINDS = ['cut', 'swap', 'wrong_rail', 'degraded', 'counters', 'dead_switch', 'lost_packets', 'fallback']
LOSS = 60         # percent of what a switch is asked
GROWTH = 40000    # symbol errors in a minute


def option(name, usual):
    return int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else usual


class Net:
    """A net file as blocks of ports, so that cables can be changed and it be written again."""
    def __init__(self, path):
        self.blocks, self.cables = [], {}
        here = None
        for line in open(path):
            head = re.match(r'(Switch|Ca)\s+\d+ "([^"]+)"\s+# "([^"]*)"', line)
            port = re.match(r'\[(\d+)\](\(\w+\))?\s+"([^"]+)"\[(\d+)\].*?(\d+x\w+)\s*$', line)
            if head:
                here = head[2]
                self.blocks.append({'id': here, 'switch': head[1] == 'Switch', 'name': head[3], 'head': line})
            elif port:
                self.cables[here, int(port[1])] = (port[3], int(port[4]), port[5])
        self.named = {b['id']: b['name'] for b in self.blocks}
        self.switches = {b['id'] for b in self.blocks if b['switch']}

    def end(self, e):
        return f'{self.named[e[0]]}[{e[1]}]'

    def far(self, e):
        return self.cables[e][:2]

    def pull(self, e):
        other = self.far(e)
        del self.cables[e], self.cables[other]
        return other

    def plug(self, a, b, rate):
        self.cables[a], self.cables[b] = (*b, rate), (*a, rate)

    def guid(self, node):
        """Of its port, where it is a card: the one after its own."""
        return f'{int(node[2:], 16) + (0 if node in self.switches else 1):x}'

    def write(self, path):
        with open(path, 'w') as f:
            for b in self.blocks:
                f.write(b['head'])
                for (node, port), (far, far_port, rate) in sorted(self.cables.items()):
                    if node != b['id']:
                        continue
                    own = '' if b['switch'] else f'({self.guid(node)})'
                    other = '' if far in self.switches else f'({self.guid(far)})'
                    f.write(f'[{port}]{own}\t"{far}"[{far_port}]{other}\t\t# {"" if b["switch"] else "lid 0 lmc 0 "}'
                            f'"{self.named[far]}" lid 0 {rate}\n')
                f.write('\n')
        return path


class Harm:
    """Faults in a copy of a design: what was done, and which fault has to name it."""
    def __init__(self, net, dice, railed):
        self.net, self.dice, self.railed, self.said, self.console, self.taken = net, dice, railed, [], [], set()
        self.lossy, self.counting, self.log, self.instead = None, False, False, None
        cards = sorted(e for e in net.cables if e[0] not in net.switches)
        self.root = dice.choice(cards)
        self.leaf = net.far(self.root)[0]

    def cable(self, fit=lambda e: True):
        """An end of a cable that no fault has touched and that the asking node does not hang on."""
        ends = [e for e in sorted(self.net.cables) if e != self.root and self.net.far(e) != self.root and fit(e)
                and e not in self.taken and self.net.far(e) not in self.taken]
        e = self.dice.choice(ends)
        self.taken |= {e, self.net.far(e)}
        return e

    def switch(self):
        return self.dice.choice(sorted(s for s in self.net.switches if s not in (self.leaf, self.lossy)
                                       and any(e[0] == s for e in self.net.cables)))

    def rail(self, e):
        """Number of the rail's leaf that a card is cabled to; None: no rail."""
        leaf = re.search(r'-r(\d+)$', self.net.named[self.net.far(e)[0]]) if e[0] not in self.net.switches else None
        return leaf and leaf[1]

    def expect(self, kind, *ends):
        self.said.append((kind, set(ends)))

    def silent(self, found):
        """A switch that answered nothing at all is dead to all that can be seen of it: then that may be said as well."""
        if self.lossy and f'"{self.lossy}"' not in found:
            self.instead = ('dead_switch', {self.net.named[self.lossy]})

    def exchange(self, a, c):
        """The far ends of two cables."""
        b, d = self.net.far(a), self.net.far(c)
        rates = self.net.cables[a][2], self.net.cables[c][2]
        crosses = [self.rail(x) for x in (a, c)]
        leaves = [re.search(r'-r(\d+)$', self.net.named[x[0]]) for x in (d, b)]
        wrong = any(r and leaf and r != leaf[1] for r, leaf in zip(crosses, leaves))
        self.expect('wrong_rail' if wrong else 'swapped_cables', *(self.net.end(e) for e in (a, b, c, d)))
        self.net.pull(a)
        self.net.pull(c)
        self.net.plug(a, d, rates[0])
        self.net.plug(c, b, rates[1])

    def cut(self):
        e = self.cable()
        self.expect('missing_cable', self.net.end(e), self.net.end(self.net.far(e)))
        self.net.pull(e)

    def swap(self):
        to_switch = lambda e: self.net.far(e)[0] in self.net.switches  # noqa: E731
        self.exchange(self.cable(to_switch), self.cable(to_switch))

    def wrong_rail(self):
        if not self.railed:
            return self.swap()
        a = self.cable(lambda e: self.rail(e))
        number = self.rail(a)
        self.exchange(a, self.cable(lambda e: self.rail(e) and self.rail(e) != number))

    def degraded(self):
        e = self.cable()
        far = self.net.far(e)
        self.expect('degraded_link', self.net.end(e), self.net.end(far))
        self.net.plug(e, far, '1x' + self.net.cables[e][2].split('x')[1])

    def counters(self):
        e = self.cable(lambda e: e[0] in self.net.switches)
        self.expect('error_rate', self.net.end(e))
        self.counting = True
        self.console.append(f'PerformanceSet "{e[0]}"[{e[1]}] PortCounters.SymbolErrorCounter={GROWTH}')

    def dead_switch(self):
        s = self.switch()
        self.expect('dead_switch', self.net.named[s])
        for e in [e for e in self.net.cables if e[0] == s]:
            self.taken |= {e, self.net.far(e)}
            self.net.pull(e)

    def lost_packets(self):
        if self.lossy:
            return self.cut()
        self.lossy = self.switch()
        self.expect('incomplete_discovery')

    def fallback(self):
        """Asks OpenSM for an engine that the fabric is not fit for; the design lacks the cable too: nothing else is wrong."""
        self.log = True
        self.expect('routing_fallback')


def named(fault, wanted, harm):
    kind, ends = wanted
    if fault['kind'] == kind and ends <= set(fault['ends']):
        return True
    return kind == 'incomplete_discovery' and harm.instead is not None and named(fault, harm.instead, harm)


def counted(sim, host, file):
    """What ibqueryerrors printed; it gives up where the subnet manager does not answer it in time, as on a busy machine."""
    for _ in range(5):
        path = sim.ask(host, file, 'ibqueryerrors')
        with open(path) as f:
            if 'Summary' in f.read():
                break
    return path


def trial(number, design, ask, kinds, dice):
    """One fabric, harmed, found and judged; what was injected and what was said."""
    folder = os.path.join(DIR, f'trial{number}')
    os.makedirs(folder)
    net = Net(design)
    if 'fallback' in kinds:  # the last cable between switches is no part of this design
        net.pull(max(e for e in net.cables if e[0] in net.switches and net.far(e)[0] in net.switches))
    plan = net.write(os.path.join(folder, 'design.net'))
    harm = Harm(net, dice, 'rail' in ask)
    for kind in kinds:
        getattr(harm, kind)()
    sim = Simulation(folder, net.write(os.path.join(folder, 'truth.net')), diags=True)
    host = harm.root[0]
    words = ['--design', plan]
    sim.ask(host, 'opensm.out', 'opensm', '-o', '-R', 'ftree' if harm.log else 'minhop', '-f', 'opensm.log')
    if harm.log:
        words += ['--log', os.path.join(folder, 'opensm.log')]
    if harm.counting:
        manager = sim.managed(host)
        words += ['--errors-before', counted(sim, host, 'before'), '--between', '60s']
        for line in harm.console:
            sim.say(line)
        words += ['--errors', counted(sim, host, 'after')]
        manager.terminate()
        manager.wait(20)
        children.remove(manager)
    if harm.lossy:
        words += ['--links', sim.ask(host, 'links', 'iblinkinfo', '-l')] if dice.random() < 0.5 else []
        sim.say(f'Error "{harm.lossy}" {LOSS}')
    words += ['--discovered', sim.ask(host, 'found.net', 'ibnetdiscover')]
    sim.end()
    run = subprocess.run([MUSTER, 'fabric', 'validate', *words, '-o', 'json'], capture_output=True, text=True)
    if run.returncode not in (0, 6):
        return harm, [{'kind': 'none', 'ends': [], 'detail': run.stderr}], False
    harm.silent(open(os.path.join(folder, 'found.net')).read())
    answer = json.loads(run.stdout)
    return harm, answer['faults'], run.returncode == (6 if answer['faults'] else 0)


def planned(number, seed):
    """Which fabric, which faults, and the dice that say where."""
    dice = random.Random(f'{seed}/{number}')
    at = dice.randrange(len(FABRICS)) if dice.random() < 0.5 else number % (len(FABRICS) - 1)
    kinds = dice.sample(KINDS, 2) if dice.random() < 0.3 else [KINDS[number % len(KINDS)]]
    if len(kinds) == 2 and 'fallback' in kinds:
        kinds = ['cut', 'degraded']  # which of two made OpenSM fall back cannot be asked
    return 2 if kinds == ['fallback'] else at, kinds, dice


def main():
    faults, seed = option('--faults', 40), option('--seed', 20261118)
    designs = []
    for i, ask in enumerate(FABRICS):
        designs.append(os.path.join(DIR, f'{i}.net'))
        with open(designs[-1], 'w') as f:
            subprocess.run([MUSTER, 'design', 'fabric', '--rate', '25', *ask.split()], stdout=f, stderr=subprocess.DEVNULL,
                           check=True)
    for i, ask in enumerate(FABRICS):
        _, said, sound = trial(f'healthy{i}', designs[i], ask, [], random.Random(seed))
        check(not said and sound, f'nothing is wrong with a healthy fabric: {ask}', said)
    plans, planned_faults = [], 0
    while planned_faults < faults:
        plans.append(planned(len(plans), seed))
        planned_faults += len(plans[-1][1])
    scores = {1: [0, 0], 2: [0, 0]}
    right = all_said = unsound = 0
    with concurrent.futures.ThreadPoolExecutor(option('--at-once', 3)) as pool:  # tools that wait for lost answers use nothing
        trials = [pool.submit(trial, n, designs[at], FABRICS[at], kinds, dice) for n, (at, kinds, dice) in enumerate(plans)]
        for n, ((at, kinds, _), done) in enumerate(zip(plans, trials)):
            harm, said, sound = done.result()
            hit = [any(named(f, w, harm) for f in said) for w in harm.said]
            good = [any(named(f, w, harm) for w in harm.said) for f in said]
            scores[len(kinds)][0] += sum(hit)
            scores[len(kinds)][1] += len(hit)
            right, all_said, unsound = right + sum(good), all_said + len(good), unsound + (not sound)
            if all(hit) and all(good) and sound:
                shutil.rmtree(os.path.join(DIR, f'trial{n}'))
            else:
                print(f'trial {n} of {FABRICS[at]}: {kinds}, wanted {harm.said}, said {json.dumps(said)[:1500]}', flush=True)
    recall = {n: hit / max(1, of) for n, (hit, of) in scores.items()}
    precision = right / max(1, all_said)
    print(f'seed {seed}: {scores[1][1]} single faults, {scores[2][1]} in pairs, {all_said} said')
    check(recall[1] == 1, f'recall of single faults {recall[1]:.4f}, 1 wanted')
    # A cable of the very switch whose answers are lost cannot be seen: one such among few says nothing of two in a hundred.
    missed = scores[2][1] - scores[2][0]
    check(recall[2] >= 0.98 or (missed == 1 and scores[2][1] < 50), f'recall of faults in pairs {recall[2]:.4f}, 0.98 wanted')
    check(unsound == 0, f'{unsound} answers end with another exit code than their faults say')
    check(precision >= 0.99, f'precision {precision:.4f}, 0.99 wanted')
    finish()


main()
