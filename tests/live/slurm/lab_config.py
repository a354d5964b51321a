"""The files that the lab's daemons read: slurm.conf, gres.conf, topology.conf, job_submit.lua, the program that reboots."""
import os

EMIT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../../data/emit/slurm'))
import socket

# MinJobAge keeps ended jobs in squeue for a while; SlurmdTimeout makes a killed slurmd show as DOWN in half a minute; with many
# hundreds of slurmd on one machine a busy moment would be taken for that, so it is longer there.
SLURM = '''\
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
AuthInfo=socket={dir}/run/munge.socket
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key={dir}/etc/jwt_hs256.key
SlurmUser=slurm
SlurmdUser=root
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/nodes/%n/spool
SlurmctldPidFile={dir}/run/slurmctld.pid
SlurmdPidFile={dir}/run/slurmd.%n.pid
SlurmctldLogFile={dir}/log/slurmctld.log
SlurmdLogFile={dir}/nodes/%n/slurmd.log
SlurmctldDebug=info
SlurmdDebug=info
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000,sched_interval=5,bf_interval=5,bf_continue,\
bf_max_job_test=2000,default_queue_depth=2000,max_rpc_cnt=150,nohold_on_prolog_fail
JobSubmitPlugins=lua
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityMaxAge=0-01:00:00
PriorityWeightJobSize=1000
PriorityWeightPartition=2000
PriorityCalcPeriod=00:00:05
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
TopologyPlugin=topology/tree
GresTypes=gpu
{old}MpiDefault=none
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout={silent_s}
SlurmdParameters=config_overrides
InactiveLimit=0
MinJobAge=300
MaxJobCount=200000
MaxArraySize=100001
KillWait=3
MessageTimeout=30
TCPTimeout=10
TreeWidth=64
Waittime=0
JobRequeue=1
RebootProgram={dir}/etc/reboot
ResumeTimeout=60
PrologFlags=Alloc
HealthCheckInterval=0
NodeName={names} NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports} CPUs=96 Sockets=2 CoresPerSocket=48 ThreadsPerCore=1 \
RealMemory=1000000 Gres=gpu:h200:{gpus} Feature=h200,ib State=UNKNOWN
PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=10 PriorityJobFactor=10 DefMemPerCPU=1000
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=100 PriorityJobFactor=100 PreemptMode=OFF DefMemPerCPU=1000
PartitionName=debug Nodes=ALL MaxTime=00:30:00 MaxNodes=2 State=UP PriorityTier=10 PriorityJobFactor=50 DefMemPerCPU=1000
PartitionName=half Nodes={half} MaxTime=INFINITE State=UP PriorityTier=10 PriorityJobFactor=10 DefMemPerCPU=1000
'''

ACCOUNTING = '''\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={dir}/run/munge.socket
AccountingStorageTRES=gres/gpu
PriorityWeightFairshare=10000
PriorityWeightQOS=2000
'''

SLURMDBD = '''\
AuthType=auth/munge
AuthInfo=socket={dir}/run/munge.socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser=slurm
PidFile={dir}/run/slurmdbd.pid
LogFile={dir}/log/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm
'''

# slurmd calls this with its own environment. It must not wait: what it starts ends the very slurmd that called it.
REBOOT = '''\
#!/bin/sh
setsid "{python}" -B "{program}" hand "{dir}" reboot_node "$MUSTER_LAB_NODE" >> "{dir}/log/reboot.log" 2>&1 < /dev/null &
'''

# Sourced by a shell: then squeue, sbatch, scontrol and the others speak to this lab.
ENV = '''\
export SLURM_CONF={dir}/etc/slurm.conf
export PATH="{bin}$PATH:/usr/sbin:/sbin"
export SLURM_LAB={dir}
SLURM_LAB_REST=http://127.0.0.1:{rest_port}
SLURM_LAB_SOCKET={dir}/rest/socket
SLURM_LAB_TOKEN_FILE={dir}/token
'''


def node_name(number):
    return f'gpu{number:04}'


def bracket(first, last, width=4, prefix=''):
    """gpu[0001-0016], or gpu0001 where there is only one."""
    return f'{prefix}{first:0{width}}' if first == last else f'{prefix}[{first:0{width}}-{last:0{width}}]'


