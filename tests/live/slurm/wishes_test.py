"""wishes_test.py MUSTER: on a real Slurm of 8 nodes, what users and administrators want of jobs at the gate, and what else is
going on in Slurm: nobody is overtaken, and no wish is lost, while Muster is there and when it is killed."""
import os
import shutil
import sys
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')]
from controller import wait_for  # noqa: E402
from held import check, finish  # noqa: E402
from stage import lab_or_skip, muster_on  # noqa: E402

WHOLE = '--gpus-per-node=8'


def state(lab, job):
    return lab.job(job).get('JobState', '')


def comment(lab, job):
    return lab.job(job).get('AdminComment', '')


def hosts(lab, job):
    return lab.out('scontrol', 'show', 'hostnames', lab.job(job)['NodeList']).split()


def gang(lab, nodes, *more, seconds=5, limit=10, **words):
    return lab.sbatch('-N', str(nodes), WHOLE, '-t', str(limit), *more, script=f'sleep {seconds}', **words)


def empty(lab):
    lab.run('scancel', '-u', 'nobody')
    lab.run('scancel', '-u', 'root')
    return wait_for(lambda: not lab.out('squeue', '-h').strip(), 40)


def full(lab, seconds=300, *more):
    job = gang(lab, len(lab.nodes), *more, seconds=seconds)
    check(wait_for(lambda: state(lab, job) == 'RUNNING', 15), 'all nodes are taken', lab.job(job))
    return job


def overtaken(lab):
    """Small jobs that Slurm places itself take every node as it comes free."""
    lab.sbatch('--nice=5000', '-N', '1', WHOLE, '--array=0-199', '-t', '1', script='sleep $((SLURM_ARRAY_TASK_ID % 4 + 2))')
    wait_for(lambda: len(lab.out('squeue', '-h', '-t', 'R').split('\n')) > len(lab.nodes), 15)
    job = gang(lab, len(lab.nodes), limit=5)
    began = time.monotonic()
    ran = wait_for(lambda: state(lab, job) in ('RUNNING', 'COMPLETING', 'COMPLETED'), 20)  # it is short: a busy machine misses it
    check(ran, f'a gang of higher priority runs in spite of an array: after {time.monotonic() - began:.1f} s', lab.job(job))
    check(comment(lab, job).startswith('muster: left to Slurm: job') and 'started before it' in comment(lab, job),
          'left to Slurm, which keeps nodes for it, and its comment says why', comment(lab, job))
    array = lab.out('squeue', '-h', '-t', 'all', '-O', 'admin_comment:60').splitlines()
    check(any(a.strip() == 'muster: left to Slurm: it is an array' for a in array), "the array's comment says why it is Slurm's")
    empty(lab)


def nodes_of_its_owner(lab, muster):
    first = full(lab)
    job = gang(lab, 3)
    check(wait_for(lambda: comment(lab, job) == 'muster: gate', 5), 'a job waits at the gate', lab.job(job))
    wish = lab.nodes[4:7]
    lab.out('scontrol', 'update', f'JobId={job}', f'NodeList={",".join(wish)}')
    check(wait_for(lambda: comment(lab, job) == 'muster: left to Slurm: it names its nodes', 10), 'its owner names nodes',
          comment(lab, job))
    lab.run('scancel', str(first))
    check(wait_for(lambda: state(lab, job) in ('RUNNING', 'COMPLETED'), 20) and hosts(lab, job) == wish, 'and it runs there',
          lab.job(job))
    told = muster.run('explain', 'job', str(job)).stdout
    check('names its nodes' in told or 'not placed by Muster' in told, 'muster explain agrees', told)
    empty(lab)


def ruled_out(lab, muster):
    """Nodes that the owner rules out while the job waits, and a range of numbers of nodes, are for Slurm."""
    first = full(lab)
    job, several = gang(lab, 3), gang(lab, '1-8')
    check(comment(lab, several) == 'muster: left to Slurm: it takes any of several numbers of nodes',
          'a job with a range of nodes is left to Slurm', comment(lab, several))
    out = lab.nodes[:5]
    lab.out('scontrol', 'update', f'JobId={job}', f'ExcNodeList={",".join(out)}')
    lab.run('scancel', str(several))
    lab.run('scancel', str(first))
    check(wait_for(lambda: state(lab, job) in ('RUNNING', 'COMPLETED'), 20) and not set(hosts(lab, job)) & set(out),
          'nodes that the owner rules out while it waits are not used', lab.job(job))
    check(comment(lab, job) == 'muster: left to Slurm: it rules out nodes', 'its comment says why', comment(lab, job))
    empty(lab)


