"""A fleet of one kind in which a few nodes differ, as lines of facts; and the site that Ansible runs on chroots."""
import json
import os

KIND = {'node.product': 'DGXH100', 'cpu.model': 'Xeon 8480C', 'memory.gib': '2048', 'gpu.count': '8', 'nic.count': '0',
        'os.id': 'debian', 'os.version': '12', 'kernel.release': '6.1.0-28-amd64'}
GOOD = {'sysctl.vm.swappiness': '1', 'sysctl.net.ipv4.tcp_rmem': '4096 131072 67108864', 'cmdline.iommu': 'pt',
        'thp.enabled': 'madvise', 'limit.memlock': 'unlimited', 'limits.of': 'slurmd', 'slurm.constrain_devices': 'yes',
        'shm.bytes': '1099511627776', 'nvidia_fs.rw_stats': '0'}
BAD = {'sysctl.vm.swappiness': '60', 'sysctl.net.ipv4.tcp_rmem': '4096 87380 6291456', 'cmdline.iommu': None,
       'thp.enabled': 'always', 'limit.memlock': '8388608', 'slurm.constrain_devices': 'no', 'shm.bytes': '540000000000',
       'nvidia_fs.rw_stats': '1'}


def line(node, facts, parts=None):
    out = {'node': node, 'source': 'test', 'at': 1763546400, 'facts': facts}
    if parts:
        out['parts'] = parts
    return json.dumps(out, separators=(',', ':')) + '\n'


def fleet(odd, even=12):
    """`odd`: names and what is wrong on each; besides them `even` nodes that are alike."""
    nodes = {f'n{i:03d}': {} for i in range(even)}
    nodes.update(odd)
    parts = {'eth0': {'netif.mtu': '9000'}}
    return ''.join(line(name, {**KIND, **GOOD, **wrong}, parts) for name, wrong in sorted(nodes.items()))


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as f:
        f.write(text)
    return path


def chroot_variables(site, where):
    """Lets the emitted site work on folders: where each node's is, no running kernel, no sudo."""
    for node, folder in where.items():
        write(f'{site}/host_vars/{node}.yml', '---\nansible_connection: community.general.chroot\n'
              f'ansible_host: {folder}\nansible_python_interpreter: /usr/bin/python3\n')
    return ['-e', '{"muster_live": false, "muster_become": false}']
