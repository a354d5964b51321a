"""Facts of nodes: the probe on this host, nodes over a stand-in for ssh and srun, files of other programs, fingerprints."""
import csv
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios

from checks import MUSTER, STATE, check, environment, finish, run

BIN = os.path.join(STATE, 'bin')
# What ssh does with its arguments: everything up to --, the host, the command for a shell there.
SSH = '''#!/bin/sh
while [ "$1" != "--" ]; do shift; done
case "$2" in
  down*) echo "ssh: connect to host $2 port 22: Connection refused" >&2; exit 255;;
  slow*) exec sleep 60;;
  odd*) echo "hello"; exit 0;;
  other*) echo '{"node":"bad9","source":"probe","facts":{"os.id":"x"}}'; exit 0;;
  long*) echo '{"node":"'$2'.cluster.local","source":"probe","facts":{"os.id":"x"}}'; exit 0;;
esac
echo "Welcome to $2"
exec sh -c "$3"
'''
SRUN = '''#!/bin/sh
while [ "$1" != "sh" ]; do shift; done
exec "$@"
'''


def holds(sentence, held, detail=''):
    check(bool(held), sentence, str(detail)[:1500])


def write(name, text, mode=0o644):
    path = os.path.join(STATE, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def line(node, facts, parts=None, **more):
    return json.dumps({'node': node, 'source': 'probe', 'facts': facts, 'parts': parts or {}, 'unreadable': [], **more},
                      separators=(',', ':')) + '\n'


def opened(*args):
    """Devices of a GPU that the program opened, by its own list of open files and libraries: LD_DEBUG names each library."""
    ran = run(*args, env=environment(LD_DEBUG='files'))
    return re.findall(r'(?:file=|calling init: )(\S*(?:nvidia|libcuda)\S*)', ran.err)


def probe():
    ran = run('fleet', 'probe', '--node', 'n1', '--cost')
    holds('the probe writes one line of facts', ran.code == 0 and ran.out.count('\n') == 1, ran)
    facts = json.loads(ran.out)
    count = len(facts['facts']) + sum(len(p) for p in facts['parts'].values()) + len(facts['unreadable'])
    holds('it tells of at least 200 facts', count >= 200, count)
    holds('it says when and who looked', facts['at'] > 1_700_000_000 and facts['source'] == 'probe', facts)
    holds('what is not there is null, and not left out', facts['facts'].get('driver.nv_peer_mem', 1) is None, facts)
    holds('what nobody can read there is not in it', 'bmc.version' not in facts['facts'], facts)
    with open('/proc/sys/vm/swappiness', encoding='ascii') as f:
        holds('a setting is what the kernel says', facts['facts']['sysctl.vm.swappiness'] == f.read().strip(), facts)
    costs = []
    for _ in range(15):
        costs.append(float(re.search(r'in ([\d.]+) ms', run('fleet', 'probe', '--cost').err)[1]))
    print(f'probe: {count} facts, CPU of the sweep {min(costs):.2f} ms (best of {len(costs)}, median {sorted(costs)[7]:.2f})')
    holds('a sweep takes at most 5 ms of CPU', min(costs) <= 5, costs)
    holds('no library of the GPU is opened', not opened('fleet', 'probe'), opened('fleet', 'probe'))
    table = run('fleet', 'probe', '-o', 'table')
    holds('as a table each fact is a row', table.code == 0 and 'sysctl.vm.swappiness' in table.out, table)
    listed = run('fleet', 'probe', '--list')
    holds('--list says how each fact is read', 'line:/proc/sys/vm/swappiness' in listed.out, listed)
    hand = run('fleet', 'probe', '--set', 'bmc.version=25.06', '--set', 'driver.gsp=')
    holds('--set says what cannot be read, and nothing behind = is absent',
          json.loads(hand.out)['facts']['bmc.version'] == '25.06' and json.loads(hand.out)['facts']['driver.gsp'] is None, hand)
    ran = run('fleet', 'probe', '--root', '/no/such/folder')
    holds('a root that is not there is said', ran.code == 3 and '/no/such/folder' in ran.err, ran)
    ran = run('fleet', 'probe', '--nvml', '--nvml-library', '/no/such/library.so')
    holds('NVML that is not there is said, and the rest is told', ran.code == 5 and '"node"' in ran.out, ran)


def image():
    root = os.path.join(STATE, 'image')
    write('image/boot/vmlinuz-6.8.0-101-generic', 'x')
    write('image/etc/os-release', 'ID=ubuntu\nVERSION_ID="24.04"\n')
    write('image/var/lib/dpkg/status', 'Package: munge\nStatus: install ok installed\nVersion: 0.5.15-2\n')
    ran = run('fleet', 'probe', '--root', root)
    got = json.loads(ran.out)
    holds('an image is named after its folder', got['node'] == 'image', ran)
    holds('its newest kernel is the one that will run', got['facts']['kernel.installed'] == '6.8.0-101-generic', ran)
    holds('nothing of the kernel that runs here is told of it', not [k for k in got['facts'] if k.startswith('sysctl')], ran)
    path = write('image.jsonl', ran.out)
    now = write('now.jsonl', line('g1', {'kernel.release': '6.8.0-45-generic', 'munge.version': '0.5.15', 'node.boot_id': 'a'}) +
                line('g2', {'kernel.release': '6.8.0-101-generic', 'munge.version': '0.5.15', 'node.boot_id': 'b'}))
    ran = run('fleet', 'inventory', now, '--against', path)
    holds('who would change by a boot is named with what changes',
          ran.code == 6 and re.search(r'kernel\.release\s+6\.8\.0-45-generic\s+6\.8\.0-101-generic\s+1\s+g1', ran.out), ran)
    ran = run('fleet', 'inventory', now, '--against', path, '-o', 'json')
    holds('and who would not', json.loads(ran.out)['unchanged'] == 'g2', ran)


def remote():
    os.makedirs(BIN, exist_ok=True)
    write('bin/ssh', SSH, 0o755)
    write('bin/srun', SRUN, 0o755)
    env = environment(PATH=BIN + ':' + os.environ['PATH'])
    out = os.path.join(STATE, 'ssh.jsonl')
    ran = run('fleet', 'inventory', '--ssh', 'good[1-3],down1,odd1', '--program', MUSTER, '--out', out, env=env)
    with open(out, encoding='utf-8') as f:
        names = sorted(json.loads(x)['node'] for x in f)
    holds('nodes that answer are in the facts', names == ['good1', 'good2', 'good3'], (names, ran))
    holds('one that does not is named with the reason', 'down1: exit code 255: ssh: connect to host down1' in ran.err, ran)
    holds('one that says no facts is named', 'odd1: says nothing that are facts' in ran.err, ran)
    holds('and the exit code says so', ran.code == 5 and '2 nodes did not answer' in ran.err, ran)
    holds('whose facts are in the file and whose not is said',
          f'{out} has the facts of good[1-3]' in ran.err and 'did not answer: down1,odd1' in ran.err, ran)
    before = os.stat(out).st_size
    ran = run('fleet', 'inventory', '--ssh', 'down[1-2]', '--program', MUSTER, '--out', out, env=env)
    holds('where nothing came back the file of before stays', os.stat(out).st_size == before > 0, ran)
    holds('and it says so', ran.code == 5 and f'nothing came back; {out} is as it was' in ran.err, ran)
    new = os.path.join(STATE, 'new.jsonl')
    ran = run('fleet', 'inventory', '--ssh', 'down1', '--program', MUSTER, '--out', new, env=env)
    holds('nor is an empty one made', ran.code == 5 and not os.path.exists(new), ran)
    holds('nothing is left beside it', not [n for n in os.listdir(STATE) if n.endswith('.tmp')], os.listdir(STATE))
    ran = run('fleet', 'inventory', '--ssh', 'other1,long1', '--program', MUSTER, '-o', 'json', env=env)
    told = json.loads(ran.out)
    holds('an answer in the name of another node is refused', ran.code == 5 and 'other1: answered as bad9' in ran.err and
          told['failed'] == [{'node': 'other1', 'why': 'answered as bad9'}], ran)
    holds('and the long form of a name is the node that was asked', [n['node'] for n in told['nodes']] == ['long1'], ran)
    ran = run('fleet', 'inventory', '--ssh', 'good1,slow1', '--program', MUSTER, '--deadline', '4s', env=env)
    holds('one that hangs is given up on, and the rest goes on',
          ran.code == 5 and 'slow1: did not answer in time' in ran.err and 'good1' in ran.out, ran)
    tmp = os.path.join(STATE, 'tmp')
    os.makedirs(tmp, exist_ok=True)
    ran = run('fleet', 'inventory', '--ssh', 'good7', env={**env, 'TMPDIR': tmp}, timeout=100)
    holds('the program is sent along where none is named', ran.code == 0 and 'good7' in ran.out, ran)
    holds('and leaves nothing behind', os.listdir(tmp) == [], os.listdir(tmp))
    ran = run('fleet', 'inventory', '--srun', 'good[8-9]', '--program', MUSTER, '-o', 'json', env=env)
    holds('by srun likewise', sorted(n['node'] for n in json.loads(ran.out)['nodes']) == ['good8', 'good9'], ran)
    ran = run('fleet', 'inventory', '--ssh', "g1';touch x;'", '--program', MUSTER, env=env)
    holds('a name is a name and no command', not os.path.exists('x'), ran)
    ran = run('fleet', 'inventory', '--ssh', '-oProxyCommand=x', '--program', MUSTER, env=env)
    holds('nor an option of ssh', ran.code == 2, ran)


def files():
    facts = {'kernel.release': '6.8.0', 'driver.loaded': '580.159.04', 'node.serial': 'A1'}
    good = write('f/a.jsonl', line('g1', facts) + line('g2', {**facts, 'node.serial': 'A2'}) +
                 line('g3', {**facts, 'kernel.release': '6.9.0', 'node.serial': 'A3'}))
    ran = run('fleet', 'inventory', good, '--fingerprints', '-o', 'json')
    kernel = [x for x in json.loads(ran.out)['layers'] if x['layer'] == 'kernel'][0]
    holds('who is alike in a layer shares a fingerprint', [g['nodes'] for g in kernel['groups']] == ['g[1-2]', 'g3'], ran)
    driver = [x for x in json.loads(ran.out)['layers'] if x['layer'] == 'driver'][0]
    holds('a serial number makes nobody different', [g['count'] for g in driver['groups']] == [3], ran)
    ran = run('fleet', 'inventory', good, '--fingerprints', '--against', good)
    holds('fingerprints and another boot are two questions', ran.code == 2 and 'one at a time' in ran.err, ran)
    says_nothing = write('f/nothing.jsonl', line('image', {}))
    ran = run('fleet', 'inventory', good, '--against', says_nothing)
    holds('an image of which nothing is known is no reason to say that nobody would change',
          ran.code == 1 and 'says nothing' in ran.err and 'probe --root' in ran.err, ran)
    ran = run('fleet', 'inventory', good, '--against', good)
    holds('how much was compared is said', ran.code == 0 and '0 of 3 nodes would change; 6 facts were compared' in ran.err, ran)
    ran = run('fleet', 'inventory', write('f/void.jsonl', ''), '--out', os.path.join(STATE, 'f/new.jsonl'))
    holds('a file that was not there is not said to be as it was', 'was not made' in ran.err, ran)
    ran = run('fleet', 'probe', '--list', '-o', 'json')
    listed = json.loads(ran.out)
    holds('what can be known is there for programs', len(listed) > 150 and listed[0].keys() >= {'fact', 'layer', 'kind'})
    for name in ('a,b', 'a[1-2]', 'a\nb', 'a b'):
        ran = run('fleet', 'probe', '--node', name)
        holds(f'{name!r} is no name of a node', ran.code == 2 and 'no name of one node' in ran.err and ran.out == '', ran)
    ran = run('fleet', 'inventory', good, '-o', 'csv')
    rows = list(csv.DictReader(ran.out.splitlines()))
    holds('as CSV each fact is a column', rows[2]['kernel.release'] == '6.9.0' and len(rows) == 3, ran)
    bad = write('f/bad.jsonl', line('g1', facts) + line('g2', {'x': 1}))
    ran = run('fleet', 'inventory', bad)
    holds('what is wrong in a file is said with its line',
          ran.code == 2 and 'bad.jsonl:2: x must be text or null' in ran.err, ran)
    ran = run('fleet', 'inventory', good, '--set', 'g9:bmc.version=1')
    holds('--set of a node that is not there is said', ran.code == 3 and 'g9' in ran.err, ran)
    tree = {'ansible_facts': {'ansible_kernel': '6.8.0-45', 'ansible_distribution': 'Ubuntu', 'ansible_cmdline': {'iommu': 'pt'},
                              'ansible_processor': ['0', 'GenuineIntel', 'Xeon'], 'ansible_interfaces': ['eth0', 'lo'],
                              'ansible_eth0': {'mtu': 9000, 'module': 'mlx5_core'}, 'ansible_lo': {'mtu': 65536}}}
    write('ansible/gpu001', json.dumps(tree))
    ran = run('fleet', 'inventory', os.path.join(STATE, 'ansible'), '-o', 'json')
    node = json.loads(ran.out)['nodes'][0]
    holds('what Ansible wrote is read', node['node'] == 'gpu001' and node['facts']['kernel.release'] == '6.8.0-45' and
          node['facts']['cmdline.iommu'] == 'pt' and node['facts']['cmdline.pci'] is None and
          node['parts'] == {'eth0': {'netif.mtu': '9000', 'netif.driver': 'mlx5_core'}}, ran)
    printed = write('printed.txt', 'gpu002 | SUCCESS => ' + json.dumps(tree, indent=4) +
                    '\ngpu003 | UNREACHABLE! => {\n    "x": 1\n}\n')
    ran = run('fleet', 'inventory', printed, '-o', 'json')
    holds('and what it printed', [n['node'] for n in json.loads(ran.out)['nodes']] == ['gpu002'], ran)
    def probed(at, **values):
        return json.dumps({'node': 'g1', 'source': 'probe', 'at': at, 'facts': values, 'parts': {}, 'unreadable': []}) + '\n'

    write('ord/2-new.jsonl', probed(1795101873, kernel='new'))
    write('ord/9-old.jsonl', probed(1795000000, kernel='old', driver='gone'))
    ran = run('fleet', 'inventory', os.path.join(STATE, 'ord'), '-o', 'json')
    holds('of two probes the newer holds, whatever their files are called, and it is said',
          json.loads(ran.out)['nodes'][0]['facts'] == {'kernel': 'new'} and 'passed over: g1' in ran.err, ran)
    for at in (-5, 1795101873000, 'yesterday'):
        ran = run('fleet', 'check', write('at.jsonl', line('g1', facts) + probed(at)))
        holds(f'{at} is no time', ran.code == 2 and 'at.jsonl:2: at must be' in ran.err, ran)
    ran = run('fleet', 'inventory', write('bom.jsonl', '\ufeff' + line('g1', facts)))
    holds('a byte order mark is no part of a file', ran.code == 0 and 'g1' in ran.out, ran)
    ran = run('fleet', 'inventory', write('f/novel.txt', 'It was a dark night.\n'))
    holds('what holds no facts is refused', ran.code == 2 and 'no facts' in ran.err, ran)
    ran = run('fleet', 'inventory')
    holds('without anything to read it says what to give', ran.code == 2 and '--ssh' in ran.err, ran)
    hostile = write('f/hostile.jsonl', line('g\x1b[31m1', {'kernel.release': '\x1b]0;x\x07'}))
    ran = run('fleet', 'inventory', hostile)
    holds('names cannot steer a terminal', '\x1b' not in ran.out, ran)


def settings():
    parts = {f'mlx5_{i}': {'nic.firmware': '28.43.2566'} for i in range(2)}
    path = write('set/a.jsonl', ''.join(line(f'g{i}', {'driver.loaded': '580.159.04'}, parts if i < 3 else {})
                                         for i in range(1, 5)))

    def put(*words):
        ran = run('fleet', 'inventory', path, *[x for w in words for x in ('--set', w)], '-o', 'json')
        return ran, {n['node']: n for n in json.loads(ran.out)['nodes']} if ran.code == 0 else {}

    ran, nodes = put('g2:mlx5_0:nic.ats=on')
    holds('--set knows parts', nodes['g2']['parts']['mlx5_0'].get('nic.ats') == 'on' and
          'nic.ats' not in nodes['g1']['parts']['mlx5_0'], ran)
    ran, nodes = put('mlx5_1:nic.ats=on')
    holds('a part of no node in particular is that of all that have it',
          [n for n in nodes if 'nic.ats' in nodes[n]['parts'].get('mlx5_1', {})] == ['g1', 'g2'] and
          nodes['g3']['parts'] == {}, ran)
    ran, nodes = put('g[1-2],g4:bmc.version=25.06')
    holds('--set takes lists of nodes', [n for n in nodes if nodes[n]['facts'].get('bmc.version')] == ['g1', 'g2', 'g4'], ran)
    for word, code, say in (('g1:mlx5_9:nic.ats=on', 3, 'g1 has no part mlx5_9'),
                            ('g[1-3]:mlx5_0:nic.ats=on', 3, 'g3 has no part'),
                            ('mlx5_9:nic.ats=on', 3, 'no node has a part mlx5_9'), ('g[1-9]:bmc.version=1', 3, 'no node g5'),
                            ('g1:nic.ats=on', 2, 'such as g1:mlx5_0:nic.ats'), ('nic.ats=on', 2, 'such as mlx5_0:nic.ats'),
                            ('g1:mlx5_0:bmc.version=1', 2, 'write g1:bmc.version'), ('g[1-:bmc.version=1', 2, '--set g[1-')):
        ran, _ = put(word)
        holds(f'--set {word} is refused with what is wrong', ran.code == code and say in ran.err and 'next:' in ran.err, ran)
    ran, nodes = put('driver.laoded=1', 'site.row=7')
    holds('a key that nobody knows is warned of with the one that was meant', 'did you mean driver.loaded?' in ran.err, ran)
    holds("and is taken, for it may be the site's own", nodes['g1']['facts'].get('site.row') == '7', ran)
    holds('a key of our own is no reason to warn', 'warning' not in put('bmc.version=1')[0].err)


def broken():
    row = line('g1', {'kernel.release': '6.8.0'})
    whole = write('cut/whole.jsonl', row + line('g2', {}).rstrip('\n'))
    ran = run('fleet', 'inventory', whole, '-o', 'json')
    holds('a last line that only lacks its end counts', ran.code == 0 and len(json.loads(ran.out)['nodes']) == 2, ran)
    cut = write('cuts/cut.jsonl', row.replace('g1', 'g3') + line('g4', {})[:-20])
    ran = run('fleet', 'inventory', whole, cut, '-o', 'json')
    holds('one that is cut off is named with file and line',
          ran.code == 5 and f'{cut}:2: the last line is cut off' in ran.err and len(json.loads(ran.out)['nodes']) == 3, ran)
    folder = os.path.join(STATE, 'many')
    write('many/a.jsonl', row)
    write('many/g7', '{"changed": false, "msg": "Failed to connect", "unreachable": true}')
    write('many/g8.xml', '<?xml version="1.0" ?>\n<nvidia_smi_log>\n<driver_version>580.1</driver_version>\n<gpu id="0')
    ran = run('fleet', 'inventory', folder, '-o', 'json')
    holds('a bad file in a folder is named, and the rest goes on',
          ran.code == 5 and 'g7: no facts: Ansible says of g7: Failed to connect' in ran.err and 'g8.xml' in ran.err and
          [n['node'] for n in json.loads(ran.out)['nodes']] == ['g1'] and '2 files of facts were left out' in ran.err, ran)
    failed = os.path.join(STATE, 'failed')
    write('failed/a.jsonl', row)
    write('failed/b.jsonl', '')
    write('failed/c.jsonl', '\n')
    os.symlink('/nowhere', os.path.join(failed, 'd.jsonl'))
    ran = run('fleet', 'inventory', failed)
    holds('an empty file in a folder and a link to nowhere are nodes that are missing',
          ran.code == 5 and all(f'failed/{x}.jsonl' in ran.err for x in 'bcd') and
          '3 files of facts were left out' in ran.err, ran)
    ran = run('fleet', 'inventory', os.path.join(failed, 'a.jsonl'), os.path.join(failed, 'b.jsonl'))
    holds('one that is named beside others is an error', ran.code == 2 and 'b.jsonl: nothing is in it' in ran.err, ran)
    closed = write('closed/in/b.jsonl', row.replace('g1', 'g2'))
    write('closed/a.jsonl', row)
    os.chmod(os.path.dirname(closed), 0)
    if os.geteuid() != 0:
        ran = run('fleet', 'inventory', os.path.join(STATE, 'closed'))
        holds('so is a folder within it that nobody may read', ran.code == 5 and 'closed/in: Permission denied' in ran.err, ran)
    os.chmod(os.path.dirname(closed), 0o700)
    ran = run('fleet', 'drift', folder)
    holds('for the commands that judge likewise', ran.code == 5 and 'next:' in ran.err, ran)
    ran = run('fleet', 'inventory', os.path.join(folder, 'g8.xml'))
    holds('one that is named itself is an error, with what to do', ran.code == 2 and 'next:' in ran.err, ran)
    os.makedirs(os.path.join(STATE, 'hollow'), exist_ok=True)
    ran = run('fleet', 'probe', '--root', os.path.join(STATE, 'hollow'))
    holds('a folder that holds no system is no image', ran.code == 2 and 'no system image' in ran.err and ran.out == '', ran)


def narrow():
    for args in (('-o', 'table'), ('--list',)):
        parent, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 160, 0, 0))
        ran = subprocess.Popen([MUSTER, 'fleet', 'probe', *args], stdout=child, env=environment(NO_COLOR='1'))
        os.close(child)
        out = b''
        try:
            while part := os.read(parent, 65536):
                out += part
        except OSError:
            pass  # the other end was closed
        os.close(parent)
        widest = max(out.decode().splitlines(), key=len)
        holds(f'probe {args[-1]} fits into 120 columns of a terminal',
              ran.wait() == 0 and 60 < len(widest.rstrip()) <= 120, widest)


def main():
    probe()
    image()
    remote()
    files()
    settings()
    broken()
    narrow()
    finish()


if __name__ == '__main__':
    sys.exit(main())
