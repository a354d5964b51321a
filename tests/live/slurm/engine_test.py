"""engine_test.py MUSTER: `muster up --slurm` on a real Slurm of 16 nodes: jobs of an ordinary user are placed, a person's drain
is left alone, Muster goes and comes back, Slurm goes and comes back."""
import os
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')]
from controller import wait_for  # noqa: E402
from held import check, finish  # noqa: E402
from lab_agents import set_hooks  # noqa: E402
from stage import lab_or_skip, muster_on  # noqa: E402


def state(lab, job):
    return lab.job(job).get('JobState', '')


def submit(lab, nodes, *more, seconds=30, **words):
    return lab.sbatch('-N', str(nodes), '--gpus-per-node=8', '-t', '10', *more, script=f'sleep {seconds}', **words)


def running(lab, job, seconds=10):
    return wait_for(lambda: state(lab, job) == 'RUNNING', seconds)


def placing(lab, muster):
    job = submit(lab, 4)
    began = time.monotonic()
    check(running(lab, job), 'a job of four nodes by plain sbatch runs', lab.job(job))
    print(f'# sbatch to running: {time.monotonic() - began:.1f} s')
    j = lab.job(job)
    check(j.get('AdminComment', '').startswith('muster: place'), 'its admin comment says that Muster placed it',
          j.get('AdminComment'))
    explained = muster.run('explain', 'job', str(job)).stdout
    sentence = j['AdminComment'].split(': ', 2)[2].split(';')[0]
    check(sentence in explained, 'and muster explain says the same', (sentence, explained[:300]))
    off = lab.sbatch('-p', 'debug', '-N', '2', '--gpus-per-node=8', '-t', '10', script='sleep 5')
    check(running(lab, off), 'a job of a partition in which Muster is off runs by Slurm alone')
    check(not lab.job(off).get('AdminComment', '').startswith('muster'), 'and has no word of Muster',
          lab.job(off).get('AdminComment'))
    advice = wait_for(lambda: (muster.json('shadow', 'report') or {}).get('placement', {}).get('gangs'), 10)
    check(advice == 1, 'muster shadow report has judged where Slurm put it, and no job of its own', advice)
    part = submit(lab, 3, '-p', 'half', seconds=5)
    check(running(lab, part), 'a job of a partition that has half of the nodes runs', lab.job(part))
    j = lab.job(part)
    there = set(lab.out('scontrol', 'show', 'hostnames', j['NodeList']).split())
    check(j.get('AdminComment', '').startswith('muster: place') and there <= set(lab.nodes[len(lab.nodes) // 2:]),
          "placed by Muster on its partition's nodes", j)
    late = submit(lab, 1, '--begin=now+1hour')
    time.sleep(2)
    check(state(lab, late) == 'PENDING' and not lab.job(late).get('ReqNodeList', '(null)').startswith('gpu'),
          "a job whose owner said --begin is left to Slurm")
    lab.run('scancel', str(late))
    shared = lab.sbatch('-N', '1', '--gpus-per-node=2', '-t', '10', script='sleep 20')
    check(running(lab, shared), 'a job of two GPUs runs')
    started = wait_for(lambda: [e['body'] for e in muster.of('job_started') if e['body']['job'] == str(shared)], 10)
    check(started and [bin(s).count('1') for s in started[-1]['slots']] == [2], 'and Muster knows which two', started)
    # A job of cores only, on a node of the gang: it takes nothing from it.
    node = lab.out('scontrol', 'show', 'hostnames', lab.job(job)['NodeList']).split()[0]
    beside = lab.sbatch('-p', 'debug', '-w', node, '-c', '1', '-t', '10', script='sleep 20')
    check(running(lab, beside), 'a job without GPUs runs beside the gang', lab.job(beside))
    check(wait_for(lambda: [e for e in muster.of('job_started') if e['body']['job'] == str(beside)], 10), 'Muster sees it')
    time.sleep(2)
    ended = [e['body'] for e in muster.of('job_ended') if e['body']['job'] in (str(job), str(beside))]
    check(not ended or state(lab, job) != 'RUNNING', 'and takes neither for ended', ended)
    return job


def holding(lab, muster):
    node = lab.nodes[-1]
    lab.run('scontrol', 'update', f'NodeName={node}', 'State=DRAIN', 'Reason=bad fan')
    held = wait_for(lambda: [e['body'] for e in muster.of('node_held') if e['body']['held']], 10)
    check(held and held[-1]['why'] == 'bad fan', "a person's drain is seen, with its reason", held)
    job = submit(lab, len(lab.nodes) - 5, seconds=5)
    check(running(lab, job, 60), 'a large job runs on the other nodes')
    check(node not in lab.out('scontrol', 'show', 'hostnames', lab.job(job)['NodeList']).split(), 'and not on that one')
    check('DRAIN' in lab.node(node)['State'] and lab.node(node)['Reason'].startswith('bad fan'), 'which is drained as before',
          lab.node(node))
    return node


def going(lab, muster, drained):
    # All nodes but the drained one are taken for a while, so that the next ones wait behind the gate.
    free = len(lab.nodes) - 1
    wait_for(lambda: not lab.out('squeue', '-h', '-t', 'R').strip(), 60)
    full = submit(lab, free, seconds=90)
    check(running(lab, full, 20), 'a job takes all nodes that are in service')
    waiting = [submit(lab, 2, seconds=2) for _ in range(4)]
    time.sleep(3)
    gate = [tuple(lab.job(j).get(k) for k in ('JobState', 'Reason', 'AdminComment')) for j in waiting]
    check(gate == [('PENDING', 'BeginTime', 'muster: gate')] * len(waiting), 'further ones wait behind the gate', gate)
    muster.kill()
    lab.run('scancel', str(full))
    began = time.monotonic()
    flowed = wait_for(lambda: all(state(lab, j) in ('RUNNING', 'COMPLETED', 'COMPLETING') for j in waiting), 60, 0.3)
    took = time.monotonic() - began
    check(flowed and took <= 60, f'after kill -9 of Muster all of them flow within 60 s: {took:.1f} s',
          [state(lab, j) for j in waiting])
    wait_for(lambda: time.time() - os.path.getmtime(f'{lab.dir}/run/heartbeat') > 17, 30)  # by then nobody takes it for fresh
    long = submit(lab, 3, seconds=60)
    check(running(lab, long, 10), 'and new jobs start at once under Slurm alone')
    nodes = lab.job(long)['NodeList']
    check(muster.start().beats(), 'Muster is started again')
    again = submit(lab, 2, seconds=5)
    check(running(lab, again), 'started again, it places')
    check(lab.job(again).get('AdminComment', '').startswith('muster: place'), 'by itself', lab.job(again).get('AdminComment'))
    j = lab.job(long)
    check(j['JobState'] == 'RUNNING' and j['NodeList'] == nodes and j['Restarts'] == '0', 'without disturbing what runs',
          j['JobState'])
    check('DRAIN' in lab.node(drained)['State'], "and the person's node is still theirs")
    known = {e['body']['job'] for e in muster.of('job_submitted')}
    check(all(str(j) in known for j in [full, long, again, *waiting]), 'its journal has all of them', sorted(known))
    # Stopped in the clean way, what waits goes at once.
    full = submit(lab, free - 3, seconds=60)
    running(lab, full, 20)
    last = submit(lab, 4, seconds=2)
    time.sleep(2)
    check(state(lab, last) == 'PENDING', 'one more waits')
    check(muster.stop() == 0, 'Muster is stopped')
    lab.run('scancel', str(full))
    check(wait_for(lambda: state(lab, last) in ('RUNNING', 'COMPLETED', 'COMPLETING'), 15), 'and what waited behind it runs')
    check(muster.start().beats(), 'and once more')
    full = submit(lab, free, seconds=60)
    running(lab, full, 20)
    last = submit(lab, 4, seconds=2)
    time.sleep(2)
    check(lab.job(last).get('AdminComment') == 'muster: gate', 'one more waits behind the gate', lab.job(last))
    second = subprocess.run([muster.muster, 'up', '--slurm', muster.file, '--policy', 'default', '--port', '0', '--state',
                             f'{lab.dir}/second'], capture_output=True, text=True, timeout=60)
    check(second.returncode != 0 and 'another Muster' in second.stderr, 'a second Muster is refused', second.stderr)
    paused = muster.run('pause', '--reason', 'a test')
    check(paused.returncode == 0, 'Muster is paused', paused.stderr)
    let_go = wait_for(lambda: lab.job(last).get('Reason') != 'BeginTime', 5)
    check(let_go, 'and lets it go at once', lab.job(last))
    lab.run('scancel', str(full))
    muster.run('resume', '--reason', 'a test')


def slurm_goes(lab, muster):
    wait_for(lambda: not lab.out('squeue', '-h', '-t', 'R').strip(), 80)
    job = submit(lab, 4, seconds=45)
    check(running(lab, job), 'a job runs')
    lab.saved()
    lab.kill('slurmctld')
    time.sleep(8)
    check(muster.child.poll() is None, 'without slurmctld Muster goes on')
    check(wait_for(lambda: 'Slurm does not answer' in muster.said(), 10), 'and says that Slurm does not answer',
          muster.said()[-300:])
    lab.restart('slurmctld')
    check(wait_for(lambda: state(lab, job) in ('RUNNING', 'COMPLETED'), 30), 'slurmctld is back and has the job')
    after = submit(lab, 2, seconds=2)
    check(running(lab, after, 30) or state(lab, after) == 'COMPLETED', 'jobs are placed again')
    ends = [e['body'] for e in muster.of('job_ended', 'job_gone') if e['body']['job'] == str(job)]
    check(not ends or state(lab, job) != 'RUNNING', 'nobody took its silence for the end of a job', ends)
    acts = [e['body']['order']['action'] for e in muster.of('order_intended')]
    check(not [a for a in acts if a['verb'] in ('drain_node', 'requeue_job', 'restart_job')],
          'no node was drained and no job stopped', acts[-3:])


def slurms_own(lab, muster):
    """What Slurm takes out of service by itself is tested and put back; what a person set down is not."""
    wait_for(lambda: not lab.out('squeue', '-h', '-t', 'R').strip(), 80)
    struck, left, persons = lab.nodes[2:5]
    hook, bad = f'{lab.dir}/etc/failing', f'{lab.dir}/home/bad-epilog'
    with open(hook, 'w') as f:
        f.write(f'#!/bin/sh\ntest "$SLURM_SCRIPT_CONTEXT" != epilog_slurmd || test ! -e {bad}\n')
    os.chmod(hook, 0o755)
    open(bad, 'w').close()
    with open(lab.conf) as f:
        text = f.read()
    with open(lab.conf, 'w') as f:  # as most sites have it: what is down stays down until somebody looks
        f.write(text.replace('ReturnToService=2', 'ReturnToService=1'))
    set_hooks(lab, hook)
    job = lab.sbatch('-p', 'debug', '-w', struck, '-N', '1', '--gpus-per-node=8', '-t', '10', script='true')
    held = wait_for(lambda: [e['body'] for e in muster.of('node_held') if e['body']['held'] and e['body'].get('engine')], 30)
    check(held and held[-1]['why'] == 'Epilog error', 'Slurm drains a node whose epilog failed, by itself', (held, lab.job(job)))
    os.unlink(bad)
    for node, why in ((left, 'Node unexpectedly rebooted'), (persons, 'RMA 4711')):
        lab.out('scontrol', 'update', f'NodeName={node}', 'State=DOWN', f'Reason={why}')
    back = wait_for(lambda: all(lab.node(n)['State'].startswith('IDLE') and 'DRAIN' not in lab.node(n)['State']
                                for n in (struck, left)), 90, 1)
    check(back, 'and what it left down: both are tested and put back', (lab.node(struck), lab.node(left)))
    orders = [(e['body']['order']['action']['verb'], lab.nodes[int(e['body']['order']['action']['node'])])
              for e in muster.of('order_intended') if e['body']['order']['action'].get('node') is not None]
    for node in (struck, left):
        verbs = [v for v, n in orders if n == node and v in ('drain_node', 'test_node', 'reboot_node', 'undrain_node')]
        check(verbs == ['drain_node', 'test_node', 'undrain_node'], f'{node}: taken over, tested, returned, not rebooted', verbs)
    check(lab.node(persons)['State'].startswith('DOWN'), 'what a person set down stays down', lab.node(persons))
    check(not [v for v, n in orders if n == persons], 'and nothing is done to it', orders)
    told = muster.run('explain', 'node', persons).stdout
    check('a person' in told and 'RMA 4711' in told, 'muster explain node says whose it is', told)
    set_hooks(lab, None)


def main():
    muster_program = os.path.abspath(sys.argv[1])
    lab = lab_or_skip('engine', nodes=16, leaf=4, place=('batch', 'half'))
    muster = muster_on(lab, muster_program, partitions={'batch': 'place', 'half': 'place', 'debug': 'off'})
    check(muster.start().beats(), 'Muster is on')
    placing(lab, muster)
    drained = holding(lab, muster)
    going(lab, muster, drained)
    slurm_goes(lab, muster)
    slurms_own(lab, muster)
    check(muster.stop() == 0, 'Muster ends in the clean way')
    shutil.rmtree(muster.state, ignore_errors=True)
    finish()


main()