def topology(nodes, leaf):
    """Leaves of `leaf` nodes each under one spine."""
    lines = []
    for first in range(1, nodes + 1, leaf):
        lines.append(f'SwitchName=leaf{len(lines) + 1:03} Nodes={bracket(first, min(first + leaf - 1, nodes), prefix="gpu")}')
    lines.append(f'SwitchName=spine Switches={bracket(1, len(lines), 3, "leaf")}')
    return '\n'.join(lines) + '\n'


def gres_line(folder, node, gpus):
    """22.05 counts a GPU only where a device file stands for it; each node has its own, so that one node's device can vanish."""
    return f'NodeName={node} Name=gpu Type=h200 File={folder}/nodes/{node}/dev/{bracket(0, gpus - 1, 1, "gpu")}\n'


def write_node(folder, node, gpus):
    """What a slurmd reads: the files of all, but of gres.conf its own line: a thousand readers of a thousand lines are slow."""
    home = f'{folder}/nodes/{node}/etc'
    os.makedirs(home, exist_ok=True)
    for name in ('slurm.conf', 'topology.conf', 'cgroup.conf'):
        if not os.path.islink(f'{home}/{name}'):
            os.symlink(f'{folder}/etc/{name}', f'{home}/{name}')
    write(f'{home}/gres.conf', 'AutoDetect=off\n' + gres_line(folder, node, gpus))


def job_submit(folder, heartbeat, partitions):
    """The one that `muster fleet emit slurm` hands out, with its marks replaced as there."""
    with open(f'{EMIT}/job_submit.lua') as f:
        text = f.read()
    for mark, value in (('@folder@', folder), ('@heartbeat@', heartbeat), ('@partitions@', partitions)):
        text = text.replace(mark, value)
    return text


def write_all(about, program, python):
    """Every file, from what lab.json says."""
    d, n = about['dir'], len(about['nodes'])
    first = about['first_node_port']
    old = about['slurm'] == '22.05'  # later ones want to know the host by its name, and have left switch/none out
    slurm = SLURM.format(dir=d, port=about['slurmctld_port'], host='localhost' if old else socket.gethostname(),
                         old='SwitchType=switch/none\nJobAcctGatherType=jobacct_gather/none\n' if old else '',
                         names=bracket(1, n, prefix='gpu'), half=bracket(n // 2 + 1, n, prefix='gpu'), gpus=about['gpus'],
                         silent_s=10 if n <= 128 else 60, ports=bracket(first, first + n - 1, 1))
    if about['dbd_port']:
        slurm += ACCOUNTING.format(dir=d, port=about['dbd_port'])
        write(f'{d}/etc/slurmdbd.conf', SLURMDBD.format(dir=d, port=about['dbd_port']), 0o600)
    write(f'{d}/etc/slurm.conf', slurm)
    write(f'{d}/etc/gres.conf', 'AutoDetect=off\n' + ''.join(gres_line(d, node, about['gpus']) for node in about['nodes']))
    for node in about['nodes']:
        write_node(d, node, about['gpus'])
    write(f'{d}/etc/topology.conf', topology(n, about['leaf']))
    # Nothing here uses cgroups, but left to itself slurmd looks for them and ends where it finds none (containers, no systemd).
    write(f'{d}/etc/cgroup.conf', 'CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n' if old else 'CgroupPlugin=disabled\n')
    place = ', '.join(f'["{p}"] = true' for p in about['place'])
    write(f'{d}/etc/job_submit.lua', job_submit(f'{d}/etc', f'{d}/run/heartbeat', place))
    write(f'{d}/etc/reboot', REBOOT.format(dir=d, program=program, python=python), 0o755)
    write(f'{d}/env', ENV.format(dir=d, bin=f'{d}/bin:' if about['root'] else '', rest_port=about['rest_port']))


def write(path, text, mode=0o644):
    """Whole or not at all: daemons and other commands of the lab may be reading it."""
    with open(path + '.new', 'w') as f:
        f.write(text)
    os.chmod(path + '.new', mode)
    os.replace(path + '.new', path)
