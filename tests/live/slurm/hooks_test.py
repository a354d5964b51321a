"""hooks_test.py MUSTER [--nodes 64 --timing]: muster-hook.sh as Prolog and Epilog of a real Slurm. It says no with two witnesses,
once an hour, and passes what is not known. With --timing it prints what it adds to a job's start, also while probes hang."""
import argparse
import os
import re
import subprocess
import sys
import time
from datetime import datetime

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')]
import lab_agents  # noqa: E402
from controller import wait_for  # noqa: E402
from held import check, finish  # noqa: E402
from lab import free_ports, read  # noqa: E402
from stage import lab_or_skip, muster_on  # noqa: E402


def verdict(lab, node):
    return read(f'{lab.node_dir(node)}/agent/verdict')


def says(lab, node, word, seconds=15):
    return wait_for(lambda: verdict(lab, node).startswith(word + ' '), seconds)


def one_job(lab, node, seconds=20):
    """(state, node's state) once a job on that node has ended or Slurm has put it back."""
    job = lab.sbatch('-w', node, '-N', '1', '-t', '5', script='true')

    def settled():
        j = lab.job(job)
        return j if j.get('JobState') == 'COMPLETED' or 'DRAIN' in lab.node(node)['State'] else None
    found = wait_for(settled, seconds) or lab.job(job)
    state = found.get('JobState', '')
    if state != 'COMPLETED':
        lab.run('scancel', str(job))
    return state, lab.node(node)


def passes(lab, node, sentence):
    state, shown = one_job(lab, node)
    passed = state == 'COMPLETED' and 'DRAIN' not in shown['State']
    return check(passed, sentence, (state, shown.get('State'), verdict(lab, node)))


def words_of(lab, node):
    return read(f'{lab.node_dir(node)}/agent/hook-words') + read(f'{lab.node_dir(node)}/agent.log')


def hear(lab, muster):
    """A controller that acts has told the agents how many nodes may go, and is away again before a node breaks: it would be
    quicker than the hook. What it said holds for a minute."""
    muster.start()
    heard = all(wait_for(lambda: verdict(lab, n).split(' ')[3:4] not in ([], ['-'], ['0']), 20) for n in lab.nodes[:2])
    check(heard, 'agents hear how many nodes may go', verdict(lab, lab.nodes[0]))
    muster.stop()


def gate(lab):
    x, y = lab.nodes[0], lab.nodes[1]
    fit = all(says(lab, n, 'fit') for n in lab.nodes)
    check(fit, 'agents say that their nodes are fit', [verdict(lab, n) for n in lab.nodes])
    job = lab.sbatch('-N', str(len(lab.nodes)), '-t', '5', script='true')
    check(wait_for(lambda: lab.job(job).get('JobState') == 'COMPLETED', 30), 'a job on all nodes passes')
    lab_agents.xid(lab, x, 79, 3)
    check(says(lab, x, 'trouble'), 'an Xid 79 alone is trouble', verdict(lab, x))
    passes(lab, x, 'and passes: one witness is not enough')
    lab_agents.lose_gpu(lab, x, 3)
    check(says(lab, x, 'broken'), 'with the GPU gone for NVML the node is broken', verdict(lab, x))
    state, shown = one_job(lab, x)
    check(state != 'COMPLETED' and 'DRAIN' in shown['State'], 'and says no: Slurm drains it', (state, shown))
    check('rolog' in shown.get('Reason', ''), 'with a reason of its own', shown.get('Reason'))
    wait_for(lambda: not lab.out('squeue', '-h', '-w', x).strip(), 20)
    lab.run('scontrol', 'update', f'NodeName={x}', 'State=RESUME')
    wait_for(lambda: lab.node(x)['State'].startswith('IDLE'), 15)
    passes(lab, x, 'put back, it passes: one no an hour')
    check(wait_for(lambda: 'said no to a job' in words_of(lab, x), 5), 'the agent has heard of it', words_of(lab, x)[-600:])
    # An agent that is gone: its last word grows old.
    lab_agents.xid(lab, y, 79, 1, lose=True)
    check(says(lab, y, 'broken'), 'another node is broken', verdict(lab, y))
    lab.kill('agent', y)
    word, boot, stamp, rest = verdict(lab, y).split(' ', 3)
    with open(f'{lab.node_dir(y)}/agent/verdict', 'w') as f:
        f.write(f'{word} {boot} {int(stamp) - 31} {rest}')
    passes(lab, y, 'what its agent said half a minute ago does not count')
    os.unlink(f'{lab.node_dir(y)}/agent/verdict')
    passes(lab, y, 'nor does what nobody says')
    check('the agent has said nothing' in words_of(lab, y) and 'no agent has said' in words_of(lab, y), 'each leaves a word',
          words_of(lab, y)[-600:])


def told(lab, muster):
    """The controller in shadow mode: it hears of all that, and lets no node go."""
    x, y, z = lab.nodes[:3]
    muster.start()
    lab_agents.start_agent(lab, y)

    def heard():
        found = [e['body'].get('finding', e['body']) for e in muster.of('finding_opened')]
        return {f['subject'] for f in found if f.get('kind') == 'hearsay'} >= {'prolog'} and found
    check(wait_for(heard, 30, 0.5), 'the controller has a finding of what hooks did', muster.of('finding_opened')[-3:])
    check(wait_for(lambda: ' 0 ' in verdict(lab, z)[:80], 20), 'agents hear that no node may go', verdict(lab, z))
    lab_agents.xid(lab, z, 79, 0, lose=True)
    check(says(lab, z, 'broken'), 'a third node is broken', verdict(lab, z))
    passes(lab, z, 'and passes, for the controller lets no node go')
    check(muster.stop() == 0, 'the controller ends')


