"""emitted_test.py MUSTER: what `muster fleet emit slurm` writes for a cluster, in a real slurmctld and real slurmd: no complaint
in a log, every node idle, the tree of switches as the cluster file has it, the gate and its timer at work."""
import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')]
import lab_config  # noqa: E402
from held import check, finish  # noqa: E402
from lab import Failed, Lab, Unavailable, fields, make_device, read, until  # noqa: E402

NODES = 16
CLUSTER = f'''\
name: emitted
gpu: H200
nodes: {NODES}
nodes_per_leaf: 4
leaves_per_pod: 2
name_format: "gpu####"
'''
TREE = {'leaf1': 'gpu[0001-0004]', 'leaf2': 'gpu[0005-0008]', 'leaf3': 'gpu[0009-0012]', 'leaf4': 'gpu[0013-0016]',
        'spine1': 'leaf[1-2]', 'spine2': 'leaf[3-4]', 'core': 'spine[1-2]'}
HARDWARE = 'CPUs=96 Boards=1 SocketsPerBoard=2 CoresPerSocket=48 ThreadsPerCore=1 RealMemory=1000000\nUpTime=1-02:03:04'
MUSTER = os.path.abspath(sys.argv[1])
scratch = tempfile.mkdtemp(prefix='emitted-')
labs = []


@atexit.register
def clean():
    for one in labs:
        if os.path.exists(one.dir):
            one.down()
    shutil.rmtree(scratch, ignore_errors=True)


def emit(*more):
    words = [MUSTER, 'fleet', 'emit', 'slurm', '--cluster', f'{scratch}/cluster.yaml', '--hardware', HARDWARE, *more]
    return subprocess.run(words, capture_output=True, text=True)


class EmittedLab(Lab):
    """A lab whose slurm.conf includes what was emitted, instead of having those lines itself."""
    complaint = ''  # put into the emitted muster.conf, to see that the test would see it

    def bring_up(self, say):
        write_all, lab_config.write_all = lab_config.write_all, self.write_all
        try:
            labs.append(self)
            self.lab_files = write_all
            super().bring_up(say)
        finally:
            lab_config.write_all = write_all

    def write_all(self, about, program, python):
        self.lab_files(about, program, python)
        etc = f'{self.dir}/etc'
        folder = tempfile.mkdtemp(dir=scratch)
        done = emit('-o', folder, '--folder', etc, '--heartbeat', about['heartbeat'])
        if done.returncode:
            raise Failed(f'muster fleet emit slurm: {done.stderr}')
        for name in os.listdir(folder):
            shutil.copy(f'{folder}/{name}', f'{etc}/{name}')
        shutil.copy(f'{etc}/job_submit.lua.example', f'{etc}/job_submit.lua')
        self.fit(etc, about)
        # The lab's lines without those that the emitted file has, and without its nodes and partitions.
        keys = {line.split('=')[0].lower() for line in read(f'{etc}/muster.conf').splitlines() if '=' in line and line[0] != '#'}
        text = read(self.conf).replace('\\\n', '')
        mine = [line for line in text.splitlines() if line.split('=')[0].lower() not in keys]
        lab_config.write(self.conf, '\n'.join(mine) + '\ninclude muster.conf\n')
        for node in self.nodes:  # every slurmd reads the same files
            shutil.rmtree(f'{self.node_dir(node)}/etc')
            os.symlink(etc, f'{self.node_dir(node)}/etc')

    def fit(self, etc, about):
        """What only the lab needs: all nodes on one machine, and device files of its own."""
        first = about['first_node_port']
        ports = lab_config.bracket(first, first + NODES - 1, 1)
        here = rf'\1 NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports}'
        text = re.sub(r'^(NodeName=.*)$', here, read(f'{etc}/muster.conf'), flags=re.M)
        lab_config.write(f'{etc}/muster.conf', text + self.complaint)
        os.makedirs(f'{self.dir}/dev', exist_ok=True)
        for i in range(about['gpus']):
            make_device(f'{self.dir}/dev/nvidia{i}')
        lab_config.write(f'{etc}/gres.conf', read(f'{etc}/gres.conf').replace('File=/dev/', f'File={self.dir}/dev/'))

    def complaints(self):
        """Lines of any daemon's log that complain."""
        logs = [f'{self.dir}/log/slurmctld.log', *(f'{self.node_dir(n)}/slurmd.log' for n in self.nodes)]
        return [line for log in logs for line in read(log).splitlines() if re.search('error|warning|fatal', line, re.I)]


def plain_complaints():
    """What the lab's own daemons complain of with their usual files: the machine's doing, not that of the emitted ones."""
    lab = Lab.start(nodes=2)
    labs.append(lab)
    logs = [f'{lab.dir}/log/slurmctld.log', *(f'{lab.node_dir(n)}/slurmd.log' for n in lab.nodes)]
    found = {bare(line) for log in logs for line in read(log).splitlines() if re.search('error|warning|fatal', line, re.I)}
    lab.down()
    return found


