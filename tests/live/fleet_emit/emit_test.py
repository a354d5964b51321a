"""What is emitted is taken by the programs it is for: ansible-lint's production profile finds nothing, a second run changes
nothing, a value changed by hand is found, cloud-init's schema and Terraform's language hold."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import chroots  # noqa: E402
import fleet  # noqa: E402
from ground import DIR, MUSTER, check, finish  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
chroots.need_root_and('ansible-playbook', 'ansible-lint', 'debootstrap')
KEPT = os.path.abspath(sys.argv[2])
ENV = {**os.environ, 'ANSIBLE_NOCOLOR': '1', 'ANSIBLE_HOME': DIR + '/ansible', 'HOME': DIR, 'ANSIBLE_RETRY_FILES_ENABLED': '0',
       'ANSIBLE_LOCALHOST_WARNING': '0', 'LC_ALL': 'C.UTF-8', 'ANSIBLE_DEPRECATION_WARNINGS': '0'}


def run(*words, cwd=DIR, env=None, timeout=300):
    done = subprocess.run(words, cwd=cwd, env=env or ENV, capture_output=True, text=True, timeout=timeout)
    return done.returncode, done.stdout, done.stderr


def muster(*words):
    return run(MUSTER, *words)


facts = fleet.write(DIR + '/facts.jsonl', fleet.fleet({'odd1': fleet.BAD, 'odd2': fleet.BAD}))
code, out, err = muster('fleet', 'emit', 'ansible', facts, '-o', DIR + '/site')
check(code == 0, 'a site is emitted', (out, err))
SITE = DIR + '/site'
NODES = {'odd1': DIR + '/one', 'odd2': DIR + '/two'}
hosts = sorted({h for g in yaml.safe_load(open(SITE + '/inventory.yml'))['all']['children'].values() for h in g['hosts']})
check(hosts == ['odd1', 'odd2'], 'only the nodes that differ are in it', hosts)

# ---- ansible-lint, with nothing left out: it looks for files by itself, as a named folder would be taken for one file
code, out, err = run('ansible-lint', '--offline', '--profile', 'production', '-p', '--nocolor', cwd=SITE)
files = int((re.search(r'0 failure\(s\), 0 warning\(s\) on (\d+) files', err) or [0, 0])[1])
check(code == 0 and not out.strip() and files >= 10, f"ansible-lint's production profile finds nothing in {files} files",
      (out, err[-1500:]))
with open(SITE + '/roles/muster/tasks/main.yml', 'a') as f:
    f.write('- name: broken\n  shell: ls\n')
code, out, err = run('ansible-lint', '--offline', '--profile', 'production', '-p', '--nocolor', cwd=SITE)
check(code != 0 and out.strip(), 'and it does find what is put there to be found', (out, err[-800:]))
shutil.rmtree(SITE)
muster('fleet', 'emit', 'ansible', facts, '-o', SITE)

# ---- two chroots
for folder in NODES.values():
    chroots.copy(KEPT, folder)
CHROOT = fleet.chroot_variables(SITE, NODES)


def play(*more):
    code, out, err = run('ansible-playbook', 'site.yml', *CHROOT, *more, cwd=SITE, env={**ENV, 'ANSIBLE_STDOUT_CALLBACK': 'json'})
    try:
        said = json.loads(out[out.index('{'):])
    except ValueError:
        check(False, 'ansible-playbook says JSON', (code, out[-1500:], err[-1500:]))
        finish()
    changed = [(host, task['task']['name'], r.get('path', r.get('dest', ''))) for p in said['plays'] for task in p['tasks']
               for host, result in task['hosts'].items() for r in result.get('results', [result]) if r.get('changed')]
    return code, said['stats'], changed


code, stats, changed = play('--check', '--diff')
would = {h: s['changed'] for h, s in stats.items()}
check(code == 0 and all(would.get(n, 0) > 0 for n in NODES), f'a check run says what would change: {would}', (code, stats))
code, stats, changed = play('--limit', 'odd1')
check(code == 0 and stats['odd1']['changed'] > 0 and stats['odd1']['failures'] == 0, 'it is applied to one node', stats)
code, stats, changed = play('--check', '--diff', '--limit', 'odd1')
check(code == 0 and stats['odd1']['changed'] == 0 and not changed, 'the second check run changes nothing', (stats, changed))
code, stats, changed = play('--limit', 'odd1')
check(code == 0 and stats['odd1']['changed'] == 0, 'and nor does a second run', (stats, changed))


def text(path):
    with open(NODES['odd1'] + path) as f:
        return f.read()


check('vm.swappiness=1' in text('/etc/sysctl.d/90-muster-vm.swappiness.conf').replace(' ', ''), 'the value is the fleet\'s')
check('[Service]\nLimitMEMLOCK=infinity\n' == text('/etc/systemd/system/slurmd.service.d/90-muster-LimitMEMLOCK.conf'),
      "a limit is the unit's, in systemd's words")
check('ConstrainDevices=yes\n' in text('/etc/slurm/cgroup.conf'), 'a line of configuration is there')
grub = NODES['odd1'] + '/etc/default/grub.d/90-muster-iommu.cfg'
QUIET = 'GRUB_CMDLINE_LINUX_DEFAULT="quiet iommu=off"; GRUB_CMDLINE_LINUX="iommu=on iommu.strict=1 a=b"'
code, out, err = run('sh', '-c', f'{QUIET}; '
                     f'. {grub}; . {grub}; echo "$GRUB_CMDLINE_LINUX|$GRUB_CMDLINE_LINUX_DEFAULT"')
check(out == 'iommu.strict=1 a=b iommu=pt|quiet\n', 'a kernel argument stands there once, whatever else is said', (out, err))

# ---- by hand
path = NODES['odd1'] + '/etc/sysctl.d/90-muster-vm.swappiness.conf'
with open(path) as f:
    was = f.read()
with open(path, 'w') as f:
    f.write(was.replace('=1', '=60').replace('= 1', '= 60'))
code, stats, changed = play('--check', '--diff')
check([c[0] for c in changed if c[0] == 'odd1'] == ['odd1'] and stats['odd1']['changed'] == 1,
      'a value that somebody changed by hand is found, and it alone', changed)
check(stats['odd2']['changed'] == would['odd2'], 'and all that was to be done on the other', stats)

# ---- a reboot that an earlier run left undone: the files are right, what runs is not
LISTS = {f'muster_{name}': [] for name in ('sysctl', 'files', 'lines', 'mounts', 'apt', 'dnf', 'grubby', 'services')}
DUE = ('-e', json.dumps({**LISTS, 'muster_live': True, 'muster_drained': True, 'muster_running': [
    {'path': '/srv/version', 'pattern': r'^580\.95\.05$', 'there': True},
    {'path': '/srv/cmdline', 'pattern': r'(^|\s)iommu(=|\s|$)', 'there': False}]}), '--limit', 'odd1')
fleet.write(NODES['odd1'] + '/srv/cmdline', 'quiet iommu.strict=1\n')
for version, due in (('580.82.07', 1), ('580.95.05', 0)):
    fleet.write(NODES['odd1'] + '/srv/version', version + '\n')
    for turn in ('first', 'second'):
        code, stats, changed = play(*DUE)
        check(code == 0 and stats['odd1']['changed'] == due, f'with {version} loaded a reboot is {"" if due else "not "}due, '
              f'in the {turn} run', (stats, changed))

# ---- a package of another version, which is held as user-data leaves it
TWO = NODES['odd2']


def inside(*words):
    return run('chroot', TWO, 'env', 'DEBIAN_FRONTEND=noninteractive', 'LC_ALL=C', *words)


index = ''
for version in ('580.82.07-1', '580.95.05-1', '580.95.055-1'):
    control = f'Package: nvidia-open\nVersion: {version}\nArchitecture: all\nMaintainer: a <a@b.c>\nDescription: none\n'
    fleet.write(f'{TWO}/srv/{version}/DEBIAN/control', control)
    os.makedirs(TWO + '/srv/offered', exist_ok=True)
    inside('dpkg-deb', '-b', '/srv/' + version, f'/srv/offered/{version}.deb')
    with open(f'{TWO}/srv/offered/{version}.deb', 'rb') as f:
        body = f.read()
    index += f'{control}Filename: ./{version}.deb\nSize: {len(body)}\nSHA256: {hashlib.sha256(body).hexdigest()}\n\n'
fleet.write(TWO + '/srv/offered/Packages', index)
fleet.write(TWO + '/etc/apt/sources.list', 'deb [trusted=yes] file:/srv/offered ./\n')
for folder in ('/var/cache/apt/archives/partial', '/var/lib/apt/lists/partial'):
    os.makedirs(TWO + folder, exist_ok=True)
for line in ('apt-get update', 'apt-get -y install nvidia-open=580.82.07-1', 'apt-mark hold nvidia-open'):
    done = inside(*line.split())
    check(done[0] == 0, line, done)
own = fleet.write(DIR + '/one.yaml', 'name: one\ngpu: H200\nnodes:\n  - name: odd2\n')
driver = fleet.write(DIR + '/driver.yaml', 'declare:\n  - facts: {driver.on_disk: "580.95.05"}\n')
muster('fleet', 'provision', '--cluster', own, '--out', DIR + '/held', '--declared', driver)
words = ['ansible-playbook', 'site.yml', *fleet.chroot_variables(DIR + '/held/ansible', {'odd2': TWO}), '-e',
         'muster_drained=true']
code, out, err = run(*words, cwd=DIR + '/held/ansible')
version = inside('dpkg-query', '-W', '-f', '${Version} ${db:Status-Want}', 'nvidia-open')[1]
check(code == 0 and version == '580.95.05-1 hold', 'the role changes a held package to that very version and holds it again',
      (version, out[-1500:], err[-500:]))
code, out, err = run(*words, cwd=DIR + '/held/ansible')
check(code == 0 and 'changed=0' in out, 'and finds nothing to do after that', out[-800:])

# ---- the other tools
code, out, err = muster('fleet', 'emit', 'cloud-init', facts)
check(code == 0 and out.startswith('#cloud-config\n'), 'user-data is emitted', (out, err))
user_data = fleet.write(DIR + '/one/srv/user-data.yaml', out)
code, out, err = run('chroot', NODES['odd1'], 'cloud-init', 'schema', '--config-file', '/srv/user-data.yaml')
check(code == 0 and 'Valid' in out, "cloud-init's own schema takes it", (out, err))
code, out, err = muster('fleet', 'provision', 'check', user_data)
check(code == 0 and out == '', 'and no key of it would be passed over', (out, err))
fleet.write(DIR + '/one/srv/wrong.yaml', open(user_data).read().replace('runcmd:', 'runcmdx:'))
code, out, err = run('chroot', NODES['odd1'], 'cloud-init', 'schema', '--config-file', '/srv/wrong.yaml')
ours, said, _ = muster('fleet', 'provision', 'check', DIR + '/one/srv/wrong.yaml')
check(ours == 6 and 'runcmdx is no key that is read; runcmd is' in said,
      f'a misspelt key is told (cloud-init itself exits {code})', said)
WRONG = ('packages: 5', 'runcmd: foo', 'write_files:\n  - content: a', 'hostname: 5', 'power_state: {delay: now}', 'users: 7',
         'write_files:\n  - path: /a\n    permissions: 0644', 'users:\n  - {name: a, lock_passwd: 5}', 'mounts: [/dev/sdb]',
         'ssh_authorized_keys: a', 'ntp: {servers: a}')
RIGHT = ('users: ann', 'users: [default, {name: a, sudo: null}]', 'package_upgrade: no', 'runcmd: [ls, [ls]]', 'ntp:',
         'power_state: {mode: reboot, delay: now}', 'packages: [a, [b, "1"]]')
for body in WRONG + RIGHT:
    own = fleet.write(DIR + '/one/srv/type.yaml', '#cloud-config\n' + body + '\n')
    code, out, err = run('chroot', NODES['odd1'], 'cloud-init', 'schema', '--config-file', '/srv/type.yaml')
    ours, said, _ = muster('fleet', 'provision', 'check', own)
    right = body in RIGHT
    check((code == 0, ours == 0) == (right, right), f'{body!r} is {"right" if right else "wrong"} to cloud-init and to us',
          (out, err, said))
code, out, err = muster('fleet', 'emit', 'goss', facts)
goss = yaml.safe_load(out)
check(code == 0 and goss['kernel-param']['vm.swappiness']['value'] == '1' and '/proc/cmdline' in goss['file'],
      'assertions for goss are YAML', out[:500])
code, out, err = muster('fleet', 'emit', 'redfish', facts)
check(code == 0 and json.loads(out)['bundles'] == [], 'no firmware differs, and no task is emitted', out)

# ---- Terraform
tfvars = DIR + '/muster.auto.tfvars'
code, out, err = muster('fleet', 'emit', 'tfvars', facts, '-o', tfvars)
check(code == 0, 'variables for Terraform are emitted', err)
if os.path.isdir(HERE + '/node_modules/@cdktf/hcl2json'):
    code, out, err = run('node', HERE + '/hcl.mjs', tfvars)
    read = json.loads(out) if code == 0 else {}
    check(code == 0 and sorted(read['muster_nodes']) == ['odd1', 'odd2'], "Terraform's language is kept", (out[:500], err[:500]))
    broken = fleet.write(DIR + '/broken.tfvars', open(tfvars).read().replace('= {', '= = {', 1))
    check(run('node', HERE + '/hcl.mjs', broken)[0] != 0, 'and where it is broken, that is told')
else:
    print('skip - terraform: @cdktf/hcl2json is not installed here')

# ---- a cluster that is to be installed
declared = fleet.write(DIR + '/golden.yaml', 'declare:\n  - facts:\n      sysctl.vm.swappiness: 1\n      cmdline.iommu: pt\n'
                       '      driver.on_disk: "580.95.05"\n      containerd.version: 1.7.27-1\n')
run('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', 'ann@desk', '-f', DIR + '/key')
code, out, err = muster('fleet', 'provision', '--cluster', 'h200-1024', '--out', DIR + '/install', '--declared', declared,
                        '--ssh-key', DIR + '/key.pub')
check(code == 0, 'files to install a cluster are written', (out, err))
INSTALL = DIR + '/install'
code, out, err = run('ansible-lint', '--offline', '--profile', 'production', '-p', '--nocolor', cwd=INSTALL + '/ansible')
check(code == 0 and not out.strip(), 'ansible-lint finds nothing in its site', (out, err[-1500:]))
code, out, err = run('ansible-inventory', '--list', cwd=INSTALL + '/ansible')
check(code == 0 and len(json.loads(out)['_meta']['hostvars']) == 128, 'its inventory has every node', (out[:300], err[:300]))
for name in sorted(os.listdir(INSTALL + '/cloud-init')) + sorted(os.listdir(INSTALL + '/autoinstall')):
    folder = 'cloud-init' if 'user-data' in name else 'autoinstall'
    body = fleet.write(DIR + '/one/srv/' + name, open(f'{INSTALL}/{folder}/{name}').read())
    code, out, err = muster('fleet', 'provision', 'check', body)
    check(code == 0, f'{name}: every key of it is read', (out, err))
    if folder == 'cloud-init':
        code, out, err = run('chroot', NODES['odd1'], 'cloud-init', 'schema', '--config-file', '/srv/' + name)
        check(code == 0, f"{name}: cloud-init's schema takes it", (out, err))
user_data = yaml.safe_load(open(INSTALL + '/cloud-init/change_01.user-data.yaml'))
check(user_data['ssh_authorized_keys'] == [open(DIR + '/key.pub').read().strip()], 'what ssh-keygen wrote may log in', user_data)
held = next(f['content'] for f in user_data['write_files'] if f['path'] == '/etc/apt/apt.conf.d/90-muster-held')
fleet.write(DIR + '/one/etc/apt/apt.conf.d/90-muster-held', held)
code, out, err = run('chroot', NODES['odd1'], 'apt-config', 'dump', '--format', '%v%n', 'Unattended-Upgrade::Package-Blacklist')
patterns = [row for row in out.splitlines() if row]


def held_back(package):
    return any(re.match(pattern, package) for pattern in patterns)


check(all(map(held_back, ('nvidia-open', 'libnvidia-compute-580', 'linux-image-6.8.0-90-generic', 'containerd.io'))) and
      not any(map(held_back, ('openssl', 'containerd-io', 'containerd.io-extra', 'libc6', 'linux-libc-dev'))),
      'apt reads which packages unattended-upgrades leaves alone', (patterns, err))
check(len(yaml.safe_load(open(INSTALL + '/warewulf/nodes.conf'))['nodes']) == 128, 'Warewulf has every node')
if os.path.isdir(HERE + '/node_modules/@cdktf/hcl2json'):
    code, out, err = run('node', HERE + '/hcl.mjs', INSTALL + '/terraform/cluster.auto.tfvars')
    check(code == 0 and len(json.loads(out)['nodes']) == 128, 'Terraform has every node', err[:500])
finish()