STAMP = r'\[(\d+-\d+-\d+T\d+:\d+:\d+\.\d+)\] '


def moment(text, pattern):
    found = re.findall(STAMP + pattern, text)
    return datetime.fromisoformat(found[-1]).timestamp() if found else None


def start_s(lab):
    """Seconds from the allocation of a job on all nodes to the end of an empty first step there, by the daemons' own logs: a step
    waits for the prologs of all nodes, and a script only for that of its own."""
    job = lab.sbatch('-N', str(len(lab.nodes)), '-t', '5', script='srun true')
    if not wait_for(lambda: lab.job(job).get('JobState') == 'COMPLETED', 60, 0.2):
        return None
    wait_for(lambda: lab.states() == {'idle': len(lab.nodes)}, 30)
    given = moment(read(f'{lab.dir}/log/slurmctld.log'), rf'sched.*?JobId={job} ')
    ended = [moment(read(f'{lab.node_dir(n)}/slurmd.log'), rf'\[{job}\.0\] done with job') for n in lab.nodes]
    return max(ended) - given if given and all(ended) else None


def alone_ms(lab, program, times=100):
    """What one node pays for it: milliseconds of a call, the middle one."""
    env = {'PATH': os.environ['PATH'], 'SLURMD_NODENAME': lab.nodes[0], 'SLURM_SCRIPT_CONTEXT': 'prolog_slurmd'}
    taken = []
    for _ in range(times):
        began = time.monotonic()
        subprocess.run([program], env=env, stdout=subprocess.DEVNULL, check=True)
        taken.append(1000 * (time.monotonic() - began))
    return median(taken)


def median(values):
    v = sorted(x for x in values if x is not None)
    return v[len(v) // 2] if v else float('nan')


def timing(lab, hook, conf, rounds, hung):
    ways = {'no prolog': None, '/bin/true': '/bin/true', 'the hook': hook}
    taken = {name: [] for name in ways}
    for _ in range(rounds):
        for name, program in ways.items():
            lab_agents.set_hooks(lab, program, conf)
            taken[name] += [start_s(lab) for _ in range(3)]
    each = alone_ms(lab, hook)
    print(f'# one call on one node: {each:.1f} ms, of /bin/true {alone_ms(lab, "/bin/true"):.1f} ms')
    check(each < 50, 'a node that has its processors for itself waits less than 50 ms for the hook')
    for name, values in taken.items():
        print(f'# allocation to the end of an empty first step on {len(lab.nodes)} nodes of this one machine, {name}: '
              f'median {1000 * median(values):.0f} ms of {len(values)}')
    added = 1000 * (median(taken['the hook']) - median(taken['/bin/true']))
    # All nodes share this machine, so that what any prolog costs is paid as often as there are nodes.
    check(added < 50, f'beside a prolog that does nothing it adds less than 50 ms to the start of them all: {added:.0f} ms')
    for node in lab.nodes[:hung]:
        lab_agents.hang(lab, node)
    check(all(says(lab, n, 'trouble', 30) for n in lab.nodes[:hung]), f'NVML hangs on {hung} nodes')
    values = [start_s(lab) for _ in range(3 * rounds)]
    print(f'# the same with the hook while probes hang on {hung} nodes: median {1000 * median(values):.0f} ms of {len(values)}')
    check(median(values) - median(taken['the hook']) < 0.05, 'hung probes do not delay it')
    for node in lab.nodes[:hung]:
        lab_agents.hang(lab, node, False)
    check(all(says(lab, n, 'fit', 60) for n in lab.nodes), 'and come back')


def main():
    args = argparse.ArgumentParser()
    args.add_argument('muster')
    args.add_argument('--nodes', type=int, default=4)
    args.add_argument('--timing', action='store_true', help='what the hook adds to the start of a job on all nodes')
    args.add_argument('--rounds', type=int, default=5)
    args.add_argument('--hung', type=int, default=10)
    o = args.parse_args()
    lab = lab_or_skip('hooks', nodes=o.nodes, leaf=16)
    program = os.path.abspath(o.muster)
    muster = muster_on(lab, program, partitions={'batch': 'advise'}, policy='', port=free_ports(1))
    hook = f'{lab.dir}/etc/muster-hook.sh'
    conf = f'spool={lab.dir}/nodes/$SLURMD_NODENAME/agent\nmuster={program}\n'
    acting = muster_on(lab, program, partitions={'batch': 'advise'}, port=muster.port)
    muster.start()  # makes the agents' token
    check(muster.stop() == 0, 'the controller has been there and is away')
    lab_agents.start_agents(lab, f'http://127.0.0.1:{muster.port}', f'{muster.state}/agent-token', ['--trust-kmsg'], program)
    if o.timing:
        timing(lab, hook, conf, o.rounds, min(o.hung, o.nodes))
    lab_agents.set_hooks(lab, hook, conf)
    hear(lab, acting)
    gate(lab)
    told(lab, muster)
    finish()


main()