def bare(line):
    """Without time, process, paths and numbers."""
    return re.sub(r'\d+', 'N', re.sub(r'/\S+', '/PATH', re.sub(r'^\[[^]]*\]\s*', '', line)))


def command():
    done = emit()
    names = re.findall(r'^#### (\S+)$', done.stdout, re.M)
    slurms = ['muster.conf', 'gres.conf', 'topology.conf', 'topology.yaml']
    check(done.returncode == 0 and names[:4] == slurms and len(names) == 10, 'without -o every file is printed after its name',
          (names, done.stderr))
    folder = f'{scratch}/once'
    first, again = emit('-o', folder), emit('-o', folder)
    check(first.returncode == 0 and again.returncode == 0 and len(os.listdir(folder)) == 10, 'with -o they are files of a folder',
          (first, again))
    check(os.access(f'{folder}/muster-release.sh', os.X_OK), 'the timer\'s script may be executed')
    before = read(f'{folder}/topology.yaml')
    other = emit('-o', folder, '--partition', 'other')
    check(other.returncode == 1 and 'differs' in other.stderr and read(f'{folder}/topology.yaml') == before,
          'a file that is there with another text is not written over', other.stderr)
    try:
        import yaml
    except ImportError:
        print('skip - topology.yaml as YAML: python3-yaml is not installed')
        return
    tree = yaml.safe_load(before)[0]
    said = {s['switch']: s.get('nodes') or s.get('children') for s in tree['tree']['switches']}
    check(tree['cluster_default'] is True and said == TREE, 'topology.yaml has the same tree', said)


def topology(lab):
    rows = [fields(line) for line in lab.out('scontrol', 'show', 'topology').splitlines()]
    said = {r['SwitchName']: r.get('Switches') or r['Nodes'] for r in rows}
    check(said == TREE, 'the tree of switches is that of the cluster file', said)
    levels = {r['SwitchName']: r['Level'] for r in rows}
    check((levels['leaf1'], levels['spine2'], levels['core']) == ('0', '1', '2'), 'at its three levels', levels)


def jobs(lab):
    lab.heartbeat()
    gated = lab.sbatch('-N2', '--gpus-per-node=8')
    job = lab.job(gated)
    check(job.get('AdminComment') == 'muster: gate' and job['Reason'] == 'BeginTime', 'a job waits at the emitted gate', job)
    lab.heartbeat(0)
    done = lab.run('/bin/sh', f'{lab.dir}/etc/muster-release.sh', lab.about['heartbeat'])
    check(until(lambda: lab.job(gated)['JobState'] == 'RUNNING', 20), 'the emitted script lets it go', (done, lab.job(gated)))
    gpus = lab.sbatch('-N1', '--gres=gpu:h200:3', script=f'echo $CUDA_VISIBLE_DEVICES > {lab.dir}/home/said; sleep 60')
    check(until(lambda: read(f'{lab.dir}/home/said').strip() == '0,1,2', 20), 'a job gets three GPUs of its node',
          (lab.job(gpus), read(f'{lab.dir}/home/said')))
    node = lab.node('gpu0009')
    check(node['Gres'].startswith('gpu:h200:8') and node['CPUTot'] == '96' and node['ActiveFeatures'] == 'h200',
          'nodes have the GPUs, cores and features that were emitted', node)


def units(folder):
    if shutil.which('systemd-analyze') is None:
        print('skip - the units by systemd-analyze: it is not installed')
        return
    done = subprocess.run(['systemd-analyze', 'verify', f'{folder}/muster-release.service', f'{folder}/muster-release.timer'],
                          capture_output=True, text=True)
    ours = [line for line in (done.stdout + done.stderr).splitlines() if 'muster-release' in line]
    check(not ours, 'systemd takes the service and the timer', ours)


def main():
    with open(f'{scratch}/cluster.yaml', 'w') as f:
        f.write(CLUSTER)
    command()
    units(f'{scratch}/once')
    try:
        usual = plain_complaints()
        lab = EmittedLab.start(nodes=NODES, leaf=4)
    except Unavailable as e:
        print(f'skip - live_slurm_emitted: {e}')
        return 77
    check(lab.states() == {'idle': NODES}, f'{NODES} nodes of the emitted files are idle', lab.states())
    topology(lab)
    jobs(lab)
    new = [line for line in lab.complaints() if bare(line) not in usual]
    check(not new, 'no daemon complains', '\n'.join(new))
    lab.down()
    # And it would be seen.
    EmittedLab.complaint = 'TopologyPlugin=topology/tree\n'
    lab = EmittedLab.start(nodes=NODES, leaf=4)
    new = [line for line in lab.complaints() if bare(line) not in usual]
    check(any('TopologyPlugin' in line for line in new), 'a line that is there twice would have been seen', new)
    return 0


if __name__ == '__main__':
    code = main()
    if code:
        sys.exit(code)
    finish()