def two_of_them(lab, muster):
    """One that was paused while another came does not act beside it."""
    beat = lab.about['heartbeat']
    owner = lambda: open(beat).read().splitlines()[1] if os.path.exists(beat) else ''
    muster.run('pause', '--reason', 'for a test')
    check(wait_for(lambda: not os.path.exists(beat), 20), 'a paused Muster has no heartbeat')
    other = muster_on(lab, muster.muster)
    other.state += '.other'
    other.start()
    check(wait_for(owner, 20), 'another Muster takes its place')
    whose = owner()
    muster.run('resume')
    seen = [owner() for _ in range(30) if not time.sleep(0.2)]
    check(set(seen) == {whose}, 'resumed, the first leaves the heartbeat to it', set(seen))
    before = len(muster.of('order_intended'))
    jobs = [gang(lab, 2) for _ in range(3)]
    check(wait_for(lambda: all(state(lab, j) in ('RUNNING', 'COMPLETED') for j in jobs), 30), 'the other places jobs')
    ended = [e['body'] for e in muster.of('order_ended') if e['body']['status'] == 'done']
    mine = {e['body']['order']['key'] for e in muster.of('order_intended')[before:]}
    check(not [b for b in ended if b['key'] in mine], 'and the first none of them', ended)
    check(len(mine) <= 2, 'which it does not try again and again either', len(mine))
    told = muster.run('guard', 'status').stdout
    check('another Muster on this Slurm' in told, 'it is paused, and says why', told)
    check(other.stop() == 0, 'the other goes')
    muster.run('resume')
    check(wait_for(lambda: owner() not in ('', whose), 30), 'and the first is in charge again', owner())
    job = gang(lab, 2)
    check(wait_for(lambda: comment(lab, job).startswith('muster: place'), 20), 'it places jobs', lab.job(job))
    shutil.rmtree(other.state, ignore_errors=True)
    empty(lab)


def reservation(lab):
    lab.out('scontrol', 'create', 'reservation', 'ReservationName=maint', 'StartTime=now+10minutes', 'Duration=30',
            f'Nodes={",".join(lab.nodes[:4])}', 'Users=root', 'Flags=MAINT')
    time.sleep(2)
    job = gang(lab, 4, limit=30)
    began = time.monotonic()
    check(wait_for(lambda: state(lab, job) == 'RUNNING', 10), 'a job that would run into a reservation starts at once: '
          f'{time.monotonic() - began:.1f} s', lab.job(job))
    check(hosts(lab, job) == lab.nodes[4:], 'on other nodes', hosts(lab, job))
    check('reservation maint begins' in comment(lab, job), 'placed by Slurm, and its comment says why', comment(lab, job))
    lab.out('scontrol', 'delete', 'ReservationName=maint')
    empty(lab)


def alone(lab):
    """A job without GPUs that nobody may be beside."""
    first = lab.sbatch('-N', str(len(lab.nodes)), '--exclusive', '-t', '5', script='sleep 300')
    check(wait_for(lambda: state(lab, first) == 'RUNNING', 15), 'a job without GPUs has all nodes alone', lab.job(first))
    time.sleep(2)
    jobs = [gang(lab, 4, seconds=3) for _ in range(4)]
    time.sleep(8)
    gate = [(state(lab, j), comment(lab, j)) for j in jobs]
    check(gate == [('PENDING', 'muster: gate')] * len(jobs), 'nobody is tried on its nodes', gate)
    lab.run('scancel', str(first))
    wait_for(lambda: all(state(lab, j) == 'COMPLETED' for j in jobs), 40)
    starts = [lab.job(j).get('StartTime') for j in jobs]
    check(starts == sorted(starts), 'and they start in the order they came', starts)
    empty(lab)


def closed(lab):
    lab.out('scontrol', 'update', 'PartitionName=batch', 'State=DOWN')
    time.sleep(1)
    job = gang(lab, 2)
    time.sleep(6)
    lab.out('scontrol', 'update', 'PartitionName=batch', 'State=UP')
    check(wait_for(lambda: state(lab, job) in ('RUNNING', 'COMPLETED'), 45) and comment(lab, job).startswith('muster: place'),
          'a partition that was closed for a while: Muster places there again', lab.job(job))
    empty(lab)


def start_time(lab, muster):
    full(lab, 300)
    job, other = gang(lab, 2), gang(lab, 2)
    wait_for(lambda: {str(job), str(other)} <= {e['body']['job'] for e in muster.of('job_submitted')}, 10)
    lab.out('scontrol', 'update', f'JobId={job}', 'StartTime=now+50minutes')
    wanted = lab.job(job)['StartTime']
    check(wait_for(lambda: comment(lab, job) == 'muster: left to Slurm: somebody set its start time', 10),
          'a start time that is set at the gate', comment(lab, job))
    muster.kill()
    check(wait_for(lambda: lab.job(other).get('Reason') != 'BeginTime', 60), 'Muster is killed, and what waited is let go')
    check(comment(lab, other) == 'muster: left to Slurm: Muster was away', 'its comment says so', comment(lab, other))
    check(lab.job(job)['StartTime'] == wanted and lab.job(job)['Reason'] == 'BeginTime', 'the start time stays as it was set',
          lab.job(job))


def main():
    lab = lab_or_skip('wishes', nodes=8, leaf=4, place=('batch',))
    muster = muster_on(lab, os.path.abspath(sys.argv[1]))
    check(muster.start().beats(), 'Muster is on')
    nodes_of_its_owner(lab, muster)
    ruled_out(lab, muster)
    two_of_them(lab, muster)
    reservation(lab)
    alone(lab)
    closed(lab)
    overtaken(lab)
    start_time(lab, muster)
    shutil.rmtree(muster.state, ignore_errors=True)
    finish()


main()
